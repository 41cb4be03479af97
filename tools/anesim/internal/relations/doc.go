// Package relations tests that the commands agree with each other. One layer is timed and
// computed by many paths: as a layer, as the program written from it, as that program dumped
// and assembled again, as a network of one layer, as a row of a sweep, as a replayed
// recording, and as the client of a load script. The cycles, bytes, energy and values must be
// the same on every path, for random layers of every operation.
//
// The package has no code, only tests.
package relations

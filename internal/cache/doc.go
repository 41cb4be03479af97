// Package cache stores compiled programs on disk, so that an unchanged network is not
// compiled again.
//
//	structure, weights of each segment --+
//	source, options, platform -----------+--> identifier --> DIR/com.apple.e5rt.e5bundlecache
//	                                                           /<build>/<identifier>/model.bundle
//
// The documents describe such a cache. Its key depends on content: a hash per segment over
// the network's structure and weights, combined with the resolved source, the options and
// the platform. The path of an entry contains the system's build and a double SHA-256. The
// documents do not say which bytes are hashed or how an entry is laid out, so both are this
// project's own. The identifier is the double SHA-256 of the key's parts, each preceded by
// its length. An entry ends with its own hash, the documents' model.anehash: the double
// SHA-256 of all bytes before it. A damaged entry is therefore detected and made again.
//
// Any number of processes may use one directory. An entry is written to a temporary file,
// flushed and renamed, so a reader finds either a complete entry or none. If two processes
// miss at once, both make the entry, and the later rename stores the same bytes again.
package cache

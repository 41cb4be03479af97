// Package unguided runs fuzz targets on many mutations of their seeds.
//
// The coverage that go test -fuzz collects finds new inputs and costs a hundred microseconds
// an execution, whatever is tried. Once a corpus has what coverage finds, mutations of it need
// no coverage: a target that [Fuzz] runs takes a flag -unguided N, and each seed of the
// committed corpus then has N mutations, spliced with the seeds before it, at the speed of the
// code that is tried. Without the flag, or with -fuzz, a target is what it was.
//
//	go test ./loader -run '^FuzzText$' -unguided 10000 -v
//
// The mutations of a seed follow from its target, its values and -salt alone, whatever the
// machine. An input that fails, panics or takes too long is written into the target's corpus,
// where go test finds it again.
package unguided

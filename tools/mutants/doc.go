// Mutants reports how many small changes of a package's code its tests notice. A mutant is the
// package with one operator changed, such as + to -. The tests kill a mutant if one of them fails.
//
//	mutants [-C DIR] [-short] [-every N [-first M]] [-skip TESTS] [-tests PACKAGE] [-j JOBS] PACKAGE...
//
// The mutants are those of gremlins v0.6.0 with its default operators, and the percentage is
// computed in the same way: the killed mutants divided by those that were killed or lived. A mutant
// that does not compile counts as killed. One whose tests never end counts for neither.
//
// Gremlins builds a test binary for each mutant and runs all tests with it, which takes hours for
// the larger packages here. This tool takes minutes. It puts all mutants of a package into one
// binary: each function begins with a switch over an environment variable, whose cases run a copy
// of the function's body with one operator changed:
//
//	func f(a, b int) int {
//		switch mutantSwitch {
//		case 7:
//			return func() int { return a - b }()
//		}
//		return a + b
//	}
//
// For each mutant it runs only the tests that reach the operator, the quick ones first.
//
// With -tests, the tests are those of another package, for code that is tested through the package
// above it.
//
// A test that fails in this binary without a mutant, for instance because it counts allocations, is
// reported and left out. So is a test that fails when it is run alone.
package main

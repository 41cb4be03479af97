// Mutants counts the mutants of go-gremlins that a package's tests kill, in minutes where
// gremlins itself takes hours: it builds a test binary for each mutant and runs the whole
// suite, and one of loader/lower takes half a minute.
//
//	mutants [-C DIR] [-short] [-every N] [-skip TESTS] [-j JOBS] PACKAGE...
//
// Here every mutant of a package stands in one binary: each function begins with a switch
// that runs a copy of its body with one operator changed, chosen by an environment variable,
//
//	func f(a, b int) int {
//		switch mutantSwitch {
//		case 7:
//			return func() int { return a - b }()
//		}
//		return a + b
//	}
//
// and of the tests those run that reach the operator, the quick ones first. Mutants, and
// what counts as covered, are those of gremlins v0.6.0 with its default operators, and so is
// the percentage: killed of those that are killed or live. A change that does not compile is
// killed, as it is there; one that never ends counts for neither.
//
// A test that fails in this binary unchanged, say for counting allocations, is named and
// left out. So is one that does not pass alone.
package main

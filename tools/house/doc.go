// Package house tests the structure of the source tree: which package may import which, according
// to the plan in plan.txt. It has no code, only tests.
package house

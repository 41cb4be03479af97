// Package house tests the source tree as a whole: which package may import which, according to
// plan.txt, which packages set registers, and how comments and messages are worded, according to
// prose.txt. It has no code, only tests.
package house

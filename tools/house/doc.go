// Package house holds the plan of the house: which room may import which. It has no
// code, only the test that reads every file's imports.
package house

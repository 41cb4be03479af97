// Package measured holds published measurements of M1-family engines, each with its source, and
// reads further measurements from files:
//
//	rows.txt (built in)  --Rows-->  []Row  <--ReadCSV--  columns of a file
//
// A row says what was run and what was measured: an operation and its shape, the machine, the wall
// time of a call, and the energy of the engine's rail. How the model reproduces a row is not part
// of this package.
package measured

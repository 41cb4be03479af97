// Package measured holds published measurements of M1-family engines as facts, each with
// its source, and reads more of them from files:
//
//	rows.txt (built in)  --Rows-->  []Row  <--ReadCSV--  a file's columns
//
// A row is what was run and what it took: an operation and its shape, the machine, the
// wall time of a call and the energy of the engine's rail. How a row is modelled is not
// here.
package measured

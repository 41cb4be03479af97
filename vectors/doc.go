// Package vectors holds the expected results of the project's tests: results of hardware, results
// derived by hand, and earlier results of the model. They are embedded. Package
// internal/vectors reads them and has their formats.
//
//	silicon/reduction    taps of one output of the multiply-accumulate units, and its half
//	silicon/accumulate   single sums of M4 and M6
//	silicon/checksums    relative errors of whole layers with seeded inputs, to 16 digits
//	silicon/special      infinities, NaN, zeros of both signs, denormals, overflow
//	silicon/runs         whole programs: inputs and outputs
//	silicon/tables       the largest errors of activation functions
//	silicon/costdump     Apple's own cost columns for one program
//	synthetic/runs       programs whose outputs were computed by hand
//	derived/examples     cycles, bytes, counters and checksums, computed by the model
//
// A case is one JSON file FAMILY/CASE.json, where FAMILY is a directory such as silicon/reduction. It has a
// name, the origin, a note on the source, and data in the format of its family.
package vectors

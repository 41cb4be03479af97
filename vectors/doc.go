// Package vectors is the golden data of the project: what hardware gave, what follows
// from it, and what the model gave when it was last looked at. It is embedded, and it
// knows nothing of the model it judges.
//
//	silicon/reduction    taps of one output of the multiply-accumulate units, and its half
//	silicon/special      infinities, NaN, zeros of both signs, denormals, overflow
//	silicon/runs         whole programs: inputs and outputs
//	silicon/costdump     the vendor compiler's own cost columns for one program
//	synthetic/runs       programs of our own whose outputs can be worked out by hand
//	derived/examples     cycles, bytes, counters and checksums, made by the model
//
// A case is one JSON file: a name, the origin, a note on the source, and data whose form
// its family decides.
//
//   - [Silicon] was measured on a machine. It is right when the model is not.
//
//   - [RealProgram] is from the vendor's compiler; it stands beside what was measured.
//
//   - [Synthetic] was worked out by us, by hand.
//
//   - [Derived] was made by the model. It says that nothing changed, not that it is
//     right, and is rewritten when a change is meant:
//
//     go test ./bench -run Derived -update
//
// [Case.Write] is the only way a case is written, and it refuses all but derived ones:
// no flag of a test can touch what was measured.
//
// A half stands in a case as a number that fp16 holds exactly, or as "inf", "-inf",
// "nan", or its bits, "0x3b9f".
//
// Of the special values measured on silicon these have no case, because the model has
// no such operation: log(-1) = +0, log(+0) = -45440, 1/-0 = +inf, softsign(+inf) = +0.
package vectors

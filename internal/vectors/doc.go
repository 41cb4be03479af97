// Package vectors reads the expected results of the project's tests, which are the files of package
// anesim/vectors. It does not depend on the model.
//
// A case is one JSON file: a name, the origin, a note on the source, and data in the format of its
// family.
//
//   - [Silicon] was measured on a machine. If it differs from the model, the model is wrong.
//
//   - [RealProgram] comes from Apple's compiler and is stored with the measured cases.
//
//   - [Synthetic] was computed by hand.
//
//   - [Derived] was computed by the model. It shows that nothing changed, not that the result is correct.
//     After an intended change, rewrite it with:
//
//     go test ./bench -run Derived -update
//
// [Case.Write] is the only way to write a case, and it rejects all but derived ones. No flag of a
// test can change measured data.
//
// A half is stored as a number that fp16 represents exactly, or as "inf", "-inf", "nan", or its
// bits, such as "0x3b9f".
//
// The following special values were measured on silicon but have no case. The model gives log(-1) = +0
// and 1/-0 = +Inf too, but -Inf for log(+0), which is -45440, and 0.98 for softsign(+Inf), which is +0.
package vectors

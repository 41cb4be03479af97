// Package ops describes operators, whether or not the engine can run them.
//
// The engine has a few dozen operations and needs fixed shapes. A file may use any ONNX
// operator, and may compute shapes the way it computes values. One table therefore has a row
// for each operator. The row holds the rule that infers the shapes and types of the results, so
// that an unsupported layer does not hide the layers after it. It also holds the function that
// computes the results from constants, which the host uses for operators that the engine lacks;
// the range of the results; and properties such as "elementwise".
//
// A rule looks at one node and at facts about its inputs. It changes neither.
package ops

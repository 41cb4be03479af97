// Package ops is what operators are, whether the engine has a form for them or not.
//
// The engine has a few dozen operations and fixed shapes; a file has any of ONNX's operators
// and computes shapes as it computes values. So every operator has a row in one table: how
// the shapes and types of its results follow from its operands, so that one layer that is
// missing does not hide those behind it; how it is worked out on constants, which the host
// does too with what the engine has no form for; the range of its results; and what it has
// in common with others, such as that its elements do not depend on each other.
//
// A rule sees one node and what is known of its inputs, and changes neither.
package ops

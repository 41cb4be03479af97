// Package choose makes layers of operators: what the engine does for each of them.
//
// The engine convolves, multiplies matrices, works element by element, reduces, moves rows and
// looks values up in tables, all in fp16 and in four axes. An operator of a file is one such
// layer or several: a Resize is a product with the weights of its interpolation along each
// axis, a comparison is the sign of a difference, an LSTM is unrolled into products and
// tables, a transpose of six axes is a chain of those that the engine has. A rule states that
// for an operator, file by file for a family, with the help of a [Chooser], which has the
// layers that all of them are made of. operators.go has the table from operator to rule.
//
// What a rule makes stands on a builder that is kept only if the rule succeeds, so that it
// stops with an error wherever the engine has no form.
package choose

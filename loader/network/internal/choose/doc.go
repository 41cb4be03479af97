// Package choose builds the engine's layers for the operators of a network.
//
// The engine convolves, multiplies matrices, computes elementwise operations, reduces, moves rows
// and looks up values in tables, all in fp16 and on four axes. An operator of a file becomes one
// such layer or several. A Resize is a product with the weights of its interpolation along each
// axis, a comparison uses the sign of a difference, an LSTM is unrolled into products and tables,
// and a transpose of six axes is a chain of transposes that the engine supports.
//
// Each operator has a rule, and operators.go maps operators to rules. The other files have the
// rules, one file per family. Rules use the methods of [Chooser] to add layers. The builder of a
// Chooser is kept only if its rule succeeds, so a rule may return an error at any point where the
// engine has no suitable layer.
package choose

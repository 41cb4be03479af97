// Package pass says what one descriptor of a layer computes, without places: which operation,
// scales and signs. Chains of rows and the families of layers give such a pass its operands.
package pass

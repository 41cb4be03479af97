// Package pass describes what one descriptor of a layer computes: its operation, scales and
// signs, without addresses. Row chains and the families of layers add the operands.
package pass

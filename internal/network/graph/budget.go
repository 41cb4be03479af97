package graph

import "errors"

// A Budget limits the memory for constants that are computed while a file is read. Bytes is the
// number of bytes that remain.
type Budget struct{ Bytes int }

// ErrBudget is the error of a node whose computed constants would need more memory than is left
// in the [Budget] of the file.
var ErrBudget = errors.New("computed constants exceed the memory limit for a file of this size")

// NumberBytes is the size in bytes of an element of a computed constant, which is a float64.
const NumberBytes = 8

// Spend subtracts the product of bytes and all counts from the budget. If the budget is too small,
// Spend returns [ErrBudget] and leaves it unchanged. Call Spend before allocating the memory,
// because even a small file can state a huge shape.
func (b *Budget) Spend(bytes int, counts ...int) error {
	for _, n := range counts {
		if n > 0 && bytes > b.Bytes/n {
			return ErrBudget
		}
		bytes *= max(0, n)
	}
	if bytes < 0 || bytes > b.Bytes {
		return ErrBudget
	}
	b.Bytes -= bytes
	return nil
}

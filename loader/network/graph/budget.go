package graph

import "errors"

// A Budget is the number of bytes that computed constants may still take.
type Budget struct{ Bytes int }

// ErrBudget is returned for a node whose constants would exceed the budget of its file.
var ErrBudget = errors.New("computed constants exceed the limit for a file of this size")

// NumberBytes is the size of a computed number.
const NumberBytes = 8

// Spend subtracts bytes times the product of counts from the budget. Callers spend before they
// allocate, because a few bytes of a file can state any shape. If the budget is too small,
// Spend leaves it unchanged and returns [ErrBudget].
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

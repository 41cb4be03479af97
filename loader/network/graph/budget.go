package graph

import "errors"

// A Budget is how many bytes constants may still be worked out to.
type Budget struct{ Bytes int }

// ErrBudget says that a node needs more worked out than its file may ask for.
var ErrBudget = errors.New("constants of many times the bytes of the file, or beyond what is worked out")

// NumberBytes are those of a number that is worked out.
const NumberBytes = 8

// Spend takes bytes, each so many times, for what is to be worked out, before it is made: sizes come from shapes, of
// which a few bytes of a file may state any. The error is [ErrBudget], and takes nothing.
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

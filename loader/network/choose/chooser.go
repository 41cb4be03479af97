package choose

import (
	"errors"

	"anesim/loader/layer"
	"anesim/loader/network/graph"
	"anesim/loader/network/list"
	"anesim/loader/network/weights"
)

// A Chooser makes layers of a node whose results are known.
type Chooser struct {
	*graph.Node
	*list.Builder
	*Shared
	Label   string         // the node's name, or one made of its place
	Results []graph.Result // what it makes
	First   int            // its first layer; those before are of its branches
	What    string         // what became of it, where that is no layer
}

// Shared is what the choosers of a file's nodes have in common.
type Shared struct {
	Budget    int             // bytes that constants may still be worked out to
	absent    int             // elements that may still be made up for constants without values
	told      map[string]bool // inputs that a note is about
	padded    map[string]padding
	Saturated int // elements of constants beyond fp16
}

// NewShared returns what choosers share that may work out so many elements.
func NewShared(budget int) *Shared {
	return &Shared{Budget: budget, absent: weights.MaxCoefficients, told: map[string]bool{}, padded: map[string]padding{}}
}

// Spend takes bytes, each so many times, for what is to be worked out, before it is made: sizes come from shapes, of
// which a few bytes of a file may state any. The error is [ErrBudget], and takes nothing.
func (s *Shared) Spend(bytes int, counts ...int) error {
	for _, n := range counts {
		if n > 0 && bytes > s.Budget/n {
			return ErrBudget
		}
		bytes *= max(0, n)
	}
	if bytes < 0 || bytes > s.Budget {
		return ErrBudget
	}
	s.Budget -= bytes
	return nil
}

// A padding is zeros around a tensor, which what reads them may add itself.
type padding struct {
	of            Operand
	before, after []int
}

// packWeights gives weights made of a packed constant its form.
func packWeights(w *layer.Weights, p *graph.Packing) {
	if p == nil || w.Filter == nil {
		return
	}
	w.Scale = p.Scale
	switch p.Form {
	case graph.Bytes:
		w.Form = layer.FormInt8
	case graph.Palette:
		w.Form = layer.FormPalette
	case graph.Sparse:
		w.Form = layer.FormSparse
	}
}

// ErrBudget says that a node needs more worked out than its file may ask for.
var ErrBudget = errors.New("constants of many times the bytes of the file, or beyond what is worked out")

// What constants that are worked out take: a number in float64 or in fp16.
const (
	NumberBytes = 8
	HalfBytes   = 2
	placeBytes  = 32 // of a list of places, with the runs that they are made of
)

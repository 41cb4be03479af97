package choose

import (
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
	*graph.Budget
	absent    int             // elements that may still be made up for constants without values
	told      map[string]bool // inputs that a note is about
	padded    map[string]padding
	Saturated int  // elements of constants beyond fp16
	Tables    bool // functions are looked up where that is cheaper and less exact
}

// NewShared returns what choosers share that may work out constants by a budget.
func NewShared(budget *graph.Budget) *Shared {
	return &Shared{Budget: budget, absent: weights.MaxCoefficients, told: map[string]bool{}, padded: map[string]padding{}}
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

// What constants that are worked out take: a number in float64 or in fp16.
const (
	numberBytes = graph.NumberBytes
	HalfBytes   = 2
	placeBytes  = 32 // of a list of places, with the runs that they are made of
)

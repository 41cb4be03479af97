package choose

import (
	"anesim/internal/network/graph"
	"anesim/loader/layer"
	"anesim/loader/network/list"
	"anesim/loader/network/weights"
)

// A Chooser builds the engine layers for one node of a graph. The shapes of the node's results must
// be known. Methods that return an [Operand] add the layers that compute it to the embedded
// Builder.
type Chooser struct {
	*graph.Node
	*list.Builder
	*Shared
	Label   string         // the node's name, or one made from its position in the file
	Results []graph.Result // the shape and type of each output
	First   int            // index of the node's first layer; earlier ones belong to its branches
	What    string         // why the node needs no layers, such as "view", or ""; see list.Node
}

// A Shared holds the state that all choosers of one file have in common.
type Shared struct {
	*graph.Budget
	absentLeft int                // how many more values may be made up for constants in files that were not read
	noted      map[string]bool    // keys of notes that were added and are not repeated
	paddings   map[string]padding // by the name of the padded tensor
	Saturated  int                // number of constant values outside the range of fp16
	Tables     bool               // prefer table lookups, which are cheaper and less exact
	Release    layer.Release      // of the compiler whose choice of layers is imitated
	maxLayers  int                // layers that the file may become
}

// NewShared returns the state for the choosers of a file of size bytes. The memory for constants
// that the choosers compute counts against budget.
func NewShared(budget *graph.Budget, size int) *Shared {
	return &Shared{Budget: budget, maxLayers: min(list.MaxLayers, smallFileLayers+size/bytesPerLayer), absentLeft: weights.MaxCoefficients, noted: map[string]bool{}, paddings: map[string]padding{}}
}

// A file of a few hundred bytes can become as many layers as any network, for instance by one
// recurrent node. Its limit has room for the 512 steps of an LSTM in both directions, which are
// 21,559 layers. The limit grows with the file, so that it does not affect a network with a node
// for each layer.
const (
	smallFileLayers = 3 << 13
	bytesPerLayer   = 16
)

// A padding records that a tensor is another tensor, its source, with zeros around it. A
// convolution of the padded tensor may read the source instead and add the zeros itself.
type padding struct {
	source        Operand
	before, after []int // zeros per spatial axis
}

// copyStoredForm copies the stored form and the scale of a packed constant to w, the weights that
// were made from the constant. It does nothing if p is nil or w has no values.
func copyStoredForm(w *layer.Weights, p *graph.Packing) {
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

// Sizes in bytes of the parts of computed constants, which are taken from the budget.
const (
	numberBytes = graph.NumberBytes // a float64 number
	HalfBytes   = 2                 // an fp16 number, such as a weight
	indexBytes  = 32                // an index in a list, including the runs that the list is split into
)

package lower

import (
	"github.com/x448/float16"

	"anesim/loader/layer"
)

// What a group of rows does.
type rowKind uint8

const (
	rowProduct    rowKind = iota + 1 // by constants
	rowProduct2                      // of two tensors
	rowBinary                        // of two tensors of one shape
	rowScalar                        // with one constant
	rowActivation                    // a table or ReLU
	rowNorm
	rowSoftmax
)

// A rowGroup is the layers that one or a few tasks do together: a product and the bias,
// factor and activation behind it, and layers that stand by themselves. Not fused: a
// residual addition, a table before a product, a second table, anything behind a layer
// norm or a softmax (all chains seen).
type rowGroup struct {
	kind    rowKind
	nodes   []int // of the network; the first one's descriptors they are
	layer   layer.Layer
	weights layer.Weights

	bias       []float16.Float16
	scale      float16.Float16 // 0 is none
	activation layer.Op
	table      []byte

	inputs      []string
	output      string
	heads, rows int // of a product of two tensors: matrices, and the rows of each on the left
	width       int
	block       bool // columns eight pixels wide
	turned      bool // a second tensor whose rows are the result's columns
}

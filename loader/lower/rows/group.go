package rows

import (
	"github.com/x448/float16"

	"anesim/loader/layer"
)

// A Kind is what a group does.
type Kind uint8

const (
	Product     Kind = iota + 1 // by constants
	PairProduct                 // of two tensors
	Binary                      // of two tensors of one shape
	Scalar                      // with one constant
	Activation                  // a table or ReLU
	Norm
	Softmax
)

// A Group is the layers that one or a few tasks do together: a product and the bias,
// factor and activation behind it, and layers that stand by themselves. Not fused: a
// residual addition, a table before a product, a second table, anything behind a layer
// norm or a softmax (all chains seen).
type Group struct {
	Kind    Kind
	Nodes   []int // of the network; the first one's descriptors they are
	Layer   layer.Layer
	Weights layer.Weights

	Bias       []float16.Float16
	Scale      float16.Float16 // 0 is none
	Activation layer.Op
	Table      []byte

	Inputs      []string
	Output      string
	Heads, Rows int // of a product of two tensors: matrices, and the rows of each on the left
	Width       int
	Block       bool // columns eight pixels wide
	Transposed  bool // a second tensor whose rows are the result's columns
}

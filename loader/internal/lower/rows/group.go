package rows

import (
	"github.com/x448/float16"

	"anesim/loader/layer"
)

// A Kind is the kind of a [Group], such as a matmul or a softmax.
type Kind uint8

// Kinds of groups.
const (
	Product     Kind = iota + 1 // matmul with constant weights
	PairProduct                 // matmul of two tensors
	Binary                      // operation on two tensors of one shape
	Scalar                      // operation with one constant
	Activation                  // a table or ReLU
	Norm
	Softmax
	// The others occur in pixel chains only, see [LowerPixels].
	ChannelMean // of the channels of each pixel, or of their squares
	Square
	Power  // by a number
	Affine // one addend and one factor for each channel
)

// A Group is one operation of a row chain (consecutive layers that are computed on rows kept in
// L2). It is a matmul with the bias, factor and activation after it, or a single layer of another
// kind. As in all known chains of Apple's compiler, it never includes a residual addition, a
// table before a matmul, a second table, or anything after a layer norm or a softmax.
type Group struct {
	Kind    Kind
	Nodes   []int // nodes of the network; the first one owns the descriptors
	Layer   layer.Layer
	Weights layer.Weights

	Bias       []float16.Float16
	Scale      float16.Float16 // 0 for none
	Activation layer.Op
	Table      []byte

	Inputs      []string
	Output      string
	Heads, Rows int // matrices on the left of a matmul of two tensors, and the rows of each
	Width       int
	Block       bool            // columns are eight pixels wide; in a pixel chain, those of the result
	FromBlocks  bool            // of a Product in a pixel chain: it reads columns in blocks of eight
	Squares     bool            // of a ChannelMean
	Addend      float16.Float16 // of a ChannelMean; added to the mean
	Transposed  bool            // the rows of the second tensor are the columns of the result
	LeftColumns bool            // of a PairProduct outside of chains: the first tensor is stored as its columns
}

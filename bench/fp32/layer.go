package fp32

import (
	"fmt"

	"anesim/loader/layer"
)

// A call is one layer with its weights and operands.
type call struct {
	*layer.Layer
	weights *layer.Weights
	in      [][]float32
	workers int
}

// compute returns the result of a layer in float32, in the order N, C, H, W. It returns an error if
// operands are missing, or if a form of the layer has no definition here.
func (c *call) compute() ([]float32, error) {
	if len(c.in) == 0 {
		return nil, fmt.Errorf("found no input; want at least one")
	}
	if c.Op == layer.Concat {
		return c.computeConcat()
	}
	if got, want := len(c.in[0]), c.In.Elements(); got != want {
		return nil, fmt.Errorf("input has %d elements; want %d", got, want)
	}
	out, err := c.computeOperation()
	if err == nil && c.Activation != 0 {
		f := c.unaryFunction(c.Activation)
		if f == nil {
			return nil, fmt.Errorf("activation %v has no definition in float32", c.Activation)
		}
		for i, v := range out {
			out[i] = float32(f(float64(v)))
		}
	}
	return out, err
}

// computeOperation computes a layer without its activation.
func (c *call) computeOperation() ([]float32, error) {
	switch c.Op {
	case layer.Convolution:
		return c.computeConvolution(), nil
	case layer.Deconvolution:
		return c.computeDeconvolution(), nil
	case layer.MatMul, layer.Linear:
		return c.computeProduct()
	case layer.Add, layer.Sub, layer.Mul, layer.Max, layer.Min, layer.RealDiv, layer.Average, layer.Pow:
		return c.computeElementwise()
	case layer.PReLU:
		return c.computePReLU(), nil
	case layer.ReduceSum, layer.ReduceMean, layer.ReduceMax, layer.ReduceMin, layer.Softmax, layer.LayerNorm:
		return c.computeReduction(), nil
	case layer.Pool:
		return c.computePool(), nil
	case layer.Transpose, layer.Slice, layer.Tile, layer.Pad:
		return c.computeMove(), nil
	}
	f := c.unaryFunction(c.Op)
	if f == nil {
		return nil, fmt.Errorf("operation %v has no definition in float32", c.Op)
	}
	out := make([]float32, len(c.in[0]))
	for i, v := range c.in[0] {
		out[i] = float32(f(float64(v)))
	}
	return out, nil
}

// An index is a position along the axes N, C, H and W.
type index [4]int

// extents returns the extents of s along its axes.
func extents(s layer.Shape) index { return index{s.N, s.C, s.H, s.W} }

// forEach calls visit with the number and the index of every element of a tensor of shape s, in
// order.
func forEach(s layer.Shape, visit func(i int, at index)) {
	i := 0
	for n := range s.N {
		for c := range s.C {
			for h := range s.H {
				for w := range s.W {
					visit(i, index{n, c, h, w})
					i++
				}
			}
		}
	}
}

// elementNumber returns the number of the element at an index of a tensor of shape s.
func elementNumber(s layer.Shape, at index) int {
	return ((at[0]*s.C+at[1])*s.H+at[2])*s.W + at[3]
}

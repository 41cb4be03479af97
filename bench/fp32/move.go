package fp32

import (
	"fmt"
	"math/bits"

	"anesim/loader/layer"
)

// computeMove computes a layer that copies elements.
func (c *call) computeMove() []float32 {
	shape, s, x := c.Out(), c.In, c.in[0]
	out := make([]float32, shape.Elements())
	w := &c.Window
	// Each element of the result names its source, so that every operation fills the whole result, also
	// where several elements copy the same one.
	forEach(shape, func(i int, at index) {
		switch c.Op {
		case layer.Transpose:
			if c.Order == layer.SwapBatch {
				at[0], at[1] = at[1], at[0]
				break
			}
			from := index{0: at[0]}
			for k, axis := range c.Permutation() { // AxisC, AxisH, AxisW are bits 0, 1, 2
				from[1+bits.TrailingZeros8(uint8(axis))] = at[1+k]
			}
			at = from
		case layer.Slice:
			at[3] -= c.Skew * at[2]
			for k, b := range extents(c.Begin) {
				at[k] += b
			}
		case layer.Tile:
			for k, n := range extents(s) {
				at[k] %= n
			}
		case layer.Pad:
			var insideY, insideX bool
			at[2], insideY = c.findPadSource(at[2]-w.Py, s.H)
			at[3], insideX = c.findPadSource(at[3]-w.Px, s.W)
			if !insideY || !insideX {
				out[i] = c.Value
				return
			}
		}
		out[i] = x[elementNumber(s, at)]
	})
	return out
}

// findPadSource returns the position along an axis of n elements that a Pad copies to position i, which may
// be outside. It returns false for padding with a value.
func (c *call) findPadSource(i, n int) (at int, inside bool) {
	if 0 <= i && i < n {
		return i, true
	}
	switch c.Fill {
	case layer.FillEdge:
		return min(max(i, 0), n-1), true
	case layer.FillReflect:
		if i < 0 {
			return -i, true
		}
		return 2*(n-1) - i, true
	}
	return 0, false
}

// computeConcat joins the inputs along the channels.
func (c *call) computeConcat() ([]float32, error) {
	if len(c.in) != len(c.Parts) {
		return nil, fmt.Errorf("found %d inputs; want %d", len(c.in), len(c.Parts))
	}
	plane := c.In.H * c.In.W
	for k, channels := range c.Parts {
		if got, want := len(c.in[k]), c.In.N*channels*plane; got != want {
			return nil, fmt.Errorf("input %d has %d elements; want %d", k, got, want)
		}
	}
	out := make([]float32, 0, c.In.Elements())
	for n := range c.In.N {
		for k, channels := range c.Parts {
			out = append(out, c.in[k][n*channels*plane:][:channels*plane]...)
		}
	}
	return out, nil
}

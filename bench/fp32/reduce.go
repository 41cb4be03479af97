package fp32

import (
	"math"

	"anesim/loader/layer"
)

// computeReduction computes a reduction, a softmax or a layer norm.
func (c *call) computeReduction() []float32 {
	s := c.In
	kept := s // shape with an element for each reduction
	if c.Axes&layer.AxisC != 0 {
		kept.C = 1
	}
	if c.Axes&layer.AxisH != 0 {
		kept.H = 1
	}
	if c.Axes&layer.AxisW != 0 {
		kept.W = 1
	}
	e, n := extents(kept), kept.Elements()
	group := func(at index) int {
		for k := range at {
			at[k] = min(at[k], e[k]-1)
		}
		return elementNumber(kept, at)
	}
	size := float64(s.Elements() / n)
	x := c.in[0]
	combine := func(start float64, f func(sum float64, x float64, g int) float64) []float64 {
		sums := make([]float64, n)
		for i := range sums {
			sums[i] = start
		}
		forEach(s, func(i int, at index) {
			g := group(at)
			sums[g] = f(sums[g], float64(x[i]), g)
		})
		return sums
	}
	sum := func() []float64 { return combine(0, func(sum, x float64, _ int) float64 { return sum + x }) }
	largest := func() []float64 {
		return combine(math.Inf(-1), func(m, x float64, _ int) float64 { return max(m, x) })
	}
	each := func(f func(x float64, g int) float64) []float32 {
		out := make([]float32, len(x))
		forEach(s, func(i int, at index) { out[i] = float32(f(float64(x[i]), group(at))) })
		return out
	}
	var result []float64
	switch c.Op {
	case layer.ReduceSum:
		result = sum()
	case layer.ReduceMean:
		result = sum()
		for i := range result {
			result[i] /= size
		}
	case layer.ReduceMax:
		result = largest()
	case layer.ReduceMin:
		result = combine(math.Inf(1), func(m, x float64, _ int) float64 { return min(m, x) })
	case layer.Softmax:
		// Without the largest term, exp of a large input would overflow. The quotient is the same.
		m := largest()
		total := combine(0, func(sum, x float64, g int) float64 { return sum + math.Exp(x-m[g]) })
		return each(func(x float64, g int) float64 { return math.Exp(x-m[g]) / total[g] })
	case layer.LayerNorm:
		mean := sum()
		for i := range mean {
			mean[i] /= size
		}
		variance := combine(0, func(sum, x float64, g int) float64 { return sum + (x-mean[g])*(x-mean[g])/size })
		return each(func(x float64, g int) float64 {
			return (x - mean[g]) / math.Sqrt(variance[g]+float64(c.Epsilon))
		})
	}
	out := make([]float32, n)
	for i, v := range result {
		out[i] = float32(v)
	}
	return out
}

// computePool computes the maximum in each window. Padding does not take part.
func (c *call) computePool() []float32 {
	w, s, shape := &c.Window, c.In, c.Out()
	out := make([]float32, shape.Elements())
	forEach(shape, func(i int, at index) {
		m := float32(math.Inf(-1))
		y, x := at[2]*w.Sy-w.Py, at[3]*w.Sx-w.Px
		for h := max(y, 0); h < min(y+w.Kh, s.H); h++ {
			for v := max(x, 0); v < min(x+w.Kw, s.W); v++ {
				m = max(m, c.in[0][elementNumber(s, index{at[0], at[1], h, v})])
			}
		}
		out[i] = m
	})
	return out
}

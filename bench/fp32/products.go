package fp32

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/x448/float16"

	"anesim/loader/layer"
)

// widen converts fp16 values.
func widen(values []float16.Float16) []float32 {
	out := make([]float32, len(values))
	for i, h := range values {
		out[i] = h.Float32()
	}
	return out
}

// widenWeights returns the weights of the layer, which has n of them.
func (c *call) widenWeights(n int) []float32 {
	if len(c.weights.Filter) == n {
		return widen(c.weights.Filter)
	}
	out := make([]float32, n)
	if c.weights.Source != nil {
		half := make([]float16.Float16, n)
		c.weights.Source.Values(half, 0)
		copy(out, widen(half))
	}
	return out
}

// applyFactorAndBias multiplies a row of sums by the factor of the layer, and adds a bias.
func (c *call) applyFactorAndBias(row []float32, bias func(i int) float32) {
	if c.Factor != 0 {
		f := c.Factor.Float32()
		for i := range row {
			row[i] *= f
		}
	}
	if c.Bias && len(c.weights.Bias) > 0 {
		for i := range row {
			row[i] += bias(i)
		}
	}
}

// computeProduct computes a product of matrices for each batch and channel.
func (c *call) computeProduct() ([]float32, error) {
	m, k, n := c.In.H, c.In.W, c.Columns
	var right []float32
	transposed := c.Op == layer.Linear || c.TransposeY
	if c.Second == layer.Runtime && c.Op == layer.MatMul {
		if len(c.in) < 2 {
			return nil, fmt.Errorf("found one input; want two")
		}
		right = c.in[1]
	} else {
		right = c.widenWeights(k * n)
	}
	batch := c.In.N * c.In.C
	if len(right) != k*n && len(right) != batch*k*n {
		return nil, fmt.Errorf("right side has %d elements; want %d or %d", len(right), k*n, batch*k*n)
	}
	out := make([]float32, batch*m*n)
	// Columns are divided too, because a layer may have one large matrix instead of many.
	ranges := (n + columnRange - 1) / columnRange
	forEachParallel(batch*ranges, c.workers, func(i int) {
		b, first := i/ranges, i%ranges*columnRange
		left := c.in[0][b*m*k:][:m*k]
		if c.TransposeX {
			left = transpose(left, k, m)
		}
		p := product{left: left, rows: m, depth: k, right: right[b*k*n%len(right):][:k*n], columns: n, transposed: transposed}
		p.computeColumns(out[b*m*n:][:m*n], n, first, min(first+columnRange, n))
	})
	for i := 0; i < len(out); i += n {
		c.applyFactorAndBias(out[i:i+n], func(j int) float32 { return c.weights.Bias[j].Float32() })
	}
	return out, nil
}

// transpose returns the matrix x, of the given rows and columns, with rows and columns exchanged.
func transpose(x []float32, rows, columns int) []float32 {
	out := make([]float32, len(x))
	for i := range rows {
		for j := range columns {
			out[j*rows+i] = x[i*columns+j]
		}
	}
	return out
}

// columnRange is the number of columns of a matrix product that a goroutine computes at a time.
const columnRange = 256

// A product is a matrix of rows x depth times one of depth x columns. If transposed is set, the right
// one is stored as columns x depth.
type product struct {
	left        []float32
	rows, depth int
	right       []float32
	columns     int
	transposed  bool
}

// computeColumns stores columns first to last-1 of the product in y, whose rows are stride apart. Sums are
// in the order of the depth, and conversions keep the compiler from fused operations, so that the
// result is the same on every machine. Two rows and four columns at a time fit the registers.
func (p *product) computeColumns(y []float32, stride, first, last int) {
	const width = 4
	panel := make([][width]float32, p.depth)
	zeros := make([]float32, p.depth)
	for j := first; j < last; j += width {
		n := min(width, last-j)
		for k := range panel {
			for i := range n {
				if p.transposed {
					panel[k][i] = p.right[(j+i)*p.depth+k]
				} else {
					panel[k][i] = p.right[k*p.columns+j+i]
				}
			}
		}
		for i := 0; i < p.rows; i += 2 {
			a, b := p.left[i*p.depth:][:len(panel)], zeros
			if i+1 < p.rows {
				b = p.left[(i+1)*p.depth:]
			}
			// Equal lengths let the compiler drop the bounds checks of the loop below.
			b = b[:len(panel)]
			var a0, a1, a2, a3, b0, b1, b2, b3 float32
			for k := range panel {
				z, v, w := &panel[k], a[k], b[k]
				a0 += float32(v * z[0])
				a1 += float32(v * z[1])
				a2 += float32(v * z[2])
				a3 += float32(v * z[3])
				b0 += float32(w * z[0])
				b1 += float32(w * z[1])
				b2 += float32(w * z[2])
				b3 += float32(w * z[3])
			}
			sums := [2][width]float32{{a0, a1, a2, a3}, {b0, b1, b2, b3}}
			for r := range min(2, p.rows-i) {
				copy(y[(i+r)*stride+j:][:n], sums[r][:])
			}
		}
	}
}

// forEachParallel calls do with the numbers 0 to n-1, on the given number of goroutines.
func forEachParallel(n, workers int, do func(i int)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(n, max(1, workers)) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wait.Wait()
}

// columnsAtOnce is the number of elements in the matrix of windows of a convolution at a time.
const columnsAtOnce = 1 << 20

// computeConvolution computes a convolution as products of weights with windows, some rows at a time.
func (c *call) computeConvolution() []float32 {
	s, shape := c.In, c.Out()
	groups := max(1, c.Groups)
	cin, cout, taps := s.C/groups, c.Cout/groups, c.Taps()
	weights := c.widenWeights(c.Cout * cin * taps)
	out := make([]float32, shape.Elements())
	plane := shape.H * shape.W
	rows := min(shape.H, max(1, columnsAtOnce/(cin*taps*shape.W)))
	parts := (shape.H + rows - 1) / rows
	forEachParallel(s.N*groups*parts, c.workers, func(i int) {
		n, group, y := i/parts/groups, i/parts%groups, i%parts*rows
		pixels := min(rows, shape.H-y) * shape.W
		columns := make([]float32, cin*taps*pixels)
		c.gatherWindows(columns, n, group*cin, cin, y, pixels/shape.W, shape.W)
		p := product{left: weights[group*cout*cin*taps:], rows: cout, depth: cin * taps, right: columns, columns: pixels}
		p.computeColumns(out[((n*c.Cout+group*cout)*shape.H+y)*shape.W:], plane, 0, pixels)
	})
	for i := range s.N * c.Cout {
		c.applyFactorAndBias(out[i*plane:][:plane], func(int) float32 { return c.weights.Bias[i%c.Cout].Float32() })
	}
	return out
}

// gatherWindows sets a row of columns for each channel and tap to the elements that the windows of
// result rows first to first+height-1 have there. Each row has width elements for a result row.
func (c *call) gatherWindows(columns []float32, n, channel, channels, first, height, width int) {
	w, s, apart := &c.Window, c.In, max(1, c.Dilation)
	apartY := c.RowDilation()
	at := 0
	for ch := channel; ch < channel+channels; ch++ {
		for ky := range c.TapRows() {
			for kx := range c.TapColumns() {
				for y := first; y < first+height; y++ {
					row := columns[at : at+width]
					at += width
					h := y*w.Sy - w.Py + ky*apartY
					if h < 0 || h >= s.H {
						clear(row)
						continue
					}
					src := c.in[0][elementNumber(s, index{n, ch, h, 0}):][:s.W]
					v := kx*apart - w.Px
					for i := range row {
						if 0 <= v && v < s.W {
							row[i] = src[v]
						} else {
							row[i] = 0
						}
						v += w.Sx
					}
				}
			}
		}
	}
}

// computeDeconvolution computes a transposed convolution.
func (c *call) computeDeconvolution() []float32 {
	w, s, shape := &c.Window, c.In, c.Out()
	weights := c.widenWeights(c.Cout * s.C * w.Kh * w.Kw)
	out := make([]float32, shape.Elements())
	forEach(s, func(i int, at index) {
		x := c.in[0][i]
		for co := range c.Cout {
			taps := weights[(co*s.C+at[1])*w.Kh*w.Kw:]
			for ky := range w.Kh {
				y := at[2]*w.Sy - w.Py + ky
				if y < 0 || y >= shape.H {
					continue
				}
				row := out[elementNumber(shape, index{at[0], co, y, 0}):][:shape.W]
				for kx := range w.Kw {
					if v := at[3]*w.Sx - w.Px + kx; v >= 0 && v < shape.W {
						row[v] += float32(x * taps[ky*w.Kw+kx])
					}
				}
			}
		}
	})
	plane := shape.H * shape.W
	for i := range s.N * c.Cout {
		c.applyFactorAndBias(out[i*plane:][:plane], func(int) float32 { return c.weights.Bias[i%c.Cout].Float32() })
	}
	return out
}

package bench

import (
	"fmt"
	"math"

	"anesim/bench/measured"
	"anesim/hw/regs"
	"anesim/loader/layer"
)

// operationOf is how rows of an operation become chains.
func operationOf(op string) (operation, bool) {
	conv := []string{"N", "Cin", "H", "W", "Cout", "Kh", "Kw"}
	product, tensor := []string{"M", "K", "Ncols"}, []string{"M", "K"}
	switch op {
	case "conv", "chain_conv":
		return operation{conv, (*Lowerer).convolutions}, true
	case "conv_slope":
		return operation{conv, (*Lowerer).convSlope}, true
	case "matmul", "linear", "chain_matmul":
		return operation{product, (*Lowerer).products}, true
	case "chain_matmul_slope":
		return operation{product, (*Lowerer).productSlope}, true
	case "bmm":
		return operation{append(product, "N"), (*Lowerer).batched}, true
	case "sdpa":
		return operation{append(product, "N"), (*Lowerer).attention}, true
	case "mha":
		return operation{append(tensor, "N"), (*Lowerer).multiHead}, true
	case "relu", "gelu", "silu", "sigmoid", "tanh":
		return operation{nil, (*Lowerer).activation}, true
	case "elementwise", "add", "mul":
		return operation{nil, (*Lowerer).elementwise}, true
	case "reduce_sum", "softmax", "layer_norm", "rms_norm", "group_norm":
		return operation{nil, (*Lowerer).passes}, true
	case "decode_model":
		return operation{[]string{"N", "depth"}, (*Lowerer).decoder}, true
	case "lm_head":
		return operation{[]string{"K"}, (*Lowerer).head}, true
	}
	return operation{}, false
}

// fp16 is the bytes of n elements.
func fp16(n int) uint64 { return 2 * uint64(n) }

// convolutions are a convolution, or a stack of them: what one layer leaves stays in the
// L2 for the next when it fits.
func (l *Lowerer) convolutions(c *Chain, r *measured.Row) error {
	one, x, err := l.conv(r)
	if err != nil {
		return err
	}
	out := x.Out()
	resident := fp16(max(x.In.Elements(), out.Elements())) <= layer.MaxTile
	depth := max(1, r.Depth)
	c.add(1, layers(depth, func(first, last bool) []Step {
		return []Step{{Run: inside(one, resident && !first, resident && !last), Count: max(1, r.N)}}
	})...)
	c.Host.In, c.Host.Out = fp16(r.N*x.In.Elements()), fp16(r.N*out.Elements())
	// A stack has a ReLU between its layers, and of normal values one in two is negative.
	c.Zero = float64(depth-1) / float64(2*depth)
	c.Host.Weights = fp16(depth * r.Cout * r.Cin / max(1, r.Groups) * r.Kh * r.Kw)
	return nil
}

// conv is one element of the batch.
func (l *Lowerer) conv(r *measured.Row) ([]Step, layer.Layer, error) {
	in := layer.Shape{N: 1, C: r.Cin, H: r.H, W: r.W}
	stride := max(1, r.Stride)
	w := layer.Window{Kh: r.Kh, Kw: r.Kw, Sy: stride, Sx: stride}
	if !r.Valid {
		pad := layer.Same(r.Kh, stride, in)
		w.Py, w.Qy = pad.Py, pad.Qy
		pad = layer.Same(r.Kw, stride, in)
		w.Px, w.Qx = pad.Px, pad.Qx
	}
	layer := layer.Conv(in, r.Cout, w)
	layer.Groups = max(1, r.Groups)
	steps, err := l.lowered(layer)
	return steps, layer, err
}

// convSlope is what one more layer adds to a stack whose activations stay in the L2.
func (l *Lowerer) convSlope(c *Chain, r *measured.Row) error {
	one, _, err := l.conv(r)
	c.add(max(1, r.N), inside(one, true, true)...)
	return err
}

// inside takes the DMA of a source or a result that stays in the L2 off.
func inside(steps []Step, source, result bool) []Step {
	return changed(steps, func(t *regs.Task) {
		g := &t.Groups
		if source {
			g.TileDMASrc.Src1DMAConfig = g.TileDMASrc.Src1DMAConfig.WithEn(false).WithDepMode(0)
		}
		if result {
			g.TileDMADst.DstDMAConfig = g.TileDMADst.DstDMAConfig.WithEn(false)
		}
	})
}

// product is one product with a constant matrix. Columns beyond what a task takes are
// products of their own, as equal as can be.
func (l *Lowerer) product(m, k, n int) ([]Step, error) {
	var c Chain
	for parts := (n + maxColumns - 1) / maxColumns; parts > 0; parts-- {
		columns := (n + parts - 1) / parts
		steps, err := l.rows(m, k, columns)
		if err != nil {
			return nil, err
		}
		c.add(1, steps...)
		n -= columns
	}
	return c.Steps, nil
}

// maxColumns is the most columns of a matrix that one task takes.
const maxColumns = 1 << 14

// rows are a product's rows in the parts that the lowering takes, each part lowered once.
func (l *Lowerer) rows(m, k, n int) ([]Step, error) {
	part := m
	for part > 1 && transposeBytes(part, k) > layer.MaxTile {
		part = (part + 1) / 2
	}
	steps, err := l.lowered(layer.Product(part, k, n, layer.Constant))
	if err != nil {
		return nil, err
	}
	var c Chain
	c.add(m/part, steps...)
	if rest := m % part; rest > 0 {
		if steps, err = l.lowered(layer.Product(rest, k, n, layer.Constant)); err != nil {
			return nil, err
		}
		c.add(1, steps...)
	}
	return c.Steps, nil
}

// transposeBytes is the L2 that the two tiles of a transpose of m rows take.
func transposeBytes(m, k int) int {
	align := func(n int) int { return (n + 15) &^ 15 }
	channel := align(2 * m)
	if channel == 128 || channel == 256 {
		channel += 16
	}
	return k*channel + m*align(2*min(k, 128))
}

// products are a product with a constant matrix, or a stack of them.
func (l *Lowerer) products(c *Chain, r *measured.Row) error {
	one, err := l.product(r.M, r.K, r.Cols)
	if err != nil {
		return err
	}
	c.add(1, layers(max(1, r.Depth), func(first, last bool) []Step {
		return stacked(one, !first, !last, transposeBytes(r.M, r.K) <= layer.MaxTile)
	})...)
	c.Host.In, c.Host.Out = fp16(r.M*r.K), fp16(r.M*r.Cols)
	if r.Op == "linear" {
		c.Host.Weights = fp16(max(1, r.Depth) * r.K * r.Cols)
	}
	return nil
}

// productSlope is what one more layer adds to a stack.
func (l *Lowerer) productSlope(c *Chain, r *measured.Row) error {
	one, err := l.product(r.M, r.K, r.Cols)
	c.add(1, stacked(one, true, true, transposeBytes(r.M, r.K) <= layer.MaxTile)...)
	return err
}

// stacked is a product with neighbours: the first of a stack transposes its input and the
// last its result. Between them tiles stay as they are, in the L2 when they fit, else in
// memory (assumed; no program shows a stack).
func stacked(steps []Step, before, after, resident bool) []Step {
	var out []Step
	first := false // of a part: the task that reads the source
	for _, s := range steps {
		if s.Task == nil {
			out = append(out, Step{Run: stacked(s.Run, before, after, resident), Count: s.Count})
			continue
		}
		if !s.Task.Groups.KernelOn() {
			if first = before; !before {
				out = append(out, s)
			}
			continue
		}
		reads := first && !resident
		first = false
		out = append(out, changed([]Step{s}, func(t *regs.Task) {
			g := &t.Groups
			if reads {
				d := &g.TileDMASrc
				d.Src1DMAConfig = d.Src1DMAConfig.WithEn(true).WithDepMode(3)
				d.Src1RowStride, d.Src1PlaneStride, d.Src1DepthStride = 0, 0, 0
				t.Bases.Source1 = tensorBuffer(0)
			}
			if after {
				g.Common.Cfg = g.Common.Cfg.WithTranspose(false)
				d := &g.TileDMADst
				d.DstDMAConfig = d.DstDMAConfig.WithEn(!resident)
				d.DstRowStride, d.DstPlaneStride, d.DstDepthStride = 0, 0, 0
			}
		})...)
	}
	return out
}

// batched is a product of two inputs for each of N heads.
func (l *Lowerer) batched(c *Chain, r *measured.Row) error {
	steps, err := l.pairs(r.M, r.K, r.Cols)
	c.add(r.N, steps...)
	c.Host.In = fp16(r.N * (r.M*r.K + r.K*r.Cols))
	c.Host.Out = fp16(r.N * r.M * r.Cols)
	return err
}

// pairs are a product of two inputs. A program of 375 rows by 8 heads has 208
// descriptors, whatever its other extents (2/2): 13 pairs a head, which is 11 of two rows
// an engine, one of one and one of the 7 rows left. Rows that are a multiple of 64 take
// four an engine and more (1/1).
func (l *Lowerer) pairs(m, k, n int) ([]Step, error) {
	const aligned, least = 64, 32
	if m%aligned == 0 || m <= least {
		return l.lowered(layer.Product(m, k, n, layer.Runtime))
	}
	var c Chain
	for _, part := range [...]struct{ rows, count int }{{least, m / least}, {m % least, 1}} {
		if part.rows == 0 {
			continue
		}
		steps, err := l.lowered(layer.Product(part.rows, k, n, layer.Runtime))
		if err != nil {
			return nil, err
		}
		c.add(part.count, steps...)
	}
	return c.Steps, nil
}

// attention is softmax(q k') v of N heads: M queries of K elements over Cols keys.
func (l *Lowerer) attention(c *Chain, r *measured.Row) error {
	if err := l.heads(c, r.N, r.M, r.K, r.Cols); err != nil {
		return err
	}
	c.Host.In = fp16(r.N * (r.M*r.K + 2*r.Cols*r.K))
	c.Host.Out = fp16(r.N * r.M * r.K)
	return nil
}

func (l *Lowerer) heads(c *Chain, n, m, k, keys int) error {
	scores, err := l.pairs(m, k, keys)
	if err != nil {
		return err
	}
	values, err := l.pairs(m, keys, k)
	c.add(n, scores...)
	c.add(n, passesOf("softmax", m, keys)...)
	c.add(n, values...)
	return err
}

// multiHead is attention of N heads over M positions of K elements, with its four
// projections. A K too small to be shared out is that of one head.
func (l *Lowerer) multiHead(c *Chain, r *measured.Row) error {
	const leastHead = 16
	width, size := r.K, r.K/r.N
	if size < leastHead {
		width, size = r.N*r.K, r.K
	}
	project, err := l.product(r.M, width, width)
	if err != nil {
		return err
	}
	c.add(4, project...)
	keys := r.Cols
	if keys == 0 {
		keys = r.M
	}
	c.Host.In, c.Host.Out = fp16(r.M*width), fp16(r.M*width)
	return l.heads(c, r.N, r.M, size, keys)
}

// tensor is a row's tensor as rows of elements: M and K, for each of N, or planes of a
// tensor of N, C, H, W; group norm's rows are its groups.
func tensor(r *measured.Row) (rows, k int, err error) {
	n := max(1, r.N)
	switch {
	case r.M > 0 && r.K > 0:
		return n * r.M, r.K, nil
	case r.Cin > 0 && r.H > 0 && r.W > 0 && r.Op == "group_norm":
		groups := max(1, r.Groups)
		return n * groups, max(1, r.Cin*r.H*r.W/groups), nil
	case r.Cin > 0 && r.H > 0 && r.W > 0:
		return n * r.Cin * r.H, r.W, nil
	}
	return 0, 0, &UnmodelledError{r.ID, r.Op + " without M and K, or Cin, H and W"}
}

func (l *Lowerer) activation(c *Chain, r *measured.Row) error {
	m, k, err := tensor(r)
	if err != nil {
		return err
	}
	op, _ := layer.ParseOp(r.Op)
	steps, err := l.lowered(layer.Unary(op, layer.Shape{N: 1, C: 1, H: m, W: k}))
	c.add(1, steps...)
	c.Host.In, c.Host.Out = fp16(m*k), fp16(m*k)
	if op == layer.ReLU {
		c.Host.Zero = uint64(m * k / 2) // of normal inputs one in two is negative
	}
	return err
}

func (l *Lowerer) elementwise(c *Chain, r *measured.Row) error {
	m, k, err := tensor(r)
	if err != nil {
		return err
	}
	op := layer.Add
	if r.Op == "mul" {
		op = layer.Mul
	}
	s := layer.Shape{N: 1, C: 1, H: m, W: k}
	steps, err := l.lowered(layer.Binary(op, s, s))
	c.add(1, steps...)
	c.Host.In, c.Host.Out = fp16(2*m*k), fp16(m*k)
	return err
}

// passes are reductions and normalisations along the rows of a tensor.
func (l *Lowerer) passes(c *Chain, r *measured.Row) error {
	m, k, err := tensor(r)
	if err != nil {
		return err
	}
	c.add(1, passesOf(r.Op, m, k)...)
	c.Host.In, c.Host.Out = fp16(m*k), fp16(m*k)
	switch r.Op {
	case "reduce_sum":
		c.Host.Out = fp16(m)
	case "softmax":
		c.Host.Subnormal = uint64(float64(m*k) * subnormal(k))
	}
	return nil
}

// subnormal is the share of a softmax over k normal inputs below the least normal fp16:
// exp(x) / (k sqrt(e)) < 2^-14.
func subnormal(k int) float64 {
	x := math.Log(float64(k)) + 0.5 - 14*math.Ln2
	// The library's last digits are not the same on every machine.
	const digits = 1e9
	return math.Round(digits*math.Erfc(-x/math.Sqrt2)/2) / digits
}

// A decoder of the measured models: width 1024, SwiGLU of 4096, 16 heads, 32000 words,
// 128 cached positions; N sequences a token each. The caches are inputs.
const (
	decoderWidth = 1024
	decoderInner = 4096
	decoderHeads = 16
	decoderWords = 32000
	decoderKeys  = 128
)

func (l *Lowerer) decoder(c *Chain, r *measured.Row) error {
	n := r.N
	block := passesOf("rms_norm", n, decoderWidth)
	linear := func(in, out int) error {
		steps, err := l.product(n, in, out)
		block = append(block, steps...)
		return err
	}
	for range 4 {
		if err := linear(decoderWidth, decoderWidth); err != nil {
			return err
		}
	}
	size := decoderWidth / decoderHeads
	block = append(block, cached(n, decoderHeads, size, decoderKeys)...)
	block = append(block, passesOf("softmax", n*decoderHeads, decoderKeys)...)
	block = append(block, cached(n, decoderHeads, decoderKeys, size)...)
	block = append(block, passesOf("rms_norm", n, decoderWidth)...)
	for _, s := range [...][2]int{{decoderWidth, decoderInner}, {decoderWidth, decoderInner}, {decoderInner, decoderWidth}} {
		if err := linear(s[0], s[1]); err != nil {
			return err
		}
	}
	for range 4 { // gate, its product, two sums
		block = append(block, pass(regs.FormTwoSources, n, decoderWidth, false, false))
	}
	c.add(r.Depth, block...)
	words, err := l.product(n, decoderWidth, decoderWords)
	if err != nil {
		return err
	}
	c.add(1, words...)
	c.Host.In = fp16(n*decoderWidth + r.Depth*2*n*decoderKeys*decoderWidth)
	c.Host.Out = fp16(n * decoderWords)
	return nil
}

// head is a product of one row with the weights its row counts, in columns or in bytes.
func (l *Lowerer) head(c *Chain, r *measured.Row) error {
	columns := r.Cols
	if columns == 0 {
		columns = int(r.Bytes / 2 / uint64(r.K))
	}
	if columns == 0 || columns > layer.MaxChannels || r.K > layer.MaxChannels {
		return &UnmodelledError{r.ID, fmt.Sprintf("a product with %d columns of %d", columns, r.K)}
	}
	steps, err := l.product(1, r.K, columns)
	c.add(1, steps...)
	c.Host.In, c.Host.Out = fp16(r.K), fp16(columns)
	return err
}

package bench

import (
	"fmt"
	"math"

	"anesim/hw/clock"
	"anesim/hw/regs"
	"anesim/internal/datapath/tiles"
	"anesim/internal/measured"
	"anesim/loader/layer"
)

// findOperation returns the entry that describes how rows of the named operation become chains. The
// result ok is false if the operation is unknown.
func findOperation(op string) (operation, bool) {
	conv := []string{"N", "Cin", "H", "W", "Cout", "Kh", "Kw"}
	product, tensor := []string{"M", "K", "Ncols"}, []string{"M", "K"}
	switch op {
	case "conv", "chain_conv":
		return operation{conv, (*lowerer).addConvolutions}, true
	// Slopes are measured as the difference between two depths, so the time of a call cancels out.
	case "conv_slope":
		return operation{conv, (*lowerer).addConvIncrement}, true
	case "matmul", "linear", "chain_matmul":
		return operation{product, (*lowerer).addMatMuls}, true
	case "chain_matmul_slope":
		return operation{product, (*lowerer).addMatMulIncrement}, true
	case "bmm":
		return operation{append(product, "N"), (*lowerer).addBatchedMatMul}, true
	case "sdpa":
		return operation{append(product, "N"), (*lowerer).addAttention}, true
	case "mha":
		return operation{append(tensor, "N"), (*lowerer).addMultiHeadAttention}, true
	case "relu", "gelu", "silu", "sigmoid", "tanh":
		return operation{nil, (*lowerer).addActivation}, true
	case "elementwise", "add", "mul":
		return operation{nil, (*lowerer).addElementwise}, true
	case "reduce_sum", "softmax", "layer_norm", "rms_norm", "group_norm":
		return operation{nil, (*lowerer).addRowPasses}, true
	case "decode_model":
		return operation{[]string{"N", "depth"}, (*lowerer).addDecoder}, true
	case "lm_head":
		return operation{[]string{"K"}, (*lowerer).addOutputHead}, true
	}
	return operation{}, false
}

// fp16Bytes returns the size of n fp16 elements in bytes.
func fp16Bytes(n int) uint64 { return 2 * uint64(n) }

// addConvolutions appends r.Depth copies of row r's convolution to the chain. A tensor between two
// of them stays in L2 if it fits there.
func (l *lowerer) addConvolutions(c *Chain, r *measured.Row) error {
	one, x, err := l.lowerConv(r)
	if err != nil {
		return err
	}
	out := x.Out()
	resident := fp16Bytes(max(x.In.Elements(), out.Elements())) <= layer.MaxTile
	depth := max(1, r.Depth)
	c.addSteps(1, newLayerStack(depth, func(first, last bool) []Step {
		return []Step{{Run: keepInL2(one, resident && !first, resident && !last), Count: max(1, r.N)}}
	})...)
	c.Host.In, c.Host.Out = fp16Bytes(r.N*x.In.Elements()), fp16Bytes(r.N*out.Elements())
	// A stack has a ReLU between its layers, and half of normally distributed values are
	// negative.
	c.Zero = float64(depth-1) / float64(2*depth)
	c.Host.Weights = fp16Bytes(depth * r.Cout * r.Cin / max(1, r.Groups) * r.Kh * r.Kw)
	return nil
}

// lowerConv returns the steps of a row's convolution for one image, and the layer from which they
// were compiled.
func (l *lowerer) lowerConv(r *measured.Row) ([]Step, layer.Layer, error) {
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
	steps, err := l.lowerLayer(layer)
	return steps, layer, err
}

// addConvIncrement appends the steps that one more layer adds to a stack of convolutions whose
// tensors stay in L2.
func (l *lowerer) addConvIncrement(c *Chain, r *measured.Row) error {
	one, _, err := l.lowerConv(r)
	c.addSteps(max(1, r.N), keepInL2(one, true, true)...)
	return err
}

// keepInL2 returns a copy of steps that leaves the source, the result or both in L2 instead of
// moving them from and to memory.
func keepInL2(steps []Step, source, result bool) []Step {
	return copyWithChanges(steps, func(t *regs.Task) {
		g := &t.Groups
		if source {
			g.TileDMASrc.Src1DMAConfig = g.TileDMASrc.Src1DMAConfig.WithEn(false).WithDepMode(0)
			g.ReadMeanings()
		}
		if result {
			g.TileDMADst.DstDMAConfig = g.TileDMADst.DstDMAConfig.WithEn(false)
		}
	})
}

// lowerMatMul returns the steps of a matmul of m rows, k elements and n columns with constant
// weights. If n is more than one task allows, it returns several matmuls of nearly equal size.
func (l *lowerer) lowerMatMul(m, k, n int) ([]Step, error) {
	var c Chain
	for parts := (n + maxColumns - 1) / maxColumns; parts > 0; parts-- {
		columns := (n + parts - 1) / parts
		steps, err := l.lowerMatMulByRows(m, k, columns)
		if err != nil {
			return nil, err
		}
		c.addSteps(1, steps...)
		n -= columns
	}
	return c.Steps, nil
}

// maxColumns is the maximum number of matrix columns in one task.
const maxColumns = 1 << 14

// lowerMatMulByRows returns the steps of a matmul of m rows, k elements and n columns, split by
// rows into parts that can be compiled.
func (l *lowerer) lowerMatMulByRows(m, k, n int) ([]Step, error) {
	part := m
	for part > 1 && transposeBytes(part, k) > layer.MaxTile {
		part = (part + 1) / 2
	}
	steps, err := l.lowerLayer(layer.Product(part, k, n, layer.Constant))
	if err != nil {
		return nil, err
	}
	var c Chain
	c.addSteps(m/part, steps...)
	if rest := m % part; rest > 0 {
		if steps, err = l.lowerLayer(layer.Product(rest, k, n, layer.Constant)); err != nil {
			return nil, err
		}
		c.addSteps(1, steps...)
	}
	return c.Steps, nil
}

// transposeBytes returns the size in bytes of the two L2 buffers of a transpose of m rows of k
// elements.
func transposeBytes(m, k int) int {
	align := func(n int) int { return (n + 15) &^ 15 }
	channel := align(2 * m)
	if channel == 128 || channel == 256 {
		channel += 16
	}
	return k*channel + m*align(2*min(k, 128))
}

// addMatMuls appends r.Depth copies of row r's matmul with constant weights to the chain.
func (l *lowerer) addMatMuls(c *Chain, r *measured.Row) error {
	one, err := l.lowerMatMul(r.M, r.K, r.Cols)
	if err != nil {
		return err
	}
	c.addSteps(1, newLayerStack(max(1, r.Depth), func(first, last bool) []Step {
		return adaptMatMulToStack(one, !first, !last, transposeBytes(r.M, r.K) <= layer.MaxTile)
	})...)
	c.Host.In, c.Host.Out = fp16Bytes(r.M*r.K), fp16Bytes(r.M*r.Cols)
	if r.Op == "linear" {
		c.Host.Weights = fp16Bytes(max(1, r.Depth) * r.K * r.Cols)
	}
	return nil
}

// addMatMulIncrement appends the steps that one more layer adds to a stack of matmuls.
func (l *lowerer) addMatMulIncrement(c *Chain, r *measured.Row) error {
	one, err := l.lowerMatMul(r.M, r.K, r.Cols)
	c.addSteps(1, adaptMatMulToStack(one, true, true, transposeBytes(r.M, r.K) <= layer.MaxTile)...)
	return err
}

// adaptMatMulToStack adapts the steps of a matmul to its place in a stack of matmuls. The first
// matmul, for which before is false, transposes its input. The last one, for which after is false,
// transposes its result. Between matmuls, tensors keep their layout, in L2 if resident is true and
// otherwise in memory (assumed; no program shows a stack).
func adaptMatMulToStack(steps []Step, before, after, resident bool) []Step {
	var out []Step
	first := false // the next task of the part reads the source
	for _, s := range steps {
		if s.Task == nil {
			out = append(out, Step{Run: adaptMatMulToStack(s.Run, before, after, resident), Count: s.Count})
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
		out = append(out, copyWithChanges([]Step{s}, func(t *regs.Task) {
			g := &t.Groups
			if reads {
				d := &g.TileDMASrc
				d.Src1DMAConfig = d.Src1DMAConfig.WithEn(true).WithDepMode(3)
				g.ReadMeanings()
				d.Src1RowStride, d.Src1PlaneStride, d.Src1DepthStride = regs.DMAWord{}, regs.DMAWord{}, regs.DMAWord{}
				t.Bases.Source1 = tensorAddress(0)
			}
			if after {
				g.Common.Cfg = g.Common.Cfg.WithTranspose(false)
				d := &g.TileDMADst
				d.DstDMAConfig = d.DstDMAConfig.WithEn(!resident)
				d.DstRowStride, d.DstPlaneStride, d.DstDepthStride = regs.DMAWord{}, regs.DMAWord{}, regs.DMAWord{}
			}
		})...)
	}
	return out
}

// addBatchedMatMul appends a matmul of two inputs for each of the row's heads.
func (l *lowerer) addBatchedMatMul(c *Chain, r *measured.Row) error {
	steps, err := l.lowerTwoInputMatMul(r.M, r.K, r.Cols)
	c.addSteps(r.N, steps...)
	c.Host.In = fp16Bytes(r.N * (r.M*r.K + r.K*r.Cols))
	c.Host.Out = fp16Bytes(r.N * r.M * r.Cols)
	return err
}

// lowerTwoInputMatMul returns the steps of a matmul of two inputs, with m rows, k elements and n
// columns. A program of 375 rows and 8 heads has 208 descriptors for any other extents (seen in 2
// of 2 programs): 26 a head, which are taken for a copy of the left side and 25 products of 15 rows, a row an
// engine. For other sizes, too, the compiler writes one or two copies and then the products (inferred from
// their counts). Row counts that are multiples of 64 use four or more rows per engine (seen in 1 of 1 program).
func (l *lowerer) lowerTwoInputMatMul(m, k, n int) ([]Step, error) {
	const aligned, least = 64, 32
	if m%aligned == 0 || m <= least {
		return l.lowerLayer(layer.Product(m, k, n, layer.Runtime))
	}
	rows := tiles.Engines
	for rows > tiles.Engines/2 && m%rows > 0 { // in equal parts, if most of the engines have a row then
		rows--
	}
	if m%rows > 0 {
		rows = tiles.Engines
	}
	whole, err := l.lowerLayer(layer.Product(clock.CeilDiv(m, aligned)*aligned, k, aligned, layer.Runtime))
	if err != nil {
		return nil, err
	}
	readsCopy := whole[1].Task // a product of the rows that the copy has put in place
	var c Chain
	c.addSteps(1, whole[0])
	for i, part := range [...]struct{ rows, count int }{{rows, m / rows}, {m % rows, 1}} {
		if part.rows == 0 {
			continue
		}
		steps, err := l.lowerLayer(layer.Product(part.rows, k, n, layer.Runtime))
		if err != nil {
			return nil, err
		}
		steps = copyWithChanges(steps[len(steps)-1:], func(t *regs.Task) { // without a copy of its own rows
			t.Header.KernelBases, t.Bases.Kernel = readsCopy.Header.KernelBases, readsCopy.Bases.Kernel
		})
		if i == 0 {
			c.addSteps(1, steps...)
			part.count--
		}
		c.addSteps(part.count, keepRightSide(steps)...)
	}
	return c.Steps, nil
}

// keepRightSide returns a copy of steps whose matmuls find the columns of the right side in L2,
// where the first one left them.
func keepRightSide(steps []Step) []Step {
	return copyWithChanges(steps, func(t *regs.Task) {
		if g := &t.Groups; g.Operands().Kernel.Bytes > 0 {
			g.TileDMASrc.Src1DMAConfig = g.TileDMASrc.Src1DMAConfig.WithEn(false).WithDepMode(0)
			g.ReadMeanings()
		}
	})
}

// addAttention appends the attention softmax(q k') v for each of the row's heads, with M queries of
// K elements and Cols keys.
func (l *lowerer) addAttention(c *Chain, r *measured.Row) error {
	if err := l.addAttentionHeads(c, r.N, r.M, r.K, r.Cols); err != nil {
		return err
	}
	c.Host.In = fp16Bytes(r.N * (r.M*r.K + 2*r.Cols*r.K))
	c.Host.Out = fp16Bytes(r.N * r.M * r.K)
	return nil
}

func (l *lowerer) addAttentionHeads(c *Chain, n, m, k, keys int) error {
	scores, err := l.lowerTwoInputMatMul(m, k, keys)
	if err != nil {
		return err
	}
	values, err := l.lowerTwoInputMatMul(m, keys, k)
	c.addSteps(n, scores...)
	c.addSteps(n, newPasses("softmax", m, keys)...)
	c.addSteps(n, values...)
	return err
}

// addMultiHeadAttention appends multi-head attention with its four projections: N heads over M
// positions of K elements. If K is too small to be divided among the heads, it is the size of one
// head.
func (l *lowerer) addMultiHeadAttention(c *Chain, r *measured.Row) error {
	const leastHead = 16
	width, size := r.K, r.K/r.N
	if size < leastHead {
		width, size = r.N*r.K, r.K
	}
	project, err := l.lowerMatMul(r.M, width, width)
	if err != nil {
		return err
	}
	c.addSteps(4, project...)
	keys := r.Cols
	if keys == 0 {
		keys = r.M
	}
	c.Host.In, c.Host.Out = fp16Bytes(r.M*width), fp16Bytes(r.M*width)
	return l.addAttentionHeads(c, r.N, r.M, size, keys)
}

// shapeAsRows returns the number of rows and the number k of elements per row for the tensor of row
// r. If r has M and K, there are M rows of K elements for each of N; otherwise they are the rows of
// a tensor N, C, H, W. For group norm, each group is a row.
func shapeAsRows(r *measured.Row) (rows, k int, err error) {
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
	return 0, 0, &UnmodelledError{r.ID, fmt.Sprintf("operation %q needs positive dimensions: M and K, or Cin, H and W", r.Op)}
}

func (l *lowerer) addActivation(c *Chain, r *measured.Row) error {
	m, k, err := shapeAsRows(r)
	if err != nil {
		return err
	}
	op, _ := layer.ParseOp(r.Op)
	steps, err := l.lowerLayer(layer.Unary(op, layer.Shape{N: 1, C: 1, H: m, W: k}))
	c.addSteps(1, steps...)
	c.Host.In, c.Host.Out = fp16Bytes(m*k), fp16Bytes(m*k)
	if op == layer.ReLU {
		c.Host.Zero = uint64(m * k / 2) // half of normally distributed inputs are negative
	}
	return err
}

func (l *lowerer) addElementwise(c *Chain, r *measured.Row) error {
	m, k, err := shapeAsRows(r)
	if err != nil {
		return err
	}
	op := layer.Add
	if r.Op == "mul" {
		op = layer.Mul
	}
	s := layer.Shape{N: 1, C: 1, H: m, W: k}
	steps, err := l.lowerLayer(layer.Binary(op, s, s))
	c.addSteps(1, steps...)
	c.Host.In, c.Host.Out = fp16Bytes(2*m*k), fp16Bytes(m*k)
	return err
}

// addRowPasses appends the passes of a reduction or a normalization along the rows of a tensor.
func (l *lowerer) addRowPasses(c *Chain, r *measured.Row) error {
	m, k, err := shapeAsRows(r)
	if err != nil {
		return err
	}
	c.addSteps(1, newPasses(r.Op, m, k)...)
	c.Host.In, c.Host.Out = fp16Bytes(m*k), fp16Bytes(m*k)
	switch r.Op {
	case "reduce_sum":
		c.Host.Out = fp16Bytes(m)
	case "softmax":
		c.Host.Subnormal = uint64(float64(m*k) * subnormalShare(k))
	}
	return nil
}

// subnormalShare returns the fraction of softmax results that are smaller than the smallest normal
// fp16, for k inputs with a normal distribution: exp(x) / (k sqrt(e)) < 2^-14.
func subnormalShare(k int) float64 {
	x := math.Log(float64(k)) + 0.5 - 14*math.Ln2
	// The last digits of the library function differ between machines.
	const digits = 1e9
	return math.Round(digits*math.Erfc(-x/math.Sqrt2)/2) / digits
}

// The decoder of the measured models has a width of 1024, SwiGLU of 4096, 16 heads, 32000
// words and 128 cached positions. N sequences process one token each. The caches are
// inputs.
const (
	decoderWidth = 1024
	decoderInner = 4096
	decoderHeads = 16
	decoderWords = 32000
	decoderKeys  = 128
)

func (l *lowerer) addDecoder(c *Chain, r *measured.Row) error {
	n := r.N
	block := newPasses("rms_norm", n, decoderWidth)
	linear := func(in, out int) error {
		steps, err := l.lowerMatMul(n, in, out)
		block = append(block, steps...)
		return err
	}
	for range 4 {
		if err := linear(decoderWidth, decoderWidth); err != nil {
			return err
		}
	}
	size := decoderWidth / decoderHeads
	block = append(block, newCachedMatMul(n, decoderHeads, size, decoderKeys)...)
	block = append(block, newPasses("softmax", n*decoderHeads, decoderKeys)...)
	block = append(block, newCachedMatMul(n, decoderHeads, decoderKeys, size)...)
	block = append(block, newPasses("rms_norm", n, decoderWidth)...)
	for _, s := range [...][2]int{{decoderWidth, decoderInner}, {decoderWidth, decoderInner}, {decoderInner, decoderWidth}} {
		if err := linear(s[0], s[1]); err != nil {
			return err
		}
	}
	for range 4 { // gate, its multiplication, two sums
		block = append(block, newPlanarPass(regs.FormTwoSources, n, decoderWidth, false, false))
	}
	c.addSteps(r.Depth, block...)
	words, err := l.lowerMatMul(n, decoderWidth, decoderWords)
	if err != nil {
		return err
	}
	c.addSteps(1, words...)
	// The host keeps the cache and passes the keys and the values of all layers in with each call.
	c.Host.In = fp16Bytes(n*decoderWidth + r.Depth*2*n*decoderKeys*decoderWidth)
	c.Host.Out = fp16Bytes(n * decoderWords)
	return nil
}

// addOutputHead appends a matmul of a single row, such as the output layer of a language model. The
// size of the weights in row r is a number of columns or a number of bytes.
func (l *lowerer) addOutputHead(c *Chain, r *measured.Row) error {
	columns := r.Cols
	if columns == 0 {
		columns = int(r.Bytes / 2 / uint64(r.K))
	}
	if columns == 0 || columns > layer.MaxChannels || r.K > layer.MaxChannels {
		return &UnmodelledError{r.ID, fmt.Sprintf("matmul weights are %d x %d; want dimensions from 1 to %d", r.K, columns, layer.MaxChannels)}
	}
	steps, err := l.lowerMatMul(1, r.K, columns)
	c.addSteps(1, steps...)
	c.Host.In, c.Host.Out = fp16Bytes(r.K), fp16Bytes(columns)
	return err
}

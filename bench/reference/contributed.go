package reference

import (
	"fmt"
	"maps"
	"slices"

	"anesim/loader/network/onnx"
)

// contributed has the operators of com.microsoft that are sums and sequences of others,
// except quantised ones and attention.
var contributed = map[string]operator{
	"FusedMatMul": {2, single(fusedMatMul)}, "TransposeMatMul": {2, single(fusedMatMul)},
	"FusedConv": {2, single(fusedConv)}, "FusedGemm": {2, single(fusedGemm)}, "MatMulNBits": {3, single(matMulNBits)},
	"BiasGelu": {2, single(biased(func(c *call) func(float64) float64 { return c.function("Gelu") }))}, "FastGelu": {1, single(biased((*call).fastGelu))}, "QuickGelu": {1, single(quickGelu)},
	"BiasAdd": {3, single(biasAdd)}, "BiasSoftmax": {2, single(biasSoftmax)},
	"SkipLayerNormalization": {3, skipLayerNormalization}, "SkipSimplifiedLayerNormalization": {3, skipSimplified},
	"SimplifiedLayerNormalization": {2, simplifiedLayerNormalization},
	"EmbedLayerNormalization":      {1, embedLayerNormalization}, "GroupNorm": {3, single(groupNorm)},
}

// fusedMatMul is alpha*A*B, with the matrices of both sides transposed if asked for.
func fusedMatMul(c *call) (*Tensor, error) {
	if c.flag("transBatchA") || c.flag("transBatchB") {
		return nil, c.unsupported("transposed batches")
	}
	in := [2]*Tensor{c.in[0], c.in[1]}
	for i, name := range [...]string{"transA", "transB"} {
		if rank := len(in[i].Dims); c.flag(name) && rank > 1 {
			var err error
			if in[i], err = in[i].transpose(moveToEnd(rank, rank-1, rank-2)...); err != nil {
				return nil, err
			}
		}
	}
	y, err := c.multiply(in[0], in[1])
	if err != nil {
		return nil, err
	}
	alpha := c.float("alpha", 1)
	return y.apply(func(v float64) float64 { return alpha * v }), nil
}

// activate applies the operator that the attribute activation names.
func (c *call) activate(x *Tensor) (*Tensor, error) {
	op := c.text("activation", "")
	if op == "" {
		return x, nil
	}
	attributes := map[string]*onnx.Attribute{}
	names := map[string][]string{"LeakyRelu": {"alpha"}, "HardSigmoid": {"alpha", "beta"}, "Elu": {"alpha"}, "Clip": {"min", "max"}}[op]
	for i, name := range names {
		if a := c.attribute("activation_params"); a != nil && i < len(a.Floats) {
			attributes[name] = &onnx.Attribute{Float: a.Floats[i]}
		} else if a := c.attribute("activation_" + name); a != nil {
			attributes[name] = a
		}
	}
	if names == nil && !slices.Contains([]string{"Relu", "Sigmoid", "Tanh", "HardSwish", "Softplus", "Softsign"}, op) {
		return nil, c.unsupported(fmt.Sprintf("activation %q", op))
	}
	return c.compose(op, attributes, x)
}

// fusedConv is activation(Conv(X, W, B) + Z).
func fusedConv(c *call) (*Tensor, error) {
	y, err := conv(c)
	if z := c.input(3); err == nil && z != nil {
		y, err = add(y, z)
	}
	if err != nil {
		return nil, err
	}
	return c.activate(y)
}

func fusedGemm(c *call) (*Tensor, error) {
	y, err := gemm(c)
	if err != nil {
		return nil, err
	}
	return c.activate(y)
}

// matMulNBits multiplies by weights of a few bits [N][blocks][bytes], packed from the
// lowest bits on, with a scale and a zero point for each block.
func matMulNBits(c *call) (*Tensor, error) {
	k, n, bits, block := c.int("K", 0), c.int("N", 0), c.int("bits", 4), c.int("block_size", 32)
	packed, scales, zeros := c.in[1], c.in[2], c.input(3)
	if c.input(4) != nil || bits != 2 && bits != 4 && bits != 8 {
		return nil, c.unsupported(fmt.Sprintf("weights of %d bits, or with an order of groups", bits))
	}
	if k < 1 || n < 1 || block < 1 || max(k, n, block) > maxElements {
		return nil, fmt.Errorf("weights of %d by %d (K, N) in blocks of %d (block_size)", k, n, block)
	}
	blocks, bytes := (k+block-1)/block, (block*bits+7)/8
	zeroBytes := (blocks*bits + 7) / 8
	if len(packed.Data) != n*blocks*bytes || len(scales.Data) != n*blocks {
		return nil, fmt.Errorf("weights of shape %v and scales of shape %v for %d by %d in blocks of %d", packed.Dims, scales.Dims, k, n, block)
	}
	if zeros != nil && (zeros.Type.IsFloat() && len(zeros.Data) != n*blocks || !zeros.Type.IsFloat() && len(zeros.Data) != n*zeroBytes) {
		return nil, fmt.Errorf("zero points of shape %v", zeros.Dims)
	}
	unpack := func(from []float64, i int) float64 {
		each := 8 / bits
		return float64(int(from[i/each]) >> (i % each * bits) & (1<<bits - 1))
	}
	w, err := newTensor(c.in[0].Type, k, n)
	if err != nil {
		return nil, err
	}
	for i := range w.Data {
		row, column := i/n, i%n
		b := row / block
		zero := float64(int(1) << (bits - 1))
		switch {
		case zeros == nil:
		case zeros.Type.IsFloat():
			zero = zeros.Data[column*blocks+b]
		default:
			zero = unpack(zeros.Data[column*zeroBytes:], b)
		}
		w.Data[i] = (unpack(packed.Data[(column*blocks+b)*bytes:], row%block) - zero) * scales.Data[column*blocks+b]
	}
	y, err := multiplyMatrices(c.in[0], w)
	if bias := c.input(5); err == nil && bias != nil {
		y, err = add(y, bias)
	}
	return y, err
}

// biased returns the operator that applies a function to the sum of one or two inputs.
func biased(function func(*call) func(float64) float64) func(*call) (*Tensor, error) {
	return func(c *call) (*Tensor, error) {
		x := c.in[0]
		if b := c.input(1); b != nil {
			var err error
			if x, err = add(x, b); err != nil {
				return nil, err
			}
		}
		return x.apply(function(c)), nil
	}
}

func quickGelu(c *call) (*Tensor, error) {
	return c.gated(c.in[0], c.float("alpha", float64(float32(1.702)))), nil
}

func biasAdd(c *call) (*Tensor, error) {
	x, err := add(c.in[0], c.in[1])
	if err != nil {
		return nil, err
	}
	return add(x, c.in[2])
}

// biasSoftmax is the softmax of a sum over all axes from one on.
func biasSoftmax(c *call) (*Tensor, error) {
	x, bias := c.in[0], c.in[1]
	if c.int("is_inner_broadcast", 1) == 0 && !slices.Equal(x.Dims, bias.Dims) {
		return nil, c.unsupported("a bias that is repeated inside of the batch")
	}
	axis, err := axisOf(c.int("axis", 1), len(x.Dims))
	if err != nil {
		return nil, err
	}
	if x, err = add(x, bias); err != nil {
		return nil, err
	}
	return x.normalizeRuns(product(x.Dims[axis:]), c.softmax), nil
}

// layerNorm normalises the last axis of x. The bias may be nil.
func (c *call) layerNorm(x, scale, bias *Tensor) ([]*Tensor, error) {
	epsilon := &onnx.Attribute{Float: float32(c.float("epsilon", 1e-12))}
	return c.composeAll("LayerNormalization", map[string]*onnx.Attribute{"epsilon": epsilon}, x, scale, bias)
}

// skipLayerNormalization normalises the sum of two inputs and a bias, which is a result
// too.
func skipLayerNormalization(c *call) ([]*Tensor, error) {
	x, err := c.addAll(c.in[0], c.in[1], c.input(4))
	if err != nil {
		return nil, err
	}
	results, err := c.layerNorm(x, c.in[2], c.input(3))
	return append(results, x), err
}

// addAll returns the sum of tensors, some of which may be nil.
func (c *call) addAll(x *Tensor, rest ...*Tensor) (*Tensor, error) {
	for _, t := range rest {
		if t == nil {
			continue
		}
		var err error
		if x, err = add(x, t); err != nil {
			return nil, err
		}
	}
	return x, nil
}

func skipSimplified(c *call) ([]*Tensor, error) {
	x, err := c.addAll(c.in[0], c.in[1], c.input(3))
	if err != nil || len(x.Dims) == 0 {
		return nil, fmt.Errorf("cannot add shapes %v and %v: %w", c.in[0].Dims, c.in[1].Dims, err)
	}
	y, err := c.divideByRMS(x, x.Dims[len(x.Dims)-1], c.float("epsilon", 1e-12)).scaleLast(c.in[2], nil)
	return []*Tensor{y, nil, nil, x}, err
}

// simplifiedLayerNormalization is RMSNormalization, with the inverse of the root as a
// second result.
func simplifiedLayerNormalization(c *call) ([]*Tensor, error) {
	if c.wants(1) {
		return nil, c.unsupported("inverse deviations as a result")
	}
	return one(rmsNormalization(c))
}

// embedLayerNormalization normalises sums of rows of tables: of words, places and segments.
func embedLayerNormalization(c *call) ([]*Tensor, error) {
	ids, segments, mask := c.in[0], c.input(1), c.input(7)
	for _, i := range [...]int{2, 3, 5, 6} {
		if c.input(i) == nil {
			return nil, fmt.Errorf("input %d is missing", i)
		}
	}
	if len(ids.Dims) != 2 {
		return nil, fmt.Errorf("input_ids of shape %v; want rank 2", ids.Dims)
	}
	spots := c.input(8)
	if spots == nil {
		spots = vector(make([]int, ids.Dims[1])...)
		for i := range spots.Data {
			spots.Data[i] = float64(i)
		}
	}
	x, err := c.compose("Gather", nil, c.in[2], ids)
	if err != nil {
		return nil, err
	}
	for _, rows := range [][2]*Tensor{{c.in[3], spots}, {c.input(4), segments}} {
		if rows[0] == nil || rows[1] == nil {
			continue
		}
		y, err := c.compose("Gather", nil, rows[0], rows[1])
		if err == nil {
			x, err = add(x, y)
		}
		if err != nil {
			return nil, err
		}
	}
	results, err := c.layerNorm(x, c.in[5], c.in[6])
	if err != nil {
		return nil, err
	}
	counts, err := newTensor(onnx.Int32, ids.Dims[0])
	if err == nil && mask != nil {
		if len(mask.Dims) != 2 || mask.Dims[0] != ids.Dims[0] {
			return nil, fmt.Errorf("mask of shape %v for input_ids of shape %v", mask.Dims, ids.Dims)
		}
		if counts, err = mask.reduceAxes([]int{1}, sum); err == nil {
			counts, err = counts.as(onnx.Int32).dropAxes([]int{1})
		}
	}
	return []*Tensor{results[0], counts, x}, err
}

// groupNorm is GroupNormalization of channels in the last axis, unless channels_last is 0,
// with an optional x*sigmoid(x).
func groupNorm(c *call) (*Tensor, error) {
	x, last := c.in[0], c.int("channels_last", 1) != 0
	if len(x.Dims) != 4 {
		return nil, fmt.Errorf("shape %v; want rank 4", x.Dims)
	}
	var err error
	if last {
		if x, err = x.transpose(channelsFirst(4)...); err != nil {
			return nil, err
		}
	}
	attributes := maps.Clone(c.node.Attributes)
	if attributes == nil {
		attributes = map[string]*onnx.Attribute{}
	}
	attributes["num_groups"] = &onnx.Attribute{Int: int64(c.int("groups", 0))}
	if x, err = c.compose("GroupNormalization", attributes, x, c.in[1], c.in[2]); err != nil {
		return nil, err
	}
	if c.flag("activation") {
		x = c.gated(x, 1)
	}
	if last {
		return x.transpose(invert(channelsFirst(4))...)
	}
	return x, nil
}

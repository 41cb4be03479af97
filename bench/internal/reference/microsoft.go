package reference

import (
	"fmt"
	"maps"
	"slices"

	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
)

// contributedOperators has the operators of com.microsoft that are made of other operators, except
// quantized ones and attention.
var contributedOperators = map[string]operator{
	"FusedMatMul": {2, wrapSingleResult(computeFusedMatMul)}, "TransposeMatMul": {2, wrapSingleResult(computeFusedMatMul)},
	"FusedConv": {2, wrapSingleResult(computeFusedConv)}, "FusedGemm": {2, wrapSingleResult(computeFusedGemm)}, "MatMulNBits": {3, wrapSingleResult(computeMatMulNBits)},
	"BiasGelu": {2, wrapSingleResult(newBiasedOperator(func(c *call) func(float64) float64 { return c.findElementaryFunction("Gelu") }))}, "FastGelu": {1, wrapSingleResult(newBiasedOperator((*call).newFastGeluFunction))}, "QuickGelu": {1, wrapSingleResult(computeQuickGelu)},
	"BiasAdd": {3, wrapSingleResult(computeBiasAdd)}, "BiasSoftmax": {2, wrapSingleResult(computeBiasSoftmax)},
	"SkipLayerNormalization": {3, computeSkipLayerNormalization}, "SkipSimplifiedLayerNormalization": {3, computeSkipSimplifiedLayerNormalization},
	"SimplifiedLayerNormalization": {2, computeSimplifiedLayerNormalization},
	"EmbedLayerNormalization":      {1, computeEmbedLayerNormalization}, "GroupNorm": {3, wrapSingleResult(computeGroupNorm)},
}

// computeFusedMatMul computes FusedMatMul: alpha*A*B. It transposes the matrices of A if transA is
// set, and those of B if transB is.
func computeFusedMatMul(c *call) (*tensor.Tensor, error) {
	if c.flagAttribute("transBatchA") || c.flagAttribute("transBatchB") {
		return nil, c.newUnsupportedError(`attribute "transBatchA" or "transBatchB"`)
	}
	in := [2]*tensor.Tensor{c.in[0], c.in[1]}
	for i, name := range [...]string{"transA", "transB"} {
		if rank := len(in[i].Dims); c.flagAttribute(name) && rank > 1 {
			var err error
			if in[i], err = in[i].Transpose(tensor.PermutationToEnd(rank, rank-1, rank-2)...); err != nil {
				return nil, err
			}
		}
	}
	y, err := c.matMul(in[0], in[1])
	if err != nil {
		return nil, err
	}
	alpha := c.floatAttribute("alpha", 1)
	return y.MapElements(func(v float64) float64 { return alpha * v }), nil
}

// applyActivation returns x after the operator that the attribute activation names, or x itself if
// the attribute is missing.
func (c *call) applyActivation(x *tensor.Tensor) (*tensor.Tensor, error) {
	op := c.textAttribute("activation", "")
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
		return nil, c.newUnsupportedError(fmt.Sprintf("activation %q", op))
	}
	return c.runOperator(op, attributes, x)
}

// computeFusedConv computes FusedConv: activation(Conv(X, W, B) + Z).
func computeFusedConv(c *call) (*tensor.Tensor, error) {
	y, err := computeConv(c)
	if z := c.inputTensor(3); err == nil && z != nil {
		y, err = tensor.Add(y, z)
	}
	if err != nil {
		return nil, err
	}
	return c.applyActivation(y)
}

func computeFusedGemm(c *call) (*tensor.Tensor, error) {
	y, err := computeGemm(c)
	if err != nil {
		return nil, err
	}
	return c.applyActivation(y)
}

// computeMatMulNBits computes MatMulNBits, the product of a matrix and quantized weights
// [N][blocks][bytes]. Weights have 2, 4 or 8 bits, with the first one in the lowest bits of a byte.
// Each block has a scale and a zero point.
func computeMatMulNBits(c *call) (*tensor.Tensor, error) {
	k, n, bits, block := c.intAttribute("K", 0), c.intAttribute("N", 0), c.intAttribute("bits", 4), c.intAttribute("block_size", 32)
	packed, scales, zeros := c.in[1], c.in[2], c.inputTensor(3)
	if c.inputTensor(4) != nil {
		return nil, c.newUnsupportedError(`input "g_idx"`)
	}
	if bits != 2 && bits != 4 && bits != 8 {
		return nil, c.newUnsupportedError(fmt.Sprintf("%d-bit weights; want 2, 4 or 8 bits", bits))
	}
	if k < 1 || n < 1 || block < 1 || max(k, n, block) > tensor.MaxElements {
		return nil, fmt.Errorf("attributes K, N and block_size are %d, %d and %d; want values from 1 to %d", k, n, block, tensor.MaxElements)
	}
	blocks, bytes := (k+block-1)/block, (block*bits+7)/8
	zeroBytes := (blocks*bits + 7) / 8
	if len(packed.Data) != n*blocks*bytes {
		return nil, fmt.Errorf("weights have shape %v; want %d bytes in each of %d x %d blocks", packed.Dims, bytes, n, blocks)
	}
	if len(scales.Data) != n*blocks {
		return nil, fmt.Errorf("scales have shape %v; want one element for each of %d x %d blocks", scales.Dims, n, blocks)
	}
	if zeros != nil {
		want := n * zeroBytes
		if zeros.Type.IsFloat() {
			want = n * blocks
		}
		if len(zeros.Data) != want {
			return nil, fmt.Errorf("zero points have shape %v; want %d elements for %d x %d blocks", zeros.Dims, want, n, blocks)
		}
	}
	unpack := func(from []float64, i int) float64 {
		each := 8 / bits
		return float64(int(from[i/each]) >> (i % each * bits) & (1<<bits - 1))
	}
	w, err := tensor.New(c.in[0].Type, k, n)
	if err != nil {
		return nil, err
	}
	for i := range w.Data {
		row, column := i/n, i%n
		b := row / block
		// Without zero points, the middle of the range stands for 0.
		zero := float64(int(1) << (bits - 1))
		switch {
		case zeros == nil:
		// Zero points of a floating-point type are not packed.
		case zeros.Type.IsFloat():
			zero = zeros.Data[column*blocks+b]
		default:
			zero = unpack(zeros.Data[column*zeroBytes:], b)
		}
		w.Data[i] = (unpack(packed.Data[(column*blocks+b)*bytes:], row%block) - zero) * scales.Data[column*blocks+b]
	}
	y, err := multiplyMatrices(c.in[0], w)
	if bias := c.inputTensor(5); err == nil && bias != nil {
		y, err = tensor.Add(y, bias)
	}
	return y, err
}

// newBiasedOperator returns an operator with two inputs, which computes f(a + b) for the function f
// that function returns. If the second input is missing, it computes f(a).
func newBiasedOperator(function func(*call) func(float64) float64) func(*call) (*tensor.Tensor, error) {
	return func(c *call) (*tensor.Tensor, error) {
		x := c.in[0]
		if b := c.inputTensor(1); b != nil {
			var err error
			if x, err = tensor.Add(x, b); err != nil {
				return nil, err
			}
		}
		return x.MapElements(function(c)), nil
	}
}

func computeQuickGelu(c *call) (*tensor.Tensor, error) {
	return c.computeSwishWithAlpha(c.in[0], c.floatAttribute("alpha", float64(float32(1.702)))), nil
}

func computeBiasAdd(c *call) (*tensor.Tensor, error) {
	x, err := tensor.Add(c.in[0], c.in[1])
	if err != nil {
		return nil, err
	}
	return tensor.Add(x, c.in[2])
}

// computeBiasSoftmax computes BiasSoftmax: the softmax of the sum of both inputs, taken over the
// attribute axis and all later axes together.
func computeBiasSoftmax(c *call) (*tensor.Tensor, error) {
	x, bias := c.in[0], c.in[1]
	if c.intAttribute("is_inner_broadcast", 1) == 0 && !slices.Equal(x.Dims, bias.Dims) {
		return nil, c.newUnsupportedError("is_inner_broadcast=0 with different input and bias shapes")
	}
	axis, err := tensor.ResolveAxis(c.intAttribute("axis", 1), len(x.Dims))
	if err != nil {
		return nil, err
	}
	if x, err = tensor.Add(x, bias); err != nil {
		return nil, err
	}
	return x.MapRuns(tensor.CountValidElements(x.Dims[axis:]), c.softmax), nil
}

// runLayerNormalization computes the operator LayerNormalization over the last axis of x. The bias
// may be nil.
func (c *call) runLayerNormalization(x, scale, bias *tensor.Tensor) ([]*tensor.Tensor, error) {
	epsilon := &onnx.Attribute{Float: float32(c.floatAttribute("epsilon", 1e-12))}
	return c.runOperatorForAllResults("LayerNormalization", map[string]*onnx.Attribute{"epsilon": epsilon}, x, scale, bias)
}

// computeSkipLayerNormalization computes SkipLayerNormalization: it normalizes the sum of two
// inputs and a bias. The sum is the last result.
func computeSkipLayerNormalization(c *call) ([]*tensor.Tensor, error) {
	x, err := addNonNilTensors(c.in[0], c.in[1], c.inputTensor(4))
	if err != nil {
		return nil, err
	}
	results, err := c.runLayerNormalization(x, c.in[2], c.inputTensor(3))
	return append(results, x), err
}

// addNonNilTensors returns the sum of x and the tensors in rest that are not nil.
func addNonNilTensors(x *tensor.Tensor, rest ...*tensor.Tensor) (*tensor.Tensor, error) {
	for _, t := range rest {
		if t == nil {
			continue
		}
		var err error
		if x, err = tensor.Add(x, t); err != nil {
			return nil, err
		}
	}
	return x, nil
}

func computeSkipSimplifiedLayerNormalization(c *call) ([]*tensor.Tensor, error) {
	x, err := addNonNilTensors(c.in[0], c.in[1], c.inputTensor(3))
	if err != nil {
		return nil, err
	}
	if len(x.Dims) == 0 {
		return nil, fmt.Errorf("input is a scalar; want at least one axis")
	}
	y, err := c.divideByRMS(x, x.Dims[len(x.Dims)-1], c.floatAttribute("epsilon", 1e-12)).ScaleAndAddBias(c.in[2], nil)
	return []*tensor.Tensor{y, nil, nil, x}, err
}

// computeSimplifiedLayerNormalization computes SimplifiedLayerNormalization, which is
// RMSNormalization. Its second result, the inverse deviations, is not supported.
func computeSimplifiedLayerNormalization(c *call) ([]*tensor.Tensor, error) {
	if c.hasOutput(1) {
		return nil, c.newUnsupportedError("output of inverse standard deviations")
	}
	return wrapInList(computeRMSNormalization(c))
}

// computeEmbedLayerNormalization computes EmbedLayerNormalization: it sums the rows of the word,
// position and segment tables that the inputs select, and normalizes each sum.
func computeEmbedLayerNormalization(c *call) ([]*tensor.Tensor, error) {
	ids, segments, mask := c.in[0], c.inputTensor(1), c.inputTensor(7)
	for _, i := range [...]int{2, 3, 5, 6} {
		if c.inputTensor(i) == nil {
			return nil, fmt.Errorf("missing input %d", i)
		}
	}
	if len(ids.Dims) != 2 {
		return nil, fmt.Errorf("input \"input_ids\" has shape %v; want rank 2", ids.Dims)
	}
	positions := c.inputTensor(8)
	if positions == nil {
		positions = tensor.NewVector(make([]int, ids.Dims[1])...)
		for i := range positions.Data {
			positions.Data[i] = float64(i)
		}
	}
	x, err := c.runOperator("Gather", nil, c.in[2], ids)
	if err != nil {
		return nil, err
	}
	// Segments are optional. Either of the two inputs alone has no meaning.
	for _, rows := range [][2]*tensor.Tensor{{c.in[3], positions}, {c.inputTensor(4), segments}} {
		if rows[0] == nil || rows[1] == nil {
			continue
		}
		y, err := c.runOperator("Gather", nil, rows[0], rows[1])
		if err == nil {
			x, err = tensor.Add(x, y)
		}
		if err != nil {
			return nil, err
		}
	}
	results, err := c.runLayerNormalization(x, c.in[5], c.in[6])
	if err != nil {
		return nil, err
	}
	counts, err := tensor.New(onnx.Int32, ids.Dims[0])
	if err == nil && mask != nil {
		if len(mask.Dims) != 2 || mask.Dims[0] != ids.Dims[0] {
			return nil, fmt.Errorf("mask has shape %v; want rank 2 and batch size %d", mask.Dims, ids.Dims[0])
		}
		if counts, err = mask.ReduceAxes([]int{1}, tensor.Sum); err == nil {
			counts, err = counts.WithType(onnx.Int32).DropAxes([]int{1})
		}
	}
	return []*tensor.Tensor{results[0], counts, x}, err
}

// computeGroupNorm computes com.microsoft's GroupNorm, a GroupNormalization. The channels are in
// the last axis unless channels_last is 0. If activation is set, it returns x*sigmoid(x) of each
// normalized element x.
func computeGroupNorm(c *call) (*tensor.Tensor, error) {
	x, last := c.in[0], c.intAttribute("channels_last", 1) != 0
	if len(x.Dims) != 4 {
		return nil, fmt.Errorf("input has shape %v; want rank 4", x.Dims)
	}
	var err error
	if last {
		if x, err = x.Transpose(permutationToChannelsFirst(4)...); err != nil {
			return nil, err
		}
	}
	attributes := maps.Clone(c.node.Attributes)
	if attributes == nil {
		attributes = map[string]*onnx.Attribute{}
	}
	attributes["num_groups"] = &onnx.Attribute{Int: int64(c.intAttribute("groups", 0))}
	if x, err = c.runOperator("GroupNormalization", attributes, x, c.in[1], c.in[2]); err != nil {
		return nil, err
	}
	if c.flagAttribute("activation") {
		x = c.computeSwishWithAlpha(x, 1)
	}
	if last {
		return x.Transpose(tensor.InvertPermutation(permutationToChannelsFirst(4))...)
	}
	return x, nil
}

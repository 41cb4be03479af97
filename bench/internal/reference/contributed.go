package reference

import (
	"fmt"
	"math"
	"slices"

	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
)

// toolOperators has the operators of com.microsoft that onnxruntime's tools write into files, and
// ONNX's TensorScatter.
var toolOperators = map[string]operator{
	"QLinearWhere": {9, wrapSingleResult(computeQLinearWhere)}, "QAttention": {5, computeQAttention}, "GatherBlockQuantized": {3, wrapSingleResult(computeGatherBlockQuantized)},
	"ExpandDims": {2, wrapSingleResult(computeExpandDims)}, "BiasSplitGelu": {2, wrapSingleResult(computeBiasSplitGelu)}, "GemmFastGelu": {2, wrapSingleResult(computeGemmFastGelu)},
	"TensorScatter": {2, wrapSingleResult(computeTensorScatter)},
}

func computeQLinearWhere(c *call) (*tensor.Tensor, error) {
	var sides [2]*tensor.Tensor
	for i := range sides {
		s, err := newScaling(c.in[1+3*i], c.in[2+3*i], c.in[3+3*i], 1, 0)
		if err != nil {
			return nil, err
		}
		if sides[i], err = s.dequantize(c.in[1+3*i]); err != nil {
			return nil, err
		}
	}
	y, err := c.runOperator("Where", nil, c.in[0], sides[0], sides[1])
	if err != nil {
		return nil, err
	}
	s, err := newScaling(y, c.in[7], c.in[8], 1, 0)
	if err != nil {
		return nil, err
	}
	return s.quantize(y, c.Nearest)
}

// computeQAttention dequantizes the input and the weights, whose columns may have a scale each, and
// computes Microsoft's Attention.
func computeQAttention(c *call) ([]*tensor.Tensor, error) {
	if c.inputTensor(8) != nil {
		return nil, c.newUnsupportedError(`input "past"`)
	}
	var in [2]*tensor.Tensor
	for i := range in {
		s, err := newScaling(c.in[i], c.in[3+i], c.inputTensor(6+i), len(c.in[i].Dims)-1, 0)
		if err != nil {
			return nil, err
		}
		if in[i], err = s.dequantize(c.in[i]); err != nil {
			return nil, err
		}
	}
	node := &onnx.Node{Name: c.node.Name, Op: "Attention", Domain: "com.microsoft", Outputs: c.node.Outputs, Attributes: c.node.Attributes}
	return operators["Attention"].compute(&call{interpreter: c.interpreter, node: node, in: []*tensor.Tensor{in[0], in[1], c.inputTensor(2), c.inputTensor(5)}, scope: c.scope})
}

// computeGatherBlockQuantized dequantizes a table in blocks and selects slices of it. Two elements of
// 4 bits share a byte of a table of uint8.
func computeGatherBlockQuantized(c *call) (*tensor.Tensor, error) {
	table, zero, bits := c.in[0], c.inputTensor(3), c.intAttribute("bits", 4)
	if table.Type == onnx.Uint8 && bits != 8 {
		if bits != 4 {
			return nil, c.newUnsupportedError(fmt.Sprintf("%d bits", bits))
		}
		table = unpackNibbles(table)
		if zero != nil {
			zero = unpackNibbles(zero)
		}
	}
	if zero == nil {
		if zero = c.in[2].ZerosLike().WithType(table.Type); c.in[0].Type == onnx.Uint8 {
			zero = zero.MapElements(func(float64) float64 { return math.Exp2(float64(bits - 1)) })
		}
	}
	s, err := newScaling(table, c.in[2], zero, c.intAttribute("quantize_axis", 1), c.intAttribute("block_size", 128))
	if err != nil {
		return nil, err
	}
	w, err := s.dequantize(table)
	if err != nil {
		return nil, err
	}
	return c.runOperator("Gather", map[string]*onnx.Attribute{"axis": {Int: int64(c.intAttribute("gather_axis", 0))}}, w, c.in[1])
}

// unpackNibbles returns the pairs of 4 bits in the elements of t along its last axis, or t itself if it
// has no axes.
func unpackNibbles(t *tensor.Tensor) *tensor.Tensor {
	if len(t.Dims) == 0 {
		return t
	}
	out := &tensor.Tensor{Type: t.Type, Dims: slices.Clone(t.Dims)}
	out.Dims[len(out.Dims)-1] *= 2
	for _, v := range t.Data {
		out.Data = append(out.Data, math.Mod(v, 16), math.Floor(v/16))
	}
	return out
}

func computeExpandDims(c *call) (*tensor.Tensor, error) {
	if len(c.in[1].Data) != 1 {
		return nil, fmt.Errorf("axis has shape %v; want a scalar", c.in[1].Dims)
	}
	axis, err := tensor.ResolveAxis(c.in[1].ToInts()[0], len(c.in[0].Dims)+1)
	if err != nil {
		return nil, err
	}
	return c.in[0].Reshape(slices.Insert(slices.Clone(c.in[0].Dims), axis, 1)...)
}

func computeBiasSplitGelu(c *call) (*tensor.Tensor, error) {
	x, err := tensor.Combine(c.in[0].Type, c.in[0], c.in[1], func(a, b float64) float64 { return a + b })
	if err != nil {
		return nil, err
	}
	last := len(x.Dims) - 1
	if last < 0 || x.Dims[last]%2 != 0 {
		return nil, fmt.Errorf("shape %v has no even number of channels", x.Dims)
	}
	half := x.Dims[last] / 2
	out, err := tensor.New(x.Type, append(slices.Clone(x.Dims[:last]), half)...)
	if err != nil {
		return nil, err
	}
	gelu := c.findElementaryFunction("Gelu")
	for i := range out.Data {
		at := i/half*2*half + i%half
		out.Data[i] = x.Data[at] * gelu(x.Data[at+half])
	}
	return out, nil
}

func computeGemmFastGelu(c *call) (*tensor.Tensor, error) {
	y, err := c.matMul(c.in[0], c.in[1])
	if err != nil {
		return nil, err
	}
	if b := c.inputTensor(2); b != nil {
		if y, err = tensor.Combine(y.Type, y, b, func(a, b float64) float64 { return a + b }); err != nil {
			return nil, err
		}
	}
	return y.MapElements(c.newFastGeluFunction()), nil
}

// computeTensorScatter writes each slice of the update into its place in the cache.
func computeTensorScatter(c *call) (*tensor.Tensor, error) {
	cache, update := c.in[0], c.in[1]
	axis, err := tensor.ResolveAxis(c.intAttribute("axis", -2), len(cache.Dims))
	if err != nil || axis == 0 || len(update.Dims) != len(cache.Dims) {
		return nil, fmt.Errorf("update of shape %v does not fit a cache of shape %v along axis %d", update.Dims, cache.Dims, axis)
	}
	for i, d := range update.Dims {
		if i != axis && d != cache.Dims[i] {
			return nil, fmt.Errorf("update of shape %v does not fit a cache of shape %v", update.Dims, cache.Dims)
		}
	}
	at := make([]int, cache.Dims[0])
	if t := c.inputTensor(2); t != nil {
		if at = t.ToInts(); len(at) != cache.Dims[0] {
			return nil, fmt.Errorf("%d positions for a batch of %d", len(at), cache.Dims[0])
		}
	}
	out := &tensor.Tensor{Type: cache.Type, Dims: slices.Clone(cache.Dims), Data: slices.Clone(cache.Data)}
	strides := tensor.RowMajorStrides(cache.Dims)
	index := make([]int, len(update.Dims))
	// Element by element, in the order of the definition; the engine's graph moves slices.
	for _, v := range update.Data {
		to := 0
		for i, k := range index {
			if i == axis {
				if k += at[index[0]]; c.textAttribute("mode", "linear") == "circular" && cache.Dims[i] > 0 {
					k %= cache.Dims[i]
				}
				if k < 0 || k >= cache.Dims[i] {
					return nil, fmt.Errorf("position %d is outside of a cache of %d", k, cache.Dims[i])
				}
			}
			to += k * strides[i]
		}
		out.Data[to] = v
		tensor.AdvanceIndex(index, update.Dims)
	}
	return out, nil
}

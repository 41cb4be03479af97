package ops

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"anesim/internal/network/graph"
)

// newInts returns an int64 constant of the given shape.
func newInts(dims []int, v ...float64) *graph.Value { return newConstant(graph.Int64, dims, v) }

func newFloats(dims []int, v ...float64) *graph.Value { return newConstant(graph.Float, dims, v) }

func newConstant(t graph.Type, dims []int, v []float64) *graph.Value {
	x := &graph.Value{Name: "constant"}
	x.Set(&graph.Const{Dims: dims, Type: t, Numbers: v})
	return x
}

// newTensor returns a tensor whose elements are unknown.
func newTensor(dims ...int) *graph.Value {
	x := &graph.Value{Name: "tensor", Type: graph.Float}
	x.Shape(dims)
	return x
}

// newList returns a constant list of integers.
func newList(v ...float64) *graph.Value { return newInts([]int{len(v)}, v...) }

func newOmittedInput() *graph.Value { return &graph.Value{} }

// attributes of a node, by name.
type attributes map[string]*graph.Attr

func newIntAttr(v int64) *graph.Attr     { return &graph.Attr{Int: v} }
func newIntsAttr(v ...int64) *graph.Attr { return &graph.Attr{Ints: v} }

// newNode returns a node of a recent operator version with the given number of results.
func newNode(op string, results int, a attributes, in ...*graph.Value) *graph.Node {
	n := &graph.Node{Op: op, In: in, Attr: a, Opset: 20}
	for i := range results {
		n.Out = append(n.Out, &graph.Value{Name: fmt.Sprintf("y%d", i)})
	}
	return n
}

// newOldNode returns a node of an early operator version.
func newOldNode(op string, a attributes, in ...*graph.Value) *graph.Node {
	n := newNode(op, 1, a, in...)
	n.Opset = 6
	return n
}

// TestInfer holds the shapes, types and work of results against numbers worked out by hand.
func TestInfer(t *testing.T) {
	x, picture := newTensor(2, 3, 4), newTensor(1, 8, 14, 14)
	for _, c := range []struct {
		n    *graph.Node
		want string // shapes and types, or the error
		macs int
	}{
		{newNode("Relu", 1, nil, x), "[2 3 4] float32", 0},
		{newNode("Add", 1, nil, newTensor(2, 1, 4), newTensor(3, 1)), "[2 3 4] float32", 0},
		{newNode("Add", 1, nil, newTensor(2, 3), newTensor(4)), "error: cannot broadcast shapes [2 3] and [4]", 0},
		{newNode("Less", 1, nil, x, newTensor()), "[2 3 4] bool", 0},
		{newNode("Cast", 1, attributes{"to": newIntAttr(7)}, x), "[2 3 4] int64", 0},
		{newNode("Reshape", 1, nil, x, newList(0, -1)), "[2 12] float32", 0},
		{newNode("Reshape", 1, nil, x, newList(5, -1)), "error: cannot reshape [2 3 4] to [5 -1]", 0},
		{newNode("Reshape", 1, nil, x, newTensor(2)), "error: shape \"tensor\" is computed; want a constant", 0},
		{newNode("Transpose", 1, nil, x), "[4 3 2] float32", 0},
		{newNode("Transpose", 1, attributes{"perm": newIntsAttr(0, 2, 1)}, x), "[2 4 3] float32", 0},
		{newNode("Squeeze", 1, nil, newTensor(1, 5, 1)), "[5] float32", 0},
		{newNode("Unsqueeze", 1, nil, x, newList(0, -1)), "[1 2 3 4 1] float32", 0},
		{newNode("Concat", 1, attributes{"axis": newIntAttr(1)}, x, newTensor(2, 5, 4)), "[2 8 4] float32", 0},
		{newNode("Split", 3, attributes{"axis": newIntAttr(-1)}, newTensor(7)), "[3] float32, [3] float32, [1] float32", 0},
		{newNode("Slice", 1, nil, x, newList(-1), newList(-9), newList(2), newList(-2)), "[2 3 2] float32", 0},
		{newNode("Gather", 1, attributes{"axis": newIntAttr(1)}, x, newList(0, 2, 2, 1)), "[2 4 4] float32", 0},
		{newNode("ReduceSum", 1, attributes{"keepdims": newIntAttr(0)}, x, newList(1)), "[2 4] float32", 0},
		{newNode("ReduceMean", 1, nil, x), "[1 1 1] float32", 0},
		{newNode("ArgMax", 1, attributes{"axis": newIntAttr(2)}, x), "[2 3 1] int64", 0},
		{newNode("TopK", 2, nil, x, newList(2)), "[2 3 2] float32, [2 3 2] int64", 0},
		{newNode("MatMul", 1, nil, newTensor(5, 2, 3), newTensor(3, 7)), "[5 2 7] float32", 5 * 2 * 7 * 3},
		{newNode("Gemm", 1, attributes{"transB": newIntAttr(1)}, newTensor(2, 3), newTensor(7, 3)), "[2 7] float32", 2 * 3 * 7},
		{newNode("Einsum", 1, attributes{"equation": {Text: "bij,bjk->bik"}}, newTensor(2, 3, 4), newTensor(2, 4, 5)), "[2 3 5] float32", 2 * 3 * 4 * 5},
		// 14 and padding of 1 on both sides leave 7 places for 3 taps at steps of 2.
		{newNode("Conv", 1, attributes{"strides": newIntsAttr(2, 2), "pads": newIntsAttr(1, 1, 1, 1)}, picture, newTensor(16, 8, 3, 3)), "[1 16 7 7] float32", 7 * 7 * 16 * 8 * 9},
		{newNode("Conv", 1, attributes{"group": newIntAttr(3)}, picture, newTensor(16, 8, 3, 3)), "error: input shape [1 8 14 14] is incompatible with weight shape [16 8 3 3] for 3 groups", 0},
		// A step of 2 doubles 14; 3 taps reach one place beyond, which the crop takes off again.
		{newNode("ConvTranspose", 1, attributes{"strides": newIntsAttr(2, 2), "pads": newIntsAttr(0, 0, 1, 1)}, picture, newTensor(8, 4, 3, 3)), "[1 4 28 28] float32", 8 * 14 * 14 * 4 * 9},
		{newNode("MaxPool", 1, attributes{"kernel_shape": newIntsAttr(3, 3), "strides": newIntsAttr(2, 2), "ceil_mode": newIntAttr(1)}, picture), "[1 8 7 7] float32", 0},
		{newNode("Resize", 1, nil, picture, newOmittedInput(), newFloats([]int{4}, 1, 1, 2, 0.5)), "[1 8 28 7] float32", 0},
		{newNode("Pad", 1, nil, newTensor(4), newList(1, 2)), "[7] float32", 0},
		{newNode("LSTM", 3, nil, newTensor(5, 2, 3), newTensor(1, 16, 3), newTensor(1, 16, 4)), "[5 1 2 4] float32, [1 2 4] float32, [1 2 4] float32", 5 * 2 * (16*3 + 16*4)},
		{newNode("NonMaxSuppression", 1, nil, newTensor(1, 6, 4), newTensor(1, 2, 6), newList(3)), "[6 3] int64", 0},
		{newNode("LSTM", 1, attributes{"layout": newIntAttr(1)}, newTensor(2, 5, 3), newTensor(1, 16, 3), newTensor(1, 16, 4)), "[2 5 1 4] float32, [2 1 4] float32, [2 1 4] float32", 5 * 2 * (16*3 + 16*4)},
		{newNode("Linear", 1, nil, newTensor(5, 3), newTensor(7, 3)), "[5 7] float32", 5 * 7 * 3},
		{newNode("MatMul", 1, nil, newTensor(3), newTensor(3)), "[] float32", 3},
		{newNode("Einsum", 1, attributes{"equation": {Text: "ij, kj"}}, newTensor(2, 3), newTensor(4, 3)), "[2 4] float32", 2 * 3 * 4},
		{newNode("Einsum", 1, attributes{"equation": {Text: "...ij,...jk->...ik"}}, newTensor(6, 2, 3, 4), newTensor(2, 4, 5)), "[6 2 3 5] float32", 6 * 2 * 3 * 4 * 5},
		{newNode("Einsum", 1, attributes{"equation": {Text: "...ij,jk"}}, newTensor(2, 3, 4), newTensor(4, 5)), "[2 3 5] float32", 2 * 3 * 4 * 5},
		{newNode("GlobalAveragePool", 1, nil, picture), "[1 8 1 1] float32", 0},
		{newNode("DepthToSpace", 1, attributes{"blocksize": newIntAttr(2)}, picture), "[1 2 28 28] float32", 0},
		{newNode("SpaceToDepth", 1, attributes{"blocksize": newIntAttr(7)}, picture), "[1 392 2 2] float32", 0},
		// An odd place of padding stands behind, or with SAME_LOWER before; both leave as many
		// places.
		{newNode("MaxPool", 1, attributes{"kernel_shape": newIntsAttr(2, 2), "auto_pad": {Text: "SAME_UPPER"}}, picture), "[1 8 14 14] float32", 0},
		{newNode("MaxPool", 1, attributes{"kernel_shape": newIntsAttr(3, 3), "auto_pad": {Text: "VALID"}, "dilations": newIntsAttr(2, 1)}, picture), "[1 8 10 12] float32", 0},
		{newNode("ConvTranspose", 1, attributes{"strides": newIntsAttr(2, 2), "auto_pad": {Text: "SAME_LOWER"}}, picture, newTensor(8, 4, 3, 3)), "[1 4 28 28] float32", 8 * 14 * 14 * 4 * 9},
		{newNode("ConvTranspose", 1, attributes{"strides": newIntsAttr(2, 2), "output_shape": newIntsAttr(30, 30)}, picture, newTensor(8, 4, 3, 3)), "[1 4 30 30] float32", 8 * 14 * 14 * 4 * 9},
		{newNode("Pad", 1, nil, newTensor(4, 5), newList(1, -2), newOmittedInput(), newList(-1)), "[4 4] float32", 0},
		{newNode("Resize", 1, attributes{"axes": newIntsAttr(3, 2)}, picture, newOmittedInput(), newOmittedInput(), newList(7, 28)), "[1 8 28 7] float32", 0},
		{newNode("Upsample", 1, attributes{"scales": {Floats: []float32{1, 1, 2, 2}}}, picture), "[1 8 28 28] float32", 0},
		{newNode("Flatten", 1, attributes{"axis": newIntAttr(-1)}, x), "[6 4] float32", 0},
		{newNode("Expand", 1, nil, newTensor(3, 1), newList(2, 1, 4)), "[2 3 4] float32", 0},
		{newNode("Tile", 1, nil, x, newList(1, 2, 0)), "[2 6 0] float32", 0},
		{newNode("Slice", 1, attributes{"starts": newIntsAttr(1), "ends": newIntsAttr(1)}, x), "[0 3 4] float32", 0},
		{newNode("Where", 1, nil, newTensor(3, 1), newInts([]int{4}, 1, 1, 1, 1), newInts([]int{}, 0)), "[3 4] int64", 0},
		{newNode("Range", 1, nil, newFloats([]int{}, 0), newFloats([]int{}, 1), newFloats([]int{}, 0.3)), "[4] float32", 0},
		{newNode("ConstantOfShape", 1, attributes{"value": {Const: &graph.Const{Dims: []int{1}, Type: graph.Bool, Numbers: []float64{1}}}}, newList(2, 5)), "[2 5] bool", 0},
		{newNode("EyeLike", 1, attributes{"dtype": newIntAttr(int64(graph.Int32))}, newTensor(3, 2)), "[3 2] int32", 0},
		{newNode("RandomNormal", 1, attributes{"shape": newIntsAttr(5)}), "[5] float32", 0},
		{newNode("IsNaN", 1, nil, x), "[2 3 4] bool", 0},
		{newNode("ArgMin", 1, attributes{"keepdims": newIntAttr(0)}, x), "[3 4] int64", 0},
		{newNode("LayerNormalization", 3, attributes{"axis": newIntAttr(1)}, x), "[2 3 4] float32, [2 1 1] float32, [2 1 1] float32", 0},
		{newNode("QuantizeLinear", 1, nil, x, newFloats([]int{}, 1)), "[2 3 4] uint8", 0},
		{newNode("QuantizeLinear", 1, attributes{"output_dtype": newIntAttr(int64(graph.Int16))}, x, newFloats([]int{}, 1)), "[2 3 4] int16", 0},
		{newNode("DequantizeLinear", 1, nil, newConstant(graph.Int8, []int{1}, []float64{1}), newFloats([]int{}, 1)), "[1] float32", 0},
		{newNode("GatherND", 1, nil, x, newTensor(5, 2)), "[5 4] float32", 0},
		{newNode("GatherND", 1, attributes{"batch_dims": newIntAttr(1)}, x, newTensor(2, 1)), "[2 4] float32", 0},
		{newNode("GatherElements", 1, nil, x, newTensor(2, 3, 1)), "[2 3 1] float32", 0},
		{newNode("OneHot", 1, attributes{"axis": newIntAttr(0)}, newTensor(2), newInts([]int{}, 3), newFloats([]int{2}, 0, 1)), "[3 2] float32", 0},
		{newNode("GridSample", 1, nil, picture, newTensor(1, 5, 6, 2)), "[1 8 5 6] float32", 0},
		{newNode("RoiAlign", 1, attributes{"output_height": newIntAttr(2), "output_width": newIntAttr(3)}, picture, newTensor(7, 4), newTensor(7)), "[7 8 2 3] float32", 0},
		{newNode("NonZero", 1, nil, newTensor(2, 3)), "[2 6] int64", 0},
		{newNode("Compress", 1, nil, x, newList(1, 0, 1)), "[2] float32", 0},
		{newNode("Compress", 1, attributes{"axis": newIntAttr(1)}, x, newList(1, 0, 1)), "[2 2 4] float32", 0},
		{newNode("Unique", 2, attributes{"axis": newIntAttr(1)}, x), "[2 3 4] float32, [3] int64, [3] int64, [3] int64", 0},
		{newNode("Size", 1, nil, x), "[] int64", 0},
		{newNode("Shape", 1, attributes{"start": newIntAttr(-2), "end": newIntAttr(-9)}, x), "[0] int64", 0},
		{newOldNode("Add", attributes{"broadcast": newIntAttr(1), "axis": newIntAttr(1)}, x, newTensor(3)), "[2 3 4] float32", 0},
		{newOldNode("Add", attributes{"broadcast": newIntAttr(1)}, x, newTensor(3, 4)), "[2 3 4] float32", 0},
		{newNode("Loop", 1, nil, x), `error: operator Loop is not modelled`, 0},
	} {
		got, macs := "", 0
		res, err := Infer(c.n)
		for i, r := range res {
			if i > 0 {
				got += ", "
			}
			got += fmt.Sprintf("%v %v", r.Dims, r.Type)
			macs += r.MACs
		}
		if err != nil {
			got = "error: " + err.Error()
		}
		if !strings.HasPrefix(got, c.want) || err == nil && got != c.want || macs != c.macs {
			t.Errorf("%s: %s and %d multiply-accumulates, want %s and %d", c.n.Op, got, macs, c.want, c.macs)
		}
	}
}

// TestRefused holds what a rule says of a node that it has no shape for: what is wrong with which
// operand or argument.
func TestRefused(t *testing.T) {
	x, picture := newTensor(2, 3, 4), newTensor(1, 8, 14, 14)
	window := attributes{"kernel_shape": newIntsAttr(3, 3)}
	for _, c := range []struct {
		n    *graph.Node
		want string
	}{
		{newNode("Relu", 1, nil), "input 0 is missing"},
		{newNode("Relu", 1, nil, newTensor(1<<21, 1<<20)), "shape [2097152 1048576] is out of range; want dimensions from 0 to 2147483648 and at most 2^40 elements"},
		{newOldNode("Add", nil, x, newTensor(3)), `shapes [2 3 4] and [3] differ; want equal shapes or attribute "broadcast"`},
		{newOldNode("Add", attributes{"broadcast": newIntAttr(1), "axis": newIntAttr(2)}, x, newTensor(3, 4)), "cannot broadcast shape [3 4] to [2 3 4] starting at axis 2"},
		{newNode("MaxPool", 1, window, x), "kernel shape has 2 dimensions; want 1, one per spatial axis"},
		{newNode("MaxPool", 1, window, newTensor(2, 3)), "input has 2 dimensions; want at least 3: batch, channels and a spatial axis"},
		{newNode("MaxPool", 1, window, newTensor(1, 1, 2, 2)), "kernel [3 3] with dilation is larger than input [2 2] with padding"},
		{newNode("MaxPool", 1, attributes{"kernel_shape": newIntsAttr(3, 3), "strides": newIntsAttr(0, 1)}, picture), "invalid strides [0 1]; want 2 numbers from 1 to 16777216"},
		{newNode("MaxPool", 1, attributes{"kernel_shape": newIntsAttr(make([]int64, 33)...)}, picture), `attribute "kernel_shape" has 33 elements; want at most 32`},
		{newNode("MaxPool", 1, attributes{"kernel_shape": newIntsAttr(3, 3), "dilations": newIntsAttr(make([]int64, 33)...)}, picture), `attribute "dilations" has 33 elements; want at most 32`},
		{newNode("ConvTranspose", 1, attributes{"output_padding": newIntsAttr(make([]int64, 33)...)}, picture, newTensor(8, 4, 3, 3)), `attribute "output_padding" has 33 elements; want at most 32`},
		{newNode("ConvTranspose", 1, attributes{"pads": newIntsAttr(make([]int64, 33)...)}, picture, newTensor(8, 4, 3, 3)), `attribute "pads" has 33 elements; want at most 32`},
		{newNode("ConvTranspose", 1, attributes{"output_shape": newIntsAttr(make([]int64, 33)...)}, picture, newTensor(8, 4, 3, 3)), `attribute "output_shape" has 33 elements; want at most 32`},
		{newNode("MaxPool", 1, attributes{"kernel_shape": newIntsAttr(3, 0)}, picture), "kernel shape [3 0] is out of range; want sizes from 1 to 16777216"},
		{newNode("MaxPool", 1, attributes{"kernel_shape": newIntsAttr(3, 3), "auto_pad": {Text: "MOST"}}, picture), `unknown auto_pad "MOST"; want NOTSET, VALID, SAME_UPPER or SAME_LOWER`},
		{newNode("Conv", 1, attributes{"kernel_shape": newIntsAttr(5, 5)}, picture, newTensor(4, 8, 3, 3)), "weight shape [4 8 3 3] does not match kernel_shape [5 5]"},
		{newNode("ConvTranspose", 1, nil, picture, newTensor(4, 8, 3, 3)), "input shape [1 8 14 14] is incompatible with weight shape [4 8 3 3] for 1 groups"},
		{newNode("ConvTranspose", 1, attributes{"output_padding": newIntsAttr(1)}, picture, newTensor(8, 4, 3, 3)), "invalid output_padding [1]; want one number for each of 2 spatial axes"},
		{newNode("ConvTranspose", 1, attributes{"output_shape": newIntsAttr(0, 9)}, picture, newTensor(8, 4, 3, 3)), "output_shape [0 9] is out of range; want sizes from 1 to 16777216"},
		{newNode("ConvTranspose", 1, attributes{"pads": newIntsAttr(9, 0, 9, 0)}, picture, newTensor(8, 4, 3, 3)), "result has -2 elements along spatial axis 0; want at least 1"},
		{newNode("GlobalMaxPool", 1, nil, newTensor(2, 3)), "input has shape [2 3]; want at least 3 axes"},
		{newNode("Gemm", 1, nil, x, newTensor(4, 5)), "cannot multiply shapes [2 3 4] and [4 5]; want 2 axes each"},
		{newNode("Gemm", 1, nil, newTensor(2, 3), newTensor(4, 5)), "cannot multiply shapes [2 3] and [4 5]: inner dimensions 3 and 4 differ"},
		{newNode("Linear", 1, nil, newTensor(2, 3), newTensor(7, 4)), "input shape [2 3] is incompatible with weight shape [7 4]; want 2-D weights and equal last dimensions"},
		{newNode("MatMul", 1, nil, newTensor(), newTensor(4)), "cannot multiply shapes [] and [4]; want at least 1 axis each"},
		{newNode("MatMul", 1, nil, newTensor(2, 5, 3), newTensor(4, 3, 5)), "cannot multiply shapes [2 5 3] and [4 3 5]: leading dimensions do not broadcast"},
		{newNode("Einsum", 1, attributes{"equation": {Text: "...j,j->j"}}, x), `equation "...j,j->j" has 2 terms for 1 inputs; want one term per input`},
		{newNode("Einsum", 1, attributes{"equation": {Text: "...ijkl->i"}}, x), `shape [2 3 4] leaves -1 axes for the ellipsis of term "...ijkl"; want 0 to 10`},
		{newNode("Einsum", 1, attributes{"equation": {Text: "...i...->i"}}, x), `term "...i..." of equation "...i...->i" has misplaced dots; want at most one "..."`},
		{newNode("Einsum", 1, attributes{"equation": {Text: "...i->......"}}, x), `term "......" of equation "...i->......" has misplaced dots; want at most one "..."`},
		{newNode("Einsum", 1, attributes{"equation": {Text: "0ij->i"}}, x), `equation "0ij->i" contains a digit; want letters as labels`},
		{newNode("Einsum", 1, attributes{"equation": {Text: "...i,...ij->...j"}}, newTensor(3, 4), newTensor(2, 4, 5)), "ellipsis axes have sizes 3 and 2; want equal sizes or 1"},
		{newNode("Einsum", 1, attributes{"equation": {Text: "ij->i"}}, x), `term "ij" has 2 labels for shape [2 3 4]; want one per axis`},
		{newNode("Einsum", 1, attributes{"equation": {Text: "iij->i"}}, x), "label 'i' has sizes 2 and 3; want equal sizes"},
		{newNode("Einsum", 1, attributes{"equation": {Text: "ijk->l"}}, x), "output label 'l' does not appear in any input"},
		{newNode("DepthToSpace", 1, attributes{"blocksize": newIntAttr(3)}, picture), "8 channels are not divisible by the square of blocksize 3"},
		{newNode("SpaceToDepth", 1, nil, picture), "blocksize is 0; want 1 to 1024"},
		{newNode("Pad", 1, nil, newTensor(4), newTensor(2)), "pads \"tensor\" is computed; want a constant"},
		{newNode("Pad", 1, nil, newTensor(4), newList(1, 2, 3)), "pads [1 2 3] do not match 1 axes; want two per axis"},
		{newNode("Pad", 1, nil, newTensor(4), newList(1<<30, 2)), "pads [1073741824 2] are out of range; want at most 16777216 elements per side"},
		{newNode("Resize", 1, nil, picture, newOmittedInput(), newTensor(4)), `neither "scales" nor "sizes" is a constant; want one of them`},
		{newNode("Resize", 1, nil, picture, newOmittedInput(), newFloats([]int{2}, 2, 2)), "2 scales for 4 axes; want one per axis"},
		{newNode("Resize", 1, nil, picture, newOmittedInput(), newFloats([]int{4}, 1, 1, -2, 2)), "scale -2 gives axis 2 an invalid size; want 0 to 2147483647 elements"},
		{newNode("Resize", 1, attributes{"keep_aspect_ratio_policy": {Text: "largest"}}, picture, newOmittedInput(), newOmittedInput(), newList(1, 8, 7, 7)), `unknown keep_aspect_ratio_policy "largest"; want stretch, not_larger or not_smaller`},
		{newNode("LSTM", 1, nil, newTensor(5, 3), newTensor(1, 16, 3), newTensor(1, 16, 4)), "input has shape [5 3] and weights have shape [1 16 3]; want 3 axes each"},
		{newNode("LSTM", 1, nil, newTensor(5, 2, 3), newTensor(1, 16, 3), newTensor(16, 4)), "recurrence weights have shape [16 4]; want 3 axes"},
		{newNode("Flatten", 1, attributes{"axis": newIntAttr(4)}, x), "axis 4 is out of range for 3 dimensions"},
		{newNode("Squeeze", 1, nil, x, newList(0)), "cannot squeeze axis 0 of shape [2 3 4]; want size 1"},
		{newNode("Concat", 1, attributes{"axis": newIntAttr(3)}, x, x), "axis 3 is out of range for 3 dimensions"},
		{newNode("Slice", 1, nil, x, newTensor(1), newList(1)), "starts \"tensor\" is computed; want a constant"},
		{newNode("Slice", 1, nil, x, newList(0, 0), newList(1)), "starts, ends, axes and steps have lengths 2, 1, 2 and 2; want equal lengths"},
		{newNode("Slice", 1, nil, x, newList(0), newList(1), newList(0), newList(0)), "step of axis 0 is 0; want a nonzero step"},
		{newNode("Expand", 1, nil, x, newTensor(3)), "shape \"tensor\" is computed; want a constant"},
		{newNode("Tile", 1, nil, x, newList(2)), "repeats [2] do not match 3 axes; want one per axis"},
		{newNode("Tile", 1, nil, x, newList(1, 1, -1)), "repeats [1 1 -1] are out of range; want 0 or more, and at most 2147483648 elements along an axis"},
		{newNode("Range", 1, nil, newList(0), newTensor(), newList(1)), "limit is computed; want a constant"},
		{newNode("Range", 1, nil, newFloats([]int{}, 0), newFloats([]int{}, 1), newFloats([]int{}, 0)), "range from 0 to 1 by 0 is undefined or too long; want fewer than 2147483648 elements"},
		{newNode("ConstantOfShape", 1, nil, newTensor(2)), "input \"tensor\" is computed; want a constant"},
		{newNode("EyeLike", 1, nil, x), "input has shape [2 3 4]; want 2 axes"},
		{newNode("TopK", 2, nil, x, newTensor(1)), "k \"tensor\" is computed; want a constant"},
		{newNode("GatherND", 1, nil, x, newTensor(5, 4)), "last dimension of index shape [5 4] is out of range for data shape [2 3 4]; want 1 to 3"},
		{newNode("OneHot", 1, nil, newTensor(2), newTensor(), newFloats([]int{2}, 0, 1)), "depth is computed; want a constant"},
		{newNode("OneHot", 1, nil, newTensor(2), newInts([]int{}, 0), newFloats([]int{2}, 0, 1)), "depth 0 is out of range; want 1 to 16777216"},
		{newNode("GridSample", 1, nil, picture, newTensor(1, 5, 6, 3)), "grid shape [1 5 6 3] is incompatible with input shape [1 8 14 14]; want [batch rows columns 2] and [batch channels height width]"},
		{newNode("RoiAlign", 1, nil, x, newTensor(7, 4), newTensor(7)), "box shape [7 4] is incompatible with input shape [2 3 4]; want 2 box axes and 4 input axes"},
		{newNode("NonMaxSuppression", 1, nil, newTensor(1, 6, 4), newTensor(1, 2, 5), newList(3)), "box shape [1 6 4] is incompatible with score shape [1 2 5]; want [batch boxes 4] and [batch classes boxes]"},
		{newNode("If", 1, nil, x), `operator If is not modelled`},
		{&graph.Node{Op: "Relu", Domain: "com.other", In: []*graph.Value{x}}, `operator com.other.Relu is not modelled`},
		{&graph.Node{Op: "Scaler", Domain: "ai.onnx.ml", In: []*graph.Value{x}}, `operator ai.onnx.ml.Scaler is not modelled: operators of ai.onnx.ml (trees, scalers, labels) are work of the CPU; write it in operators of ONNX`},
	} {
		if r, err := Infer(c.n); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, %v; want %q", c.n.Op, r, err, c.want)
		}
	}
}

// TestFold works operators out on small constants.
func TestFold(t *testing.T) {
	m, pixels := newFloats([]int{2, 3}, 1, 2, 3, 4, 5, 6), newFloats([]int{1, 1, 2, 2}, 1, 2, 3, 4)
	for _, c := range []struct {
		n    *graph.Node
		want string // the elements of each result, or the error
	}{
		{newNode("Neg", 1, nil, m), "[-1 -2 -3 -4 -5 -6]"},
		{newNode("Add", 1, nil, m, newFloats([]int{2, 1}, 10, 20)), "[11 12 13 24 25 26]"},
		{newNode("Div", 1, nil, newInts([]int{2}, -7, 7), newInts([]int{}, 2)), "[-3 3]"},
		{newNode("Mod", 1, nil, newInts([]int{2}, -7, 7), newInts([]int{}, 3)), "[2 1]"},
		{newNode("Greater", 1, nil, m, newFloats([]int{}, 3)), "[0 0 0 1 1 1]"},
		{newNode("Cast", 1, attributes{"to": newIntAttr(int64(graph.Int8))}, newFloats([]int{3}, 1.9, -1.9, 200)), "[1 -1 -56]"},
		{newNode("Transpose", 1, nil, m), "[1 4 2 5 3 6]"},
		{newNode("Slice", 1, nil, m, newList(2), newList(-9), newList(1), newList(-2)), "[3 1 6 4]"},
		{newNode("Concat", 1, attributes{"axis": newIntAttr(1)}, m, newFloats([]int{2, 1}, 8, 9)), "[1 2 3 8 4 5 6 9]"},
		{newNode("Split", 2, attributes{"axis": newIntAttr(1)}, m), "[1 2 4 5] [3 6]"},
		{newNode("Gather", 1, attributes{"axis": newIntAttr(1)}, m, newList(-1, 0)), "[3 1 6 4]"},
		{newNode("Gather", 1, attributes{"axis": newIntAttr(1)}, m, newList(3)), "error: index 3 is out of range for an axis of 3 elements"},
		{newNode("GatherElements", 1, attributes{"axis": newIntAttr(1)}, m, newInts([]int{2, 1}, 2, 0)), "[3 4]"},
		{newNode("ScatterND", 1, attributes{"reduction": {Text: "add"}}, m, newInts([]int{2, 1}, 1, 1), newFloats([]int{2, 3}, 1, 1, 1, 2, 2, 2)), "[1 2 3 7 8 9]"},
		{newNode("Tile", 1, nil, newFloats([]int{2}, 1, 2), newList(2)), "[1 2 1 2]"},
		{newNode("Expand", 1, nil, newFloats([]int{2, 1}, 1, 2), newList(2, 2)), "[1 1 2 2]"},
		{newNode("Range", 1, nil, newInts([]int{}, 2), newInts([]int{}, 9), newInts([]int{}, 3)), "[2 5 8]"},
		{newNode("Where", 1, nil, newInts([]int{3}, 1, 0, 1), m, newFloats([]int{}, 9)), "[1 9 3 4 9 6]"},
		{newNode("Clip", 1, nil, m, newFloats([]int{}, 2), newOmittedInput()), "[2 2 3 4 5 6]"},
		{newNode("ReduceSum", 1, nil, m, newList(1)), "[6 15]"},
		{newNode("ReduceProd", 1, nil, m, newList(0)), "[4 10 18]"},
		{newNode("ArgMax", 1, attributes{"axis": newIntAttr(1)}, newFloats([]int{1, 3}, 5, 7, 7)), "[1]"},
		{newNode("ArgMax", 1, attributes{"axis": newIntAttr(1), "select_last_index": newIntAttr(1)}, newFloats([]int{1, 3}, 5, 7, 7)), "[2]"},
		{newNode("TopK", 2, nil, newFloats([]int{4}, 1, 9, 3, 9), newList(2)), "[9 9] [1 3]"},
		{newNode("CumSum", 1, attributes{"exclusive": newIntAttr(1)}, newFloats([]int{3}, 1, 2, 3), newInts([]int{}, 0)), "[0 1 3]"},
		{newNode("Trilu", 1, attributes{"upper": newIntAttr(0)}, m), "[1 0 0 4 5 0]"},
		{newNode("OneHot", 1, nil, newList(1, -1), newInts([]int{}, 3), newFloats([]int{2}, 0, 5)), "[0 5 0 0 0 5]"},
		{newNode("NonZero", 1, nil, newFloats([]int{2, 2}, 0, 3, 4, 0)), "[0 1 1 0]"},
		{newNode("Unique", 4, nil, newFloats([]int{4}, 5, 2, 5, 3)), "[2 3 5] [1 3 0] [2 0 2 1] [1 1 2]"},
		// (q - zero)*scale of one scale a row.
		{newNode("DequantizeLinear", 1, attributes{"axis": newIntAttr(0)}, newInts([]int{2, 2}, 1, 2, 3, 4), newFloats([]int{2}, 0.5, 2), newInts([]int{2}, 1, 0)), "[0 0.5 6 8]"},
		// Halves go to the even number, and 300 is clamped to a byte.
		{newNode("QuantizeLinear", 1, nil, newFloats([]int{3}, 0.5, 1.5, 300), newFloats([]int{}, 1)), "[0 2 255]"},
		{newNode("Shape", 1, attributes{"start": newIntAttr(1)}, m), "[3]"},
		// The second box overlaps the first by more than half, the third not at all.
		{newNode("NonMaxSuppression", 1, nil, newFloats([]int{1, 3, 4}, 0, 0, 2, 2, 0, 0, 2, 1.9, 5, 5, 6, 6), newFloats([]int{1, 1, 3}, 0.9, 0.8, 0.7), newList(3), newFloats([]int{}, 0.5)), "[0 0 0 0 0 2]"},
		{newNode("Softmax", 1, nil, newFloats([]int{2}, 3, 3)), "[0.5 0.5]"},
		{newNode("ReduceL2", 1, nil, newFloats([]int{2}, 3, 4)), "[5]"},
		{newNode("ReduceL1", 1, nil, newFloats([]int{2}, 3, -4)), "[7]"},
		{newNode("ReduceSumSquare", 1, nil, newFloats([]int{2}, 3, -4)), "[25]"},
		{newNode("ReduceLogSum", 1, nil, newFloats([]int{2}, 0.25, 0.75)), "[0]"},
		{newNode("ReduceLogSumExp", 1, nil, newFloats([]int{1}, 3)), "[3]"},
		{newNode("ReduceMean", 1, attributes{"axes": newIntsAttr(0)}, m), "[2.5 3.5 4.5]"},
		{newNode("ReduceMax", 1, nil, m, newList(1)), "[3 6]"},
		{newNode("ReduceMin", 1, nil, m, newList(1)), "[1 4]"},
		{newNode("ReduceMean", 1, nil, newFloats([]int{0}), newList(0)), "[NaN]"}, // of nothing
		{newNode("Mean", 1, nil, m, newFloats([]int{}, 3)), "[2 2.5 3 3.5 4 4.5]"},
		{newNode("HardSigmoid", 1, attributes{"alpha": {Float: 0.5}}, newFloats([]int{3}, -4, 0.5, 4)), "[0 0.75 1]"},
		{newNode("LogSoftmax", 1, nil, newFloats([]int{1, 1}, 7)), "[0]"},
		{newNode("Hardmax", 1, nil, newFloats([]int{2, 2}, 1, 1, 2, 3)), "[1 0 0 1]"},
		{newOldNode("Hardmax", attributes{"axis": newIntAttr(0)}, newFloats([]int{2, 2}, 1, 1, 2, 3)), "[0 0 0 1]"}, // all axes from that on
		{newNode("Clip", 1, attributes{"max": {Float: 2}}, m), "[1 2 2 2 2 2]"},
		{newNode("Cast", 1, attributes{"to": newIntAttr(int64(graph.Bool))}, m), "[1 1 1 1 1 1]"},
		{newNode("CastLike", 1, nil, newFloats([]int{1}, 2.5), newInts([]int{}, 0)), "[2]"},
		{newNode("Div", 1, nil, m, newFloats([]int{}, 0.5)), "[2 4 6 8 10 12]"},
		{newNode("Mod", 1, attributes{"fmod": newIntAttr(1)}, newFloats([]int{1}, -7), newFloats([]int{1}, 3)), "[-1]"},
		{newOldNode("Add", attributes{"broadcast": newIntAttr(1), "axis": newIntAttr(0)}, m, newFloats([]int{2}, 10, 20)), "[11 12 13 24 25 26]"},
		{newNode("BitwiseXor", 1, nil, newInts([]int{1}, 6), newInts([]int{1}, 3)), "[5]"},
		{newNode("BitwiseNot", 1, nil, newInts([]int{1}, 6)), "[-7]"},
		{newNode("Reshape", 1, nil, m, newList(3, 2)), "[1 2 3 4 5 6]"},
		{newNode("ConstantOfShape", 1, nil, newList(2)), "[0 0]"},
		{newNode("ConstantOfShape", 1, attributes{"value": {Const: &graph.Const{Dims: []int{1}, Type: graph.Float, Numbers: []float64{7}}}}, newList(2)), "[7 7]"},
		{newNode("EyeLike", 1, attributes{"k": newIntAttr(1)}, m), "[0 1 0 0 0 1]"},
		{newNode("IsNaN", 1, nil, newFloats([]int{2}, math.NaN(), 1)), "[1 0]"},
		{newNode("IsInf", 1, attributes{"detect_negative": newIntAttr(0)}, newFloats([]int{3}, math.Inf(1), math.Inf(-1), 1)), "[1 0 0]"},
		{newNode("RandomUniform", 1, attributes{"shape": newIntsAttr(2), "low": {Float: 3}, "high": {Float: 3}}), "[3 3]"},
		{newNode("RandomNormal", 1, attributes{"shape": newIntsAttr(2), "mean": {Float: 4}, "scale": {Float: 0}}), "[4 4]"},
		{newNode("Size", 1, nil, m), "[6]"},
		{newNode("CumSum", 1, attributes{"reverse": newIntAttr(1)}, newFloats([]int{3}, 1, 2, 3), newInts([]int{}, 0)), "[6 5 3]"},
		{newNode("ReverseSequence", 1, attributes{"time_axis": newIntAttr(1), "batch_axis": newIntAttr(0)}, m, newList(2, 3)), "[2 1 3 6 5 4]"},
		{newNode("ReverseSequence", 1, nil, m, newList(2)), "error: 1 sequence lengths for 3 batch elements; want one per element"},
		{newNode("Compress", 1, nil, m, newList(0, 1, 0, 1)), "[2 4]"},
		{newNode("Compress", 1, attributes{"axis": newIntAttr(1)}, m, newList(1, 0, 1)), "[1 3 4 6]"},
		{newNode("GatherND", 1, nil, m, newInts([]int{2, 2}, 0, 1, 1, -1)), "[2 6]"},
		{newNode("GatherND", 1, attributes{"batch_dims": newIntAttr(1)}, m, newInts([]int{2, 1}, 2, 0)), "[3 4]"},
		{newNode("GatherND", 1, nil, m, newInts([]int{1, 1}, 2)), "error: index 2 is out of range for an axis of 2 elements"},
		{newNode("ScatterElements", 1, attributes{"axis": newIntAttr(1)}, m, newInts([]int{2, 1}, 0, -1), newFloats([]int{2, 1}, 8, 9)), "[8 2 3 4 5 9]"},
		{newNode("ScatterElements", 1, attributes{"reduction": {Text: "mul"}}, m, newInts([]int{1, 3}, 1, 1, 1), newFloats([]int{1, 3}, 2, 3, 4)), "[1 2 3 8 15 24]"},
		{newNode("ScatterElements", 1, attributes{"reduction": {Text: "max"}}, m, newInts([]int{1, 3}, 0, 0, 0), newFloats([]int{1, 3}, 2, 0, 4)), "[2 2 4 4 5 6]"},
		{newNode("ScatterElements", 1, attributes{"reduction": {Text: "min"}}, m, newInts([]int{1, 3}, 0, 0, 0), newFloats([]int{1, 3}, 2, 0, 4)), "[1 0 3 4 5 6]"},
		{newNode("ScatterElements", 1, attributes{"reduction": {Text: "mean"}}, m, newInts([]int{1, 3}, 0, 0, 0), newFloats([]int{1, 3}, 2, 0, 4)), "error: unknown reduction \"mean\"; want none, add, mul, max or min"},
		{newNode("ScatterElements", 1, nil, m, newInts([]int{1, 3}, 0, 0, 5), newFloats([]int{1, 3}, 2, 0, 4)), "error: index 5 is out of range for an axis of 2 elements"},
		// One scale of every two elements of a row, with a zero point of its own.
		{newNode("DequantizeLinear", 1, attributes{"block_size": newIntAttr(2)}, newInts([]int{1, 4}, 1, 2, 3, 4), newFloats([]int{1, 2}, 1, 10), newInts([]int{1, 2}, 0, 1)), "[1 2 20 30]"},
		{newNode("DequantizeLinear", 1, attributes{"block_size": newIntAttr(3)}, newInts([]int{1, 4}, 1, 2, 3, 4), newFloats([]int{1, 1}, 1)), "error: scale shape [1 1] does not match input shape [1 4] with blocks of 3 along axis 1"},
		{newNode("DequantizeLinear", 1, nil, newInts([]int{2, 2}, 1, 2, 3, 4), newFloats([]int{3}, 1, 1, 1)), "error: 3 scales and 3 zero points; want 2 of each"},
		{newNode("QuantizeLinear", 1, attributes{"axis": newIntAttr(0)}, newFloats([]int{2, 1}, 100, 100), newFloats([]int{2}, 1, 0.5), newConstant(graph.Int8, []int{2}, []float64{1, 0})), "[101 127]"},
		// One scale of every two elements of a row, with a zero point of its own.
		{newNode("QuantizeLinear", 1, attributes{"block_size": newIntAttr(2)}, newFloats([]int{1, 4}, 1, 2, 3, 4), newFloats([]int{1, 2}, 1, 0.5), newConstant(graph.Int8, []int{1, 2}, []float64{0, 1})), "[1 2 7 9]"},
		{newNode("QuantizeLinear", 1, attributes{"output_dtype": newIntAttr(int64(graph.Int16))}, newFloats([]int{2}, -1000, 40000), newFloats([]int{}, 1)), "[-1000 32767]"},
		{newNode("QuantizeLinear", 1, nil, newFloats([]int{2, 1}, 1, 2), newFloats([]int{2}, 1, 1)), "error: 2 scales and 2 zero points; want 1 of each"},
		// The middle between four pixels, a corner, and a place outside, which is zero or the
		// border's.
		{newNode("GridSample", 1, nil, pixels, newFloats([]int{1, 1, 3, 2}, 0, 0, -1, -1, 9, 9)), "[2.5 0.25 0]"},
		{newNode("GridSample", 1, attributes{"align_corners": newIntAttr(1), "mode": {Text: "nearest"}, "padding_mode": {Text: "border"}}, pixels, newFloats([]int{1, 1, 3, 2}, 1, -1, -1, 1, 9, 9)), "[2 3 4]"},
		{newNode("GridSample", 1, attributes{"padding_mode": {Text: "reflection"}}, pixels, newFloats([]int{1, 1, 1, 2}, -1.5, -0.5)), "[1]"},
		{newNode("GridSample", 1, attributes{"mode": {Text: "cubic"}, "align_corners": newIntAttr(1)}, pixels, newFloats([]int{1, 1, 1, 2}, -1, -1)), "[1]"},
		{newNode("GridSample", 1, attributes{"mode": {Text: "exact"}}, pixels, newFloats([]int{1, 1, 1, 2}, 0, 0)), `error: unknown interpolation mode "exact"; want nearest, linear or cubic`},
		// The mean of a box, and the largest part of a sum between four pixels in it.
		{newNode("RoiAlign", 1, attributes{"spatial_scale": {Float: 0.5}, "sampling_ratio": newIntAttr(1)}, pixels, newFloats([]int{1, 4}, 1, 1, 3, 3), newList(0)), "[2.5]"},
		{newNode("RoiAlign", 1, attributes{"sampling_ratio": newIntAttr(1), "mode": {Text: "max"}}, pixels, newFloats([]int{1, 4}, 0.5, 0.5, 1.5, 1.5), newList(0)), "[1]"},
		{newNode("RoiAlign", 1, nil, pixels, newFloats([]int{1, 4}, 0, 0, 1, 1), newList(1)), "error: index 1 is out of range for an axis of 1 elements"},
		{newNode("RoiAlign", 1, nil, pixels, newFloats([]int{1, 4}, 0, 0, 1e9, 1), newList(0)), "error: box needs 1 x 1000000000 sample points per cell; want at most 1024 x 1024"},
	} {
		var got []string
		res, err := Infer(c.n)
		if err == nil {
			var made []*graph.Const
			made, err = Of(c.n.Op).Host()(c.n, res)
			for _, m := range made {
				v, _ := m.Values()
				got = append(got, fmt.Sprint(v))
				if graph.Elements(m.Dims) != len(v) {
					t.Errorf("%s: %d elements of shape %v", c.n.Op, len(v), m.Dims)
				}
			}
		}
		text := strings.Join(got, " ")
		if err != nil {
			text = "error: " + err.Error()
		}
		if text != c.want {
			t.Errorf("%s: %s, want %s", c.n.Op, text, c.want)
		}
	}
}

// TestLiteral holds what a Constant node may have, and how much a folded element takes.
func TestLiteral(t *testing.T) {
	for _, c := range []struct {
		a    attributes
		want string
	}{
		{attributes{"value_int": newIntAttr(3)}, "[] int64 [3]"},
		{attributes{"value_ints": newIntsAttr(3, 4)}, "[2] int64 [3 4]"},
		{attributes{"value_float": {Float: 0.5}}, "[] float32 [0.5]"},
		{attributes{"value_floats": {Floats: []float32{0.5, 2}}}, "[2] float32 [0.5 2]"},
		{attributes{"value": {Const: &graph.Const{Dims: []int{1}, Type: graph.Bool, Numbers: []float64{1}}}}, "[1] bool [1]"},
		{attributes{"value": {}}, `attribute "value" is not a tensor`},
		{attributes{"value_string": {Text: "a"}}, "constant has no supported value; want attribute value, value_int, value_ints, value_float or value_floats"},
	} {
		k, err := Literal(newNode("Constant", 1, c.a))
		got := fmt.Sprint(err)
		if err == nil {
			v, _ := k.Values()
			got = fmt.Sprintf("%v %v %v", k.Dims, k.Type, v)
		}
		if got != c.want {
			t.Errorf("a Constant of %v is %s, want %s", c.a, got, c.want)
		}
	}
	for op, want := range map[string]int{"Reshape": 0, "DequantizeLinear": 8, "Add": 16} {
		if got := FoldBytes(newNode(op, 1, nil)); got != want {
			t.Errorf("an element of %s takes %d bytes, want %d", op, got, want)
		}
	}
}

// TestCompared holds that a comparison with a number beyond an operator's range is constant.
func TestCompared(t *testing.T) {
	x := newTensor(4)
	x.Range = Of("Sigmoid").Range
	for _, c := range []struct {
		op        string
		with      float64
		value, ok bool
	}{
		{"GreaterOrEqual", 0, true, true}, {"Greater", 0, false, false}, {"Greater", 1, false, true},
		{"Less", 1.5, true, true}, {"LessOrEqual", 0, false, false}, {"Add", 0, false, false},
	} {
		v, ok := EvalComparison(newNode(c.op, 1, nil, x, newFloats([]int{}, c.with)))
		if ok != c.ok || ok && v != c.value {
			t.Errorf("a sigmoid's result %s %g is %t, known %t", c.op, c.with, v, ok)
		}
	}
}

// TestTable holds what a row promises: that what is worked out has shapes, that bounds follow
// from a function, and that a row says something.
func TestTable(t *testing.T) {
	for name, o := range table {
		if o.Host() != nil && o.Infer == nil {
			t.Errorf("%s is worked out without a shape", name)
		}
		if o.Fold != nil && o.Sized != nil {
			t.Errorf("%s has two functions", name)
		}
		if o.Has(Rises|RisesAll) && o.Fold == nil {
			t.Errorf("%s has bounds and no function for them", name)
		}
		if o.Has(Transparent) && !o.Has(Elementwise) {
			t.Errorf("%s lets a transpose pass and mixes elements", name)
		}
		if o.Infer == nil && o.Refuse == "" {
			t.Errorf("nothing is said of %s", name)
		}
	}
	if o := Of("Nonesuch"); o.Infer != nil || o.Host() != nil || o.Is != 0 {
		t.Errorf("something is said of an unknown operator: %+v", o)
	}
}

// Pools with indices and pools of regions that would compare for hours are refused at once.
func TestManyComparisons(t *testing.T) {
	for _, n := range []*graph.Node{
		newNode("MaxPoolIndices", 1, attributes{"kernel_shape": newIntsAttr(1<<12, 1<<12), "pads": newIntsAttr(1<<11, 1<<11, 1<<11, 1<<11)}, newFloats([]int{1, 1, 1 << 9, 1 << 9}, make([]float64, 1<<18)...)),
		newNode("MaxRoiPool", 1, attributes{"pooled_shape": newIntsAttr(1, 1)}, newFloats([]int{1, 1, 1 << 9, 1 << 9}, make([]float64, 1<<18)...), newFloats([]int{1 << 14, 5}, make([]float64, 5<<14)...)),
	} {
		res, err := Infer(n)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Of(n.Op).Fold(n, res); err == nil || !strings.Contains(err.Error(), "comparisons") {
			t.Errorf("%s: %v; want a limit of comparisons", n.Op, err)
		}
	}
}

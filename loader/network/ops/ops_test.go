package ops

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"anesim/loader/network/graph"
)

// ints and floats are constants of a shape.
func ints(dims []int, v ...float64) *graph.Value { return constant(graph.Int64, dims, v) }

func floats(dims []int, v ...float64) *graph.Value { return constant(graph.Float, dims, v) }

func constant(t graph.Type, dims []int, v []float64) *graph.Value {
	x := &graph.Value{Name: "constant"}
	x.Set(&graph.Const{Dims: dims, Type: t, Numbers: v})
	return x
}

// tensor is one whose elements are not known.
func tensor(dims ...int) *graph.Value {
	x := &graph.Value{Name: "tensor", Type: graph.Float}
	x.Shape(dims)
	return x
}

// list is a constant list of whole numbers, left an input that is left out.
func list(v ...float64) *graph.Value { return ints([]int{len(v)}, v...) }

func left() *graph.Value { return &graph.Value{} }

// attributes of a node, by name.
type attributes map[string]*graph.Attr

func of1(v int64) *graph.Attr     { return &graph.Attr{Int: v} }
func many(v ...int64) *graph.Attr { return &graph.Attr{Ints: v} }

// node is one of a recent version of the operators, with as many results as asked for.
func node(op string, results int, a attributes, in ...*graph.Value) *graph.Node {
	n := &graph.Node{Op: op, In: in, Attr: a, Opset: 20}
	for i := range results {
		n.Out = append(n.Out, &graph.Value{Name: fmt.Sprintf("y%d", i)})
	}
	return n
}

// old is a node of an early version of the operators.
func old(op string, a attributes, in ...*graph.Value) *graph.Node {
	n := node(op, 1, a, in...)
	n.Opset = 6
	return n
}

// TestInfer holds the shapes, types and work of results against numbers worked out by hand.
func TestInfer(t *testing.T) {
	x, picture := tensor(2, 3, 4), tensor(1, 8, 14, 14)
	for _, c := range []struct {
		n    *graph.Node
		want string // shapes and types, or the error
		macs int
	}{
		{node("Relu", 1, nil, x), "[2 3 4] float32", 0},
		{node("Add", 1, nil, tensor(2, 1, 4), tensor(3, 1)), "[2 3 4] float32", 0},
		{node("Add", 1, nil, tensor(2, 3), tensor(4)), "error: cannot broadcast shapes [2 3] and [4]", 0},
		{node("Less", 1, nil, x, tensor()), "[2 3 4] bool", 0},
		{node("Cast", 1, attributes{"to": of1(7)}, x), "[2 3 4] int64", 0},
		{node("Reshape", 1, nil, x, list(0, -1)), "[2 12] float32", 0},
		{node("Reshape", 1, nil, x, list(5, -1)), "error: cannot reshape [2 3 4] to [5 -1]", 0},
		{node("Reshape", 1, nil, x, tensor(2)), "error: shape \"tensor\" is computed; want a constant", 0},
		{node("Transpose", 1, nil, x), "[4 3 2] float32", 0},
		{node("Transpose", 1, attributes{"perm": many(0, 2, 1)}, x), "[2 4 3] float32", 0},
		{node("Squeeze", 1, nil, tensor(1, 5, 1)), "[5] float32", 0},
		{node("Unsqueeze", 1, nil, x, list(0, -1)), "[1 2 3 4 1] float32", 0},
		{node("Concat", 1, attributes{"axis": of1(1)}, x, tensor(2, 5, 4)), "[2 8 4] float32", 0},
		{node("Split", 3, attributes{"axis": of1(-1)}, tensor(7)), "[3] float32, [3] float32, [1] float32", 0},
		{node("Slice", 1, nil, x, list(-1), list(-9), list(2), list(-2)), "[2 3 2] float32", 0},
		{node("Gather", 1, attributes{"axis": of1(1)}, x, list(0, 2, 2, 1)), "[2 4 4] float32", 0},
		{node("ReduceSum", 1, attributes{"keepdims": of1(0)}, x, list(1)), "[2 4] float32", 0},
		{node("ReduceMean", 1, nil, x), "[1 1 1] float32", 0},
		{node("ArgMax", 1, attributes{"axis": of1(2)}, x), "[2 3 1] int64", 0},
		{node("TopK", 2, nil, x, list(2)), "[2 3 2] float32, [2 3 2] int64", 0},
		{node("MatMul", 1, nil, tensor(5, 2, 3), tensor(3, 7)), "[5 2 7] float32", 5 * 2 * 7 * 3},
		{node("Gemm", 1, attributes{"transB": of1(1)}, tensor(2, 3), tensor(7, 3)), "[2 7] float32", 2 * 3 * 7},
		{node("Einsum", 1, attributes{"equation": {Text: "bij,bjk->bik"}}, tensor(2, 3, 4), tensor(2, 4, 5)), "[2 3 5] float32", 2 * 3 * 4 * 5},
		// 14 and padding of 1 on both sides leave 7 places for 3 taps at steps of 2.
		{node("Conv", 1, attributes{"strides": many(2, 2), "pads": many(1, 1, 1, 1)}, picture, tensor(16, 8, 3, 3)), "[1 16 7 7] float32", 7 * 7 * 16 * 8 * 9},
		{node("Conv", 1, attributes{"group": of1(3)}, picture, tensor(16, 8, 3, 3)), "error: input shape [1 8 14 14] is incompatible with weight shape [16 8 3 3] for 3 groups", 0},
		// A step of 2 doubles 14; 3 taps reach one place beyond, which the crop takes off again.
		{node("ConvTranspose", 1, attributes{"strides": many(2, 2), "pads": many(0, 0, 1, 1)}, picture, tensor(8, 4, 3, 3)), "[1 4 28 28] float32", 8 * 14 * 14 * 4 * 9},
		{node("MaxPool", 1, attributes{"kernel_shape": many(3, 3), "strides": many(2, 2), "ceil_mode": of1(1)}, picture), "[1 8 7 7] float32", 0},
		{node("Resize", 1, nil, picture, left(), floats([]int{4}, 1, 1, 2, 0.5)), "[1 8 28 7] float32", 0},
		{node("Pad", 1, nil, tensor(4), list(1, 2)), "[7] float32", 0},
		{node("LSTM", 3, nil, tensor(5, 2, 3), tensor(1, 16, 3), tensor(1, 16, 4)), "[5 1 2 4] float32, [1 2 4] float32, [1 2 4] float32", 5 * 2 * (16*3 + 16*4)},
		{node("NonMaxSuppression", 1, nil, tensor(1, 6, 4), tensor(1, 2, 6), list(3)), "[6 3] int64", 0},
		{node("LSTM", 1, attributes{"layout": of1(1)}, tensor(2, 5, 3), tensor(1, 16, 3), tensor(1, 16, 4)), "[2 5 1 4] float32, [2 1 4] float32, [2 1 4] float32", 5 * 2 * (16*3 + 16*4)},
		{node("Linear", 1, nil, tensor(5, 3), tensor(7, 3)), "[5 7] float32", 5 * 7 * 3},
		{node("MatMul", 1, nil, tensor(3), tensor(3)), "[] float32", 3},
		{node("Einsum", 1, attributes{"equation": {Text: "ij, kj"}}, tensor(2, 3), tensor(4, 3)), "[2 4] float32", 2 * 3 * 4},
		{node("Einsum", 1, attributes{"equation": {Text: "...ij,...jk->...ik"}}, tensor(6, 2, 3, 4), tensor(2, 4, 5)), "[6 2 3 5] float32", 6 * 2 * 3 * 4 * 5},
		{node("Einsum", 1, attributes{"equation": {Text: "...ij,jk"}}, tensor(2, 3, 4), tensor(4, 5)), "[2 3 5] float32", 2 * 3 * 4 * 5},
		{node("GlobalAveragePool", 1, nil, picture), "[1 8 1 1] float32", 0},
		{node("DepthToSpace", 1, attributes{"blocksize": of1(2)}, picture), "[1 2 28 28] float32", 0},
		{node("SpaceToDepth", 1, attributes{"blocksize": of1(7)}, picture), "[1 392 2 2] float32", 0},
		// An odd place of padding stands behind, or with SAME_LOWER before; both leave as many
		// places.
		{node("MaxPool", 1, attributes{"kernel_shape": many(2, 2), "auto_pad": {Text: "SAME_UPPER"}}, picture), "[1 8 14 14] float32", 0},
		{node("MaxPool", 1, attributes{"kernel_shape": many(3, 3), "auto_pad": {Text: "VALID"}, "dilations": many(2, 1)}, picture), "[1 8 10 12] float32", 0},
		{node("ConvTranspose", 1, attributes{"strides": many(2, 2), "auto_pad": {Text: "SAME_LOWER"}}, picture, tensor(8, 4, 3, 3)), "[1 4 28 28] float32", 8 * 14 * 14 * 4 * 9},
		{node("ConvTranspose", 1, attributes{"strides": many(2, 2), "output_shape": many(30, 30)}, picture, tensor(8, 4, 3, 3)), "[1 4 30 30] float32", 8 * 14 * 14 * 4 * 9},
		{node("Pad", 1, nil, tensor(4, 5), list(1, -2), left(), list(-1)), "[4 4] float32", 0},
		{node("Resize", 1, attributes{"axes": many(3, 2)}, picture, left(), left(), list(7, 28)), "[1 8 28 7] float32", 0},
		{node("Upsample", 1, attributes{"scales": {Floats: []float32{1, 1, 2, 2}}}, picture), "[1 8 28 28] float32", 0},
		{node("Flatten", 1, attributes{"axis": of1(-1)}, x), "[6 4] float32", 0},
		{node("Expand", 1, nil, tensor(3, 1), list(2, 1, 4)), "[2 3 4] float32", 0},
		{node("Tile", 1, nil, x, list(1, 2, 0)), "[2 6 0] float32", 0},
		{node("Slice", 1, attributes{"starts": many(1), "ends": many(1)}, x), "[0 3 4] float32", 0},
		{node("Where", 1, nil, tensor(3, 1), ints([]int{4}, 1, 1, 1, 1), ints([]int{}, 0)), "[3 4] int64", 0},
		{node("Range", 1, nil, floats([]int{}, 0), floats([]int{}, 1), floats([]int{}, 0.3)), "[4] float32", 0},
		{node("ConstantOfShape", 1, attributes{"value": {Const: &graph.Const{Dims: []int{1}, Type: graph.Bool, Numbers: []float64{1}}}}, list(2, 5)), "[2 5] bool", 0},
		{node("EyeLike", 1, attributes{"dtype": of1(int64(graph.Int32))}, tensor(3, 2)), "[3 2] int32", 0},
		{node("RandomNormal", 1, attributes{"shape": many(5)}), "[5] float32", 0},
		{node("IsNaN", 1, nil, x), "[2 3 4] bool", 0},
		{node("ArgMin", 1, attributes{"keepdims": of1(0)}, x), "[3 4] int64", 0},
		{node("LayerNormalization", 3, attributes{"axis": of1(1)}, x), "[2 3 4] float32, [2 1 1] float32, [2 1 1] float32", 0},
		{node("QuantizeLinear", 1, nil, x, floats([]int{}, 1)), "[2 3 4] uint8", 0},
		{node("DequantizeLinear", 1, nil, constant(graph.Int8, []int{1}, []float64{1}), floats([]int{}, 1)), "[1] float32", 0},
		{node("GatherND", 1, nil, x, tensor(5, 2)), "[5 4] float32", 0},
		{node("GatherND", 1, attributes{"batch_dims": of1(1)}, x, tensor(2, 1)), "[2 4] float32", 0},
		{node("GatherElements", 1, nil, x, tensor(2, 3, 1)), "[2 3 1] float32", 0},
		{node("OneHot", 1, attributes{"axis": of1(0)}, tensor(2), ints([]int{}, 3), floats([]int{2}, 0, 1)), "[3 2] float32", 0},
		{node("GridSample", 1, nil, picture, tensor(1, 5, 6, 2)), "[1 8 5 6] float32", 0},
		{node("RoiAlign", 1, attributes{"output_height": of1(2), "output_width": of1(3)}, picture, tensor(7, 4), tensor(7)), "[7 8 2 3] float32", 0},
		{node("NonZero", 1, nil, tensor(2, 3)), "[2 6] int64", 0},
		{node("Compress", 1, nil, x, list(1, 0, 1)), "[2] float32", 0},
		{node("Compress", 1, attributes{"axis": of1(1)}, x, list(1, 0, 1)), "[2 2 4] float32", 0},
		{node("Unique", 2, attributes{"axis": of1(1)}, x), "[2 3 4] float32, [3] int64, [3] int64, [3] int64", 0},
		{node("Size", 1, nil, x), "[] int64", 0},
		{node("Shape", 1, attributes{"start": of1(-2), "end": of1(-9)}, x), "[0] int64", 0},
		{old("Add", attributes{"broadcast": of1(1), "axis": of1(1)}, x, tensor(3)), "[2 3 4] float32", 0},
		{old("Add", attributes{"broadcast": of1(1)}, x, tensor(3, 4)), "[2 3 4] float32", 0},
		{node("Loop", 1, nil, x), "error: no shape rule for operator Loop", 0},
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
	x, picture := tensor(2, 3, 4), tensor(1, 8, 14, 14)
	window := attributes{"kernel_shape": many(3, 3)}
	for _, c := range []struct {
		n    *graph.Node
		want string
	}{
		{node("Relu", 1, nil), "input 0 is missing"},
		{node("Relu", 1, nil, tensor(1<<21, 1<<20)), "shape [2097152 1048576] is out of range; want extents from 0 to 2147483648 and at most 2^40 elements"},
		{old("Add", nil, x, tensor(3)), "shapes [2 3 4] and [3] differ; want equal shapes or a broadcast attribute"},
		{old("Add", attributes{"broadcast": of1(1), "axis": of1(2)}, x, tensor(3, 4)), "shape [3 4], placed at axis 2, extends beyond shape [2 3 4]"},
		{node("MaxPool", 1, window, x), "window has 2 dimensions; want one for each of 1 spatial axes"},
		{node("MaxPool", 1, window, tensor(2, 3)), "input has 2 dimensions; want batch, channels and at least one more"},
		{node("MaxPool", 1, window, tensor(1, 1, 2, 2)), "window [3 3] is larger than input [2 2] plus padding"},
		{node("MaxPool", 1, attributes{"kernel_shape": many(3, 3), "strides": many(0, 1)}, picture), "kernel_shape, strides, dilations or pads are invalid; want one number in range for each of 2 spatial axes"},
		{node("MaxPool", 1, attributes{"kernel_shape": many(3, 0)}, picture), "kernel_shape, strides, dilations or pads are invalid; want one number in range for each of 2 spatial axes"},
		{node("MaxPool", 1, attributes{"kernel_shape": many(3, 3), "auto_pad": {Text: "MOST"}}, picture), `unknown auto_pad "MOST"; want NOTSET, VALID, SAME_UPPER or SAME_LOWER`},
		{node("Conv", 1, attributes{"kernel_shape": many(5, 5)}, picture, tensor(4, 8, 3, 3)), "weight shape [4 8 3 3] does not match kernel_shape [5 5]"},
		{node("ConvTranspose", 1, nil, picture, tensor(4, 8, 3, 3)), "input shape [1 8 14 14] is incompatible with weight shape [4 8 3 3] for 1 groups"},
		{node("ConvTranspose", 1, attributes{"output_padding": many(1)}, picture, tensor(8, 4, 3, 3)), "output_padding or output_shape is invalid; want one extent per spatial axis"},
		{node("ConvTranspose", 1, attributes{"output_shape": many(0, 9)}, picture, tensor(8, 4, 3, 3)), "output_padding or output_shape is invalid; want one extent per spatial axis"},
		{node("ConvTranspose", 1, attributes{"pads": many(9, 0, 9, 0)}, picture, tensor(8, 4, 3, 3)), "result has -2 elements along spatial axis 0; want at least 1"},
		{node("GlobalMaxPool", 1, nil, tensor(2, 3)), "input has shape [2 3]; want at least 3 axes"},
		{node("Gemm", 1, nil, x, tensor(4, 5)), "cannot multiply shapes [2 3 4] and [4 5]; want 2 axes each"},
		{node("Gemm", 1, nil, tensor(2, 3), tensor(4, 5)), "cannot multiply shapes [2 3] and [4 5]: the summed axes have 3 and 4 elements"},
		{node("Linear", 1, nil, tensor(2, 3), tensor(7, 4)), "input shape [2 3] is incompatible with weight shape [7 4]; want weights with 2 axes and equal last extents"},
		{node("MatMul", 1, nil, tensor(), tensor(4)), "cannot multiply shapes [] and [4]; want at least 1 axis each"},
		{node("MatMul", 1, nil, tensor(2, 5, 3), tensor(4, 3, 5)), "cannot multiply shapes [2 5 3] and [4 3 5]: the leading axes do not broadcast"},
		{node("Einsum", 1, attributes{"equation": {Text: "...j,j->j"}}, x), `equation "...j,j->j" has 2 terms for 1 inputs; want one term per input`},
		{node("Einsum", 1, attributes{"equation": {Text: "...ijkl->i"}}, x), `term "...ijkl" leaves -1 axes of shape [2 3 4] to its ellipsis; want 0 to 10`},
		{node("Einsum", 1, attributes{"equation": {Text: "...i...->i"}}, x), `term "...i..." of equation "...i...->i" has dots other than one ellipsis`},
		{node("Einsum", 1, attributes{"equation": {Text: "...i->......"}}, x), `term "......" of equation "...i->......" has dots other than one ellipsis`},
		{node("Einsum", 1, attributes{"equation": {Text: "0ij->i"}}, x), `equation "0ij->i" has digits; want letters as labels`},
		{node("Einsum", 1, attributes{"equation": {Text: "...i,...ij->...j"}}, tensor(1, 4), tensor(2, 4, 5)), "axes of the ellipsis have sizes 1 and 2; want equal sizes"},
		{node("Einsum", 1, attributes{"equation": {Text: "ij->i"}}, x), `term "ij" does not have one label for each axis of shape [2 3 4]`},
		{node("Einsum", 1, attributes{"equation": {Text: "iij->i"}}, x), "label 'i' has sizes 2 and 3; want one size"},
		{node("Einsum", 1, attributes{"equation": {Text: "ijk->l"}}, x), "label 'l' of the result does not occur in any input"},
		{node("DepthToSpace", 1, attributes{"blocksize": of1(3)}, picture), "square of blocksize 3 does not divide the channels of shape [1 8 14 14]"},
		{node("SpaceToDepth", 1, nil, picture), "blocksize is 0; want 1 to 1024"},
		{node("Pad", 1, nil, tensor(4), tensor(2)), "pads \"tensor\" is computed; want a constant"},
		{node("Pad", 1, nil, tensor(4), list(1, 2, 3)), "found pads [1 2 3] for 1 axes; want two per axis"},
		{node("Pad", 1, nil, tensor(4), list(1<<30, 2)), "pads [1073741824 2] are out of range; want at most 16777216 elements per side"},
		{node("Resize", 1, nil, picture, left(), tensor(4)), "scales or sizes are invalid; want one constant per axis"},
		{node("Resize", 1, nil, picture, left(), floats([]int{2}, 2, 2)), "found 2 scales for 4 axes; want one per axis"},
		{node("Resize", 1, nil, picture, left(), floats([]int{4}, 1, 1, -2, 2)), "scale -2 gives axis 2 an invalid extent; want 0 to 2147483648 elements"},
		{node("Resize", 1, attributes{"keep_aspect_ratio_policy": {Text: "not_larger"}}, picture, left(), left(), list(1, 8, 7, 7)), `unsupported keep_aspect_ratio_policy "not_larger"; want stretch`},
		{node("LSTM", 1, nil, tensor(5, 3), tensor(1, 16, 3), tensor(1, 16, 4)), "input has shape [5 3] and weights have shape [1 16 3]; want 3 axes each"},
		{node("LSTM", 1, nil, tensor(5, 2, 3), tensor(1, 16, 3), tensor(16, 4)), "recurrence weights have shape [16 4]; want 3 axes"},
		{node("Flatten", 1, attributes{"axis": of1(4)}, x), "axis 4 is out of range for 3 dimensions"},
		{node("Squeeze", 1, nil, x, list(0)), "cannot squeeze axis 0 of shape [2 3 4]; want extent 1"},
		{node("Concat", 1, attributes{"axis": of1(3)}, x, x), "axis 3 is out of range for 3 dimensions"},
		{node("Slice", 1, nil, x, tensor(1), list(1)), "starts \"tensor\" is computed; want a constant"},
		{node("Slice", 1, nil, x, list(0, 0), list(1)), "starts, ends, axes and steps have different lengths"},
		{node("Slice", 1, nil, x, list(0), list(1), list(0), list(0)), "step of axis 0 is 0; want a nonzero step"},
		{node("Expand", 1, nil, x, tensor(3)), "shape \"tensor\" is computed; want a constant"},
		{node("Tile", 1, nil, x, list(2)), "repeats are invalid; want one constant per axis"},
		{node("Tile", 1, nil, x, list(1, 1, -1)), "repeats [1 1 -1] are out of range; want 0 or more, and at most 2147483648 elements along an axis"},
		{node("Range", 1, nil, list(0), tensor(), list(1)), "limit is computed; want a constant"},
		{node("Range", 1, nil, floats([]int{}, 0), floats([]int{}, 1), floats([]int{}, 0)), "range from 0 to 1 by 0 has too many elements; want at most 2147483648"},
		{node("ConstantOfShape", 1, nil, tensor(2)), "input \"tensor\" is computed; want a constant"},
		{node("EyeLike", 1, nil, x), "input has shape [2 3 4]; want 2 axes"},
		{node("TopK", 2, nil, x, tensor(1)), "k \"tensor\" is computed; want a constant"},
		{node("GatherND", 1, nil, x, tensor(5, 4)), "index shape [5 4] is invalid for data shape [2 3 4] with batch_dims 0; want a last extent from 1 to 3"},
		{node("OneHot", 1, nil, tensor(2), tensor(), floats([]int{2}, 0, 1)), "depth is computed; want a constant"},
		{node("OneHot", 1, nil, tensor(2), ints([]int{}, 0), floats([]int{2}, 0, 1)), "depth 0 is out of range; want 1 to 16777216"},
		{node("GridSample", 1, nil, picture, tensor(1, 5, 6, 3)), "grid shape [1 5 6 3] is incompatible with input shape [1 8 14 14]; want 4 axes each, equal batch sizes and a last grid extent of 2"},
		{node("RoiAlign", 1, nil, x, tensor(7, 4), tensor(7)), "input has shape [2 3 4] and boxes have shape [7 4]; want 4 and 2 axes"},
		{node("NonMaxSuppression", 1, nil, tensor(1, 6, 4), tensor(1, 2, 5), list(3)), "box shape [1 6 4] is incompatible with score shape [1 2 5]; want [batch boxes 4] and [batch classes boxes]"},
		{node("If", 1, nil, x), "no shape rule for operator If"},
		{&graph.Node{Op: "Relu", Domain: "com.other", In: []*graph.Value{x}}, "no shape rule for operator com.other.Relu"},
	} {
		if r, err := Infer(c.n); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, %v; want %q", c.n.Op, r, err, c.want)
		}
	}
}

// TestFold works operators out on small constants.
func TestFold(t *testing.T) {
	m, pixels := floats([]int{2, 3}, 1, 2, 3, 4, 5, 6), floats([]int{1, 1, 2, 2}, 1, 2, 3, 4)
	for _, c := range []struct {
		n    *graph.Node
		want string // the elements of each result, or the error
	}{
		{node("Neg", 1, nil, m), "[-1 -2 -3 -4 -5 -6]"},
		{node("Add", 1, nil, m, floats([]int{2, 1}, 10, 20)), "[11 12 13 24 25 26]"},
		{node("Div", 1, nil, ints([]int{2}, -7, 7), ints([]int{}, 2)), "[-3 3]"},
		{node("Mod", 1, nil, ints([]int{2}, -7, 7), ints([]int{}, 3)), "[2 1]"},
		{node("Greater", 1, nil, m, floats([]int{}, 3)), "[0 0 0 1 1 1]"},
		{node("Cast", 1, attributes{"to": of1(int64(graph.Int8))}, floats([]int{3}, 1.9, -1.9, 200)), "[1 -1 -56]"},
		{node("Transpose", 1, nil, m), "[1 4 2 5 3 6]"},
		{node("Slice", 1, nil, m, list(2), list(-9), list(1), list(-2)), "[3 1 6 4]"},
		{node("Concat", 1, attributes{"axis": of1(1)}, m, floats([]int{2, 1}, 8, 9)), "[1 2 3 8 4 5 6 9]"},
		{node("Split", 2, attributes{"axis": of1(1)}, m), "[1 2 4 5] [3 6]"},
		{node("Gather", 1, attributes{"axis": of1(1)}, m, list(-1, 0)), "[3 1 6 4]"},
		{node("Gather", 1, attributes{"axis": of1(1)}, m, list(3)), "error: index 3 is out of range for 3 elements"},
		{node("GatherElements", 1, attributes{"axis": of1(1)}, m, ints([]int{2, 1}, 2, 0)), "[3 4]"},
		{node("ScatterND", 1, attributes{"reduction": {Text: "add"}}, m, ints([]int{2, 1}, 1, 1), floats([]int{2, 3}, 1, 1, 1, 2, 2, 2)), "[1 2 3 7 8 9]"},
		{node("Tile", 1, nil, floats([]int{2}, 1, 2), list(2)), "[1 2 1 2]"},
		{node("Expand", 1, nil, floats([]int{2, 1}, 1, 2), list(2, 2)), "[1 1 2 2]"},
		{node("Range", 1, nil, ints([]int{}, 2), ints([]int{}, 9), ints([]int{}, 3)), "[2 5 8]"},
		{node("Where", 1, nil, ints([]int{3}, 1, 0, 1), m, floats([]int{}, 9)), "[1 9 3 4 9 6]"},
		{node("Clip", 1, nil, m, floats([]int{}, 2), left()), "[2 2 3 4 5 6]"},
		{node("ReduceSum", 1, nil, m, list(1)), "[6 15]"},
		{node("ReduceProd", 1, nil, m, list(0)), "[4 10 18]"},
		{node("ArgMax", 1, attributes{"axis": of1(1)}, floats([]int{1, 3}, 5, 7, 7)), "[1]"},
		{node("ArgMax", 1, attributes{"axis": of1(1), "select_last_index": of1(1)}, floats([]int{1, 3}, 5, 7, 7)), "[2]"},
		{node("TopK", 2, nil, floats([]int{4}, 1, 9, 3, 9), list(2)), "[9 9] [1 3]"},
		{node("CumSum", 1, attributes{"exclusive": of1(1)}, floats([]int{3}, 1, 2, 3), ints([]int{}, 0)), "[0 1 3]"},
		{node("Trilu", 1, attributes{"upper": of1(0)}, m), "[1 0 0 4 5 0]"},
		{node("OneHot", 1, nil, list(1, -1), ints([]int{}, 3), floats([]int{2}, 0, 5)), "[0 5 0 0 0 5]"},
		{node("NonZero", 1, nil, floats([]int{2, 2}, 0, 3, 4, 0)), "[0 1 1 0]"},
		{node("Unique", 4, nil, floats([]int{4}, 5, 2, 5, 3)), "[2 3 5] [1 3 0] [2 0 2 1] [1 1 2]"},
		// (q - zero)*scale of one scale a row.
		{node("DequantizeLinear", 1, attributes{"axis": of1(0)}, ints([]int{2, 2}, 1, 2, 3, 4), floats([]int{2}, 0.5, 2), ints([]int{2}, 1, 0)), "[0 0.5 6 8]"},
		// Halves go to the even number, and 300 is clamped to a byte.
		{node("QuantizeLinear", 1, nil, floats([]int{3}, 0.5, 1.5, 300), floats([]int{}, 1)), "[0 2 255]"},
		{node("Shape", 1, attributes{"start": of1(1)}, m), "[3]"},
		// The second box overlaps the first by more than half, the third not at all.
		{node("NonMaxSuppression", 1, nil, floats([]int{1, 3, 4}, 0, 0, 2, 2, 0, 0, 2, 1.9, 5, 5, 6, 6), floats([]int{1, 1, 3}, 0.9, 0.8, 0.7), list(3), floats([]int{}, 0.5)), "[0 0 0 0 0 2]"},
		{node("Softmax", 1, nil, floats([]int{2}, 3, 3)), "[0.5 0.5]"},
		{node("ReduceL2", 1, nil, floats([]int{2}, 3, 4)), "[5]"},
		{node("ReduceL1", 1, nil, floats([]int{2}, 3, -4)), "[7]"},
		{node("ReduceSumSquare", 1, nil, floats([]int{2}, 3, -4)), "[25]"},
		{node("ReduceLogSum", 1, nil, floats([]int{2}, 0.25, 0.75)), "[0]"},
		{node("ReduceLogSumExp", 1, nil, floats([]int{1}, 3)), "[3]"},
		{node("ReduceMean", 1, attributes{"axes": many(0)}, m), "[2.5 3.5 4.5]"},
		{node("ReduceMax", 1, nil, m, list(1)), "[3 6]"},
		{node("ReduceMin", 1, nil, m, list(1)), "[1 4]"},
		{node("ReduceMean", 1, nil, floats([]int{0}), list(0)), "[NaN]"}, // of nothing
		{node("Mean", 1, nil, m, floats([]int{}, 3)), "[2 2.5 3 3.5 4 4.5]"},
		{node("HardSigmoid", 1, attributes{"alpha": {Float: 0.5}}, floats([]int{3}, -4, 0.5, 4)), "[0 0.75 1]"},
		{node("LogSoftmax", 1, nil, floats([]int{1, 1}, 7)), "[0]"},
		{node("Hardmax", 1, nil, floats([]int{2, 2}, 1, 1, 2, 3)), "[1 0 0 1]"},
		{old("Hardmax", attributes{"axis": of1(0)}, floats([]int{2, 2}, 1, 1, 2, 3)), "[0 0 0 1]"}, // all axes from that on
		{node("Clip", 1, attributes{"max": {Float: 2}}, m), "[1 2 2 2 2 2]"},
		{node("Cast", 1, attributes{"to": of1(int64(graph.Bool))}, m), "[1 1 1 1 1 1]"},
		{node("CastLike", 1, nil, floats([]int{1}, 2.5), ints([]int{}, 0)), "[2]"},
		{node("Div", 1, nil, m, floats([]int{}, 0.5)), "[2 4 6 8 10 12]"},
		{node("Mod", 1, attributes{"fmod": of1(1)}, floats([]int{1}, -7), floats([]int{1}, 3)), "[-1]"},
		{old("Add", attributes{"broadcast": of1(1), "axis": of1(0)}, m, floats([]int{2}, 10, 20)), "[11 12 13 24 25 26]"},
		{node("BitwiseXor", 1, nil, ints([]int{1}, 6), ints([]int{1}, 3)), "[5]"},
		{node("BitwiseNot", 1, nil, ints([]int{1}, 6)), "[-7]"},
		{node("Reshape", 1, nil, m, list(3, 2)), "[1 2 3 4 5 6]"},
		{node("ConstantOfShape", 1, nil, list(2)), "[0 0]"},
		{node("ConstantOfShape", 1, attributes{"value": {Const: &graph.Const{Dims: []int{1}, Type: graph.Float, Numbers: []float64{7}}}}, list(2)), "[7 7]"},
		{node("EyeLike", 1, attributes{"k": of1(1)}, m), "[0 1 0 0 0 1]"},
		{node("IsNaN", 1, nil, floats([]int{2}, math.NaN(), 1)), "[1 0]"},
		{node("IsInf", 1, attributes{"detect_negative": of1(0)}, floats([]int{3}, math.Inf(1), math.Inf(-1), 1)), "[1 0 0]"},
		{node("RandomUniform", 1, attributes{"shape": many(2), "low": {Float: 3}, "high": {Float: 3}}), "[3 3]"},
		{node("RandomNormal", 1, attributes{"shape": many(2), "mean": {Float: 4}, "scale": {Float: 0}}), "[4 4]"},
		{node("Size", 1, nil, m), "[6]"},
		{node("CumSum", 1, attributes{"reverse": of1(1)}, floats([]int{3}, 1, 2, 3), ints([]int{}, 0)), "[6 5 3]"},
		{node("ReverseSequence", 1, attributes{"time_axis": of1(1), "batch_axis": of1(0)}, m, list(2, 3)), "[2 1 3 6 5 4]"},
		{node("ReverseSequence", 1, nil, m, list(2)), "error: found 1 sequence lengths for 3 batch elements; want one per element"},
		{node("Compress", 1, nil, m, list(0, 1, 0, 1)), "[2 4]"},
		{node("Compress", 1, attributes{"axis": of1(1)}, m, list(1, 0, 1)), "[1 3 4 6]"},
		{node("GatherND", 1, nil, m, ints([]int{2, 2}, 0, 1, 1, -1)), "[2 6]"},
		{node("GatherND", 1, attributes{"batch_dims": of1(1)}, m, ints([]int{2, 1}, 2, 0)), "[3 4]"},
		{node("GatherND", 1, nil, m, ints([]int{1, 1}, 2)), "error: index 2 is out of range for 2 elements"},
		{node("ScatterElements", 1, attributes{"axis": of1(1)}, m, ints([]int{2, 1}, 0, -1), floats([]int{2, 1}, 8, 9)), "[8 2 3 4 5 9]"},
		{node("ScatterElements", 1, attributes{"reduction": {Text: "mul"}}, m, ints([]int{1, 3}, 1, 1, 1), floats([]int{1, 3}, 2, 3, 4)), "[1 2 3 8 15 24]"},
		{node("ScatterElements", 1, attributes{"reduction": {Text: "max"}}, m, ints([]int{1, 3}, 0, 0, 0), floats([]int{1, 3}, 2, 0, 4)), "[2 2 4 4 5 6]"},
		{node("ScatterElements", 1, attributes{"reduction": {Text: "min"}}, m, ints([]int{1, 3}, 0, 0, 0), floats([]int{1, 3}, 2, 0, 4)), "[1 0 3 4 5 6]"},
		{node("ScatterElements", 1, attributes{"reduction": {Text: "mean"}}, m, ints([]int{1, 3}, 0, 0, 0), floats([]int{1, 3}, 2, 0, 4)), "error: unknown reduction \"mean\"; want none, add, mul, max or min"},
		{node("ScatterElements", 1, nil, m, ints([]int{1, 3}, 0, 0, 5), floats([]int{1, 3}, 2, 0, 4)), "error: index 5 is out of range for 2 elements"},
		// One scale of every two elements of a row, with a zero point of its own.
		{node("DequantizeLinear", 1, attributes{"block_size": of1(2)}, ints([]int{1, 4}, 1, 2, 3, 4), floats([]int{1, 2}, 1, 10), ints([]int{1, 2}, 0, 1)), "[1 2 20 30]"},
		{node("DequantizeLinear", 1, attributes{"block_size": of1(3)}, ints([]int{1, 4}, 1, 2, 3, 4), floats([]int{1, 1}, 1)), "error: scale shape [1 1] does not match weight shape [1 4] with blocks of 3 along axis 1"},
		{node("DequantizeLinear", 1, nil, ints([]int{2, 2}, 1, 2, 3, 4), floats([]int{3}, 1, 1, 1)), "error: found 3 scales and 3 zero points for 2 channels; want one of each per channel"},
		{node("QuantizeLinear", 1, attributes{"axis": of1(0)}, floats([]int{2, 1}, 100, 100), floats([]int{2}, 1, 0.5), constant(graph.Int8, []int{2}, []float64{1, 0})), "[101 127]"},
		{node("QuantizeLinear", 1, nil, floats([]int{2, 1}, 1, 2), floats([]int{2}, 1, 1)), "error: found 2 scales and 2 zero points for 1 channels; want one of each per channel"},
		// The middle between four pixels, a corner, and a place outside, which is zero or the
		// border's.
		{node("GridSample", 1, nil, pixels, floats([]int{1, 1, 3, 2}, 0, 0, -1, -1, 9, 9)), "[2.5 0.25 0]"},
		{node("GridSample", 1, attributes{"align_corners": of1(1), "mode": {Text: "nearest"}, "padding_mode": {Text: "border"}}, pixels, floats([]int{1, 1, 3, 2}, 1, -1, -1, 1, 9, 9)), "[2 3 4]"},
		{node("GridSample", 1, attributes{"padding_mode": {Text: "reflection"}}, pixels, floats([]int{1, 1, 1, 2}, -1.5, -0.5)), "[1]"},
		{node("GridSample", 1, attributes{"mode": {Text: "cubic"}, "align_corners": of1(1)}, pixels, floats([]int{1, 1, 1, 2}, -1, -1)), "[1]"},
		{node("GridSample", 1, attributes{"mode": {Text: "exact"}}, pixels, floats([]int{1, 1, 1, 2}, 0, 0)), `error: unknown mode "exact"; want nearest, linear or cubic`},
		// The mean of a box, and the largest part of a sum between four pixels in it.
		{node("RoiAlign", 1, attributes{"spatial_scale": {Float: 0.5}, "sampling_ratio": of1(1)}, pixels, floats([]int{1, 4}, 1, 1, 3, 3), list(0)), "[2.5]"},
		{node("RoiAlign", 1, attributes{"sampling_ratio": of1(1), "mode": {Text: "max"}}, pixels, floats([]int{1, 4}, 0.5, 0.5, 1.5, 1.5), list(0)), "[1]"},
		{node("RoiAlign", 1, nil, pixels, floats([]int{1, 4}, 0, 0, 1, 1), list(1)), "error: index 1 is out of range for 1 elements"},
		{node("RoiAlign", 1, nil, pixels, floats([]int{1, 4}, 0, 0, 1e9, 1), list(0)), "error: cell needs 1 x 1000000000 sample points; want at most 1024 x 1024"},
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
		{attributes{"value_int": of1(3)}, "[] int64 [3]"},
		{attributes{"value_ints": many(3, 4)}, "[2] int64 [3 4]"},
		{attributes{"value_float": {Float: 0.5}}, "[] float32 [0.5]"},
		{attributes{"value_floats": {Floats: []float32{0.5, 2}}}, "[2] float32 [0.5 2]"},
		{attributes{"value": {Const: &graph.Const{Dims: []int{1}, Type: graph.Bool, Numbers: []float64{1}}}}, "[1] bool [1]"},
		{attributes{"value": {}}, `attribute "value" is not a tensor`},
		{attributes{"value_string": {Text: "a"}}, "constant has no dense value; want attribute value, value_int, value_ints, value_float or value_floats"},
	} {
		k, err := Literal(node("Constant", 1, c.a))
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
		if got := FoldBytes(node(op, 1, nil)); got != want {
			t.Errorf("an element of %s takes %d bytes, want %d", op, got, want)
		}
	}
}

// TestCompared holds that a comparison with a number beyond an operator's range is constant.
func TestCompared(t *testing.T) {
	x := tensor(4)
	x.Range = Of("Sigmoid").Range
	for _, c := range []struct {
		op        string
		with      float64
		value, ok bool
	}{
		{"GreaterOrEqual", 0, true, true}, {"Greater", 0, false, false}, {"Greater", 1, false, true},
		{"Less", 1.5, true, true}, {"LessOrEqual", 0, false, false}, {"Add", 0, false, false},
	} {
		v, ok := EvalComparison(node(c.op, 1, nil, x, floats([]int{}, c.with)))
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

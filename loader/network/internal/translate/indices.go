package translate

import (
	"errors"
	"fmt"
	"slices"

	"anesim/internal/network/onnx"
)

// emitGather emits a node that selects elements along an axis. With batch dimensions, each element
// of these has indices of its own; nodes that move the axis behind them and back are around it.
func emitGather(x *operation) {
	in, indices := x.inputName("x"), x.inputName("indices")
	axis, batch := x.intArgument("axis", 0), x.intArgument("batch_dims", 0)
	rank, indexRank := int64(x.declaredRank(in)), int64(x.declaredRank(indices))
	if batch < 0 {
		batch += indexRank
	}
	if batch == 0 {
		x.emitNode("Gather", []string{in, indices}, newIntAttr("axis", axis))
		return
	}
	if axis < 0 {
		axis += rank
	}
	if batch < 0 || batch > indexRank || axis < batch || axis >= rank {
		x.err = fmt.Errorf("axis %d or batch_dims %d is out of range for input rank %d and indices rank %d", axis, batch, rank, indexRank)
		return
	}
	var there, back []int64
	for i := range rank {
		if i != axis {
			there = append(there, i)
		}
	}
	there = slices.Insert(there, int(batch), axis)
	found := indexRank - batch // axes of the result that the indices add
	for i := range rank - 1 + found {
		switch {
		case i < batch || i >= axis+found:
			back = append(back, i)
		case i < axis:
			back = append(back, i+found)
		default:
			back = append(back, i-axis+batch)
		}
	}
	at := x.emitIntermediateNode("Unsqueeze", []string{indices, x.newIntsConstant(-1)})
	// The axis is already behind the batch, where GatherND wants it.
	if axis == batch {
		x.emitNode("GatherND", []string{in, at}, newIntAttr("batch_dims", batch))
		return
	}
	in = x.emitIntermediateNode("Transpose", []string{in}, newIntsAttr("perm", there...))
	y := x.emitIntermediateNode("GatherND", []string{in, at}, newIntAttr("batch_dims", batch))
	x.emitNode("Transpose", []string{y}, newIntsAttr("perm", back...))
}

// newArgEmitter returns a function that emits a node which finds the index of an extreme element.
func newArgEmitter(op string) func(x *operation) {
	return func(x *operation) {
		x.emitNode(op, []string{x.inputName("x")}, newIntAttr("axis", x.intArgument("axis", -1)), newIntAttr("keepdims", x.intArgument("keep_dims", 0)))
	}
}

// emitTopK emits a node that finds the k largest or smallest elements along an axis, and their indices.
func emitTopK(x *operation) {
	if len(x.Outputs) != 2 || x.boolArgument("return_indices") != x.hasArgument("return_indices") || x.boolArgument("sort") != x.hasArgument("sort") {
		x.err = errors.New("topk without indices or order is not supported")
		return
	}
	x.textArgument("output_indices_dtype", "") // indices are integers of any width
	largest := int64(1)
	if x.boolArgument("ascending") {
		largest = 0
	}
	x.emitNode("TopK", []string{x.inputName("x"), x.newIntsConstant(x.intArgument("k", 1))}, newIntAttr("axis", x.intArgument("axis", -1)), newIntAttr("largest", largest))
}

// emitOneHot emits a node that marks the place of each index on a new axis.
func emitOneHot(x *operation) {
	values := x.newConstant(onnx.Float16, []int64{2}, x.floatArgument("off_value", 0), x.floatArgument("on_value", 1))
	x.emitNode("OneHot", []string{x.inputName("indices"), x.newIntsConstant(x.intArgument("one_hot_vector_size", 0)), values}, newIntAttr("axis", x.intArgument("axis", -1)))
}

// scatterModes maps the modes of a scatter to ONNX's reductions.
var scatterModes = map[string]string{"update": "none", "add": "add", "mul": "mul", "max": "max", "min": "min"}

// emitScatter emits a node that changes elements at computed places.
func emitScatter(x *operation) {
	mode, ok := scatterModes[x.textArgument("mode", "add")]
	if !ok {
		x.err = fmt.Errorf("mode %q is not supported; want update, add, mul, max or min", x.textArgument("mode", ""))
		return
	}
	if x.boolArgument("validate_indices") != x.hasArgument("validate_indices") {
		x.arguments("validate_indices") // indices out of range are errors in either case
	}
	in := []string{x.inputName("data"), x.inputName("indices"), x.inputName("updates")}
	if x.Type == "scatter_nd" {
		x.emitNode("ScatterND", in, newTextAttr("reduction", mode))
		return
	}
	x.emitNode("ScatterElements", in, newIntAttr("axis", x.intArgument("axis", 0)), newTextAttr("reduction", mode))
}

// emitScatterAlongAxis emits a node that changes whole slices along an axis, at the indices that the
// operation lists. The updates have the axes of the indices in the place of that axis.
func emitScatterAlongAxis(x *operation) {
	mode, ok := scatterModes[x.textArgument("mode", "add")]
	if !ok {
		x.err = fmt.Errorf("mode %q is not supported; want update, add, mul, max or min", x.textArgument("mode", ""))
		return
	}
	if x.boolArgument("validate_indices") != x.hasArgument("validate_indices") {
		x.arguments("validate_indices") // indices out of range are errors in either case
	}
	data, indices, updates := x.inputName("data"), x.inputName("indices"), x.inputName("updates")
	rank, found := int64(x.declaredRank(data)), int64(x.declaredRank(indices))
	axis := x.intArgument("axis", 0)
	if axis < 0 {
		axis += rank
	}
	if axis < 0 || axis >= rank {
		x.err = fmt.Errorf("axis %d is out of range for rank %d", axis, rank)
		return
	}
	at := x.emitIntermediateNode("Unsqueeze", []string{indices, x.newIntsConstant(-1)})
	// ScatterND indexes leading axes, so any other axis is moved to the front and back.
	if axis == 0 {
		x.emitNode("ScatterND", []string{data, at, updates}, newTextAttr("reduction", mode))
		return
	}
	front := func(name string, rank, axes int64) (moved string, back []int64) {
		perm := axesToFront(rank, axis, axes)
		back = make([]int64, rank)
		for i, p := range perm {
			back[p] = int64(i)
		}
		return x.emitIntermediateNode("Transpose", []string{name}, newIntsAttr("perm", perm...)), back
	}
	data, back := front(data, rank, 1)
	updates, _ = front(updates, rank-1+found, found)
	y := x.emitIntermediateNode("ScatterND", []string{data, at, updates}, newTextAttr("reduction", mode))
	x.emitNode("Transpose", []string{y}, newIntsAttr("perm", back...))
}

// axesToFront returns the permutation of rank axes that moves n of them, from the given one on, to the
// front.
func axesToFront(rank, axis, n int64) []int64 {
	var perm, rest []int64
	for i := range rank {
		if axis <= i && i < axis+n {
			perm = append(perm, i)
		} else {
			rest = append(rest, i)
		}
	}
	return append(perm, rest...)
}

// emitArgSort emits a node that finds the order of the elements along an axis. Without ascending, the
// largest comes first.
func emitArgSort(x *operation) {
	in := x.inputName("x")
	d := x.dims[in]
	axis := x.intArgument("axis", -1)
	at := axis
	if at < 0 {
		at += int64(len(d))
	}
	if at < 0 || at >= int64(len(d)) || d[at] < 1 {
		x.err = fmt.Errorf("axis %d is out of range or unknown in shape %v", axis, d)
		return
	}
	largest := int64(1)
	if x.boolArgument("ascending") {
		largest = 0
	}
	x.appendNode("TopK", []string{in, x.newIntsConstant(d[at])}, []string{"", x.Outputs[0].Name}, []attribute{newIntAttr("axis", axis), newIntAttr("largest", largest)})
}

// emitReverseSequence emits nodes that reverse the first elements of each sequence of a batch, as many as
// the argument lengths says. ONNX has the two axes at the front.
func emitReverseSequence(x *operation) {
	in := x.inputName("x")
	rank := int64(x.declaredRank(in))
	axes := x.resolveNegativeAxes([]int64{x.intArgument("seq_axis", 0), x.intArgument("batch_axis", 0)}, int(rank))
	if axes[0] == axes[1] || slices.Min(axes) < 0 || slices.Max(axes) >= rank {
		x.err = fmt.Errorf("seq_axis and batch_axis are %v; want two axes of %d", axes, rank)
		return
	}
	perm := slices.Clone(axes)
	for i := range rank {
		if !slices.Contains(axes, i) {
			perm = append(perm, i)
		}
	}
	back := make([]int64, rank)
	for i, p := range perm {
		back[p] = int64(i)
	}
	y := x.emitIntermediateNode("Transpose", []string{in}, newIntsAttr("perm", perm...))
	y = x.emitIntermediateNode("ReverseSequence", []string{y, x.inputName("lengths")}, newIntAttr("time_axis", 0), newIntAttr("batch_axis", 1))
	x.emitNode("Transpose", []string{y}, newIntsAttr("perm", back...))
}

// emitClassify makes the probabilities of a classifier, a dictionary by label, those that it is given, and
// leaves out the label of the largest: labels are no part of a network's work. A program that returns the
// label alone returns the probabilities in its place.
func emitClassify(x *operation) {
	in := x.inputName("probabilities")
	x.arguments("classes")
	if len(x.Outputs) != 2 {
		x.err = fmt.Errorf("operation has %d results; want a label and a dictionary", len(x.Outputs))
		return
	}
	label, all := x.Outputs[0].Name, x.Outputs[1].Name
	x.labels[label] = all
	delete(x.model.Known, label)
	x.elems[all], x.dims[all] = x.elems[in], x.dims[in]
	delete(x.model.Known, all) // a dictionary states no shape
	x.appendNode("Identity", []string{in}, []string{all}, nil)
}

// emitCumSum emits a node that computes a cumulative sum along an axis.
func emitCumSum(x *operation) {
	truth := func(key string) int64 {
		if x.boolArgument(key) {
			return 1
		}
		return 0
	}
	x.emitNode("CumSum", []string{x.inputName("x"), x.newIntsConstant(x.intArgument("axis", 0))}, newIntAttr("exclusive", truth("exclusive")), newIntAttr("reverse", truth("reverse")))
}

// emitBandPart emits nodes that keep a band of diagonals of each matrix, and set all other elements
// to zero. Arguments lower and upper of the operation are the numbers of diagonals below and above
// the main one; a negative number keeps all.
func emitBandPart(x *operation) {
	in := x.inputName("x")
	lower, upper := x.intArgument("lower", -1), x.intArgument("upper", -1)
	if lower >= 0 {
		in = x.emitIntermediateNode("Trilu", []string{in, x.newIntsConstant(-lower)}, newIntAttr("upper", 1))
	}
	if upper >= 0 {
		in = x.emitIntermediateNode("Trilu", []string{in, x.newIntsConstant(upper)}, newIntAttr("upper", 0))
	}
	x.emitNode("Identity", []string{in})
}

// emitLocalNorm emits an LRN, which divides each element by a power of a sum over the squares of
// neighboring channels.
func emitLocalNorm(x *operation) {
	x.emitNode("LRN", []string{x.inputName("x")}, newIntAttr("size", x.intArgument("size", 1)), newFloatAttr("alpha", x.floatArgument("alpha", 1e-4)),
		newFloatAttr("beta", x.floatArgument("beta", 0.75)), newFloatAttr("bias", x.floatArgument("k", 1)))
}

// emitCrop emits a node that removes rows and columns at the edges of images.
func emitCrop(x *operation) {
	in := x.inputName("x")
	rows, columns := x.intsArgument("crop_height"), x.intsArgument("crop_width")
	d := x.dims[in]
	if len(rows) != 2 || len(columns) != 2 || len(d) < 2 {
		x.err = fmt.Errorf("invalid crop_height %v or crop_width %v for shape %v; want two numbers each and at least 2 axes", rows, columns, d)
		return
	}
	h, w := int64(d[len(d)-2]), int64(d[len(d)-1])
	x.emitNode("Slice", []string{in, x.newIntsConstant(rows[0], columns[0]), x.newIntsConstant(h-rows[1], w-columns[1]), x.newIntsConstant(-2, -1)})
}

func emitNotEqual(x *operation) {
	x.emitNode("Not", []string{x.emitIntermediateNode("Equal", []string{x.inputName("x"), x.inputName("y")})})
}

package agreement

import (
	"slices"
	"strings"
	"testing"

	"anesim/bench/reference"
	ox "anesim/loader/network/onnx/onnxtest"
)

// boxes are two groups of boxes that overlap and two that stand alone, with the scores of two
// classes.
const boxes = 8

var (
	corners = []float64{
		0, 0, 10, 10, 1, 0, 11, 10, 0, 1, 10, 11, // one above the other
		20, 20, 30, 32, 21, 20, 31, 32,
		50, 0, 60, 8, 80, 80, 90, 96, 100, 0, 104, 4,
	}
	scores = []float64{
		0.9, 0.875, 0.25, 0.5, 0.75, 0.125, 0.625, 0.0625,
		0.25, 0.375, 0.8125, 0.125, 0.0625, 0.6875, 0.03125, 0.5625,
	}
)

// detected returns the nodes that every tail of a detector begins with: scores that the engine has
// computed, and boxes that are kept.
func detected(threshold float32) []ox.Message {
	return []ox.Message{
		ox.Input("boxes", 1, boxes, 4), ox.Input("raw", 1, 2, boxes), ox.Constant("one", nil, 1),
		ox.Node("Mul", "scores", []string{"raw", "one"}),
		ox.Ints("most", 4), ox.Constant("overlap", []int{1}, 0.5), ox.Constant("threshold", []int{1}, threshold),
		ox.Node("NonMaxSuppression", "kept", []string{"boxes", "scores", "most", "overlap", "threshold"}),
		ox.Whole("0", 7, 8, nil, 0), ox.Whole("1", 7, 8, nil, 1), ox.Whole("2", 7, 8, nil, 2),
		ox.Ints("[0]", 0), ox.Ints("[1]", 1), ox.Ints("[2]", 2), ox.Ints("[3]", 3), ox.Ints("[-1]", -1), ox.Ints("[100]", 100),
	}
}

// mixed are n numbers of both signs.
func mixed(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(i*7%11-5) / 8
	}
	return v
}

// Tails of detectors as exporters write them: what follows the boxes has as many rows as there
// are boxes.
var tails = []struct {
	name    string
	parts   []ox.Message
	outputs string
}{
	{"rows alone", nil, "kept"},
	{"boxes, classes and scores", []ox.Message{
		ox.Node("Gather", "box", in("kept", "2"), ox.Int("axis", 1)), ox.Node("Gather", "class", in("kept", "1"), ox.Int("axis", 1)),
		ox.Node("Squeeze", "list", in("boxes", "[0]")), ox.Node("Gather", "found", in("list", "box"), ox.Int("axis", 0)),
		ox.Node("GatherND", "score", in("scores", "kept")),
	}, "found class score"},
	{"one table", []ox.Message{
		ox.Several("Split", in("image", "class", "box"), in("kept"), ox.Int("axis", 1)),
		ox.Node("Concat", "at", in("image", "box"), ox.Int("axis", 1)), ox.Node("GatherND", "found", in("boxes", "at")),
		ox.Node("GatherND", "score", in("scores", "kept")), ox.Node("Unsqueeze", "column", in("score", "[1]")),
		ox.Node("Cast", "class float", in("class"), ox.Int("to", 1)), ox.Node("Cast", "image float", in("image"), ox.Int("to", 1)),
		ox.Node("Concat", "table", in("image float", "found", "class float", "column"), ox.Int("axis", 1)),
	}, "table"},
	{"centres and sizes", []ox.Message{
		ox.Node("Slice", "box", in("kept", "[2]", "[3]", "[1]")), ox.Node("Reshape", "flat", in("box", "[-1]")),
		ox.Node("Gather", "some", in("boxes", "flat"), ox.Int("axis", 1)), ox.Several("Split", in("y1", "x1", "y2", "x2"), in("some"), ox.Int("axis", 2)),
		ox.Node("Sub", "h", in("y2", "y1")), ox.Node("Sub", "w", in("x2", "x1")), ox.Constant("half", nil, 0.5),
		ox.Node("Mul", "half h", in("h", "half")), ox.Node("Add", "cy", in("y1", "half h")),
		ox.Node("Mul", "area", in("h", "w")), ox.Node("Concat", "y", in("cy", "h", "w", "area"), ox.Int("axis", -1)),
		ox.Node("Transpose", "turned", in("y"), ox.List("perm", 0, 2, 1)), ox.Node("Sqrt", "root", in("area")),
		ox.Node("Clip", "cut", in("root", "half")), ox.Node("Sigmoid", "s", in("cut")),
	}, "turned s"},
	{"the best few", []ox.Message{
		ox.Node("GatherND", "score", in("scores", "kept")), ox.Node("Shape", "n", in("score")),
		ox.Node("Concat", "two", in("n", "[3]"), ox.Int("axis", 0)), ox.Node("ReduceMin", "k", in("two"), ox.Int("keepdims", 1)),
		ox.Several("TopK", in("best", "places"), in("score", "k"), ox.Int("axis", 0)),
		ox.Node("Gather", "rows", in("kept", "places"), ox.Int("axis", 0)),
		ox.Node("Gather", "box", in("rows", "2"), ox.Int("axis", 1)), ox.Node("Gather", "list", in("boxes", "0"), ox.Int("axis", 0)),
		ox.Node("Gather", "found", in("list", "box"), ox.Int("axis", 0)),
		ox.Node("ArgMax", "side", in("found"), ox.Int("axis", 1), ox.Int("keepdims", 0)),
		ox.Node("ReduceMax", "far", in("found", "[1]"), ox.List("axes", 1)), ox.Node("Softmax", "share", in("found"), ox.Int("axis", 1)),
	}, "best found side share"},
	{"the first of a class", []ox.Message{
		ox.Node("Gather", "class", in("kept", "1"), ox.Int("axis", 1)), ox.Node("Equal", "first", in("class", "0")),
		ox.Node("Not", "others", in("first")), ox.Node("Compress", "rows", in("kept", "first"), ox.Int("axis", 0)),
		ox.Node("Compress", "rest", in("kept", "others"), ox.Int("axis", 0)), ox.Node("Concat", "all", in("rows", "rest"), ox.Int("axis", 0)),
		ox.Node("Where", "marked", in("first", "class", "2")), ox.Node("Slice", "top", in("all", "[0]", "[2]", "[0]")),
		ox.Several("Unique", in("classes", "", "which", "counts"), in("class")),
	}, "rows rest all marked top classes which counts"},
	{"batches apart", []ox.Message{ // as classes are moved apart before boxes are compared
		ox.Node("Squeeze", "list", in("boxes", "[0]")), ox.Node("Squeeze", "of class", in("scores", "[0]")),
		ox.Node("Greater", "good", in("of class", "threshold")), ox.Node("NonZero", "places", in("good")),
		ox.Node("Gather", "class", in("places", "0"), ox.Int("axis", 0)), ox.Node("Gather", "box", in("places", "1"), ox.Int("axis", 0)),
		ox.Node("Gather", "some", in("list", "box"), ox.Int("axis", 0)), ox.Node("Transpose", "at", in("places"), ox.List("perm", 1, 0)),
		ox.Node("GatherND", "score", in("of class", "at")),
		ox.Node("Cast", "class float", in("class"), ox.Int("to", 1)), ox.Constant("apart", nil, 128), ox.Node("Mul", "offset", in("class float", "apart")),
		ox.Node("Unsqueeze", "offsets", in("offset", "[1]")), ox.Node("Add", "moved", in("some", "offsets")),
		ox.Node("Unsqueeze", "b", in("moved", "[0]")), ox.Ints("[0 1]", 0, 1), ox.Node("Unsqueeze", "s", in("score", "[0 1]")),
		ox.Node("NonMaxSuppression", "again", in("b", "s", "[100]", "overlap")),
		ox.Node("Gather", "keep column", in("again", "[2]"), ox.Int("axis", 1)), ox.Node("Squeeze", "keep all", in("keep column", "[1]")),
		ox.Node("Slice", "keep", in("keep all", "[0]", "[3]", "[0]")),
		ox.Node("Gather", "last boxes", in("some", "keep"), ox.Int("axis", 0)), ox.Node("Gather", "last scores", in("score", "keep"), ox.Int("axis", 0)),
		ox.Node("Gather", "last classes", in("class", "keep"), ox.Int("axis", 0)),
	}, "last`boxes last`scores last`classes"},
	{"masks", []ox.Message{ // by the engine, which has as many rows as there may be
		ox.Node("Gather", "box", in("kept", "2"), ox.Int("axis", 1)), ox.Node("Squeeze", "list", in("boxes", "[0]")),
		ox.Node("Gather", "found", in("list", "box"), ox.Int("axis", 0)), ox.Constant("scale", nil, 0.015625), ox.Node("Mul", "small", in("found", "scale")),
		ox.Constant("w", []int{4, 6}, mixed(24)...), ox.Constant("bias", []int{6}, mixed(6)...),
		ox.Node("Gemm", "hidden", in("small", "w", "bias")), ox.Node("Relu", "positive", in("hidden")),
		ox.Constant("v", []int{6, 4}, mixed(24)...), ox.Node("MatMul", "mask", in("positive", "v")), ox.Node("Sigmoid", "mask share", in("mask")),
		ox.Node("Shape", "size", in("small")), ox.Node("Gather", "n", in("size", "[0]"), ox.Int("axis", 0)),
		ox.Node("Concat", "square", in("n", "[2]", "[2]"), ox.Int("axis", 0)), ox.Node("Reshape", "picture", in("mask share", "square")),
		ox.Node("Cast", "row", in("kept"), ox.Int("to", 1)), ox.Node("Concat", "table", in("row", "mask"), ox.Int("axis", 1)),
		ox.Node("Softmax", "class share", in("mask"), ox.Int("axis", 1)), ox.Node("ReduceSum", "sum", in("positive", "[0]"), ox.Int("keepdims", 0)),
	}, "mask picture table class`share sum positive"},
	{"shapes", []ox.Message{
		ox.Node("NonZero", "places", in("kept")), ox.Node("Shape", "size", in("places")), ox.Node("Gather", "n", in("size", "1"), ox.Int("axis", 0)),
		ox.Node("Gather", "axes", in("size", "0"), ox.Int("axis", 0)), ox.Node("Unsqueeze", "one axis", in("n", "[0]")),
		ox.Node("ConstantOfShape", "zeros", in("one axis")), ox.Node("Range", "row", in("0", "n", "1")),
		ox.Node("Concat", "square", in("one axis", "[2]"), ox.Int("axis", 0)), ox.Node("Unsqueeze", "column", in("row", "[1]")),
		ox.Node("Expand", "rows", in("column", "square")), ox.Node("Mul", "twice", in("n", "axes")), ox.Node("Unsqueeze", "flat size", in("twice", "[0]")),
		ox.Node("Reshape", "flat", in("rows", "flat size")), ox.Node("Size", "elements", in("places")),
		ox.Node("Concat", "times", in("[1]", "[2]"), ox.Int("axis", 0)), ox.Node("Tile", "tiled", in("rows", "times")),
		ox.Node("Slice", "cut", in("row", "[1]", "one axis", "[0]")), ox.Node("ScatterND", "marked", in("zeros", "column", "zeros")),
		ox.Node("CumSum", "sums", in("row", "0")), ox.Node("Less", "early", in("row", "2")), ox.Node("Cast", "whole", in("early"), ox.Int("to", 7)),
		ox.Node("ReduceSum", "count", in("whole", "[0]"), ox.Int("keepdims", 0)),
	}, "zeros flat elements tiled cut marked sums count axes"},
}

// TestDetectors compares what follows a choice of boxes with its definition: with some boxes, with
// all and with none.
func TestDetectors(t *testing.T) {
	inputs := map[string]*reference.Tensor{
		"boxes": {Type: 1, Dims: []int{1, boxes, 4}, Data: corners},
		"raw":   {Type: 1, Dims: []int{1, 2, boxes}, Data: scores},
	}
	for _, tail := range tails {
		for threshold, rows := range map[float32]string{0.375: "some", 0: "most", 2: "none"} {
			t.Run(tail.name+"/"+rows, func(t *testing.T) {
				parts := slices.Concat(detected(threshold), tail.parts)
				for _, out := range strings.Fields(tail.outputs) {
					parts = append(parts, ox.Output(strings.ReplaceAll(out, "`", " ")))
				}
				file := ox.Model(parts...)
				n, err := Read(file, inputs)
				if err != nil {
					t.Fatal("the definition: ", err)
				}
				results, err := Run(file, inputs, false)
				if err != nil {
					t.Fatal(err)
				}
				if what := n.Compare(results); what != "" {
					t.Error(what)
				}
			})
		}
	}
}

package agreement

import (
	"slices"
	"strings"
	"testing"

	"anesim/bench/internal/reference/tensor"
	ox "anesim/internal/network/onnxtest"
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

// detectorNodes returns the first nodes of the tail of an object detector: scores that the engine
// computes, and the selection of boxes.
func detectorNodes(threshold float32) []ox.Message {
	return []ox.Message{
		ox.Input("boxes", 1, boxes, 4), ox.Input("raw", 1, 2, boxes), ox.Constant("one", nil, 1),
		ox.Node("Mul", "scores", []string{"raw", "one"}),
		ox.Ints("most", 4), ox.Constant("overlap", []int{1}, 0.5), ox.Constant("threshold", []int{1}, threshold),
		ox.Node("NonMaxSuppression", "kept", []string{"boxes", "scores", "most", "overlap", "threshold"}),
		ox.Whole("0", 7, 8, nil, 0), ox.Whole("1", 7, 8, nil, 1), ox.Whole("2", 7, 8, nil, 2),
		ox.Ints("[0]", 0), ox.Ints("[1]", 1), ox.Ints("[2]", 2), ox.Ints("[3]", 3), ox.Ints("[-1]", -1), ox.Ints("[100]", 100),
	}
}

// mixedNumbers returns n numbers, some negative and some positive.
func mixedNumbers(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(i*7%11-5) / 8
	}
	return v
}

// tails are tails of detectors as exporters write them. The tensors after the choice of boxes
// have one row per box.
var tails = []struct {
	name    string
	parts   []ox.Message
	outputs string
}{
	{"rows alone", nil, "kept"},
	{"boxes, classes and scores", []ox.Message{
		ox.Node("Gather", "box", inputNames("kept", "2"), ox.Int("axis", 1)), ox.Node("Gather", "class", inputNames("kept", "1"), ox.Int("axis", 1)),
		ox.Node("Squeeze", "list", inputNames("boxes", "[0]")), ox.Node("Gather", "found", inputNames("list", "box"), ox.Int("axis", 0)),
		ox.Node("GatherND", "score", inputNames("scores", "kept")),
	}, "found class score"},
	{"one table", []ox.Message{
		ox.Several("Split", inputNames("image", "class", "box"), inputNames("kept"), ox.Int("axis", 1)),
		ox.Node("Concat", "at", inputNames("image", "box"), ox.Int("axis", 1)), ox.Node("GatherND", "found", inputNames("boxes", "at")),
		ox.Node("GatherND", "score", inputNames("scores", "kept")), ox.Node("Unsqueeze", "column", inputNames("score", "[1]")),
		ox.Node("Cast", "class float", inputNames("class"), ox.Int("to", 1)), ox.Node("Cast", "image float", inputNames("image"), ox.Int("to", 1)),
		ox.Node("Concat", "table", inputNames("image float", "found", "class float", "column"), ox.Int("axis", 1)),
	}, "table"},
	{"centers and sizes", []ox.Message{
		ox.Node("Slice", "box", inputNames("kept", "[2]", "[3]", "[1]")), ox.Node("Reshape", "flat", inputNames("box", "[-1]")),
		ox.Node("Gather", "some", inputNames("boxes", "flat"), ox.Int("axis", 1)), ox.Several("Split", inputNames("y1", "x1", "y2", "x2"), inputNames("some"), ox.Int("axis", 2)),
		ox.Node("Sub", "h", inputNames("y2", "y1")), ox.Node("Sub", "w", inputNames("x2", "x1")), ox.Constant("half", nil, 0.5),
		ox.Node("Mul", "half h", inputNames("h", "half")), ox.Node("Add", "cy", inputNames("y1", "half h")),
		ox.Node("Mul", "area", inputNames("h", "w")), ox.Node("Concat", "y", inputNames("cy", "h", "w", "area"), ox.Int("axis", -1)),
		ox.Node("Transpose", "turned", inputNames("y"), ox.List("perm", 0, 2, 1)), ox.Node("Sqrt", "root", inputNames("area")),
		ox.Node("Clip", "cut", inputNames("root", "half")), ox.Node("Sigmoid", "s", inputNames("cut")),
	}, "turned s"},
	{"the best few", []ox.Message{
		ox.Node("GatherND", "score", inputNames("scores", "kept")), ox.Node("Shape", "n", inputNames("score")),
		ox.Node("Concat", "two", inputNames("n", "[3]"), ox.Int("axis", 0)), ox.Node("ReduceMin", "k", inputNames("two"), ox.Int("keepdims", 1)),
		ox.Several("TopK", inputNames("best", "places"), inputNames("score", "k"), ox.Int("axis", 0)),
		ox.Node("Gather", "rows", inputNames("kept", "places"), ox.Int("axis", 0)),
		ox.Node("Gather", "box", inputNames("rows", "2"), ox.Int("axis", 1)), ox.Node("Gather", "list", inputNames("boxes", "0"), ox.Int("axis", 0)),
		ox.Node("Gather", "found", inputNames("list", "box"), ox.Int("axis", 0)),
		ox.Node("ArgMax", "side", inputNames("found"), ox.Int("axis", 1), ox.Int("keepdims", 0)),
		ox.Node("ReduceMax", "far", inputNames("found", "[1]"), ox.List("axes", 1)), ox.Node("Softmax", "share", inputNames("found"), ox.Int("axis", 1)),
	}, "best found side share"},
	{"the first of a class", []ox.Message{
		ox.Node("Gather", "class", inputNames("kept", "1"), ox.Int("axis", 1)), ox.Node("Equal", "first", inputNames("class", "0")),
		ox.Node("Not", "others", inputNames("first")), ox.Node("Compress", "rows", inputNames("kept", "first"), ox.Int("axis", 0)),
		ox.Node("Compress", "rest", inputNames("kept", "others"), ox.Int("axis", 0)), ox.Node("Concat", "all", inputNames("rows", "rest"), ox.Int("axis", 0)),
		ox.Node("Where", "marked", inputNames("first", "class", "2")), ox.Node("Slice", "top", inputNames("all", "[0]", "[2]", "[0]")),
		ox.Several("Unique", inputNames("classes", "", "which", "counts"), inputNames("class")),
	}, "rows rest all marked top classes which counts"},
	{"batches apart", []ox.Message{ // as classes are moved apart before boxes are compared
		ox.Node("Squeeze", "list", inputNames("boxes", "[0]")), ox.Node("Squeeze", "of class", inputNames("scores", "[0]")),
		ox.Node("Greater", "good", inputNames("of class", "threshold")), ox.Node("NonZero", "places", inputNames("good")),
		ox.Node("Gather", "class", inputNames("places", "0"), ox.Int("axis", 0)), ox.Node("Gather", "box", inputNames("places", "1"), ox.Int("axis", 0)),
		ox.Node("Gather", "some", inputNames("list", "box"), ox.Int("axis", 0)), ox.Node("Transpose", "at", inputNames("places"), ox.List("perm", 1, 0)),
		ox.Node("GatherND", "score", inputNames("of class", "at")),
		ox.Node("Cast", "class float", inputNames("class"), ox.Int("to", 1)), ox.Constant("apart", nil, 128), ox.Node("Mul", "offset", inputNames("class float", "apart")),
		ox.Node("Unsqueeze", "offsets", inputNames("offset", "[1]")), ox.Node("Add", "moved", inputNames("some", "offsets")),
		ox.Node("Unsqueeze", "b", inputNames("moved", "[0]")), ox.Ints("[0 1]", 0, 1), ox.Node("Unsqueeze", "s", inputNames("score", "[0 1]")),
		ox.Node("NonMaxSuppression", "again", inputNames("b", "s", "[100]", "overlap")),
		ox.Node("Gather", "keep column", inputNames("again", "[2]"), ox.Int("axis", 1)), ox.Node("Squeeze", "keep all", inputNames("keep column", "[1]")),
		ox.Node("Slice", "keep", inputNames("keep all", "[0]", "[3]", "[0]")),
		ox.Node("Gather", "last boxes", inputNames("some", "keep"), ox.Int("axis", 0)), ox.Node("Gather", "last scores", inputNames("score", "keep"), ox.Int("axis", 0)),
		ox.Node("Gather", "last classes", inputNames("class", "keep"), ox.Int("axis", 0)),
	}, "last`boxes last`scores last`classes"},
	{"masks", []ox.Message{ // by the engine, which has as many rows as there may be
		ox.Node("Gather", "box", inputNames("kept", "2"), ox.Int("axis", 1)), ox.Node("Squeeze", "list", inputNames("boxes", "[0]")),
		ox.Node("Gather", "found", inputNames("list", "box"), ox.Int("axis", 0)), ox.Constant("scale", nil, 0.015625), ox.Node("Mul", "small", inputNames("found", "scale")),
		ox.Constant("w", []int{4, 6}, mixedNumbers(24)...), ox.Constant("bias", []int{6}, mixedNumbers(6)...),
		ox.Node("Gemm", "hidden", inputNames("small", "w", "bias")), ox.Node("Relu", "positive", inputNames("hidden")),
		ox.Constant("v", []int{6, 4}, mixedNumbers(24)...), ox.Node("MatMul", "mask", inputNames("positive", "v")), ox.Node("Sigmoid", "mask share", inputNames("mask")),
		ox.Node("Shape", "size", inputNames("small")), ox.Node("Gather", "n", inputNames("size", "[0]"), ox.Int("axis", 0)),
		ox.Node("Concat", "square", inputNames("n", "[2]", "[2]"), ox.Int("axis", 0)), ox.Node("Reshape", "picture", inputNames("mask share", "square")),
		ox.Node("Cast", "row", inputNames("kept"), ox.Int("to", 1)), ox.Node("Concat", "table", inputNames("row", "mask"), ox.Int("axis", 1)),
		ox.Node("Softmax", "class share", inputNames("mask"), ox.Int("axis", 1)), ox.Node("ReduceSum", "sum", inputNames("positive", "[0]"), ox.Int("keepdims", 0)),
	}, "mask picture table class`share sum positive"},
	{"shapes", []ox.Message{
		ox.Node("NonZero", "places", inputNames("kept")), ox.Node("Shape", "size", inputNames("places")), ox.Node("Gather", "n", inputNames("size", "1"), ox.Int("axis", 0)),
		ox.Node("Gather", "axes", inputNames("size", "0"), ox.Int("axis", 0)), ox.Node("Unsqueeze", "one axis", inputNames("n", "[0]")),
		ox.Node("ConstantOfShape", "zeros", inputNames("one axis")), ox.Node("Range", "row", inputNames("0", "n", "1")),
		ox.Node("Concat", "square", inputNames("one axis", "[2]"), ox.Int("axis", 0)), ox.Node("Unsqueeze", "column", inputNames("row", "[1]")),
		ox.Node("Expand", "rows", inputNames("column", "square")), ox.Node("Mul", "twice", inputNames("n", "axes")), ox.Node("Unsqueeze", "flat size", inputNames("twice", "[0]")),
		ox.Node("Reshape", "flat", inputNames("rows", "flat size")), ox.Node("Size", "elements", inputNames("places")),
		ox.Node("Concat", "times", inputNames("[1]", "[2]"), ox.Int("axis", 0)), ox.Node("Tile", "tiled", inputNames("rows", "times")),
		ox.Node("Slice", "cut", inputNames("row", "[1]", "one axis", "[0]")), ox.Node("ScatterND", "marked", inputNames("zeros", "column", "zeros")),
		ox.Node("CumSum", "sums", inputNames("row", "0")), ox.Node("Less", "early", inputNames("row", "2")), ox.Node("Cast", "whole", inputNames("early"), ox.Int("to", 7)),
		ox.Node("ReduceSum", "count", inputNames("whole", "[0]"), ox.Int("keepdims", 0)),
	}, "zeros flat elements tiled cut marked sums count axes"},
}

// TestDetectors compares the tails of detectors with their definition when some boxes, all or
// none are kept.
func TestDetectors(t *testing.T) {
	inputs := map[string]*tensor.Tensor{
		"boxes": {Type: 1, Dims: []int{1, boxes, 4}, Data: corners},
		"raw":   {Type: 1, Dims: []int{1, 2, boxes}, Data: scores},
	}
	for _, tail := range tails {
		for threshold, rows := range map[float32]string{0.375: "some", 0: "most", 2: "none"} {
			t.Run(tail.name+"/"+rows, func(t *testing.T) {
				parts := slices.Concat(detectorNodes(threshold), tail.parts)
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
				if what := n.compare(results); what != "" {
					t.Error(what)
				}
			})
		}
	}
}

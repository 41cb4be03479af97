package network

import (
	"errors"
	"fmt"
	"slices"

	"anesim/loader/network/graph"
)

// A result is what a node makes, whether the engine does it or not.
type result struct {
	dims []int
	elem graph.Type
}

// infer works out the shapes and types of the node's results.
func (n *nodeReader) infer() error {
	f, ok := shapeRules[n.Op]
	if !ok || n.Domain != "" && n.Domain != "ai.onnx" && n.Domain != "com.microsoft" {
		return fmt.Errorf("no shape rule for operator %s", n.operator())
	}
	r, err := f(n)
	if err != nil {
		return err
	}
	for i, x := range r {
		if err := countable(x.dims); err != nil {
			return err
		}
		if x.dims == nil {
			r[i].dims = []int{} // one number; nil is a shape that is not known
		}
	}
	n.results = r
	return nil
}

// operator is the operator's name with its domain, where that is not the standard one.
func (n *nodeReader) operator() string {
	if n.Domain == "" || n.Domain == "ai.onnx" {
		return n.Op
	}
	return n.Domain + "." + n.Op
}

// countable makes sure that the product of dimensions is a count.
func countable(dims []int) error {
	if len(dims) > maxRank {
		return fmt.Errorf("%d dimensions", len(dims))
	}
	room := 1 << 40
	for _, d := range dims {
		if d < 0 || d > maxElements || d > room {
			return fmt.Errorf("shape %v", dims)
		}
		room /= max(1, d)
	}
	return nil
}

const (
	maxRank     = 16
	maxElements = 1 << 31
)

type shapeRule func(n *nodeReader) ([]result, error)

// shapeRules are the operators whose results' shapes are known.
var shapeRules = shapeTable()

func shapeTable() map[string]shapeRule {
	t := map[string]shapeRule{
		"Cast": castShape, "CastLike": castShape, "Reshape": reshapeShape, "Flatten": flattenShape,
		"Squeeze": squeezeShape, "Unsqueeze": unsqueezeShape, "Transpose": transposeShape, "Concat": concatOf, "Split": splitShape,
		"Slice": sliceShape, "Gather": gatherShape, "Expand": expandShape, "Tile": tileShape, "Where": whereShape,
		"Range": rangeShape, "ConstantOfShape": filledShape, "Pad": padShape, "Resize": resizeShape, "Upsample": resizeShape,
		"Conv": convShapeOf, "ConvTranspose": convTransposeShape, "MaxPool": poolShape, "AveragePool": poolShape, "LpPool": poolShape,
		"Gemm": gemmShape, "Linear": linearShape, "MatMul": matmulShape, "Einsum": einsumShape,
		"DepthToSpace": depthToSpaceShape, "SpaceToDepth": spaceToDepthShape,
		"GlobalAveragePool": globalShape, "GlobalMaxPool": globalShape, "GlobalLpPool": globalShape,
		"LSTM": recurrentShape, "GRU": recurrentShape, "RNN": recurrentShape,
		"ArgMax": argShape, "ArgMin": argShape, "TopK": topKShape,
		"GatherElements": likeShape(1), "GatherND": gatherNDShape, "OneHot": oneHotShape, "GridSample": gridShape,
		"NonMaxSuppression": suppressionShape, "NonZero": nonZeroShape, "Compress": compressShape, "Unique": uniqueShape, "Shape": sizeShape, "Size": sizeShape, "RoiAlign": roiShape,
		"EyeLike": madeShape, "RandomNormalLike": madeShape, "RandomUniformLike": madeShape, "RandomNormal": madeShape, "RandomUniform": madeShape,
		"LayerNormalization": layerNormShape,
		"DequantizeLinear":   dequantizeShape, "QuantizeLinear": quantizeShape,
	}
	for _, op := range []string{
		"Relu", "Sigmoid", "Tanh", "Exp", "Sqrt", "Log", "Abs", "Neg", "Reciprocal", "Erf", "Floor", "Ceil", "Round", "Sign",
		"Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh",
		"Rsqrt", "RoundSmall", "Gelu", "FastGelu", "QuickGelu", "Swish", "SiLU", "Mish", "LeakyRelu", "PRelu", "Elu", "Selu", "Celu", "Softplus", "Softsign", "ThresholdedRelu",
		"HardSigmoid", "HardSwish", "Clip", "Softmax", "LogSoftmax", "Hardmax", "Identity", "Dropout", "LRN", "CumSum",
		"BatchNormalization", "InstanceNormalization", "SimplifiedLayerNormalization",
		"RMSNormalization", "GroupNormalization", "LpNormalization", "MeanVarianceNormalization", "Trilu", "Shrink", "Not", "BitwiseNot", "ScaledLog",
		"ScatterElements", "Scatter", "ScatterND", "ReverseSequence",
	} {
		t[op] = sameShape
	}
	for _, op := range []string{"Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "Mean", "Pow", "Mod", "BitwiseAnd", "BitwiseOr", "BitwiseXor"} {
		t[op] = broadcastShape(0)
	}
	t["IsNaN"], t["IsInf"] = truthShape, truthShape
	for _, op := range []string{"Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "And", "Or", "Xor"} {
		t[op] = broadcastShape(graph.Bool)
	}
	for _, op := range []string{
		"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
		"ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp",
	} {
		t[op] = reduceShape
	}
	return t
}

// operandDims are the dimensions of an input that must be known.
func (n *nodeReader) operandDims(i int) ([]int, error) {
	if i >= len(n.Inputs) || n.Inputs[i] == "" {
		return nil, fmt.Errorf("input %d is missing", i)
	}
	name := n.Inputs[i]
	if d, ok := n.dims[name]; ok {
		return d, nil
	}
	if why, ok := n.unknown[name]; ok {
		return nil, errors.New(why)
	}
	return nil, fmt.Errorf("no node before makes %q", name)
}

// dimsOf are the dimensions of an input, if they are known.
func (n *nodeReader) dimsOf(i int) ([]int, bool) {
	d, err := n.operandDims(i)
	return d, err == nil
}

func (n *nodeReader) elem(i int) graph.Type {
	if i < len(n.Inputs) {
		return n.types[n.Inputs[i]]
	}
	return 0
}

// of is one result of the first input's type.
func (n *nodeReader) of(dims []int) []result { return []result{{dims, n.elem(0)}} }

func sameShape(n *nodeReader) ([]result, error) {
	d, err := n.operandDims(0)
	if err != nil {
		return nil, err
	}
	return n.of(d), nil
}

func broadcastShape(elem graph.Type) shapeRule {
	return func(n *nodeReader) ([]result, error) {
		var shapes [][]int
		for i := range n.Inputs {
			d, err := n.operandDims(i)
			if err != nil {
				return nil, err
			}
			shapes = append(shapes, d)
		}
		if len(shapes) == 2 && len(shapes[1]) > 0 && n.placesSecond() {
			d, err := n.oldBroadcast(shapes[0], shapes[1])
			if err != nil {
				return nil, err
			}
			shapes[1] = d
		}
		d, err := graph.Broadcast(shapes...)
		if err != nil {
			return nil, err
		}
		r := n.of(d)
		if elem != 0 {
			r[0].elem = elem
		}
		return r, nil
	}
}

// placesSecond reports whether the second operand repeats as the operators before version 7
// say, which place it at an axis of the first.
func (n *nodeReader) placesSecond() bool { return n.int("broadcast", 0) != 0 || n.opset < 7 }

// oldBroadcast is the second operand's shape as the operators before version 7 repeat
// it: its dimensions stand at an axis of the first's.
func (n *nodeReader) oldBroadcast(a, b []int) ([]int, error) {
	if n.int("broadcast", 0) == 0 {
		if !slices.Equal(a, b) {
			return nil, fmt.Errorf("%v with %v, and no broadcast attribute", a, b)
		}
		return b, nil
	}
	axis := n.int("axis", len(a)-len(b))
	if axis < 0 {
		axis += len(a)
	}
	if axis < 0 || axis+len(b) > len(a) {
		return nil, fmt.Errorf("%v at axis %d of %v", b, axis, a)
	}
	return append(slices.Clone(b), slices.Repeat([]int{1}, len(a)-len(b)-axis)...), nil
}

func castShape(n *nodeReader) ([]result, error) {
	r, err := sameShape(n)
	if err == nil {
		r[0].elem = n.elem(1)
		if n.Op == "Cast" {
			r[0].elem = graph.Type(n.int("to", 0))
		}
	}
	return r, err
}

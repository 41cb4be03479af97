package network

import (
	"fmt"
	"slices"

	"anesim/loader/network/graph"
)

// infer works out the shapes and types of the node's results.
func (n *nodeReader) infer() error {
	f, ok := shapeRules[n.Op]
	if !ok || n.Domain != "" && n.Domain != "ai.onnx" && n.Domain != "com.microsoft" {
		return fmt.Errorf("no shape rule for operator %s", n.Operator())
	}
	r, err := f(n)
	if err != nil {
		return err
	}
	for i, x := range r {
		if err := graph.Countable(x.Dims); err != nil {
			return err
		}
		if x.Dims == nil {
			r[i].Dims = []int{} // one number; nil is a shape that is not known
		}
	}
	n.results = r
	return nil
}

type shapeRule func(n *nodeReader) ([]graph.Result, error)

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

// dimsOf are the dimensions of an input, if they are known.
func (n *nodeReader) dimsOf(i int) ([]int, bool) {
	d, err := n.Dims(i)
	return d, err == nil
}

// of is one result of the first input's type.
func (n *nodeReader) of(dims []int) []graph.Result {
	return []graph.Result{{Dims: dims, Type: n.Type(0)}}
}

func sameShape(n *nodeReader) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	return n.of(d), nil
}

func broadcastShape(elem graph.Type) shapeRule {
	return func(n *nodeReader) ([]graph.Result, error) {
		var shapes [][]int
		for i := range n.In {
			d, err := n.Dims(i)
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
			r[0].Type = elem
		}
		return r, nil
	}
}

// placesSecond reports whether the second operand repeats as the operators before version 7
// say, which place it at an axis of the first.
func (n *nodeReader) placesSecond() bool { return n.Int("broadcast", 0) != 0 || n.Opset < 7 }

// oldBroadcast is the second operand's shape as the operators before version 7 repeat
// it: its dimensions stand at an axis of the first's.
func (n *nodeReader) oldBroadcast(a, b []int) ([]int, error) {
	if n.Int("broadcast", 0) == 0 {
		if !slices.Equal(a, b) {
			return nil, fmt.Errorf("%v with %v, and no broadcast attribute", a, b)
		}
		return b, nil
	}
	axis := n.Int("axis", len(a)-len(b))
	if axis < 0 {
		axis += len(a)
	}
	if axis < 0 || axis+len(b) > len(a) {
		return nil, fmt.Errorf("%v at axis %d of %v", b, axis, a)
	}
	return append(slices.Clone(b), slices.Repeat([]int{1}, len(a)-len(b)-axis)...), nil
}

func castShape(n *nodeReader) ([]graph.Result, error) {
	r, err := sameShape(n)
	if err == nil {
		r[0].Type = n.Type(1)
		if n.Op == "Cast" {
			r[0].Type = graph.Type(n.Int("to", 0))
		}
	}
	return r, err
}

package choose

import (
	"errors"
	"fmt"

	"anesim/loader/layer"
	"anesim/loader/network/graph"
	"anesim/loader/network/ops"
)

// A rule builds the layers of a node and returns the result. A rule for a node with several
// results names them itself, and returns the zero Operand.
type rule func(n *Chooser) (Operand, error)

// inputRule returns a rule that calls build with the node's first input as an operand.
func inputRule(build func(n *Chooser, x Operand) (Operand, error)) rule {
	return func(n *Chooser) (Operand, error) {
		x, err := n.input(0)
		if err != nil {
			return Operand{}, err
		}
		return build(n, x)
	}
}

// operators maps the name of an operator to its rule.
var operators = newOperators()

// Supports reports whether the package has a rule that turns the operator called op into engine
// layers. The rule may still refuse some nodes of the operator.
func Supports(op string) bool { return operators[op] != nil }

// Choose adds the layers that compute the node, and gives their outputs the names of the node's
// results. If the engine cannot compute the node, Choose returns an error that says why.
func (n *Chooser) Choose() error {
	for _, r := range n.Results {
		if graph.Elements(r.Dims) == 0 {
			return fmt.Errorf("result has shape %v; want at least one element", r.Dims)
		}
	}
	f, ok := operators[n.Op]
	if !ok {
		if reason := ops.Of(n.Op).Refuse; reason != "" {
			return errors.New(reason)
		}
		return errors.New("engine does not support the operator")
	}
	if len(n.In) == 0 {
		return errors.New("node has no input; want at least one")
	}
	if r := ops.Of(n.Op).Range; r != nil {
		n.Out[0].Range = r
	}
	x, err := f(n)
	if err != nil || x.Name == "" {
		return err
	}
	return n.NameResult(0, x)
}

// newOperators returns the rules by operator name, for all operators that the engine can compute.
func newOperators() map[string]rule {
	t := map[string]rule{
		"Conv": inputRule(buildConv), "ConvTranspose": inputRule(buildConvTranspose), "Gemm": buildGemm, "Linear": inputRule(buildLinearLayer),
		"MatMul": buildMatMul, "Einsum": buildEinsum,
		"MaxPool": inputRule(buildPool), "AveragePool": inputRule(buildPool),
		"GlobalAveragePool": globalPoolRule(layer.ReduceMean), "GlobalMaxPool": globalPoolRule(layer.ReduceMax),
		"Add": binaryRule(layer.Add), "Sub": binaryRule(layer.Sub), "Mul": binaryRule(layer.Mul), "Max": binaryRule(layer.Max),
		"Min": binaryRule(layer.Min), "Sum": binaryRule(layer.Add), "Mean": buildMean,
		"Div": buildDiv, "Pow": buildPow, "Where": buildWhere,
		"Clip": inputRule(buildClip), "LeakyRelu": inputRule(buildLeakyRelu), "PRelu": inputRule(buildPRelu),
		"Elu": inputRule(buildElu), "Selu": inputRule(buildElu), "Celu": inputRule(buildElu),
		"HardSigmoid": inputRule(buildHardSigmoid), "HardSwish": unaryRule(layer.HardSwish), "ThresholdedRelu": inputRule(buildThresholdedRelu),
		"Shrink": inputRule(buildShrink), "Mish": inputRule(buildMish), "CumSum": inputRule(buildCumSum), "Trilu": inputRule(buildTrilu),
		"LRN": inputRule(buildLRN), "MeanVarianceNormalization": inputRule(buildMeanVarianceNorm), "LpNormalization": inputRule(buildLpNorm), "RNN": recurrentRule(1),
		"Neg": inputRule(buildNeg),
		"Erf": unaryRule(layer.Erf), "Softplus": unaryRule(layer.Softplus), "Log": unaryRule(layer.Log), "Floor": unaryRule(layer.Floor), "Ceil": unaryRule(layer.Ceil),
		"Sign": unaryRule(layer.Sign), "Abs": unaryRule(layer.Abs), "Reciprocal": unaryRule(layer.Inverse), "Softsign": inputRule(buildSoftsign), "Sin": unaryRule(layer.Sin), "Cos": unaryRule(layer.Cos),
		"Relu": unaryRule(layer.ReLU), "Sigmoid": unaryRule(layer.Sigmoid), "Tanh": unaryRule(layer.Tanh), "Exp": unaryRule(layer.Exp),
		"Sqrt": unaryRule(layer.Sqrt), "Gelu": unaryRule(layer.GELU), "FastGelu": unaryRule(layer.GELU), "Swish": unaryRule(layer.SiLU), "SiLU": unaryRule(layer.SiLU),
		"Greater": comparisonRule(false, false), "Less": comparisonRule(true, false), "GreaterOrEqual": comparisonRule(true, true), "LessOrEqual": comparisonRule(false, true),
		"Equal": buildEqual, "Not": buildNot, "And": logicRule(layer.Mul), "Or": logicRule(layer.Max), "Xor": logicRule(layer.Sub),
		"Rsqrt": inputRule(buildRsqrt), "RoundSmall": inputRule(buildRoundSmall), "QuickGelu": inputRule(buildQuickGelu),
		"Softmax": buildSoftmax, "LogSoftmax": buildLogSoftmax,
		"BatchNormalization": inputRule(buildBatchNorm), "InstanceNormalization": inputRule(buildInstanceNorm), "GroupNormalization": inputRule(buildGroupNorm),
		"LayerNormalization": inputRule(buildLayerNorm), "RMSNormalization": inputRule(buildRMSNorm), "ScaledLog": inputRule(buildScaledLog), "SimplifiedLayerNormalization": inputRule(buildRMSNorm),
		"Identity": buildView, "Dropout": buildDropout, "Reshape": buildView, "Flatten": buildView,
		"Squeeze": buildView, "Unsqueeze": buildView, "Cast": buildCast, "CastLike": buildCast,
		"Transpose": inputRule(buildTranspose), "Concat": buildConcat, "Split": inputRule(buildSplit), "Slice": inputRule(buildSlice),
		"Gather": buildGather, "Expand": inputRule(buildExpand), "Tile": inputRule(buildTile), "Pad": inputRule(buildPad),
		"Resize": inputRule(buildResize), "Upsample": inputRule(buildResize),
		"DepthToSpace": inputRule(buildDepthToSpace), "SpaceToDepth": inputRule(buildSpaceToDepth),
		"LSTM": recurrentRule(4), "GRU": recurrentRule(3),
		"ReduceProd": inputRule(buildReduceProd), "ReduceL1": inputRule(buildReduceL1),
		"ReduceL2": buildReduceL2, "ReduceSumSquare": buildReduceSumSquare,
		"ReduceLogSum": inputRule(buildReduceLogSum), "ReduceLogSumExp": inputRule(buildReduceLogSum),
	}
	for name, op := range map[string]layer.Op{"ReduceMean": layer.ReduceMean, "ReduceSum": layer.ReduceSum, "ReduceMax": layer.ReduceMax, "ReduceMin": layer.ReduceMin} {
		t[name] = inputRule(func(n *Chooser, x Operand) (Operand, error) { return reduceNodeAxes(n, op, x) })
	}
	return t
}

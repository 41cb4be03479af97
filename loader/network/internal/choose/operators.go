package choose

import (
	"errors"
	"fmt"

	"anesim/internal/network/graph"
	"anesim/loader/layer"
	"anesim/loader/network/internal/ops"
)

// A rule adds the layers of a node and returns the result. A rule for a node with several
// results names them itself, and returns the zero Operand.
type rule func(n *Chooser) (Operand, error)

// firstInputRule returns a rule that calls build with the node's first input as an operand.
func firstInputRule(build func(n *Chooser, x Operand) (Operand, error)) rule {
	return func(n *Chooser) (Operand, error) {
		x, err := n.inputOperand(0)
		if err != nil {
			return Operand{}, err
		}
		return build(n, x)
	}
}

// operators maps the name of an operator to its rule.
var operators = newOperatorRules()

// Supports reports whether the package has a rule that turns the named operator into engine layers.
// The rule may still refuse some nodes of the operator.
func Supports(op string) bool { return operators[op] != nil }

// Choose adds the layers that compute the node, and gives the names of the node's results to the
// outputs of these layers. If the engine cannot compute the node, Choose returns an error that says
// why.
func (n *Chooser) Choose() error {
	for i, r := range n.Results {
		if graph.Elements(r.Dims) == 0 && i < len(n.Out) && n.Out[i].Const == nil {
			return fmt.Errorf("result shape %v has no elements", r.Dims)
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
		return errors.New("node has no inputs")
	}
	if r := ops.Of(n.Op).Range; r != nil {
		n.Out[0].Range = r
	}
	return n.Apply(func() error {
		x, err := f(n)
		if err != nil || x.Name == "" {
			return err
		}
		return n.NameResult(0, x)
	})
}

// newOperatorRules returns the rules by operator name, for all operators that the engine can
// compute.
func newOperatorRules() map[string]rule {
	t := map[string]rule{
		"Conv": firstInputRule(addConvLayers), "ConvTranspose": firstInputRule(addConvTransposeLayers), "Gemm": addGemmLayers, "Linear": firstInputRule(addLinearLayers),
		"MatMul": addMatMulLayers, "Einsum": addEinsumLayers,
		"MaxPool": firstInputRule(addPoolLayers), "AveragePool": firstInputRule(addPoolLayers),
		"GlobalAveragePool": globalPoolRule(layer.ReduceMean), "GlobalMaxPool": globalPoolRule(layer.ReduceMax),
		"Add": binaryRule(layer.Add), "Sub": binaryRule(layer.Sub), "Mul": binaryRule(layer.Mul), "Max": binaryRule(layer.Max),
		"Min": binaryRule(layer.Min), "Sum": binaryRule(layer.Add), "Mean": addMeanLayers,
		"Div": addDivisionLayers, "Pow": addPowLayers, "Where": addWhereLayers,
		"Clip": firstInputRule(addClipLayers), "LeakyRelu": firstInputRule(addLeakyReluLayers), "PRelu": firstInputRule(addPReluLayers),
		"Elu": firstInputRule(addEluLayers), "Selu": firstInputRule(addEluLayers), "Celu": firstInputRule(addEluLayers),
		"HardSigmoid": firstInputRule(addHardSigmoidLayers), "HardSwish": unaryRule(layer.HardSwish), "ThresholdedRelu": firstInputRule(addThresholdedReluLayers),
		"Shrink": firstInputRule(addShrinkLayers), "Mish": firstInputRule(addMishLayers), "CumSum": firstInputRule(addCumSumLayers), "Trilu": firstInputRule(addTriluLayers),
		"LRN": firstInputRule(addLRNLayers), "MeanVarianceNormalization": firstInputRule(addMeanVarianceNormLayers), "LpNormalization": firstInputRule(addLpNormLayers), "RNN": recurrentRule(1),
		"Neg": firstInputRule(addNegationLayers),
		"Erf": unaryRule(layer.Erf), "Softplus": firstInputRule(addSoftplusLayer), "Log": unaryRule(layer.Log), "Floor": unaryRule(layer.Floor), "Ceil": unaryRule(layer.Ceil),
		"Sign": unaryRule(layer.Sign), "Abs": unaryRule(layer.Abs), "Reciprocal": unaryRule(layer.Inverse), "Softsign": firstInputRule(addSoftsignLayers), "Sin": unaryRule(layer.Sin), "Cos": unaryRule(layer.Cos),
		"Relu": unaryRule(layer.ReLU), "Sigmoid": unaryRule(layer.Sigmoid), "Tanh": unaryRule(layer.Tanh), "Exp": unaryRule(layer.Exp),
		"Sqrt": unaryRule(layer.Sqrt), "Gelu": addGeluLayers, "FastGelu": unaryRule(layer.GELU), "Swish": firstInputRule(addSwishLayers), "SiLU": unaryRule(layer.SiLU),
		"Greater": comparisonRule(false, false), "Less": comparisonRule(true, false), "GreaterOrEqual": comparisonRule(true, true), "LessOrEqual": comparisonRule(false, true),
		"Equal": addEqualityLayers, "Not": addLogicalNotLayers, "And": logicRule(layer.Mul), "Or": logicRule(layer.Max), "Xor": logicRule(layer.Sub),
		"Rsqrt": firstInputRule(addRsqrtLayer), "RoundSmall": firstInputRule(addRoundingLayers), "QuickGelu": firstInputRule(addQuickGeluLayers),
		"Softmax": addSoftmaxLayers, "LogSoftmax": addLogSoftmaxLayers,
		"BatchNormalization": firstInputRule(addBatchNormLayers), "InstanceNormalization": firstInputRule(addInstanceNormLayers), "GroupNormalization": firstInputRule(addGroupNormLayers),
		"LayerNormalization": firstInputRule(addLayerNormLayers), "RMSNormalization": firstInputRule(addRMSNormLayers), "ScaledLog": firstInputRule(addScaledLogLayers), "SimplifiedLayerNormalization": firstInputRule(addRMSNormLayers),
		"Identity": viewInputAsResult, "Dropout": skipDropout, "Reshape": viewInputAsResult, "Flatten": viewInputAsResult,
		"Squeeze": viewInputAsResult, "Unsqueeze": viewInputAsResult, "Cast": addCastLayers, "CastLike": addCastLayers,
		"Transpose": firstInputRule(addTransposeLayers), "Concat": addConcatLayers, "Split": firstInputRule(addSplitLayers), "Slice": firstInputRule(addSliceLayers),
		"Gather": addGatherLayers, "Expand": firstInputRule(addExpandLayers), "Tile": firstInputRule(addTileLayers), "Pad": firstInputRule(addPaddingLayers),
		"Resize": firstInputRule(addResizeLayers), "Upsample": firstInputRule(addResizeLayers),
		"DepthToSpace": firstInputRule(addDepthToSpaceLayers), "SpaceToDepth": firstInputRule(addSpaceToDepthLayers),
		"LSTM": recurrentRule(4), "GRU": recurrentRule(3),
		"ReduceProd": firstInputRule(addReduceProdLayers), "ReduceL1": firstInputRule(addReduceL1Layers),
		"ReduceL2": addReduceL2Layers, "ReduceSumSquare": addReduceSumSquareLayers,
		"ReduceLogSum": firstInputRule(addReduceLogSumLayers), "ReduceLogSumExp": firstInputRule(addReduceLogSumLayers),
	}
	// These four are operations of the engine; the reductions above are composed of several layers.
	for name, op := range map[string]layer.Op{"ReduceMean": layer.ReduceMean, "ReduceSum": layer.ReduceSum, "ReduceMax": layer.ReduceMax, "ReduceMin": layer.ReduceMin} {
		t[name] = firstInputRule(func(n *Chooser, x Operand) (Operand, error) { return reduceNodeAxes(n, op, x) })
	}
	return t
}

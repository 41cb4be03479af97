package choose

import (
	"errors"
	"fmt"

	"anesim/loader/layer"
	"anesim/loader/network/graph"
	"anesim/loader/network/ops"
)

// A rule makes layers of a node and returns the result. If there are several it gives them
// their names itself, and returns none.
type rule func(n *Chooser) (Operand, error)

// operators find what reads an operator's nodes.
var operators = operatorTable()

// Takes reports whether layers are made of an operator.
func Takes(op string) bool { return operators[op] != nil }

// Choose makes layers of the node.
func (n *Chooser) Choose() error {
	for _, r := range n.Results {
		if graph.Elements(r.Dims) == 0 {
			return fmt.Errorf("a result of shape %v has no elements", r.Dims)
		}
	}
	f, ok := operators[n.Op]
	if !ok {
		if why := ops.Of(n.Op).Refuse; why != "" {
			return errors.New(why)
		}
		return errors.New("no layer of the engine does this operator")
	}
	if len(n.In) == 0 {
		return errors.New("it has no input")
	}
	if r := ops.Of(n.Op).Range; r != nil {
		n.Out[0].Range = r
	}
	x, err := f(n)
	if err != nil || x.Name == "" {
		return err
	}
	return n.Result(0, x)
}

// operatorTable is the rule of each operator that the engine does something for.
func operatorTable() map[string]rule {
	t := map[string]rule{
		"Conv": conv, "ConvTranspose": convTranspose, "Gemm": gemm, "Linear": linear,
		"MatMul": matmul, "Einsum": einsums,
		"MaxPool": pool, "AveragePool": pool,
		"GlobalAveragePool": global(layer.ReduceMean), "GlobalMaxPool": global(layer.ReduceMax),
		"Add": binary(layer.Add), "Sub": binary(layer.Sub), "Mul": binary(layer.Mul), "Max": binary(layer.Max),
		"Min": binary(layer.Min), "Sum": binary(layer.Add), "Mean": mean,
		"Div": divide, "Pow": power, "Where": where,
		"Clip": clip, "LeakyRelu": leakyRelu, "PRelu": prelu,
		"Elu": elu, "Selu": elu, "Celu": elu,
		"HardSigmoid": hardSigmoid, "HardSwish": unaryOp(layer.HardSwish), "ThresholdedRelu": thresholdedRelu,
		"Shrink": shrink, "Mish": mish, "CumSum": cumulated, "Trilu": triangle,
		"LRN": localNorm, "MeanVarianceNormalization": meanVariance, "LpNormalization": lengthNorm, "RNN": recurrent(1),
		"Neg": negate,
		"Erf": unaryOp(layer.Erf), "Softplus": unaryOp(layer.Softplus), "Log": unaryOp(layer.Log), "Floor": unaryOp(layer.Floor), "Ceil": unaryOp(layer.Ceil),
		"Sign": unaryOp(layer.Sign), "Abs": unaryOp(layer.Abs), "Reciprocal": unaryOp(layer.Inverse), "Softsign": softsign, "Sin": unaryOp(layer.Sin), "Cos": unaryOp(layer.Cos),
		"Relu": unaryOp(layer.ReLU), "Sigmoid": unaryOp(layer.Sigmoid), "Tanh": unaryOp(layer.Tanh), "Exp": unaryOp(layer.Exp),
		"Sqrt": unaryOp(layer.Sqrt), "Gelu": unaryOp(layer.GELU), "FastGelu": unaryOp(layer.GELU), "Swish": unaryOp(layer.SiLU), "SiLU": unaryOp(layer.SiLU),
		"Greater": compare(false, false), "Less": compare(true, false), "GreaterOrEqual": compare(true, true), "LessOrEqual": compare(false, true),
		"Equal": equal, "Not": not, "And": logic(layer.Mul), "Or": logic(layer.Max), "Xor": logic(layer.Sub),
		"Rsqrt": rsqrt, "RoundSmall": roundSmall, "QuickGelu": quickGelu,
		"Softmax": softmax, "LogSoftmax": logSoftmax,
		"BatchNormalization": batchNorm, "InstanceNormalization": instanceNorm, "GroupNormalization": groupNorm,
		"LayerNormalization": layerNorm, "RMSNormalization": rmsNorm, "ScaledLog": scaledLog, "SimplifiedLayerNormalization": rmsNorm,
		"Identity": view, "Dropout": dropout, "Reshape": view, "Flatten": view,
		"Squeeze": view, "Unsqueeze": view, "Cast": cast, "CastLike": cast,
		"Transpose": transpose, "Concat": concat, "Split": split, "Slice": slice,
		"Gather": gather, "Expand": expand, "Tile": tile, "Pad": pad,
		"Resize": resize, "Upsample": resize,
		"DepthToSpace": depthToSpace, "SpaceToDepth": spaceToDepth,
		"LSTM": recurrent(4), "GRU": recurrent(3),
		"ReduceProd": reduceProd, "ReduceL1": reduceL1,
		"ReduceL2": reduceL2, "ReduceSumSquare": reduceSumSquare,
		"ReduceLogSum": reduceLogSum, "ReduceLogSumExp": reduceLogSum,
	}
	for name, op := range map[string]layer.Op{"ReduceMean": layer.ReduceMean, "ReduceSum": layer.ReduceSum, "ReduceMax": layer.ReduceMax, "ReduceMin": layer.ReduceMin} {
		t[name] = func(n *Chooser) (Operand, error) {
			x, err := n.in(0)
			if err != nil {
				return x, err
			}
			return reduce(n, op, x)
		}
	}
	return t
}

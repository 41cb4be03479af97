package network

import (
	"errors"
	"fmt"
	"slices"

	"anesim/loader/layer"
	"anesim/loader/network/graph"
	"anesim/loader/network/ops"
)

// operators find what reads an operator's nodes.
var operators = operatorTable()

func operatorTable() map[string]func(n *nodeReader) error {
	t := map[string]func(n *nodeReader) error{
		"Conv": (*nodeReader).conv, "ConvTranspose": (*nodeReader).convTranspose, "Gemm": (*nodeReader).gemm, "Linear": (*nodeReader).linear,
		"MatMul": (*nodeReader).matmul, "Einsum": (*nodeReader).einsums,
		"MaxPool": (*nodeReader).pool, "AveragePool": (*nodeReader).pool,
		"GlobalAveragePool": global(layer.ReduceMean), "GlobalMaxPool": global(layer.ReduceMax),
		"Add": binary(layer.Add), "Sub": binary(layer.Sub), "Mul": binary(layer.Mul), "Max": binary(layer.Max),
		"Min": binary(layer.Min), "Sum": binary(layer.Add), "Mean": (*nodeReader).mean,
		"Div": (*nodeReader).divide, "Pow": (*nodeReader).power, "Where": (*nodeReader).where,
		"Clip": (*nodeReader).clip, "LeakyRelu": (*nodeReader).leakyRelu, "PRelu": (*nodeReader).prelu,
		"Elu": (*nodeReader).elu, "Selu": (*nodeReader).elu, "Celu": (*nodeReader).elu,
		"HardSigmoid": (*nodeReader).hardSigmoid, "HardSwish": unaryOp(layer.HardSwish), "ThresholdedRelu": (*nodeReader).thresholdedRelu,
		"Shrink": (*nodeReader).shrink, "Mish": (*nodeReader).mish, "CumSum": (*nodeReader).cumulated, "Trilu": (*nodeReader).triangle,
		"LRN": (*nodeReader).localNorm, "MeanVarianceNormalization": (*nodeReader).meanVariance, "LpNormalization": (*nodeReader).lengthNorm, "RNN": recurrent(1),
		"Neg": (*nodeReader).negate,
		"Erf": unaryOp(layer.Erf), "Softplus": unaryOp(layer.Softplus), "Log": unaryOp(layer.Log), "Floor": unaryOp(layer.Floor), "Ceil": unaryOp(layer.Ceil),
		"Sign": unaryOp(layer.Sign), "Abs": unaryOp(layer.Abs), "Reciprocal": unaryOp(layer.Inverse), "Softsign": (*nodeReader).softsign, "Sin": unaryOp(layer.Sin), "Cos": unaryOp(layer.Cos),
		"Relu": unaryOp(layer.ReLU), "Sigmoid": unaryOp(layer.Sigmoid), "Tanh": unaryOp(layer.Tanh), "Exp": unaryOp(layer.Exp),
		"Sqrt": unaryOp(layer.Sqrt), "Gelu": unaryOp(layer.GELU), "FastGelu": unaryOp(layer.GELU), "Swish": unaryOp(layer.SiLU), "SiLU": unaryOp(layer.SiLU),
		"Greater": compare(false, false), "Less": compare(true, false), "GreaterOrEqual": compare(true, true), "LessOrEqual": compare(false, true),
		"Equal": (*nodeReader).equal, "Not": (*nodeReader).not, "And": logic(layer.Mul), "Or": logic(layer.Max), "Xor": logic(layer.Sub),
		"Rsqrt": (*nodeReader).rsqrt, "RoundSmall": (*nodeReader).roundSmall, "QuickGelu": (*nodeReader).quickGelu,
		"Softmax": (*nodeReader).softmax, "LogSoftmax": (*nodeReader).logSoftmax,
		"BatchNormalization": (*nodeReader).batchNorm, "InstanceNormalization": (*nodeReader).instanceNorm, "GroupNormalization": (*nodeReader).groupNorm,
		"LayerNormalization": (*nodeReader).layerNorm, "RMSNormalization": (*nodeReader).rmsNorm, "ScaledLog": (*nodeReader).scaledLog, "SimplifiedLayerNormalization": (*nodeReader).rmsNorm,
		"Identity": (*nodeReader).view, "Dropout": (*nodeReader).dropout, "Reshape": (*nodeReader).view, "Flatten": (*nodeReader).view,
		"Squeeze": (*nodeReader).view, "Unsqueeze": (*nodeReader).view, "Cast": (*nodeReader).cast, "CastLike": (*nodeReader).cast,
		"Transpose": (*nodeReader).transpose, "Concat": (*nodeReader).concat, "Split": (*nodeReader).split, "Slice": (*nodeReader).slice,
		"Gather": (*nodeReader).gather, "Expand": (*nodeReader).expand, "Tile": (*nodeReader).tile, "Pad": (*nodeReader).pad,
		"Resize": (*nodeReader).resize, "Upsample": (*nodeReader).resize,
		"DepthToSpace": (*nodeReader).depthToSpace, "SpaceToDepth": (*nodeReader).spaceToDepth,
		"LSTM": recurrent(4), "GRU": recurrent(3),
		"ReduceProd": (*nodeReader).reduceProd, "ReduceL1": (*nodeReader).reduceL1,
		"ReduceL2": (*nodeReader).reduceL2, "ReduceSumSquare": (*nodeReader).reduceSumSquare,
		"ReduceLogSum": (*nodeReader).reduceLogSum, "ReduceLogSumExp": (*nodeReader).reduceLogSum,
	}
	for name, op := range map[string]layer.Op{"ReduceMean": layer.ReduceMean, "ReduceSum": layer.ReduceSum, "ReduceMax": layer.ReduceMax, "ReduceMin": layer.ReduceMin} {
		t[name] = func(n *nodeReader) error {
			x, err := n.in(0)
			if err == nil {
				x, err = n.reduce(op, x)
			}
			return n.finish(x, err)
		}
	}
	return t
}

// finish makes a tensor the node's output, where there was no error.
func (n *nodeReader) finish(x operand, err error) error {
	if err != nil {
		return err
	}
	return n.done(x)
}

func unaryOp(op layer.Op) func(*nodeReader) error {
	return func(n *nodeReader) error {
		x, err := n.in(0)
		if r := n.In[0].Range; (op == layer.Sqrt || op == layer.Log) && (r == nil || r.Low < 0) && !n.told["negative"] {
			n.told["negative"] = true
			n.Note("%s and other roots and logarithms: of negative numbers the engine gives 0, where ONNX has NaN", n.name)
		}
		if err == nil {
			x, err = n.unary(op, x)
		}
		return n.finish(x, err)
	}
}

// binary folds inputs from the left.
func binary(op layer.Op) func(*nodeReader) error {
	return func(n *nodeReader) error { return n.finish(n.fromLeft(op)) }
}

func (n *nodeReader) fromLeft(op layer.Op) (operand, error) {
	order := make([]int, len(n.In))
	for i := range order {
		order[i] = i
	}
	if n.Const(0) != nil && len(order) > 1 && n.Const(1) == nil && op != layer.Sub {
		order[0], order[1] = 1, 0
	}
	x, err := n.in(order[0])
	if op == layer.Sub && n.Const(0) != nil && err != nil {
		err = nil
	}
	if err != nil {
		return x, err
	}
	for _, i := range order[1:] {
		if c := n.Const(i); c != nil {
			x, err = n.withConstant(op, x, ops.Repeatable(n.Node, c))
		} else {
			var z operand
			if z, err = n.in(i); err == nil {
				x, err = n.binary(op, x, z)
			}
		}
		if err != nil {
			return x, err
		}
	}
	return x, nil
}

func (n *nodeReader) mean() error {
	x, err := n.fromLeft(layer.Add)
	if err == nil {
		x, err = n.scaled(x, 1/float64(len(n.In)))
	}
	return n.finish(x, err)
}

func (n *nodeReader) negate() error {
	x, err := n.in(0)
	if err == nil {
		x, err = n.scaled(x, -1)
	}
	return n.finish(x, err)
}

// divide multiplies by what one over a constant is, or by a root's reciprocal, or by a
// table of reciprocals.
func (n *nodeReader) divide() error {
	if c := n.Const(1); c != nil && !c.Absent() {
		x, err := n.in(0)
		if err != nil {
			return err
		}
		v, err := c.Values()
		if err != nil {
			return err
		}
		by := make([]float64, len(v))
		for i := range v {
			by[i] = 1 / v[i]
		}
		return n.finish(n.withConstant(layer.Mul, x, ops.Repeatable(n.Node, &graph.Const{Dims: c.Dims, Type: c.Type, Numbers: by})))
	}
	b, err := n.in(1)
	if err != nil {
		return err
	}
	if n.Const(0) == nil {
		x, err := n.in(0)
		if err != nil {
			return err
		}
		if out, _ := graph.Broadcast(x.dims, b.dims); slices.Equal(out, x.dims) {
			return n.finish(n.binary(layer.RealDiv, x, b))
		}
	}
	if b, err = n.unary(layer.Inverse, b); err != nil {
		return err
	}
	if c := n.Const(0); c != nil {
		return n.finish(n.withConstant(layer.Mul, b, c))
	}
	x, err := n.in(0)
	if err != nil {
		return err
	}
	return n.finish(n.binary(layer.Mul, x, b))
}

// where takes elements of two tensors, by a constant condition as sums of products with ones
// and zeros.
func (n *nodeReader) where() error {
	c := n.Const(0)
	if c == nil {
		return n.selected()
	}
	v, err := c.Values()
	if err != nil {
		return err
	}
	mask := func(of bool) *graph.Const {
		m := &graph.Const{Dims: c.Dims, Type: graph.Float, Numbers: make([]float64, len(v))}
		for i := range v {
			m.Numbers[i] = graph.Truth((v[i] != 0) == of)
		}
		return m
	}
	out := n.results[0].Dims
	var sides [2]operand
	for i := range sides {
		var x operand
		if k := n.Const(1 + i); k != nil {
			x, err = n.chosen(k, mask(i == 0), out, i)
		} else if x, err = n.in(1 + i); err == nil {
			x, err = n.withConstant(layer.Mul, x, mask(i == 0))
		}
		if err != nil {
			return err
		}
		sides[i] = x
	}
	x, err := n.binary(layer.Add, sides[0], sides[1])
	if err == nil && !slices.Equal(x.dims, out) {
		x, err = n.expanded(x, out)
	}
	return n.finish(x, err)
}

// chosen is a constant where mask is one, zero elsewhere, in memory.
func (n *nodeReader) chosen(c, mask *graph.Const, out []int, side int) (operand, error) {
	dims, err := graph.Broadcast(c.Dims, mask.Dims)
	if err != nil || c.Absent() {
		return operand{}, errors.Join(err, errors.New("no values to choose from"))
	}
	v, err := c.Values()
	if err != nil {
		return operand{}, err
	}
	if graph.Elements(dims) > graph.Elements(out) {
		return operand{}, errBudget
	}
	chosen := make([]float64, graph.Elements(dims))
	graph.Each(dims, graph.Repeated(mask.Dims, dims), 0, func(k, at int) { chosen[k] = mask.Numbers[at] })
	graph.Each(dims, graph.Repeated(c.Dims, dims), 0, func(k, at int) {
		if chosen[k] != 0 {
			chosen[k] = v[at]
		}
	})
	return n.numbers(fmt.Sprintf("%s side %d", n.name, side), dims, chosen)
}

// dropout passes its input on, as it does in use.
func (n *nodeReader) dropout() error {
	if c := n.Const(2); c != nil {
		if v, err := c.Scalar(); err != nil || v != 0 {
			return errors.New("it is in training mode")
		}
	} else if n.Given(2) {
		return errors.New("its training mode is computed, not a constant")
	}
	return n.view()
}

// view gives the same values another shape.
func (n *nodeReader) view() error {
	x, err := n.in(0)
	if s, _ := n.Shape(n.In[0].Name); err != nil && n.In[0].Type != 0 && s != (layer.Shape{}) {
		// Elements that are no fp16 may be passed on all the same.
		x, err = operand{n.In[0].Name, n.In[0].Dims}, nil
	}
	if err != nil {
		return err
	}
	return n.done(x.as(n.results[0].Dims...))
}

package network

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/x448/float16"

	"anesim/loader/lower"
)

func root(v float32) float32 { return float32(1 / math.Sqrt(float64(v))) }

func unary(op lower.Op) func(*nodeReader) error {
	return func(n *nodeReader) error {
		s, err := n.operand(0)
		if err != nil {
			return err
		}
		return n.emit(Layer{Lower: lower.Unary(op, s)}, n.dims[n.Inputs[0]], n.Inputs[0])
	}
}

// clip is a rectifier where it clamps at zero alone, and a minimum behind it where there
// is an upper bound too.
func (n *nodeReader) clip() error {
	s, err := n.operand(0)
	if err != nil {
		return err
	}
	var bound [2]float32
	for i, name := range [...]string{"min", "max"} {
		bound[i] = n.float(name, float32(math.Inf(2*i-1)))
		if 1+i >= len(n.Inputs) || n.Inputs[1+i] == "" {
			continue
		}
		t := n.constant(1 + i)
		if t == nil || t.Elements() != 1 {
			return fmt.Errorf("its %s is no constant", name)
		}
		v, err := t.Floats()
		if err != nil {
			return err
		}
		bound[i] = v[0]
	}
	if bound[0] != 0 {
		return fmt.Errorf("a lower bound of %g; a rectifier has 0", bound[0])
	}
	relu := Layer{Lower: lower.Unary(lower.ReLU, s)}
	if math.IsInf(float64(bound[1]), 1) {
		return n.emit(relu, n.dims[n.Inputs[0]], n.Inputs[0])
	}
	least := Layer{Lower: lower.Layer{Op: lower.Min, In: s, Second: lower.Scalar, SecondShape: lower.Shape{N: 1, C: 1, H: 1, W: 1}}}
	least.Weights.Second = []float16.Float16{float16.Fromfloat32(bound[1])}
	return n.emitBoth(relu, least)
}

// binary is an elementwise operation; op 0 is a division, which the engine has by
// constants only.
func binary(op lower.Op) func(*nodeReader) error {
	return func(n *nodeReader) error {
		if len(n.Inputs) != 2 {
			return fmt.Errorf("%d inputs, the engine takes two", len(n.Inputs))
		}
		if n.constant(1) != nil {
			return n.withConstant(op, 0, 1)
		}
		if n.constant(0) != nil {
			if op == 0 || op == lower.Sub {
				return errors.New("a constant on the left")
			}
			return n.withConstant(op, 1, 0)
		}
		a, err := n.operand(0)
		if err != nil {
			return err
		}
		b, err := n.operand(1)
		if err != nil {
			return err
		}
		if op == 0 {
			return errors.New("no program shows a division")
		}
		first, second := 0, 1
		if !repeats(b, a) && op != lower.Sub {
			a, b, first, second = b, a, 1, 0
		}
		if !repeats(b, a) {
			return fmt.Errorf("%s with %s", shapeText(a), shapeText(b))
		}
		dims := n.dims[n.Inputs[first]]
		if d := n.dims[n.Inputs[second]]; len(d) > len(dims) {
			dims = slices.Concat(d[:len(d)-len(dims)], dims)
		}
		return n.emit(Layer{Lower: lower.Binary(op, a, b)}, dims, n.Inputs[first], n.Inputs[second])
	}
}

// withConstant is an elementwise operation on input x and constant c.
func (n *nodeReader) withConstant(op lower.Op, x, c int) error {
	s, err := n.operand(x)
	if err != nil {
		return err
	}
	t := n.constant(c)
	cs, err := shapeOf(dimsOf(t))
	if err != nil {
		return err
	}
	if !repeats(cs, s) {
		return fmt.Errorf("%s with a constant %s", shapeText(s), shapeText(cs))
	}
	values, err := halves(t)
	if err != nil {
		return err
	}
	if op == 0 {
		op = lower.Mul
		for i, v := range values {
			values[i] = float16.Fromfloat32(1 / v.Float32())
		}
	}
	return n.emit(constantOperand(op, s, cs, values), n.dims[n.Inputs[x]], n.Inputs[x])
}

// constantOperand joins a tensor with a constant of shape cs.
func constantOperand(op lower.Op, s, cs lower.Shape, values []float16.Float16) Layer {
	l := Layer{
		Lower:   lower.Layer{Op: op, In: s, Second: lower.Constant, SecondShape: cs},
		Weights: lower.Weights{Second: values},
	}
	switch cs {
	case lower.Shape{N: 1, C: 1, H: 1, W: 1}:
		l.Lower.Second = lower.Scalar
	case lower.Shape{N: 1, C: s.C, H: 1, W: 1}:
	default:
		l.inMemory = true
		l.columns = cs == lower.Shape{N: 1, C: 1, H: 1, W: s.W}
	}
	return l
}

// axis is the axis of the engine that dimension i of the first input is.
func (n *nodeReader) axis(i int) (lower.Axes, int, error) {
	dims := n.dims[n.Inputs[0]]
	if i < 0 {
		i += len(dims)
	}
	if i < 0 || i >= len(dims) {
		return 0, 0, fmt.Errorf("axis %d of %d dimensions", i, len(dims))
	}
	return [4]lower.Axes{0, lower.AxisC, lower.AxisH, lower.AxisW}[4-len(dims)+i], i, nil
}

func (n *nodeReader) softmax() error {
	s, err := n.operand(0)
	if err != nil {
		return err
	}
	last := len(n.dims[n.Inputs[0]]) - 1
	missing := -1
	old := n.model.Opsets[""] < 13
	if old {
		missing = 1
	}
	axis, i, err := n.axis(n.int("axis", missing))
	switch {
	case err != nil:
		return err
	case axis == 0:
		return errors.New("softmax over the batch")
	case old && i != last:
		return errors.New("softmax over several axes, as before version 13")
	}
	return n.emit(Layer{Lower: lower.Reduction(lower.Softmax, s, axis)}, n.dims[n.Inputs[0]], n.Inputs[0])
}

func (n *nodeReader) layerNorm() error {
	s, err := n.operand(0)
	if err != nil {
		return err
	}
	dims := n.dims[n.Inputs[0]]
	_, first, err := n.axis(n.int("axis", -1))
	if err != nil {
		return err
	}
	var axes lower.Axes
	for i := first; i < len(dims); i++ {
		a, _, _ := n.axis(i)
		if a == 0 {
			return errors.New("layer norm over the batch")
		}
		axes |= a
	}
	l := Layer{Lower: lower.Reduction(lower.LayerNorm, s, axes)}
	l.Lower.Epsilon = n.float("epsilon", 1e-5)
	out, name, from := n.layer.Output, n.layer.Name, n.Inputs[0]
	steps := []Layer{l}
	for i, op := range [...]lower.Op{lower.Mul, lower.Add} {
		if 1+i >= len(n.Inputs) || n.Inputs[1+i] == "" {
			continue
		}
		t := n.constant(1 + i)
		if t == nil {
			return errors.New("its scale or bias is no constant")
		}
		cs, err := shapeOf(dimsOf(t))
		if err != nil || !repeats(cs, s) {
			return fmt.Errorf("%s with a scale or bias of %v", shapeText(s), t.Dims)
		}
		values, err := halves(t)
		if err != nil {
			return err
		}
		if neutral := [...]float16.Float16{0x3c00, 0}[i]; values != nil && !slices.ContainsFunc(values, func(v float16.Float16) bool { return v != neutral }) {
			continue
		}
		steps = append(steps, constantOperand(op, s, cs, values))
	}
	for i, step := range steps {
		n.layer.Output = out
		if i < len(steps)-1 {
			n.layer.Output = fmt.Sprintf("%s/%d", out, i+1)
		}
		if i > 0 {
			n.layer.Name = fmt.Sprintf("%s/%d", name, i+1)
		}
		if err := n.emit(step, dims, from); err != nil {
			n.layer.Output, n.layer.Name = out, name
			return err
		}
		from = n.layer.Output
	}
	return nil
}

func reduction(op lower.Op) func(*nodeReader) error {
	return func(n *nodeReader) error {
		s, err := n.operand(0)
		if err != nil {
			return err
		}
		list, given, err := n.list("axes", 1)
		if err != nil {
			return err
		}
		dims := n.dims[n.Inputs[0]]
		if !given || len(list) == 0 {
			if n.int("noop_with_empty_axes", 0) != 0 {
				return n.view(dims)
			}
			list = nil
			for i := range dims {
				list = append(list, i)
			}
		}
		var axes lower.Axes
		reduced := map[int]bool{}
		for _, v := range list {
			a, i, err := n.axis(v)
			if err != nil {
				return err
			}
			if a == 0 && dims[i] != 1 {
				return errors.New("a reduction over the batch")
			}
			if dims[i] != 1 {
				axes |= a
			}
			reduced[i] = true
		}
		result := []int{}
		for i, d := range dims {
			switch {
			case !reduced[i]:
				result = append(result, d)
			case n.int("keepdims", 1) != 0:
				result = append(result, 1)
			}
		}
		if axes == 0 {
			return n.view(result)
		}
		return n.emit(Layer{Lower: lower.Reduction(op, s, axes)}, result, n.Inputs[0])
	}
}

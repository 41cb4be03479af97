package choose

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"anesim/loader/layer"
	"anesim/loader/network/graph"
)

// power raises elements to constant exponents, of which there may be a few.
func power(n *Chooser) (Operand, error) {
	c := n.Const(1)
	if c == nil {
		return Operand{}, errors.New("its exponent is computed, not a constant")
	}
	if c.Absent() {
		return Operand{}, errors.New("its exponent stands in a file that is not there")
	}
	v, err := c.Values()
	if err != nil {
		return Operand{}, err
	}
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	distinct := slices.Clone(v)
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)
	const most = 8
	switch {
	case len(distinct) == 1:
		x, err = raised(n, x, v[0])
	case len(distinct) > most:
		err = fmt.Errorf("%d different exponents, at most %d are worked out one by one", len(distinct), most)
	default:
		x, err = raisedApart(n, x, c.Dims, v, distinct)
	}
	if out := n.Results[0].Dims; err == nil && !slices.Equal(x.Dims, out) {
		x, err = n.expanded(x, out)
	}
	return x, err
}

// raisedApart raises elements to one exponent after the other. Those that have another are 1
// meanwhile, which no power makes infinite, and are left out of the sum.
func raisedApart(n *Chooser, x Operand, dims []int, v, distinct []float64) (Operand, error) {
	var sum Operand
	for i, e := range distinct {
		has, hasNot := make([]float64, len(v)), make([]float64, len(v))
		for k := range v {
			has[k] = graph.Truth(v[k] == e)
			hasNot[k] = 1 - has[k]
		}
		mask, rest := &graph.Const{Dims: dims, Type: graph.Float, Numbers: has}, &graph.Const{Dims: dims, Type: graph.Float, Numbers: hasNot}
		y, err := n.withConstant(layer.Mul, x, mask)
		if err == nil {
			y, err = n.withConstant(layer.Add, y, rest)
		}
		if err == nil {
			y, err = raised(n, y, e)
		}
		if err == nil {
			y, err = n.withConstant(layer.Mul, y, mask)
		}
		if err == nil && i > 0 {
			y, err = n.Binary(layer.Add, sum, y)
		}
		if err != nil {
			return x, err
		}
		sum = y
	}
	return sum, nil
}

// raised is x to a power: products for the whole part of an exponent, square roots for halves
// and quarters of it, the reciprocal for one below 0.
func raised(n *Chooser, x Operand, e float64) (Operand, error) {
	switch e {
	case -0.5:
		return n.unary(layer.Rsqrt, x)
	case 0:
		y, err := n.scaled(x, 0)
		if err != nil {
			return x, err
		}
		return n.shifted(y, 1)
	}
	const most = 8
	if e != math.Trunc(4*e)/4 || math.Abs(e) > most {
		return x, fmt.Errorf("an exponent of %g; products and roots give quarters from -%d to %[2]d", e, most)
	}
	if e < 0 {
		y, err := raised(n, x, -e)
		if err != nil {
			return x, err
		}
		return n.unary(layer.Inverse, y)
	}
	var y Operand
	times := func(z Operand) (err error) {
		if y.Name == "" {
			y = z
			return nil
		}
		y, err = n.Binary(layer.Mul, y, z)
		return err
	}
	for range int(e) {
		if err := times(x); err != nil {
			return x, err
		}
	}
	root := x
	for part := e - math.Trunc(e); part > 0; part = 2*part - math.Trunc(2*part) {
		var err error
		if root, err = n.unary(layer.Sqrt, root); err == nil && part >= 0.5 {
			err = times(root)
		}
		if err != nil {
			return x, err
		}
	}
	return y, nil
}

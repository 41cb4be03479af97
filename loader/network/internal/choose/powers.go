package choose

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"anesim/internal/network/graph"
	"anesim/loader/layer"
)

// addPowLayers adds layers that raise elements to constant exponents. It returns an error for more
// than eight different exponents.
func addPowLayers(n *Chooser) (Operand, error) {
	c := n.Const(1)
	if c == nil {
		return Operand{}, errors.New("exponent is missing or computed; want a constant")
	}
	if c.Absent() {
		return Operand{}, errors.New("exponent is in a file that was not read")
	}
	v, err := c.Values()
	if err != nil {
		return Operand{}, err
	}
	x, err := n.inputOperand(0)
	if err != nil {
		return Operand{}, err
	}
	distinct := slices.Clone(v)
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)
	// Each distinct exponent is a power of the whole tensor, masked and added, so their number is kept
	// small.
	const most = 8
	switch {
	case len(distinct) == 1:
		x, err = applyPower(n, x, v[0])
	case len(distinct) > most:
		err = fmt.Errorf("exponent has %d different values; want at most %d", len(distinct), most)
	default:
		x, err = applyElementPowers(n, x, c.Dims, v, distinct)
	}
	if out := n.Results[0].Dims; err == nil && !slices.Equal(x.Dims, out) {
		x, err = n.broadcastTo(x, out)
	}
	return x, err
}

// applyElementPowers raises each element of x to its own exponent. v holds the exponents of a
// tensor of shape dims, and distinct their different values. For each distinct exponent, elements
// with another one are replaced by 1 before the power, and are left out of the sum of all powers by
// a mask.
func applyElementPowers(n *Chooser, x Operand, dims []int, v, distinct []float64) (Operand, error) {
	var sum Operand
	for i, e := range distinct {
		has, hasNot := make([]float64, len(v)), make([]float64, len(v))
		for k := range v {
			has[k] = graph.Truth(v[k] == e)
			hasNot[k] = 1 - has[k]
		}
		mask, others := &graph.Const{Dims: dims, Type: graph.Float, Numbers: has}, &graph.Const{Dims: dims, Type: graph.Float, Numbers: hasNot}
		y, err := n.applyConstantOperand(layer.Mul, x, mask)
		if err == nil {
			y, err = n.applyConstantOperand(layer.Add, y, others)
		}
		if err == nil {
			y, err = applyPower(n, y, e)
		}
		if err == nil {
			y, err = n.applyConstantOperand(layer.Mul, y, mask)
		}
		if err == nil && i > 0 {
			y, err = n.ApplyBinary(layer.Add, sum, y)
		}
		if err != nil {
			return x, err
		}
		sum = y
	}
	return sum, nil
}

// applyPower adds layers that raise x to the power e. They multiply x for the integer part of e,
// take square roots for halves and quarters, and a reciprocal if e is negative. applyPower returns
// an error unless e is a multiple of 0.25 from -8 to 8.
func applyPower(n *Chooser, x Operand, e float64) (Operand, error) {
	// The compiler of 2026 has two tables for an exponent of -0.5 (3 of 3 programs), so that of other
	// fractions, it is inferred.
	if n.Release == layer.Release2026 && e != math.Trunc(e) {
		return n.applyOpWithNumber(layer.Pow, x, e)
	}
	switch e {
	case -0.5:
		return n.applyUnaryOp(layer.Rsqrt, x)
	case 0:
		y, err := n.multiplyByNumber(x, 0)
		if err != nil {
			return x, err
		}
		return n.addNumber(y, 1)
	}
	const most = 8
	// Every product and root rounds to fp16, so their chain is kept short.
	if e != math.Trunc(4*e)/4 || math.Abs(e) > most {
		return x, fmt.Errorf("exponent is %g; want a multiple of 0.25 from -%d to %[2]d", e, most)
	}
	if e < 0 {
		y, err := applyPower(n, x, -e)
		if err != nil {
			return x, err
		}
		return n.applyUnaryOp(layer.Inverse, y)
	}
	var y Operand
	multiply := func(z Operand) (err error) {
		if y.Name == "" {
			y = z
			return nil
		}
		y, err = n.ApplyBinary(layer.Mul, y, z)
		return err
	}
	for range int(e) {
		if err := multiply(x); err != nil {
			return x, err
		}
	}
	root := x
	// The fraction is read in binary: each digit is one more square root, and its factor where the digit
	// is 1.
	for part := e - math.Trunc(e); part > 0; part = 2*part - math.Trunc(2*part) {
		var err error
		if root, err = n.applyUnaryOp(layer.Sqrt, root); err == nil && part >= 0.5 {
			err = multiply(root)
		}
		if err != nil {
			return x, err
		}
	}
	return y, nil
}

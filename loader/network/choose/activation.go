package choose

import (
	"math"

	"anesim/loader/layer"
	"anesim/loader/network/ops"
)

// clip takes its bounds as constants, or as tensors that a maximum and a minimum read.
func clip(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	if n.Given(1) && n.Const(1) == nil || n.Given(2) && n.Const(2) == nil {
		for i, op := range [...]layer.Op{layer.Max, layer.Min} {
			if !n.Given(1 + i) {
				continue
			}
			if c := n.Const(1 + i); c != nil {
				x, err = n.withConstant(op, x, c)
			} else if z, e := n.in(1 + i); e == nil {
				x, err = n.Binary(op, x, z)
			} else {
				err = e
			}
			if err != nil {
				return Operand{}, err
			}
		}
		return x, nil
	}
	low, high, err := ops.ClipBounds(n.Node)
	if err == nil {
		x, err = clamped(n, x, low, high)
	}
	return x, err
}

// clamped is a rectifier where it clamps at zero alone, else one table.
func clamped(n *Chooser, x Operand, low, high float64) (Operand, error) {
	const largest = 65504 // bounds beyond fp16 bound nothing
	above, below := high >= largest, low <= -largest
	switch {
	case low == 0 && above:
		return n.unary(layer.ReLU, x)
	case low == 0 && high == 6:
		return n.unary(layer.ReLU6, x)
	case below && above:
		return x, nil
	case below:
		return n.withNumber(layer.Min, x, high)
	case above:
		return n.withNumber(layer.Max, x, low)
	}
	l := layer.Unary(layer.Clip, x.shape())
	l.Low, l.High = float32(min(low, high)), float32(high)
	return n.layer(l, layer.Weights{}, x.Dims, x)
}

// leaky is x above zero and slope*x below.
func leaky(n *Chooser, x Operand, slope float64) (Operand, error) {
	l := layer.Unary(layer.LeakyReLU, x.shape())
	l.Alpha = float32(slope)
	return n.layer(l, layer.Weights{}, x.Dims, x)
}

func leakyRelu(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err == nil {
		x, err = leaky(n, x, float64(n.Float("alpha", 0.01)))
	}
	return x, err
}

// prelu is relu(x) + slope*min(x, 0).
func prelu(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	c := n.Const(1)
	if c != nil && c.Elements() == 1 {
		v, err := c.Scalar()
		if err != nil {
			return Operand{}, err
		}
		return leaky(n, x, v)
	}
	if s := x.shape(); c != nil && len(x.Dims) <= 4 && !c.Absent() && isPerChannel(c.Dims, s) {
		h, err := c.Halves()
		if err != nil {
			return Operand{}, err
		}
		return n.layer(layer.Unary(layer.PReLU, s), layer.Weights{Second: h}, x.Dims, x)
	}
	positive, err := n.unary(layer.ReLU, x)
	if err != nil {
		return Operand{}, err
	}
	negative, err := n.withNumber(layer.Min, x, 0)
	if err != nil {
		return Operand{}, err
	}
	if c != nil {
		negative, err = n.withConstant(layer.Mul, negative, c)
	} else {
		var slope Operand
		if slope, err = n.in(1); err == nil {
			negative, err = n.Binary(layer.Mul, negative, slope)
		}
	}
	if err != nil {
		return Operand{}, err
	}
	return n.Binary(layer.Add, positive, negative)
}

// isPerChannel reports whether a constant of shape dims has one value for each channel of s.
func isPerChannel(dims []int, s layer.Shape) bool {
	c, err := ShapeOf(dims)
	return err == nil && len(dims) <= 4 && c == layer.Shape{N: 1, C: s.C, H: 1, W: 1}
}

// elu is factor*(relu(x) + alpha*(exp(min(x/s, 0)) - 1)): the one table of it errs by
// more than a hundredth.
func elu(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	alpha, factor, spread := float64(n.Float("alpha", 1)), 1.0, 1.0
	if n.Op == "Elu" && n.lookedUp(5) {
		l := layer.Unary(layer.ELU, x.shape())
		l.Alpha = float32(alpha)
		return n.layer(l, layer.Weights{}, x.Dims, x)
	}
	switch n.Op {
	case "Selu":
		alpha, factor = float64(n.Float("alpha", 1.67326319)), float64(n.Float("gamma", 1.05070102))
	case "Celu":
		spread = alpha
	}
	positive, err := n.unary(layer.ReLU, x)
	if err != nil {
		return Operand{}, err
	}
	if positive, err = n.scaled(positive, factor); err != nil {
		return Operand{}, err
	}
	y, err := n.withNumber(layer.Min, x, 0)
	if err != nil {
		return Operand{}, err
	}
	if y, err = n.scaled(y, 1/spread); err != nil {
		return Operand{}, err
	}
	if y, err = n.unary(layer.Exp, y); err != nil {
		return Operand{}, err
	}
	if y, err = n.shifted(y, -1); err != nil {
		return Operand{}, err
	}
	if y, err = n.scaled(y, alpha*factor); err != nil {
		return Operand{}, err
	}
	return n.Binary(layer.Add, positive, y)
}

func hard(n *Chooser, x Operand, alpha, beta float64) (Operand, error) {
	if float32(alpha) == 1./6 && beta == 0.5 {
		return n.unary(layer.HardSigmoid, x)
	}
	y, err := n.scaled(x, alpha)
	if err != nil {
		return x, err
	}
	if y, err = n.shifted(y, beta); err != nil {
		return x, err
	}
	return clamped(n, y, 0, 1)
}

func hardSigmoid(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err == nil {
		x, err = hard(n, x, float64(n.Float("alpha", 0.2)), float64(n.Float("beta", 0.5)))
	}
	return x, err
}

// quickGelu is x*sigmoid(alpha*x).
func quickGelu(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	y, err := n.scaled(x, float64(n.Float("alpha", 1.702)))
	if err == nil {
		y, err = n.unary(layer.Sigmoid, y)
	}
	if err == nil {
		y, err = n.Binary(layer.Mul, x, y)
	}
	return y, err
}

// lookedUp reports whether a function is to be one table and not the exact form of several
// layers. Where it is the latter, a note says that there is a cheaper form.
func (n *Chooser) lookedUp(layers int) bool {
	if what := "table of " + n.Op; !n.Tables && !n.told[what] {
		n.told[what] = true
		n.Note("%s: %s is exact in %d layers; one table, which --tables takes, is cheaper and less exact", n.Label, n.Op, layers)
	}
	return n.Tables
}

// softsign is x/(1+|x|), whose one table errs by half a hundredth.
func softsign(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	if n.lookedUp(4) {
		return n.unary(layer.Softsign, x)
	}
	y, err := n.unary(layer.Abs, x)
	if err == nil {
		y, err = n.shifted(y, 1)
	}
	if err == nil {
		y, err = n.unary(layer.Inverse, y)
	}
	if err == nil {
		y, err = n.Binary(layer.Mul, x, y)
	}
	return y, err
}

// rsqrt is 1/sqrt(x + epsilon), one task.
func rsqrt(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err == nil {
		l := layer.Unary(layer.Rsqrt, x.shape())
		l.Epsilon = n.Float("epsilon", 0)
		x, err = n.layer(l, layer.Weights{}, x.Dims, x)
	}
	return x, err
}

// scaledLog is log(c*x + a) as log(x + a/c) + log(c), which fp16 has room for.
func scaledLog(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	c := float64(n.Float("scale", 1))
	if x, err = n.shifted(x, float64(n.Float("shift", 0))/c); err == nil {
		x, err = n.unary(layer.Log, x)
	}
	if err == nil {
		x, err = n.shifted(x, math.Log(c))
	}
	return x, err
}

// roundSmall rounds elements below 512 in magnitude to the nearest whole number, halves to the
// even one. fp16 has nothing but whole numbers from 1024 to 2048: the sum with 1536 is rounded
// as any sum is, and taking 1536 off again is exact. Larger elements stay beyond 512.
func roundSmall(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	for _, by := range [...]float64{1536, -1536} {
		if err != nil {
			return Operand{}, err
		}
		if x, err = n.withNumber(layer.Add, x, by); err == nil {
			n.Net.Layers[len(n.Net.Layers)-1].Rounds = true
		}
	}
	return x, err
}

// thresholdedRelu is x above a threshold, and 0 elsewhere.
func thresholdedRelu(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	return beyond(n, x, 1, float64(n.Float("alpha", 1)), 0)
}

// shrink is what a value is beyond a band around 0, moved towards it.
func shrink(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	limit, bias := float64(n.Float("lambd", 0.5)), float64(n.Float("bias", 0))
	above, err := beyond(n, x, 1, limit, -bias)
	if err != nil {
		return Operand{}, err
	}
	below, err := beyond(n, x, -1, limit, bias)
	if err != nil {
		return Operand{}, err
	}
	return n.Binary(layer.Add, above, below)
}

// beyond is x + shift where sign times x is above a limit, and 0 elsewhere.
func beyond(n *Chooser, x Operand, sign, limit, shift float64) (Operand, error) {
	y, err := n.scaled(x, sign)
	if err == nil {
		y, err = n.shifted(y, -limit)
	}
	if err == nil {
		y, err = oneWhere(n, y)
	}
	if err != nil {
		return x, err
	}
	if x, err = n.shifted(x, shift); err != nil {
		return x, err
	}
	return n.Binary(layer.Mul, x, y)
}

// mish is x times the tangent of its softplus.
func mish(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	y, err := n.unary(layer.Softplus, x)
	if err == nil {
		y, err = n.unary(layer.Tanh, y)
	}
	if err == nil {
		y, err = n.Binary(layer.Mul, x, y)
	}
	return y, err
}

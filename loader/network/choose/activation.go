package choose

import (
	"math"

	"anesim/loader/layer"
	"anesim/loader/network/ops"
)

// buildClip limits the input to the range between the node's bounds. Constant bounds become one
// layer, or none if they limit nothing. If a bound is computed, buildClip adds a maximum and a
// minimum.
func buildClip(n *Chooser, x Operand) (Operand, error) {
	var err error
	if n.Given(1) && n.Const(1) == nil || n.Given(2) && n.Const(2) == nil {
		for i, op := range [...]layer.Op{layer.Max, layer.Min} {
			if !n.Given(1 + i) {
				continue
			}
			if c := n.Const(1 + i); c != nil {
				x, err = n.applyConstant(op, x, c)
			} else if z, e := n.input(1 + i); e == nil {
				x, err = n.ApplyBinary(op, x, z)
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
		x, err = applyClamp(n, x, low, high)
	}
	return x, err
}

// applyClamp adds layers that limit x to the range from low to high. It uses ReLU, ReLU6, a maximum
// or a minimum if the bounds allow it, and a Clip table otherwise.
func applyClamp(n *Chooser, x Operand, low, high float64) (Operand, error) {
	const largest = 65504 // of fp16; a larger bound has no effect
	above, below := high >= largest, low <= -largest
	switch {
	case low == 0 && above:
		return n.applyUnary(layer.ReLU, x)
	case low == 0 && high == 6:
		return n.applyUnary(layer.ReLU6, x)
	case below && above:
		return x, nil
	case below:
		return n.applyScalar(layer.Min, x, high)
	case above:
		return n.applyScalar(layer.Max, x, low)
	}
	l := layer.Unary(layer.Clip, x.shape())
	l.Low, l.High = float32(min(low, high)), float32(high)
	return n.addLayer(l, layer.Weights{}, x.Dims, x)
}

// applyLeakyReLU adds layers that compute x for positive elements and slope*x for negative ones.
func applyLeakyReLU(n *Chooser, x Operand, slope float64) (Operand, error) {
	l := layer.Unary(layer.LeakyReLU, x.shape())
	l.Alpha = float32(slope)
	return n.addLayer(l, layer.Weights{}, x.Dims, x)
}

func buildLeakyRelu(n *Chooser, x Operand) (Operand, error) {
	return applyLeakyReLU(n, x, float64(n.Float("alpha", 0.01)))
}

// buildPRelu computes relu(x) + slope*min(x, 0). It uses a single layer if the slope is one
// constant number or one constant per channel.
func buildPRelu(n *Chooser, x Operand) (Operand, error) {
	c := n.Const(1)
	if c != nil && c.Elements() == 1 {
		v, err := c.Scalar()
		if err != nil {
			return Operand{}, err
		}
		return applyLeakyReLU(n, x, v)
	}
	if s := x.shape(); c != nil && len(x.Dims) <= 4 && !c.Absent() && isPerChannel(c.Dims, s) {
		h, err := c.Halves()
		if err != nil {
			return Operand{}, err
		}
		return n.addLayer(layer.Unary(layer.PReLU, s), layer.Weights{Second: h}, x.Dims, x)
	}
	positive, err := n.applyUnary(layer.ReLU, x)
	if err != nil {
		return Operand{}, err
	}
	negative, err := n.applyScalar(layer.Min, x, 0)
	if err != nil {
		return Operand{}, err
	}
	if c != nil {
		negative, err = n.applyConstant(layer.Mul, negative, c)
	} else {
		var slope Operand
		if slope, err = n.input(1); err == nil {
			negative, err = n.ApplyBinary(layer.Mul, negative, slope)
		}
	}
	if err != nil {
		return Operand{}, err
	}
	return n.ApplyBinary(layer.Add, positive, negative)
}

// isPerChannel reports whether a constant with dimensions dims has one value for each channel of
// s.
func isPerChannel(dims []int, s layer.Shape) bool {
	c, err := ShapeOf(dims)
	return err == nil && len(dims) <= 4 && c == layer.Shape{N: 1, C: s.C, H: 1, W: 1}
}

// buildElu computes factor*(relu(x) + alpha*(exp(min(x/divisor, 0)) - 1)) for Elu, Selu and Celu.
// One table computes an Elu with any alpha, a Celu with alpha 1, and a Selu with its default
// parameters. Its error exceeds 0.01, so it is used only if tables are wanted.
func buildElu(n *Chooser, x Operand) (Operand, error) {
	alpha, factor, divisor := float64(n.Float("alpha", 1)), 1.0, 1.0
	table := layer.Unary(layer.ELU, x.shape())
	table.Alpha = float32(alpha)
	hasTable := true
	switch n.Op {
	case "Selu":
		const defaultAlpha, defaultGamma = 1.67326319, 1.05070102
		alpha, factor = float64(n.Float("alpha", defaultAlpha)), float64(n.Float("gamma", defaultGamma))
		table = layer.Unary(layer.SELU, x.shape())
		hasTable = float32(alpha) == defaultAlpha && float32(factor) == defaultGamma
	case "Celu":
		divisor = alpha
		hasTable = alpha == 1
	}
	if hasTable {
		layers := 5 // ReLU, minimum, exponential and two sums
		for _, by := range [...]float64{factor, 1 / divisor, alpha * factor} {
			if by != 1 {
				layers++
			}
		}
		if n.wantsTable(layers) {
			return n.addLayer(table, layer.Weights{}, x.Dims, x)
		}
	}
	positive, err := n.applyUnary(layer.ReLU, x)
	if err != nil {
		return Operand{}, err
	}
	if positive, err = n.mulScalar(positive, factor); err != nil {
		return Operand{}, err
	}
	y, err := n.applyScalar(layer.Min, x, 0)
	if err != nil {
		return Operand{}, err
	}
	if y, err = n.mulScalar(y, 1/divisor); err != nil {
		return Operand{}, err
	}
	if y, err = n.applyUnary(layer.Exp, y); err != nil {
		return Operand{}, err
	}
	if y, err = n.addScalar(y, -1); err != nil {
		return Operand{}, err
	}
	if y, err = n.mulScalar(y, alpha*factor); err != nil {
		return Operand{}, err
	}
	return n.ApplyBinary(layer.Add, positive, y)
}

// applyHardSigmoid adds layers that compute alpha*x + beta, limited to the range from 0 to 1. It
// uses one table for alpha = 1/6 and beta = 0.5.
func applyHardSigmoid(n *Chooser, x Operand, alpha, beta float64) (Operand, error) {
	if float32(alpha) == 1./6 && beta == 0.5 {
		return n.applyUnary(layer.HardSigmoid, x)
	}
	y, err := n.mulScalar(x, alpha)
	if err != nil {
		return x, err
	}
	if y, err = n.addScalar(y, beta); err != nil {
		return x, err
	}
	return applyClamp(n, y, 0, 1)
}

func buildHardSigmoid(n *Chooser, x Operand) (Operand, error) {
	return applyHardSigmoid(n, x, float64(n.Float("alpha", 0.2)), float64(n.Float("beta", 0.5)))
}

// buildQuickGelu adds layers that compute x*sigmoid(alpha*x), an approximation of GELU.
func buildQuickGelu(n *Chooser, x Operand) (Operand, error) {
	y, err := n.mulScalar(x, float64(n.Float("alpha", 1.702)))
	if err == nil {
		y, err = n.applyUnary(layer.Sigmoid, y)
	}
	if err == nil {
		y, err = n.ApplyBinary(layer.Mul, x, y)
	}
	return y, err
}

// wantsTable reports whether the node's function is to be looked up in one table instead of being
// computed exactly in the given number of layers. If it returns false, it also adds a note that the
// cheaper table exists, once per operator.
func (n *Chooser) wantsTable(layers int) bool {
	if key := "table of " + n.Op; !n.Tables && !n.noted[key] {
		n.noted[key] = true
		n.Note("%s: %s is computed exactly in %d layers; with --tables it is one table lookup, which is cheaper and less exact", n.Label, n.Op, layers)
	}
	return n.Tables
}

// buildSoftsign computes x/(1+|x|). The Softsign table errs by up to 0.005 and is used only if
// tables are wanted.
func buildSoftsign(n *Chooser, x Operand) (Operand, error) {
	if n.wantsTable(4) {
		return n.applyUnary(layer.Softsign, x)
	}
	y, err := n.applyUnary(layer.Abs, x)
	if err == nil {
		y, err = n.addScalar(y, 1)
	}
	if err == nil {
		y, err = n.applyUnary(layer.Inverse, y)
	}
	if err == nil {
		y, err = n.ApplyBinary(layer.Mul, x, y)
	}
	return y, err
}

// buildRsqrt adds one layer that computes 1/sqrt(x + epsilon).
func buildRsqrt(n *Chooser, x Operand) (Operand, error) {
	l := layer.Unary(layer.Rsqrt, x.shape())
	l.Epsilon = n.Float("epsilon", 0)
	return n.addLayer(l, layer.Weights{}, x.Dims, x)
}

// buildScaledLog computes log(scale*x + shift) as log(x + shift/scale) + log(scale), whose
// intermediate values fit in fp16.
func buildScaledLog(n *Chooser, x Operand) (Operand, error) {
	c := float64(n.Float("scale", 1))
	x, err := n.addScalar(x, float64(n.Float("shift", 0))/c)
	if err == nil {
		x, err = n.applyUnary(layer.Log, x)
	}
	if err == nil {
		x, err = n.addScalar(x, math.Log(c))
	}
	return x, err
}

// buildRoundSmall rounds elements below 512 in magnitude to the nearest integer, and halves to the
// even one. Between 1024 and 2048 fp16 has only integers, so adding 1536 rounds the element and
// subtracting 1536 again is exact. Larger elements are not rounded correctly, but stay at least
// 512 in magnitude.
func buildRoundSmall(n *Chooser, x Operand) (Operand, error) {
	for _, by := range [...]float64{1536, -1536} {
		var err error
		if x, err = n.applyScalar(layer.Add, x, by); err != nil {
			return Operand{}, err
		}
		n.Net.Layers[len(n.Net.Layers)-1].Rounds = true
	}
	return x, nil
}

// buildThresholdedRelu adds layers that compute x where x is above the threshold alpha, and 0
// elsewhere.
func buildThresholdedRelu(n *Chooser, x Operand) (Operand, error) {
	return keepElementsBeyond(n, x, 1, float64(n.Float("alpha", 1)), 0)
}

// buildShrink sets elements of x from -lambd to lambd to 0, and moves all others towards zero by
// bias.
func buildShrink(n *Chooser, x Operand) (Operand, error) {
	limit, bias := float64(n.Float("lambd", 0.5)), float64(n.Float("bias", 0))
	above, err := keepElementsBeyond(n, x, 1, limit, -bias)
	if err != nil {
		return Operand{}, err
	}
	below, err := keepElementsBeyond(n, x, -1, limit, bias)
	if err != nil {
		return Operand{}, err
	}
	return n.ApplyBinary(layer.Add, above, below)
}

// keepElementsBeyond adds layers that compute x + shift where sign*x is above limit, and 0
// elsewhere. sign is 1 or -1.
func keepElementsBeyond(n *Chooser, x Operand, sign, limit, shift float64) (Operand, error) {
	y, err := n.mulScalar(x, sign)
	if err == nil {
		y, err = n.addScalar(y, -limit)
	}
	if err == nil {
		y, err = markPositiveElements(n, y)
	}
	if err != nil {
		return x, err
	}
	if x, err = n.addScalar(x, shift); err != nil {
		return x, err
	}
	return n.ApplyBinary(layer.Mul, x, y)
}

// buildMish adds layers that compute x*tanh(softplus(x)).
func buildMish(n *Chooser, x Operand) (Operand, error) {
	y, err := n.applyUnary(layer.Softplus, x)
	if err == nil {
		y, err = n.applyUnary(layer.Tanh, y)
	}
	if err == nil {
		y, err = n.ApplyBinary(layer.Mul, x, y)
	}
	return y, err
}

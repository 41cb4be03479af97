package choose

import (
	"fmt"
	"math"

	"anesim/loader/layer"
	"anesim/loader/network/internal/ops"
	"anesim/loader/network/weights"
)

// addClipLayers adds layers that limit the input to the range between the node's bounds. Constant
// bounds become one layer, or none if they limit nothing. If a bound is computed, addClipLayers
// adds a maximum and a minimum.
func addClipLayers(n *Chooser, x Operand) (Operand, error) {
	var err error
	if n.Given(1) && n.Const(1) == nil || n.Given(2) && n.Const(2) == nil {
		for i, op := range [...]layer.Op{layer.Max, layer.Min} {
			if !n.Given(1 + i) {
				continue
			}
			if c := n.Const(1 + i); c != nil {
				x, err = n.applyConstantOperand(op, x, c)
			} else if z, e := n.inputOperand(1 + i); e == nil {
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
		return n.applyUnaryOp(layer.ReLU, x)
	case low == 0 && high == 6:
		return n.applyUnaryOp(layer.ReLU6, x)
	case below && above:
		return x, nil
	case below:
		return n.applyOpWithNumber(layer.Min, x, high)
	case above:
		return n.applyOpWithNumber(layer.Max, x, low)
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

func addLeakyReluLayers(n *Chooser, x Operand) (Operand, error) {
	return applyLeakyReLU(n, x, float64(n.Float("alpha", 0.01)))
}

// addPReluLayers adds layers that compute relu(x) + slope*min(x, 0). One layer is enough if the
// slope is one constant number or one constant per channel.
func addPReluLayers(n *Chooser, x Operand) (Operand, error) {
	c := n.Const(1)
	if c != nil && c.Elements() == 1 {
		v, err := c.Scalar()
		if err != nil {
			return Operand{}, err
		}
		return applyLeakyReLU(n, x, v)
	}
	if s := x.shape(); c != nil && len(x.Dims) <= 4 && !c.Absent() && hasValuePerChannel(c.Dims, s) {
		h, err := c.Halves()
		if err != nil {
			return Operand{}, err
		}
		return n.addLayer(layer.Unary(layer.PReLU, s), layer.Weights{Second: h}, x.Dims, x)
	}
	positive, err := n.applyUnaryOp(layer.ReLU, x)
	if err != nil {
		return Operand{}, err
	}
	// Any other slope needs both halves: x may be negative where the slope varies along rows or is
	// computed.
	negative, err := n.applyOpWithNumber(layer.Min, x, 0)
	if err != nil {
		return Operand{}, err
	}
	if c != nil {
		negative, err = n.applyConstantOperand(layer.Mul, negative, c)
	} else {
		var slope Operand
		if slope, err = n.inputOperand(1); err == nil {
			negative, err = n.ApplyBinary(layer.Mul, negative, slope)
		}
	}
	if err != nil {
		return Operand{}, err
	}
	return n.ApplyBinary(layer.Add, positive, negative)
}

// hasValuePerChannel reports whether a constant with dimensions dims has one value for each channel
// of s.
func hasValuePerChannel(dims []int, s layer.Shape) bool {
	c, err := ShapeOf(dims)
	return err == nil && len(dims) <= 4 && c == layer.Shape{N: 1, C: s.C, H: 1, W: 1}
}

// addEluLayers adds layers that compute factor*(relu(x) + alpha*(exp(min(x/divisor, 0)) - 1)) for
// Elu, Selu and Celu. One table computes an Elu with any alpha, a Celu with alpha 1, and a Selu
// with its default parameters. Its error exceeds 0.01, so it is used only if tables are wanted.
func addEluLayers(n *Chooser, x Operand) (Operand, error) {
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
		// The table saves layers and costs precision. The caller of the network chooses between the two.
		if n.wantsTable(layers) {
			return n.addLayer(table, layer.Weights{}, x.Dims, x)
		}
	}
	positive, err := n.applyUnaryOp(layer.ReLU, x)
	if err != nil {
		return Operand{}, err
	}
	if positive, err = n.multiplyByNumber(positive, factor); err != nil {
		return Operand{}, err
	}
	y, err := n.applyOpWithNumber(layer.Min, x, 0)
	if err != nil {
		return Operand{}, err
	}
	if y, err = n.multiplyByNumber(y, 1/divisor); err != nil {
		return Operand{}, err
	}
	if y, err = n.applyUnaryOp(layer.Exp, y); err != nil {
		return Operand{}, err
	}
	if y, err = n.addNumber(y, -1); err != nil {
		return Operand{}, err
	}
	if y, err = n.multiplyByNumber(y, alpha*factor); err != nil {
		return Operand{}, err
	}
	return n.ApplyBinary(layer.Add, positive, y)
}

// applyHardSigmoid adds layers that compute alpha*x + beta, limited to the range from 0 to 1. It
// uses one table for alpha = 1/6 and beta = 0.5.
func applyHardSigmoid(n *Chooser, x Operand, alpha, beta float64) (Operand, error) {
	if float32(alpha) == 1./6 && beta == 0.5 {
		return n.applyUnaryOp(layer.HardSigmoid, x)
	}
	y, err := n.multiplyByNumber(x, alpha)
	if err != nil {
		return x, err
	}
	if y, err = n.addNumber(y, beta); err != nil {
		return x, err
	}
	return applyClamp(n, y, 0, 1)
}

func addHardSigmoidLayers(n *Chooser, x Operand) (Operand, error) {
	return applyHardSigmoid(n, x, float64(n.Float("alpha", 0.2)), float64(n.Float("beta", 0.5)))
}

// addGeluLayers adds the layer of a Gelu. Both of its forms differ by less than the engine's table
// errs.
func addGeluLayers(n *Chooser) (Operand, error) {
	switch form := n.Text("approximate", "none"); form {
	case "none", "tanh":
	default:
		return Operand{}, fmt.Errorf(`attribute "approximate" is %q; want none or tanh`, form)
	}
	return unaryRule(layer.GELU)(n)
}

// addSwishLayers adds layers that compute x*sigmoid(alpha*x). One layer is enough if alpha is 1.
func addSwishLayers(n *Chooser, x Operand) (Operand, error) {
	if n.Float("alpha", 1) == 1 {
		return n.applyUnaryOp(layer.SiLU, x)
	}
	return addQuickGeluLayers(n, x)
}

// addQuickGeluLayers adds layers that compute x*sigmoid(alpha*x), an approximation of GELU.
func addQuickGeluLayers(n *Chooser, x Operand) (Operand, error) {
	y, err := n.multiplyByNumber(x, float64(n.Float("alpha", 1.702)))
	if err == nil {
		y, err = n.applyUnaryOp(layer.Sigmoid, y)
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

// addSoftsignLayers adds layers that compute x/(1+|x|). The Softsign table errs by up to 0.005 and
// is used only if tables are wanted.
func addSoftsignLayers(n *Chooser, x Operand) (Operand, error) {
	if n.wantsTable(4) {
		return n.applyUnaryOp(layer.Softsign, x)
	}
	y, err := n.applyUnaryOp(layer.Abs, x)
	if err == nil {
		y, err = n.addNumber(y, 1)
	}
	if err == nil {
		y, err = n.applyUnaryOp(layer.Inverse, y)
	}
	if err == nil {
		y, err = n.ApplyBinary(layer.Mul, x, y)
	}
	return y, err
}

// addRsqrtLayer adds one layer that computes 1/sqrt(x + epsilon).
func addRsqrtLayer(n *Chooser, x Operand) (Operand, error) {
	l := layer.Unary(layer.Rsqrt, x.shape())
	l.Epsilon = n.Float("epsilon", 0)
	return n.addLayer(l, layer.Weights{}, x.Dims, x)
}

// addScaledLogLayers adds layers that compute log(scale*x + shift) as log(x + shift/scale) +
// log(scale), whose intermediate values fit in fp16.
func addScaledLogLayers(n *Chooser, x Operand) (Operand, error) {
	c := float64(n.Float("scale", 1))
	x, err := n.addNumber(x, float64(n.Float("shift", 0))/c)
	if err == nil {
		x, err = n.applyUnaryOp(layer.Log, x)
	}
	if err == nil {
		x, err = n.addNumber(x, math.Log(c))
	}
	return x, err
}

// addRoundingLayers adds layers that round elements below 512 in magnitude to the nearest integer,
// and halves to the larger one, because the engine rounds ties away from zero and the sum with 1536
// is positive. ONNX asks for the even one, which would take several more tasks. Between 1024 and
// 2048 fp16 has only integers, so adding 1536 rounds the element and subtracting 1536 again is
// exact. Larger elements are not rounded correctly, but
// stay at least 512 in magnitude.
func addRoundingLayers(n *Chooser, x Operand) (Operand, error) {
	for _, by := range [...]float64{1536, -1536} {
		var err error
		if x, err = n.applyOpWithNumber(layer.Add, x, by); err != nil {
			return Operand{}, err
		}
		n.Net.Layers[len(n.Net.Layers)-1].Rounds = true
	}
	return x, nil
}

// addThresholdedReluLayers adds layers that compute x where x is above the threshold alpha, and 0
// elsewhere.
func addThresholdedReluLayers(n *Chooser, x Operand) (Operand, error) {
	return keepElementsBeyond(n, x, 1, float64(n.Float("alpha", 1)), 0)
}

// addShrinkLayers adds layers that set elements of x from -lambd to lambd to 0, and move all others
// towards zero by bias.
func addShrinkLayers(n *Chooser, x Operand) (Operand, error) {
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
	y, err := n.multiplyByNumber(x, sign)
	if err == nil {
		y, err = n.addNumber(y, -limit)
	}
	if err == nil {
		y, err = markPositiveElements(n, y)
	}
	if err != nil {
		return x, err
	}
	if x, err = n.addNumber(x, shift); err != nil {
		return x, err
	}
	return n.ApplyBinary(layer.Mul, x, y)
}

// addSoftplusLayer adds one layer that computes log(1+exp(x)), and notes once where the engine's
// result is not ONNX's.
func addSoftplusLayer(n *Chooser, x Operand) (Operand, error) {
	if !n.noted["softplus"] {
		n.noted["softplus"] = true
		n.Note("%s and other softplus: the engine returns 0 from %g on, where ONNX returns about x (measured on M3 and M4)", n.Label, weights.SoftplusEnd)
	}
	return n.applyUnaryOp(layer.Softplus, x)
}

// addMishLayers adds layers that compute x*tanh(softplus(x)).
func addMishLayers(n *Chooser, x Operand) (Operand, error) {
	y, err := addSoftplusLayer(n, x)
	if err == nil {
		y, err = n.applyUnaryOp(layer.Tanh, y)
	}
	if err == nil {
		y, err = n.ApplyBinary(layer.Mul, x, y)
	}
	return y, err
}

package exporters

import (
	"math"

	"anesim/internal/network/onnx"
)

// A spelling writes a function of each element as exporters spell it: the operands of products and sums in
// either order, a constant with no axis, with one or with many, a quotient for a product, a power for a
// square, and casts to half precision and back around any part.

// cast returns x, or x cast to half precision or back, which a converter to mixed precision adds anywhere.
func (w *writer) cast(x string) string {
	switch half := w.data[x] != nil && w.data[x].Type == onnx.Float16; {
	case half && w.chance(40):
		return w.node("Cast", in(x), number("to", int(onnx.Float)))
	case !half && w.spelledHalf && w.chance(15) && w.magnitude(x) < 1000:
		return w.node("Cast", in(x), number("to", int(onnx.Float16)))
	}
	return x
}

// numberLike adds a constant of the type of x.
func (w *writer) numberLike(x string, v float64) string {
	dims := [][]int{{}, {}, {}, {1}, {1, 1}, {1, 1, 1}}[w.rng.IntN(3+min(3, len(w.dims(x))))]
	if t := w.data[x]; t != nil && t.Type == onnx.Float16 {
		return w.constant(onnx.Float16, dims, v)
	}
	return w.constant(onnx.Float, dims, v)
}

// pair adds an operator of two operands, in either order, of one type.
func (w *writer) pair(op, x, y string) string {
	if a, b := w.data[x], w.data[y]; a != nil && b != nil && a.Type != b.Type {
		for _, v := range [...]*string{&x, &y} {
			if w.data[*v].Type == onnx.Float16 {
				*v = w.node("Cast", in(*v), number("to", int(onnx.Float)))
			}
		}
	}
	if w.chance(50) {
		x, y = y, x
	}
	return w.cast(w.node(op, in(x, y)))
}

func (w *writer) plus(x string, v float64) string {
	if w.chance(15) {
		return w.cast(w.node("Sub", in(x, w.numberLike(x, -v))))
	}
	return w.pair("Add", x, w.numberLike(x, v))
}

func (w *writer) times(x string, v float64) string {
	if w.chance(35) {
		return w.cast(w.node("Div", in(x, w.numberLike(x, 1/v))))
	}
	return w.pair("Mul", x, w.numberLike(x, v))
}

// of adds a function of one operand.
func (w *writer) of(op, x string) string { return w.cast(w.node(op, in(x))) }

// power returns x to the power of 2 or 3.
func (w *writer) power(x string, n int) string {
	switch {
	case w.chance(40):
		return w.cast(w.node("Pow", in(x, w.numberLike(x, float64(n)))))
	case n == 3:
		return w.pair("Mul", w.power(x, 2), x)
	}
	return w.pair("Mul", x, x)
}

// opposite returns -x.
func (w *writer) opposite(x string) string {
	switch w.rng.IntN(3) {
	case 0:
		return w.times(x, -1)
	case 1:
		return w.cast(w.node("Sub", in(w.numberLike(x, 0), x)))
	}
	return w.of("Neg", x)
}

// logistic returns 1/(1+exp(-x)).
func (w *writer) logistic(x string) string {
	if w.chance(60) {
		return w.of("Sigmoid", x)
	}
	y := w.plus(w.of("Exp", w.opposite(x)), 1)
	if w.chance(50) {
		return w.of("Reciprocal", y)
	}
	return w.cast(w.node("Div", in(w.numberLike(y, 1), y)))
}

// productOfThree returns x*y*v with the products in any order.
func (w *writer) productOfThree(x, y string, v float64) string {
	switch w.rng.IntN(3) {
	case 0:
		return w.pair("Mul", w.times(x, v), y)
	case 1:
		return w.pair("Mul", x, w.times(y, v))
	}
	return w.times(w.pair("Mul", x, y), v)
}

// softplus returns log(1+exp(x)).
func (w *writer) softplus(x string) string {
	switch w.rng.IntN(5) {
	case 0:
		return w.of("Softplus", x)
	case 1: // of numbers of any size
		small := w.of("Log", w.plus(w.of("Exp", w.opposite(w.of("Abs", x))), 1))
		if w.chance(50) {
			return w.pair("Add", w.of("Relu", x), small)
		}
		return w.pair("Add", w.pair("Max", x, w.numberLike(x, 0)), small)
	case 2: // PyTorch's threshold
		y := w.of("Log", w.plus(w.of("Exp", x), 1))
		if a, b := w.data[x], w.data[y]; a == nil || b == nil || a.Type != b.Type {
			return y
		}
		return w.node("Where", in(w.node("Greater", in(x, w.numberLike(x, 8))), x, y))
	case 3:
		return w.opposite(w.of("Log", w.logistic(w.opposite(x))))
	}
	return w.of("Log", w.plus(w.of("Exp", x), 1))
}

// single returns x in single precision.
func (w *writer) single(x string) string {
	if t := w.data[x]; t != nil && t.Type == onnx.Float16 {
		return w.node("Cast", in(x), number("to", int(onnx.Float)))
	}
	return x
}

// spelledForms are functions of each element, and of sums of exponentials. Inputs are within 4, where no
// spelling overflows half precision.
var spelledForms = []form{
	spell("gelu", func(w *writer, x string) string {
		return w.productOfThree(x, w.plus(w.of("Erf", w.times(x, math.Sqrt2/2)), 1), 0.5)
	}),
	spell("gelu by tanh", func(w *writer, x string) string {
		var inner string
		if w.chance(50) {
			inner = w.times(w.pair("Add", x, w.times(w.power(x, 3), 0.044715)), math.Sqrt(2/math.Pi))
		} else {
			inner = w.pair("Mul", w.times(x, math.Sqrt(2/math.Pi)), w.plus(w.times(w.power(x, 2), 0.044715), 1))
		}
		return w.productOfThree(x, w.plus(w.of("Tanh", inner), 1), 0.5)
	}),
	spell("gelu by half of an error function", func(w *writer, x string) string {
		return w.pair("Mul", x, w.plus(w.times(w.of("Erf", w.times(x, math.Sqrt2/2)), 0.5), 0.5))
	}),
	spell("quick gelu", func(w *writer, x string) string { return w.pair("Mul", x, w.logistic(w.times(x, 1.702))) }),
	spell("swish", func(w *writer, x string) string { return w.pair("Mul", x, w.logistic(x)) }),
	spell("swish by a quotient", func(w *writer, x string) string {
		y := w.single(w.plus(w.of("Exp", w.opposite(x)), 1))
		return w.node("Div", in(w.single(x), y))
	}),
	spell("softplus", func(w *writer, x string) string { return w.softplus(x) }),
	spell("log of a sigmoid", func(w *writer, x string) string {
		if w.chance(50) {
			return w.of("Log", w.logistic(x))
		}
		return w.opposite(w.softplus(w.opposite(x)))
	}),
	spell("mish", func(w *writer, x string) string { return w.pair("Mul", x, w.of("Tanh", w.softplus(x))) }),
	spell("hard swish", func(w *writer, x string) string {
		y := w.plus(x, 3)
		if w.chance(50) {
			y = w.node("Clip", in(y, w.numberLike(y, 0), w.numberLike(y, 6)))
			if w.data[y] != nil && len(w.data[y].Dims) != len(w.dims(x)) {
				return ""
			}
		} else {
			y = w.pair("Min", w.of("Relu", y), w.numberLike(y, 6))
		}
		return w.productOfThree(x, y, 1.0/6)
	}),
	spell("tanh by exponentials", func(w *writer, x string) string {
		if w.chance(50) {
			return w.plus(w.times(w.logistic(w.times(x, 2)), 2), -1)
		}
		e := w.single(w.of("Exp", w.times(x, 2)))
		return w.node("Div", in(w.plusSingle(e, -1), w.plusSingle(e, 1)))
	}),
	spell("exponential linear unit", func(w *writer, x string) string {
		x = w.single(x)
		y := w.single(w.plus(w.of("Exp", w.pair("Min", x, w.numberLike(x, 0))), -1))
		if w.chance(50) {
			return w.pair("Add", w.of("Relu", x), y)
		}
		return w.node("Where", in(w.node("Greater", in(x, w.numberLike(x, 0))), x, y))
	}),
	spell("leaky unit", func(w *writer, x string) string {
		switch w.rng.IntN(3) {
		case 0:
			return w.pair("Max", x, w.times(x, 0.125))
		case 1:
			return w.pair("Add", w.of("Relu", x), w.times(w.of("Relu", w.opposite(x)), -0.125))
		}
		y := w.times(x, 0.125)
		if w.data[x] == nil || w.data[y] == nil || w.data[x].Type != w.data[y].Type {
			return y
		}
		return w.node("Where", in(w.node("GreaterOrEqual", in(x, w.numberLike(x, 0))), x, y))
	}),
	spell("log of a sum of exponentials", func(w *writer, x string) string {
		x = w.single(x)
		keep, axis := w.rng.IntN(2), pick(w, -1, len(w.dims(x))-1)
		if w.chance(40) {
			return w.of("Log", w.reduce("ReduceSum", w.of("Exp", x), keep, axis))
		}
		if w.chance(30) {
			return w.reduce("ReduceLogSumExp", x, keep, axis)
		}
		most := w.reduce("ReduceMax", x, 1, axis)
		y := w.of("Log", w.reduce("ReduceSum", w.of("Exp", w.node("Sub", in(x, most))), 1, axis))
		y = w.pair("Add", y, most)
		if keep == 0 {
			y = w.squeeze("Squeeze", y, axis)
		}
		return y
	}),
	spell("softmax", func(w *writer, x string) string {
		x = w.single(x)
		if w.chance(60) {
			x = w.node("Sub", in(x, w.reduce("ReduceMax", x, 1, -1)))
		}
		e := w.of("Exp", x)
		if sum := w.reduce("ReduceSum", e, 1, -1); w.chance(60) {
			return w.node("Div", in(e, sum))
		} else {
			return w.pair("Mul", e, w.of("Reciprocal", sum))
		}
	}),
	spell("log of a softmax", func(w *writer, x string) string {
		x = w.single(x)
		switch w.rng.IntN(3) {
		case 0:
			return w.of("Log", w.softmax(x))
		case 1:
			x = w.node("Sub", in(x, w.reduce("ReduceMax", x, 1, -1)))
		}
		return w.node("Sub", in(x, w.single(w.of("Log", w.reduce("ReduceSum", w.single(w.of("Exp", x)), 1, -1)))))
	}),
	spell("log of a sum of two exponentials", func(w *writer, x string) string {
		x = w.single(x)
		y := w.offsets(w.lastExtent(x))
		if w.chance(50) {
			return w.of("Log", w.pair("Add", w.of("Exp", x), w.of("Exp", y)))
		}
		apart := w.node("Sub", in(x, y))
		return w.pair("Add", w.pair("Max", x, y), w.of("Log", w.plus(w.of("Exp", w.opposite(w.of("Abs", apart))), 1)))
	}),
	spell("norm of the mean square", func(w *writer, x string) string {
		c := w.lastExtent(x)
		root := w.of("Sqrt", w.plus(w.reduce("ReduceMean", w.power(x, 2), 1, -1), 1.0/64))
		switch w.rng.IntN(4) {
		case 0:
			root = w.cast(w.node("Pow", in(root, w.numberLike(root, -1))))
			return w.pair("Mul", w.pair("Mul", x, root), w.scales(c))
		case 1:
			return w.pair("Mul", w.pair("Mul", x, w.of("Reciprocal", root)), w.scales(c))
		case 2:
			return w.pair("Mul", w.pair("Mul", w.cast(w.node("Div", in(w.numberLike(root, 1), root))), x), w.scales(c))
		}
		return w.pair("Mul", w.node("Div", in(w.single(x), w.single(root))), w.scales(c))
	}),
	spell("layer norm", func(w *writer, x string) string {
		c := w.lastExtent(x)
		centered := w.single(w.node("Sub", in(w.single(x), w.single(w.reduce("ReduceMean", x, 1, -1)))))
		variance := w.plus(w.reduce("ReduceMean", w.power(centered, 2), 1, -1), 1.0/64)
		var y string
		switch w.rng.IntN(4) {
		case 0:
			y = w.pair("Mul", centered, w.cast(w.node("Pow", in(variance, w.numberLike(variance, -0.5)))))
		case 1:
			y = w.pair("Mul", centered, w.of("Reciprocal", w.of("Sqrt", variance)))
		default:
			y = w.node("Div", in(centered, w.single(w.of("Sqrt", variance))))
		}
		return w.pair("Add", w.pair("Mul", y, w.scales(c)), w.offsets(c))
	}),
}

func (w *writer) plusSingle(x string, v float64) string { return w.single(w.plus(x, v)) }

// spell returns a form that writes a function of a sequence, by parts in half precision in half of the graphs.
func spell(name string, write func(w *writer, x string) string) form {
	return form{name + ", spelled", sequence, func(w *writer, x string) string {
		if w.opset() < 13 || w.magnitude(x) > 4 {
			return "" // before, ONNX has no Min, Max and Pow of half precision
		}
		w.spelledHalf = w.chance(50)
		return w.single(write(w, w.cast(x)))
	}}
}

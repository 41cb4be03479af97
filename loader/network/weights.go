package network

import (
	"hash/fnv"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/x448/float16"

	"anesim/hw/mac"
	"anesim/loader/lower"
)

// MaxCoefficients is the most coefficients that weights are made for; an engine program
// has far fewer.
const MaxCoefficients = 1 << 28

// A Need is the number of values of each kind that a layer carries.
type Need struct{ Filter, Bias, Second int }

// Needs says what values a layer carries.
func Needs(l *lower.Layer) Need {
	var n Need
	switch l.Op {
	case lower.Convolution:
		n.Filter = l.Cout * (l.In.C / max(1, l.Groups)) * l.Window.Kh * l.Window.Kw
		n.Bias = l.Cout
	case lower.MatMul, lower.Linear:
		if l.Second == lower.Constant {
			n.Filter, n.Bias = l.In.W*l.Columns, l.Columns
		}
	case lower.Add, lower.Sub, lower.Mul, lower.Max, lower.Min:
		switch l.Second {
		case lower.Constant:
			n.Second = l.SecondShape.Elements()
		case lower.Scalar:
			n.Second = 1
		}
	}
	if !l.Bias {
		n.Bias = 0
	}
	return n
}

// Complete returns the layer's weights: the values that the file does not have are
// pseudo-random from seed, the activation tables are those of [mac.TableOf].
//
// Pseudo-random coefficients are odd multiples of a power of two between -s and s, none
// of them zero, where s is the power of two nearest to one over the square root of the
// reduction, so that results keep the magnitude of inputs.
func (x *Layer) Complete(seed uint64) (lower.Weights, error) {
	l, w := &x.Lower, x.Weights
	need := Needs(l)
	if need.Filter > MaxCoefficients {
		return w, &lower.LimitError{
			Limit: "coefficients", Got: need.Filter, Max: MaxCoefficients,
			Nearest: "split the output channels into layers of their own",
		}
	}
	switch {
	case w.Filter != nil || need.Filter == 0:
	case x.average:
		one := float16.Fromfloat32(1 / float32(l.Window.Kh*l.Window.Kw))
		w.Filter = slices.Repeat([]float16.Float16{one}, need.Filter)
	default:
		reduction := need.Filter / max(1, l.Cout+l.Columns)
		w.Filter = random(need.Filter, (bits.Len(uint(reduction))-1)/2, seed, "weights")
	}
	if w.Bias == nil && need.Bias > 0 {
		w.Bias = random(need.Bias, 0, seed, "bias")
	}
	if w.Second == nil && need.Second > 0 {
		w.Second = random(need.Second, 0, seed, "second")
	}
	if l.Op == lower.Softmax {
		w.Table, w.Reciprocal = table(mac.Exp), table(mac.Reciprocal)
	} else if a, ok := tableOf(l.Op); ok {
		w.Table = table(a)
	} else if a, ok := tableOf(l.Activation); ok {
		w.Table = table(a)
	}
	return w, nil
}

// tableOf is the table an operation looks its results up in.
func tableOf(op lower.Op) (mac.Activation, bool) {
	switch op {
	case lower.Sigmoid:
		return mac.Sigmoid, true
	case lower.Tanh:
		return mac.Tanh, true
	case lower.GELU:
		return mac.GELU, true
	case lower.SiLU:
		return mac.SiLU, true
	case lower.Exp:
		return mac.Exp, true
	case lower.Sqrt:
		return mac.Sqrt, true
	case lower.Rsqrt:
		return mac.Rsqrt, true
	}
	return 0, false
}

func table(a mac.Activation) []byte {
	t, _ := mac.TableOf(a)
	b := t.Encode()
	return b[:]
}

// random is n halves within 2^-scale, the same on every machine.
func random(n, scale int, seed uint64, name string) []float16.Float16 {
	const digits = 11 // odd numbers of 11 bits are halves without rounding
	var values [1 << digits]float16.Float16
	for i := range values {
		odd := 2*i + 1 - 1<<digits
		values[i] = float16.Fromfloat32(float32(odd) / float32(int(1)<<(digits+scale)))
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	r := rand.NewPCG(seed, h.Sum64())
	out := make([]float16.Float16, n)
	for i := 0; i < n; {
		for v, left := r.Uint64(), 64/digits; left > 0 && i < n; left-- {
			out[i] = values[v&(1<<digits-1)]
			v >>= digits
			i++
		}
	}
	return out
}

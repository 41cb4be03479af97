package mac

import (
	"math"

	"github.com/x448/float16"
)

// Eval returns the table's value for x. It defines a table as a function from fp16 to fp16. NaN
// counts as +Inf, and -0 as +0 (measured: 1/-0 and rsqrt(-0) are +Inf). An input equal to a clamp
// gives the constant value beyond that clamp.
//
// That a table reads fp16 values follows from the largest errors of an M6's exp, which require that
// the product with the PostScale is rounded first. A table after a multiply-accumulate is assumed to
// read the rounded result in the same way.
func (t *Table) Eval(x float16.Float16) float16.Float16 {
	v := inf
	if !x.IsNaN() {
		v = float64(x.Float32()) + 0 // -0 becomes +0
	}
	switch t.mode {
	case ModeOdd, ModeReciprocal, ModeFraction, ModeInteger:
		if v < 0 {
			if h := t.lookUp(-v); h&^halfSign != 0 {
				return h ^ halfSign
			}
			return 0
		}
	case ModeSqrt, ModeRsqrt, ModeLog:
		if v < 0 {
			return 0 // measured: sqrt(-1), rsqrt(-1) and log(-1) are +0
		}
	}
	return t.lookUp(v)
}

// evalSlice replaces each element of x by the table's value for it.
func (t *Table) evalSlice(x []float16.Float16) {
	results := t.cachedResults(len(x))
	if results == nil {
		for i, h := range x {
			x[i] = t.Eval(h)
		}
		return
	}
	for i, h := range x {
		x[i] = results[h]
	}
}

// cachedResults returns the values for all fp16 inputs once enough elements have been evaluated to
// pay for their computation, and before that nil. The next n elements count as evaluated.
func (t *Table) cachedResults(n int) *[1 << 16]float16.Float16 {
	if r := t.results.Load(); r != nil {
		return r
	}
	if t.evaluated.Add(int64(n)) < 1<<16 {
		return nil
	}
	t.compute.Do(func() {
		r := new([1 << 16]float16.Float16)
		for i := range r {
			r[i] = t.Eval(float16.Float16(i))
		}
		t.results.Store(r)
	})
	return t.results.Load()
}

// evalAccumulators sets dst to the table's values for acc*scale + bias. The product and the sum are
// each rounded to fp16 (measured for the PostScale of exp on M6; AccBias on M6, where inverse adds
// an epsilon).
func (t *Table) evalAccumulators(dst []float16.Float16, acc []float32, scale, bias float32) {
	product, sum := Post{Scale: scale}, Post{Scale: 1, Bias: bias}
	var wide [512]float32 // elements at a time, which stay in the first-level cache
	for len(acc) > 0 {
		n := min(len(acc), len(wide))
		d := dst[:n]
		product.Apply(d, acc[:n])
		if bias != 0 {
			Widen(wide[:n], d)
			sum.Apply(d, wide[:n])
		}
		t.evalSlice(d)
		dst, acc = dst[n:], acc[n:]
	}
}

// lookUp returns the table's value for v after Eval has handled signs: an end value, or a value
// computed by the table's mode.
func (t *Table) lookUp(v float64) float16.Float16 {
	if v <= t.clampLow {
		return t.raw[atBelow]
	}
	if v >= t.clampHigh {
		return t.raw[atAbove]
	}

	switch t.mode {
	case ModeExponent:
		n := math.Floor(v)
		h := t.interpolateUp(float64((v - n) * t.unit))
		return scaleHalfByPowerOfTwo(h, int(n))
	case ModeSqrt, ModeRsqrt:
		// v = m * 4^half with m in [1/2,2), so that an even power of two falls on the knot for 1
		// (inferred: 25 of the 33 knots are set, starting at 1/2).
		m, e := math.Frexp(v)
		half := e >> 1
		if e&1 != 0 {
			m *= 2
		}
		if t.mode == ModeRsqrt {
			half = -half
		}
		return scaleHalfByPowerOfTwo(t.interpolateUp(m*t.unit), half)
	case ModeReciprocal, ModeLog:
		if v == 0 { // a table without a clamp at 0
			return t.raw[atBelow]
		}
		m, e := math.Frexp(v)
		h := t.interpolateUp(float64((m - 0.5) * t.unit))
		if t.mode == ModeReciprocal {
			return scaleHalfByPowerOfTwo(h, -e)
		}
		return roundResult(float64(h.Float32()) + float64(e))
	case ModeFraction:
		return roundResult(v - math.Trunc(v))
	case ModeInteger:
		return roundResult(math.Trunc(v))
	}

	pos := float64(v * t.unit)
	switch {
	case pos < -t.base:
		return evalLine(t.lowSlope, v, t.lowIntercept)
	case pos >= segments-t.base:
		return evalLine(t.highSlope, v, t.highIntercept)
	case v < 0:
		return t.interpolateDown(-pos)
	}
	return t.interpolateUp(pos + t.base)
}

// interpolateUp returns the value at pos steps above the first knot, with pos in [0,32). It starts
// from the lower one of two knots.
func (t *Table) interpolateUp(pos float64) float16.Float16 {
	i := min(int(pos), segments-1)
	return t.interpolate(i, t.rise[i], pos-float64(i))
}

// interpolateDown returns the value at pos steps below the knot for 0, with pos in (0,base]. It
// starts from the upper one of two knots, which is nearer to 0.
func (t *Table) interpolateDown(pos float64) float16.Float16 {
	base := int(t.base)
	i := min(int(pos), base-1)
	return t.interpolate(base-i, -t.rise[base-i-1], pos-float64(i))
}

// interpolate returns the value of the line that starts at a knot and rises by rise per step, at a
// fraction of a step from the knot. It rounds three times: rise is rounded to fp16, its product
// with the fraction to 11 significant bits, and the sum to fp16. Starting from the knot that is
// nearer to 0, this gives the published errors of gelu over 262,144 outputs and more to nine digits on M1,
// M2 Max, M4, M5 and M6, and all largest errors of nine functions that an M6 printed. A single
// rounding, another starting knot, or a fraction of 13 bits or fewer does not.
func (t *Table) interpolate(knot int, rise, fraction float64) float16.Float16 {
	return roundResult(zeroNaN(t.knot[knot] + roundSignificand(zeroNaN(rise*fraction))))
}

// evalLine returns slope*v + intercept. The product is rounded to 11 significant bits.
func evalLine(slope, v, intercept float64) float16.Float16 {
	return roundResult(zeroNaN(roundSignificand(zeroNaN(slope*v)) + intercept))
}

// roundResult rounds v to fp16, ties away from zero: first to 11 significant bits and then, below
// 2^-14, to a multiple of 2^-24. The second step was measured for products of the planar engine and
// is assumed here.
func roundResult(v float64) float16.Float16 { return RoundHalf(float32(roundSignificand(v))) }

// roundSignificand rounds v to 11 significant bits, ties away from zero.
func roundSignificand(v float64) float64 {
	const unit = 1 << (53 - 11)
	return math.Float64frombits((math.Float64bits(v) + unit/2) &^ (unit - 1))
}

// zeroNaN returns v, or 0 if v is NaN.
func zeroNaN(v float64) float64 {
	if v != v {
		return 0
	}
	return v
}

// scaleHalfByPowerOfTwo returns h * 2^n, rounded once.
func scaleHalfByPowerOfTwo(h float16.Float16, n int) float16.Float16 {
	if h&^halfSign >= halfNormal && h&^halfSign < halfInf {
		e := int(h>>halfExpShift&31) + n
		if 0 < e && e < 31 { // stays normal
			return h + float16.Float16(n<<halfExpShift)
		}
	}
	return Round(math.Ldexp(float64(h.Float32()), n), NearestAway)
}

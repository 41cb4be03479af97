package mac

import (
	"math"

	"github.com/x448/float16"
)

// Eval looks v up. The input is the fp32 value that scale and bias left: that it
// is not rounded to fp16 on the way into the table is assumed. NaN reads as +Inf
// (measured). The clamps themselves belong to the end values (inferred: h2 of
// rsqrt is the infinity that silicon gives for zero). The result is rounded once,
// half to even, over the full range; Post.Apply adds the port's ceiling.
func (t *Table) Eval(v float32) float16.Float16 {
	if v != v {
		v = float32(inf)
	}
	switch t.mode {
	case ModeOdd, ModeReciprocal, ModeFraction, ModeInteger:
		var sign float16.Float16
		if math.Signbit(float64(v)) && (v != 0 || t.mode != ModeReciprocal) { // measured: 1/-0 is +Inf
			sign, v = halfSign, -v
		}
		h := t.eval(v)
		if h&^halfSign == 0 {
			return 0
		}
		return h ^ sign
	case ModeSqrt, ModeRsqrt, ModeLog:
		if v < 0 {
			return 0 // measured: sqrt(-1), rsqrt(-1) and log(-1) are +0
		}
	}
	return t.eval(v)
}

// EvalSlice looks up every value of src into dst, which must be at least as long.
func (t *Table) EvalSlice(dst []float16.Float16, src []float32) {
	if len(src) == 0 {
		return
	}
	row := tableRow{scale: 1, bias: negZero, nan: float32(inf), top: halfMax}
	evalAt(active, dst[:len(src)], src, t, &row)
}

// tableRow is what happens to a row of accumulators around the table.
type tableRow struct {
	scale, bias float32
	nan         float32 // what acc*scale becomes where it has no value
	top         uint16  // bits of the largest magnitude that stays finite
}

// negZero is the bias that changes nothing, -0 included.
var negZero = float32(math.Copysign(0, -1))

func evalPortable(dst []float16.Float16, acc []float32, t *Table, r *tableRow) {
	for i, a := range acc {
		v := float32(a * r.scale)
		if v != v {
			v = r.nan
		}
		h := t.Eval(sum(v, r.bias))
		if uint16(h&^halfSign) > r.top {
			h = h&halfSign | halfInf
		}
		dst[i] = h
	}
}

func (t *Table) eval(v float32) float16.Float16 {
	if v <= t.clampLow {
		return t.raw[atBelow]
	}
	if v >= t.clampHigh {
		return t.raw[atAbove]
	}

	switch t.mode {
	case ModeExponent:
		n := math.Floor(float64(v))
		h := t.between(float32(float32(v-float32(n)) * t.unit))
		return scaleHalf(h, int(min(max(n, -1<<10), 1<<10)))
	case ModeSqrt, ModeRsqrt:
		// v = m * 4^half with m in [1/2,2), so that an even power of two lands on
		// the knot for 1 (inferred: 25 of the 33 knots are set, those from 1/2 on).
		m, e := math.Frexp(float64(v))
		half := e >> 1
		if e&1 != 0 {
			m *= 2
		}
		if t.mode == ModeRsqrt {
			half = -half
		}
		return scaleHalf(t.between(float32(float32(m)*t.unit)), half)
	case ModeReciprocal:
		if v == 0 { // a table that does not clamp it
			return t.raw[atBelow]
		}
		m, e := math.Frexp(float64(v))
		return scaleHalf(t.between(float32(float32(m)*t.unit)+t.base), -e)
	case ModeLog:
		if v == 0 { // a table that does not clamp it
			return t.raw[atBelow]
		}
		// One rounding, after the sum (assumed).
		m, e := math.Frexp(float64(v))
		return nearestHalf(sum(t.line(float32(float32(m)*t.unit)+t.base), float32(e)))
	case ModeFraction:
		return nearestHalf(float32(v - float32(math.Trunc(float64(v)))))
	case ModeInteger:
		return nearestHalf(float32(math.Trunc(float64(v))))
	}

	pos := float32(v * t.unit)
	switch {
	case pos < -t.base:
		return tail(t.lowSlope, v, t.lowIntercept)
	case pos > segments-t.base:
		return tail(t.highSlope, v, t.highIntercept)
	}
	return t.between(float32(pos + t.base))
}

// between interpolates at pos steps from the first knot, pos in [0,32]. Knots and
// result are fp16 values (inferred); that nothing between them is rounded to fp16 is
// assumed.
//
// Silicon gives gelu(0) = -0.000543 and swish(0) = -0.001259 where the knots of
// the tables at hand hold -0.000754 and -0.001704. No constant offset of the
// fraction explains that: the two ask for 0.00146 and 0.00149 of a step, beyond
// their error bars, and either takes the worst error of sigmoid to 0.0032 and of
// tanh to 0.0015, where silicon has 0.0034 and 0.0017 as plain interpolation does.
// Other knots in the measured programs would explain everything.
func (t *Table) between(pos float32) float16.Float16 {
	return nearestHalf(t.line(pos))
}

// line is between before its rounding.
func (t *Table) line(pos float32) float32 {
	i := min(int(pos), segments-1)
	f := float32(pos - float32(i))
	return sum(t.knot[i], product(f, t.rise[i]))
}

// tail is slope*v + intercept.
func tail(slope, v, intercept float32) float16.Float16 {
	return nearestHalf(sum(product(slope, v), intercept))
}

// scaleHalf returns h * 2^n, rounded once.
func scaleHalf(h float16.Float16, n int) float16.Float16 {
	if h&^halfSign >= halfNormal && h&^halfSign < halfInf {
		e := int(h>>halfExpShift&31) + n
		if 0 < e && e < 31 { // stays normal
			return h + float16.Float16(n<<halfExpShift)
		}
	}
	return Round(math.Ldexp(float64(h.Float32()), n), NearestEven)
}

package mac

import (
	"math"

	"github.com/x448/float16"
)

// Eval returns the table's value for v, an accumulator after scale and bias. The result is rounded
// once to fp16, half to even, over the full range of fp16; [Post.Apply] also applies the ceiling of
// an output port. An input equal to a clamp gives the constant value beyond that clamp. NaN counts
// as +Inf, as measured on silicon. The model assumes that the engine does not round v to fp16
// first.
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
		h := t.lookUp(v)
		if h&^halfSign == 0 {
			return 0
		}
		return h ^ sign
	case ModeSqrt, ModeRsqrt, ModeLog:
		if v < 0 {
			return 0 // measured: sqrt(-1), rsqrt(-1) and log(-1) are +0
		}
	}
	return t.lookUp(v)
}

// EvalSlice sets dst[i] to t.Eval(src[i]) for each i below len(src). The slice dst must be at least
// as long as src.
func (t *Table) EvalSlice(dst []float16.Float16, src []float32) {
	if len(src) == 0 {
		return
	}
	row := tableRow{scale: 1, bias: negZero, nan: float32(inf), top: halfMax}
	evalAtLevel(active, dst[:len(src)], src, t, &row)
}

// A tableRow holds the operations on a row of accumulators before and after the table.
type tableRow struct {
	scale, bias float32
	nan         float32 // replaces acc*scale if that is NaN
	top         uint16  // bits of the largest magnitude that stays finite
}

// negZero is the bias that leaves every value unchanged, including -0.
var negZero = float32(math.Copysign(0, -1))

// evalPortable applies r and the table t to acc. It defines the results of all levels.
func evalPortable(dst []float16.Float16, acc []float32, t *Table, r *tableRow) {
	for i, a := range acc {
		v := float32(a * r.scale)
		if v != v {
			v = r.nan
		}
		h := t.Eval(addWithoutNaN(v, r.bias))
		if uint16(h&^halfSign) > r.top {
			h = h&halfSign | halfInf
		}
		dst[i] = h
	}
}

// lookUp returns the table's value for v after Eval has handled signs: an end value, or a value
// computed by the table's mode.
func (t *Table) lookUp(v float32) float16.Float16 {
	if v <= t.clampLow {
		return t.raw[atBelow]
	}
	if v >= t.clampHigh {
		return t.raw[atAbove]
	}

	switch t.mode {
	case ModeExponent:
		n := math.Floor(float64(v))
		h := t.interpolate(float32(float32(v-float32(n)) * t.unit))
		return scaleHalfByPowerOfTwo(h, int(min(max(n, -1<<10), 1<<10)))
	case ModeSqrt, ModeRsqrt:
		// v = m * 4^half with m in [1/2,2), so that an even power of two falls on the knot for 1
		// (inferred: 25 of the 33 knots are set, starting at 1/2).
		m, e := math.Frexp(float64(v))
		half := e >> 1
		if e&1 != 0 {
			m *= 2
		}
		if t.mode == ModeRsqrt {
			half = -half
		}
		return scaleHalfByPowerOfTwo(t.interpolate(float32(float32(m)*t.unit)), half)
	case ModeReciprocal:
		if v == 0 { // a table without a clamp at 0
			return t.raw[atBelow]
		}
		m, e := math.Frexp(float64(v))
		return scaleHalfByPowerOfTwo(t.interpolate(float32(float32(m)*t.unit)+t.base), -e)
	case ModeLog:
		if v == 0 { // a table without a clamp at 0
			return t.raw[atBelow]
		}
		// Rounded once, after the sum (assumed).
		m, e := math.Frexp(float64(v))
		return roundToHalf(addWithoutNaN(t.interpolateFloat32(float32(float32(m)*t.unit)+t.base), float32(e)))
	case ModeFraction:
		return roundToHalf(float32(v - float32(math.Trunc(float64(v)))))
	case ModeInteger:
		return roundToHalf(float32(math.Trunc(float64(v))))
	}

	pos := float32(v * t.unit)
	switch {
	case pos < -t.base:
		return evalLine(t.lowSlope, v, t.lowIntercept)
	case pos > segments-t.base:
		return evalLine(t.highSlope, v, t.highIntercept)
	}
	return t.interpolate(float32(pos + t.base))
}

// interpolate returns the value at pos steps from the first knot, with pos in [0,32], rounded to
// fp16. Knots and results are fp16 values (inferred). That nothing in between is rounded to fp16 is
// assumed.
//
// Silicon gives gelu(0) = -0.000543 and swish(0) = -0.001259, but the knots of the known tables
// hold -0.000754 and -0.001704. No constant offset of the fraction explains this: the two would
// need 0.00146 and 0.00149 of a step, beyond their error bars, and either changes the worst error
// of sigmoid to 0.0032 and of tanh to 0.0015, while silicon has 0.0034 and 0.0017, like plain
// interpolation. Different knots in the measured programs would explain everything.
func (t *Table) interpolate(pos float32) float16.Float16 {
	return roundToHalf(t.interpolateFloat32(pos))
}

// interpolateFloat32 is like interpolate, but does not round the result to fp16.
func (t *Table) interpolateFloat32(pos float32) float32 {
	i := min(int(pos), segments-1)
	f := float32(pos - float32(i))
	return addWithoutNaN(t.knot[i], multiplyWithoutNaN(f, t.rise[i]))
}

// evalLine returns slope*v + intercept, rounded to fp16.
func evalLine(slope, v, intercept float32) float16.Float16 {
	return roundToHalf(addWithoutNaN(multiplyWithoutNaN(slope, v), intercept))
}

// scaleHalfByPowerOfTwo returns h * 2^n, rounded once.
func scaleHalfByPowerOfTwo(h float16.Float16, n int) float16.Float16 {
	if h&^halfSign >= halfNormal && h&^halfSign < halfInf {
		e := int(h>>halfExpShift&31) + n
		if 0 < e && e < 31 { // stays normal
			return h + float16.Float16(n<<halfExpShift)
		}
	}
	return Round(math.Ldexp(float64(h.Float32()), n), NearestEven)
}

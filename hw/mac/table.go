package mac

import (
	"encoding/binary"
	"math"

	"github.com/x448/float16"
)

// TableBytes is the size of an activation table in memory: 64 little-endian halves.
const TableBytes = 128

// TableMode says how an input finds its segment (bytes of real programs; what the
// modes do is inferred from the tables).
type TableMode uint16

const (
	ModePlain    TableMode = 0x01 // knots from -16 to +16 steps
	ModeExponent TableMode = 0x0a // 2^v: knots over the fraction of v, the integer part goes to the exponent
	ModeOdd      TableMode = 0x60 // knots from 0 to 32 steps over |v|, the result takes the sign of v
	ModeSqrt     TableMode = 0xc5 // knots over a mantissa in [1/2,2), the exponent is halved
	ModeRsqrt    TableMode = 0xc6 // reciprocal square root: as ModeSqrt, the exponent halved and negated

	// ModeReciprocal is 1/v: knots from 2 down to 1 over a mantissa in [1/2,1], the
	// exponent negated, the result with the sign of v. A table of the rounded knots
	// with a step of 1/64 has the hash of the one in the compiler's softmax (bytes).
	ModeReciprocal TableMode = 0x67
)

// Places in the 64 halves.
const (
	atClampLow, atClampHigh      = 0, 1
	atBelow, atAbove             = 2, 3
	atKnots                      = 4
	numKnots                     = 33
	segments                     = numKnots - 1
	atLowSlope, atLowIntercept   = 37, 38
	atHighSlope, atHighIntercept = 39, 40
	atStep, atMode               = 41, 42
)

// fits reports whether 33 knots can stand 2^-stepLog apart: the modes that split
// the input off an exponent have a fixed range to cover, and steps below 2^-15
// would be finer than halves near 1.
func (m TableMode) fits(stepLog int) bool {
	switch m {
	case ModeExponent:
		return stepLog == 5 // [0,1]
	case ModeSqrt, ModeRsqrt:
		return stepLog == 4 // [0,2]
	case ModeReciprocal:
		return stepLog == 6 // [1/2,1]
	}
	return 0 <= stepLog && stepLog <= 15
}

// Table is an activation table: 33 knots at equal steps with straight lines
// between them, a line for each tail, and a constant beyond each clamp. It is
// immutable; ParseTable and FitTable make one.
type Table struct {
	raw  [TableBytes / 2]float16.Float16
	mode TableMode
	step int     // log2(1/step)
	unit float32 // 1/step
	base float32 // steps from the first knot to input 0
	knot [numKnots]float32
	rise [segments]float32 // from each knot to the next

	clampLow, clampHigh float32
	below, above        float32
	lowSlope, lowIntercept,
	highSlope, highIntercept float32
}

// ParseTable reads the 128 bytes of a table. The error is a *FormatError: the
// length is wrong, the mode is unknown, the step does not fit it, or a knot, tail
// or clamp is NaN (no real table has one and no result may be).
func ParseTable(b []byte) (*Table, error) {
	if len(b) != TableBytes {
		return nil, &FormatError{"table", min(len(b), TableBytes), "a table has 128 bytes", len(b)}
	}
	t := new(Table)
	for i := range t.raw {
		t.raw[i] = float16.Float16(binary.LittleEndian.Uint16(b[2*i:]))
		if i <= atHighIntercept && t.raw[i].IsNaN() {
			return nil, &FormatError{"table", 2 * i, "NaN", nil}
		}
	}
	t.mode = TableMode(t.raw[atMode])
	switch t.mode {
	case ModePlain, ModeExponent, ModeOdd, ModeSqrt, ModeRsqrt, ModeReciprocal:
	default:
		return nil, &FormatError{"table", 2 * atMode, "unknown mode", uint16(t.mode)}
	}
	if !t.mode.fits(int(t.raw[atStep])) {
		return nil, &FormatError{"table", 2 * atStep, "step does not fit the mode, log2(1/step)", uint16(t.raw[atStep])}
	}
	t.step = int(t.raw[atStep])
	t.unit = float32(uint32(1) << t.step)
	switch t.mode {
	case ModePlain:
		t.base = segments / 2
	case ModeReciprocal:
		t.base = -segments // the first knot is that of 1/2
	}

	for i := range t.knot {
		t.knot[i] = t.raw[atKnots+i].Float32()
	}
	for i := range t.rise {
		t.rise[i] = sum(t.knot[i+1], -t.knot[i])
	}
	t.clampLow, t.clampHigh = t.raw[atClampLow].Float32(), t.raw[atClampHigh].Float32()
	t.below, t.above = t.raw[atBelow].Float32(), t.raw[atAbove].Float32()
	t.lowSlope, t.lowIntercept = t.raw[atLowSlope].Float32(), t.raw[atLowIntercept].Float32()
	t.highSlope, t.highIntercept = t.raw[atHighSlope].Float32(), t.raw[atHighIntercept].Float32()
	return t, nil
}

// Encode returns the 128 bytes of the table, those ParseTable read included the
// ones no field is known for.
func (t *Table) Encode() [TableBytes]byte {
	var b [TableBytes]byte
	for i, h := range t.raw {
		binary.LittleEndian.PutUint16(b[2*i:], uint16(h))
	}
	return b
}

// Mode returns the way inputs find their segment.
func (t *Table) Mode() TableMode { return t.mode }

// Step returns the distance between two knots.
func (t *Table) Step() float64 { return math.Ldexp(1, -t.step) }

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
	case ModeOdd, ModeReciprocal:
		var sign float16.Float16
		if math.Signbit(float64(v)) && (v != 0 || t.mode == ModeOdd) { // measured: 1/-0 is +Inf
			sign, v = halfSign, -v
		}
		h := t.eval(v)
		if h&^halfSign == 0 {
			return 0
		}
		return h ^ sign
	case ModeSqrt, ModeRsqrt:
		if v < 0 {
			return 0 // measured: sqrt(-1) and rsqrt(-1) are +0
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
		n := float32(math.Floor(float64(v)))
		return scaleHalf(t.between(float32(float32(v-n)*t.unit)), int(n))
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
	}

	if t.mode == ModeReciprocal {
		if v == 0 { // a table that does not clamp it
			return t.raw[atBelow]
		}
		m, e := math.Frexp(float64(v))
		return scaleHalf(t.between(float32(float32(m)*t.unit)+t.base), -e)
	}

	pos := float32(v * t.unit)
	switch {
	case pos < -t.base:
		return line(t.lowSlope, v, t.lowIntercept)
	case pos > segments-t.base:
		return line(t.highSlope, v, t.highIntercept)
	}
	return t.between(float32(pos + t.base))
}

// between interpolates at pos steps from the first knot, pos in [0,32]. Knots and
// result are halves (inferred); that nothing between them is rounded to fp16 is
// assumed.
//
// Silicon gives gelu(0) = -0.000543 and swish(0) = -0.001259 where the knots of
// the tables at hand hold -0.000754 and -0.001704. No constant offset of the
// fraction explains that: the two ask for 0.00146 and 0.00149 of a step, beyond
// their error bars, and either takes the worst error of sigmoid to 0.0032 and of
// tanh to 0.0015, where silicon has 0.0034 and 0.0017 as plain interpolation does.
// Other knots in the measured programs would explain everything.
func (t *Table) between(pos float32) float16.Float16 {
	i := min(int(pos), segments-1)
	f := float32(pos - float32(i))
	return nearestHalf(sum(t.knot[i], product(f, t.rise[i])))
}

// line is a tail: slope*v + intercept.
func line(slope, v, intercept float32) float16.Float16 {
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

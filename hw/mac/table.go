package mac

import (
	"encoding/binary"
	"math"

	"github.com/x448/float16"
)

// TableBytes is the size of an activation table in memory: 64 little-endian fp16 values.
const TableBytes = 128

// Places in the 64 fp16 values.
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

	// From tameLow to tameHigh every result is between knots, none of which is large: there
	// is no clamp, no tail, no NaN and no ceiling to look at. From -tameBound to tameBound
	// there are clamps and tails, whose results are not large. A table may have neither.
	tameLow, tameHigh, tameBound float32
}

// ParseTable reads the 128 bytes of a table. The error is a *FormatError: the
// length is wrong, the mode is unknown, the step does not fit it, a knot, tail or
// clamp is NaN (no real table has one and no result may be), or a table of integer
// parts or fractions has knots, whose meaning there is not known.
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
	if !t.mode.known() {
		return nil, &FormatError{"table", 2 * atMode, "unknown mode", uint16(t.mode)}
	}
	t.step = int(int16(t.raw[atStep]))
	if !t.mode.fits(t.step) {
		return nil, &FormatError{"table", 2 * atStep, "step does not fit the mode, log2(1/step)", t.step}
	}
	if t.mode == ModeFraction || t.mode == ModeInteger {
		for i, h := range t.raw[atKnots : atHighIntercept+1] {
			if h != 0 {
				return nil, &FormatError{"table", 2 * (atKnots + i), "a knot or tail where only zeros are known", uint16(h)}
			}
		}
	}
	t.unit = float32(math.Ldexp(1, t.step))
	t.base = t.mode.base()

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
	t.tame()
	return t, nil
}

// tame finds the ranges in which less than everything has to be looked at.
func (t *Table) tame() {
	const large = 1 << 14 // far below any ceiling
	small := func(v float32) bool { return v >= -large && v <= large }
	t.tameLow, t.tameHigh, t.tameBound = float32(inf), float32(-inf), -1
	if !t.mode.straight() {
		return
	}
	for _, k := range t.knot {
		if !small(k) {
			return
		}
	}
	low, high := float32(-t.base/t.unit), float32((segments-t.base)/t.unit)
	if float32(low*t.unit) != -t.base || float32(high*t.unit) != segments-t.base {
		return // positions at the ends are rounded
	}
	if low < t.clampLow || low == t.clampLow && t.raw[atBelow] != t.raw[atKnots] {
		low = math.Nextafter32(t.clampLow, float32(inf))
	}
	if high >= t.clampHigh {
		high = math.Nextafter32(t.clampHigh, float32(-inf))
	}
	if low <= high {
		t.tameLow, t.tameHigh = low, high
	}
	bound := float32(large)
	for _, tail := range [...]struct{ slope, intercept float32 }{{t.lowSlope, t.lowIntercept}, {t.highSlope, t.highIntercept}} {
		if !small(tail.slope) || !(abs(tail.intercept) <= large/2) {
			return
		}
		if tail.slope != 0 {
			bound = min(bound, large/2/abs(tail.slope))
		}
	}
	// An end value that is large is to be out of reach.
	if !small(t.below) {
		bound = min(bound, math.Nextafter32(-t.clampLow, float32(-inf)))
	}
	if !small(t.above) {
		bound = min(bound, math.Nextafter32(t.clampHigh, float32(-inf)))
	}
	t.tameBound = bound
}

func abs(v float32) float32 { return float32(math.Abs(float64(v))) }

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

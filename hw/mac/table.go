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

	finite bool // no finite input meets an infinity before it meets a clamp

	// The inputs, both ends included, whose value lies between two knots: none if low is above
	// high.
	insideLow, insideHigh float32
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
	t.finite = t.bounded()
	t.insideLow, t.insideHigh = t.inside()
	return t, nil
}

// inside returns the inputs of a finite table that neither clamps nor tails have a say in.
// Clamps that give what the knots would are not in the way: those of odd tables are at 0,
// where many inputs are. Powers of two have whole parts that float32 counts between clamps that
// are finite; roots, inverses and logarithms are of finite numbers above 0.
func (t *Table) inside() (low, high float32) {
	up, down := float32(inf), float32(-inf)
	switch t.mode {
	case ModeExponent:
		if t.smooth() && !t.raw[atClampLow].IsInf(0) && !t.raw[atClampHigh].IsInf(0) {
			return math.Nextafter32(t.clampLow, up), math.Nextafter32(t.clampHigh, down)
		}
	case ModeSqrt, ModeRsqrt, ModeReciprocal, ModeLog:
		if t.smooth() {
			return math.Nextafter32(max(0, t.clampLow), up), math.Nextafter32(t.clampHigh, down)
		}
	}
	if !t.finite {
		return up, down
	}
	position := func(v float32) float32 { return float32(v*t.unit) + t.base }
	low, high = -t.base/t.unit, (math.Nextafter32(segments, 0)-t.base)/t.unit
	if v := t.clampLow; v >= low {
		if low = v; v > high || t.raw[atBelow] != t.between(position(v)) {
			low = math.Nextafter32(v, up)
		}
	}
	if v := t.clampHigh; v <= high {
		if high = v; v < low || t.raw[atAbove] != t.between(position(v)) {
			high = math.Nextafter32(v, down)
		}
	}
	return low, high
}

// bounded reports that a straight table has a value for every finite input without an
// infinity on the way.
func (t *Table) bounded() bool { return t.mode.straight() && t.smooth() }

// smooth reports that knots and tails are finite.
func (t *Table) smooth() bool {
	for _, h := range t.raw[atKnots : atHighIntercept+1] {
		if h.IsInf(0) {
			return false
		}
	}
	return true
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

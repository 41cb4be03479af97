package mac

import (
	"encoding/binary"
	"math"

	"github.com/x448/float16"
)

// TableBytes is the size of an activation table in memory: 64 little-endian fp16 values.
const TableBytes = 128

// Indices into the 64 fp16 values of a table.
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

// A Table is an activation table, which approximates a function by straight lines. It has 33
// equidistant knots, a line for inputs below the first and above the last knot, and a constant
// value beyond each clamp. Tables are made by [ParseTable] and [FitTable] and are immutable.
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

	finite bool // no finite input meets an infinity before a clamp

	// The inputs, both ends included, whose value lies between two knots. There are none if
	// insideLow is above insideHigh.
	insideLow, insideHigh float32
}

// ParseTable parses an activation table of [TableBytes] bytes. It returns a *[FormatError] if the
// length is wrong, the mode is unknown, the step is invalid for the mode, or a knot, tail or clamp
// is NaN. It also rejects knots in a table of integer parts or fractions, because their effect is
// not known.
func ParseTable(b []byte) (*Table, error) {
	if len(b) != TableBytes {
		return nil, &FormatError{"table", min(len(b), TableBytes), "size is not 128 bytes", len(b)}
	}
	t := new(Table)
	for i := range t.raw {
		t.raw[i] = float16.Float16(binary.LittleEndian.Uint16(b[2*i:]))
		if i <= atHighIntercept && t.raw[i].IsNaN() {
			return nil, &FormatError{"table", 2 * i, "unexpected NaN", nil}
		}
	}
	t.mode = TableMode(t.raw[atMode])
	if !t.mode.isKnown() {
		return nil, &FormatError{"table", 2 * atMode, "unknown mode", uint16(t.mode)}
	}
	t.step = int(int16(t.raw[atStep]))
	if !t.mode.supportsStep(t.step) {
		return nil, &FormatError{"table", 2 * atStep, "mode does not support log2(1/step)", t.step}
	}
	if t.mode == ModeFraction || t.mode == ModeInteger {
		for i, h := range t.raw[atKnots : atHighIntercept+1] {
			if h != 0 {
				return nil, &FormatError{"table", 2 * (atKnots + i), "nonzero knot or tail in a table of integer parts or fractions", uint16(h)}
			}
		}
	}
	t.unit = float32(math.Ldexp(1, t.step))
	t.base = t.mode.stepsToZero()

	for i := range t.knot {
		t.knot[i] = t.raw[atKnots+i].Float32()
	}
	for i := range t.rise {
		t.rise[i] = addWithoutNaN(t.knot[i+1], -t.knot[i])
	}
	t.clampLow, t.clampHigh = t.raw[atClampLow].Float32(), t.raw[atClampHigh].Float32()
	t.below, t.above = t.raw[atBelow].Float32(), t.raw[atAbove].Float32()
	t.lowSlope, t.lowIntercept = t.raw[atLowSlope].Float32(), t.raw[atLowIntercept].Float32()
	t.highSlope, t.highIntercept = t.raw[atHighSlope].Float32(), t.raw[atHighIntercept].Float32()
	t.finite = t.isBounded()
	t.insideLow, t.insideHigh = t.knotInputRange()
	return t, nil
}

// knotInputRange returns the lowest and the highest input that a table computes from its knots
// alone; low is above high if there is no such input. A clamp is included if its end value equals
// the value of the knots there, because the clamps of odd tables are at 0, where many inputs are.
// Tables of powers of two qualify only with finite clamps, so that float32 can hold the integer
// part of every input. Roots, reciprocals and logarithms include only inputs above 0.
func (t *Table) knotInputRange() (low, high float32) {
	up, down := float32(inf), float32(-inf)
	switch t.mode {
	case ModeExponent:
		if t.isFinite() && !t.raw[atClampLow].IsInf(0) && !t.raw[atClampHigh].IsInf(0) {
			return math.Nextafter32(t.clampLow, up), math.Nextafter32(t.clampHigh, down)
		}
	case ModeSqrt, ModeRsqrt, ModeReciprocal, ModeLog:
		if t.isFinite() {
			return math.Nextafter32(max(0, t.clampLow), up), math.Nextafter32(t.clampHigh, down)
		}
	}
	if !t.finite {
		return up, down
	}
	position := func(v float32) float32 { return float32(v*t.unit) + t.base }
	low, high = -t.base/t.unit, (math.Nextafter32(segments, 0)-t.base)/t.unit
	if v := t.clampLow; v >= low {
		if low = v; v > high || t.raw[atBelow] != t.interpolate(position(v)) {
			low = math.Nextafter32(v, up)
		}
	}
	if v := t.clampHigh; v <= high {
		if high = v; v < low || t.raw[atAbove] != t.interpolate(position(v)) {
			high = math.Nextafter32(v, down)
		}
	}
	return low, high
}

// isBounded reports whether a straight table computes every finite input without an infinite
// intermediate result.
func (t *Table) isBounded() bool { return t.mode.isStraight() && t.isFinite() }

// isFinite reports whether all knots and tails are finite.
func (t *Table) isFinite() bool {
	for _, h := range t.raw[atKnots : atHighIntercept+1] {
		if h.IsInf(0) {
			return false
		}
	}
	return true
}

// Encode returns the table in the form that ParseTable reads. Bytes of unknown meaning that
// ParseTable read are preserved.
func (t *Table) Encode() [TableBytes]byte {
	var b [TableBytes]byte
	for i, h := range t.raw {
		binary.LittleEndian.PutUint16(b[2*i:], uint16(h))
	}
	return b
}

// Mode returns the rule by which the table maps an input to a segment.
func (t *Table) Mode() TableMode { return t.mode }

// Step returns the distance between the inputs of two adjacent knots.
func (t *Table) Step() float64 { return math.Ldexp(1, -t.step) }

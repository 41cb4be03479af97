package mac

import (
	"encoding/binary"
	"math"
	"sync"
	"sync/atomic"

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
// value beyond each clamp. Tables are made by [ParseTable] and [FitTable]; their methods may run concurrently.
type Table struct {
	raw  [TableBytes / 2]float16.Float16
	mode TableMode
	step int     // log2(1/step)
	unit float64 // 1/step
	base float64 // steps from the first knot to input 0
	knot [numKnots]float64
	rise [segments]float64 // from each knot to the next, rounded to fp16

	clampLow, clampHigh float64
	lowSlope, lowIntercept,
	highSlope, highIntercept float64

	// The values for all fp16 inputs; see cachedResults.
	evaluated atomic.Int64 // number of elements so far
	compute   sync.Once
	results   atomic.Pointer[[1 << 16]float16.Float16]
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
		// The words after the last intercept are integers. Their bits may well be those of a NaN.
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
	t.unit = math.Ldexp(1, t.step)
	t.base = t.mode.stepsToZero()

	value := func(i int) float64 { return float64(t.raw[i].Float32()) }
	for i := range t.knot {
		t.knot[i] = value(atKnots + i)
	}
	for i := range t.rise {
		// Rounded here once instead of in every lookup: the engine interpolates with the fp16 difference
		// of two knots.
		t.rise[i] = float64(roundResult(zeroNaN(t.knot[i+1] - t.knot[i])).Float32())
	}
	t.clampLow, t.clampHigh = value(atClampLow), value(atClampHigh)
	t.lowSlope, t.lowIntercept = value(atLowSlope), value(atLowIntercept)
	t.highSlope, t.highIntercept = value(atHighSlope), value(atHighIntercept)
	return t, nil
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

package mac

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/x448/float16"
)

// TableSpec says what a fitted table covers. Inputs at or below Low give Below, at
// or above High give Above; infinite clamps leave a tail open. ModeOdd takes
// clamps on |v|.
type TableSpec struct {
	Mode         TableMode
	StepLog      int // log2(1/step)
	Low, High    float64
	Below, Above float64

	// Balance moves the knots off the function so that the error at the knots and
	// the error between them are about equal, which halves the worst one. Without
	// it the knots lie on the function.
	Balance bool
}

// Deviation is how far a table is from the function it stands for, in the absolute
// over every finite half whose true result is a finite half.
type Deviation struct {
	Max   float64 // largest absolute error
	At    float64 // the input that shows it
	RMS   float64 // over the same inputs
	Count int     // how many inputs that were
}

func (d Deviation) String() string {
	return fmt.Sprintf("max %.5f at %g, rms %.6f over %d inputs", d.Max, d.At, d.RMS, d.Count)
}

// FitTable makes a table for f and states its error. For ModeExponent and the mantissa
// modes f is the whole function; only its values over one period or
// over [1/2,2] enter the knots. The error is for a step out of range, an unknown
// mode, or a knot or end value that no half holds.
func FitTable(f func(float64) float64, spec TableSpec) (*Table, Deviation, error) {
	var b [TableBytes]byte
	var bad error
	put := func(i int, v float64) {
		h := Round(v, NearestEven)
		if (math.IsNaN(v) || h.IsInf(0) && !math.IsInf(v, 0)) && bad == nil {
			bad = fmt.Errorf("mac: fit: half %d would be %g", i, v)
		}
		binary.LittleEndian.PutUint16(b[2*i:], uint16(h))
	}
	put(atClampLow, spec.Low)
	put(atClampHigh, spec.High)
	put(atBelow, spec.Below)
	put(atAbove, spec.Above)
	binary.LittleEndian.PutUint16(b[2*atStep:], uint16(spec.StepLog))
	binary.LittleEndian.PutUint16(b[2*atMode:], uint16(spec.Mode))

	if !spec.Mode.fits(spec.StepLog) {
		return nil, Deviation{}, fmt.Errorf("mac: fit: log2(1/step) = %d does not fit mode %#x", spec.StepLog, uint16(spec.Mode))
	}
	step := math.Ldexp(1, -spec.StepLog)
	base, first := 0.0, 0 // place of knot 0, and the first knot that is used
	switch spec.Mode {
	case ModePlain:
		base = -segments / 2 * step
	case ModeSqrt, ModeRsqrt:
		first = int(math.Ceil(0.5 / step))
	case ModeReciprocal:
		base = 0.5
	}
	place := func(i int) float64 { return base + float64(float64(i)*step) }
	for i := first; i < numKnots; i++ {
		v := f(place(i))
		if spec.Balance {
			v -= lift(f, place, i, first)
		}
		put(atKnots+i, v)
	}

	switch spec.Mode {
	case ModePlain:
		slope, intercept := tail(f, place(0), spec.Low)
		put(atLowSlope, slope)
		put(atLowIntercept, intercept)
		fallthrough
	case ModeOdd:
		slope, intercept := tail(f, place(segments), spec.High)
		put(atHighSlope, slope)
		put(atHighIntercept, intercept)
	}
	if bad != nil {
		return nil, Deviation{}, bad
	}
	t, err := ParseTable(b[:])
	if err != nil {
		return nil, Deviation{}, err
	}
	return t, t.Deviation(f), nil
}

// lift is half of how far the chords beside knot i run above f at their middle,
// averaged over the chords there are.
func lift(f func(float64) float64, place func(int) float64, i, first int) float64 {
	sum, n := 0.0, 0.0
	for _, j := range [2]int{i - 1, i} {
		if j < first || j >= segments {
			continue
		}
		a, b := place(j), place(j+1)
		sum += (f(a)+f(b))/2 - f((a+b)/2)
		n++
	}
	return sum / n / 2
}

// tail is the line from the last knot to the clamp, or along the asymptote when
// the clamp is infinite.
func tail(f func(float64) float64, knot, clamp float64) (slope, intercept float64) {
	far := clamp
	if math.IsInf(far, 0) {
		far = math.Copysign(1024, clamp)
	}
	if far == knot {
		return 0, f(knot)
	}
	slope = (f(far) - f(knot)) / (far - knot)
	if math.IsInf(clamp, 0) { // no drift far out: the slope must be exact there
		slope = math.Round(slope*64) / 64
	}
	return slope, f(knot) - float64(slope*knot)
}

// Deviation measures the table against f.
func (t *Table) Deviation(f func(float64) float64) Deviation {
	var d Deviation
	var squares float64
	for i := range 1 << 16 {
		h := float16.Float16(i)
		if h.IsNaN() || h.IsInf(0) {
			continue
		}
		x := h.Float32()
		want := f(float64(x))
		if math.IsNaN(want) || Round(want, NearestEven).IsInf(0) {
			continue
		}
		e := math.Abs(float64(t.Eval(x).Float32()) - want)
		squares += float64(e * e)
		d.Count++
		if e > d.Max {
			d.Max, d.At = e, float64(x)
		}
	}
	if d.Count > 0 {
		d.RMS = math.Sqrt(squares / float64(d.Count))
	}
	return d
}

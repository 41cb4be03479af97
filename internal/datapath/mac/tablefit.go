package mac

import (
	"encoding/binary"
	"fmt"
	"math"
	"sort"

	"github.com/x448/float16"
)

// A TableSpec describes the table that [FitTable] should make: its mode, step, clamps and tails.
// Inputs at or below Low give Below, and inputs at or above High give Above. An infinite Low or
// High lets the line of that tail continue. In ModeOdd, Low and High limit |v|.
type TableSpec struct {
	Mode         TableMode
	StepLog      int // log2(1/step)
	Low, High    float64
	Below, Above float64

	// LowTail and HighTail are the lines between the outermost knots and the clamps. If one is nil,
	// FitTable computes it.
	LowTail, HighTail *Line

	// Balance lets FitTable move the knots off the function, so that the error at the knots about
	// equals the error between them. This halves the largest error. If Balance is false, the knots
	// lie on the function.
	Balance bool

	// ZeroWeight, if it is not 0, lets FitTable place the knots by least squares, as the vendor's tables
	// of gelu and silu do: over all normal fp16 inputs from the first to the last knot and, if LowTail
	// is nil, on to Low. The input 0 counts ZeroWeight times. The outermost knots lie on tails that
	// the spec gives. Only ModePlain has this.
	ZeroWeight int
}

// A Line is the function Slope*v + Intercept.
type Line struct{ Slope, Intercept float64 }

// newLinesSpec returns the spec of a table that consists of two lines, which meet at input 0.
// Inputs up to low give below, and inputs from high on give above.
func newLinesSpec(low, high, below, above float64, lowTail, highTail Line) TableSpec {
	return TableSpec{
		Mode: ModePlain, StepLog: noKnots, Low: low, High: high, Below: below, Above: above,
		LowTail: &lowTail, HighTail: &highTail,
	}
}

// A Deviation measures the error of a table, over all finite fp16 inputs for which the exact
// function rounds to a finite fp16 value.
type Deviation struct {
	Max   float64 // largest absolute error
	At    float64 // the input with that error
	RMS   float64 // over the same inputs
	Ratio float64 // largest error divided by max(1, |f|), for functions that grow
	Count int     // number of inputs
}

func (d Deviation) String() string {
	return fmt.Sprintf("max %.5f at %g, rms %.6f over %d inputs", d.Max, d.At, d.RMS, d.Count)
}

// FitTable returns a table, as described by spec, that approximates f. In ModeExponent, only the
// values of f over one period determine the knots; in the mantissa modes, only its values over
// [1/2, 2]. FitTable returns an error if the step does not fit the mode, if the mode is unknown, or
// if a value of the table is NaN or exceeds the range of fp16.
func FitTable(f func(float64) float64, spec TableSpec) (*Table, error) {
	var b [TableBytes]byte
	var bad error
	put := func(i int, v float64) {
		h := Round(v, NearestEven)
		if (math.IsNaN(v) || h.IsInf(0) && !math.IsInf(v, 0)) && bad == nil {
			bad = fmt.Errorf("mac: fit: table value %d is %g; want infinity or a number in the fp16 range", i, v)
		}
		binary.LittleEndian.PutUint16(b[2*i:], uint16(h))
	}
	put(atClampLow, spec.Low)
	put(atClampHigh, spec.High)
	put(atBelow, spec.Below)
	put(atAbove, spec.Above)
	binary.LittleEndian.PutUint16(b[2*atStep:], uint16(spec.StepLog))
	binary.LittleEndian.PutUint16(b[2*atMode:], uint16(spec.Mode))

	if !spec.Mode.supportsStep(spec.StepLog) {
		return nil, fmt.Errorf("mac: fit: table mode %#x does not support log2(1/step) = %d", uint16(spec.Mode), spec.StepLog)
	}
	place, first := spec.knotPositions()
	var squares []float64
	// The fits by squares and by chords are two rules of Apple's compiler: each gives the bytes of
	// some tables.
	if spec.ZeroWeight != 0 {
		squares = spec.fitLeastSquares(f, place)
	}
	for i := first; i < numKnots; i++ {
		v := f(place(i))
		if squares != nil {
			v = squares[i]
		}
		if spec.Balance && !(i == 0 && spec.Mode == ModeOdd) { // the errors on both sides of 0 cancel
			v -= halfChordError(f, place, i, first)
		}
		put(atKnots+i, v)
	}

	// In the other modes the table covers all values of a mantissa or fraction, so no input is outside.
	if spec.Mode.usesWholeInput() {
		knot := func(i int) float64 {
			return float64(float16.Float16(binary.LittleEndian.Uint16(b[2*(atKnots+i):])).Float32())
		}
		low, high := Line{}, fitTail(f, knot(segments), place(segments), spec.High, spec.Above)
		if squares != nil {
			high.Intercept = knot(segments) - float64(high.Slope*place(segments))
		}
		if spec.Mode != ModeOdd {
			low = fitTail(f, knot(0), place(0), spec.Low, spec.Below)
		}
		if spec.LowTail != nil {
			low = *spec.LowTail
		}
		if spec.HighTail != nil {
			high = *spec.HighTail
		}
		put(atLowSlope, low.Slope)
		put(atLowIntercept, low.Intercept)
		put(atHighSlope, high.Slope)
		put(atHighIntercept, high.Intercept)
	}
	if bad != nil {
		return nil, bad
	}
	return ParseTable(b[:])
}

// knotPositions returns a function that maps the index of a knot to the input at that knot. It also
// returns the index of the first knot that the table uses.
func (spec *TableSpec) knotPositions() (place func(i int) float64, first int) {
	step := math.Ldexp(1, -spec.StepLog)
	base := -spec.Mode.stepsToZero() * step
	switch spec.Mode {
	case ModeFraction, ModeInteger:
		first = numKnots // only zeros are known
	case ModeSqrt, ModeRsqrt:
		first = int(math.Ceil(0.5 / step))
	}
	if spec.StepLog == noKnots { // all knots of real tables hold the value at 0
		base, step = 0, 0
	}
	return func(i int) float64 { return base + float64(float64(i)*step) }, first
}

// fitLeastSquares returns the knots that make the sum of squared errors smallest, as ZeroWeight describes.
// The values of f are rounded to fp16 first. This gives 25 of the 33 knots of gelu and 24 of silu the
// vendor's bytes, among them all from -1.75 and -3 on; the others differ by up to 6e-5 and 1.2e-4. It
// gives fewer of them with f unrounded, with other weights of 0, or with equally spaced inputs.
func (spec *TableSpec) fitLeastSquares(f func(float64) float64, place func(int) float64) []float64 {
	nodes := make([]float64, 0, numKnots+1)
	if spec.LowTail == nil {
		nodes = append(nodes, spec.Low) // a segment from the clamp to the first knot
	}
	for i := range numKnots {
		nodes = append(nodes, place(i))
	}
	n := len(nodes)

	// The normal equations: lower[i]*v[i-1] + middle[i]*v[i] + upper[i]*v[i+1] = right[i].
	lower, middle, upper, right := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	add := func(x, weight float64) {
		if x < nodes[0] || x > nodes[n-1] {
			return
		}
		i := sort.SearchFloat64s(nodes, x) // the end of the segment with x
		i = max(i, 1)
		b := (x - nodes[i-1]) / (nodes[i] - nodes[i-1])
		a := 1 - b
		y := float64(Round(f(x), NearestEven).Float32())
		middle[i-1] += float64(weight * float64(a*a))
		middle[i] += float64(weight * float64(b*b))
		upper[i-1] += float64(weight * float64(a*b))
		lower[i] += float64(weight * float64(a*b))
		right[i-1] += float64(weight * float64(a*y))
		right[i] += float64(weight * float64(b*y))
	}
	for h := float16.Float16(halfNormal); h < halfInf; h++ {
		add(float64(h.Float32()), 1)
		add(-float64(h.Float32()), 1)
	}
	add(0, float64(spec.ZeroWeight))

	fix := func(i int, v float64) { lower[i], middle[i], upper[i], right[i] = 0, 1, 0, v }
	if spec.LowTail == nil {
		fix(0, spec.Below)
	} else {
		fix(0, float64(spec.LowTail.Slope*nodes[0])+spec.LowTail.Intercept)
	}
	if spec.HighTail != nil {
		fix(n-1, float64(spec.HighTail.Slope*nodes[n-1])+spec.HighTail.Intercept)
	}
	for i := 1; i < n; i++ {
		q := lower[i] / middle[i-1]
		middle[i] -= float64(q * upper[i-1])
		right[i] -= float64(q * right[i-1])
	}
	right[n-1] /= middle[n-1]
	for i := n - 2; i >= 0; i-- {
		right[i] = (right[i] - float64(upper[i]*right[i+1])) / middle[i]
	}
	return right[n-numKnots:]
}

// halfChordError returns half of the mean error of the chords on both sides of knot i. The error of a
// chord is how far it is above f at its middle.
func halfChordError(f func(float64) float64, place func(int) float64, i, first int) float64 {
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

// fitTail returns the line from the outermost knot, at place, to the end value at the clamp, or
// along the asymptote if the clamp is infinite. With a finite clamp it connects the rounded values
// (from the bytes of sigmoid and silu).
func fitTail(f func(float64) float64, knot, place, clamp, end float64) Line {
	if math.IsInf(clamp, 0) {
		far := math.Copysign(1024, clamp)
		// Round away any drift far out, because the slope must be exact there.
		slope := math.Round((f(far)-f(place))/(far-place)*64) / 64
		return Line{slope, f(place) - float64(slope*place)}
	}
	end = float64(Round(end, NearestEven).Float32())
	if clamp == place {
		return Line{0, end}
	}
	slope := (end - knot) / (clamp - place)
	return Line{slope, end - float64(slope*clamp)}
}

// Deviation returns the error of the table compared with f, the function that it approximates.
func (t *Table) Deviation(f func(float64) float64) Deviation {
	return t.computeDeviationWithin(f, inf)
}

// computeDeviationWithin is like Deviation, but only for inputs of a magnitude up to within.
func (t *Table) computeDeviationWithin(f func(float64) float64, within float64) Deviation {
	var d Deviation
	var squares float64
	for i := range 1 << 16 {
		h := float16.Float16(i)
		if h.IsNaN() || h.IsInf(0) {
			continue
		}
		x := h.Float32()
		if math.Abs(float64(x)) > within {
			continue
		}
		want := f(float64(x))
		if math.IsNaN(want) || Round(want, NearestEven).IsInf(0) {
			continue
		}
		e := math.Abs(float64(t.Eval(h).Float32()) - want)
		squares += float64(e * e)
		d.Count++
		d.Ratio = max(d.Ratio, e/max(1, math.Abs(want)))
		if e > d.Max {
			d.Max, d.At = e, float64(x)
		}
	}
	if d.Count > 0 {
		d.RMS = math.Sqrt(squares / float64(d.Count))
	}
	return d
}

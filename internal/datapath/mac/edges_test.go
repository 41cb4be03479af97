package mac

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"
)

// A table's error is counted over every finite fp16 value of the range asked for.
func TestDeviationCounts(t *testing.T) {
	clip, err := Clip(-1, 1)
	if err != nil {
		t.Fatal(err)
	}
	itself := func(x float64) float64 { return min(max(x, -1), 1) }
	if d := clip.Deviation(itself); d.Max != 0 || d.RMS != 0 || d.Count != 2*31*1024 {
		t.Errorf("clip against itself: %+v", d)
	}
	off := func(x float64) float64 { return min(max(x, -1), 1) + 0.5 }
	if d := clip.Deviation(off); d.Max != 0.5 || d.RMS != 0.5 || d.Count != 2*31*1024 {
		t.Errorf("half off everywhere: %+v", d)
	}
	if d := clip.computeDeviationWithin(off, 1); d.RMS != 0.5 || d.Count != 2*(0x3c00+1) {
		t.Errorf("half off within 1, the ends included: %+v", d)
	}
	if d := clip.Deviation(func(float64) float64 { return math.NaN() }); d != (Deviation{}) {
		t.Errorf("against no value at all: %+v", d)
	}
}

// Words of fitted tables that their values do not show or show only a little.
func TestFittedWords(t *testing.T) {
	for _, tt := range []struct {
		name string
		f    func(float64) float64
		spec TableSpec
		at   int
		want float16.Float16
	}{
		{"an odd function balanced is 0 at 0", func(x float64) float64 { return x * x }, TableSpec{Mode: ModeOdd, StepLog: 3, High: 4, Above: 16, Balance: true}, atKnots, 0},
		{"a chord over 1/8 of a square runs 1/256 above it: half of that", func(x float64) float64 { return x * x }, TableSpec{Mode: ModeOdd, StepLog: 3, High: 4, Above: 16, Balance: true}, atKnots + 8, Round(1-1./512, NearestEven)},
		{"the last knot has a chord on one side", func(x float64) float64 {
			if x > 4 {
				return 1000
			}
			return x
		}, TableSpec{Mode: ModeOdd, StepLog: 3, High: 4, Above: 4, Balance: true}, atKnots + segments, 0x4400},
		{"the low tail runs from the first knot, -16 at -16, to -8 at the clamp", func(x float64) float64 { return x }, TableSpec{Mode: ModePlain, StepLog: 0, Low: -24, High: 24, Below: -8, Above: 24}, atLowSlope, 0xbc00},
		{"an odd table has none", func(x float64) float64 { return x }, TableSpec{Mode: ModeOdd, StepLog: 0, Low: -1, High: 40, Below: -8, Above: 40}, atLowSlope, 0},
		{"mantissas below 1/2 have no knots", math.Sqrt, activations[Sqrt].spec, atKnots + 7, 0},
		{"from 1/2 on they have", math.Sqrt, activations[Sqrt].spec, atKnots + 8, Round(math.Sqrt(0.5), NearestEven)},
	} {
		table, err := FitTable(tt.f, tt.spec)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		} else if got := table.raw[tt.at]; got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	elu, _ := ELU(2)
	zero, _ := Maximum(0)
	if got := elu.raw[atLowIntercept]; got != 0xc000 {
		t.Errorf("the low tail of elu 2 is at %v, want -2", got)
	}
	if got := zero.raw[atLowSlope]; got != 0 {
		t.Errorf("the low line of max 0 has slope %v, want 0", got)
	}
	for _, log := range []int{-11, 15, noKnots} {
		if _, err := FitTable(math.Sin, TableSpec{Mode: ModePlain, StepLog: log}); err != nil {
			t.Errorf("step 2^%d: %v", -log, err)
		}
	}
}

// Every word up to the last tail is held to be a number, and to be zero where only zeros
// are known.
func TestParseTableLastWord(t *testing.T) {
	for _, tt := range []struct {
		a    Activation
		word float16.Float16
	}{{Sigmoid, 0x7e00}, {Fraction, 0x3c00}} {
		table := TableOf(tt.a)
		b := table.Encode()
		b[2*atHighIntercept], b[2*atHighIntercept+1] = byte(tt.word), byte(tt.word>>8)
		var e *FormatError
		if _, err := ParseTable(b[:]); !errors.As(err, &e) || e.Off != 2*atHighIntercept {
			t.Errorf("%v with %v as the intercept of its high tail: %v", tt.a, tt.word, err)
		}
	}
}

// TestScaleHalf checks that scaling by a power of two rounds only once, also for denormals,
// the largest values and infinities.
func TestScaleHalf(t *testing.T) {
	for i := range 1 << 16 {
		h := float16.Float16(i)
		if h.IsNaN() {
			continue
		}
		for n := -20; n <= 20; n++ {
			if got, want := scaleHalfByPowerOfTwo(h, n), Round(math.Ldexp(float64(h.Float32()), n), NearestAway); got != want {
				t.Fatalf("%v * 2^%d = %v, want %v", h, n, got, want)
			}
		}
	}
}

// Sums that reach the limit, and operands that are infinite, at every level and shape.
func TestReduceLimits(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	for round := range 600 {
		lanes, k, vectors := []int{16, 32, 40, 64, 96, 130}[rng.IntN(6)], 1+rng.IntN(12), 1+rng.IntN(9)
		size := math.Ldexp(1, rng.IntN(9)+4) // sums from far below the limit to far above
		draw := func(n int) []float32 {
			v := make([]float32, n)
			for i := range v {
				v[i] = H13.widenHalf(Round(size*(0.5+rng.Float64()), NearestEven))
			}
			return v
		}
		panel, taps := draw(lanes*k), TapsOf(k, draw(k*vectors))
		if round%3 == 0 {
			panel[rng.IntN(len(panel))] = float32(inf)
		}
		for _, a := range []Arithmetic{H13, Later, {KeepsInfinity: true, FullRange: true}} {
			want := make([]float32, lanes*vectors)
			for m := range vectors {
				a.reduceOrdered(want[m*lanes:][:lanes], panel, lanes, taps, m, &Start{})
			}
			for _, lv := range supportedLevels() {
				got := make([]float32, len(want))
				a.reduceAtLevel(lv, got, panel, lanes, taps, &Start{})
				if !slices.Equal(got, want) {
					t.Fatalf("%v, round %d, %d lanes, %d taps, %d vectors, size %v, %+v: %v, want %v", lv, round, lanes, k, vectors, size, a, got, want)
				}
			}
		}
	}
}

// Rows may begin at the plane's start and at the last place that leaves room.
func TestReduceRowsOfAPlane(t *testing.T) {
	plane := make([]float32, 100)
	for i := range plane {
		plane[i] = float32(i)
	}
	for _, n := range []int{1, 36, 64, 70, 99} {
		got, want := make([]float32, n), make([]float32, n)
		for i := range want {
			want[i] = float32(i) + 2*float32(i+100-n)
		}
		if H13.ReduceRows(got, plane, []int{0, 100 - n}, TapsOf(2, []float32{1, 2}), 0); !slices.Equal(got, want) {
			t.Errorf("%d outputs: %v, want %v", n, got, want)
		}
	}
}

// Arguments that do not fit are refused in words, not by the runtime.
func TestReduceWithoutVector(t *testing.T) {
	defer func() {
		if s, ok := recover().(string); !ok || !strings.HasPrefix(s, "mac: Reduce: 2 lanes") {
			t.Errorf("%q", s)
		}
	}()
	H13.Reduce(make([]float32, 4), nil, 2, NewTaps(0, 0), Start{})
}

func TestNumberOfNoActivation(t *testing.T) {
	if got := numActivations.String(); !strings.HasPrefix(got, "Activation(") {
		t.Errorf("%q", got)
	}
}

// Packed weights take the bytes that they need, and an error says where it is.
func TestPackedSizesAndPlaces(t *testing.T) {
	for _, tt := range []struct{ n, bits, bytes int }{{0, 4, 0}, {1, 4, 1}, {2, 4, 1}, {5, 4, 3}, {5, 8, 5}} {
		if _, indices, err := packPalette(make([]float16.Float16, tt.n), tt.bits); err != nil || len(indices) != tt.bytes {
			t.Errorf("%d indices of %d bits take %d bytes, want %d (%v)", tt.n, tt.bits, len(indices), tt.bytes, err)
		}
	}
	many := make([]float16.Float16, 17)
	for i := range many {
		many[i] = float16.Float16(i)
	}
	var e *FormatError
	if _, _, err := packPalette(many, 4); !errors.As(err, &e) || e.Val != 17 {
		t.Errorf("seventeen values for four bits: %v", err)
	}
	zeros := make([]float16.Float16, 8)
	if n, err := UnpackSparse(zeros, []byte{0}); n != 1 || err != nil {
		t.Errorf("a mask alone: %d bytes, %v", n, err)
	}
	rows := make([]float16.Float16, 6)
	rows[4] = 0x7c00
	if _, _, err := packInt8(rows, 2); !errors.As(err, &e) || e.Off != 8 {
		t.Errorf("an infinity as value 1 of row 1: %v, want byte 8", err)
	}
	q, scale, err := packInt8([]float16.Float16{Round(254, NearestEven), Round(-2, NearestEven), 0, 0x3c00}, 1)
	if want := []byte{127, 0xff, 0, 0}; err != nil || !slices.Equal(q, want) || scale[0] != 0x4000 {
		t.Errorf("scale %v, %v, %v; want 2 and %v", scale, q, err, want)
	}
}

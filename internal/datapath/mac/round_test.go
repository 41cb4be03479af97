package mac

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/x448/float16"
)

func ExampleRound() {
	for m := NearestEven; m <= NearestAway; m++ {
		fmt.Printf("%-12v %5v %5v\n", m, Round(2049, m), Round(-2049, m))
	}
	// Output:
	// nearest-even  2048 -2048
	// down          2048 -2050
	// up            2050 -2048
	// toward-zero   2048 -2048
	// nearest-away  2050 -2050
}

var modes = []RoundingMode{NearestEven, Down, Up, TowardZero, NearestAway}

// TestRoundBetween checks every gap between two neighboring finite halves: the
// ends are exact, and a quarter, the middle and three quarters go where each mode
// says.
func TestRoundBetween(t *testing.T) {
	for i := range 0x7bff {
		lo, hi := float16.Float16(i), float16.Float16(i+1)
		l, h := float64(lo.Float32()), float64(hi.Float32())
		even := lo
		if i%2 == 1 {
			even = hi
		}
		for _, tt := range []struct {
			v    float64
			want [5]float16.Float16 // by mode
		}{
			{l, [5]float16.Float16{lo, lo, lo, lo, lo}},
			{math.Nextafter(l, h), [5]float16.Float16{lo, lo, hi, lo, lo}},
			{(3*l + h) / 4, [5]float16.Float16{lo, lo, hi, lo, lo}},
			{math.Nextafter((l+h)/2, l), [5]float16.Float16{lo, lo, hi, lo, lo}},
			{(l + h) / 2, [5]float16.Float16{even, lo, hi, lo, hi}},
			{math.Nextafter((l+h)/2, h), [5]float16.Float16{hi, lo, hi, lo, hi}},
			{math.Nextafter(h, l), [5]float16.Float16{hi, lo, hi, lo, hi}},
		} {
			for _, m := range modes {
				if got := Round(tt.v, m); got != tt.want[m] {
					t.Fatalf("Round(%g, %v) = %#04x, want %#04x", tt.v, m, got, tt.want[m])
				}
				mirror := [5]RoundingMode{NearestEven, Up, Down, TowardZero, NearestAway}[m]
				if got := Round(-tt.v, mirror); got != tt.want[m]|halfSign {
					t.Fatalf("Round(%g, %v) = %#04x, want %#04x", -tt.v, mirror, got, tt.want[m]|halfSign)
				}
			}
		}
	}
}

func TestRoundEdges(t *testing.T) {
	const max, inf = halfMax, halfInf
	for _, tt := range []struct {
		v    float64
		want [5]float16.Float16
	}{
		{65504, [5]float16.Float16{max, max, max, max, max}},
		{65519.99, [5]float16.Float16{max, max, inf, max, max}},
		{65520, [5]float16.Float16{inf, max, inf, max, inf}},
		{65536, [5]float16.Float16{inf, max, inf, max, inf}},
		{1e300, [5]float16.Float16{inf, max, inf, max, inf}},
		{math.Inf(1), [5]float16.Float16{inf, inf, inf, inf, inf}},
		{math.NaN(), [5]float16.Float16{inf, inf, inf, inf, inf}},
		{math.SmallestNonzeroFloat64, [5]float16.Float16{0, 0, 1, 0, 0}},
		{0x1p-25, [5]float16.Float16{0, 0, 1, 0, 1}},
		{0x1.8p-24, [5]float16.Float16{2, 1, 2, 1, 2}},
		{math.Copysign(0, -1), [5]float16.Float16{halfSign, halfSign, halfSign, halfSign, halfSign}},
	} {
		for _, m := range modes {
			if got := Round(tt.v, m); got != tt.want[m] {
				t.Errorf("Round(%g, %v) = %#04x, want %#04x", tt.v, m, got, tt.want[m])
			}
		}
	}
}

// TestNarrowings puts every fp32 value through the narrow of this machine and holds
// it to Round, which works on float64. Round is asked at the ends of runs of 2^12 values:
// no run has a rounding boundary inside but for its first value, and between equal
// ends a monotone rounding has no other value. Without LONG=1 it takes one of four blocks
// with the same first 16 bits, in turns.
func TestNarrowings(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: 2^32 conversions take seconds")
	}
	const parts, block, run = 8, 1 << 16, 1 << 12
	step := uint32(4)
	if os.Getenv("LONG") != "" {
		step = 1
	}
	post := Post{Scale: 1, Bias: negZero} // v + -0 is v
	fast := supportedLevels()[len(supportedLevels())-1]
	reference := func(v float32) float16.Float16 {
		if v != v {
			return 0
		}
		return Round(float64(v), NearestAway)
	}
	for part := range uint32(parts) {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			src, dst := make([]float32, block), make([]float16.Float16, block)
			for high := part*(1<<16/parts) + part%step; high < (part+1)*(1<<16/parts); high += step {
				for low := range src {
					src[low] = math.Float32frombits(high<<16 | uint32(low))
				}
				narrowAtLevel(fast, dst, src, &post)
				for at := 0; at < block; at += run {
					values, got := src[at:at+run], dst[at:at+run]
					want := reference(values[1])
					differ := want ^ reference(values[run-1])
					for _, h := range got[1:] {
						differ |= h ^ want
					}
					if got[0] == reference(values[0]) && differ == 0 {
						continue
					}
					for i, v := range values {
						if want := reference(v); got[i] != want {
							t.Fatalf("%v: %g (%#08x) narrows to %#04x, want %#04x", fast, v, math.Float32bits(v), got[i], want)
						}
					}
				}
			}
		})
	}
}

// TestNarrowLevels holds the implementations to each other where the result
// changes: at every half, at every middle of two, and one fp32 step to each side.
func TestNarrowLevels(t *testing.T) {
	var src []float32
	for i := range 1 << 16 {
		h := float16.Float16(i)
		if h.IsNaN() {
			continue
		}
		v := math.Float32bits(h.Float32())
		mid := v + 1<<12
		src = append(src, math.Float32frombits(v), math.Float32frombits(v+1), math.Float32frombits(v-1),
			math.Float32frombits(mid), math.Float32frombits(mid+1), math.Float32frombits(mid-1))
	}
	src = append(src, float32(math.NaN()), math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32)
	for _, post := range []Post{
		{Scale: 1}, {Scale: 1, ReLU: true}, {Scale: -1, Bias: 3}, {Scale: 1.7, Bias: -0.3, ReLU: true},
		{Scale: 0, Bias: -1}, {Scale: float32(inf)}, {Scale: 1, Bias: float32(-inf)}, {Scale: 1, Bias: float32(-inf), ReLU: true},
	} {
		want := make([]float16.Float16, len(src))
		narrowPortable(want, src, &post)
		for _, lv := range supportedLevels()[1:] {
			for _, n := range []int{1, 3, 4, 7, 8, 9, 31, len(src)} {
				got := make([]float16.Float16, n)
				narrowAtLevel(lv, got, src[:n], &post)
				for i := range got {
					if got[i] != want[i] {
						t.Fatalf("%v %+v: %g narrows to %#04x, want %#04x", lv, post, src[i], got[i], want[i])
					}
				}
			}
		}
	}
}

// TestNarrowIsRound ties the two roundings of the package together.
func TestNarrowIsRound(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 200000 {
		v := math.Float32frombits(rng.Uint32())
		if v != v {
			continue
		}
		if got, want := RoundHalf(v), Round(float64(v), NearestAway); got != want {
			t.Fatalf("RoundHalf(%g) = %#04x, Round %#04x", v, got, want)
		}
	}
}

func TestWiden(t *testing.T) {
	src := make([]float16.Float16, 1<<16)
	want := make([]float32, len(src))
	for i := range src {
		h := float16.Float16(i)
		src[i] = h
		switch {
		case h.IsNaN():
			want[i] = float32(inf)
		default:
			want[i] = h.Float32()
		}
	}
	for _, lv := range supportedLevels() {
		for _, r := range [][2]int{{0, len(src)}, {1, 16}, {3, 4}, {0x3fd, 0x40e}, {0x7bf9, 0x7c02}, {5, 5}} {
			s, w := src[r[0]:r[1]], want[r[0]:r[1]]
			got := make([]float32, len(s)+1)
			got[len(s)] = 42
			widenAtLevel(lv, got[:len(s)], s)
			for i := range w {
				if math.Float32bits(got[i]) != math.Float32bits(w[i]) {
					t.Fatalf("%v: %#04x widens to %g, want %g", lv, s[i], got[i], w[i])
				}
			}
			if got[len(s)] != 42 {
				t.Fatalf("%v wrote past the end", lv)
			}
		}
	}
	Widen(nil, nil)
}

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		v    fmt.Stringer
		want string
	}{
		{TowardZero, "toward-zero"}, {RoundingMode(5), "RoundingMode(5)"},
		{GELU, "gelu"}, {Activation(200), "Activation(200)"}, {avx512, "avx512"},
	} {
		if got := tt.v.String(); got != tt.want {
			t.Errorf("String() = %q, want %q", got, tt.want)
		}
	}
}

// TestWidenNumbers widens as generations do that have no infinity.
func TestWidenNumbers(t *testing.T) {
	got := make([]float32, 6)
	Later.Widen(got, []float16.Float16{0x7c00, 0xfc00, 0x7e00, 0x7fff, 0xffff, 1})
	if want := []float32{65536, -65536, 98304, 131008, -131008, 0x1p-24}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

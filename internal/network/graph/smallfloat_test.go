package graph

import (
	"math"
	"testing"
)

// The numbers of the small formats are those that ONNX lists: the smallest, the smallest without leading
// zeros, 1, the largest, and what is not a number.
func TestSmallFloats(t *testing.T) {
	for _, tc := range []struct {
		elem            Type
		smallest        float64
		normal, one     uint8
		leastNormal     float64
		largestCode     uint8
		largest         float64
		nan, alsoNumber uint8 // of each other format, alsoNumber would not be one
		also            float64
	}{
		{Float8E4M3FN, 0x1p-9, 0x08, 0x38, 0x1p-6, 0x7e, 448, 0x7f, 0x78, 256},
		{Float8E4M3FNUZ, 0x1p-10, 0x08, 0x40, 0x1p-7, 0x7f, 240, 0x80, 0x7e, 224},
		{Float8E5M2, 0x1p-16, 0x04, 0x3c, 0x1p-14, 0x7b, 57344, 0x7d, 0x80, math.Copysign(0, -1)},
		{Float8E5M2FNUZ, 0x1p-17, 0x04, 0x40, 0x1p-15, 0x7f, 57344, 0x80, 0x7c, 32768},
		{Float4E2M1, 0.5, 0x2, 0x2, 1, 0x7, 6, 0, 0x5, 3},
	} {
		for code, want := range map[uint8]float64{1: tc.smallest, tc.normal: tc.leastNormal, tc.one: 1, tc.largestCode: tc.largest, tc.alsoNumber: tc.also} {
			if got := tc.elem.Decode(code); got != want || math.Signbit(got) != math.Signbit(want) {
				t.Errorf("%v: code %#x is %g; want %g", tc.elem, code, got, want)
			}
		}
		if v := tc.elem.Decode(tc.nan); tc.elem != Float4E2M1 && v == v {
			t.Errorf("%v: code %#x is %g; want NaN", tc.elem, tc.nan, v)
		}
		for _, v := range []float64{2 * tc.largest, math.Inf(1)} {
			if got := Rounded(tc.elem, -v); got != -tc.largest {
				t.Errorf("%v: %g becomes %g; want %g", tc.elem, -v, got, -tc.largest)
			}
		}
		count := 1 << tc.elem.Bits()
		for code := range count {
			v := tc.elem.Decode(uint8(code))
			if math.IsInf(v, 0) || v != v {
				continue
			}
			if b := tc.elem.Append(nil, v); int(b[0]) != code || Rounded(tc.elem, v) != v {
				t.Errorf("%v: %g of code %#x is written as %#x and rounded to %g", tc.elem, v, code, b[0], Rounded(tc.elem, v))
			}
			next := tc.elem.Decode(uint8(min(code+1, count-1)))
			if v < next && next <= tc.largest { // half goes to the even code, and less to the nearest
				even := v
				if code%2 == 1 {
					even = next
				}
				if got := Rounded(tc.elem, (v+next)/2); got != even {
					t.Errorf("%v: %g between %g and %g becomes %g", tc.elem, (v+next)/2, v, next, got)
				}
				if got := Rounded(tc.elem, v+(next-v)*0.4); got != v {
					t.Errorf("%v: %g becomes %g; want %g", tc.elem, v+(next-v)*0.4, got, v)
				}
			}
		}
	}
}

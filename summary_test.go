package anesim

import (
	"math"
	"testing"

	"github.com/x448/float16"

	"anesim/firmware/engine"
)

// The bounds of every pair of halves of a kind are those of floats; one NaN is both.
func TestBounds(t *testing.T) {
	half := []float16.Float16{0, 0x8000, 1, 0x8001, 0x3ff, 0x3c00, 0xbc00, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0xffff}
	for _, a := range half {
		for _, b := range half {
			x, y := float64(a.Float32()), float64(b.Float32())
			lo, hi := findValueRange([]float16.Float16{a, b})
			for _, v := range [...][2]float64{{lo, min(x, y)}, {hi, max(x, y)}} {
				if math.Float64bits(v[0]) != math.Float64bits(v[1]) && !(math.IsNaN(v[0]) && math.IsNaN(v[1])) {
					t.Errorf("%v and %v lie in [%g, %g]", a, b, lo, hi)
				}
			}
		}
	}
}

func TestChecksum(t *testing.T) {
	if s := engine.Checksum(nil); s != "00000000" {
		t.Error(s)
	}
	// "12" "34" "56" "78" "9": the check value of CRC-32 is of nine bytes, this of eight.
	if s := engine.Checksum([]float16.Float16{0x3231, 0x3433, 0x3635, 0x3837}); s != "9ae0daaf" {
		t.Error(s)
	}
	long := make([]float16.Float16, 10_000) // more than one piece
	if s := engine.Checksum(long); s != "972f5302" {
		t.Error(s)
	}
}

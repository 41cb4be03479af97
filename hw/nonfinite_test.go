package hw

import (
	"math"
	"testing"

	"github.com/x448/float16"
)

// TestMagnitudes compares the scan of four elements at a time with one of each element.
func TestMagnitudes(t *testing.T) {
	var row []half
	for bits := range 1 << 16 {
		row = append(row, float16.Frombits(uint16(bits)))
	}
	for _, h := range row {
		f := float64(h.Float32())
		want := !math.IsNaN(f) && !math.IsInf(f, 0)
		for lane := range 5 { // the fifth is behind the four
			var m magnitudes
			few := make([]half, 5)
			few[lane] = h
			if got := m.checkRowIsFinite(few); got != want {
				t.Fatalf("%#04x in lane %d: finite %v, want %v", uint16(h), lane, got, want)
			}
		}
	}
	var m magnitudes
	m.measureRow(row)
	if m.elements != 1<<16 || m.infinite != 2 || m.nan != 2046 || m.largest != 65504 {
		t.Errorf("all fp16 values: %+v, want 65536 elements, 2 infinities, 2046 NaNs, 65504 the largest", m)
	}
}

package planar

import (
	"testing"

	"github.com/x448/float16"
)

func TestWidthSliceGainEveryHalf(t *testing.T) {
	for i := range 1 << 16 {
		h := float16.Float16(i)
		want := h
		switch {
		case h.IsNaN():
			want = infinity
		case h&^signBit >= 0x6c00: // 4096
			want = h&signBit | infinity
		}
		d := [1]float16.Float16{h}
		WidthSliceGain(d[:], d[:])
		if d[0] != want {
			t.Fatalf("%v (%v) becomes %v, want %v", i, h, d[0], want)
		}
	}
	if half(4094) != 0x6bff || half(4096) != 0x6c00 {
		t.Error("4096 is the next half after 4094")
	}
}

package planar

import (
	"errors"
	"slices"
	"testing"

	"github.com/x448/float16"
)

func TestTransposeMovesBits(t *testing.T) {
	a := Source{make([]float16.Float16, 24), Shape{2, 3, 4}}
	for i := range a.Data {
		a.Data[i] = float16.Float16(0x7dfb + i) // NaNs among them
	}
	for _, o := range []Order{{AxisC, AxisH, AxisW}, {AxisC, AxisW, AxisH}, {AxisH, AxisC, AxisW}, {AxisH, AxisW, AxisC}, {AxisW, AxisC, AxisH}, {AxisW, AxisH, AxisC}} {
		dst := make([]float16.Float16, 24)
		s, err := Transpose(dst, a, o)
		if err != nil {
			t.Fatal(err)
		}
		place := map[Axes]int{}
		i := 0
		for place[o[0]] = 0; place[o[0]] < s.C; place[o[0]]++ {
			for place[o[1]] = 0; place[o[1]] < s.H; place[o[1]]++ {
				for place[o[2]] = 0; place[o[2]] < s.W; place[o[2]]++ {
					if want := a.at(place[AxisC], place[AxisH], place[AxisW]); dst[i] != want {
						t.Fatalf("order %v at %d: %#04x, want %#04x", o, i, dst[i], want)
					}
					i++
				}
			}
		}
	}
	for _, o := range []Order{{}, {AxisC, AxisC, AxisW}, {AxisC, AxisH, 8}, {7, 0, 0}} {
		var oe *OrderError
		if _, err := Transpose(nil, a, o); !errors.As(err, &oe) {
			t.Errorf("order %v: %v", o, err)
		}
	}
}

func TestSlice(t *testing.T) {
	a := Source{halvesOf(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 4096), Shape{2, 2, 3}}
	a.Data[0] = 0x7e01
	dst := make([]float16.Float16, 4)
	if err := Slice(dst, a, Shape{0, 0, 0}, Shape{2, 1, 2}); err != nil || !slices.Equal(dst, []float16.Float16{0x7e01, half(2), half(7), half(8)}) {
		t.Error("begin 0 moves bits:", dst, err)
	}
	if err := Slice(dst, a, Shape{1, 0, 1}, Shape{1, 2, 2}); err != nil || !slices.Equal(dst, halvesOf(8, 9, 11, inf)) {
		t.Error("begin in the width has a gain:", dst, err)
	}
	if err := Slice(dst, a, Shape{1, 1, 0}, Shape{1, 1, 3}); err != nil || !slices.Equal(dst[:3], halvesOf(10, 11, 4096)) {
		t.Error("begin in H and C has none:", dst, err)
	}
	big := int(^uint(0) >> 1)
	var se *SliceError
	for _, begin := range []Shape{{2, 0, 0}, {0, 2, 0}, {0, 0, 3}, {-1, 0, 0}, {big, 0, 0}, {0, big, big}} {
		if err := Slice(dst, a, begin, Shape{1, 1, 1}); !errors.As(err, &se) {
			t.Errorf("begin %v: %v", begin, err)
		}
	}
}

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
			t.Fatalf("%#04x (%v) becomes %#04x, want %#04x", i, h, d[0], want)
		}
	}
	if half(4094) != 0x6bff || half(4096) != 0x6c00 {
		t.Error("4096 is the next half after 4094")
	}
}

package list_test

import (
	"testing"

	"anesim/loader/layer"
	"anesim/loader/network/list"
)

// A layer has the multiply-accumulates of its definition: a dilated window those of its taps,
// an average none.
func TestMACs(t *testing.T) {
	in := layer.Shape{N: 2, C: 8, H: 16, W: 16}
	window := layer.Window{Kh: 3, Kw: 3, Sy: 1, Sx: 1}
	dilated := layer.Conv(in, 4, window.Dilate(2))
	dilated.Dilation = 2
	apart := layer.Depthwise(in, window.Dilate(3))
	apart.Dilation = 3
	for _, tc := range []struct {
		name string
		l    list.Layer
		want uint64
	}{
		{"conv", list.Layer{Lower: layer.Conv(in, 4, window)}, 2 * 4 * 14 * 14 * 8 * 9},
		{"dilated", list.Layer{Lower: dilated}, 2 * 4 * 12 * 12 * 8 * 9},
		{"dilated, channel by channel", list.Layer{Lower: apart}, 2 * 8 * 10 * 10 * 9},
		{"average", list.Pooling(in, window, true), 0},
		{"maximum", list.Pooling(in, window, false), 0},
	} {
		if err := tc.l.Infer(); err != nil {
			t.Fatal(tc.name, err)
		}
		if got := tc.l.MACs(); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
}

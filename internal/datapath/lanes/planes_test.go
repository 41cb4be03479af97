package lanes

import (
	"testing"

	"anesim/hw/regs"
)

func TestPlanes(t *testing.T) {
	for _, tc := range []struct{ left, most, width, n int }{
		{1, 16, 1, 1}, {15, 16, 1, 15}, {16, 16, 1, 16}, {31, 16, 1, 16},
		{224, 16, 14, 16}, {768, 32, 32, 16}, {256, 32, 16, 16}, {768, 16, 16, 48},
	} {
		if width, n := Planes(tc.left, tc.most); width != tc.width || n != tc.n {
			t.Errorf("%d channels left, at most %d: %d planes of %d, want %d of %d", tc.left, tc.most, n, width, tc.n, tc.width)
		}
	}
}

// Every channel gets a place, and no plane is wider than it may be.
func TestPlanesTakeAllChannels(t *testing.T) {
	for most := 1; most <= 32; most *= 2 {
		for channels := range 1500 {
			left := channels
			for left > 0 {
				width, n := Planes(left, most)
				if width < 1 || width > most || n < 1 || width*n > left {
					t.Fatalf("%d of %d channels left, at most %d: %d planes of %d", left, channels, most, n, width)
				}
				left -= width * n
			}
		}
	}
}

func TestMost(t *testing.T) {
	for _, tc := range []struct {
		transpose    bool
		pixels, taps int
		want         int
	}{
		{true, 128, 4096, 16}, {true, 129, 2048, 16}, {true, 129, 4096, 8}, {true, 512, 8192, 4},
		{true, 512, 1 << 20, 1}, {false, 512, 8192, 16},
	} {
		g := new(regs.Groups)
		g.Common.Cfg = g.Common.Cfg.WithTranspose(tc.transpose)
		g.Common.OutDim = g.Common.OutDim.WithWout(uint32(tc.pixels))
		g.Common.ConvCfg = g.Common.ConvCfg.WithOCGSize(4)
		if got := Most(g, tc.taps); got != tc.want {
			t.Errorf("%+v: %d", tc, got)
		}
	}
}

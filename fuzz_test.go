package anesim_test

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"anesim"
	"anesim/firmware/engine"
	"anesim/hw/chip"
)

// Names of chips and hosts are found or refused with the names there are.
func FuzzPresetNames(f *testing.F) {
	for _, s := range []string{"", "m1", "M1", "m1max", "none", "linux", "m\x00", "macos-air", strings.Repeat("m", 1000)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if c, err := chip.ByName(s); err == nil && c.Name != s {
			t.Errorf("chip %q found by %q", c.Name, s)
		}
		if h, err := engine.HostByName(s); err == nil && h.Name != s {
			t.Errorf("host %q found by %q", h.Name, s)
		}
	})
}

// Whatever an operation's keys are, the layer is refused or timed: the same twice, with
// cycles and without a fault of the device, which a layer lowered here has no reason for.
func FuzzLayerKeys(f *testing.F) {
	for _, s := range []string{
		"conv cin=16 h=8 w=8 cout=16 k=3 pad=same", "conv cin=4 h=9 w=7 groups=cin k=3 stride=2 bias=true act=gelu",
		"conv cin=8 h=32 w=32 cout=24 k=3 dilation=2 pad=1", "deconv cin=4 cout=4 h=5 w=5 k=2 stride=2",
		"matmul m=4 k=8 n=16 rhs=runtime", "linear m=300 k=64 n=80 bias=true", "softmax c=64 h=8 w=8 axis=c",
		"slice c=8 axis=c begin=2 size=4", "concat parts=4+12 h=2 w=2", "tile c=2 h=2 w=2 reps=1x2x3x1",
		"reduce c=4 h=4 w=4 kind=mean axis=hw", "pow c=16 h=4 w=4", "relu w=9999999999999999999", "conv cin=-1", "x", "conv k=1e3",
		"tile c=2 h=2 w=2 reps=1x64x64x64", "deconv cin=64 cout=64 h=512 w=512 k=16 stride=16", "matmul m=16384 k=16384 n=16384",
	} {
		f.Add(s)
	}
	timer, err := anesim.NewTimer(anesim.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		words := strings.Fields(s)
		if len(words) == 0 || len(s) > 256 {
			return
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		defer func() {
			runtime.ReadMemStats(&after)
			if most := uint64(1 << 30); after.TotalAlloc-before.TotalAlloc > most {
				t.Errorf("%s: %d bytes, more than %d", s, after.TotalAlloc-before.TotalAlloc, most)
			}
		}()
		m, err := anesim.Layer(words[0], words[1:]...)
		if err != nil {
			return
		}
		r, err := timer.Time(context.Background(), m)
		if err != nil {
			return
		}
		if len(r.Faults) > 0 || r.Cycles == 0 || len(r.Descriptors) == 0 {
			t.Errorf("%s: %d descriptors, %d cycles, faults %v", s, len(r.Descriptors), r.Cycles, r.Faults)
		}
		again, err := timer.Time(context.Background(), m)
		if err != nil || again.Cycles != r.Cycles || again.Energy != r.Energy {
			t.Errorf("%s: %d cycles, then %d, %v", s, r.Cycles, again.Cycles, err)
		}
	})
}

package check

import (
	"testing"

	"anesim/hw/clock"
	"anesim/internal/report"
)

// A descriptor has moved if only addresses differ, or sizes of weights that it does not read, and
// sums that differ by their rounding are the same.
func TestMoved(t *testing.T) {
	one := func(energy float64, weights uint64) *Descriptor {
		d := &Descriptor{}
		d.Cycles, d.EnergyNJ, d.DMA = 100, clock.Nanojoules(1000+energy), &report.DMA{Kernel: weights}
		return d
	}
	for _, x := range []struct {
		d    Delta
		want bool
	}{
		{Delta{A: one(0, 0), B: one(1e-10, 0), Changes: []string{"KernelDMASrc.CoeffBaseAddr[0-15].Addr differ", "L2.Src1Base.Value 0x1 -> 0x2"}}, true},
		{Delta{A: one(0, 0), B: one(0, 0), Changes: []string{"KernelDMASrc.CoeffBfrSize[0-15].Size 0x13 -> 0x17"}}, true},
		{Delta{A: one(0, 9), B: one(0, 9), Changes: []string{"KernelDMASrc.CoeffBfrSize[0-15].Size 0x13 -> 0x17"}}, false},
		{Delta{A: one(0, 0), B: one(0, 9), Changes: []string{"L2.Src1Base.Value 0x1 -> 0x2"}}, false}, // moves other bytes
		{Delta{A: one(0, 0), B: one(0, 0), Changes: []string{"Common.Cin.Cin 0x1 -> 0x2"}}, false},
		{Delta{A: one(0, 0), B: one(0, 0)}, false},
		{Delta{A: one(0, 0)}, false},
	} {
		if got := x.d.Moved(); got != x.want {
			t.Errorf("%q: moved %v, want %v", x.d.Changes, got, x.want)
		}
	}
}

package firmware_test

import (
	"testing"

	"anesim/firmware"
	"anesim/hw/regs"
)

// moving returns a task that reads n elements at one device address and writes as many at another.
func moving(from, to uint64, n int) *regs.Task {
	t := new(regs.Task)
	t.Groups.TileDMASrc.Src1DMAConfig = t.Groups.TileDMASrc.Src1DMAConfig.WithDepMode(1)
	t.Groups.TileDMADst.DstDMAConfig = t.Groups.TileDMADst.DstDMAConfig.WithEn(true)
	t.Groups.ReadMeanings()
	t.Bases = regs.Bases{Source1: from, Destination: to}
	s := regs.Surface{Shape: regs.Shape{Width: n, Height: 1, Channels: 1, Groups: 1}}
	t.Operands = &regs.Operands{Source1: regs.Operand{Used: true, DRAM: true, Surface: s}, Result: regs.Operand{Used: true, DRAM: true, Surface: s}}
	return t
}

// A run can be executed again until it begins to write where it has read.
func TestRunsThatCanRestart(t *testing.T) {
	for _, tc := range []struct {
		name string
		run  []*regs.Task
		want []bool
	}{
		{"a chain through memory", []*regs.Task{moving(0x1000, 0x2000, 64), moving(0x2000, 0x3000, 64)}, []bool{true, true}},
		{"into its own source", []*regs.Task{moving(0x1000, 0x1000, 64)}, []bool{false}},
		{"into the last byte of it", []*regs.Task{moving(0x1000, 0x107e, 64)}, []bool{false}},
		{"right behind it", []*regs.Task{moving(0x1000, 0x1080, 64)}, []bool{true}},
		{"right before it", []*regs.Task{moving(0x1000, 0x0f80, 64)}, []bool{true}},
		{"into the source of the first", []*regs.Task{moving(0x1000, 0x2000, 64), moving(0x2000, 0x3000, 64), moving(0x3000, 0x1000, 8), moving(0x9000, 0xa000, 8)}, []bool{true, true, false, false}},
		{"between two sources", []*regs.Task{moving(0x3000, 0x8000, 64), moving(0x1000, 0x2000, 64)}, []bool{true, true}},
		{"over both sources", []*regs.Task{moving(0x3000, 0x8000, 64), moving(0x1000, 0x9000, 64), moving(0xa000, 0x2fff, 1)}, []bool{true, true, false}},
	} {
		var r firmware.Restart
		for i, x := range tc.run {
			if got := r.Begin(x); got != tc.want[i] {
				t.Errorf("%s: once descriptor %d has begun: %t", tc.name, i, got)
			}
		}
		r.Reset()
		if !r.Begin(moving(0x5000, 0x1000, 1)) {
			t.Errorf("%s: the next run is affected", tc.name)
		}
	}
	var r firmware.Restart
	fixed := moving(0x2000, 0x3000, 1)
	fixed.Header.Control = fixed.Header.Control.WithDisallowAbort(true)
	if !r.Begin(moving(0x1000, 0x2000, 1)) || r.Forbidden() || r.Begin(fixed) || !r.Forbidden() {
		t.Error("a descriptor with DisallowAbort lets its run be stopped")
	}
}

package describe

import (
	"strings"
	"testing"

	"anesim/hw/regs"
)

// What words say of a place: a port where there is one, no port where it is the scratch
// memory's, and 0 as it is.
func TestWordsForPlaces(t *testing.T) {
	ports := Ports(func(bar uint32, write bool) string {
		switch {
		case bar == 9:
			return ""
		case write:
			return "output out"
		}
		return "input in"
	})
	for _, tc := range []struct {
		bar   uint32
		write bool
		base  uint32
		want  string
	}{
		{4, false, 0, "input in"}, {4, true, 0x40, "output out from byte 0x40 on"}, {3, false, 0, "the scratch memory (b3)"},
		{1, false, 0, "the constants (b1)"}, {0, false, 0, "buffer b0"}, {2, false, 0, "buffer b2"}, {9, false, 0, "buffer b9"},
	} {
		if got := ports.describeMemory(true, tc.bar, tc.write, tc.base); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
	if got := ports.describeMemory(false, 4, false, 0); got != "memory that no buffer names" {
		t.Errorf("%q", got)
	}
	if a, b := formatHex(0), formatHex(16); a != "0" || b != "0x10" {
		t.Errorf("%q, %q", a, b)
	}
	var labels []string
	for label := range (&Description{Sources: []string{"x"}}).Lines() {
		labels = append(labels, label)
	}
	if got := strings.Join(labels, " "); got != "reads writes" {
		t.Errorf("lines %s of a descriptor without coefficients", got)
	}
	labels = nil
	for label := range (&Description{Sources: []string{"x"}, Weights: "w"}).Lines() {
		labels = append(labels, label)
	}
	if got := strings.Join(labels, " "); got != "reads weights writes" {
		t.Errorf("lines %s", got)
	}
	var g regs.Groups
	var h regs.Header
	h.KernelBases = h.KernelBases.WithKBE0(true).WithKBase0(1)
	lane := func(i int, at, n uint32) {
		k := &g.KernelDMASrc
		k.CoeffDMAConfig[i] = k.CoeffDMAConfig[i].WithEn(true)
		k.CoeffBaseAddr[i], k.CoeffBfrSize[i] = regs.DMAWord{}.WithBytes(at), regs.DMAWord{}.WithBytes(n)
	}
	lane(0, 0x40, 0x80)
	lane(1, 0x40, 0x80)
	if got, want := ports.describeWeights(&h, &g), "128 bytes, the same for all 2 engines, the constants (b1) from byte 0x40 on"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	lane(1, 0xc0, 0x80)
	if got, want := ports.describeWeights(&h, &g), "256 bytes, 128 for each of 2 engines, the constants (b1) from byte 0x40 on"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	lane(2, 0x140, 0x40)
	if got, want := ports.describeWeights(&h, &g), "320 bytes, 64 to 128 for each of 3 engines, the constants (b1) from byte 0x40 on"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

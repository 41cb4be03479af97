package anesim_test

import (
	"fmt"
	"strings"
	"testing"

	"anesim/firmware"
	"anesim/hw/regs"
	"anesim/loader/asm"
)

// The flag --set of run and of patch take the same assignments and mean the same bits by them: every
// field and register with small and large numbers, sizes that are and are no multiples of the unit,
// negative numbers, floats and names of values.
func TestOneNotationOfAssignments(t *testing.T) {
	values := []string{"0", "1", "7", "010", "0x10", "0X30", "48", "64", "0x40", "4096", "0xffff", "65536", "0xffffffff", "4294967295", "0x100000000", "-1", "-64", "1.5", "-2e3", "1e9", "inf", "true", "fp16", "max", "1_0", "0b1", "0o7", "x", ""}
	accepted, refused := 0, 0
	for r := range regs.Registers() {
		names := []string{r.Block + "." + r.Name, strings.ToLower(r.Block + "." + r.Name)}
		for _, f := range r.Fields {
			names = append(names, r.Block+"."+r.Name+"."+f.Name)
		}
		for _, name := range names {
			for _, v := range values {
				text := name + "=" + v
				o, err := firmware.ParseOverride(text)
				same, mask, word, other := asm.ParseAssignment(text)
				if (err == nil) != (other == nil) {
					t.Errorf("%s: run: %v; patch: %v", text, err, other)
					continue
				}
				if err != nil {
					refused++
					continue
				}
				accepted++
				got := fmt.Sprintf("%s %#x %#x", o.Register.Name, ^uint32(0), o.Value)
				if f := o.Field; f != nil {
					got = fmt.Sprintf("%s %#x %#x", o.Register.Name, f.With(0, 1<<f.Width-1), f.With(0, o.Value))
				}
				if want := fmt.Sprintf("%s %#x %#x", same.Name, mask, word); got != want {
					t.Errorf("%s: run sets %s, patch %s", text, got, want)
				}
			}
		}
	}
	if accepted < 4000 || refused < 5000 {
		t.Errorf("%d accepted and %d refused are too few to show anything", accepted, refused)
	}
}

package regs_test

import (
	"errors"
	"testing"

	"anesim/hw/regs"
)

func TestFileStore(t *testing.T) {
	var f regs.File
	if err := f.Store(0x3c, 7); err != nil { // the last word of G1
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		addr  uint32
		words int
		at    uint32 // the first address outside
	}{
		{"misaligned", 0x2, 1, 0x2},
		{"between windows", 0x40, 1, 0x40},
		{"below a window", 0x47fc, 1, 0x47fc},
		{"above the last window", 0x1f8f8, 1, 0x1f8f8},
		{"top of the address space", 0xffff_fffc, 1, 0xffff_fffc},
		{"run leaves G1", 0x38, 3, 0x40},
		{"run leaves G0", 0x1f8f4, 2, 0x1f8f8},
	} {
		err := f.Store(tc.addr, make([]uint32, tc.words)...)
		var a *regs.AddressError
		if !errors.As(err, &a) || a.Addr != tc.at {
			t.Errorf("%s: %v, want an error at %#x", tc.name, err, tc.at)
		}
		if err := f.MaskedWrite(tc.addr+4*uint32(tc.words-1), 1, 1); !errors.As(err, &a) {
			t.Errorf("%s: masked write outside the windows: %v", tc.name, err)
		}
	}
	if w, _ := f.Load(0x3c); w != 7 || f.CountWritten() != 1 {
		t.Errorf("a refused run wrote: last word %d, %d written", w, f.CountWritten())
	}
	if _, ok := f.Load(0x40); ok || f.Written(0x40) || f.Written(0x38) || !f.Written(0x3c) {
		t.Error("only 0x3c was written")
	}
}

// Each window takes a run of its size and no more, and keeps it apart from the others.
func TestFileWindows(t *testing.T) {
	var f regs.File
	total := 0
	for i, w := range regs.V7Windows() {
		run := make([]uint32, w.Words)
		for j := range run {
			run[j] = uint32(i<<16 | j)
		}
		if err := f.Store(w.Base, run...); err != nil {
			t.Errorf("%s: %v", w.Group, err)
		}
		if err := f.Store(w.Base, append(run, 0)...); err == nil {
			t.Errorf("%s takes a word more than it has", w.Group)
		}
		if w.Contains(w.Base-4) || !w.Contains(w.Base) || w.Contains(w.Base+4*uint32(w.Words)) {
			t.Errorf("%s: wrong ends", w.Group)
		}
		total += w.Words
	}
	if total != 140 || f.CountWritten() != total {
		t.Errorf("%d words, %d written", total, f.CountWritten())
	}
	for i, w := range regs.V7Windows() {
		for j := range w.Words {
			if got, ok := f.Load(w.Base + 4*uint32(j)); !ok || got != uint32(i<<16|j) {
				t.Errorf("%s word %d is %#x", w.Group, j, got)
			}
		}
	}
}

func TestFileMaskedWrite(t *testing.T) {
	for _, tc := range []struct{ old, mask, value, want uint32 }{
		{0xffff_ffff, 0x0000_00f0, 0x0000_0050, 0xffff_ff5f},
		{0x1234_5678, 0, 0xffff_ffff, 0x1234_5678},
		{0x1234_5678, 0xffff_ffff, 0x8765_4321, 0x8765_4321},
		{0, 0x1, 0xffff_ffff, 0x1}, // value bits outside the mask are dropped
	} {
		var f regs.File
		if err := f.Store(0x8800, tc.old); err != nil {
			t.Fatal(err)
		}
		if err := f.MaskedWrite(0x8800, tc.mask, tc.value); err != nil {
			t.Fatal(err)
		}
		if got, _ := f.Load(0x8800); got != tc.want {
			t.Errorf("%#x under %#x with %#x is %#x, want %#x", tc.old, tc.mask, tc.value, got, tc.want)
		}
	}
}

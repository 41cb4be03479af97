package regs_test

import (
	"errors"
	"strings"
	"testing"

	"anesim/hw/regs"
)

// The ranges and image offsets of the documents.
func TestV10Windows(t *testing.T) {
	want := [...]struct {
		group       string
		first, last uint32
		image       int
	}{
		{"G0", 0x5500, 0x5587, 0x24}, {"G1", 0x00, 0x4b, 0xf4}, {"G2", 0x4d00, 0x4e13, 0x148}, {"G3", 0x4100, 0x4177, 0x264},
		{"G4", 0x4500, 0x4537, 0x2e4}, {"G5", 0x4900, 0x492b, 0x324}, {"G6", 0x5100, 0x5153, 0x358},
	}
	total, image := 0, 0
	for i, w := range regs.V10Windows() {
		if last := w.Base + 4*uint32(w.Words) - 1; w.Group != want[i].group || w.Base != want[i].first || last != want[i].last || w.Image != want[i].image {
			t.Errorf("%s %#x to %#x at image %#x, want %+v", w.Group, w.Base, last, w.Image, want[i])
		}
		if w.Image < image {
			t.Errorf("%s overlaps the group before it in the image", w.Group)
		}
		image = w.Image + 4*w.Words
		total += w.Words
	}
	if total != 198 {
		t.Errorf("%d words, want 198", total)
	}
}

func TestV10Store(t *testing.T) {
	var v regs.V10
	for _, pair := range []struct{ addr, value uint32 }{
		{0x4d10, 0x4000_0000}, {0x00, 0x0001_0040}, {0x0c, 64}, {0x5548, 1}, {0x5548, 0}, {0x38, 0x30},
	} {
		if err := v.Store(pair.addr, pair.value); err != nil {
			t.Fatal(err)
		}
	}
	if w, ok := v.Load(0x5548); w != 0 || !ok {
		t.Errorf("the later pair is %#x, %v", w, ok)
	}
	if _, ok := v.Load(0x554c); ok {
		t.Error("a word never written loads")
	}
	want := []struct {
		name  string
		image int
		value uint32
	}{
		{"KernelDMASrc.BiasEnable", 0x24 + 0x48, 0}, {"Common.InDim", 0xf4, 0x0001_0040}, {"Common.Cin", 0x100, 64},
		{"Common.Task", 0x12c, 0x30}, {"TileDMASrc.Src1BaseLow", 0x158, 0x4000_0000},
	}
	words := v.Words()
	if len(words) != len(want) {
		t.Fatalf("%d words, want %d", len(words), len(want))
	}
	for i, w := range words {
		if w.Name() != want[i].name || w.Image != want[i].image || w.Value != want[i].value {
			t.Errorf("word %d: %s at image %#x is %#x, want %+v", i, w.Name(), w.Image, w.Value, want[i])
		}
	}
	for _, addr := range []uint32{0x4c, 0x02, 0x4178, 0x5588, 0x1f800, 0xffff_fffc} {
		var a *regs.AddressError
		if err := v.Store(addr, 1); !errors.As(err, &a) || a.Addr != addr {
			t.Errorf("store at %#x: %v", addr, err)
		}
		if _, ok := v.Load(addr); ok {
			t.Errorf("load at %#x", addr)
		}
	}
}

// TestV10Address checks that every word is found by the name under which it is printed,
// ignoring case.
func TestV10Address(t *testing.T) {
	var v regs.V10
	for _, w := range regs.V10Windows() {
		for i := range w.Words {
			if err := v.Store(w.Base+4*uint32(i), 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, w := range v.Words() {
		if addr, ok := regs.V10Address(strings.ToLower(w.Name())); !ok || addr != w.Addr {
			t.Errorf("%s: %#x, %v, want %#x", w.Name(), addr, ok, w.Addr)
		}
	}
	for _, name := range []string{"", "Common", "Common.", "Common.Word00", "Common.Word19", "L2.InDim", "TileDMASrc.Word4", "G1.InDim"} {
		if addr, ok := regs.V10Address(name); ok {
			t.Errorf("%q is at %#x", name, addr)
		}
	}
}

// A relocation register is a word address: four times it is a byte address of a window.
func TestV10Relocations(t *testing.T) {
	want := [...]struct {
		name, group string
		addr        uint32
	}{
		{"source 1", "G2", 0x4d10}, {"source 2", "G2", 0x4d28}, {"destination", "G6", 0x5108},
		{"bias", "G0", 0x5550}, {"post-scale", "G0", 0x5560}, {"palette", "G0", 0x5570}, {"activation table", "G0", 0x5580},
	}
	for i, r := range regs.V10Relocations() {
		group := ""
		for _, w := range regs.V10Windows() {
			if w.Contains(4 * r.Word) {
				group = w.Group
			}
		}
		if r.Name != want[i].name || 4*r.Word != want[i].addr || group != want[i].group {
			t.Errorf("%s at %#x in group %q, want %+v", r.Name, 4*r.Word, group, want[i])
		}
	}
}

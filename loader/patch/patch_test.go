package patch

import (
	"bytes"
	"slices"
	"testing"

	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/lower"
)

// A run-time parameter whose value does not fit one of its fields changes none of them.
func TestBindChangesAllOrNothing(t *testing.T) {
	whole, err := lower.IdentityProgram()
	if err != nil {
		t.Fatal(err)
	}
	wide, _ := regs.Lookup("TileDMASrc", "Src1RowStride")
	var words []uint32
	for d, err := range whole.Descriptors() {
		if err != nil {
			t.Fatal(err)
		}
		words = append(words, whole.WordsOf(d, wide.Addr())...)
	}
	field := loader.Relocation{
		Kind: loader.LiveIn, Register: wide.Addr(), Off: words[0], Width: 8, Name: "k", Value: 1,
		Range: loader.Range{Start: 1, Stop: 15, Step: 1},
	}
	narrow := field
	narrow.Width = 2
	whole.Relocations = []loader.Relocation{field, narrow}
	p := &Program{Program: whole}
	text := slices.Clone(p.Text)
	if err := p.Bind("k", 9); err == nil {
		t.Error("9 fits in two bits")
	}
	if !bytes.Equal(p.Text, text) || p.Relocations[0].Value != 1 || len(p.Done) > 0 {
		t.Errorf("the refused value changes the program: value %d, %q", p.Relocations[0].Value, p.Done)
	}
	if err := p.Bind("k", 3); err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(p.Text, text) || p.Relocations[1].Value != 3 || len(p.Done) != 1 {
		t.Errorf("the value is not set: value %d, %q", p.Relocations[1].Value, p.Done)
	}
}

package asm_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"anesim/loader"
	"anesim/loader/asm"
	"anesim/loader/lower"
)

// TestTextLeftInItsFile: text needs the bytes between the descriptors, so a program whose
// descriptors were left in the file is refused.
func TestTextLeftInItsFile(t *testing.T) {
	p, err := lower.ExampleProgram("conv")
	if err != nil {
		t.Fatal(err)
	}
	text := append(slices.Clone(p.Text), make([]byte, 1<<17)...)
	q, err := (&loader.Options{InFile: true, FirstWords: p.FirstWords}).Read("conv", bytes.NewReader(text), int64(len(text)))
	if err != nil || q.TextFile == nil {
		t.Fatalf("text in its file: %v", err)
	}
	var u *loader.UnsupportedError
	if _, err := asm.Disassemble(q); !errors.As(err, &u) {
		t.Errorf("disassembled: %v", err)
	}
}

package task

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/asm"
)

// What golden files leave out of a descriptor is what a task that computes nothing has.
func TestBlankDescriptor(t *testing.T) {
	blank := New()
	chain := loader.Sequence(loader.NewDescriptor(blank.h, &blank.g))
	text := regs.EncodeChain(chain)
	p, err := (&loader.Options{FirstWords: chain[0].Words}).Read("blank", bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := asm.Disassemble(p)
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(got), ".td\n")
	body, _, _ = strings.Cut(".td\n"+body, "\n\n")
	want, err := os.ReadFile(filepath.Join("..", "..", "golden", "blank.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if body+"\n" != string(want) {
		t.Errorf("a task that computes nothing is\n%s\nblank.txt has\n%s", body, want)
	}
}

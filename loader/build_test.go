package loader

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"anesim/hw/regs"
)

// TestExamples links every example and holds its ports to what its name says.
func TestExamples(t *testing.T) {
	for _, name := range exampleNames() {
		p, err := exampleProgram(name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		l, err := p.Link()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if want := map[string]int{"identity": 2, "concat": 2}[name]; len(l.Tasks) != max(1, want) {
			t.Errorf("%s: %d tasks", name, len(l.Tasks))
		}
		for _, q := range p.Ports {
			if found, ok := p.Port(q.Name, q.Direction); !ok || found.Address != q.Address {
				t.Errorf("%s: port %s is not found by its name", name, q.Name)
			}
			if q.BAR < 4 || p.BARs[q.BAR] != q.Address || l.Segment(q.Address, q.Bytes) == nil {
				t.Errorf("%s: port %+v", name, q)
			}
		}
	}
}

// TestBuilder places a program with scratch memory as bare texts are placed.
func TestBuilder(t *testing.T) {
	build := func() *Builder {
		b, err := exampleBuilder("concat")
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := build()
	b.Scratch, b.Procedure = 0x5000, "two"
	p, err := b.Build("built")
	if err != nil {
		t.Fatal(err)
	}
	want := regs.BARs{0x30014000, 0x30014400, 0, 0x30000000, 0x30008000, 0x3000c000, 0x30010000}
	if p.BARs != want {
		t.Errorf("buffers %#x, want %#x", p.BARs[:8], want[:8])
	}
	if s, ok := p.Segment("__DATA", "__bss"); !ok || s.Size != 0x5000 || s.Data != nil {
		t.Errorf("scratch %+v", s)
	}
	if len(p.Procedures) != 1 || p.Procedures[0] != "two" {
		t.Errorf("procedures %q", p.Procedures)
	}
	b = build()
	b.Ports[0].BAR = 1
	if _, err := b.Build("bad"); err == nil {
		t.Error("a port behind the constants' buffer was taken")
	}
	b = build()
	b.Ports[0].Address = 0x30000040
	if _, err := b.Build("bad"); err == nil {
		t.Error("ports over each other were taken")
	}
	if _, err := new(Builder).Build("bad"); err == nil {
		t.Error("a program without descriptors was taken")
	}
}

// TestScratchKernel: a kernel in scratch memory takes the header's extra word and has no
// weight tiles.
func TestScratchKernel(t *testing.T) {
	b := scratchKernel(t)
	p, err := b.Build("scratch")
	if err != nil {
		t.Fatal(err)
	}
	for d, err := range p.Descriptors() {
		if err != nil || !d.Extended || d.Words != 158 {
			t.Errorf("descriptor of %d words, extended %v: %v", d.Words, d.Extended, err)
		}
	}
	if len(p.Tiles) != 0 || len(p.Relocations) != 0 {
		t.Errorf("%d tiles, %d relocations", len(p.Tiles), len(p.Relocations))
	}
}

// TestSequence links three descriptors.
func TestSequence(t *testing.T) {
	chain := Sequence(blank(126), blank(126), blank(126))
	text := regs.EncodeChain(chain)
	var got []uint32
	for d, err := range regs.Chain(text, chain[0].Words) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, d.Offset, uint32(d.Header.Task), uint32(d.Header.LogEvents))
	}
	want := []uint32{0, 0, 0x408, 0x200, 0x1000001, 0x400, 0x400, 0x3000002, 0x422}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("offsets, tasks and events %#x, want %#x", got, want)
		}
	}
	if one := Sequence(blank(126))[0].Header; one.LogEvents != 0x42a || one.Task != 0x2000000 {
		t.Errorf("a single descriptor: task %#x, events %#x", uint32(one.Task), uint32(one.LogEvents))
	}
}

// TestLateContainer holds the reader to the containers of compilers from 2024 on: the
// operand of an output is not named as its port, which the symbol names, and every lane
// that is off has a sentinel tile.
func TestLateContainer(t *testing.T) {
	b, err := exampleBuilder("conv")
	if err != nil {
		t.Fatal(err)
	}
	b.Late = true
	p, err := b.Build("late")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"x", "y"} {
		if got := p.Ports[i].Name; got != want {
			t.Errorf("port %d is %q, want %q", i, got, want)
		}
	}
	var operands []string
	for _, l := range p.Container.Loads {
		if o, ok := l.(*OperationLoad); ok {
			operands = append(operands, o.Operand+" of "+o.Port)
			if n := len(o.Raw()); n < 0xd48 {
				t.Errorf("operation command of %#x bytes", n)
			}
		}
	}
	if want := []string{"x of x", "y@output of y"}; !slices.Equal(operands, want) {
		t.Errorf("operands %q, want %q", operands, want)
	}
	live := 0
	for i, tile := range p.Tiles {
		if tile.Live {
			live++
		}
		if end := p.BARs[regs.BARWeights] + uint64(len(b.Constants)); tile.Lane != i || tile.Live != (i < 3) || !tile.Live && tile.Addr != end {
			t.Errorf("tile %d: %+v, section ends at %#x", i, tile, end)
		}
	}
	if live != 3 || len(p.Tiles) != 16 || len(p.Relocations) != 3 {
		t.Errorf("%d tiles, %d live, %d relocations; want 16, 3, 3", len(p.Tiles), live, len(p.Relocations))
	}
	file := p.Container.Bytes()
	again, err := Read("late", bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Bytes(), file) {
		t.Error("the written container differs from the read one")
	}
	// A symbol that no port has is refused, whatever the operand is called.
	at := bytes.Index(file, []byte("y@output\x00y\x00")) + len("y@output\x00")
	file[at] = 'q'
	if _, err := Read("late", bytes.NewReader(file), int64(len(file))); err == nil || !strings.Contains(err.Error(), "missing port command") {
		t.Errorf("an operation of no port: %v", err)
	}
}

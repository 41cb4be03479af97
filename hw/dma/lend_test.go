package dma

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/x448/float16"
)

// What is lent is the memory itself until it grows, and is not handed on; values that are taken
// out of the memory's own bytes are those bytes.
func TestLend(t *testing.T) {
	if !native {
		t.Skip("the host's words are not the device's: nothing is lent")
	}
	m := memory(t, Segment{"a", 0x1000, 1 << 20, nil})
	data := []float16.Float16{0x0201, 0x0403, 0x0605}
	if !m.Lend(0x1000, data) {
		t.Fatal("an empty segment takes nothing")
	}
	b, err := m.Bytes(0x1002, 4)
	if err != nil || !cmp.Equal(b, []byte{3, 4, 5, 6}) {
		t.Fatalf("%v, %v", b, err)
	}
	b[0] = 9
	if data[1] != 0x0409 {
		t.Errorf("%v is a copy", data)
	}
	if _, ok := m.Halves(0x1002, 2); ok {
		t.Error("what is lent is handed on")
	}
	if _, err := m.Bytes(0x1000, 8); err != nil {
		t.Fatal(err)
	}
	if b, err := m.Bytes(0x1000, 8); err != nil || !cmp.Equal(b, []byte{1, 2, 9, 4, 5, 6, 0, 0}) {
		t.Errorf("behind what was lent: %v, %v", b, err)
	}
	out, ok := m.Halves(0x1002, 3) // of the copy, which is the memory's own
	if !ok || len(out) != 3 || out[0] != 0x0409 || &out[0] == &data[1] {
		t.Errorf("%v, %v", out, ok)
	}
	b, err = m.Bytes(0x1002, 2)
	if err != nil {
		t.Fatal(err)
	}
	if b[0] = 7; out[0] != 0x0407 || data[1] != 0x0409 {
		t.Errorf("%v and %v: not the memory itself, or still the lender's", out, data)
	}
}

// A slice that somebody else owns must not become memory that is written, that reaches beyond
// it or that has bytes of its own.
func TestLendRefuses(t *testing.T) {
	data := make([]float16.Float16, 4)
	for name, prepare := range map[string]func(m *Memory) (addr uint64){
		"written":              func(m *Memory) uint64 { must(t, m.CheckWrite(0x1006, 2)); return 0x1000 },
		"read beyond":          func(m *Memory) uint64 { must(t, m.Check(0x1006, 3)); return 0x1000 },
		"touched":              func(m *Memory) uint64 { _, err := m.Bytes(0x1000, 1); must(t, err); return 0x1000 },
		"with bytes":           func(m *Memory) uint64 { return 0x2000 },
		"not at its start":     func(m *Memory) uint64 { return 0x1002 },
		"outside all segments": func(m *Memory) uint64 { return 0x9000 },
		"too small":            func(m *Memory) uint64 { return 0x3000 },
	} {
		m := memory(t, Segment{"a", 0x1000, 0x100, nil}, Segment{"b", 0x2000, 0x100, []byte{1}}, Segment{"c", 0x3000, 7, nil})
		if m.Lend(prepare(m), data) {
			t.Errorf("%s: lent", name)
		}
	}
	m := memory(t, Segment{"a", 0x1000, 0x100, nil})
	if m.Lend(0x1000, nil) {
		t.Error("nothing is lent")
	}
}

func TestHalvesRefuses(t *testing.T) {
	m := memory(t, Segment{"a", 0x1000, 0x100, nil})
	must(t, m.Check(0x1000, 33))
	for _, at := range []struct{ addr, n uint64 }{
		{0x1001, 8},   // odd
		{0x1000, 8},   // half of it keeps all
		{0x1000, 0},   // nothing
		{0x10fe, 100}, // beyond
	} {
		if _, ok := m.Halves(at.addr, at.n); ok {
			t.Errorf("%d values at %#x are shared", at.n, at.addr)
		}
	}
	if _, ok := m.Halves(0x1000, 9); ok != native {
		t.Errorf("more than half of a segment: %v", ok)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

package e5

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/internal/enums"
	"anesim/loader"
)

// Operations name symbols by their place; a piece reads what the one before wrote, and the
// casts stand at the ends.
func TestOperandsOfAChain(t *testing.T) {
	one := part(t, product(64))
	two := part(t, product(64))
	p, err := New(seven(), one, two)
	if err != nil {
		t.Fatal(err)
	}
	ports := map[loader.Direction][]string{}
	for _, q := range one.Program.Ports {
		ports[q.Direction] = append(ports[q.Direction], q.Name)
	}
	names := func(list []uint32) (s []string) {
		for _, n := range list {
			s = append(s, p.Symbols[n])
		}
		return s
	}
	host := func(list []string) (s []string) {
		for _, n := range list {
			s = append(s, "host "+n)
		}
		return s
	}
	in, out := ports[loader.Input], ports[loader.Output]
	if len(in) == 0 || len(out) == 0 {
		t.Fatal("a product without ports")
	}
	want := [][2][]string{{host(in), in}, {in, out}, {in, out}, {out, host(out)}}
	chain := slices.Collect(func(yield func(*Operation) bool) {
		for _, o := range p.Chain() {
			if !yield(o) {
				return
			}
		}
	})
	if len(chain) != len(want) {
		t.Fatalf("%d operations", len(chain))
	}
	for i, o := range chain {
		if got := [2][]string{names(o.Inputs), names(o.Outputs)}; cmp.Diff(want[i], got) != "" {
			t.Errorf("%s from %v to %v, want %v", o.Name, got[0], got[1], want[i])
		}
	}
	for i, name := range []string{"Op0_", "Op1_", "Op2_", "Op3_"} {
		if o := chain[i]; o.Name[:4] != name || o.Frame != o.Name+"__arg_frame" {
			t.Errorf("operation %d is %s with frame %s", i, o.Name, o.Frame)
		}
	}
	if &chain[1].Inputs[0] == &chain[2].Inputs[0] {
		t.Error("both pieces have one list of inputs")
	}
	back, err := Read(p.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p.Symbols, back.Symbols); diff != "" {
		t.Error(diff)
	}
	for i, o := range slices.Collect(func(yield func(*Operation) bool) {
		for _, o := range back.Chain() {
			if !yield(o) {
				return
			}
		}
	}) {
		if !slices.Equal(o.Inputs, chain[i].Inputs) || !slices.Equal(o.Outputs, chain[i].Outputs) || o.Type != chain[i].Type {
			t.Errorf("operation %d comes back as %+v", i, o)
		}
	}
}

// An offset may lead to the last byte but not out of the buffer.
func TestOffsetsInside(t *testing.T) {
	b := &buffer{b: make([]byte, 16)}
	for _, tc := range []struct {
		at   int
		n    uint32
		good bool
	}{{0, 0, false}, {0, 1, true}, {0, 16, true}, {0, 17, false}, {8, 8, true}, {8, 9, false}, {8, 16, false}, {12, 4, true}, {13, 1, false}, {-1, 1, false}} {
		if tc.at >= 0 && tc.at+4 <= len(b.b) {
			binary.LittleEndian.PutUint32(b.b[tc.at:], tc.n)
		}
		to, err := b.followOffset(tc.at, "it")
		if (err == nil) != tc.good || tc.good && to != tc.at+int(tc.n) {
			t.Errorf("%d from %d of 16: %d, %v", tc.n, tc.at, to, err)
		}
	}
}

// A virtual table may stand anywhere in the buffer, its first and its last four bytes too,
// and every field of it inside its table.
func TestVirtualTables(t *testing.T) {
	// A table of 8 bytes at an offset, and its virtual table at another.
	make := func(n, at, vtable, size, inline int, fields ...uint16) *buffer {
		b := &buffer{b: make([]byte, n)}
		le := binary.LittleEndian
		le.PutUint32(b.b[at:], uint32(int32(at-vtable)))
		if vtable >= 0 && vtable+4 <= n {
			le.PutUint16(b.b[vtable:], uint16(size))
			le.PutUint16(b.b[vtable+2:], uint16(inline))
		}
		for i, f := range fields {
			le.PutUint16(b.b[vtable+4+2*i:], f)
		}
		return b
	}
	for name, tc := range map[string]struct {
		b    *buffer
		at   int
		good bool
	}{
		"first":                       {make(16, 8, 0, 4, 8), 8, true},
		"last":                        {make(16, 4, 12, 4, 8), 4, true},
		"behind the last":             {make(16, 4, 14, 4, 8), 4, false},
		"before the first":            {make(16, 4, -2, 4, 8), 4, false},
		"odd":                         {make(16, 8, 1, 4, 4), 8, false},
		"of the least size":           {make(16, 8, 0, 4, 4), 8, true},
		"below it":                    {make(16, 8, 0, 2, 4), 8, false},
		"a table below its least":     {make(16, 8, 0, 4, 2), 8, false},
		"a field at its least":        {make(16, 8, 0, 6, 8, 4), 8, true},
		"below that":                  {make(16, 8, 0, 6, 8, 3), 8, false},
		"a field at the table's end":  {make(16, 8, 0, 6, 8, 8), 8, true},
		"behind it":                   {make(16, 8, 0, 6, 8, 9), 8, false},
		"the second field behind it":  {make(18, 8, 0, 8, 8, 4, 9), 8, false},
		"none, which stands nowhere":  {make(16, 8, 0, 6, 8, 0), 8, true},
		"what stands behind the size": {make(16, 8, 0, 4, 8, 9), 8, true},
	} {
		if _, err := tc.b.readTable(tc.at, "it"); (err == nil) != tc.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Elements fill the buffer at most, and are charged with their size.
func TestElementsFit(t *testing.T) {
	for _, tc := range []struct {
		n    uint32
		size int
		good bool
	}{{12, 1, true}, {13, 1, false}, {3, 4, true}, {4, 4, false}, {16, 0, true}, {17, 0, false}} {
		b := &buffer{b: make([]byte, 16)}
		binary.LittleEndian.PutUint32(b.b, tc.n)
		at, n, err := b.locateElements(0, tc.size, "it")
		if (err == nil) != tc.good || tc.good && (at != 4 || n != int(tc.n) || b.cost != 4+int(tc.n)*tc.size) {
			t.Errorf("%d elements of %d: %d at %d, cost %d, %v", tc.n, tc.size, n, at, b.cost, err)
		}
	}
	b := &buffer{b: make([]byte, 4)}
	if b.limitSharedBytes(0, maxSharing*4) != nil || b.limitSharedBytes(0, 1) == nil {
		t.Errorf("a buffer may be referred to %d times and no more", maxSharing)
	}
}

// A type is a byte: 255 is read, 256 is not.
func TestLargestOperationType(t *testing.T) {
	for kind, good := range map[int32]bool{255: true, 256: false} {
		p, err := New(seven(), part(t, product(64)))
		if err != nil {
			t.Fatal(err)
		}
		file := p.Bytes()
		found := 0 // places at which the type stands
		for at := 0; at+4 <= len(file); at += 2 {
			if binary.LittleEndian.Uint32(file[at:]) != uint32(enums.OpTypeAneInference) {
				continue
			}
			changed := slices.Clone(file)
			binary.LittleEndian.PutUint32(changed[at:], uint32(kind))
			q, err := Read(changed)
			var f *FormatError
			switch {
			case err == nil && good:
				for _, o := range q.Chain() {
					if int32(o.Type) == kind {
						found++
					}
				}
			case !good && errors.As(err, &f) && f.What == "invalid operation type 256; want at most 255":
				found++
			}
		}
		if found == 0 {
			t.Errorf("type %d: read nowhere, or refused nowhere; want read %v", kind, good)
		}
	}
}

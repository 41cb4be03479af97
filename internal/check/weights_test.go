package check

import (
	"bytes"
	"strings"
	"testing"

	"anesim"
	"anesim/loader"
	"anesim/loader/lower"
)

// constantsOfProgram runs the program in the file b and returns the constants that its descriptors
// read.
func constantsOfProgram(t *testing.T, b []byte) []Constants {
	t.Helper()
	m, err := anesim.Read("identity.hwx", bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.Run(t.Context(), anesim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := ConstantsOf(r)
	if err != nil || len(c) != len(r.Report.Descriptors) {
		t.Fatalf("%d descriptors have constants, %v", len(c), err)
	}
	return c
}

// A changed weight is found in the descriptor that reads it, with the bytes and the size of
// the change.
func TestConstants(t *testing.T) {
	b, err := lower.Example("identity")
	if err != nil {
		t.Fatal(err)
	}
	before := constantsOfProgram(t, b)
	p, err := loader.Read("identity.hwx", strings.NewReader(string(b)), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	s, ok := p.Segment("__KERN_0", "__kern_0")
	if !ok {
		t.Fatal("no constants")
	}
	at := bytes.Index(b, s.Data)
	one := bytes.Index(s.Data, []byte{0x00, 0x3c})
	if at < 0 || one < 0 {
		t.Fatal("no weight of one")
	}
	changed := bytes.Clone(b)
	changed[at+one+1] = 0x40 // 1 is 2
	after := constantsOfProgram(t, changed)
	found := 0
	for i := range before {
		left := int64(MostCompared)
		if d, known := before[i].Compare(&before[i], &left); !known || d.Changed() || d.OfBytes > 0 && left == MostCompared {
			t.Errorf("descriptor %d differs from itself: %+v", i, d)
		}
		d, known := before[i].Compare(&after[i], &left)
		if !d.Changed() {
			continue
		}
		found++
		if want := (ConstantsChange{Bytes: 1, OfBytes: 8192, Values: 1, OfValues: 4096, A: 8192, B: 8192, Largest: 1}); !known || d != want {
			t.Errorf("descriptor %d: %+v, want %+v", i, d, want)
		}
		left = 100
		if d, known := before[i].Compare(&after[i], &left); known || d.Changed() {
			t.Errorf("beyond what is left: %+v", d)
		}
	}
	if found != 1 {
		t.Errorf("%d descriptors differ", found)
	}
}

// Bytes that one side lacks differ, as do numbers that are none.
func TestConstantsOfOtherSizes(t *testing.T) {
	left := int64(100)
	a := Constants{[][]byte{{0, 0x3c, 0, 0x3c}, {1, 2}}, true}
	b := Constants{[][]byte{{0, 0x7c, 0, 0x3c, 5, 6}}, true}
	want := ConstantsChange{Bytes: 1 + 2 + 2, OfBytes: 8, Values: 3, OfValues: 4, A: 6, B: 6}
	for _, x := range [][2]*Constants{{&a, &b}, {&b, &a}} {
		if d, known := x[0].Compare(x[1], &left); d != want || !known {
			t.Errorf("%+v, want %+v", d, want)
		}
	}
	b.Halves = false
	if d, _ := a.Compare(&b, &left); d.OfValues != 0 || d.Bytes != want.Bytes {
		t.Errorf("%+v", d)
	}
}

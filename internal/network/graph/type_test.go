package graph

import (
	"math"
	"slices"
	"testing"
)

// TestTypes holds the name, the size and the bytes of each type, and what a number is as one of
// its elements: whole numbers wrap, those with a fraction are rounded, and those of bfloat16 cut
// off.
func TestTypes(t *testing.T) {
	for _, c := range []struct {
		elem    Type
		name    string
		float   bool
		v, as   float64
		encoded []byte // of 1
	}{
		{Float, "float32", true, 1. / 3, float64(float32(1. / 3)), []byte{0, 0, 128, 63}},
		{Double, "float64", true, 1. / 3, 1. / 3, []byte{0, 0, 0, 0, 0, 0, 240, 63}},
		{Float16, "float16", true, 2049, 2048, []byte{0, 60}},
		{BFloat16, "bfloat16", true, 1.0078124, 1, []byte{128, 63}},
		{Bool, "bool", false, 0.25, 1, []byte{1}},
		{Int8, "int8", false, 200.9, -56, []byte{1}},
		{Uint8, "uint8", false, -1, 255, []byte{1}},
		{Int16, "int16", false, 40000, -25536, []byte{1, 0}},
		{Uint16, "uint16", false, 65537, 1, []byte{1, 0}},
		{Int32, "int32", false, 1 << 31, -1 << 31, []byte{1, 0, 0, 0}},
		{Uint32, "uint32", false, -1, 1<<32 - 1, []byte{1, 0, 0, 0}},
		{Int64, "int64", false, -2.5, -2, []byte{1, 0, 0, 0, 0, 0, 0, 0}},
		{Int4, "int4", false, 9.5, -7, []byte{1}},
		{Uint4, "uint4", false, -1, 15, []byte{1}},
		{Int2, "int2", false, 2, -2, []byte{1}},
		{Uint2, "uint2", false, 7, 3, []byte{1}},
	} {
		if c.elem.String() != c.name || c.elem.IsFloat() != c.float || c.elem.Width() != len(c.encoded) {
			t.Errorf("%s has %d bytes, a fraction: %t; want %s, %d and %t", c.elem, c.elem.Width(), c.elem.IsFloat(), c.name, len(c.encoded), c.float)
		}
		if as := Rounded(c.elem, c.v); as != c.as {
			t.Errorf("%g is %g as %s, want %g", c.v, as, c.elem, c.as)
		}
		if b := c.elem.Append(nil, 1); !slices.Equal(b, c.encoded) {
			t.Errorf("1 is %v as %s, want %v", b, c.elem, c.encoded)
		}
	}
	if x := Type(99); x.String() != "type 99" || x.Width() != 0 {
		t.Errorf("an unknown type is %s of %d bytes", x, x.Width())
	}
}

// TestInteger holds that numbers beyond 64 bits are the nearest that these have.
func TestInteger(t *testing.T) {
	for v, want := range map[float64]int64{1e300: math.MaxInt64, -1e300: math.MinInt64, -7.9: -7} {
		if got := Integer(v); got != want {
			t.Errorf("%g is %d, want %d", v, got, want)
		}
	}
	if got := Integer(math.NaN()); got != 0 {
		t.Errorf("what is no number is %d", got)
	}
}

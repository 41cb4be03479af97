package onnx

import (
	"bytes"
	"slices"
	"testing"

	"anesim/internal/network/wire"
)

// TestSharedBytes reads elements of 4 and 2 bits, of which the first has the lowest bits of a byte,
// from the forms in which files store them. The last byte may have room for more elements.
func TestSharedBytes(t *testing.T) {
	for _, c := range []struct {
		elem DataType
		raw  []byte
		want []float64
	}{
		{Int4, []byte{0x8f, 0x07}, []float64{-1, -8, 7}},
		{Uint4, []byte{0x8f, 0x07}, []float64{15, 8, 7}},
		{Int2, []byte{0b10_01_00_11, 0b01}, []float64{-1, 0, 1, -2, 1}},
		{Uint2, []byte{0b10_01_00_11, 0b01}, []float64{3, 0, 1, 2, 1}},
	} {
		dims := []int64{int64(len(c.want))}
		inFile := NewTensor("w", c.elem, dims, nil)
		inFile.ReadFromFile(bytes.NewReader(append([]byte{99}, c.raw...)), 1, int64(len(c.raw)))
		message := wire.Encoding{}.Int(1, len(c.want)).Int(2, int(c.elem))
		for _, b := range c.raw {
			message = message.Int(5, int(b))
		}
		integers, err := ReadTensor(message)
		if err != nil {
			t.Fatal(err)
		}
		for form, x := range map[string]*Tensor{"bytes": NewTensor("w", c.elem, dims, c.raw), "a file": inFile, "integers": integers} {
			if got, err := x.Numbers(); err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%v from %s: %v, %v; want %v", c.elem, form, got, err, c.want)
			}
		}
		if _, err := NewTensor("w", c.elem, []int64{9}, c.raw).Numbers(); err == nil {
			t.Errorf("%v: %d bytes are read as 9 elements", c.elem, len(c.raw))
		}
	}
}

package mac

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/x448/float16"
)

func ExampleUnpackSparse() {
	src := []byte{0b0000_0110, 0x00, 0x3c, 0x00, 0xc0} // the second and third of four
	w := make([]float16.Float16, 4)
	n, err := UnpackSparse(w, src)
	fmt.Println(w, n, err)
	// Output: [0 1 -2 0] 5 <nil>
}

func ExampleUnpackPalette() {
	codebook := []float16.Float16{0x0000, 0x3c00, 0xbc00}
	w := make([]float16.Float16, 3)
	err := UnpackPalette(w, codebook, []byte{0x21, 0x00}, 4) // low nibble first
	fmt.Println(w, err)
	// Output: [1 -1 0] <nil>
}

func ExampleUnpackInt8() {
	w := make([]float16.Float16, 4)
	err := UnpackInt8(w, []byte{1, 0xff, 127, 0x80}, []float16.Float16{0x3800, 0x3c00}) // 1/2, 1
	fmt.Println(w, err)
	// Output: [0.5 -0.5 127 -128] <nil>
}

func TestWeightsThereAndBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for n := range 70 {
		few := make([]float16.Float16, n)
		some := make([]float16.Float16, n)
		for i := range few {
			few[i] = float16.Float16(rng.IntN(16) << 10)
			if rng.IntN(3) == 0 {
				some[i] = float16.Float16(rng.Uint32())
			}
		}
		for _, bits := range []int{4, 8} {
			book, indices, err := packPalette(few, bits)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]float16.Float16, n)
			if err := UnpackPalette(got, book, indices, bits); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(few, got); d != "" {
				t.Fatalf("palette of %d bits, %d weights:\n%s", bits, n, d)
			}
		}
		packed := packSparse(some)
		got := make([]float16.Float16, n)
		read, err := UnpackSparse(got, append(packed, 1, 2, 3))
		if err != nil || read != len(packed) {
			t.Fatalf("sparse: read %d of %d bytes, %v", read, len(packed), err)
		}
		for i := range some {
			if got[i] != some[i] {
				t.Fatalf("sparse: weight %d is %#04x, want %#04x", i, got[i], some[i])
			}
		}
	}
}

// TestInt8Error bounds the error of a round trip: half a step, the rounding of the product
// and, for the largest values, 127 times the rounding of the scale.
func TestInt8Error(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	const channels, row = 5, 33
	w := make([]float16.Float16, channels*row)
	for i := range w {
		w[i] = float16.Fromfloat32(float32(rng.NormFloat64()) * float32(i/row))
	}
	q, scale, err := packInt8(w, channels)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float16.Float16, len(w))
	if err := UnpackInt8(got, q, scale); err != nil {
		t.Fatal(err)
	}
	for i := range w {
		s := float64(scale[i/row].Float32())
		if e := math.Abs(float64(got[i].Float32() - w[i].Float32())); e > 0.63*s {
			t.Errorf("weight %d: %v came back as %v, %.2f steps away", i, w[i], got[i], e/s)
		}
	}
}

func TestInt8Specials(t *testing.T) {
	got := make([]float16.Float16, 6)
	err := UnpackInt8(got, []byte{0, 1, 0xff, 1, 127, 1}, []float16.Float16{0x7e00, 0x7c00, 0x7bff})
	want := []float16.Float16{0, 0x7c00, 0xfc00, 0x7c00, 0x7c00, 0x7bff}
	if err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	// 127 * 1.0009765625 = 127.124..., between 127.0625 and 127.125.
	if err := UnpackInt8(got[:1], []byte{127}, []float16.Float16{0x3c01}); err != nil || got[0] != 0x57f2 {
		t.Errorf("rounds to %#04x, %v; want 0x57f2", got[0], err)
	}
}

func TestWeightErrors(t *testing.T) {
	two := make([]float16.Float16, 2)
	many := make([]float16.Float16, 17)
	for i := range many {
		many[i] = float16.Float16(i)
	}
	unpackSparse := func(src ...byte) error { _, err := UnpackSparse(two, src); return err }
	pack := func(w []float16.Float16, bits int) error { _, _, err := packPalette(w, bits); return err }
	packBytes := func(w []float16.Float16, channels int) error { _, _, err := packInt8(w, channels); return err }
	for _, tt := range []struct {
		name string
		err  error
		form string
		off  int
	}{
		{"palette short", UnpackPalette(make([]float16.Float16, 3), two, []byte{0}, 4), "palette", 1},
		{"palette index", UnpackPalette(two, two, []byte{0x20}, 4), "palette", 0},
		{"palette width", UnpackPalette(two, two, []byte{0, 0}, 2), "palette", 0},
		{"pack width", pack(two, 3), "palette", 0},
		{"pack too many", pack(many, 4), "palette", 32},
		{"sparse mask", unpackSparse(), "sparse", 0},
		{"sparse halves", unpackSparse(3, 0, 0, 1), "sparse", 4},
		{"int8 short", UnpackInt8(two, []byte{1}, two), "int8", 1},
		{"int8 channels", UnpackInt8(two, []byte{1, 2}, many[:3]), "int8", 0},
		{"int8 no channels", UnpackInt8(two, []byte{1, 2}, nil), "int8", 0},
		{"int8 pack channels", packBytes(two, 0), "int8", 0},
		{"int8 pack infinity", packBytes([]float16.Float16{0, 0x7c00}, 1), "int8", 2},
	} {
		var e *FormatError
		if !errors.As(tt.err, &e) || e.Form != tt.form || e.Off != tt.off {
			t.Errorf("%s: %v, want %s at byte %d", tt.name, tt.err, tt.form, tt.off)
		}
	}
	if err := UnpackInt8(nil, nil, nil); err != nil {
		t.Error(err)
	}
	if err := packBytes(nil, 0); err != nil {
		t.Error(err)
	}
	e := &FormatError{"sparse", 4, "missing value at index", 1}
	if got, want := e.Error(), "mac: sparse: byte 4: missing value at index: 1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestUnpackInt8OfLongRows compares rows on both sides of 256 weights with the same weights one by one,
// for every byte and for scales at the ends of fp16.
func TestUnpackInt8OfLongRows(t *testing.T) {
	for _, scale := range []float16.Float16{0, 0x8000, 1, 0x03ff, 0x2e66, 0x3c00, 0xbc01, 0x7bff, 0x7c00, 0xfc00, 0x7e00} {
		for _, row := range []int{1, 255, 256, 257, 1000} {
			q := make([]byte, row)
			for i := range q {
				q[i] = byte(i * 7)
			}
			got := make([]float16.Float16, row)
			if err := UnpackInt8(got, q, []float16.Float16{scale}); err != nil {
				t.Fatal(err)
			}
			for i := range q {
				var want [1]float16.Float16
				if err := UnpackInt8(want[:], q[i:], []float16.Float16{scale}); err != nil {
					t.Fatal(err)
				}
				if got[i] != want[0] {
					t.Fatalf("scale %#04x, row of %d: weight %d is %#04x, alone %#04x", scale.Bits(), row, int8(q[i]), got[i].Bits(), want[0].Bits())
				}
			}
		}
	}
}

package mac

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/x448/float16"
)

// FuzzReduce takes shapes and halves from the input and holds every implementation
// to the portable one, at every offset of the data within its allocation.
func FuzzReduce(f *testing.F) {
	f.Add([]byte{3, 5, 1, 0, 0x00, 0x3c, 0x00, 0x6c, 0x00, 0xec, 0xff, 0x7b, 0x01, 0x00})
	f.Add([]byte{64, 9, 4, 1, 0x00, 0x7c, 0x00, 0x00, 0x00, 0xfc, 0x00, 0x3c})
	f.Add([]byte{17, 1, 5, 0, 0x00, 0x78, 0x00, 0xf8, 0xff, 0x77})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 6 {
			return
		}
		lanes, k, vectors := 1+int(data[0]), 1+int(data[1])%48, 1+int(data[2])%9
		rule, offset := []Arithmetic{H13, Later}[data[3]&1], int(data[3]>>1)%16
		data = data[4:]
		// A short input repeats with a twist, so that columns differ.
		at := uint32(0)
		next := func() float32 {
			i := int(at) * 2 % (len(data) &^ 1)
			h := binary.LittleEndian.Uint16(data[i:])
			if round := int(at) * 2 / (len(data) &^ 1); round > 0 {
				h ^= uint16(round * 0x9e37 >> 3)
			}
			at++
			return rule.widenHalf(float16.Float16(h))
		}
		draw := func(n int) []float32 {
			v := make([]float32, offset+n)[offset:]
			for i := range v {
				v[i] = next()
			}
			return v
		}
		panel, taps, start := draw(lanes*k), TapsOf(k, draw(k*vectors)), Start{PerVector: draw(vectors)}
		want := make([]float32, lanes*vectors)
		for m := range vectors {
			reduceByDefinition(rule, want[m*lanes:][:lanes], panel, lanes, taps, m, &start)
		}
		for _, lv := range supportedLevels() {
			got := make([]float32, offset+len(want)+1)[offset:]
			got[len(want)] = 42
			rule.reduceAtLevel(lv, got[:len(want)], panel, lanes, taps, &start)
			for i := range want {
				if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
					t.Fatalf("%v, %d lanes, %d taps, %d vectors, %+v: result %d is %g, want %g", lv, lanes, k, vectors, rule, i, got[i], want[i])
				}
			}
			if got[len(want)] != 42 {
				t.Fatalf("%v wrote past the results", lv)
			}
		}
	})
}

// FuzzPost holds the implementations of the narrow to each other.
func FuzzPost(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 128, 63, 0, 0, 128, 191}, float32(1), float32(0), byte(0))
	f.Add([]byte{0, 0, 0, 248, 255, 70, 0, 0, 128, 127}, float32(0), float32(math.Inf(-1)), byte(3))
	f.Fuzz(func(t *testing.T, data []byte, scale, bias float32, flags byte) {
		if scale != scale || bias != bias {
			return
		}
		acc := make([]float32, len(data)/4)
		for i := range acc {
			acc[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
		post := Post{Scale: scale, Bias: bias, ReLU: flags&1 != 0}
		want := make([]float16.Float16, len(acc))
		narrowPortable(want, acc, &post)
		for _, lv := range supportedLevels()[1:] {
			got := make([]float16.Float16, len(acc))
			narrowAtLevel(lv, got, acc, &post)
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("%v %+v: %g leaves as %#04x, want %#04x", lv, post, acc[i], uint16(got[i]), uint16(want[i]))
				}
			}
		}
	})
}

// FuzzTable looks for a table that loses bytes or makes a NaN.
func FuzzTable(f *testing.F) {
	for _, a := range Activations() {
		table := TableOf(a)
		b := table.Encode()
		f.Add(b[:], uint16(0x3c00))
	}
	f.Fuzz(func(t *testing.T, b []byte, input uint16) {
		table, err := ParseTable(b)
		if err != nil {
			return
		}
		if again := table.Encode(); string(again[:]) != string(b) {
			t.Error("Encode changes the bytes")
		}
		for i := range uint16(64) {
			x := float16.Float16(input + i*0x3a01)
			if h := table.Eval(x); h.IsNaN() {
				t.Errorf("the value at %v (%#04x) is NaN", x, uint16(x))
			}
		}
	})
}

// FuzzWeights feeds arbitrary bytes to the unpackers and checks that weights which they
// accept pack to the same halves.
func FuzzWeights(f *testing.F) {
	f.Add([]byte{0b110, 0, 0x3c, 0, 0xc0}, uint8(4))
	f.Add([]byte{0xff, 1, 2, 3, 4, 5, 6, 7, 8}, uint8(30))
	f.Fuzz(func(t *testing.T, src []byte, n uint8) {
		w := make([]float16.Float16, n)
		if read, err := UnpackSparse(w, src); err == nil {
			if read > len(src) {
				t.Fatalf("read %d of %d bytes", read, len(src))
			}
			again := make([]float16.Float16, n)
			if _, err := UnpackSparse(again, packSparse(w)); err != nil || !slices.Equal(w, again) {
				t.Fatalf("sparse %v became %v, %v", w, again, err)
			}
		}
		book := []float16.Float16{0, 1, 2, 3, 4, 5, 6, 7}
		for _, bits := range []int{4, 8} {
			if UnpackPalette(w, book, src, bits) != nil {
				continue
			}
			book, indices, err := packPalette(w, bits)
			again := make([]float16.Float16, n)
			if err == nil {
				err = UnpackPalette(again, book, indices, bits)
			}
			if err != nil || !slices.Equal(w, again) {
				t.Fatalf("palette %v became %v, %v", w, again, err)
			}
		}
		if err := UnpackInt8(w, src, []float16.Float16{0x3c00}); err == nil {
			for i, h := range w {
				if h.Float32() != float32(int8(src[i])) {
					t.Fatalf("int8 %d became %v", int8(src[i]), h)
				}
			}
		}
	})
}

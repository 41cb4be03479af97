package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/x448/float16"
)

func halves(values ...float32) []float16.Float16 {
	h := make([]float16.Float16, len(values))
	for i, v := range values {
		h[i] = float16.Fromfloat32(v)
	}
	return h
}

// count returns n different fp16 values.
func count(n int) []float16.Float16 {
	h := make([]float16.Float16, n)
	for i := range h {
		h[i] = float16.Frombits(uint16(i))
	}
	return h
}

func read(file []byte) (Array, error) { return Read(bytes.NewReader(file), int64(len(file))) }

// file returns a .npy file of the given major version, with text as its header and with the values
// data.
func file(major byte, text string, data ...float16.Float16) []byte {
	b := append([]byte(magic), major, 0)
	if major == 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(text)))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
	}
	b = append(b, text...)
	for _, v := range data {
		b = binary.LittleEndian.AppendUint16(b, v.Bits())
	}
	return b
}

// TestWriteLikeNumPy compares with what numpy.save writes, as numpy.lib.format has it:
// the first extent padded to 21 digits, the whole to 64 bytes.
func TestWriteLikeNumPy(t *testing.T) {
	for _, test := range []struct {
		shape []int
		want  string
	}{
		{[]int{}, "\x93NUMPY\x01\x00v\x00{'descr': '<f2', 'fortran_order': False, 'shape': (), }" + strings.Repeat(" ", 62) + "\n"},
		{[]int{3}, "\x93NUMPY\x01\x00v\x00{'descr': '<f2', 'fortran_order': False, 'shape': (3,), }" + strings.Repeat(" ", 60) + "\n"},
		{[]int{1, 64, 8, 8}, "\x93NUMPY\x01\x00v\x00{'descr': '<f2', 'fortran_order': False, 'shape': (1, 64, 8, 8), }" + strings.Repeat(" ", 51) + "\n"},
	} {
		n, _ := countElements(test.shape)
		var b bytes.Buffer
		if err := Write(&b, test.shape, count(n)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, b.String()[:128]); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.shape, diff)
		}
		if b.Len() != 128+2*n {
			t.Errorf("%v: %d bytes, want %d", test.shape, b.Len(), 128+2*n)
		}
	}
}

func TestHeaderAlignment(t *testing.T) {
	var shape []int
	for range maxAxes {
		shape = append(shape, 1)
		h := appendHeader(nil, dtype, shape)
		if len(h)%alignment != 0 || h[len(h)-1] != '\n' {
			t.Fatalf("%d axes: header of %d bytes", len(shape), len(h))
		}
	}
}

func TestRoundTrip(t *testing.T) {
	for _, shape := range [][]int{{}, {0}, {1}, {3, 0, 5}, {2, 3}, {1, 64, 8, 8}, {chunk/2 + 1}, {3, chunk / 2}} {
		n, _ := countElements(shape)
		want := Array{Shape: shape, Data: count(n)}
		var b bytes.Buffer
		if err := Write(&b, want.Shape, want.Data); err != nil {
			t.Fatalf("%v: %v", shape, err)
		}
		got, err := read(b.Bytes())
		if err != nil {
			t.Fatalf("%v: %v", shape, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", shape, diff)
		}
	}
}

func TestRead(t *testing.T) {
	two := Array{Shape: []int{2}, Data: halves(1, -2)}
	matrix := Array{Shape: []int{2, 3}, Data: halves(1, 2, 3, 4, 5, 6)}
	for _, test := range []struct {
		name string
		file []byte
		want Array
	}{
		{"2.0", file(2, "{'descr': '<f2', 'fortran_order': False, 'shape': (2,), }\n", two.Data...), two},
		{"3.0", file(3, "{'descr': '<f2', 'fortran_order': False, 'shape': (2,), }\n", two.Data...), two},
		{"keys in another order", file(1, "{'shape': (2,), 'descr': '<f2', 'fortran_order': False}", two.Data...), two},
		{"little space, double quotes", file(1, `{"descr":"<f2","fortran_order":False,"shape":(2,)}`, two.Data...), two},
		{"Python 2", file(1, "{'descr': '<f2', 'fortran_order': False, 'shape': (2L,), }", two.Data...), two},
		{"C order", file(1, "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), }", matrix.Data...), matrix},
		{"Fortran order", file(1, "{'descr': '<f2', 'fortran_order': True, 'shape': (2, 3), }", halves(1, 4, 2, 5, 3, 6)...), matrix},
	} {
		got, err := read(test.file)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		} else if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestReadOtherTypes(t *testing.T) {
	for _, descr := range []string{"'<f4'", "'<f8'", "'>f2'", "'|u1'", `[('a', '<f2'), ('b]', '<f2', (2,))]`} {
		_, err := read(file(1, "{'descr': "+descr+", 'fortran_order': False, 'shape': (1,), }", 0))
		var other *DTypeError
		if !errors.As(err, &other) || other.DType != strings.Trim(descr, "'") {
			t.Errorf("%s: %v", descr, err)
		} else if !strings.Contains(err.Error(), ".astype('<f2')") {
			t.Errorf("%s: %q does not say how to convert", descr, err)
		}
	}
}

func TestReadMalformed(t *testing.T) {
	const good = "{'descr': '<f2', 'fortran_order': False, 'shape': (1,), }"
	shaped := func(shape string) []byte {
		return file(1, "{'descr': '<f2', 'fortran_order': False, 'shape': "+shape+"}", 0)
	}
	const at = 60 // offset of the shape in shaped
	for _, test := range []struct {
		name string
		file []byte
		off  int64
		what string
	}{
		{"empty", nil, 0, "file has 0 bytes; want at least 10"},
		{"magic", []byte("PK\x03\x04 an archive of arrays"), 0, "magic"},
		{"version", []byte(magic + "\x04\x00\x00\x00\x00\x00"), 6, "version 4.0"},
		{"minor version", []byte(magic + "\x01\x01\x00\x00"), 6, "version 1.1"},
		{"long length cut off", []byte(magic + "\x02\x00\x00\x00"), 8, "unexpected end of file in the header length"},
		{"header cut off", file(1, good)[:40], 8, "header is 57 bytes long; want at most 30"},
		{"huge header", []byte(magic + "\x02\x00\xff\xff\xff\xff {}"), 8, "header is 4294967295 bytes long"},
		{"no dictionary", file(1, "descr"), 10, "dictionary"},
		{"cut off", file(1, "{'descr': '<f2"), 21, "unterminated string"},
		{"no end", file(1, "{'descr': '<f2'"), 25, "missing ',' or '}'"},
		{"no colon", file(1, "{'descr' '<f2'}"), 19, "missing ':'"},
		{"list without end", file(1, "{'descr': [('a', '<f2')"), 20, "unterminated list"},
		{"key missing", file(1, "{'descr': '<f2', 'shape': (1,)}"), 41, "dictionary has 2 keys; want descr"},
		{"key twice", file(1, "{'descr': '<f2', 'descr': '<f2'}"), 34, `duplicate key "descr"`},
		{"unknown key", file(1, "{'order': 'C'}"), 19, `key "order"`},
		{"order", file(1, "{'fortran_order': 0}"), 28, "invalid boolean; want True or False"},
		{"text behind", file(1, good+"x"), 67, "unexpected text after the dictionary"},
		{"no tuple", shaped("[1]"), at, "missing '('"},
		{"tuple without comma", shaped("(1)"), at + 2, "malformed shape after 1"},
		{"negative", shaped("(-1,)"), at + 1, "invalid dimension"},
		{"extent too large", shaped("(99999999999999999999,)"), at + 1, "invalid dimension"},
		{"too many axes", shaped("(" + strings.Repeat("1,", 65) + ")"), at + 129, "shape has more than 64 dimensions"},
		{"overflow", shaped("(4294967296, 4294967296)"), at, "does not fit in memory"},
		{"overflow by the last byte", shaped("(4611686018427387904,)"), at, "does not fit in memory"},
		{"too little data", shaped("(1000000000000,)"), 77, "data has 2 bytes; want 2000000000000"},
		{"too much data", shaped("(0, 9999999999)"), 76, "2 extra bytes after"},
	} {
		a, err := read(test.file)
		var malformed *FormatError
		if !errors.As(err, &malformed) {
			t.Errorf("%s: %v, %v", test.name, a, err)
			continue
		}
		if malformed.Off != test.off || !strings.Contains(malformed.What, test.what) {
			t.Errorf("%s: %v, want byte %#x: %s", test.name, err, test.off, test.what)
		}
	}
}

// TestReadShort has a size that is not the file's.
func TestReadShort(t *testing.T) {
	whole := file(1, "{'descr': '<f2', 'fortran_order': False, 'shape': (3,), }", 1, 2, 3)
	for n := range whole {
		if _, err := Read(bytes.NewReader(whole[:n]), int64(len(whole))); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d of %d bytes: %v", n, len(whole), err)
		}
		if _, err := read(whole[:n]); err == nil {
			t.Errorf("%d of %d bytes were read", n, len(whole))
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	for _, shape := range [][]int{{2}, {-1}, {-1, -1}, {1 << 62, 4}, make([]int, maxAxes+1)} {
		var b bytes.Buffer
		if err := Write(&b, shape, halves(1)); err == nil || b.Len() > 0 {
			t.Errorf("%v: %v, %d bytes", shape, err, b.Len())
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, shape := range [][]int{{}, {3}, {2, 3}} {
		n, _ := countElements(shape)
		var b bytes.Buffer
		if err := Write(&b, shape, count(n)); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := read(b)
		if err != nil {
			var malformed *FormatError
			var other *DTypeError
			if !errors.As(err, &malformed) && !errors.As(err, &other) {
				t.Fatal(err)
			}
			return
		}
		var again bytes.Buffer
		if err := Write(&again, a.Shape, a.Data); err != nil {
			t.Fatal(err)
		}
		got, err := read(again.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(a, got); diff != "" {
			t.Errorf("-first +second:\n%s", diff)
		}
	})
}

// Floats of other widths are rounded once, and written as they were.
func TestRounded(t *testing.T) {
	for _, tc := range []struct {
		in   float64
		want float32
	}{
		{1, 1}, {-2.5, -2.5}, {1 + 1.0/2048, 1}, {1 + 3.0/2048, 1 + 2.0/1024}, // ties go to even
		{1 + 1.0/2048 + 1e-12, 1 + 1.0/1024}, {1 + 1.0/2048 - 1e-12, 1}, // float32 alone would have ties of both
		{1e300, float32(math.Inf(1))}, {-1e-300, 0}, {3 * math.Pow(2, -26), float32(math.Pow(2, -24))},
	} {
		var b bytes.Buffer
		b.Write(appendHeader(nil, "<f8", []int{1, 1}))
		b.Write(little.AppendUint64(nil, math.Float64bits(tc.in)))
		a, err := ReadRounded(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil || len(a.Data) != 1 || a.Data[0].Float32() != tc.want {
			t.Errorf("%g: %v, %v, want %g", tc.in, a, err, tc.want)
		}
	}
	for _, typ := range []string{"float16", "float32", "float64"} {
		var b bytes.Buffer
		data := halves(1, -2, 0.1)
		if err := WriteAs(&b, typ, []int{3}, data); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), map[string]string{"float16": "<f2", "float32": "<f4", "float64": "<f8"}[typ]) {
			t.Errorf("%s: header %q", typ, b.String()[:80])
		}
		if a, err := ReadRounded(bytes.NewReader(b.Bytes()), int64(b.Len())); err != nil || !slices.Equal(a.Data, data) {
			t.Errorf("%s: %v, %v", typ, a, err)
		}
	}
}

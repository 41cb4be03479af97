package input

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/loader/lower"
	"anesim/tools/anesim/internal/npy"
)

func TestStandardInput(t *testing.T) {
	p, err := lower.ExampleProgram("add")
	if err != nil {
		t.Fatal(err)
	}
	m, err := openModel("-", bytes.NewReader(p.Bytes()))
	if err != nil || m.Name() != "stdin" || m.Kind() != anesim.KindProgram {
		t.Errorf("%v, %v", m, err)
	}
	m, err = openModel("-", strings.NewReader("inputs: {x: {c: 4}}\nlayers:\n- {op: relu}\n"))
	if err != nil || m.Kind() != anesim.KindNetwork {
		t.Errorf("%v, %v", m, err)
	}
	if _, err = openModel("-", strings.NewReader("")); err == nil || err.Error() != "stdin: file is empty; want a compiled program or a network" {
		t.Error(err)
	}
}

// zeros never end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// A pipe without an end is given up on. The long test of the command's peak memory reads as much
// as the command accepts.
func TestEndlessPipe(t *testing.T) {
	if data, err := readPipe(zeros{}, 1<<20); err == nil || data != nil || !strings.Contains(err.Error(), "more than 1048576 bytes") {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if data, err := readPipe(io.LimitReader(zeros{}, 1<<20), 1<<20); err != nil || len(data) != 1<<20 {
		t.Errorf("a pipe of as much as is allowed: %d bytes, %v", len(data), err)
	}
}

// Raw fp16 values are read whole, in whatever pieces.
func FuzzRawTensor(f *testing.F) {
	f.Add([]byte{}, uint16(0))
	f.Add([]byte{0, 0x3c, 1}, uint16(0))
	f.Add([]byte{0, 0x3c, 0xff, 0x7b}, uint16(40000))
	f.Fuzz(func(t *testing.T, data []byte, more uint16) {
		data = append(data, make([]byte, more)...)
		name := filepath.Join(t.TempDir(), "x.f16")
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
		got, shape, err := ReadTensor(name)
		if odd := len(data)%2 != 0; odd != (err != nil) || shape != nil {
			t.Fatalf("%d bytes: %v, shape %v", len(data), err, shape)
		}
		for i, v := range got {
			if uint16(v) != binary.LittleEndian.Uint16(data[2*i:]) {
				t.Fatalf("value %d of %d is %#x", i, len(got), uint16(v))
			}
		}
		if err == nil && len(got) != len(data)/2 {
			t.Errorf("%d values of %d bytes", len(got), len(data))
		}
	})
}

// A pipe has no extension: its content shows whether it is a .npy file or raw values.
func TestReadTensorFromAPipe(t *testing.T) {
	values := []float16.Float16{1, 2, 3, 4}
	var whole bytes.Buffer
	if err := npy.Write(&whole, []int{2, 2}, values); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		data  []byte
		shape []int
	}{"npy": {whole.Bytes(), []int{2, 2}}, "raw": {whole.Bytes()[whole.Len()-8:], nil}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		go func() {
			defer w.Close()
			w.Write(tt.data)
		}()
		path := fmt.Sprintf("/dev/fd/%d", r.Fd())
		if _, err := os.Stat(path); err != nil {
			t.Skip("an open pipe has no name here: ", err)
		}
		got, shape, err := ReadTensor(path)
		if err != nil || !slices.Equal(got, values) || !slices.Equal(shape, tt.shape) {
			t.Errorf("%s: %v of shape %v, %v", name, got, shape, err)
		}
	}
}

package input

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anesim"
	"anesim/loader/lower"
)

func TestStandardInput(t *testing.T) {
	p, err := lower.ExampleProgram("add")
	if err != nil {
		t.Fatal(err)
	}
	m, err := OpenModel("-", bytes.NewReader(p.Bytes()))
	if err != nil || m.Name() != "stdin" || m.Kind() != anesim.KindProgram {
		t.Errorf("%v, %v", m, err)
	}
	m, err = OpenModel("-", strings.NewReader("inputs: {x: {c: 4}}\nlayers:\n- {op: relu}\n"))
	if err != nil || m.Kind() != anesim.KindNetwork {
		t.Errorf("%v, %v", m, err)
	}
	if _, err = OpenModel("-", strings.NewReader("")); err == nil || err.Error() != "stdin: file is empty; want a compiled program or a network" {
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

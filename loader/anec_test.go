package loader

import (
	"bytes"
	"testing"
)

// anecExample is an example program in the Linux driver's form.
func anecExample(t testing.TB, name string) []byte {
	t.Helper()
	p, err := exampleProgram(name)
	if err != nil {
		t.Fatal(err)
	}
	file, err := p.ANEC()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// TestANEC takes every example into the Linux driver's form and back.
func TestANEC(t *testing.T) {
	for _, name := range exampleNames() {
		from, err := exampleProgram(name)
		if err != nil {
			t.Fatal(err)
		}
		file := anecExample(t, name)
		p, err := Read(name, bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p.Form != FormANEC || p.FirstWords != from.FirstWords || len(p.Ports) != len(from.Ports) {
			t.Errorf("%s: %s, first descriptor of %d words, %d ports", name, p.Form, p.FirstWords, len(p.Ports))
		}
		if !bytes.Equal(p.Bytes(), file) {
			t.Errorf("%s: the written file differs from the read one", name)
		}
		linked, err := p.Link()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want, err := from.Link()
		if err != nil {
			t.Fatal(err)
		}
		for i, task := range linked.Tasks {
			// The same surfaces at other addresses.
			if task.Groups != want.Tasks[i].Groups {
				t.Errorf("%s: registers of descriptor %d changed", name, i)
			}
		}
		for i := range p.Ports {
			q, r := &p.Ports[i], &from.Ports[i]
			if q.Direction != r.Direction || q.Shape != r.Shape || q.Strides[1:][0] != r.Strides[1] || q.Strides[2] != r.Strides[2] {
				t.Errorf("%s: port %+v, was %+v", name, q, r)
			}
		}
		again, err := p.ANEC()
		if err != nil || !bytes.Equal(again, file) {
			t.Errorf("%s: writing it once more differs: %v", name, err)
		}
		// The wide header, and a first size in words.
		wide := append(bytes.Clone(file[:0x800]), make([]byte, 0x800)...)
		wide = append(wide, file[0x800:]...)
		le.PutUint32(wide[8:], le.Uint32(wide[8:])/4)
		if p, err = Read("wide", bytes.NewReader(wide), int64(len(wide))); err != nil || p.FirstWords != from.FirstWords {
			t.Errorf("%s: wide header: %v", name, err)
		}
	}
}

// anecVectors are broken programs in the Linux driver's form.
func anecVectors(t *testing.T) []vector {
	return vectors(anecExample(t, "conv"), []broken{
		{"chain", func(b []byte) []byte { le.PutUint32(b[0x800+0x1c:], 0x10000); return b }, 0x800 + 0x1c, "is outside the"},
		{"first size", func(b []byte) []byte { le.PutUint32(b[8:], 9); return b }, 8, "gives no valid chain"},
		{"pages", func(b []byte) []byte { le.PutUint32(b[0x28+16:], 1<<24); return b }, 0x28 + 16, "exceeds"},
		{"extent", func(b []byte) []byte { le.PutUint64(b[0xa8+4*48:], 0); return b }, 0xa8 + 4*48, "size of axis n"},
		{"stride", func(b []byte) []byte { le.PutUint64(b[0xa8+4*48+32:], 1<<50); return b }, 0xa8 + 4*48 + 32, "exceeds 42 bits"},
		{"shape", func(b []byte) []byte { le.PutUint64(b[0xa8+4*48+8:], 1<<16); return b }, 0xa8 + 4*48, "exceeds the"},
		{"truncated", func(b []byte) []byte { return b[:0x900] }, -1, ""},
	})
}

func isAnec(file []byte) bool {
	_, ok := readANECHeader(file, int64(len(file)))
	return ok
}

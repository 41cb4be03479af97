package loader

import (
	"bytes"
	"testing"
)

// A file in pieces has the same bytes everywhere as in one piece, wherever the part that is
// apart stands.
func TestPieces(t *testing.T) {
	whole := []byte("0123456789abcdef")
	for from := range len(whole) + 1 {
		for to := from; to <= len(whole); to++ {
			f := &pieces{
				rest:  append(bytes.Clone(whole[:from]), whole[to:]...),
				apart: extent{uint64(from), whole[from:to], "middle"},
			}
			if from == to {
				f.apart = extent{}
			}
			if f.totalBytes() != uint64(len(whole)) || !bytes.Equal(f.joinPieces(), whole) {
				t.Fatalf("[%d:%d] apart: %d bytes, %q", from, to, f.totalBytes(), f.joinPieces())
			}
			var b bytes.Buffer
			if n, err := f.WriteTo(&b); err != nil || n != int64(len(whole)) || b.String() != string(whole) {
				t.Errorf("[%d:%d] apart: wrote %d bytes %q, %v", from, to, n, b.String(), err)
			}
			for off := range len(whole) + 1 {
				for end := off; end <= len(whole); end++ {
					if got := f.readRange(uint64(off), uint64(end)); !bytes.Equal(got, whole[off:end]) {
						t.Errorf("[%d:%d] apart: bytes %d to %d are %q", from, to, off, end, got)
					}
					if off < end && (end <= from || off >= to) && &f.writableBytes(uint64(off), uint64(end-off))[0] != &f.readRange(uint64(off), uint64(end))[0] {
						t.Errorf("[%d:%d] apart: room at %d is not the file's", from, to, off)
					}
				}
			}
		}
	}
}

// What Build makes of a container without its bytes in one piece is what reading them gives;
// its constants are those it was given, and a short write is said.
func TestBuildWithoutACopy(t *testing.T) {
	builder, err := exampleBuilder("conv")
	if err != nil {
		t.Fatal(err)
	}
	constants := append(bytes.Clone(builder.Constants), make([]byte, 1<<16)...) // the most of the file
	builder.Constants = constants
	p, err := builder.Build("x")
	if err != nil {
		t.Fatal(err)
	}
	s, ok := p.Segment("__TEXT", "__const")
	if !ok || &s.Data[0] != &constants[0] {
		t.Error("the constants were copied")
	}
	again, err := Read("x", bytes.NewReader(p.Bytes()), int64(len(p.Bytes())))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Bytes(), p.Bytes()) || again.Container.Size != p.Container.Size || len(again.Container.gaps) != len(p.Container.gaps) {
		t.Error("what is read back is another container")
	}
	var b bytes.Buffer
	if _, err := p.WriteTo(&b); err != nil || !bytes.Equal(b.Bytes(), p.Bytes()) {
		t.Errorf("WriteTo writes other bytes than Bytes has: %v", err)
	}
}

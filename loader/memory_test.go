package loader

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"os"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"anesim/hw/regs"
	"anesim/loader/internal/cost"
)

// endless is a file of as many bytes as are asked for, each the same.
type endless byte

func (e endless) ReadAt(b []byte, _ int64) (int, error) {
	for i := range b {
		b[i] = byte(e)
	}
	return len(b), nil
}

// TestLargeFiles refuses half a gigabyte of what is no program by its first bytes, and a
// size that is not true by its last.
func TestLargeFiles(t *testing.T) {
	const size = 512 << 20
	for name, r := range map[string]io.ReaderAt{
		"zeros": endless(0), "prose": endless('a'), "noise": endless(0xa5), "lines": endless('\n'), "comments": endless('#'),
		"not so large": bytes.NewReader(make([]byte, 100)),
	} {
		err := cost.Rule{Bytes: 1 << 20}.Check(size, func() {
			if p, err := Read(name, r, size); err == nil || !typed(err) {
				t.Errorf("%s: program %v, error %v", name, p != nil, err)
			}
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLongChain: a bare text costs its bytes and a fraction, however many descriptors it
// has, and so do its descriptions.
func TestLongChain(t *testing.T) {
	n := 20_000
	if os.Getenv("LONG") != "" {
		n = 100_000
	}
	text := longText(t, n)
	rule := cost.Rule{Bytes: 1 << 20, PerByte: 2}
	var p *Program
	var err error
	if err := rule.Check(len(text), func() {
		p, err = Read("chain", bytes.NewReader(text), int64(len(text)))
	}); err != nil {
		t.Error(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	last := -1
	for s, err := range p.States() {
		if err != nil {
			t.Fatal(err)
		}
		last = s.Index
	}
	if last != n-1 {
		t.Errorf("the walk ends at descriptor %d of %d", last, n)
	}
}

// longText is a bare text of n descriptors.
func longText(t *testing.T, n int) []byte {
	t.Helper()
	p, err := exampleProgram("relu")
	if err != nil {
		t.Fatal(err)
	}
	step := (len(p.Text) + regs.Alignment - 1) &^ (regs.Alignment - 1)
	text := make([]byte, n*step)
	for i := range n {
		d := text[i*step:]
		copy(d, p.Text)
		if i+1 < n {
			le.PutUint32(d[4:], uint32(regs.HeaderTiming(le.Uint32(d[4:])).WithNextSize(uint32(len(p.Text)/4-1))))
			le.PutUint32(d[0x1c:], uint32((i+1)*step))
		}
	}
	return text
}

// TestTextInFile: a bare text that stays in its file is the same program but for its bytes,
// and costs a mark for each place of a descriptor.
func TestTextInFile(t *testing.T) {
	const n = 6_000
	text := longText(t, n)
	whole, err := Read("chain", bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	var p *Program
	err = cost.Rule{Bytes: 2 << 20}.Check(len(text), func() {
		if p, err = (&Options{InFile: true}).Read("chain", bytes.NewReader(text), int64(len(text))); err == nil {
			_, err = p.LinkStream(nil)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if p.Text != nil || p.TextFile == nil || p.FirstWords != whole.FirstWords || p.BARs != whole.BARs {
		t.Errorf("%d bytes of text, first descriptor of %d words, buffers at %x", len(p.Text), p.FirstWords, p.BARs)
	}
	if d := cmp.Diff(whole.Ports, p.Ports); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(whole.Segments, p.Segments, cmpopts.IgnoreFields(Segment{}, "Data", "Unmade")); d != "" {
		t.Error(d)
	}
	want, err := whole.Link()
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Link()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want.Tasks[n-10:], got.Tasks[n-10:], cmpopts.EquateComparable(regs.Groups{})); d != "" || got.Count != want.Count {
		t.Errorf("%d tasks, want %d:\n%s", got.Count, want.Count, d)
	}
	next, stop := iter.Pull2(p.Descriptors())
	defer stop()
	for d, err := range whole.Descriptors() {
		if q, qerr, _ := next(); err != nil || qerr != nil || !reflect.DeepEqual(d, q) {
			t.Fatal("descriptors differ: ", err, qerr)
		}
	}
}

// TestTextThatMoves: a text whose own bytes descriptors read is read, wherever it was to
// stay.
func TestTextThatMoves(t *testing.T) {
	text := longText(t, 500)
	for at := 0; at < len(text); at += len(text) / 500 {
		h := regs.HeaderBases(le.Uint32(text[at+4*8:]))
		le.PutUint32(text[at+4*8:], uint32(h.WithRBase0(regs.BARText)))
	}
	p, err := (&Options{InFile: true}).Read("chain", bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(p.Text, text) || p.TextFile != nil {
		t.Errorf("%d bytes of text, want %d", len(p.Text), len(text))
	}
}

// TestTextInFileConverted: other forms need the bytes of the text, so a program whose text
// stays in its file is refused.
func TestTextInFileConverted(t *testing.T) {
	text := longText(t, 1000)
	p, err := (&Options{InFile: true}).Read("chain", bytes.NewReader(text), int64(len(text)))
	if err != nil || p.TextFile == nil {
		t.Fatalf("text in its file: %v, %v", p.TextFile != nil, err)
	}
	var u *UnsupportedError
	if _, err := p.ANEC(); !errors.As(err, &u) {
		t.Errorf("the Linux driver's form: %v", err)
	}
	if _, err := p.Package(); !errors.As(err, &u) {
		t.Errorf("firmware container: %v", err)
	}
	if q, err := p.Rebuild(); err != nil || len(q.Text) == 0 {
		t.Errorf("hardware container: %v", err)
	}
	var b bytes.Buffer
	if n, err := p.WriteTo(&b); err != nil || n != int64(len(text)) || !bytes.Equal(b.Bytes(), text) {
		t.Errorf("wrote %d of %d bytes: %v", n, len(text), err)
	}
}

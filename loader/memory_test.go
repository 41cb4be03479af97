package loader

import (
	"bytes"
	"io"
	"testing"

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
	n := 100_000
	if testing.Short() {
		n = 20_000
	}
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
	rule := cost.Rule{Bytes: 1 << 20, PerByte: 2}
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

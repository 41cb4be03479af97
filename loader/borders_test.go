package loader

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anesim/hw/regs"
)

// A file's size at its borders: none, less than a word, a word, the largest, and beyond.
func TestSizesOfFiles(t *testing.T) {
	conv := mustProgram(t, "conv")
	for _, tc := range []struct {
		size int64
		file []byte
		what string // of the error, "" for none
	}{
		{-1, nil, "unsupported file size of -1 bytes; want at most"},
		{0, nil, "file too short for a program: 0 bytes; want at least 4"},
		{3, make([]byte, 3), "file too short for a program: 3 bytes; want at least 4"},
		{4, make([]byte, 4), "unknown file format"},
		{MaxFile, make([]byte, 64), "unexpected end of file"},
		{MaxFile + 1, make([]byte, 64), "want at most"},
		{int64(len(conv.Text)), conv.Text, ""},
	} {
		_, err := Read("size", bytes.NewReader(tc.file), tc.size)
		if tc.what == "" && err != nil || tc.what != "" && (err == nil || !strings.Contains(err.Error(), tc.what)) {
			t.Errorf("%d bytes: %v, want %q", tc.size, err, tc.what)
		}
	}
	for n, what := range map[int]string{maxWords: "unknown file format", maxWords + 1: "want 0 to"} {
		_, err := (&Options{FirstWords: n}).Read("words", bytes.NewReader(conv.Text), int64(len(conv.Text)))
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("a first descriptor of %d words: %v, want %q", n, err, what)
		}
	}
	capture := "0x0 1\n#" + strings.Repeat(" ", maxCapture)
	for n, ok := range map[int]bool{maxCapture: true, maxCapture + 1: false} {
		if _, err := Read("capture", strings.NewReader(capture[:n]), int64(n)); (err == nil) != ok {
			t.Errorf("a capture of %d bytes: %v", n, err)
		}
	}
}

// counted counts the bytes that are read.
type counted struct {
	io.ReaderAt
	n int
}

func (c *counted) ReadAt(b []byte, off int64) (int, error) {
	c.n += len(b)
	return c.ReaderAt.ReadAt(b, off)
}

// torn has a last byte and nothing ahead of it but the first few.
type torn struct{}

func (torn) ReadAt(b []byte, _ int64) (int, error) {
	if len(b) == 1 {
		return 1, nil
	}
	return 10, io.EOF
}

// A file that is no longer than its head is read once, and stays in memory; one that ends
// early is named by where.
func TestReading(t *testing.T) {
	p := mustProgram(t, "conv")
	c := &counted{ReaderAt: bytes.NewReader(p.Text)}
	q, err := (&Options{InFile: true}).Read("conv", c, int64(len(p.Text)))
	if err != nil || q.TextFile != nil || !bytes.Equal(q.Text, p.Text) || c.n != len(p.Text)+1 {
		t.Errorf("%d bytes of %d are read, text in its file %v: %v", c.n, len(p.Text), q.TextFile != nil, err)
	}
	if s, ok := q.Segment("__TEXT", "__text"); !ok || s.Unmade {
		t.Errorf("text that is there is %+v", s)
	}
	var f *FormatError
	if _, err := readExactSize(torn{}, 100); !errors.As(err, &f) || f.Off != 10 {
		t.Errorf("a file of 10 bytes that should have 100: %v", err)
	}
	if _, err := Open(filepath.Join("testdata", "examples", "conv.hwx")); err != nil {
		t.Error(err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func mustProgram(t *testing.T, name string) *Program {
	t.Helper()
	p, err := exampleProgram(name)
	if err != nil {
		t.Fatal(err)
	}
	p.Text = bytes.Clone(p.Text)
	return p
}

// An access reaches from its lowest byte to its highest, wherever its strides lead; a lane
// that is on and has no bytes is none.
func TestAccesses(t *testing.T) {
	p := mustProgram(t, "add")
	var f regs.File
	var g regs.Groups
	var h regs.Header
	for d, err := range p.Descriptors() {
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Apply(&f); err != nil {
			t.Fatal(err)
		}
		h = d.Header
	}
	f.Snapshot(&g)
	down := g
	down.TileDMASrc.Src1PlaneStride = regs.DMAWord{}.WithBytes(0xffff_ffc0) // 64 bytes down a channel
	down.TileDMASrc.Src1Base = regs.DMAWord{}.WithBytes(0x4000)
	up, low := listAccesses(nil, &h, &g, g.Operands())[0], listAccesses(nil, &h, &down, down.Operands())[0]
	if up.bytes != 31*64+2 || low.bytes != 31*64+2 || low.low != 0x4000-31*64 || low.off != uint64(low.low) {
		t.Errorf("planes up: %d bytes from %d; down: %d bytes from %d, want 31 planes and a value", up.bytes, up.low, low.bytes, low.low)
	}
	k := &g.KernelDMASrc
	for i := range 2 {
		k.CoeffDMAConfig[i] = k.CoeffDMAConfig[i].WithEn(true)
	}
	k.CoeffBfrSize[1] = regs.DMAWord{}.WithBytes(64)
	h.KernelBases = h.KernelBases.WithKBE0(false)
	var lanes []access
	for _, a := range listAccesses(nil, &h, &g, g.Operands()) {
		if a.kernel {
			lanes = append(lanes, a)
		}
	}
	if len(lanes) != 1 || lanes[0].lane != 1 || lanes[0].bytes != 64 || lanes[0].bar != -1 {
		t.Errorf("lanes %+v, want lane 1 of 64 bytes in no buffer", lanes)
	}
}

// A surface that stays in L2 has room in its buffer for what it would take there.
func TestRoomOfABuffer(t *testing.T) {
	b := new(buffer)
	b.addAccess(&access{off: 0x40, bytes: 2, surface: regs.Surface{DepthStride: 0x1000}})
	if b.bytes != 0x1040 || b.touched != 0 {
		t.Errorf("%#x bytes, %#x touched", b.bytes, b.touched)
	}
	b.addAccess(&access{on: true, off: 0x2000, bytes: 0x10})
	b.addAccess(&access{on: true, write: true, off: 0x100, bytes: 0x10})
	if b.bytes != 0x2010 || b.touched != 0x2010 || !b.read || !b.written || b.first.off != 0x2000 || b.last.off != 0x100 {
		t.Errorf("%+v", b)
	}
}

// Windows that are given, at the limits of buffers, sizes and addresses.
func TestGivenWindows(t *testing.T) {
	text := mustProgram(t, "conv").Text
	for _, tc := range []struct {
		w    Window
		what string // of the error, "" for none
	}{
		{Window{BAR: -1}, "window has buffer index -1; want 0 to 31"},
		{Window{BAR: 31}, ""},
		{Window{BAR: 32}, "window has buffer index 32; want 0 to 31"},
		{Window{BAR: 4, Bytes: maxAddressRange}, ""},
		{Window{BAR: 4, Bytes: maxAddressRange + 1}, "buffer 4 of"},
		{Window{BAR: regs.BARWeights, Bytes: maxAddressRange}, ""},
		{Window{BAR: regs.BARWeights, Bytes: maxAddressRange + 1}, "constants of"},
	} {
		_, err := (&Options{Windows: []Window{tc.w}}).Read("text", bytes.NewReader(text), int64(len(text)))
		if tc.what == "" && err != nil || tc.what != "" && (err == nil || !strings.Contains(err.Error(), tc.what)) {
			t.Errorf("%+v: %v, want %q", tc.w, err, tc.what)
		}
	}
}

// A chain whose memory cannot be laid out is read for inspection alone, and says why; one
// that breaks behind its first descriptor was a chain.
func TestChainsWithoutMemory(t *testing.T) {
	text := mustProgram(t, "conv").Text
	le.PutUint32(text[4*8:], uint32(regs.HeaderBases(le.Uint32(text[4*8:])).WithWBE(false)))
	_, err := Read("unnamed", bytes.NewReader(text), int64(len(text)))
	var base *regs.BaseError
	if !errors.As(err, &base) || base.BAR != -1 || base.Unit != "destination" {
		t.Errorf("a destination in no buffer: %v", err)
	}
	p, err := (&Options{Inspect: true}).Read("unnamed", bytes.NewReader(text), int64(len(text)))
	if err != nil || len(p.Segments) != 0 || !bytes.Equal(p.Text, text) {
		t.Errorf("inspected: %+v, %v", p, err)
	}
	two := mustProgram(t, "concat").Text
	second := le.Uint32(two[0x1c:])
	copy(two[second+regs.HeaderBytes:], bytes.Repeat([]byte{0xff}, 64))
	if _, err := Read("second", bytes.NewReader(two), int64(len(two))); err == nil || strings.Contains(err.Error(), "unknown file format") {
		t.Errorf("a second descriptor that is none: %v", err)
	}
}

// What a port of a bare text has: a tensor where strides make one that fits the buffer, else
// its bytes in a row.
func TestTextPort(t *testing.T) {
	surface := func(w int, row, plane, depth int64) regs.Surface {
		return regs.Surface{Shape: regs.Shape{Groups: 1, Channels: 1, Height: 1, Width: w}, Row: row, Plane: plane, DepthStride: depth, Element: 2}
	}
	bits8 := surface(32, 64, 64, 64)
	bits8.Element = 1
	for _, tc := range []struct {
		name           string
		bar            int
		a              access
		bytes, touched uint64
		shape          [4]int
		n              uint64
	}{
		{"a row", 4, access{surface: surface(32, 64, 64, 64)}, 64, 64, [4]int{1, 1, 1, 32}, 64},
		{"one that fills its page", 4, access{surface: surface(32, 64, 64, PageSize)}, 64, 64, [4]int{1, 256, 1, 32}, PageSize},
		{"one that is wider than its page", 4, access{surface: surface(32, 64, 64, PageSize+64)}, 64, 64, [4]int{1, 1, 1, 32}, 64},
		{"one of no elements", 4, access{surface: surface(0, 64, 64, 64)}, 64, 64, [4]int{1, 1, 1, 32}, 64},
		{"elements of 8 bits", 4, access{surface: bits8}, 64, 64, [4]int{1, 1, 1, 32}, 64},
		{"nothing that moves", 4, access{surface: surface(0, 0, 0, 0)}, 0, 0, [4]int{1, 1, 1, 1}, 2},
		{"the constants", regs.BARWeights, access{surface: surface(32, 64, 64, 64)}, 65, 65, [4]int{1, 1, 1, 64}, 128},
		{"coefficients elsewhere", 4, access{kernel: true}, 65, 65, [4]int{1, 1, 1, 64}, 128},
	} {
		p := &Program{BARs: regs.BARs{1: 0x1000, 4: 0x4000}}
		q := p.newTextPort("p", Input, &buffer{bar: tc.bar, bytes: tc.bytes, touched: tc.touched}, &tc.a)
		if q.Shape != tc.shape || q.Bytes != tc.n || q.Address != p.BARs[tc.bar] || q.BAR != tc.bar {
			t.Errorf("%s: %v of %d bytes, want %v of %d", tc.name, q.Shape, q.Bytes, tc.shape, tc.n)
		}
	}
}

// Inputs stand ahead of outputs by the number of their buffers, the weights last among them.
func TestOrderOfTextPorts(t *testing.T) {
	p := new(Program)
	var list []*buffer
	for bar := range 8 {
		list = append(list, &buffer{bar: bar, bytes: 64, touched: 64, read: bar != 6, written: bar >= 6})
	}
	p.makeTextPorts(list)
	var got []string
	for i := range p.Ports {
		got = append(got, p.Ports[i].Direction.String()+" "+p.Ports[i].Name)
	}
	want := []string{"input b2", "input b4", "input b5", "input b7", "input weights", "output b6", "output b7"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

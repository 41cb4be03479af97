package loader

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"anesim/hw/regs"
)

// edited is an example with a register of one descriptor changed in its text.
func edited(t *testing.T, name string, task int, block, register string, value uint32) *Program {
	t.Helper()
	p, err := exampleProgram(name)
	if err != nil {
		t.Fatal(err)
	}
	r, ok := regs.Lookup(block, register)
	if !ok {
		t.Fatalf("no register %s.%s", block, register)
	}
	for d, err := range p.Descriptors() {
		if err != nil {
			t.Fatal(err)
		}
		if d.Index != task {
			continue
		}
		for at, rec := range recordsWithOffsets(d) {
			if a := r.Addr(); a >= rec.Addr && a < rec.Addr+4*uint32(len(rec.Values)) {
				le.PutUint32(p.Text[at+a-rec.Addr:], value)
				return p
			}
		}
	}
	t.Fatalf("descriptor %d does not write %s.%s", task, block, register)
	return nil
}

// TestSurfaceErrors moves each unit's surface out of its window.
func TestSurfaceErrors(t *testing.T) {
	for _, tt := range []struct {
		example         string
		task            int
		block, register string
		value           uint32
		unit, what      string
	}{
		{"conv", 0, "TileDMASrc", "Src1Base", 0x40, "source 1", "extend past the end of segment __FVMLIB,__const"},
		{"conv", 0, "TileDMASrc", "Src1Base", 0x2000, "source 1", "not inside any segment"},
		{"conv", 0, "Common", "Cin", 6, "source 1", "extend past the end of segment __FVMLIB,__const"},
		{"add", 0, "TileDMASrc", "Src1PlaneStride", 0xffff_ffc0, "source 1", "not inside any segment"}, // 64 bytes down for each channel
		{"add", 0, "TileDMASrc", "Src2PlaneStride", 0x80, "source 2", "extend past the end of segment __FVMLIB,__const"},
		{"concat", 1, "TileDMADst", "DstBase", 0x240, "destination", "extend past the end of segment __FVMLIB,__data"},
		{"conv", 0, "TileDMADst", "DstBase", 0x4000, "destination", "are not writable"},
		{"conv", 0, "KernelDMASrc", "CoeffBaseAddr[2]", 0x100, "kernel lane 2", "not inside any segment"},
		{"conv", 0, "KernelDMASrc", "CoeffBfrSize[1]", 0x1000, "kernel lane 1", "extend past the end of segment __TEXT,__const"},
	} {
		p := edited(t, tt.example, tt.task, tt.block, tt.register, tt.value)
		l, err := p.Link()
		var s *SurfaceError
		if !errors.As(err, &s) || l != nil {
			t.Errorf("%s with %s = %#x: error %v, want a *SurfaceError", tt.example, tt.register, tt.value, err)
			continue
		}
		if s.Task != tt.task || s.Unit != tt.unit || !strings.Contains(err.Error(), tt.what) {
			t.Errorf("%s with %s = %#x: %v; want descriptor %d, %s, %q", tt.example, tt.register, tt.value, err, tt.task, tt.unit, tt.what)
		}
	}
}

// TestBaseErrors links programs whose buffers or counts do not hold.
func TestBaseErrors(t *testing.T) {
	get := func() *Program {
		p, err := exampleProgram("identity")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	link := func(p *Program, what string, target any) {
		t.Helper()
		l, err := p.Link()
		if l != nil || !errors.As(err, target) || !strings.Contains(err.Error(), what) {
			t.Errorf("error %v, want %T with %q", err, target, what)
		}
	}
	p := get()
	p.BARs[5] = 0
	link(p, "buffer 5 is not in the program", new(*regs.BaseError))
	p = get()
	p.TaskCount = 3
	link(p, "chain has 2 descriptors, but the header declares 3", new(*FormatError))
	p = get()
	p.BARs[4] = 1 << 42
	link(p, "exceeds 42 bits", new(*regs.BaseError))
	p = get()
	p.BARs[5] = 0
	p.Segments = nil
	p.BARs[5] = identityInput
	link(p, "nearest segment below: none", new(*SurfaceError))
	p = get()
	p.BARs[5] = 0x40 // the guard
	link(p, "are not accessible in segment __PAGEZERO", new(*SurfaceError))
	p = get()
	p.Segments[1].Size = 0x8000
	link(p, "overlaps", new(*MemoryError))
	p = get()
	p.Segments[2].Addr = 2 * maxAddressRange
	link(p, "span more than", new(*MemoryError))
	p = get()
	p.Segments = append(p.Segments, Segment{Name: "__DATA", Addr: 0x40000000, Size: maxZeroFill + 1, Prot: ProtRead})
	link(p, "zero-filled bytes", new(*MemoryError))
	p = get()
	p.Segments[2].Addr = 1<<42 - 0x40
	link(p, "device address space", new(*MemoryError))
	p = &Program{Form: FormRegisters}
	link(p, "captured registers", new(*UnsupportedError))
}

// TestOptions gives a bare text what it does not say.
func TestOptions(t *testing.T) {
	p, err := exampleProgram("identity")
	if err != nil {
		t.Fatal(err)
	}
	text := p.Text
	open := func(o Options) (*Program, error) { return o.Read("text", bytes.NewReader(text), int64(len(text))) }
	q, err := open(Options{FirstWords: 126, Windows: []Window{
		{BAR: 1, Addr: 0x40018000, Bytes: 0x4000},
		{BAR: 4, Addr: 0x40000000, Bytes: 0x9000},
		{BAR: 0, Addr: 0x41000000},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if q.BARs[0] != 0x41000000 || q.BARs[1] != 0x40018000 || q.BARs[4] != 0x40000000 || q.BARs[5] != 0x4000c000 {
		t.Errorf("buffers %#x", q.BARs[:6])
	}
	if _, err := q.Link(); err != nil {
		t.Error(err)
	}
	for _, o := range []Options{
		{FirstWords: 125},
		{FirstWords: 600},
		{FirstWords: -1},
		{Windows: []Window{{BAR: 32}}},
		{Windows: []Window{{BAR: -1}}},
		{Windows: []Window{{BAR: 5, Bytes: 1 << 63}}},
		{Windows: []Window{{BAR: 5, Addr: 1 << 60}}},
		{Windows: []Window{{BAR: 1, Bytes: 1 << 63}}},
		{Windows: []Window{{BAR: 1, Addr: 1 << 43}}},
		{Windows: []Window{{BAR: 0, Addr: 1 << 43}}},
	} {
		if _, err := open(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	// Two windows at one place are found when they are linked.
	q, err = open(Options{Windows: []Window{{BAR: 4, Addr: 0x40000000}, {BAR: 5, Addr: 0x40000000}}})
	if err != nil {
		t.Fatal(err)
	}
	var m *MemoryError
	if _, err := q.Link(); !errors.As(err, &m) {
		t.Errorf("error %v, want a *MemoryError", err)
	}
}

// TestLinkedSegment looks addresses up.
func TestLinkedSegment(t *testing.T) {
	p, err := exampleProgram("identity")
	if err != nil {
		t.Fatal(err)
	}
	l, err := p.Link()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		addr, n uint64
		want    string
	}{
		{identityInput, 0x80, "__FVMLIB,__const"},
		{identityInput + 0x7e, 2, "__FVMLIB,__const"},
		{identityInput, 0x81, ""},
		{identityInput + 0x80, 1, ""},
		{identityInput - 1, 1, ""},
		{identityWeights, 0x2000, "__KERN_0,__kern_0"},
		{1 << 63, 1, ""},
	} {
		got := ""
		if s := l.Segment(tt.addr, tt.n); s != nil {
			got = s.String()
		}
		if got != tt.want {
			t.Errorf("%#x bytes at %#x: %q, want %q", tt.n, tt.addr, got, tt.want)
		}
	}
}

package loader

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"anesim/hw/regs"
	"anesim/internal/enums"
)

// imaged is an imager of a text of two descriptors of one unit each, the first word of whose
// records stands at byte 44 and at 300.
func imaged(relocs ...RelocPair) *imager {
	text := regs.EncodeChain(Sequence(blank(descriptorUnit/4), blank(descriptorUnit/4)))
	m := &imager{
		p:    &Program{FirstWords: descriptorUnit / 4},
		text: &SectionHeader{Addr: 0x1000, Offset: 0x4000, RelocOffset: 0x8000, Data: text, Relocs: relocs},
		main: &ProgramLoad{Start: 0x1000},
	}
	m.sections = []*SectionHeader{m.text, {}}
	return m
}

// Where relocations may stand: in register words of the chain, relative to a section that
// there is, and no more of them than words.
func TestPlacesOfRelocations(t *testing.T) {
	const good = relocSection
	for _, tc := range []struct {
		name string
		pair RelocPair
		what string // of the error, "" for none
	}{
		{"the first value", RelocPair{44, good}, ""},
		{"the last", RelocPair{descriptorUnit - 4, good}, ""},
		{"the second descriptor's first", RelocPair{descriptorUnit + 44, good}, ""},
		{"a record's own word", RelocPair{40, good}, "does not point to a register word of descriptor 0"},
		{"a header's", RelocPair{descriptorUnit, good}, "does not point to a register word of descriptor 1"},
		{"half a word", RelocPair{46, good}, "does not point to a register word of descriptor 0"},
		{"the chain's end", RelocPair{2 * descriptorUnit, good}, "not inside any descriptor"},
		{"the first section", RelocPair{44, good&^0xffffff | 1}, ""},
		{"none", RelocPair{44, good &^ 0xffffff}, "section 0 is not between 1 and 2"},
		{"one beyond", RelocPair{44, good&^0xffffff | 3}, "section 3 is not between 1 and 2"},
		{"another kind", RelocPair{44, 0x04000002}, "unknown relocation type in word"},
	} {
		m := imaged(RelocPair{44, good}, tc.pair)
		err := m.readChain()
		var f *FormatError
		switch {
		case tc.what == "" && (err != nil || len(m.p.Relocations) != 2 || m.p.Relocations[1].Off != tc.pair.Off):
			t.Errorf("%s: %+v, %v", tc.name, m.p.Relocations, err)
		case tc.what != "" && (!errors.As(err, &f) || f.Off != 0x8000+relocSize || !strings.Contains(err.Error(), tc.what)):
			t.Errorf("%s: %v, want %q at byte %#x", tc.name, err, tc.what, 0x8000+relocSize)
		}
	}
	words := len(imaged().text.Data) / 4
	for n, what := range map[int]string{words: "", words + 1: "relocation count exceeds the text's 0x80 words"} {
		err := imaged(slices.Repeat([]RelocPair{{44, good}}, n)...).readChain()
		if what == "" && err != nil || what != "" && (err == nil || !strings.Contains(err.Error(), what)) {
			t.Errorf("%d relocations of %d words: %v", n, words, err)
		}
	}
}

// A procedure has the text from its start to the next one's, and the relocations of that.
func TestExtentOfAProcedure(t *testing.T) {
	const unit = descriptorUnit
	one := func(start, bar uint64, others ...uint64) *imager {
		m := imaged()
		m.main = &ProgramLoad{Start: start}
		m.main.BARs[regs.BARText] = bar
		m.programs = []loadAt[*ProgramLoad]{{0, m.main}}
		for _, o := range others {
			m.programs = append(m.programs, loadAt[*ProgramLoad]{0, &ProgramLoad{Start: o}})
		}
		return m
	}
	for _, tc := range []struct {
		name       string
		m          *imager
		start, end uint64 // none where both are 0
	}{
		{"no start is the text's", one(0, 0), 0, 2 * unit},
		{"the text's start", one(0x1000, 0), 0, 2 * unit},
		{"ahead of another", one(0x1000, 0, 0x1000+unit), 0, unit},
		{"behind it", one(0x1000+unit, 0x1000+unit, 0x1000), unit, 2 * unit},
		{"with another at the end", one(0x1000, 0, 0x1000+2*unit), 0, 2 * unit},
		{"in no buffer", one(0x1000+unit, 0), 0, 0},
		{"ahead of the text", one(0x1000-unit, 0x1000-unit), 0, 0},
		{"at its end", one(0x1000+2*unit, 0x1000+2*unit), 0, 0},
		{"at its last byte", one(0x1000+2*unit-1, 0x1000+2*unit-1), 2*unit - 1, 2 * unit},
	} {
		start, end, err := tc.m.findChainBounds()
		var u *UnsupportedError
		if tc.end == 0 && !errors.As(err, &u) || tc.end != 0 && (err != nil || start != tc.start || end != tc.end) {
			t.Errorf("%s: %#x to %#x, %v; want %#x to %#x", tc.name, start, end, err, tc.start, tc.end)
		}
	}
	// The second procedure's relocations are those of its own bytes.
	for off, n := range map[uint32]int{44: 0, unit - 4: 0, unit + 44: 1, 2*unit - 4: 1, 2 * unit: 0} {
		m := one(0x1000+unit, 0x1000+unit, 0x1000)
		m.text.Relocs = []RelocPair{{off, relocSection}}
		if err := m.readChain(); err != nil || len(m.p.Relocations) != n {
			t.Errorf("a relocation at %#x: %d, %v; want %d", off, len(m.p.Relocations), err, n)
		}
		if m.p.TextAddr != 0x1000+unit || m.p.TextOffset() != 0x4000+unit || len(m.p.Text) != unit {
			t.Errorf("%#x bytes at %#x, byte %#x of the file", len(m.p.Text), m.p.TextAddr, m.p.TextOffset())
		}
	}
	m := one(0x1000+unit, 0x1000+unit, 0x1000)
	m.text.Relocs = []RelocPair{{unit, relocSection}}
	if err := m.readChain(); err == nil || !strings.Contains(err.Error(), "does not point to a register word") {
		t.Errorf("a relocation of the procedure's first word: %v", err)
	}
}

// The descriptor of each unit of the text is the one that stands there.
func TestOwnersOfText(t *testing.T) {
	const words = descriptorUnit / 4
	chain := Sequence(blank(words), blank(words+3), blank(2*words), blank(12))
	p := &Program{Text: regs.EncodeChain(chain), FirstWords: words}
	owner, err := p.findOwners()
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, d := range owner {
		got = append(got, d.Index)
	}
	want := []int{0, 1, 1, 2, 2, 3}
	if !slices.Equal(got, want) {
		t.Errorf("units of %v, want %v", got, want)
	}
}

// A port stands in a window that there is, may be read or written as it has to be, and holds
// its tensor.
func TestPortsOfAContainer(t *testing.T) {
	window := func(addr, size uint64, prot Protection) Segment {
		return Segment{Name: "__FVMLIB", Section: "__data", Addr: addr, Size: size, Prot: prot}
	}
	op := func(w int) *OperationLoad {
		return &OperationLoad{Port: "x", Type: 5, Shape: [4]int{1, 1, 1, w}, Strides: [4]uint64{64, 64, 64, 2}}
	}
	for _, tc := range []struct {
		name string
		s    Segment
		op   *OperationLoad
		d    Direction
		what string // of the error, "" for none
	}{
		{"one element", window(0x4000, 2, ProtRead), op(1), Input, ""},
		{"and a byte less", window(0x4000, 1, ProtRead), op(1), Input, "window of 1 bytes is smaller than one element"},
		{"as many as fit", window(0x4000, 64, ProtRead), op(32), Input, ""},
		{"one more", window(0x4000, 64, ProtRead), op(33), Input, "window of 0x40 bytes is smaller than the 0x42 bytes"},
		{"a window of no bytes", window(0x4000, 0, ProtRead), op(1), Input, "no __FVMLIB section starts"},
		{"one elsewhere", window(0x4040, 64, ProtRead), op(1), Input, "no __FVMLIB section starts"},
		{"an input that may be written", window(0x4000, 64, ProtWrite), op(1), Input, "protection 2 does not permit input at the address of port x"},
		{"an output", window(0x4000, 64, ProtWrite), op(1), Output, ""},
		{"one that may be read", window(0x4000, 64, ProtRead), op(1), Output, "protection 1 does not permit output at the address of port x"},
	} {
		m := &imager{p: &Program{Segments: []Segment{tc.s}}}
		err := m.addPort(loadAt[*PortLoad]{0x100, &PortLoad{Addr: 0x4000, Name: "x"}}, tc.op, tc.d)
		switch {
		case tc.what == "" && (err != nil || len(m.p.Ports) != 1 || m.p.Ports[0].BAR != -1):
			t.Errorf("%s: %+v, %v", tc.name, m.p.Ports, err)
		case tc.what != "" && (err == nil || !strings.Contains(err.Error(), tc.what)):
			t.Errorf("%s: %v, want %q", tc.name, err, tc.what)
		}
	}
}

// A port that no operation names takes its direction from its window; the others keep theirs.
func TestPortsWithoutOperations(t *testing.T) {
	m := &imager{p: &Program{Segments: []Segment{
		{Name: "__FVMLIB", Addr: 0x4000, Size: 64, Prot: ProtWrite},
		{Name: "__FVMLIB", Addr: 0x8000, Size: 64, Prot: ProtRead},
		{Name: "__FVMLIB", Addr: 0xc000, Size: 64, Prot: ProtRead | ProtWrite},
	}, BARs: regs.BARs{4: 0x4000, 5: 0x8000, 6: 0xc000}}}
	for _, l := range []*PortLoad{{Addr: 0x4000, Name: "out"}, {Addr: 0x8000, Name: "in"}, {Addr: 0xc000, Name: "named"}} {
		m.ports = append(m.ports, loadAt[*PortLoad]{0, l})
	}
	m.ops = []loadAt[*OperationLoad]{{0, &OperationLoad{Port: "named", Direction: Input, Type: 5, Shape: [4]int{1, 1, 1, 4}, Strides: [4]uint64{8, 8, 8, 2}}}}
	if err := m.makePorts(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range m.p.Ports {
		q := &m.p.Ports[i]
		got = append(got, q.Direction.String()+" "+q.Name)
	}
	if want := "input named, input in, output out"; strings.Join(got, ", ") != want {
		t.Errorf("%q, want %q", got, want)
	}
	// One without a window has no direction either.
	m.p.Ports, m.ops = nil, nil
	m.ports = []loadAt[*PortLoad]{{0x100, &PortLoad{Addr: 0xf000, Name: "lost"}}}
	var f *FormatError
	if err := m.makePorts(); !errors.As(err, &f) || f.Off != 0x110 || !strings.Contains(err.Error(), "port lost") {
		t.Errorf("a port without a window: %v", err)
	}
}

// Element types that a container does not name are the catalog's, by a number it has.
func TestElementTypes(t *testing.T) {
	p := &Program{Types: []ElementType{{77, "mine", ""}}}
	for code, want := range map[int]string{77: "mine", 5: "float16", 3: enums.CatalogueType(3).String(), 256 + 3: "", 99: ""} {
		if got := p.findElementType(code); got.Code != code || got.Name != want {
			t.Errorf("type %d is %+v, want %q", code, got, want)
		}
	}
	for _, tc := range []struct {
		t    ElementType
		want string
	}{{ElementType{Code: 77, Name: "mine"}, "mine"}, {ElementType{Code: 3}, enums.CatalogueType(3).String()}, {ElementType{Code: 3, Name: "a\n"}, `a\n`}} {
		if got := tc.t.String(); got != tc.want {
			t.Errorf("%+v is %q, want %q", tc.t, got, tc.want)
		}
	}
}

// What counts ports and operations says how many there may be.
func TestCountsOfPorts(t *testing.T) {
	m := &imager{p: new(Program)}
	for i := range maxPorts*maxProcedures + 1 {
		p, o := m.addLoadCommand(0, &PortLoad{}), m.addLoadCommand(0, &OperationLoad{})
		last := i == maxPorts*maxProcedures
		if (p != nil) != last || (o != nil) != last {
			t.Fatalf("%d: %v, %v", i, p, o)
		}
		if last && (!strings.Contains(p.Error(), "limit of 2048 ports exceeded") || !strings.Contains(o.Error(), "limit of 2048 operations exceeded")) {
			t.Errorf("%v, %v", p, o)
		}
	}
}

// Bytes of a linked program: to a segment's end, and none beyond it.
func TestBytesOfASegment(t *testing.T) {
	l := &Linked{Map: []Segment{{Name: "a", Addr: 0x1000, Size: 0x100}, {Name: "b", Addr: 0x1100, Size: 0x100}}}
	for _, tc := range []struct {
		addr, n uint64
		want    string
	}{
		{0x1000, 0x100, "a"}, {0x1000, 0x101, ""}, {0x10ff, 1, "a"}, {0x10ff, 2, ""}, {0x1080, 0x80, "a"}, {0x1080, 0x81, ""},
		{0x1100, 0, "b"}, {0x11ff, 1, "b"}, {0x1200, 0, ""}, {0xfff, 0, ""},
	} {
		got := ""
		if s := l.Segment(tc.addr, tc.n); s != nil {
			got = s.Name
		}
		if got != tc.want {
			t.Errorf("%d bytes at %#x stand in %q, want %q", tc.n, tc.addr, got, tc.want)
		}
	}
	p := &Program{Segments: l.Map}
	for addr, want := range map[uint64]string{0xfff: "", 0x1000: "a", 0x10ff: "a", 0x1100: "b", 0x1200: ""} {
		got := ""
		if s := p.segmentContaining(addr); s != nil {
			got = s.Name
		}
		if got != want {
			t.Errorf("%#x stands in %q, want %q", addr, got, want)
		}
	}
}

// Words of a descriptor that a register is stored from, over records that touch it.
func TestWordsOfARegister(t *testing.T) {
	d := &regs.Descriptor{Offset: 0x100, Records: []regs.Record{
		{Addr: 0x20, Values: []uint32{1, 2}}, {Addr: 0x800, Values: []uint32{3}}, {Addr: 0x24, Values: []uint32{4, 5}},
	}}
	for register, want := range map[uint32][]uint32{
		0x1c: nil, 0x20: {0x12c}, 0x22: nil, 0x24: {0x130, 0x140}, 0x28: {0x144}, 0x2c: nil, 0x800: {0x138}, 0x804: nil,
	} {
		if got := new(Program).WordsOf(d, register); !slices.Equal(got, want) {
			t.Errorf("register %#x: words at %#x, want %#x", register, got, want)
		}
	}
}

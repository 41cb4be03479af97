package loader

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"anesim/hw/regs"
)

// Text with the ends of lines of any system is a capture's; control characters and bytes of
// other alphabets are not.
func TestCharactersOfACapture(t *testing.T) {
	for text, want := range map[string]bool{
		"0x0 1\n": true, "0x0\t1\r\n": true, "0x0 ~\n": true, "0x0 \x1f\n": false, "0x0 \x7f\n": false, "0x0 \x80\n": false,
	} {
		if got := isCaptureText([]byte(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	pair := func(addr uint32) []byte { return le.AppendUint32(le.AppendUint32(nil, addr), 1) }
	for _, tc := range []struct {
		file []byte
		want bool
	}{
		{pair(0), false}, {append(pair(0), pair(4)...), true}, {append(pair(0), pair(4)[:7]...), false}, {append(pair(0), pair(0)...), false},
	} {
		if got := readCaptureBinary(tc.file) != nil; got != tc.want {
			t.Errorf("% x: pairs %v, want %v", tc.file, got, tc.want)
		}
	}
}

// A captured tensor may begin at address 0 and end with the device space.
func TestTransfersAtTheEnds(t *testing.T) {
	// Three rows of one value, so many bytes apart.
	read := func(high, low uint32, stride int32) ([]Transfer, error) {
		t.Helper()
		text := fmt.Sprintf("Common.InDim 0x00030001\nCommon.Cin 1\nTileDMASrc.Src1BaseLow %#x\nTileDMASrc.Src1BaseHigh %#x\nTileDMASrc.Src1RowStride %#x\n", low, high, uint32(stride))
		p, err := Read("capture", strings.NewReader(text), int64(len(text)))
		if err != nil {
			t.Fatal(err)
		}
		return p.Transfers()
	}
	const top = 1<<regs.AddressBits - 1
	for _, tc := range []struct {
		high, low uint32
		stride    int32
		from, to  uint64 // none where both are 0
	}{
		{1, 0x1000, 64, 1<<32 + 0x1000, 1<<32 + 0x1000 + 130},
		{1, 0x1000, -64, 1<<32 + 0x1000 - 128, 1<<32 + 0x1000 + 2},
		{0, 0x80, -64, 0, 0x82},
		{0, 0x40, -64, 0, 0},
		{top >> 32, top&0xffffffc0 - 0x40, 64, 0, 0},
	} {
		got, err := read(tc.high, tc.low, tc.stride)
		var f *FormatError
		switch {
		case tc.to == 0 && (!errors.As(err, &f) || f.Off != 0x4d10):
			t.Errorf("%+v: %v, %v; want an error", tc, got, err)
		case tc.to != 0 && (err != nil || len(got) != 1 || got[0].Low != tc.from || got[0].High != tc.to):
			t.Errorf("%+v: %v, %v", tc, got, err)
		}
	}
	// Rows of 32 values to the last byte.
	text := fmt.Sprintf("Common.InDim 0x00010020\nCommon.Cin 1\nTileDMASrc.Src1BaseLow %#x\nTileDMASrc.Src1BaseHigh %#x\n", uint32(top&0xffffffc0), uint32(top>>32))
	p, err := Read("capture", strings.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.Transfers(); err != nil || len(got) != 1 || got[0].High != top+1 {
		t.Errorf("to the end of the space: %v, %v", got, err)
	}
}

// Names and messages are shown as they are, but for what does not show.
func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"plain": "plain", `a\b`: `a\b`, "é": "é", "a\nb": `a\nb`, "\xff": `\xff`, "a\"\x00": `a"\x00`, "\ufffd": "\ufffd",
	} {
		if got := escapeUnprintable(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// A firmware container's program at the limits of names, sections and counts.
func TestPackageLimits(t *testing.T) {
	name := strings.Repeat("n", 16)
	for _, tc := range []struct {
		segment, section string
		ok               bool
	}{{name, name, true}, {name + "n", name, false}, {name, name + "n", false}} {
		p := mustProgram(t, "conv")
		p.Segments = append(p.Segments, Segment{Name: tc.segment, Section: tc.section, Addr: 0x40000000, Size: 64, Prot: ProtRead})
		pkg, err := p.Package()
		var u *UnsupportedError
		if tc.ok && err != nil || !tc.ok && !errors.As(err, &u) {
			t.Errorf("%s,%s: %v", tc.segment, tc.section, err)
		}
		if err == nil {
			file := pkg.Bytes()
			q, err := Read("names", bytes.NewReader(file), int64(len(file)))
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := q.Segment(tc.segment, tc.section); !ok {
				t.Errorf("no segment %s,%s of %v", tc.segment, tc.section, q.Segments)
			}
		}
	}
	section := func(k PackageKind, n int, words ...uint32) *PackageSection {
		b := make([]byte, n)
		for i, w := range words {
			le.PutUint32(b[4*i:], w)
		}
		return &PackageSection{Kind: k, Data: b, off: 0x100}
	}
	const tasks = 3 // of a file of two units
	for _, tc := range []struct {
		name string
		s    *PackageSection
		off  int
		what string // of the error, "" for none
	}{
		{"a text of no bytes", section(packageText, packageMemory), 0, ""},
		{"less than its entry", section(packageText, packageMemory-1), 0, "invalid text section size for an entry of 0x38 bytes"},
		{"coefficients of no bytes", section(packageKernel, packageMemory), 0, ""},
		{"a port without a name", func() *PackageSection {
			s := section(packageOperation, packagePort, 1, 5, 5, 0, 1, 1, 1, 1)
			le.PutUint64(s.Data[64:], ApertureBase)
			le.PutUint64(s.Data[72:], 64)
			return s
		}(), 0, ""},
		{"less than a port", section(packageOperation, packagePort-1, 1), 0, "invalid operation section size for an entry of 0x50 bytes"},
		{"the shortest descriptor", section(packageProc, packageProcedure, regs.HeaderWords), 0, ""},
		{"a shorter one", section(packageProc, packageProcedure, regs.HeaderWords-1), 0, "is not between"},
		{"the longest", section(packageProc, packageProcedure, maxWords), 0, ""},
		{"a longer one", section(packageProc, packageProcedure, maxWords+1), 0, "is not between"},
		{"as many descriptors as the file has room for", section(packageProc, packageProcedure, maxWords, tasks), 0, ""},
		{"one more", section(packageProc, packageProcedure, maxWords, tasks+1), 4, "descriptor count exceeds"},
	} {
		p := &Program{file: make([]byte, 2*descriptorUnit)}
		err := p.readPackageSection(tc.s)
		var f *FormatError
		if tc.what == "" && err != nil || tc.what != "" && (!errors.As(err, &f) || f.Off != uint64(0x100+tc.off) || !strings.Contains(err.Error(), tc.what)) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.what)
		}
	}
	if _, _, err := readPackageProgram(make([]byte, 2*packageHeader), packageHeader); err == nil || !strings.Contains(err.Error(), "ANEP") {
		t.Errorf("a header alone, which is none: %v", err)
	}
}

// The Linux driver's form of a chain without weights, with scratch memory, and with as many
// tensors as it has room for.
func TestANECParts(t *testing.T) {
	p := mustProgram(t, "add")
	p.BARs[regs.BARWeights] = 0
	p.BARs[2], p.BARs[3] = 0x40000000, 0x40008000
	p.Segments = append(p.Segments,
		Segment{Name: "__DATA", Section: "__bss", Addr: 0x40000000, Size: 0x5000, Prot: ProtRead | ProtWrite},
		Segment{Name: "__DATA", Section: "__bss", Addr: 0x40008000, Size: 0x4000, Prot: ProtRead | ProtWrite})
	file, err := p.ANEC()
	if err != nil {
		t.Fatal(err)
	}
	file = file[:anecHeader+int(roundUpTo(uint64(len(p.Text)), anecAlign))] // to the end of the chain
	q, err := Read("add", bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range q.Segments {
		s := &q.Segments[i]
		got = append(got, fmt.Sprintf("%v %#x+%#x", s, s.Addr, s.Size))
	}
	want := "__DATA,__bss 0x30000000+0x8000, __DATA,__bss 0x30008000+0x4000, __FVMLIB,__data 0x3000c000+0x4000, " +
		"__FVMLIB,__const 0x30010000+0x4000, __FVMLIB,__const 0x30014000+0x4000, __TEXT,__text 0x30018000+" + fmt.Sprintf("%#x", len(p.Text))
	if strings.Join(got, ", ") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, ", "), want)
	}
	if q.BARs[regs.BARWeights] != 0 || q.BARs[2] != 0x30000000 || q.BARs[3] != 0x30008000 {
		t.Errorf("buffers %#x", q.BARs[:8])
	}
	// The chain is the program's but for the numbers of buffers in its headers.
	conv := mustProgram(t, "conv")
	driver, err := conv.ANEC()
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(conv.Text); i += 4 {
		if got, want := le.Uint32(driver[anecHeader+i:]), le.Uint32(conv.Text[i:]); got != want && i != 4*8 {
			t.Errorf("word at %#x is %#x, was %#x", i, got, want)
		}
	}
	for n, ok := range map[int]bool{28: true, 29: false} {
		p := mustProgram(t, "add")
		for len(p.Ports) < n {
			q := p.Ports[0]
			q.BAR, q.Name = 40+len(p.Ports), fmt.Sprint("more", len(p.Ports))
			p.Ports = append(p.Ports, q)
		}
		_, err := p.ANEC()
		var u *UnsupportedError
		if ok && err != nil || !ok && (!errors.As(err, &u) || !strings.Contains(u.What, "program has 29 ports; want 1 to 28 for the Linux driver's format")) {
			t.Errorf("%d tensors: %v", n, err)
		}
	}
	// A first descriptor at the limits of its size.
	for words, ok := range map[int]bool{regs.HeaderWords - 1: false, regs.HeaderWords: true, maxWords: true, maxWords + 1: false} {
		text := regs.EncodeChain(Sequence(blank(max(words, regs.HeaderWords))))
		b := append(append(make([]byte, anecHeader), text...), make([]byte, anecAlign)...)
		p := new(Program)
		if _, err := p.splitANECText(b, anec{task: uint64(len(text)), firstSize: uint32(4 * words), count: 1}); (err == nil) != ok {
			t.Errorf("a first descriptor of %d words: %v", words, err)
		}
	}
}

// Buffers of a builder's ports: behind the scratch, and no further than there are.
func TestBuffersOfPorts(t *testing.T) {
	for bar, ok := range map[int]bool{3: false, 4: true, 31: true, 32: false} {
		b, err := exampleBuilder("relu")
		if err != nil {
			t.Fatal(err)
		}
		b.Ports = append(b.Ports[:0:0], b.Ports...)
		for i := range b.Ports {
			if b.Ports[i].BAR == 4 {
				b.Ports[i].BAR = bar
			}
		}
		_, err = b.Container()
		if ok && err != nil || !ok && (err == nil || !strings.Contains(err.Error(), "is not between 4 and 31")) {
			t.Errorf("buffer %d: %v", bar, err)
		}
	}
	p := mustProgram(t, "conv")
	p.Ports[0].BAR = regs.BARScratch
	var u *UnsupportedError
	if _, err := p.Rebuild(); !errors.As(err, &u) {
		t.Errorf("a port behind the scratch memory: %v", err)
	}
}

// Wherever the commands end, relocations stand between them and the page of the text.
func TestRelocationsAheadOfText(t *testing.T) {
	build := func(note int) (text *SegmentLoad, relocs, end uint64) {
		t.Helper()
		b, err := exampleBuilder("conv")
		if err != nil {
			t.Fatal(err)
		}
		b.NoteBytes = note
		p, err := b.Build("note")
		if err != nil {
			t.Fatalf("a note of %#x bytes: %v", note, err)
		}
		for _, l := range p.Container.Loads {
			if s, ok := l.(*SegmentLoad); ok && s.Name == "__TEXT" {
				h := s.Sections[0]
				return s, uint64(h.RelocOffset), uint64(h.RelocOffset) + relocSize*uint64(len(h.Relocs))
			}
		}
		t.Fatal("no text")
		return nil, 0, 0
	}
	const shortest = 16
	_, at, _ := build(shortest)
	for left := uint64(0); left <= 40; left += 8 { // bytes from the relocations to the page's end
		text, relocs, end := build(shortest + int(roundUpTo(at, PageSize)-at-left))
		if relocs%PageSize != (PageSize-left)%PageSize || end-relocs != 3*relocSize || text.Offset != roundUpTo(end, PageSize) {
			t.Errorf("relocations from %#x to %#x, text at %#x", relocs, end, text.Offset)
		}
	}
}

// A program that is rebuilt keeps its ports' addresses, unless scratch memory has to stand
// ahead of them, and its scratch memory's size.
func TestRebuiltMemory(t *testing.T) {
	for name, b := range map[string]*Builder{"scratch": scratchKernel(t), "none": nil} {
		if b == nil {
			var err error
			if b, err = exampleBuilder("conv"); err != nil {
				t.Fatal(err)
			}
			b.Ports[0].Address, b.Ports[1].Address = 0x30040000, 0x30080000
		}
		p, err := b.Build(name)
		if err != nil {
			t.Fatal(err)
		}
		p.Form = FormFirmware
		q, err := p.Rebuild()
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.Ports {
			if q.Ports[i].Address != p.Ports[i].Address {
				t.Errorf("%s: port %s at %#x, was at %#x", name, q.Ports[i].Name, q.Ports[i].Address, p.Ports[i].Address)
			}
		}
		s, ok := q.Segment("__DATA", "__bss")
		if ok != (name == "scratch") || ok && (s.Size != 0x4000 || s.Addr != ApertureBase) {
			t.Errorf("%s: scratch %+v", name, s)
		}
	}
}

// Bytes that two parts of a container claim are named by where the second says so.
func TestClaimedTwice(t *testing.T) {
	file := func(sections int) []byte {
		size := segmentSize + sectionSize*sections
		var loads [][]byte
		for range 2 {
			b := command(CommandSegment, size, map[int]uint64{24: 0, 32: 0x1000, 40: 0, 48: 0x200})
			le.PutUint32(b[64:], uint32(sections))
			for i := range sections {
				s := b[segmentSize+sectionSize*i:]
				le.PutUint64(s[40:], 0x200)
			}
			loads = append(loads, b)
		}
		return contained(0x200, loads...) // room for one of them beside the commands
	}
	for sections, off := range map[int]int{0: headerSize + segmentSize + 40, 1: headerSize + 2*segmentSize + sectionSize + 48} {
		_, err := parseContainer(pieces{rest: file(sections)})
		var f *FormatError
		if !errors.As(err, &f) || f.Off != uint64(off) || !strings.Contains(err.Error(), "overlap between parts of the file") {
			t.Errorf("%d sections: %v, want byte %#x", sections, err, off)
		}
	}
}

// A port command of 32 bits is written as one, and one of 64 bits as that.
func TestPortCommands(t *testing.T) {
	for _, tc := range []struct {
		kind Command
		addr uint64
	}{{CommandPort, 0x12345678}, {CommandPort64, 0x3ff12345678}} {
		b := command(tc.kind, 0x20, map[int]uint64{8: 0x18})
		dst := bytes.Clone(b)
		(&PortLoad{LoadBytes: b, Addr: tc.addr}).encodeTo(dst)
		l, err := (&reader{file: pieces{rest: dst}}).decodePort(0, dst)
		if err != nil || l.(*PortLoad).Addr != tc.addr || tc.kind == CommandPort && !bytes.Equal(dst[0x14:], b[0x14:]) {
			t.Errorf("%v: % x, %v", tc.kind, dst, err)
		}
	}
	// The stride that is too large is named by its place.
	o := command(CommandThread, operationSize+4, nil)
	le.PutUint32(o[operationDirection:], 1)
	for i := range 4 {
		le.PutUint32(o[operationShape+4*i:], 1)
	}
	le.PutUint64(o[operationStrides+16:], 1<<42)
	var f *FormatError
	if _, err := new(reader).decodeOperation(0x1000, o); !errors.As(err, &f) || f.Off != 0x1000+operationStrides+16 || !strings.Contains(err.Error(), "axis h") {
		t.Errorf("%v", err)
	}
}

// Symbols: where a name that does not end, or stands nowhere, is named, and names of no letters.
func TestNamesOfSymbols(t *testing.T) {
	table := func(index uint32, strings string) ([]byte, []byte) {
		file := make([]byte, 2*symbolSize, 2*symbolSize+len(strings))
		le.PutUint32(file[symbolSize:], index)
		file = append(file, strings...)
		b := command(CommandSymtab, 24, nil)
		le.PutUint32(b[12:], 2)
		le.PutUint32(b[16:], 2*symbolSize)
		le.PutUint32(b[20:], uint32(len(strings)))
		return file, b
	}
	for _, tc := range []struct {
		index   uint32
		strings string
		name    string
		what    string // of the error, "" for none
	}{
		{0, "\x00ab\x00", "", ""},
		{1, "\x00ab\x00", "ab", ""},
		{3, "\x00ab\x00", "", ""},
		{4, "\x00ab\x00", "", "name offset of symbol 1 is past the end of the string table"},
		{1, "\x00abc", "", "name of symbol 1 has no zero byte"},
	} {
		file, b := table(tc.index, tc.strings)
		l, err := (&reader{file: pieces{rest: file}}).decodeSymtab(0x100, b)
		var f *FormatError
		switch {
		case tc.what == "" && (err != nil || l.(*symtabLoad).Symbols[1].Name != tc.name):
			t.Errorf("%+v: %v, %v", tc, l, err)
		case tc.what != "" && (!errors.As(err, &f) || f.Off != symbolSize || !strings.Contains(err.Error(), tc.what)):
			t.Errorf("%+v: %v", tc, err)
		}
	}
}

// What words say of a place: the port of the direction where a buffer has two, no port where
// it is the scratch memory's.
func TestWordsForPlaces(t *testing.T) {
	p := &Program{Ports: []Port{{Name: "in", Direction: Input, BAR: 4}, {Name: "out", Direction: Output, BAR: 4}, {Name: "late", Direction: Input, BAR: 4}, {Name: "b5", Direction: Input, BAR: 5}}}
	for _, tc := range []struct {
		bar   uint32
		write bool
		want  string
	}{
		{4, false, "input in (b4)"}, {4, true, "output out (b4)"}, {5, false, "input b5"}, {5, true, "input b5"}, {9, false, ""},
	} {
		if got := p.portLabel(tc.bar, tc.write); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

// A task without coefficients leaves out the lanes' bases and sizes, and nothing else.
func TestRecordsWithoutCoefficients(t *testing.T) {
	var g regs.Groups
	g.KernelDMASrc.Reserved00 = regs.FromRaw[regs.KernelMaster](7)
	d := NewDescriptor(regs.Header{}, &g)
	first, _ := regs.Lookup("KernelDMASrc", "CoeffBaseAddr[0]")
	windows := regs.V7Windows()
	window := windows[0]
	if len(d.Records) != len(windows)+1 || d.Records[0].Addr != window.Base || len(d.Records[0].Values) != 18 || d.Records[0].Values[0] != 7 ||
		d.Records[1].Addr != window.Base+4*50 || len(d.Records[1].Values) != window.Words-50 || first.Addr() != window.Base+4*18 {
		t.Errorf("records %+v of a window of %d words at %#x", d.Records[:2], window.Words, window.Base)
	}
	words := regs.HeaderWords
	for _, r := range d.Records {
		words += 1 + len(r.Values)
	}
	if d.Words != words {
		t.Errorf("%d words, the records have %d", d.Words, words)
	}
}

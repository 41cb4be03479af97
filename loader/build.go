package loader

import (
	"cmp"
	"fmt"
	"slices"

	"anesim/hw/regs"
)

// A Builder makes a hardware container, the file format of Apple's compiler, from a chain of
// descriptors. It keeps addresses that the caller has set, and assigns the others from 0x30000000
// on. The scratch memory comes first, then the ports in the order of their buffer index, then the
// descriptors and the constants. The scratch memory and each port take whole pages.
type Builder struct {
	Procedure     string             // "net" when empty
	Chain         []*regs.Descriptor // linked by Sequence
	Constants     []byte             // contents of buffer 1; nil means 16 KiB of zeros, as Apple's compiler writes
	ConstantBytes uint64             // size of the constants for Layout if Constants is nil
	Ports         []Port             // Name, Direction, Shape, Strides, BAR; Address and Bytes may be 0
	Scratch       uint64             // size of buffer 3 in bytes, 0 for none
	TextAddr      uint64             // 0 to have it placed
	ConstantsAddr uint64             // 0 to place them after the text, in the same segment
	Sections      []int              // offsets in the constants at which sections after the first begin, in pages
	Banner        string             // the compiler's command line
	Empty         []string           // names of segments without memory
	NoteBytes     int                // size of a note command, 0 for none

	// WeightsBAR, if it is not 0, is a buffer of its own for the weights and activation tables, which
	// begins where the constants do. Buffer 1 then begins at offset TensorsAt of the constants, a multiple
	// of 64. Programs of the compiler of 2026 are like this (3 of 3); where their containers have
	// the two buffers is not known.
	WeightsBAR int
	TensorsAt  uint64

	// Late selects the format of compilers since 2024. Operation commands are longer, the
	// operand of an output port NAME is called NAME@output, and symbols mark the weight
	// streams that a descriptor does not use.
	Late bool

	// WindowTaps is Program.WindowTaps of the program that Layout returns.
	WindowTaps map[int]regs.WindowTaps

	// Also lists further procedures of the container. Only their fields Procedure, Chain,
	// Constants, WeightsBAR, TensorsAt, Ports and Scratch are used. The names of all ports in the container must
	// differ.
	Also []*Builder
}

// Build makes the container and loads it as a program called name, which is ready to run. It checks
// all limits of the file format, links the program, and returns the first error. If the container
// has one procedure, the program shares memory with b.Constants.
func (b *Builder) Build(name string) (*Program, error) {
	c, err := b.Container()
	if err != nil {
		return nil, err
	}
	if c.Size > MaxFile {
		return nil, newFormatError(0, nil, "container has %d bytes; want at most %d", c.Size, int64(MaxFile))
	}
	if c, err = parseContainer(*c.encode(c.largestSection())); err != nil {
		return nil, err
	}
	p, err := c.toProgram(name, "")
	if err != nil {
		return nil, err
	}
	if _, err := p.Link(); err != nil {
		return nil, err
	}
	return p, nil
}

// Layout returns the program that [Builder.Build] would return, with the same addresses, but
// without a container. The constants may be missing if ConstantBytes holds their size. The program
// can be linked and timed, but it has no symbols and cannot be written to a file. Layout returns an
// error if the builder has several procedures, no descriptors, or a port with an invalid buffer.
func (b *Builder) Layout(name string) (*Program, error) {
	if len(b.Also) > 0 {
		return nil, fmt.Errorf("program %s has several procedures; Layout supports one", b.procedureName())
	}
	q := &part{Builder: b, ports: slices.Clone(b.Ports)}
	if err := q.validate(); err != nil {
		return nil, err
	}
	l := &layout{Builder: b, parts: []*part{q}, sizes: b.Constants == nil && b.ConstantBytes > 0}
	l.placeSegments()
	p := &Program{
		Name: name, Form: FormContainer, Subtype: SubtypeM1,
		Text: l.text.Data, TextAddr: l.text.Addr, FirstWords: b.Chain[0].Words, TaskCount: len(b.Chain), BARs: q.bars,
		Procedures: []string{b.procedureName()}, Procedure: b.procedureName(), WindowTaps: b.WindowTaps,
	}
	p.Segments = make([]Segment, 0, len(l.segments)+1)
	for _, s := range l.segments {
		if len(s.Sections) == 0 && s.MemSize > 0 {
			p.Segments = append(p.Segments, Segment{Name: s.Name, Addr: s.Addr, Size: s.MemSize, Prot: s.Prot})
		}
		for _, h := range s.Sections {
			p.Segments = append(p.Segments, Segment{Name: s.Name, Section: h.Name, Addr: h.Addr, Size: h.Size, Data: h.Data, Prot: s.Prot, Unmade: l.sizes && h.Flags == sectionConst, Unread: h.isUnread(s)})
		}
	}
	// Inputs come first, as in a container, whose operations name them in this order.
	for _, d := range [...]Direction{Input, Output} {
		for i := range q.ports {
			if q.ports[i].Direction == d {
				q.ports[i].Type = Float16()
				p.Ports = append(p.Ports, q.ports[i])
			}
		}
	}
	return p, nil
}

// validate returns an error if the procedure has no descriptors or a port with an invalid
// buffer index.
func (q *part) validate() error {
	if len(q.Chain) == 0 {
		return fmt.Errorf("program %s has no descriptors; want at least one", q.procedureName())
	}
	for _, p := range q.Ports {
		if p.BAR <= regs.BARScratch || p.BAR >= len(regs.BARs{}) {
			return fmt.Errorf("port %s: buffer %d is not between %d and %d", p.Name, p.BAR, regs.BARScratch+1, len(regs.BARs{})-1)
		}
		if p.BAR == q.WeightsBAR {
			return fmt.Errorf("port %s: buffer %d has the weights", p.Name, p.BAR)
		}
	}
	if w := q.WeightsBAR; w != 0 && (w <= regs.BARScratch || w >= len(regs.BARs{})) {
		return fmt.Errorf("weights: buffer %d is not between %d and %d", w, regs.BARScratch+1, len(regs.BARs{})-1)
	}
	return nil
}

// Container assigns addresses and file offsets to all sections and returns the container.
// It returns an error if the container cannot hold them.
func (b *Builder) Container() (*Container, error) {
	l := &layout{Builder: b}
	for _, q := range append([]*Builder{b}, b.Also...) {
		r := &part{Builder: q, ports: slices.Clone(q.Ports)}
		if err := r.validate(); err != nil {
			return nil, err
		}
		l.parts = append(l.parts, r)
	}
	l.placeSegments()
	c := &Container{CPUType: cpuTypeEngine, Subtype: SubtypeM1, FileType: fileExecutable, Flags: headerFlags}
	for _, s := range l.segments {
		c.Loads = append(c.Loads, s)
	}
	for _, q := range l.parts {
		for i := range q.ports {
			c.Loads = append(c.Loads, newPortCommand(&q.ports[i]))
		}
	}
	for _, q := range l.parts {
		c.Loads = append(c.Loads, q.newProgramCommand())
		for _, d := range [...]Direction{Input, Output} {
			for i := range q.ports {
				if q.ports[i].Direction == d {
					c.Loads = append(c.Loads, q.newOperationCommand(&q.ports[i], b.Late))
				}
			}
		}
	}
	// The order of the load commands is that of the compiler's files.
	banner := newLoadCommand(CommandBanner, commandHeader+len(b.Banner)+1)
	copy(banner[commandHeader:], b.Banner)
	c.Loads = append(c.Loads, &bannerLoad{banner, b.Banner})
	if b.NoteBytes > 0 {
		c.Loads = append(c.Loads, newLoadCommand(CommandNote, b.NoteBytes))
	}
	symtab := l.newSymtabCommand()
	c.Loads = append(c.Loads, symtab)
	l.assignFileOffsets(c, symtab)
	return c, nil
}

func (b *Builder) procedureName() string { return cmp.Or(b.Procedure, "net") }

// A layout assigns addresses and file offsets to the parts of a container.
type layout struct {
	*Builder
	parts    []*part
	segments []*SegmentLoad
	text     *SectionHeader
	consts   *SectionHeader // the first section of constants
	sizes    bool           // only the size of the constants is known
}

// A part is one procedure of a container, with its share of memory.
type part struct {
	*Builder
	ports      []Port
	bars       regs.BARs
	constants  []byte
	text, data uint64 // offsets of its chain and constants in their sections
}

// newLoadCommand returns an empty load command of at least size bytes, rounded up to a multiple of
// 8.
func newLoadCommand(cmd Command, size int) LoadBytes {
	b := make(LoadBytes, roundUpTo(uint64(size), 8))
	le.PutUint32(b, uint32(cmd))
	le.PutUint32(b[4:], uint32(len(b)))
	return b
}

func newSegmentCommand(name string, addr, size uint64, prot Protection, flags SegmentFlags, sections ...*SectionHeader) *SegmentLoad {
	for _, s := range sections {
		s.Segment = name
	}
	return &SegmentLoad{
		LoadBytes: newLoadCommand(CommandSegment, segmentSize+sectionSize*len(sections)),
		Name:      name, Addr: addr, MemSize: roundUpTo(size, PageSize),
		MaxProt: prot, Prot: prot, Flags: flags, Sections: sections,
	}
}

const (
	pageAlign = 14 // log2
	tileAlign = 6
)

// placeSegments assigns device addresses to the scratch memory, the ports, the text and the
// constants, and makes the segments.
func (l *layout) placeSegments() {
	l.segments = []*SegmentLoad{newSegmentCommand("__PAGEZERO", 0, PageSize, 0, segmentPadded)}
	at := uint64(ApertureBase)
	// Procedures do not run at the same time, so they share one scratch memory.
	var scratch uint64
	for _, q := range l.parts {
		scratch = max(scratch, q.Scratch)
	}
	if scratch > 0 {
		for _, q := range l.parts {
			if q.Scratch > 0 {
				q.bars[regs.BARScratch] = at
			}
		}
		l.segments = append(l.segments, newSegmentCommand("__DATA", at, scratch, ProtRead|ProtWrite, 0,
			&SectionHeader{Name: "__bss", Addr: at, Size: scratch, Align: pageAlign, Flags: sectionScratch}))
		at += roundUpTo(scratch, PageSize)
	}
	for _, q := range l.parts {
		at = l.placePorts(q, at)
	}
	l.placeText(at)
	slices.SortStableFunc(l.segments, func(a, b *SegmentLoad) int { return cmp.Compare(a.Addr, b.Addr) })
	for _, name := range l.Empty {
		l.segments = append(l.segments, newSegmentCommand(name, 0, 0, 0, 0))
	}
}

// placePorts assigns consecutive addresses, starting at the address at, to the ports of procedure q
// that have none. It returns the address after the last port.
func (l *layout) placePorts(q *part, at uint64) uint64 {
	order := make([]*Port, len(q.ports))
	for i := range q.ports {
		order[i] = &q.ports[i]
	}
	slices.SortStableFunc(order, func(a, b *Port) int { return cmp.Compare(a.BAR, b.BAR) })
	for _, p := range order {
		p.Bytes = max(p.Bytes, uint64(p.Shape[0])*p.Strides[0])
		if p.Address == 0 {
			p.Address = at
		}
		at = max(at, roundUpTo(p.Address+p.Bytes, PageSize))
		q.bars[p.BAR] = p.Address
		name, prot, flags := "__const", ProtRead, sectionInput
		if p.Direction == Output {
			name, prot, flags = "__data", ProtWrite, sectionOutput
		}
		l.segments = append(l.segments, newSegmentCommand("__FVMLIB", p.Address, p.Bytes, prot, segmentWindow,
			&SectionHeader{Name: name, Addr: p.Address, Size: p.Bytes, Align: pageAlign, Flags: flags}))
	}
	return at
}

// placeText places the descriptors of all procedures, followed by their constants, starting at
// address at.
func (l *layout) placeText(at uint64) {
	var text, constants []byte
	flags := segmentPadded
	for _, q := range l.parts {
		text = padToMultiple(text, regs.Alignment)
		q.text = uint64(len(text))
		if chain := regs.EncodeChain(q.Chain); text == nil {
			text = chain
		} else {
			text = append(text, chain...)
		}
		if q.constants = q.Constants; l.sizes {
			flags = 0
			continue
		} else if q.constants == nil {
			q.constants = make([]byte, unreadConstants)
		} else {
			// The flag says that zeros take the place of constants. One procedure with real ones is enough
			// to clear it.
			flags = 0
		}
		constants = padToMultiple(constants, TileSize)
		if q.data = uint64(len(constants)); constants == nil {
			constants = slices.Clip(q.constants) // most programs have no others
			continue
		}
		constants = append(constants, q.constants...)
	}
	at = cmp.Or(l.TextAddr, at)
	l.text = &SectionHeader{Name: "__text", Addr: at, Size: uint64(len(text)), Align: pageAlign, Flags: sectionText, Data: text}
	unit := uint64(TileSize)
	if len(l.Sections) > 0 {
		unit = PageSize // segments of their own
	}
	behind := roundUpTo(at+uint64(len(text)), unit)
	l.consts = &SectionHeader{
		Name: "__const", Addr: cmp.Or(l.ConstantsAddr, behind), Size: uint64(len(constants)),
		Align: tileAlign, Flags: sectionConst, Data: constants,
	}
	if l.sizes {
		l.consts.Size = l.ConstantBytes
	}
	for _, q := range l.parts {
		q.bars[regs.BARText], q.bars[regs.BARWeights] = l.text.Addr+q.text, l.consts.Addr+q.data
		if q.WeightsBAR != 0 {
			q.bars[q.WeightsBAR] = q.bars[regs.BARWeights]
			q.bars[regs.BARWeights] += q.TensorsAt
		}
	}
	// The usual form: text and constants are two sections of one segment. Constants elsewhere need
	// segments of their own.
	if l.ConstantsAddr == 0 && len(l.Sections) == 0 {
		end := l.consts.Addr + l.consts.Size
		l.segments = append(l.segments, newSegmentCommand("__TEXT", at, end-at, ProtRead|ProtExec, flags, l.text, l.consts))
		return
	}
	l.segments = append(l.segments, newSegmentCommand("__TEXT", at, l.text.Size, ProtRead|ProtExec, 0, l.text))
	for i, h := range l.splitConstants() {
		h.Name = fmt.Sprintf("__kern_%d", i)
		l.segments = append(l.segments, newSegmentCommand(fmt.Sprintf("__KERN_%d", i), h.Addr, h.Size, ProtRead, 0, h))
	}
}

// splitConstants divides the section of constants at the offsets in l.Sections. The addresses of the
// parts follow each other, as descriptors count all of them from the first.
func (l *layout) splitConstants() []*SectionHeader {
	list := []*SectionHeader{l.consts}
	for _, start := range l.Sections {
		last := list[len(list)-1]
		n := l.consts.Addr + uint64(start) - last.Addr
		next := *last
		next.Addr, next.Size = last.Addr+n, last.Size-n
		if last.Size = n; last.Data != nil {
			next.Data, last.Data = last.Data[n:], last.Data[:n:n]
		}
		list = append(list, &next)
	}
	return list
}

func padToMultiple(b []byte, unit uint64) []byte {
	return append(b, make([]byte, roundUpTo(uint64(len(b)), unit)-uint64(len(b)))...)
}

// findSectionNumber returns the number of the section that contains the address at, or begins there,
// counted from 1, or 0 if there is none.
func (l *layout) findSectionNumber(at uint64) uint8 {
	n := uint8(0)
	for _, s := range l.segments {
		for _, sec := range s.Sections {
			n++
			if at == sec.Addr || at > sec.Addr && at-sec.Addr < sec.Size {
				return n
			}
		}
	}
	return 0
}

func newPortCommand(p *Port) *PortLoad {
	b := newLoadCommand(CommandPort64, 0x18+len(p.Name)+1)
	le.PutUint32(b[8:], 0x18)
	copy(b[0x18:], p.Name)
	return &PortLoad{b, p.Address, p.Name}
}

// newProgramCommand returns the load command that describes the procedure.
func (q *part) newProgramCommand() *ProgramLoad {
	const size = 0x878
	b := newLoadCommand(CommandThread, size+len(q.procedureName())+1)
	for at, v := range map[int]uint32{
		8: uint32(flavorProgram), 0xc: (size - 0x10) / 4, programFFFF: 0xffff, programName: size,
		programWord850: 0x11, programWord858: 4, 0x860: 1, 0x868: 9, 0x86c: 8,
	} {
		le.PutUint32(b[at:], v)
	}
	copy(b[size:], q.procedureName())
	return &ProgramLoad{
		LoadBytes: b, BARs: q.bars, Start: q.bars[regs.BARText],
		FirstWords: q.Chain[0].Words, Tasks: len(q.Chain), Procedure: q.procedureName(),
	}
}

func (q *part) newOperationCommand(p *Port, late bool) *OperationLoad {
	operand, size := p.Name, operationSize
	if late {
		size = operationLateSize
		if p.Direction == Output {
			operand += "@output"
		}
	}
	fields := size
	names := []string{q.procedureName(), operand, p.Name}
	var at [3]uint32
	for i, n := range names {
		at[i] = uint32(size)
		size += len(n) + 1
	}
	// For an output, the compiler counts only up to its last element, without the padding of the last row.
	extent := p.Bytes
	if p.Direction == Output {
		extent = elementBytes
		for i, n := range p.Shape {
			extent += uint64(n-1) * p.Strides[i]
		}
	}
	b := newLoadCommand(CommandThread, size)
	for off, v := range map[int]uint32{
		8: uint32(flavorOperation), 0xc: uint32(fields-0x10) / 4, operationWord10: 3,
		operationProcedure: at[0], operationOperand: at[1], operationSymbol: at[2],
		operationShape + 16: 1, operationWord78: 1,
	} {
		le.PutUint32(b[off:], v)
	}
	le.PutUint64(b[operationBytes:], p.Bytes)
	le.PutUint64(b[operationExtent:], extent)
	for i, n := range names {
		copy(b[at[i]:], n)
	}
	return &OperationLoad{
		LoadBytes: b, Direction: p.Direction, Procedure: q.procedureName(), Operand: operand, Port: p.Name,
		Type: uint32(Float16().Code), Shape: p.Shape, Strides: p.Strides,
	}
}

// assignFileOffsets assigns file offsets: symbols, strings and relocations follow the load
// commands, and each segment with data starts a new page.
func (l *layout) assignFileOffsets(c *Container, symtab *symtabLoad) {
	at := uint64(headerSize)
	for _, load := range c.Loads {
		at += uint64(len(load.Raw()))
	}
	symtab.Offset = uint32(at)
	at += symbolSize * uint64(len(symtab.Symbols))
	symtab.StringOffset = uint32(at)
	at = roundUpTo(at+uint64(len(symtab.Strings)), 8)
	if n := uint64(len(l.text.Relocs)); n > 0 {
		l.text.Flags = sectionText | sectionRelocated
		l.text.RelocOffset = uint32(at)
		at += relocSize * n
	}
	for _, s := range l.segments {
		if len(s.Sections) == 0 || s.Sections[0].Data == nil {
			continue
		}
		s.Offset = roundUpTo(at, PageSize)
		s.FileSize = s.MemSize
		for _, sec := range s.Sections {
			sec.Offset = uint32(s.Offset + sec.Addr - s.Addr)
		}
		at = s.Offset + s.FileSize
	}
	c.Size = at
}

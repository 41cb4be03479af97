package loader

import (
	"cmp"
	"fmt"
	"slices"

	"anesim/hw/regs"
	"anesim/loader/enums"
)

// An imager turns a container's load commands into a Program.
type imager struct {
	p        *Program
	sections []*SectionHeader // by ordinal, from 0
	text     *SectionHeader
	programs []placed[*ProgramLoad]
	main     *ProgramLoad // of the procedure that is read
	ports    []placed[*PortLoad]
	ops      []placed[*OperationLoad]
	shapes   map[string]Shape // by tensor
}

// placed is a load command with its file offset.
type placed[T any] struct {
	at   uint64
	load T
}

// program reads a procedure of a decoded container, the first when it is not named.
func (c *Container) program(name, procedure string) (*Program, error) {
	m := &imager{p: &Program{Name: name, Form: FormContainer, Subtype: c.Subtype, Container: c}, shapes: make(map[string]Shape)}
	at := uint64(headerSize)
	for _, l := range c.Loads {
		if err := m.add(at, l); err != nil {
			return nil, err
		}
		at += uint64(len(l.Raw()))
	}
	if c.Subtype != SubtypeM1 {
		return m.p, m.bind()
	}
	if m.text == nil {
		return nil, fail(at, nil, "no section __TEXT,__text")
	}
	if err := m.choose(at, procedure); err != nil {
		return nil, err
	}
	for _, step := range []func() error{m.chain, m.bind} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return m.p, nil
}

// choose finds the program descriptor of a procedure; end is where the commands end.
func (m *imager) choose(end uint64, procedure string) error {
	if len(m.programs) == 0 {
		return fail(end, nil, "no program descriptor: a thread command of flavor %d", uint32(FlavorProgram))
	}
	for _, l := range m.programs {
		if m.main == nil && (procedure == "" || l.load.Procedure == procedure) {
			m.main = l.load
		}
	}
	if m.main == nil {
		return fail(m.programs[0].at, procedure, "container has the procedures %q and none named", m.p.Procedures)
	}
	p := m.p
	p.Procedure, p.FirstWords, p.TaskCount, p.BARs = m.main.Procedure, m.main.FirstWords, m.main.Tasks, m.main.BARs
	return nil
}

func (m *imager) add(at uint64, l Load) error {
	p := m.p
	switch l := l.(type) {
	case *SegmentLoad:
		if len(l.Sections) == 0 && l.MemSize > 0 {
			p.Segments = append(p.Segments, Segment{Name: printable(l.Name), Addr: l.Addr, Size: l.MemSize, Data: l.Data, Prot: l.Prot})
		}
		for _, s := range l.Sections {
			if s.Segment == "__TEXT" && s.Name == "__text" {
				if m.text != nil {
					return fail(at, nil, "a second section __TEXT,__text")
				}
				m.text = s
			}
			m.sections = append(m.sections, s)
			p.Segments = append(p.Segments, Segment{Name: printable(l.Name), Section: printable(s.Name), Addr: s.Addr, Size: s.Size, Data: s.Data, Prot: l.Prot})
		}
	case *PortLoad:
		if len(m.ports) == maxPorts*maxProcedures {
			return fail(at, l.Name, "more than %d ports", maxPorts*maxProcedures)
		}
		m.ports = append(m.ports, placed[*PortLoad]{at, l})
	case *ProgramLoad:
		for _, other := range m.programs {
			if other.load.Procedure == l.Procedure {
				return fail(at, l.Procedure, "a second program descriptor of the procedure")
			}
		}
		if len(m.programs) == maxProcedures {
			return fail(at, l.Procedure, "more than %d procedures", maxProcedures)
		}
		m.programs = append(m.programs, placed[*ProgramLoad]{at, l})
		m.procedure(l.Procedure)
	case *OperationLoad:
		if len(m.ops) == maxPorts*maxProcedures {
			return fail(at, l.Port, "more than %d operations", maxPorts*maxProcedures)
		}
		m.ops = append(m.ops, placed[*OperationLoad]{at, l})
		m.procedure(l.Procedure)
	case *BannerLoad:
		p.Banner = parseBanner(l.Text)
	case *SymtabLoad:
		for i := range l.Symbols {
			s := &l.Symbols[i]
			p.Symbols = append(p.Symbols, *s)
			if t, ok := s.tile(); ok {
				p.Tiles = append(p.Tiles, t)
			} else if e, ok := s.element(); ok {
				p.Types = append(p.Types, e)
			} else if sh, ok := s.shape(); ok {
				p.Shapes = append(p.Shapes, sh)
				m.shapes[sh.Name] = sh
			}
		}
	}
	return nil
}

func (m *imager) procedure(name string) {
	if !slices.Contains(m.p.Procedures, name) {
		m.p.Procedures = append(m.p.Procedures, name)
	}
}

// chain walks the descriptors and places the relocations on them.
func (m *imager) chain() error {
	p, text := m.p, m.text
	if text.Data == nil {
		return fail(uint64(text.Offset), nil, "section __TEXT,__text has no bytes in the file")
	}
	start, end, err := m.extent()
	if err != nil {
		return err
	}
	p.Text, p.TextAddr, p.textOff = text.Data[start:end:end], text.Addr+start, uint64(text.Offset)+start
	if len(text.Relocs) == 0 {
		return p.walk()
	}
	owner, err := p.owners()
	if err != nil {
		return err
	}
	if n := len(text.Relocs); n > len(text.Data)/4 {
		return fail(uint64(text.RelocOffset), n, "more relocations than the %d words of text", len(text.Data)/4)
	}
	for i, pair := range text.Relocs {
		if off := uint64(pair.Off); len(m.programs) > 1 && (off < start || off >= end) {
			continue // of another procedure
		}
		r, err := m.relocation(owner, pair, uint32(start))
		if err != nil {
			return wrap(uint64(text.RelocOffset)+relocSize*uint64(i), err, "relocation %d", i)
		}
		p.Relocations = append(p.Relocations, r)
	}
	return nil
}

// extent is where in the text section the procedure's chain stands: from its start to
// the next procedure's, or the end. Next pointers count from the text's buffer, so a
// chain that starts elsewhere cannot be walked.
func (m *imager) extent() (start, end uint64, err error) {
	text := m.text
	end = uint64(len(text.Data))
	at := m.main.Start
	if at == 0 || at == text.Addr {
		at = text.Addr
	} else if at != m.main.BARs[regs.BARText] || at-text.Addr >= end { // which wraps below the text
		return 0, 0, &UnsupportedError{"container", fmt.Sprintf("a program that starts at %#x, not at its text's %#x", at, text.Addr)}
	}
	start = at - text.Addr
	for _, l := range m.programs {
		if o := l.load.Start; o > at {
			end = min(end, o-text.Addr)
		}
	}
	return start, end, nil
}

// walk checks the chain.
func (p *Program) walk() error {
	for _, err := range p.Descriptors() {
		if err != nil {
			return p.streamError(err)
		}
	}
	return nil
}

// owners checks the chain and returns each alignment unit's descriptor.
func (p *Program) owners() ([]*regs.Descriptor, error) {
	owner := make([]*regs.Descriptor, (len(p.Text)+descriptorUnit-1)/descriptorUnit)
	for d, err := range p.Descriptors() {
		if err != nil {
			return nil, p.streamError(err)
		}
		for u := int(d.Offset) / descriptorUnit; u <= (int(d.Offset)+4*d.Words-1)/descriptorUnit; u++ {
			owner[u] = d
		}
	}
	return owner, nil
}

// relocation places a container's relocation on its register.
func (m *imager) relocation(owner []*regs.Descriptor, pair RelocPair, start uint32) (Relocation, error) {
	section := int(pair.Info & 0xffffff)
	off := pair.Off - start
	r := Relocation{
		Kind: SectionRelative, Off: off, Target: section, Info: pair.Info,
		Bit: 6, Width: 26, Shift: 6,
	}
	if pair.Info>>24 != relocSection>>24 {
		return r, fmt.Errorf("info %#x is not that of a section-relative word, %#x", pair.Info, relocSection)
	}
	if section < 1 || section > len(m.sections) {
		return r, fmt.Errorf("section %d of %d", section, len(m.sections))
	}
	unit := int(off / descriptorUnit)
	if unit >= len(owner) || owner[unit] == nil {
		return r, fmt.Errorf("offset %#x is in no descriptor", off)
	}
	d := owner[unit]
	register, ok := recordWord(d, off)
	if !ok {
		return r, fmt.Errorf("offset %#x is no register word of descriptor %d", off, d.Index)
	}
	r.Task, r.Register = d.Index, register
	return r, nil
}

// bind makes the ports: inputs, then outputs, each in the order of the operations.
func (m *imager) bind() error {
	byName := make(map[string]placed[*PortLoad], len(m.ports))
	for _, l := range m.ports {
		if _, ok := byName[l.load.Name]; ok {
			return fail(l.at, l.load.Name, "a second port of the name")
		}
		byName[l.load.Name] = l
	}
	for _, d := range [...]Direction{Input, Output} {
		named := make(map[string]bool, len(m.ops))
		for _, op := range m.ops {
			if op.load.Direction != d || named[op.load.Port] || !m.belongs(op.load) {
				continue
			}
			l, ok := byName[op.load.Port]
			if !ok {
				return fail(op.at, op.load.Port, "operation without a port command")
			}
			named[op.load.Port] = true
			if err := m.port(l, op.load, d); err != nil {
				return err
			}
		}
	}
	if len(m.programs) > 1 {
		// What no operation of the procedure names is another's.
		return m.sorted()
	}
	// A port no operation names takes its direction from its window.
	for _, d := range [...]Direction{Input, Output} {
		for _, l := range m.ports {
			if slices.ContainsFunc(m.ops, func(op placed[*OperationLoad]) bool { return op.load.Port == l.load.Name }) {
				continue
			}
			if s, ok := m.p.window(l.load.Addr); ok && (s.Prot&ProtWrite != 0) != (d == Output) {
				continue
			}
			if err := m.port(l, nil, d); err != nil {
				return err
			}
		}
	}
	return m.sorted()
}

// sorted puts inputs ahead of outputs.
func (m *imager) sorted() error {
	slices.SortStableFunc(m.p.Ports, func(a, b Port) int { return cmp.Compare(a.Direction, b.Direction) })
	return nil
}

// belongs reports whether an operation is the chosen procedure's. Containers of one
// procedure name it as they like.
func (m *imager) belongs(op *OperationLoad) bool {
	return len(m.programs) < 2 || op.Procedure == m.main.Procedure
}

// window finds the __FVMLIB section that starts at an address.
func (p *Program) window(addr uint64) (*Segment, bool) {
	for i := range p.Segments {
		if s := &p.Segments[i]; s.Name == "__FVMLIB" && s.Addr == addr && s.Size > 0 {
			return s, true
		}
	}
	return nil, false
}

func (m *imager) port(l placed[*PortLoad], op *OperationLoad, d Direction) error {
	p := m.p
	s, ok := p.window(l.load.Addr)
	if !ok {
		return fail(l.at+0x10, l.load.Addr, "no __FVMLIB section stands at the address of port %s", l.load.Name)
	}
	if need := [...]Protection{Input: ProtRead, Output: ProtWrite}[d]; s.Prot&need == 0 {
		return fail(l.at+0x10, l.load.Addr, "window of %v port %s has protection %d, at", d, l.load.Name, s.Prot)
	}
	port := Port{Name: l.load.Name, Direction: d, Address: s.Addr, Bytes: s.Size, BAR: -1}
	for i, a := range p.BARs {
		if a == s.Addr && i != regs.BARText {
			port.BAR = i
			break
		}
	}
	port.Type = p.elementType(m.shape(&port, op))
	if port.Bytes < port.Type.bytes() {
		return fail(l.at, port.Name, "no element in the %d bytes of port", port.Bytes)
	}
	if n := port.span(); n > port.Bytes {
		return fail(l.at, port.Name, "shape %v with strides %v needs %#x bytes of the %#x of port", port.Shape, port.Strides, n, port.Bytes)
	}
	p.Ports = append(p.Ports, port)
	return nil
}

// elementType looks a number up in the program's catalogue.
func (p *Program) elementType(code int) ElementType {
	for _, t := range p.Types {
		if t.Code == code {
			return t
		}
	}
	if f := Float16(); f.Code == code {
		return f
	}
	t := ElementType{Code: code}
	if c := enums.CatalogueType(code); int(c) == code && c.Known() {
		t.Name = c.String()
	}
	return t
}

// span is the number of bytes to the end of the port's last element.
func (p *Port) span() uint64 {
	n := p.Type.bytes()
	for i, e := range p.Shape {
		n += uint64(e-1) * p.Strides[i]
	}
	return n
}

// flat gives the port a shape of one row.
func (p *Port) flat() {
	p.Shape = [4]int{1, 1, 1, int(p.Bytes / elementBytes)}
	p.Strides = [4]uint64{p.Bytes, p.Bytes, p.Bytes, elementBytes}
}

// elementBytes is the size of fp16, the only element format real programs move.
const elementBytes = 2

// shape fills in the port's shape from its symbol, or else from its operation, or else
// as a flat run of fp16 values; it returns the element type's number.
func (m *imager) shape(port *Port, op *OperationLoad) int {
	if sh, ok := m.shapes[port.Name]; ok {
		port.Shape, port.Strides = sh.Extents, sh.Strides
		return sh.Type
	}
	if op != nil {
		port.Shape, port.Strides = op.Shape, op.Strides
		return int(op.Type)
	}
	port.flat()
	return Float16().Code
}

package loader

import (
	"cmp"
	"fmt"
	"slices"

	"anesim/hw/regs"
	"anesim/internal/enums"
)

// An imager makes a [Program] from the load commands of a container.
type imager struct {
	p        *Program
	sections []*SectionHeader // by ordinal, from 0
	text     *SectionHeader
	programs []loadAt[*ProgramLoad]
	main     *ProgramLoad // program descriptor of the selected procedure
	ports    []loadAt[*PortLoad]
	ops      []loadAt[*OperationLoad]
	shapes   map[string]Shape // by tensor name
}

// A loadAt is a load command with its offset in the file.
type loadAt[T any] struct {
	at   uint64
	load T
}

// toProgram returns the procedure with the given name as a [Program], or the first one if
// the name is "". For a container of another chip, the program has no descriptors.
func (c *Container) toProgram(name, procedure string) (*Program, error) {
	m := &imager{p: &Program{Name: name, Form: FormContainer, Subtype: c.Subtype, Container: c}, shapes: make(map[string]Shape)}
	at := uint64(headerSize)
	for _, l := range c.Loads {
		if err := m.addLoadCommand(at, l); err != nil {
			return nil, err
		}
		at += uint64(len(l.Raw()))
	}
	if c.Subtype != SubtypeM1 {
		return m.p, m.makePorts()
	}
	if m.text == nil {
		return nil, newFormatError(at, nil, "missing section __TEXT,__text")
	}
	if err := m.chooseProcedure(at, procedure); err != nil {
		return nil, err
	}
	for _, step := range []func() error{m.readChain, m.makePorts} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return m.p, nil
}

// chooseProcedure finds the load command of the named procedure and copies its fields to the
// program. end is the file offset for errors.
func (m *imager) chooseProcedure(end uint64, procedure string) error {
	if len(m.programs) == 0 {
		return newFormatError(end, nil, "missing program descriptor; want a thread command of flavor %d", uint32(flavorProgram))
	}
	for _, l := range m.programs {
		if m.main == nil && (procedure == "" || l.load.Procedure == procedure) {
			m.main = l.load
		}
	}
	if m.main == nil {
		return newFormatError(m.programs[0].at, procedure, "unknown procedure; want one of %q", m.p.Procedures)
	}
	p := m.p
	p.Procedure, p.FirstWords, p.TaskCount, p.BARs = m.main.Procedure, m.main.FirstWords, m.main.Tasks, m.main.BARs
	return nil
}

func (m *imager) addLoadCommand(at uint64, l Load) error {
	p := m.p
	switch l := l.(type) {
	case *SegmentLoad:
		// __PAGEZERO has no sections. It stays in the map, so that an access below the first buffer is
		// reported as one without permission.
		if len(l.Sections) == 0 && l.MemSize > 0 {
			p.Segments = append(p.Segments, Segment{Name: escapeUnprintable(l.Name), Addr: l.Addr, Size: l.MemSize, Data: l.Data, Prot: l.Prot})
		}
		for _, s := range l.Sections {
			if s.Segment == "__TEXT" && s.Name == "__text" {
				if m.text != nil {
					return newFormatError(at, nil, "duplicate section __TEXT,__text")
				}
				m.text = s
			}
			m.sections = append(m.sections, s)
			p.Segments = append(p.Segments, Segment{Name: escapeUnprintable(l.Name), Section: escapeUnprintable(s.Name), Addr: s.Addr, Size: s.Size, Data: s.Data, Prot: l.Prot, Unread: s.isUnread(l)})
		}
	case *PortLoad:
		// Ports, programs and operations are matched by name later. The limits keep the time for that from
		// growing with the file.
		if len(m.ports) == maxPorts*maxProcedures {
			return newFormatError(at, l.Name, "limit of %d ports exceeded at port", maxPorts*maxProcedures)
		}
		m.ports = append(m.ports, loadAt[*PortLoad]{at, l})
	case *ProgramLoad:
		for _, other := range m.programs {
			if other.load.Procedure == l.Procedure {
				return newFormatError(at, l.Procedure, "duplicate program descriptor for procedure")
			}
		}
		if len(m.programs) == maxProcedures {
			return newFormatError(at, l.Procedure, "limit of %d procedures exceeded at procedure", maxProcedures)
		}
		m.programs = append(m.programs, loadAt[*ProgramLoad]{at, l})
		m.addProcedure(l.Procedure)
	case *OperationLoad:
		if len(m.ops) == maxPorts*maxProcedures {
			return newFormatError(at, l.Port, "limit of %d operations exceeded at operation on port", maxPorts*maxProcedures)
		}
		m.ops = append(m.ops, loadAt[*OperationLoad]{at, l})
		m.addProcedure(l.Procedure)
	case *bannerLoad:
		p.Banner = parseBanner(l.Text)
	case *symtabLoad:
		for i := range l.Symbols {
			s := &l.Symbols[i]
			p.Symbols = append(p.Symbols, *s)
			// The form of a symbol's name decides what it describes. Symbols of an unknown form stay in
			// the list.
			if t, ok := s.parseTile(); ok {
				p.Tiles = append(p.Tiles, t)
			} else if e, ok := s.parseElementType(); ok {
				p.Types = append(p.Types, e)
			} else if sh, ok := s.parseShape(); ok {
				p.Shapes = append(p.Shapes, sh)
				m.shapes[sh.Name] = sh
			}
		}
	}
	return nil
}

func (m *imager) addProcedure(name string) {
	if !slices.Contains(m.p.Procedures, name) {
		m.p.Procedures = append(m.p.Procedures, name)
	}
}

// readChain checks the descriptors of the selected procedure and converts its relocations. It
// returns an error if a descriptor or a relocation is invalid.
func (m *imager) readChain() error {
	p, text := m.p, m.text
	if text.Data == nil {
		return newFormatError(uint64(text.Offset), nil, "section __TEXT,__text has no bytes in the file")
	}
	start, end, err := m.findChainBounds()
	if err != nil {
		return err
	}
	p.Text, p.TextAddr, p.textOff = text.Data[start:end:end], text.Addr+start, uint64(text.Offset)+start
	if len(text.Relocs) == 0 {
		return p.checkChain()
	}
	// One pass over the descriptors finds the owner of each word: a search per relocation would be
	// quadratic.
	owner, err := p.findOwners()
	if err != nil {
		return err
	}
	if n := len(text.Relocs); n > len(text.Data)/4 {
		return newFormatError(uint64(text.RelocOffset), n, "relocation count exceeds the text's %#x words", len(text.Data)/4)
	}
	for i, pair := range text.Relocs {
		if off := uint64(pair.Off); len(m.programs) > 1 && (off < start || off >= end) {
			continue // belongs to another procedure
		}
		r, err := m.readRelocation(owner, pair, uint32(start))
		if err != nil {
			return wrapFormatError(uint64(text.RelocOffset)+relocSize*uint64(i), err, "relocation %d", i)
		}
		p.Relocations = append(p.Relocations, r)
	}
	return nil
}

// findChainBounds returns the range of the text section with the descriptors of the procedure.
// It ends where another procedure starts or at the end of the section. findChainBounds returns
// an error if the descriptors do not start at the address of their buffer, because their
// offsets count from there.
func (m *imager) findChainBounds() (start, end uint64, err error) {
	text := m.text
	end = uint64(len(text.Data))
	at := m.main.Start
	if at == 0 || at == text.Addr {
		at = text.Addr
	} else if at != m.main.BARs[regs.BARText] || at-text.Addr >= end { // the difference wraps if at is below the text
		return 0, 0, &UnsupportedError{"container", fmt.Sprintf("unsupported program start %#x; want the text address %#x, or buffer 0 inside the text", at, text.Addr)}
	}
	start = at - text.Addr
	for _, l := range m.programs {
		if o := l.load.Start; o > at {
			end = min(end, o-text.Addr)
		}
	}
	return start, end, nil
}

// checkChain returns an error if a descriptor of the program is invalid.
func (p *Program) checkChain() error {
	for _, err := range p.Descriptors() {
		if err != nil {
			return p.wrapStreamError(err)
		}
	}
	return nil
}

// findOwners returns, for each unit of regs.Alignment bytes of the text, the descriptor
// that occupies it, or nil.
func (p *Program) findOwners() ([]*regs.Descriptor, error) {
	owner := make([]*regs.Descriptor, (len(p.Text)+descriptorUnit-1)/descriptorUnit)
	for d, err := range p.Descriptors() {
		if err != nil {
			return nil, p.wrapStreamError(err)
		}
		for u := int(d.Offset) / descriptorUnit; u <= (int(d.Offset)+4*d.Words-1)/descriptorUnit; u++ {
			owner[u] = d
		}
	}
	return owner, nil
}

// readRelocation converts an entry of a relocation table to a [Relocation]. The slice owner
// is a result of findOwners, and start is the offset of the descriptors in their section.
func (m *imager) readRelocation(owner []*regs.Descriptor, pair RelocPair, start uint32) (Relocation, error) {
	section := int(pair.Info & 0xffffff)
	off := pair.Off - start
	r := Relocation{
		Kind: SectionRelative, Off: off, Target: section, Info: pair.Info,
		Bit: 6, Width: 26, Shift: 6,
	}
	if pair.Info>>24 != relocSection>>24 {
		return r, fmt.Errorf("unknown relocation type in word %#x; want %#x plus a section number", pair.Info, relocSection)
	}
	if section < 1 || section > len(m.sections) {
		return r, fmt.Errorf("section %d is not between 1 and %d", section, len(m.sections))
	}
	unit := int(off / descriptorUnit)
	if unit >= len(owner) || owner[unit] == nil {
		return r, fmt.Errorf("offset %#x is not inside any descriptor", off)
	}
	d := owner[unit]
	register, ok := findRegisterAt(d, off)
	if !ok {
		return r, fmt.Errorf("offset %#x does not point to a register word of descriptor %d", off, d.Index)
	}
	r.Task, r.Register = d.Index, register
	return r, nil
}

// makePorts makes the program's ports: inputs, then outputs, each in the order of the
// operations.
func (m *imager) makePorts() error {
	byName := make(map[string]loadAt[*PortLoad], len(m.ports))
	for _, l := range m.ports {
		if _, ok := byName[l.load.Name]; ok {
			return newFormatError(l.at, l.load.Name, "duplicate port")
		}
		byName[l.load.Name] = l
	}
	for _, d := range [...]Direction{Input, Output} {
		named := make(map[string]bool, len(m.ops))
		for _, op := range m.ops {
			if op.load.Direction != d || named[op.load.Port] || !m.belongsToProcedure(op.load) {
				continue
			}
			l, ok := byName[op.load.Port]
			if !ok {
				return newFormatError(op.at, op.load.Port, "missing port command for operation on port")
			}
			named[op.load.Port] = true
			if err := m.addPort(l, op.load, d); err != nil {
				return err
			}
		}
	}
	// In a container with several procedures, ports that the procedure's operations do not name
	// belong to other procedures.
	if len(m.programs) < 2 {
		if err := m.addUnnamedPorts(); err != nil {
			return err
		}
	}
	slices.SortStableFunc(m.p.Ports, func(a, b Port) int { return cmp.Compare(a.Direction, b.Direction) })
	return nil
}

// addUnnamedPorts adds the ports that no operation names. Each one gets its direction from the
// protection of its window.
func (m *imager) addUnnamedPorts() error {
	for _, d := range [...]Direction{Input, Output} {
		for _, l := range m.ports {
			if slices.ContainsFunc(m.ops, func(op loadAt[*OperationLoad]) bool { return op.load.Port == l.load.Name }) {
				continue
			}
			if s, ok := m.p.findWindowAt(l.load.Addr); ok && (s.Prot&ProtWrite != 0) != (d == Output) {
				continue
			}
			if err := m.addPort(l, nil, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// belongsToProcedure reports whether operation op belongs to the selected procedure. If the
// container has only one procedure, all operations do.
func (m *imager) belongsToProcedure(op *OperationLoad) bool {
	return len(m.programs) < 2 || op.Procedure == m.main.Procedure
}

// findWindowAt returns the section of an input or output that starts at addr. It returns false
// if there is none.
func (p *Program) findWindowAt(addr uint64) (*Segment, bool) {
	for i := range p.Segments {
		if s := &p.Segments[i]; s.Name == "__FVMLIB" && s.Addr == addr && s.Size > 0 {
			return s, true
		}
	}
	return nil, false
}

func (m *imager) addPort(l loadAt[*PortLoad], op *OperationLoad, d Direction) error {
	p := m.p
	s, ok := p.findWindowAt(l.load.Addr)
	if !ok {
		return newFormatError(l.at+0x10, l.load.Addr, "no __FVMLIB section starts at the address of port %s", l.load.Name)
	}
	if need := [...]Protection{Input: ProtRead, Output: ProtWrite}[d]; s.Prot&need == 0 {
		return newFormatError(l.at+0x10, l.load.Addr, "protection %d does not permit %v at the address of port %s", s.Prot, d, l.load.Name)
	}
	port := Port{Name: l.load.Name, Direction: d, Address: s.Addr, Bytes: s.Size, BAR: -1}
	for i, a := range p.BARs {
		if a == s.Addr && i != regs.BARText {
			port.BAR = i
			break
		}
	}
	port.Type = p.findElementType(m.setShape(&port, op))
	if port.Bytes < port.Type.elementBytes() {
		return newFormatError(l.at, port.Name, "window of %d bytes is smaller than one element of port", port.Bytes)
	}
	if n := port.spanBytes(); n > port.Bytes {
		return newFormatError(l.at, port.Name, "window of %#x bytes is smaller than the %#x bytes (shape %v, strides %v) of port", port.Bytes, n, port.Shape, port.Strides)
	}
	p.Ports = append(p.Ports, port)
	return nil
}

// findElementType returns the element type with the given code. If the program does not
// describe it, the result has at most a name.
func (p *Program) findElementType(code int) ElementType {
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

// spanBytes returns the number of bytes from the start of the port to the end of its last
// element.
func (p *Port) spanBytes() uint64 {
	n := p.Type.elementBytes()
	for i, e := range p.Shape {
		n += uint64(e-1) * p.Strides[i]
	}
	return n
}

// setFlatShape gives the port a shape of one row that fills its bytes.
func (p *Port) setFlatShape() {
	p.Shape = [4]int{1, 1, 1, int(p.Bytes / elementBytes)}
	p.Strides = [4]uint64{p.Bytes, p.Bytes, p.Bytes, elementBytes}
}

// elementBytes is the size of fp16, the only element format real programs move.
const elementBytes = 2

// setShape sets the shape and strides of the port from its shape symbol, or else from its
// operation, or else to one row of fp16 values. It returns the code of the element type.
func (m *imager) setShape(port *Port, op *OperationLoad) int {
	if sh, ok := m.shapes[port.Name]; ok {
		port.Shape, port.Strides = sh.Extents, sh.Strides
		return sh.Type
	}
	if op != nil {
		port.Shape, port.Strides = op.Shape, op.Strides
		return int(op.Type)
	}
	port.setFlatShape()
	return Float16().Code
}

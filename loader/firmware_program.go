package loader

import (
	"cmp"
	"fmt"

	"anesim/hw/regs"
)

// Package returns a firmware container whose only program is p. The container has sections for
// memory without initial contents, the weights, the descriptors, each port, and the procedure.
// Package returns an *[UnsupportedError] if a firmware container cannot hold the program.
func (p *Program) Package() (*Package, error) {
	if p.Form == FormRegisters || p.Subtype != SubtypeM1 {
		return nil, &UnsupportedError{string(p.Form), "unsupported by the firmware container, which holds version 7 descriptors only"}
	}
	if p.TextFile != nil {
		return nil, errTextNotRead
	}
	q := PackageProgram{Name: cmp.Or(p.Procedure, "net")}
	add := func(k PackageKind, data []byte) { q.Sections = append(q.Sections, PackageSection{Kind: k, Data: data}) }
	var memory []byte
	for i := range p.Segments {
		s := &p.Segments[i]
		if len(s.Name) > 16 || len(s.Section) > 16 {
			return nil, &UnsupportedError{"segment " + s.String(), "name or section name exceeds 16 bytes"}
		}
		// Memory without contents is described together, in the first section.
		if s.Data != nil || s.Size == 0 {
			continue
		}
		memory = append(memory, encodeSegment(s)...)
	}
	add(packageGeneric, memory)
	for i := range p.Segments {
		s := &p.Segments[i]
		switch {
		case s.Data == nil || s.Size == 0:
		case s.Addr == p.TextAddr || p.TextAddr-s.Addr < s.Size:
			// Store only this procedure's chain.
			t := *s
			t.Addr, t.Size, t.Data = p.TextAddr, uint64(len(p.Text)), p.Text
			add(packageText, append(encodeSegment(&t), p.Text...))
		default:
			add(packageKernel, append(encodeSegment(s), s.Data...))
		}
	}
	for i := range p.Ports {
		add(packageOperation, p.Ports[i].encode())
	}
	add(packageProc, p.encodeProcedure())
	return &Package{[]PackageProgram{q}}, nil
}

// encodeSegment returns the entry for segment s in a firmware container, without the bytes of s:
// address u64, size u64, protection u32, 0 u32, and two names of 16 bytes each.
func encodeSegment(s *Segment) []byte {
	b := make([]byte, packageMemory)
	le.PutUint64(b, s.Addr)
	le.PutUint64(b[8:], s.Size)
	le.PutUint32(b[16:], uint32(s.Prot))
	copy(b[24:40], s.Name)
	copy(b[40:56], s.Section)
	return b
}

// encode returns the entry for port p in a firmware container: direction, buffer index plus one,
// element type and length of the name as u32; the shape as u32 each; the strides as u64 each;
// address u64; size u64; the name.
func (p *Port) encode() []byte {
	b := make([]byte, packagePort, packagePort+len(p.Name))
	le.PutUint32(b, uint32(p.Direction))
	le.PutUint32(b[4:], uint32(p.BAR+1))
	le.PutUint32(b[8:], uint32(p.Type.Code))
	le.PutUint32(b[12:], uint32(len(p.Name)))
	for i := range p.Shape {
		le.PutUint32(b[16+4*i:], uint32(p.Shape[i]))
		le.PutUint64(b[32+8*i:], p.Strides[i])
	}
	le.PutUint64(b[64:], p.Address)
	le.PutUint64(b[72:], p.Bytes)
	return append(b, p.Name...)
}

// encodeProcedure returns the entry for the program's procedure in a firmware container: words of
// the first descriptor u32, number of descriptors u32, address of the chain u64, and the buffer
// addresses as u64 each.
func (p *Program) encodeProcedure() []byte {
	b := make([]byte, packageProcedure)
	le.PutUint32(b, uint32(p.FirstWords))
	le.PutUint32(b[4:], uint32(p.TaskCount))
	le.PutUint64(b[8:], p.TextAddr)
	for i, a := range p.BARs {
		le.PutUint64(b[16+8*i:], a)
	}
	return b
}

// readFirmware reads a program from a firmware container: the one named procedure, or the
// first if procedure is "".
func readFirmware(name, procedure string, file []byte) (*Program, error) {
	pkg, err := readPackage(file)
	if err != nil {
		return nil, err
	}
	// Firmware containers do not name a chip. All that are known are of the M1's generation.
	p := &Program{Name: name, Form: FormFirmware, Subtype: SubtypeM1, file: file}
	var from *PackageProgram
	for i := range pkg.Programs {
		q := &pkg.Programs[i]
		p.Procedures = append(p.Procedures, escapeUnprintable(q.Name))
		if from == nil && (procedure == "" || q.Name == procedure) {
			from = q
		}
	}
	if from == nil {
		return nil, newFormatError(12, procedure, "unknown program; want one of %q", p.Procedures)
	}
	p.Procedure = escapeUnprintable(from.Name)
	for i := range from.Sections {
		if err := p.readPackageSection(&from.Sections[i]); err != nil {
			return nil, err
		}
	}
	if p.FirstWords == 0 || p.Text == nil {
		return nil, newFormatError(from.off, p.Procedure, "missing procedure or text section in program")
	}
	if err := p.checkChain(); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Program) readPackageSection(s *PackageSection) error {
	short := func(want int) error {
		return newFormatError(s.off, uint64(len(s.Data)), "invalid %v section size for an entry of %#x bytes", s.Kind, want)
	}
	switch s.Kind {
	case packageGeneric:
		if len(s.Data)%packageMemory != 0 {
			return newFormatError(s.off, uint64(len(s.Data)), "size of the generic section is not a multiple of %#x bytes", packageMemory)
		}
		for at := 0; at < len(s.Data); at += packageMemory {
			p.Segments = append(p.Segments, readSegmentEntry(s.Data[at:]))
		}
	case packageKernel, packageText:
		if len(s.Data) < packageMemory {
			return short(packageMemory)
		}
		seg := readSegmentEntry(s.Data)
		seg.Data = s.Data[packageMemory:len(s.Data):len(s.Data)]
		if uint64(len(seg.Data)) > seg.Size {
			return newFormatError(s.off+8, seg.Size, "declared size of the %v section is less than its %#x bytes of data", s.Kind, len(seg.Data))
		}
		if s.Kind == packageText {
			if p.Text != nil {
				return newFormatError(s.off, nil, "program has a second text section")
			}
			p.Text, p.textOff, p.TextAddr = seg.Data, s.off+packageMemory, seg.Addr
		}
		p.Segments = append(p.Segments, seg)
	case packageOperation:
		if len(s.Data) < packagePort {
			return short(packagePort)
		}
		return p.readPackagePort(s)
	case packageProc:
		if len(s.Data) != packageProcedure {
			return short(packageProcedure)
		}
		words := le.Uint32(s.Data)
		if words < regs.HeaderWords || words > maxWords {
			return newFormatError(s.off, words, "word count of the first descriptor is not between %#x and %#x", regs.HeaderWords, maxWords)
		}
		tasks := le.Uint32(s.Data[4:])
		// Later code allocates by this count, so it must be in proportion to the file.
		if uint64(tasks) > uint64(len(p.file))/descriptorUnit+1 {
			return newFormatError(s.off+4, tasks, "descriptor count exceeds %#x, the most that fit in the file", len(p.file)/descriptorUnit+1)
		}
		p.FirstWords, p.TaskCount = int(words), int(tasks)
		for i := range p.BARs {
			p.BARs[i] = le.Uint64(s.Data[16+8*i:])
		}
	}
	return nil // an unknown kind is kept with the file
}

func readSegmentEntry(b []byte) Segment {
	return Segment{
		Addr: le.Uint64(b), Size: le.Uint64(b[8:]), Prot: Protection(le.Uint32(b[16:])),
		Name: escapeUnprintable(cutAtZero(b[24:40])), Section: escapeUnprintable(cutAtZero(b[40:56])),
	}
}

func (p *Program) readPackagePort(s *PackageSection) error {
	b := s.Data
	d, bar, name := Direction(le.Uint32(b)), int64(le.Uint32(b[4:]))-1, uint64(le.Uint32(b[12:]))
	switch {
	case le.Uint32(b) != uint32(Input) && le.Uint32(b) != uint32(Output):
		return newFormatError(s.off, le.Uint32(b), "unknown port direction; want 1 (input) or 2 (output)")
	case bar >= int64(len(p.BARs)):
		return newFormatError(s.off+4, uint64(bar), "port buffer index is out of range; want less than %#x", len(p.BARs))
	case name != uint64(len(b)-packagePort) || name > maxName:
		return newFormatError(s.off+12, name, "port name length differs from the %#x bytes after the entry or exceeds %#x", len(b)-packagePort, maxName)
	case len(p.Ports) == maxPorts:
		return newFormatError(s.off, nil, "program has more than %d ports", maxPorts)
	}
	q := Port{
		Name: escapeUnprintable(string(b[packagePort:])), Direction: d, BAR: int(bar), Type: p.findElementType(int(le.Uint32(b[8:]))),
		Address: le.Uint64(b[64:]), Bytes: le.Uint64(b[72:]),
	}
	if !isInAperture(q.Address, q.Bytes) {
		return newFormatError(s.off+64, q.Address, "port address leaves no room for its %#x bytes in the %d-bit device address space", q.Bytes, regs.AddressBits)
	}
	for i := range q.Shape {
		n := le.Uint32(b[16+4*i:])
		q.Shape[i], q.Strides[i] = int(n), le.Uint64(b[32+8*i:])
		// Weights that are an input have one row, which may be longer than that of any
		// surface.
		if n == 0 || uint64(n) > q.Bytes {
			return newFormatError(s.off+16+4*uint64(i), n, "size of axis %c is not between 1 and the port's %#x bytes", axes[i], q.Bytes)
		}
		if n > 1 && q.Strides[i] > q.Bytes/uint64(n-1) {
			return newFormatError(s.off+32+8*uint64(i), q.Strides[i], "stride of axis %c reaches past the port's %#x bytes", axes[i], q.Bytes)
		}
	}
	if n := q.spanBytes(); n > q.Bytes {
		return newFormatError(s.off+72, q.Bytes, "size of port %s is less than the %#x bytes needed", q.Name, n)
	}
	p.Ports = append(p.Ports, q)
	return nil
}

// String returns the ID and the name of the program and the number of its sections, as in "program
// 1, net: 7 sections".
func (q *PackageProgram) String() string {
	return fmt.Sprintf("program %d, %s: %d sections", q.ID, escapeUnprintable(q.Name), len(q.Sections))
}

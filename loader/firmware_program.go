package loader

import (
	"cmp"
	"fmt"

	"anesim/hw/regs"
)

// Package writes the program as the one program of a firmware container: its memory, its
// coefficients, its chain, a section a port, and the procedure.
func (p *Program) Package() (*Package, error) {
	if p.Form == FormRegisters || p.Subtype != SubtypeM1 {
		return nil, &UnsupportedError{string(p.Form), "the firmware container holds version 7 descriptors"}
	}
	q := PackageProgram{Name: cmp.Or(p.Procedure, "net")}
	add := func(k PackageKind, data []byte) { q.Sections = append(q.Sections, PackageSection{Kind: k, Data: data}) }
	var memory []byte
	for i := range p.Segments {
		s := &p.Segments[i]
		if len(s.Name) > 16 || len(s.Section) > 16 {
			return nil, &UnsupportedError{"segment " + s.String(), "its names have more than 16 letters"}
		}
		if s.Data != nil || s.Size == 0 {
			continue
		}
		memory = append(memory, segmentEntry(s)...)
	}
	add(PackageGeneric, memory)
	for i := range p.Segments {
		s := &p.Segments[i]
		switch {
		case s.Data == nil || s.Size == 0:
		case s.Addr == p.TextAddr || p.TextAddr-s.Addr < s.Size:
			// The chain of this procedure alone.
			t := *s
			t.Addr, t.Size, t.Data = p.TextAddr, uint64(len(p.Text)), p.Text
			add(PackageText, append(segmentEntry(&t), p.Text...))
		default:
			add(PackageKernel, append(segmentEntry(s), s.Data...))
		}
	}
	for i := range p.Ports {
		add(PackageOperation, p.Ports[i].entry())
	}
	add(PackageProc, p.procedureEntry())
	return &Package{[]PackageProgram{q}}, nil
}

// segmentEntry is a segment without its bytes: address u64, size u64, protection u32,
// 0 u32, names of 16 bytes each.
func segmentEntry(s *Segment) []byte {
	b := make([]byte, packageMemory)
	le.PutUint64(b, s.Addr)
	le.PutUint64(b[8:], s.Size)
	le.PutUint32(b[16:], uint32(s.Prot))
	copy(b[24:40], s.Name)
	copy(b[40:56], s.Section)
	return b
}

// entry is a port: direction, buffer plus one, element type, bytes of the name u32; shape
// u32 each; strides u64 each; address u64; bytes u64; the name.
func (p *Port) entry() []byte {
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

// procedureEntry is words of the first descriptor u32, descriptors u32, address of the
// chain u64, the buffers u64 each.
func (p *Program) procedureEntry() []byte {
	b := make([]byte, packageProcedure)
	le.PutUint32(b, uint32(p.FirstWords))
	le.PutUint32(b[4:], uint32(p.TaskCount))
	le.PutUint64(b[8:], p.TextAddr)
	for i, a := range p.BARs {
		le.PutUint64(b[16+8*i:], a)
	}
	return b
}

// readFirmware reads a program out of a firmware container, its first when it is not named.
func readFirmware(name, procedure string, file []byte) (*Program, error) {
	pkg, err := ReadPackage(file)
	if err != nil {
		return nil, err
	}
	p := &Program{Name: name, Form: FormFirmware, Subtype: SubtypeM1, file: file}
	var from *PackageProgram
	for i := range pkg.Programs {
		q := &pkg.Programs[i]
		p.Procedures = append(p.Procedures, printable(q.Name))
		if from == nil && (procedure == "" || q.Name == procedure) {
			from = q
		}
	}
	if from == nil {
		return nil, fail(12, procedure, "package has the programs %q and none named", p.Procedures)
	}
	p.Procedure = printable(from.Name)
	for i := range from.Sections {
		if err := p.packageSection(&from.Sections[i]); err != nil {
			return nil, err
		}
	}
	if p.FirstWords == 0 || p.Text == nil {
		return nil, fail(from.off, p.Procedure, "no procedure section, or no text section, in the program")
	}
	if err := p.walk(); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Program) packageSection(s *PackageSection) error {
	short := func(want int) error {
		return fail(s.off, uint64(len(s.Data)), "%v section is below %d bytes", s.Kind, want)
	}
	switch s.Kind {
	case PackageGeneric:
		if len(s.Data)%packageMemory != 0 {
			return fail(s.off, uint64(len(s.Data)), "generic section is no multiple of %d bytes", packageMemory)
		}
		for at := 0; at < len(s.Data); at += packageMemory {
			p.Segments = append(p.Segments, readSegmentEntry(s.Data[at:]))
		}
	case PackageKernel, PackageText:
		if len(s.Data) < packageMemory {
			return short(packageMemory)
		}
		seg := readSegmentEntry(s.Data)
		seg.Data = s.Data[packageMemory:len(s.Data):len(s.Data)]
		if uint64(len(seg.Data)) > seg.Size {
			return fail(s.off+8, seg.Size, "%v section has %#x bytes, more than it declares", s.Kind, len(seg.Data))
		}
		if s.Kind == PackageText {
			if p.Text != nil {
				return fail(s.off, nil, "a second text section")
			}
			p.Text, p.textOff, p.TextAddr = seg.Data, s.off+packageMemory, seg.Addr
		}
		p.Segments = append(p.Segments, seg)
	case PackageOperation:
		if len(s.Data) < packagePort {
			return short(packagePort)
		}
		return p.packagePort(s)
	case PackageProc:
		if len(s.Data) != packageProcedure {
			return short(packageProcedure)
		}
		words := le.Uint32(s.Data)
		if words < regs.HeaderWords || words > maxWords {
			return fail(s.off, words, "words of the first descriptor are not between %d and %d", regs.HeaderWords, maxWords)
		}
		tasks := le.Uint32(s.Data[4:])
		if uint64(tasks) > uint64(len(p.file))/descriptorUnit+1 {
			return fail(s.off+4, tasks, "descriptor count exceeds what the file has room for")
		}
		p.FirstWords, p.TaskCount = int(words), int(tasks)
		for i := range p.BARs {
			p.BARs[i] = le.Uint64(s.Data[16+8*i:])
		}
	}
	return nil // a kind that the package does not know is carried
}

func readSegmentEntry(b []byte) Segment {
	return Segment{
		Addr: le.Uint64(b), Size: le.Uint64(b[8:]), Prot: Protection(le.Uint32(b[16:])),
		Name: printable(cString(b[24:40])), Section: printable(cString(b[40:56])),
	}
}

func (p *Program) packagePort(s *PackageSection) error {
	b := s.Data
	d, bar, name := Direction(le.Uint32(b)), int64(le.Uint32(b[4:]))-1, uint64(le.Uint32(b[12:]))
	switch {
	case le.Uint32(b) != uint32(Input) && le.Uint32(b) != uint32(Output):
		return fail(s.off, le.Uint32(b), "direction of a port is neither 1, input, nor 2, output")
	case bar >= int64(len(p.BARs)):
		return fail(s.off+4, uint64(bar), "port's buffer is not below %d", len(p.BARs))
	case name != uint64(len(b)-packagePort) || name > maxName:
		return fail(s.off+12, name, "port's name has not the %d bytes behind the entry", len(b)-packagePort)
	case len(p.Ports) == maxPorts:
		return fail(s.off, nil, "program has more than %d ports", maxPorts)
	}
	q := Port{
		Name: printable(string(b[packagePort:])), Direction: d, BAR: int(bar), Type: p.elementType(int(le.Uint32(b[8:]))),
		Address: le.Uint64(b[64:]), Bytes: le.Uint64(b[72:]),
	}
	if !inAperture(q.Address, q.Bytes) {
		return fail(s.off+64, q.Address, "port of %#x bytes leaves the %d-bit device space at", q.Bytes, regs.AddressBits)
	}
	for i := range q.Shape {
		n := le.Uint32(b[16+4*i:])
		q.Shape[i], q.Strides[i] = int(n), le.Uint64(b[32+8*i:])
		// Coefficients that are an input are one row, longer than any surface's.
		if n == 0 || uint64(n) > q.Bytes {
			return fail(s.off+16+4*uint64(i), n, "extent of axis %c is not between 1 and the port's %#x bytes", axes[i], q.Bytes)
		}
		if n > 1 && q.Strides[i] > q.Bytes/uint64(n-1) {
			return fail(s.off+32+8*uint64(i), q.Strides[i], "stride of axis %c leaves the port's %#x bytes", axes[i], q.Bytes)
		}
	}
	if n := q.span(); n > q.Bytes {
		return fail(s.off+72, q.Bytes, "port %s needs %#x bytes and has", q.Name, n)
	}
	p.Ports = append(p.Ports, q)
	return nil
}

// String names the program of a package.
func (q *PackageProgram) String() string {
	return fmt.Sprintf("program %d, %s: %d sections", q.ID, printable(q.Name), len(q.Sections))
}

package loader

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"anesim/hw/regs"
)

var le = binary.LittleEndian

// A Container is a hardware container, the file format of Apple's compiler: a header,
// load commands and the data they refer to. It also keeps the bytes whose meaning is
// unknown.
type Container struct {
	CPUType, FileType, Flags, Reserved uint32
	Subtype                            Subtype
	Loads                              []Load
	Size                               uint64 // bytes of the file

	gaps []extent // bytes no command owns
}

// A Load is a load command, a record at the start of a container that describes a part of
// it.
type Load interface {
	Command() Command
	Raw() []byte         // the whole command as it was read or first made
	encodeTo(dst []byte) // writes the known fields over a copy of Raw
}

// LoadBytes holds the bytes of a load command. It is also the type of load commands of an
// unknown kind.
type LoadBytes []byte

// Command returns the kind of the load command.
func (b LoadBytes) Command() Command { return Command(le.Uint32(b)) }

// Raw returns all bytes of the load command.
func (b LoadBytes) Raw() []byte { return b }

func (b LoadBytes) encodeTo([]byte) {}

// A SegmentLoad is a load command that describes a range of device memory and its sections.
type SegmentLoad struct {
	LoadBytes
	Name             string
	Addr, MemSize    uint64 // device address and bytes
	Offset, FileSize uint64 // range of its bytes in the file; both zero for a window
	MaxProt, Prot    Protection
	Flags            SegmentFlags
	Sections         []*SectionHeader
	Data             []byte // set only if there are no sections
}

// A SectionHeader describes a section, a part of a segment.
type SectionHeader struct {
	Name, Segment string
	Addr, Size    uint64
	Offset        uint32 // in the file; 0 for a window
	Align         uint32 // log2
	RelocOffset   uint32
	Flags         SectionFlags
	Relocs        []RelocPair
	Data          []byte // nil for a window
}

// isUnread reports whether h, a section of segment s, has zeros in the place of constants, because
// the program reads none. The flags of the segment say so.
func (h *SectionHeader) isUnread(s *SegmentLoad) bool {
	return s.Flags == segmentPadded && h.Flags&0xff == sectionConst
}

// A RelocPair is an entry of a section's relocation table.
type RelocPair struct {
	Off  uint32 // of the word, from the start of the section
	Info uint32
}

// A PortLoad is a load command for a port. It gives the name of the port and the device address at
// which the memory of the port starts.
type PortLoad struct {
	LoadBytes
	Addr uint64
	Name string
}

// A ProgramLoad is a load command that describes a procedure: the start of its chain of
// descriptors, and the addresses of its buffers.
type ProgramLoad struct {
	LoadBytes
	BARs       [32]uint64
	Start      uint64 // device address of the first descriptor
	FirstWords int    // words of the first descriptor
	Tasks      int    // descriptors in the chain
	Procedure  string
}

// An OperationLoad is a load command that describes an operand of a procedure: its port, shape and
// strides. The compiler of 2020 gives the operand the same name as its port. Later compilers append
// @output to the name of an output.
type OperationLoad struct {
	LoadBytes
	Direction Direction
	Procedure string
	Operand   string // of the operation
	Port      string // name of the port, which its port command and its shape symbol share
	Type      uint32
	Shape     [4]int    // N, C, H, W
	Strides   [4]uint64 // bytes
}

// A bannerLoad is a load command that holds the command line with which the compiler was
// run.
type bannerLoad struct {
	LoadBytes
	Text string
}

// A symtabLoad is a load command that holds the symbol table.
type symtabLoad struct {
	LoadBytes
	Offset, StringOffset uint32
	Symbols              []Symbol
	Strings              []byte
}

// An extent is a range of bytes of the file.
type extent struct {
	off  uint64
	data []byte
	what string // owner, for messages
}

func (e extent) endOffset() uint64 { return e.off + uint64(len(e.data)) }

// newFormatError returns a *FormatError for the byte at off. The formatted text is followed by val
// unless val is nil.
func newFormatError(off uint64, val any, format string, args ...any) error {
	return &FormatError{Off: off, What: fmt.Sprintf(format, args...), Val: val}
}

// wrapFormatError returns a *FormatError for the byte at off, with the formatted text and with err
// as its cause.
func wrapFormatError(off uint64, err error, format string, args ...any) error {
	return &FormatError{Off: off, What: fmt.Sprintf(format, args...), Err: err}
}

// A reader decodes the load commands of a file and records the bytes they refer to.
type reader struct {
	file    pieces
	owned   []extent // ranges that commands claimed so far
	nbytes  uint64   // total size of owned
	foreign bool     // made for another generation than the M1's
}

// claimBytes returns the n bytes at file offset off and records that they belong to the given part,
// such as "string table". It returns an error, for the field at file offset at that holds off, if
// the file is too short.
func (r *reader) claimBytes(at, off, n uint64, part string) ([]byte, error) {
	size := r.file.totalBytes()
	if off > size || n > size-off {
		return nil, newFormatError(at, off, "offset of %s leaves no room for %#x bytes in the file (%#x bytes)", part, n, size)
	}
	b := r.file.readRange(off, off+n)
	if n > 0 {
		// Claims overlap if they sum to more than the file. Stopping here keeps the work
		// linear in the size of the file. findGaps detects all other overlaps.
		if r.nbytes += n; r.nbytes > size {
			return nil, newFormatError(at, off, "overlap between parts of the file found at the offset of %s", part)
		}
		r.owned = append(r.owned, extent{off, b, part})
	}
	return b, nil
}

// findGaps returns the ranges of the file that no load command refers to. It returns an error if
// two commands refer to the same bytes.
func (r *reader) findGaps() ([]extent, error) {
	slices.SortFunc(r.owned, func(a, b extent) int {
		switch {
		case a.off < b.off:
			return -1
		case a.off > b.off:
			return 1
		}
		return 0
	})
	var gaps []extent
	at := uint64(0)
	last := ""
	for _, e := range r.owned {
		if e.off < at {
			return nil, newFormatError(e.off, nil, "%s overlaps %s", e.what, last)
		}
		if e.off > at {
			gaps = append(gaps, extent{at, r.file.readRange(at, e.off), "gap"})
		}
		at, last = e.endOffset(), e.what
	}
	if size := r.file.totalBytes(); at < size {
		gaps = append(gaps, extent{at, r.file.readRange(at, size), "gap"})
	}
	return gaps, nil
}

// parseContainer decodes the header and every load command. They must precede the part of
// the file that is stored separately, if there is one.
func parseContainer(in pieces) (*Container, error) {
	r, file := &reader{file: in}, in.bytesBeforeSeparate()
	if len(file) < headerSize {
		return nil, newFormatError(uint64(len(file)), nil, "truncated container header; want %d bytes", headerSize)
	}
	c := &Container{
		CPUType: le.Uint32(file[4:]), Subtype: Subtype(le.Uint32(file[8:])), FileType: le.Uint32(file[12:]),
		Flags: le.Uint32(file[24:]), Reserved: le.Uint32(file[28:]), Size: in.totalBytes(),
	}
	if c.CPUType != cpuTypeEngine {
		return nil, newFormatError(4, c.CPUType, "unknown processor type; want %#x for the engine", cpuTypeEngine)
	}
	if !c.Subtype.isKnown() {
		return nil, c.newUnsupportedError()
	}
	r.foreign = c.Subtype != SubtypeM1
	if c.FileType != fileExecutable {
		return nil, newFormatError(12, c.FileType, "unknown file type; want %d for an executable", fileExecutable)
	}
	// Each load command has a header at least, so the bytes bound their number. maxLoads bounds what
	// a long file of nothing but headers can make.
	n, total := le.Uint32(file[16:]), uint64(le.Uint32(file[20:]))
	if total > uint64(len(file)-headerSize) {
		return nil, newFormatError(20, total, "size of the load commands exceeds the %#x bytes after the header", len(file)-headerSize)
	}
	if uint64(n) > total/commandHeader {
		return nil, newFormatError(16, n, "load command count is too large for %#x bytes", total)
	}
	if n > maxLoads {
		return nil, newFormatError(16, n, "load command count exceeds %#x", maxLoads)
	}
	// The header and the load commands are claimed too: no section may overlap them.
	if _, err := r.claimBytes(20, 0, headerSize+total, "load commands"); err != nil {
		return nil, err
	}
	at, end := uint64(headerSize), headerSize+total
	for i := range n {
		if end-at < commandHeader {
			return nil, newFormatError(at, nil, "truncated load command %d of %d", i, n)
		}
		size := uint64(le.Uint32(file[at+4:]))
		if size < commandHeader || size > end-at {
			return nil, newFormatError(at+4, size, "size of load command %d is not between %#x and %#x", i, commandHeader, end-at)
		}
		l, err := r.decodeLoadCommand(at, file[at:at+size:at+size])
		if err != nil {
			return nil, err
		}
		c.Loads = append(c.Loads, l)
		at += size
	}
	if at != end {
		return nil, newFormatError(at, nil, "%d unexpected bytes after the last load command", end-at)
	}
	var err error
	if c.gaps, err = r.findGaps(); err != nil {
		return nil, err
	}
	return c, nil
}

// newUnsupportedError returns an *UnsupportedError for a container that was compiled for another
// chip generation than the M1's.
func (c *Container) newUnsupportedError() error {
	return &UnsupportedError{"container for " + c.Subtype.String(),
		fmt.Sprintf("unsupported subtype %d; want %d (%v)", uint32(c.Subtype), uint32(SubtypeM1), SubtypeM1)}
}

// decodeLoadCommand decodes the command b, which starts at file offset at.
func (r *reader) decodeLoadCommand(at uint64, b []byte) (Load, error) {
	switch Command(le.Uint32(b)) {
	case CommandSegment:
		return r.decodeSegment(at, b)
	case CommandPort, CommandPort64:
		return r.decodePort(at, b)
	case CommandThread:
		return r.decodeThread(at, b)
	case CommandBanner:
		return &bannerLoad{b, cutAtZero(b[commandHeader:])}, nil
	case CommandSymtab:
		return r.decodeSymtab(at, b)
	}
	return LoadBytes(b), nil
}

// newShortCommandError returns the error for command b at file offset at, which has fewer than want
// bytes. name is the name of the command for the message.
func newShortCommandError(at uint64, b []byte, want int, name string) error {
	return newFormatError(at+4, uint64(len(b)), "truncated %s; want at least %#x bytes", name, want)
}

// cutAtZero returns the text before the first zero byte, or all of b if there is none.
func cutAtZero(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// readName returns the zero-terminated string in command b whose offset is stored at b[field:]. It
// returns an error if there is none; at is the file offset of b, and owner names the thing whose
// name is read, for the error.
func (r *reader) readName(at uint64, b []byte, field int, owner string) (string, error) {
	off := le.Uint32(b[field:])
	if uint64(off) >= uint64(len(b)) {
		return "", newFormatError(at+uint64(field), off, "%s name offset is past the end of the command (%#x bytes)", owner, len(b))
	}
	n := bytes.IndexByte(b[off:], 0)
	if n < 0 || n > maxName {
		return "", newFormatError(at+uint64(off), nil, "%s name has no zero byte within %d bytes or the command", owner, maxName)
	}
	return escapeUnprintable(string(b[off : int(off)+n])), nil
}

func (r *reader) decodePort(at uint64, b []byte) (Load, error) {
	p := &PortLoad{LoadBytes: b}
	want, addr := 0x14, func() uint64 { return uint64(le.Uint32(b[0x10:])) }
	if Command(le.Uint32(b)) == CommandPort64 {
		want, addr = 0x18, func() uint64 { return le.Uint64(b[0x10:]) }
	}
	if len(b) < want {
		return nil, newShortCommandError(at, b, want, "port command")
	}
	p.Addr = addr()
	var err error
	if p.Name, err = r.readName(at, b, 8, "port"); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *PortLoad) encodeTo(dst []byte) {
	if p.Command() == CommandPort64 {
		le.PutUint64(dst[0x10:], p.Addr)
		return
	}
	le.PutUint32(dst[0x10:], uint32(p.Addr))
}

func (r *reader) decodeThread(at uint64, b []byte) (Load, error) {
	if len(b) < 12 {
		return nil, newShortCommandError(at, b, 12, "thread command")
	}
	l, err := Load(LoadBytes(b)), error(nil)
	switch flavor(le.Uint32(b[8:])) {
	case flavorProgram:
		l, err = r.decodeProgram(at, b)
	case flavorOperation:
		l, err = r.decodeOperation(at, b)
	}
	if err != nil && r.foreign {
		return LoadBytes(b), nil // another generation's layout may differ
	}
	return l, err
}

func (r *reader) decodeProgram(at uint64, b []byte) (Load, error) {
	if len(b) < programSize {
		return nil, newShortCommandError(at, b, programSize, "program descriptor")
	}
	p := &ProgramLoad{LoadBytes: b, Start: le.Uint64(b[programStart:])}
	for i := range p.BARs {
		p.BARs[i] = le.Uint64(b[programBARs+8*i:])
	}
	words, tasks := le.Uint32(b[programFirstWords:]), le.Uint32(b[programTasks:])
	if words >= maxWords {
		return nil, newFormatError(at+programFirstWords, words, "word count field of the first descriptor is out of range; want less than %#x", maxWords)
	}
	if most := r.file.totalBytes()/descriptorUnit + 1; tasks == 0 || uint64(tasks) > most {
		return nil, newFormatError(at+programTasks, tasks, "descriptor count is out of range; want 1 to %#x in a file of this size", most)
	}
	p.FirstWords, p.Tasks = int(words)+1, int(tasks)
	var err error
	if p.Procedure, err = r.readName(at, b, programName, "procedure"); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *ProgramLoad) encodeTo(dst []byte) {
	for i, a := range p.BARs {
		le.PutUint64(dst[programBARs+8*i:], a)
	}
	le.PutUint64(dst[programStart:], p.Start)
	le.PutUint32(dst[programFirstWords:], uint32(p.FirstWords-1))
	le.PutUint32(dst[programTasks:], uint32(p.Tasks))
}

func (r *reader) decodeOperation(at uint64, b []byte) (Load, error) {
	if len(b) < operationSize {
		return nil, newShortCommandError(at, b, operationSize, "operation descriptor")
	}
	o := &OperationLoad{LoadBytes: b, Type: le.Uint32(b[operationType:])}
	switch d := le.Uint32(b[operationDirection:]); d {
	case uint32(Input), uint32(Output):
		o.Direction = Direction(d)
	default:
		return nil, newFormatError(at+operationDirection, d, "unknown operation direction; want 1 (input) or 2 (output)")
	}
	for i := range o.Shape {
		n := le.Uint32(b[operationShape+4*i:])
		if n == 0 || n > maxExtent {
			return nil, newFormatError(at+operationShape+4*uint64(i), n, "size of axis %c is not between 1 and %#x", axes[i], maxExtent)
		}
		o.Shape[i] = int(n)
		// With both limits, an extent times its stride fits in 64 bits.
		if o.Strides[i] = le.Uint64(b[operationStrides+8*i:]); o.Strides[i]>>regs.AddressBits != 0 {
			return nil, newFormatError(at+operationStrides+8*uint64(i), o.Strides[i], "stride of axis %c exceeds %d bits", axes[i], regs.AddressBits)
		}
	}
	var err error
	if o.Procedure, err = r.readName(at, b, operationProcedure, "procedure"); err != nil {
		return nil, err
	}
	if o.Operand, err = r.readName(at, b, operationOperand, "operand"); err != nil {
		return nil, err
	}
	if o.Port, err = r.readName(at, b, operationSymbol, "port"); err != nil {
		return nil, err
	}
	return o, nil
}

func (o *OperationLoad) encodeTo(dst []byte) {
	le.PutUint32(dst[operationDirection:], uint32(o.Direction))
	le.PutUint32(dst[operationType:], o.Type)
	for i, n := range o.Shape {
		le.PutUint32(dst[operationShape+4*i:], uint32(n))
		le.PutUint64(dst[operationStrides+8*i:], o.Strides[i])
	}
}

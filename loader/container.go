package loader

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"anesim/hw/regs"
)

var le = binary.LittleEndian

// A Container is a hardware container: the header, the load commands, and the bytes
// they own. What no field names is carried as it was.
type Container struct {
	CPUType, FileType, Flags, Reserved uint32
	Subtype                            Subtype
	Loads                              []Load
	Size                               uint64 // bytes of the file

	gaps []extent // bytes no command owns
}

// A Load is a load command.
type Load interface {
	Command() Command
	Raw() []byte      // the whole command as it was read or first made
	store(dst []byte) // writes the known fields over a copy of Raw
}

// LoadBytes are a load command's bytes; alone, a command the package does not know.
type LoadBytes []byte

// Command is the command's number.
func (b LoadBytes) Command() Command { return Command(le.Uint32(b)) }

// Raw returns the bytes.
func (b LoadBytes) Raw() []byte { return b }

func (b LoadBytes) store([]byte) {}

// A SegmentLoad is a run of device memory and its sections.
type SegmentLoad struct {
	LoadBytes
	Name             string
	Addr, MemSize    uint64 // device address and bytes
	Offset, FileSize uint64 // where its bytes are; both zero in a window
	MaxProt, Prot    Protection
	Flags            SegmentFlags
	Sections         []*SectionHeader
	Data             []byte // of a segment without sections
}

// A SectionHeader is a section of a segment.
type SectionHeader struct {
	Name, Segment string
	Addr, Size    uint64
	Offset        uint32 // in the file; 0 in a window
	Align         uint32 // log2
	RelocOffset   uint32
	Flags         SectionFlags
	Relocs        []RelocPair
	Data          []byte // nil in a window
}

// A RelocPair is a relocation as the container has it.
type RelocPair struct {
	Off  uint32 // of the word, from the start of the section
	Info uint32
}

// A PortLoad binds a name to a window's address.
type PortLoad struct {
	LoadBytes
	Addr uint64
	Name string
}

// A ProgramLoad is the thread command of flavor 1: where the chain starts and which
// buffers it has.
type ProgramLoad struct {
	LoadBytes
	BARs       [32]uint64
	Start      uint64 // device address of the first descriptor
	FirstWords int    // words of the first descriptor
	Tasks      int    // descriptors in the chain
	Procedure  string
}

// An OperationLoad is a thread command of flavor 3: an operand of a procedure, the port
// it is bound to, and its shape. Compilers of 2020 give the operand and the port the same
// name; later ones name an output's operand probs@output and its port probs.
type OperationLoad struct {
	LoadBytes
	Direction Direction
	Procedure string
	Operand   string // of the operation
	Port      string // the symbol: that of the port command and its shape
	Type      uint32
	Shape     [4]int    // N, C, H, W
	Strides   [4]uint64 // bytes
}

// A BannerLoad is the compiler's own command line.
type BannerLoad struct {
	LoadBytes
	Text string
}

// A SymtabLoad is the symbol table.
type SymtabLoad struct {
	LoadBytes
	Offset, StringOffset uint32
	Symbols              []Symbol
	Strings              []byte
}

// An extent is a run of bytes of the file.
type extent struct {
	off  uint64
	data []byte
	what string // owner, for messages
}

func (e extent) end() uint64 { return e.off + uint64(len(e.data)) }

// fail makes a *FormatError.
func fail(off uint64, val any, format string, args ...any) error {
	return &FormatError{Off: off, What: fmt.Sprintf(format, args...), Val: val}
}

// wrap makes a *FormatError with a cause.
func wrap(off uint64, err error, format string, args ...any) error {
	return &FormatError{Off: off, What: fmt.Sprintf(format, args...), Err: err}
}

// A reader holds the file while its commands are decoded.
type reader struct {
	file    pieces
	owned   []extent // what commands own so far
	nbytes  uint64   // of owned
	foreign bool     // of another generation than the M1's
}

// own returns the n bytes at off, after a check that the file has them.
func (r *reader) own(at, off, n uint64, what string) ([]byte, error) {
	size := r.file.size()
	if off > size || n > size-off {
		return nil, fail(at, off, "%s of %#x bytes leaves the file of %#x bytes at", what, n, size)
	}
	b := r.file.slice(off, off+n)
	if n > 0 {
		// Owners overlap when they sum to more than the file: stopping here keeps
		// the work linear in the file; seal finds the others.
		if r.nbytes += n; r.nbytes > size {
			return nil, fail(at, off, "%s overlaps another part of the file at", what)
		}
		r.owned = append(r.owned, extent{off, b, what})
	}
	return b, nil
}

// seal checks that no two owners share a byte and returns the bytes between them.
func (r *reader) seal() ([]extent, error) {
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
			return nil, fail(e.off, nil, "%s overlaps %s", e.what, last)
		}
		if e.off > at {
			gaps = append(gaps, extent{at, r.file.slice(at, e.off), "gap"})
		}
		at, last = e.end(), e.what
	}
	if size := r.file.size(); at < size {
		gaps = append(gaps, extent{at, r.file.slice(at, size), "gap"})
	}
	return gaps, nil
}

// parseContainer decodes the header and every load command. They stand ahead of the piece
// that is apart, where one is.
func parseContainer(in pieces) (*Container, error) {
	r, file := &reader{file: in}, in.ahead()
	if len(file) < headerSize {
		return nil, fail(uint64(len(file)), nil, "container header of %d bytes is cut off", headerSize)
	}
	c := &Container{
		CPUType: le.Uint32(file[4:]), Subtype: Subtype(le.Uint32(file[8:])), FileType: le.Uint32(file[12:]),
		Flags: le.Uint32(file[24:]), Reserved: le.Uint32(file[28:]), Size: in.size(),
	}
	if c.CPUType != cpuTypeEngine {
		return nil, fail(4, c.CPUType, "processor type is not the engine's %#x", cpuTypeEngine)
	}
	if !c.Subtype.known() {
		return nil, c.unsupported()
	}
	r.foreign = c.Subtype != SubtypeM1
	if c.FileType != fileExecutable {
		return nil, fail(12, c.FileType, "file type is not %d, executable", fileExecutable)
	}
	n, total := le.Uint32(file[16:]), uint64(le.Uint32(file[20:]))
	if total > uint64(len(file)-headerSize) {
		return nil, fail(20, total, "load commands leave the file of %#x bytes", len(file))
	}
	if uint64(n) > total/commandHeader {
		return nil, fail(16, n, "too many load commands for %#x bytes", total)
	}
	if n > maxLoads {
		return nil, fail(16, n, "more than %d load commands", maxLoads)
	}
	if _, err := r.own(20, 0, headerSize+total, "load commands"); err != nil {
		return nil, err
	}
	at, end := uint64(headerSize), headerSize+total
	for i := range n {
		if end-at < commandHeader {
			return nil, fail(at, nil, "load command %d of %d is cut off", i, n)
		}
		size := uint64(le.Uint32(file[at+4:]))
		if size < commandHeader || size > end-at {
			return nil, fail(at+4, size, "size of load command %d is not between %d and %d", i, commandHeader, end-at)
		}
		l, err := r.load(at, file[at:at+size:at+size])
		if err != nil {
			return nil, err
		}
		c.Loads = append(c.Loads, l)
		at += size
	}
	if at != end {
		return nil, fail(at, nil, "%d bytes after the last load command", end-at)
	}
	var err error
	if c.gaps, err = r.seal(); err != nil {
		return nil, err
	}
	return c, nil
}

// unsupported is the error of a container for another generation.
func (c *Container) unsupported() error {
	return &UnsupportedError{"container for " + c.Subtype.String(),
		fmt.Sprintf("subtype %d; the model runs subtype %d, %v", uint32(c.Subtype), uint32(SubtypeM1), SubtypeM1)}
}

// load decodes the command at file offset at.
func (r *reader) load(at uint64, b []byte) (Load, error) {
	switch Command(le.Uint32(b)) {
	case CommandSegment:
		return r.segment(at, b)
	case CommandPort, CommandPort64:
		return r.port(at, b)
	case CommandThread:
		return r.thread(at, b)
	case CommandBanner:
		return &BannerLoad{b, cString(b[commandHeader:])}, nil
	case CommandSymtab:
		return r.symtab(at, b)
	}
	return LoadBytes(b), nil
}

// short is the error of a command without room for its fields.
func short(at uint64, b []byte, want int, what string) error {
	return fail(at+4, uint64(len(b)), "size of %s is below %#x", what, want)
}

// cString is the text up to the first zero byte.
func cString(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// name is the string at the offset that stands at b[field:].
func (r *reader) name(at uint64, b []byte, field int, what string) (string, error) {
	off := le.Uint32(b[field:])
	if uint64(off) >= uint64(len(b)) {
		return "", fail(at+uint64(field), off, "name of %s leaves the command of %#x bytes", what, len(b))
	}
	n := bytes.IndexByte(b[off:], 0)
	if n < 0 || n > maxName {
		return "", fail(at+uint64(off), nil, "name of %s has no end in its command", what)
	}
	return printable(string(b[off : int(off)+n])), nil
}

func (r *reader) port(at uint64, b []byte) (Load, error) {
	p := &PortLoad{LoadBytes: b}
	want, addr := 0x14, func() uint64 { return uint64(le.Uint32(b[0x10:])) }
	if Command(le.Uint32(b)) == CommandPort64 {
		want, addr = 0x18, func() uint64 { return le.Uint64(b[0x10:]) }
	}
	if len(b) < want {
		return nil, short(at, b, want, "port command")
	}
	p.Addr = addr()
	var err error
	if p.Name, err = r.name(at, b, 8, "port"); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *PortLoad) store(dst []byte) {
	if p.Command() == CommandPort64 {
		le.PutUint64(dst[0x10:], p.Addr)
		return
	}
	le.PutUint32(dst[0x10:], uint32(p.Addr))
}

func (r *reader) thread(at uint64, b []byte) (Load, error) {
	if len(b) < 12 {
		return nil, short(at, b, 12, "thread command")
	}
	l, err := Load(LoadBytes(b)), error(nil)
	switch Flavor(le.Uint32(b[8:])) {
	case FlavorProgram:
		l, err = r.program(at, b)
	case FlavorOperation:
		l, err = r.operation(at, b)
	}
	if err != nil && r.foreign {
		return LoadBytes(b), nil // laid out as another generation's compiler does
	}
	return l, err
}

func (r *reader) program(at uint64, b []byte) (Load, error) {
	if len(b) < programSize {
		return nil, short(at, b, programSize, "program descriptor")
	}
	p := &ProgramLoad{LoadBytes: b, Start: le.Uint64(b[programStart:])}
	for i := range p.BARs {
		p.BARs[i] = le.Uint64(b[programBARs+8*i:])
	}
	words, tasks := le.Uint32(b[programFirstWords:]), le.Uint32(b[programTasks:])
	if words >= maxWords {
		return nil, fail(at+programFirstWords, words, "words of the first descriptor, minus one, are not below %d", maxWords)
	}
	if most := r.file.size()/descriptorUnit + 1; tasks == 0 || uint64(tasks) > most {
		return nil, fail(at+programTasks, tasks, "descriptor count is not between 1 and the %d the file has room for", most)
	}
	p.FirstWords, p.Tasks = int(words)+1, int(tasks)
	var err error
	if p.Procedure, err = r.name(at, b, programName, "procedure"); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *ProgramLoad) store(dst []byte) {
	for i, a := range p.BARs {
		le.PutUint64(dst[programBARs+8*i:], a)
	}
	le.PutUint64(dst[programStart:], p.Start)
	le.PutUint32(dst[programFirstWords:], uint32(p.FirstWords-1))
	le.PutUint32(dst[programTasks:], uint32(p.Tasks))
}

func (r *reader) operation(at uint64, b []byte) (Load, error) {
	if len(b) < operationSize {
		return nil, short(at, b, operationSize, "operation descriptor")
	}
	o := &OperationLoad{LoadBytes: b, Type: le.Uint32(b[operationType:])}
	switch d := le.Uint32(b[operationDirection:]); d {
	case uint32(Input), uint32(Output):
		o.Direction = Direction(d)
	default:
		return nil, fail(at+operationDirection, d, "direction of an operation is neither 1, input, nor 2, output")
	}
	for i := range o.Shape {
		n := le.Uint32(b[operationShape+4*i:])
		if n == 0 || n > maxExtent {
			return nil, fail(at+operationShape+4*uint64(i), n, "extent of axis %c is not between 1 and %#x", axes[i], maxExtent)
		}
		o.Shape[i] = int(n)
		if o.Strides[i] = le.Uint64(b[operationStrides+8*i:]); o.Strides[i]>>regs.AddressBits != 0 {
			return nil, fail(at+operationStrides+8*uint64(i), o.Strides[i], "stride of axis %c is beyond %d bits", axes[i], regs.AddressBits)
		}
	}
	var err error
	if o.Procedure, err = r.name(at, b, operationProcedure, "procedure"); err != nil {
		return nil, err
	}
	if o.Operand, err = r.name(at, b, operationOperand, "operand"); err != nil {
		return nil, err
	}
	if o.Port, err = r.name(at, b, operationSymbol, "port"); err != nil {
		return nil, err
	}
	return o, nil
}

func (o *OperationLoad) store(dst []byte) {
	le.PutUint32(dst[operationDirection:], uint32(o.Direction))
	le.PutUint32(dst[operationType:], o.Type)
	for i, n := range o.Shape {
		le.PutUint32(dst[operationShape+4*i:], uint32(n))
		le.PutUint64(dst[operationStrides+8*i:], o.Strides[i])
	}
}

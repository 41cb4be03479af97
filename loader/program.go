package loader

import (
	"iter"

	"anesim/hw/regs"
)

// A Form is how a program came.
type Form string

// Forms a program is read from.
const (
	FormContainer Form = "container" // hardware container, magic 0xbeefface
	FormText      Form = "text"      // a chain of descriptors and nothing else
	FormANEC      Form = "anec"      // the Linux driver's: sizes, shapes, the chain, weights
	FormFirmware  Form = "firmware"  // the firmware container: a package of programs of sections
	FormRegisters Form = "registers" // captured (address, value) pairs, version 10
)

// A Program is what a file says the engine shall do: descriptors, the buffers they name
// and the memory behind the buffers.
type Program struct {
	Name    string // as given to Read
	Form    Form
	Subtype Subtype // 4, the M1; 0 for captured registers

	Text       []byte         // the descriptor chain, __text
	TextFile   *regs.TextFile // the chain where it stays in its file and Text is nil; see Options.InFile
	TextAddr   uint64         // its device address
	FirstWords int            // size of the first descriptor in words
	TaskCount  int            // declared number of descriptors, 0 when nothing declares it
	BARs       regs.BARs      // buffer addresses by index

	Segments    []Segment // memory, in the file's order
	Ports       []Port    // inputs in the order of the operations, then outputs
	Symbols     []Symbol
	Tiles       []Tile        // weight tiles, from Symbols
	Types       []ElementType // element-type catalogue, from Symbols
	Shapes      []Shape       // of tensors, from Symbols
	Relocations []Relocation
	LiveAxes    []LiveAxis // of Ports
	Procedures  []string   // of the container
	Procedure   string     // the one that was read
	Banner      Banner

	Registers *regs.V10 // of FormRegisters, nil otherwise

	Container *Container // of FormContainer, nil otherwise

	textOff uint64 // file offset of Text
	file    []byte // of FormANEC and FormFirmware: Text and data are parts of it
}

// Descriptors walks the chain; see regs.Chain.
func (p *Program) Descriptors() iter.Seq2[*regs.Descriptor, error] {
	return (&regs.Stream{Text: p.Text, File: p.TextFile, FirstWords: p.FirstWords}).Descriptors()
}

// States walks the chain and yields the registers as each descriptor finds them; see
// regs.States.
func (p *Program) States() iter.Seq2[*regs.State, error] {
	return (&regs.Stream{Text: p.Text, File: p.TextFile, FirstWords: p.FirstWords}).States()
}

// textBytes is the size of the chain.
func (p *Program) textBytes() uint64 {
	if p.TextFile != nil {
		return p.TextFile.Bytes
	}
	return uint64(len(p.Text))
}

// TextOffset is where Text stands in the program's file.
func (p *Program) TextOffset() uint64 { return p.textOff }

// Inputs yields the ports a caller fills.
func (p *Program) Inputs() iter.Seq[*Port] { return p.ports(Input) }

// Outputs yields the ports a run fills.
func (p *Program) Outputs() iter.Seq[*Port] { return p.ports(Output) }

func (p *Program) ports(d Direction) iter.Seq[*Port] {
	return func(yield func(*Port) bool) {
		for i := range p.Ports {
			if p.Ports[i].Direction == d && !yield(&p.Ports[i]) {
				return
			}
		}
	}
}

// Port finds a port by name and direction.
func (p *Program) Port(name string, d Direction) (*Port, bool) {
	for q := range p.ports(d) {
		if q.Name == name {
			return q, true
		}
	}
	return nil, false
}

// Segment finds a section by segment and section name, the first of that name.
func (p *Program) Segment(segment, section string) (*Segment, bool) {
	for i := range p.Segments {
		if s := &p.Segments[i]; s.Name == segment && s.Section == section {
			return s, true
		}
	}
	return nil, false
}

// Protection bits of device memory.
type Protection uint32

// Bits of a protection, as Mach-O has them.
const (
	ProtRead  Protection = 1
	ProtWrite Protection = 2
	ProtExec  Protection = 4
)

// A Segment is a run of device memory: a section of the container, or a window made for
// a bare text.
type Segment struct {
	Name    string // segment: __TEXT, __FVMLIB, __DATA, ...
	Section string // section, empty when the segment has none
	Addr    uint64 // device address
	Size    uint64 // bytes
	Data    []byte // its bytes, nil when it starts as zeros
	Prot    Protection
	Unmade  bool // its bytes are known to be there and were not made, of a program that is only timed
}

// End is the device address behind the segment.
func (s *Segment) End() uint64 { return s.Addr + s.Size }

// String names the segment and its section.
func (s *Segment) String() string {
	if s.Section == "" {
		return s.Name
	}
	return s.Name + "," + s.Section
}

// A Direction is which way a port carries.
type Direction uint8

// Directions of a port, by the numbers of the operation command.
const (
	Input  Direction = 1
	Output Direction = 2
)

// String is "input" or "output".
func (d Direction) String() string {
	if d == Output {
		return "output"
	}
	return "input"
}

// A LiveAxis is a size or a stride of a port that follows a run-time parameter: Scale times
// its value and Plus.
type LiveAxis struct {
	Port      string
	Direction Direction
	Axis      int  // of Shape or Strides
	Stride    bool // of Strides
	Name      string
	Scale     int64
	Plus      int64
}

// A Port is a tensor the program takes or gives.
type Port struct {
	Name      string
	Direction Direction
	Shape     [4]int    // N, C, H, W in elements
	Strides   [4]uint64 // of the same axes, bytes
	Type      ElementType
	Address   uint64 // device address
	Bytes     uint64 // size of its window
	BAR       int    // buffer that holds its address, -1 when none does
}

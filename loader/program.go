package loader

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"anesim/hw/regs"
	"anesim/loader/describe"
)

// A Form is the file format that a program was read from.
type Form string

// File formats of programs.
const (
	FormContainer Form = "container" // hardware container, magic 0xbeefface
	FormText      Form = "text"      // bare chain of descriptors
	FormANEC      Form = "anec"      // the Linux driver's form: sizes, shapes, the chain, weights
	FormFirmware  Form = "firmware"  // firmware container: a package of programs, each with sections
	FormRegisters Form = "registers" // captured (address, value) pairs, version 10
)

// A Program is a compiled engine program. It consists of a chain of task descriptors, the buffers
// that they use, and memory for weights and other constants.
type Program struct {
	Name    string // as given to Read
	Form    Form
	Subtype Subtype // 4 for the M1, 0 for captured registers

	Text       []byte         // descriptor chain, __text
	TextFile   *regs.TextFile // the chain if it was left in its file; Text is then nil (see Options.InFile)
	TextAddr   uint64         // device address of the chain
	FirstWords int            // size of the first descriptor in words
	TaskCount  int            // declared number of descriptors, 0 if unknown
	BARs       regs.BARs      // buffer addresses by index

	Segments    []Segment // memory in file order
	Ports       []Port    // inputs, then outputs, each in the order of the operations
	Symbols     []Symbol
	Tiles       []Tile        // weight tiles, from Symbols
	Types       []ElementType // element-type catalog, from Symbols
	Shapes      []Shape       // shapes of tensors, from Symbols
	Relocations []Relocation
	LiveAxes    []LiveAxis // extents and strides of Ports that depend on run-time parameters
	Procedures  []string   // names of all procedures in the container
	Procedure   string     // name of the procedure that was read
	Banner      Banner

	// WindowTaps holds regs.Task.WindowTaps by the index of the task, for weights in an Unmade
	// segment.
	WindowTaps map[int]regs.WindowTaps `json:",omitempty"`

	Registers *regs.V10 // captured registers for FormRegisters, nil otherwise

	Container *Container // the container for FormContainer, nil otherwise

	textOff uint64 // file offset of Text
	file    []byte // whole file for FormANEC and FormFirmware; Text and data are slices of it
}

// Descriptors returns an iterator over the decoded descriptors of the program's chain. The
// iteration ends after the first error. See [regs.Chain].
func (p *Program) Descriptors() iter.Seq2[*regs.Descriptor, error] {
	return (&regs.Stream{Text: p.Text, File: p.TextFile, FirstWords: p.FirstWords}).Descriptors()
}

// States returns an iterator over the register values that are in effect for each descriptor of the
// chain. Each state is valid until the next iteration. The iteration ends after the first error.
// See [regs.States].
func (p *Program) States() iter.Seq2[*regs.State, error] {
	return (&regs.Stream{Text: p.Text, File: p.TextFile, FirstWords: p.FirstWords}).States()
}

// Describe returns an iterator over descriptions of the program's descriptors in words. A
// description also considers the registers that earlier descriptors set. The iteration
// ends after the first error, which is a *[FormatError].
func (p *Program) Describe() iter.Seq2[*describe.Description, error] {
	return func(yield func(*describe.Description, error) bool) {
		var ops regs.Operands
		for s, err := range p.States() {
			if err != nil {
				yield(nil, p.wrapStreamError(err))
				return
			}
			ops.Resolve(&s.Groups)
			if !yield(describe.Descriptor(&s.Header, &s.Groups, &ops, p.portLabel), nil) {
				return
			}
		}
	}
}

// portLabel returns the direction and the name, such as "input x", of a port whose memory
// is buffer bar, or "" if there is none. If there are several, it prefers an output if write is
// true and an input otherwise. A buffer of its own for weights has a name, too.
func (p *Program) portLabel(bar uint32, write bool) (text string) {
	if int(bar) == p.WeightsBAR() {
		return fmt.Sprintf("the weights (b%d)", bar)
	}
	for i := range p.Ports {
		q := &p.Ports[i]
		if q.BAR != int(bar) {
			continue
		}
		text = fmt.Sprintf("%v %s", q.Direction, escapeUnprintable(q.Name))
		if b := fmt.Sprintf("b%d", bar); q.Name != b {
			text += " (" + b + ")"
		}
		if (q.Direction == Output) == write {
			break
		}
	}
	return text
}

// textBytes returns the size of the chain in bytes.
func (p *Program) textBytes() uint64 {
	if p.TextFile != nil {
		return p.TextFile.Bytes
	}
	return uint64(len(p.Text))
}

// TextOffset returns the offset of the descriptors in the file from which the program was read.
func (p *Program) TextOffset() uint64 { return p.textOff }

// Inputs returns an iterator over the input ports.
func (p *Program) Inputs() iter.Seq[*Port] { return p.portsInDirection(Input) }

// Outputs returns an iterator over the output ports.
func (p *Program) Outputs() iter.Seq[*Port] { return p.portsInDirection(Output) }

func (p *Program) portsInDirection(d Direction) iter.Seq[*Port] {
	return func(yield func(*Port) bool) {
		for i := range p.Ports {
			if p.Ports[i].Direction == d && !yield(&p.Ports[i]) {
				return
			}
		}
	}
}

// Port returns the port with the given name and direction. It returns false if there is
// none.
func (p *Program) Port(name string, d Direction) (*Port, bool) {
	for q := range p.portsInDirection(d) {
		if q.Name == name {
			return q, true
		}
	}
	return nil, false
}

// Segment returns the first segment with the given segment and section names, such as
// "__TEXT" and "__const". It returns false if there is none.
func (p *Program) Segment(segment, section string) (*Segment, bool) {
	for i := range p.Segments {
		if s := &p.Segments[i]; s.Name == segment && s.Section == section {
			return s, true
		}
	}
	return nil, false
}

// A Protection is a set of rights to access a range of device memory.
type Protection uint32

// Access rights, with the values of Mach-O files.
const (
	ProtRead  Protection = 1
	ProtWrite Protection = 2
	ProtExec  Protection = 4
)

// A Segment is a range of device memory: a section of a container or, for programs of other
// forms, the memory of a buffer.
type Segment struct {
	Name    string // segment: __TEXT, __FVMLIB, __DATA, ...
	Section string // section, empty when the segment has none
	Addr    uint64 // device address
	Size    uint64 // bytes
	Data    []byte // contents, nil if it starts as zeros
	Prot    Protection
	Unmade  bool // contents exist but were not loaded, for a program that is only timed
	Unread  bool // zeros in the place of constants, in a program that reads none
}

// IsWeights reports whether the segment holds the constants of a program.
func (s *Segment) IsWeights() bool {
	return s.Name == "__TEXT" && s.Section == "__const" || strings.HasPrefix(s.Name, "__KERN_")
}

// WeightsBAR returns the index of the buffer from which the engines load weights and activation tables:
// [regs.BARWeights], or a buffer of its own; see [Builder.WeightsBAR].
func (p *Program) WeightsBAR() int {
	for bar := regs.BARScratch + 1; bar < len(p.BARs); bar++ {
		if p.BARs[bar] == 0 || slices.ContainsFunc(p.Ports, func(q Port) bool { return q.BAR == bar }) {
			continue
		}
		if s := p.segmentContaining(p.BARs[bar]); s != nil && s.IsWeights() {
			return bar
		}
	}
	return regs.BARWeights
}

// End returns the device address after the last byte of the segment.
func (s *Segment) End() uint64 { return s.Addr + s.Size }

// String returns the segment and section names, such as "__TEXT,__text".
func (s *Segment) String() string {
	if s.Section == "" {
		return s.Name
	}
	return s.Name + "," + s.Section
}

// A Direction says whether a port is an input or an output.
type Direction uint8

// Directions, with the values that containers use.
const (
	Input  Direction = 1
	Output Direction = 2
)

// String returns "input" or "output".
func (d Direction) String() string {
	if d == Output {
		return "output"
	}
	return "input"
}

// A LiveAxis is an extent or a stride of a port that depends on a run-time parameter. Its value is
// Scale*v + Plus, where v is the value of the parameter called Name.
type LiveAxis struct {
	Port      string
	Direction Direction
	Axis      int  // index in Shape or Strides
	Stride    bool // whether it is a stride
	Name      string
	Scale     int64
	Plus      int64
}

// A Port is an input or output tensor of a program.
type Port struct {
	Name      string
	Direction Direction
	Shape     [4]int    // N, C, H, W in elements
	Strides   [4]uint64 // bytes, in the same order
	Type      ElementType
	Address   uint64 // device address
	Bytes     uint64 // size of the window
	BAR       int    // index of the buffer at the port's address, -1 if there is none
}

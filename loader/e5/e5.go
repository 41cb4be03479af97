package e5

import "anesim/internal/enums"

// formatVersion is the version number in all known dispatch descriptors.
const formatVersion = 4

// A SectionKind identifies the contents of a section. The numbers of the kinds are assumed.
type SectionKind int32

// Kinds of sections.
const (
	ArgFrame   SectionKind = 1 // operation with its operands
	Attributes SectionKind = 2 // attributes of the preceding operation
)

// String returns the name of the kind, such as "argument frame".
func (k SectionKind) String() string {
	switch k {
	case ArgFrame:
		return "argument frame"
	case Attributes:
		return "attributes"
	}
	return "unknown kind"
}

// A Program is a dispatch descriptor: the list of steps by which the vendor's runtime executes a
// network.
type Program struct {
	Symbols  []string // names of operations, tensors and sections
	Build    []Entry  // build information
	Sections []Section
	Version  int32
}

// An Entry is a key-value pair in the build information of a dispatch descriptor.
type Entry struct{ Key, Value string }

// A Section holds the argument frame (operation and operands) or the attributes of an
// operation.
type Section struct {
	Name string
	Kind SectionKind
	// The following fields are set in an argument frame.
	Operation *Operation
	Operands  []Tensor
	// The following fields are set in an attribute section: Cast or Inference according to
	// the operation, or else Data.
	Cast      *Cast
	Inference *Inference
	Data      []byte
}

// An Operation is one step of a network, such as a cast or an inference.
type Operation struct {
	Name            string
	Type            enums.OpType
	Inputs, Outputs []uint32 // indices into the symbols
	Frame, Attrs    string   // names of its sections
}

// A Tensor describes the layout of an operand: extents in elements and strides in bytes.
type Tensor struct {
	Dim, Stride                                                            []uint64
	Width, Height, Channels, Batch, Sequence                               uint64
	StrideWidth, StrideHeight, StrideChannels, StrideBatch, StrideSequence uint64
	Type                                                                   enums.TensorDataType
	Pack                                                                   int32
}

// A Cast holds the attributes of an operation that converts elements to another type.
type Cast struct {
	From, To enums.TensorDataType
	Pack     int32
}

// An Inference holds the attributes of an operation that runs a program on the engine. Hash is the
// double SHA-256 digest of the container that holds the program, the documents' anehash.
type Inference struct {
	Procedure, Hash, Symbol string
	Buffer                  uint32 // handle of the intermediate buffer
	Options                 string // options of the compiler
}

// Chain returns the operations of the network in the order in which they run.
func (p *Program) Chain() []*Operation {
	var chain []*Operation
	for i := range p.Sections {
		if o := p.Sections[i].Operation; o != nil {
			chain = append(chain, o)
		}
	}
	return chain
}

// Read parses a dispatch descriptor. All errors are of type *[FormatError].
func Read(file []byte) (*Program, error) {
	t, err := readRootTable(file, 0, "dispatch descriptor")
	if err != nil {
		return nil, err
	}
	p := new(Program)
	// Strings are followed by hand, because the accessors of the FlatBuffers package panic if an offset is
	// invalid.
	at, n, err := t.locateVector(0, 4, "symbol names")
	if err != nil {
		return nil, err
	}
	for i := range n {
		to, err := t.followOffset(at+4*i, "symbol name")
		if err != nil {
			return nil, err
		}
		from, size, err := t.locateElements(to, 1, "symbol name")
		if err != nil {
			return nil, err
		}
		p.Symbols = append(p.Symbols, string(file[from:from+size]))
	}
	build, ok, err := t.readSubtable(1, "build information")
	if err != nil {
		return nil, err
	}
	if ok {
		err = build.forEachSubtable(0, "build information", func(t table) error {
			var e Entry
			var err error
			if e.Key, err = t.readText(0, "key"); err != nil {
				return err
			}
			e.Value, err = t.readText(1, "value")
			p.Build = append(p.Build, e)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	err = t.forEachSubtable(2, "section", func(t table) error {
		s, err := readSection(t, p)
		p.Sections = append(p.Sections, s)
		return err
	})
	if err != nil {
		return nil, err
	}
	version, err := t.readUint32(3, "format version")
	p.Version = int32(version)
	if err == nil && p.Version != formatVersion {
		err = t.newFormatError(int(t.Pos), "unknown format version %d; want %d", p.Version, formatVersion)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

func readSection(t table, p *Program) (s Section, err error) {
	if s.Name, err = t.readText(0, "section name"); err != nil {
		return s, err
	}
	kind, err := t.readUint32(1, "section kind")
	if err != nil {
		return s, err
	}
	s.Kind = SectionKind(kind)
	data, at, err := t.readBytes(2, "section data")
	if err != nil || data == nil {
		return s, err
	}
	switch s.Kind {
	case ArgFrame:
		err = s.readFrame(data, t.base+at)
	case Attributes:
		err = s.readAttributes(data, t.base+at, p)
	default:
		s.Data = data
	}
	return s, err
}

func (s *Section) readFrame(data []byte, base int) error {
	t, err := readRootTable(data, base, "argument frame")
	if err != nil {
		return err
	}
	o, ok, err := t.readSubtable(0, "operation")
	if err != nil {
		return err
	}
	if !ok {
		return t.newFormatError(0, "argument frame %q has no operation", s.Name)
	}
	op := new(Operation)
	for _, f := range []struct {
		slot int
		to   *string
	}{{0, &op.Name}, {4, &op.Frame}, {5, &op.Attrs}} {
		if *f.to, err = o.readText(f.slot, "operation's name"); err != nil {
			return err
		}
	}
	kind, err := o.readUint32(1, "operation's type")
	if err != nil {
		return err
	}
	// The documents list the type as a byte in one place and as an int in another. A larger number would
	// become another operation in the 8 bits of enums.OpType.
	if kind > 255 {
		return o.newFormatError(int(o.Pos), "invalid operation type %d; want at most 255", kind)
	}
	op.Type = enums.OpType(kind)
	if op.Inputs, err = o.readUint32s(2, "inputs"); err != nil {
		return err
	}
	if op.Outputs, err = o.readUint32s(3, "outputs"); err != nil {
		return err
	}
	s.Operation = op
	return t.forEachSubtable(1, "operand", func(t table) error {
		d, ok, err := t.readSubtable(0, "tensor descriptor")
		if err != nil {
			return err
		}
		if !ok {
			return t.newFormatError(int(t.Pos), "operand of %q has no tensor descriptor", s.Name)
		}
		x, err := readTensor(d)
		s.Operands = append(s.Operands, x)
		return err
	})
}

// numberFields returns pointers to the fields of a tensor that hold one number, indexed by
// slot. Other slots are nil.
func (x *Tensor) numberFields() []*uint64 {
	return []*uint64{
		2: &x.Width, 3: &x.Height, 4: &x.Channels, 5: &x.Batch, 6: &x.Sequence,
		7: &x.StrideWidth, 8: &x.StrideHeight, 9: &x.StrideChannels, 10: &x.StrideBatch, 11: &x.StrideSequence,
	}
}

func readTensor(t table) (x Tensor, err error) {
	if x.Dim, err = t.readUint64s(0, "extents"); err != nil {
		return x, err
	}
	if x.Stride, err = t.readUint64s(1, "strides"); err != nil {
		return x, err
	}
	for slot, to := range x.numberFields() {
		if to == nil {
			continue
		}
		if *to, err = t.readUint64(slot, "tensor descriptor"); err != nil {
			return x, err
		}
	}
	kind, err := t.readUint32(12, "storage type")
	if err != nil {
		return x, err
	}
	pack, err := t.readUint32(13, "component pack")
	x.Type, x.Pack = enums.TensorDataType(kind), int32(pack)
	return x, err
}

// readAttributes parses the section as the attributes of the operation in the previous section. If
// that operation does not name the section, or is neither a cast nor an inference, readAttributes
// stores data in s.Data.
func (s *Section) readAttributes(data []byte, base int, p *Program) error {
	var op *Operation
	// Attributes do not say which operation they belong to. The frame of the operation precedes them.
	if n := len(p.Sections); n > 0 {
		op = p.Sections[n-1].Operation
	}
	if op == nil || op.Attrs != s.Name || op.Type != enums.OpTypeCast && op.Type != enums.OpTypeAneInference {
		s.Data = data
		return nil
	}
	t, err := readRootTable(data, base, "attributes")
	if err != nil {
		return err
	}
	if op.Type == enums.OpTypeCast {
		var v [3]uint32
		for slot := range v {
			if v[slot], err = t.readUint32(slot, "cast"); err != nil {
				return err
			}
		}
		s.Cast = &Cast{enums.TensorDataType(v[0]), enums.TensorDataType(v[1]), int32(v[2])}
		return nil
	}
	a := new(Inference)
	for _, f := range []struct {
		slot int
		to   *string
	}{{0, &a.Procedure}, {1, &a.Hash}, {2, &a.Symbol}, {4, &a.Options}} {
		if *f.to, err = t.readText(f.slot, "inference"); err != nil {
			return err
		}
	}
	a.Buffer, err = t.readUint32(3, "inference")
	s.Inference = a
	return err
}

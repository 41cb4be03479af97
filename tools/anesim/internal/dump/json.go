package dump

import (
	"encoding/json"
	"fmt"
	"strconv"

	"anesim/hw/regs"
	"anesim/internal/report"
	"anesim/loader"
)

// An Object is a JSON object whose members have a fixed order.
type Object []member

type member struct {
	name  string
	value any
}

func (o *Object) addMember(name string, value any) { *o = append(*o, member{name, value}) }

// MarshalJSON returns the object as JSON, with its members in order.
func (o Object) MarshalJSON() ([]byte, error) { return o.appendJSON(nil) }

// appendJSON appends the object to b as JSON. It does not use json.Marshal for numbers and nested
// objects, because a long chain has millions of them.
func (o Object) appendJSON(b []byte) (_ []byte, err error) {
	b = append(b, '{')
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		b = append(append(b, name...), ':')
		switch v := m.value.(type) {
		case uint32:
			b = strconv.AppendUint(b, uint64(v), 10)
		case Object:
			if b, err = v.appendJSON(b); err != nil {
				return nil, err
			}
		default:
			value, err := json.Marshal(v)
			if err != nil {
				return nil, err
			}
			b = append(b, value...)
		}
	}
	return append(b, '}'), nil
}

// A Document is the JSON report of a program's contents.
type Document struct {
	report.Header
	Form        loader.Form      `json:"form"`
	Subtype     uint32           `json:"subtype"`
	Banner      *jsonBanner      `json:"banner,omitempty"` // if the container has one
	Procedures  []string         `json:"procedures,omitempty"`
	Segments    []jsonSegment    `json:"segments"`
	Ports       []jsonPort       `json:"ports"`
	Descriptors []jsonDescriptor `json:"descriptors"`
	Relocations []jsonRelocation `json:"relocations"`
	Symbols     []jsonSymbol     `json:"symbols"`
	V10         Object           `json:"v10,omitempty"`       // captured registers, which have no descriptors
	Transfers   []jsonTransfer   `json:"transfers,omitempty"` // if the program is captured registers
}

type jsonBanner struct {
	Compiler string `json:"compiler"`
	Version  string `json:"version"`
	Target   string `json:"target"`
	Flags    Object `json:"flags"` // by name, in the order of the command line
}

type jsonSegment struct {
	Name       string `json:"name"`
	Section    string `json:"section"`
	Address    uint64 `json:"address"`
	Bytes      uint64 `json:"bytes"`
	InFile     int    `json:"in_file"`
	Protection string `json:"protection"`
}

type jsonPort struct {
	Name      string    `json:"name"`
	Direction string    `json:"direction"`
	Shape     [4]int    `json:"shape"`
	Strides   [4]uint64 `json:"strides"`
	Address   uint64    `json:"address"`
	Bytes     uint64    `json:"bytes"`
	Type      string    `json:"type"`
	Buffer    int       `json:"buffer"`
}

type jsonDescriptor struct {
	Index       int             `json:"index"`
	Offset      uint32          `json:"offset"`
	Description jsonDescription `json:"description"`
	Header      Object          `json:"header"`
	Registers   Object          `json:"registers"`
}

type jsonDescription struct {
	Operation string   `json:"operation"`
	Reads     []string `json:"reads"`
	Weights   string   `json:"weights,omitempty"`
	Writes    string   `json:"writes"`
}

type jsonRegister struct {
	Value   uint32 `json:"value"`
	Fields  Object `json:"fields"`
	Unknown uint32 `json:"unknown,omitempty"` // bits outside all known fields
}

// A jsonV10Register is a captured register with the position of its word in the image, and the
// name of the base address that the loader fills in there.
type jsonV10Register struct {
	Address uint32 `json:"address"`
	Image   int    `json:"image"`
	jsonRegister
	Relocation string `json:"relocation,omitempty"`
}

// A jsonTransfer is a tensor that captured registers read or write. Its shape is all zeros if the
// registers do not determine it.
type jsonTransfer struct {
	Role    string   `json:"role"`
	Address uint64   `json:"address"`
	Shape   [4]int   `json:"shape"`   // groups, channels, height, width
	Strides [4]int64 `json:"strides"` // of group, depth, plane, row
	Low     uint64   `json:"low"`
	High    uint64   `json:"high"`
}

type jsonRelocation struct {
	Kind       string     `json:"kind"`
	Descriptor int        `json:"descriptor"`
	Register   string     `json:"register"`
	Offset     uint32     `json:"offset"` // of the word in __text
	Bit        int        `json:"bit"`
	Width      int        `json:"width"`
	Shift      int        `json:"shift"`
	Target     int        `json:"target"`
	Value      uint64     `json:"value"`
	Name       string     `json:"name,omitempty"`
	Range      *jsonRange `json:"range,omitempty"`
}

type jsonRange struct {
	Start uint64 `json:"start"`
	Stop  uint64 `json:"stop"`
	Step  uint64 `json:"step"`
}

type jsonSymbol struct {
	Name    string `json:"name"`
	Type    uint8  `json:"type"`
	Section uint8  `json:"section"`
	Desc    uint16 `json:"desc"`
	Value   uint64 `json:"value"`
}

// writeJSON writes the program as JSON, one descriptor at a time, so that long programs need no
// more memory than short ones.
func (d *dumper) writeJSON() error {
	document, err := d.newDocument()
	if err != nil {
		return err
	}
	return report.WriteDocument(d.w, document, report.List{Key: "descriptors", Elements: func(yield func(any, error) bool) {
		if d.p.Form == loader.FormRegisters || d.p.Subtype != loader.SubtypeM1 {
			return
		}
		for desc, err := range d.describeDescriptors() {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(d.toDescriptor(desc), nil) {
				return
			}
		}
	}})
}

// newDocument returns the program's Document without its descriptors.
func (d *dumper) newDocument() (*Document, error) {
	p := d.p
	// Lists that every program has are never null in JSON, also if they are empty.
	out := &Document{
		Header:      report.NewHeader(),
		Form:        p.Form,
		Subtype:     uint32(p.Subtype),
		Procedures:  p.Procedures,
		Segments:    make([]jsonSegment, 0, len(p.Segments)),
		Ports:       make([]jsonPort, 0, len(p.Ports)),
		Descriptors: []jsonDescriptor{},
		Relocations: make([]jsonRelocation, 0, len(p.Relocations)),
		Symbols:     make([]jsonSymbol, 0, len(p.Symbols)),
	}
	if b := &p.Banner; b.Compiler != "" {
		out.Banner = &jsonBanner{b.Compiler, b.Version, b.Target, Object{}}
		for _, f := range b.Flags {
			out.Banner.Flags.addMember(f.Name, f.Value)
		}
	}
	for i := range p.Segments {
		s := &p.Segments[i]
		out.Segments = append(out.Segments, jsonSegment{s.Name, s.Section, s.Addr, s.Size, len(s.Data), formatProtection(s.Prot)})
	}
	for i := range p.Ports {
		q := &p.Ports[i]
		out.Ports = append(out.Ports, jsonPort{q.Name, q.Direction.String(), q.Shape, q.Strides, q.Address, q.Bytes, q.Type.String(), q.BAR})
	}
	// Captured registers have no descriptors to hold what they move, so it is listed here.
	if p.Form == loader.FormRegisters {
		out.V10 = d.toV10Registers()
		transfers, err := p.Transfers()
		if err != nil {
			return nil, err
		}
		for i := range transfers {
			t := &transfers[i]
			s := &t.Surface
			out.Transfers = append(out.Transfers, jsonTransfer{
				t.Role.String(), t.Address, [4]int{s.Groups, s.Channels, s.Height, s.Width},
				[4]int64{s.Group, s.DepthStride, s.Plane, s.Row}, t.Low, t.High,
			})
		}
	}
	for i := range p.Relocations {
		out.Relocations = append(out.Relocations, d.toRelocation(&p.Relocations[i]))
	}
	for _, s := range p.Symbols {
		out.Symbols = append(out.Symbols, jsonSymbol{s.Name, uint8(s.Type), s.Section, s.Desc, s.Value})
	}
	return out, nil
}

func (d *dumper) toDescriptor(desc described) *jsonDescriptor {
	w := desc.words
	out := &jsonDescriptor{
		Index: desc.Index, Offset: desc.Offset, Registers: Object{},
		Description: jsonDescription{w.Operation, w.Sources, w.Weights, w.Result},
	}
	var unknown Object
	for _, w := range listHeaderWords(desc.Descriptor) {
		out.Header = append(out.Header, toFields(w)...)
		if u := w.reg.Unknown(w.word); u != 0 {
			unknown.addMember(w.reg.Name, u)
		}
	}
	if desc.Extended {
		out.Header.addMember("extra", desc.Extra)
	}
	if unknown != nil {
		out.Header.addMember("unknown", unknown)
	}
	for _, w := range listWrittenWords(desc.Descriptor) {
		r := Object{{"value", w.word}, {"fields", toFields(w)}}
		if u := w.reg.Unknown(w.word); u != 0 {
			r.addMember("unknown", u)
		}
		out.Registers.addMember(w.reg.Block+"."+w.reg.Name, r)
	}
	return out
}

func toRegister(w registerWord) jsonRegister {
	return jsonRegister{w.word, toFields(w), w.reg.Unknown(w.word)}
}

func toFields(w registerWord) Object {
	fields := Object{}
	for _, f := range w.reg.Fields {
		fields.addMember(f.Name, f.Of(w.word))
	}
	return fields
}

func (d *dumper) toRelocation(r *loader.Relocation) jsonRelocation {
	out := jsonRelocation{
		Kind: r.Kind.String(), Descriptor: r.Task, Register: registerName(r.Register), Offset: r.Off,
		Bit: r.Bit, Width: r.Width, Shift: r.Shift, Target: r.Target, Value: r.Value, Name: r.Name,
	}
	if r.Kind == loader.LiveIn {
		out.Range = &jsonRange{r.Range.Start, r.Range.Stop, r.Range.Step}
	}
	return out
}

func registerName(addr uint32) string {
	if r, ok := regs.RegisterAt(addr); ok {
		return r.Block + "." + r.Name
	}
	return fmt.Sprintf("%#x", addr)
}

func (d *dumper) toV10Registers() Object {
	out := Object{}
	for _, w := range d.p.Registers.Words() {
		out.addMember(w.Name(), jsonV10Register{
			Address: w.Addr, Image: w.Image,
			jsonRegister: toRegister(registerWord{w.Reg, w.Value}),
			Relocation:   v10BaseName(w.Addr),
		})
	}
	return out
}

// v10BaseName returns the name of the base address that the loader stores in the register at addr,
// or "" if it stores none.
func v10BaseName(addr uint32) string {
	for _, r := range regs.V10Relocations() {
		if 4*r.Word == addr {
			return r.Name
		}
	}
	return ""
}

package command

import (
	"encoding/json"
	"fmt"
	"strconv"

	"anesim"
	"anesim/hw/regs"
	"anesim/loader"
)

// An orderedObject is a JSON object whose members keep their order.
type orderedObject []orderedMember

type orderedMember struct {
	name  string
	value any
}

func (o *orderedObject) add(name string, value any) { *o = append(*o, orderedMember{name, value}) }

func (o orderedObject) MarshalJSON() ([]byte, error) { return o.appendJSON(nil) }

// appendJSON appends the object. Numbers, objects and registers are most of a dump: they are
// written here, where each level through the library would read all below it again.
func (o orderedObject) appendJSON(b []byte) ([]byte, error) {
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
		case orderedObject:
			b, err = v.appendJSON(b)
		case jsonRegister:
			b, err = v.appendJSON(b)
		default:
			var value []byte
			value, err = json.Marshal(v)
			b = append(b, value...)
		}
		if err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

func (r jsonRegister) appendJSON(b []byte) ([]byte, error) {
	o := orderedObject{{"value", r.Value}, {"fields", r.Fields}}
	if r.Unknown != 0 {
		o.add("unknown", r.Unknown)
	}
	return o.appendJSON(b)
}

type jsonDump struct {
	anesim.Header
	Form        loader.Form          `json:"form"`
	Subtype     uint32               `json:"subtype"`
	Ports       []jsonPort           `json:"ports"`
	Descriptors []jsonDumpDescriptor `json:"descriptors"`
	Relocations []jsonRelocation     `json:"relocations"`
	Symbols     []jsonSymbol         `json:"symbols"`
	V10         orderedObject        `json:"v10,omitempty"` // of captured registers, which have no descriptors
}

type jsonPort struct {
	Name      string    `json:"name"`
	Direction string    `json:"direction"`
	Shape     [4]int    `json:"shape"`
	Strides   [4]uint64 `json:"strides"`
	Address   uint64    `json:"address"`
	Bytes     uint64    `json:"bytes"`
}

type jsonDumpDescriptor struct {
	Index     int           `json:"index"`
	Offset    uint32        `json:"offset"`
	Header    orderedObject `json:"header"`
	Registers orderedObject `json:"registers"`
}

type jsonRegister struct {
	Value   uint32        `json:"value"`
	Fields  orderedObject `json:"fields"`
	Unknown uint32        `json:"unknown,omitempty"` // bits that no field names
}

// A jsonV10Register says where in the image the word is, and which base address the
// loader fills in there.
type jsonV10Register struct {
	Address uint32 `json:"address"`
	Image   int    `json:"image"`
	jsonRegister
	Relocation string `json:"relocation,omitempty"`
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

func (d *dumper) writeJSON() error {
	out := jsonDump{
		Header:      anesim.NewHeader(),
		Form:        d.p.Form,
		Subtype:     uint32(d.p.Subtype),
		Ports:       make([]jsonPort, 0, len(d.p.Ports)),
		Descriptors: []jsonDumpDescriptor{},
		Relocations: make([]jsonRelocation, 0, len(d.p.Relocations)),
		Symbols:     make([]jsonSymbol, 0, len(d.p.Symbols)),
	}
	descriptors := func(func(any, error) bool) {}
	for i := range d.p.Ports {
		p := &d.p.Ports[i]
		out.Ports = append(out.Ports, jsonPort{p.Name, p.Direction.String(), p.Shape, p.Strides, p.Address, p.Bytes})
	}
	if d.p.Form == loader.FormRegisters {
		out.V10 = d.jsonV10()
	} else if d.p.Subtype == loader.SubtypeM1 {
		for _, err := range d.p.Descriptors() {
			if err != nil {
				return err // before anything is written
			}
		}
		descriptors = func(yield func(any, error) bool) {
			for desc, err := range d.p.Descriptors() {
				if err != nil {
					yield(nil, err)
					return
				}
				if !yield(d.jsonDescriptor(desc), nil) {
					return
				}
			}
		}
	}
	for i := range d.p.Relocations {
		out.Relocations = append(out.Relocations, d.jsonRelocation(&d.p.Relocations[i]))
	}
	for _, s := range d.p.Symbols {
		out.Symbols = append(out.Symbols, jsonSymbol{s.Name, uint8(s.Type), s.Section, s.Desc, s.Value})
	}
	return anesim.WriteDocument(d.w, &out, anesim.DocumentList{Key: "descriptors", Elements: descriptors})
}

func (d *dumper) jsonDescriptor(desc *regs.Descriptor) jsonDumpDescriptor {
	out := jsonDumpDescriptor{Index: desc.Index, Offset: desc.Offset, Registers: orderedObject{}}
	var unknown orderedObject
	for _, w := range d.header(desc) {
		out.Header = append(out.Header, rawFields(w)...)
		if u := w.reg.Unknown(w.word); u != 0 {
			unknown.add(w.reg.Name, u)
		}
	}
	if desc.Extended {
		out.Header.add("extra", desc.Extra)
	}
	if unknown != nil {
		out.Header.add("unknown", unknown)
	}
	for _, w := range d.written(desc) {
		out.Registers.add(w.reg.Block+"."+w.reg.Name, rawRegister(w))
	}
	return out
}

func rawRegister(w dumpWord) jsonRegister {
	return jsonRegister{w.word, rawFields(w), w.reg.Unknown(w.word)}
}

func rawFields(w dumpWord) orderedObject {
	fields := orderedObject{}
	for _, f := range w.reg.Fields {
		fields.add(f.Name, f.Of(w.word))
	}
	return fields
}

func (d *dumper) jsonRelocation(r *loader.Relocation) jsonRelocation {
	out := jsonRelocation{
		Kind: r.Kind.String(), Descriptor: r.Task, Register: d.registerName(r.Register), Offset: r.Off,
		Bit: r.Bit, Width: r.Width, Shift: r.Shift, Target: r.Target, Value: r.Value, Name: r.Name,
	}
	if r.Kind == loader.LiveIn {
		out.Range = &jsonRange{r.Range.Start, r.Range.Stop, r.Range.Step}
	}
	return out
}

func (d *dumper) registerName(addr uint32) string {
	if r, ok := d.registers[addr]; ok {
		return r.Block + "." + r.Name
	}
	return fmt.Sprintf("%#x", addr)
}

func (d *dumper) jsonV10() orderedObject {
	out := orderedObject{}
	for _, w := range d.p.Registers.Words() {
		out.add(w.Name(), jsonV10Register{
			Address: w.Addr, Image: w.Image,
			jsonRegister: rawRegister(dumpWord{w.Reg, w.Value}),
			Relocation:   v10Relocation(w.Addr),
		})
	}
	return out
}

// v10Relocation names the base address that the loader fills in at a register.
func v10Relocation(addr uint32) string {
	for _, r := range regs.V10Relocations() {
		if 4*r.Word == addr {
			return r.Name
		}
	}
	return ""
}

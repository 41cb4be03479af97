package golden

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"
	"sync"

	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/asm"
	"anesim/loader/describe"
)

// blankText holds the register values that all descriptors share, as descriptor text.
//
//go:embed blank.txt
var blankText string

// width is the maximum length of a line of registers in bytes.
const width = 120

// Program returns program p as text for a golden file. The text lists the ports, the size of the
// constants, and for each descriptor a description and the registers that differ from the blank
// descriptor, which computes nothing.
func Program(p *loader.Program) (string, error) {
	var b strings.Builder
	for i := range p.Ports {
		q := &p.Ports[i]
		fmt.Fprintf(&b, "%v %s b%d %dx%dx%dx%d", q.Direction, q.Name, q.BAR, q.Shape[0], q.Shape[1], q.Shape[2], q.Shape[3])
		fmt.Fprintf(&b, ", strides %d %d %d %d\n", q.Strides[0], q.Strides[1], q.Strides[2], q.Strides[3])
	}
	constants, sized := writeConstantsLine(&b, p)
	registers, err := registers(p)
	if err != nil {
		return "", err
	}
	at := 0
	for s, err := range p.States() {
		if err != nil {
			return "", err
		}
		b.WriteString(registers[at].format(registers[:at]))
		if sums := formatLaneChecksums(s, constants); sums != "" && !sized {
			fmt.Fprintf(&b, "  lanes   %s\n", sums)
		}
		at++
	}
	return b.String(), nil
}

// writeConstantsLine writes a line with the size and the checksum of each section of the program's
// constants to b. It returns the constants. sized is true if only their size is known.
func writeConstantsLine(b *strings.Builder, p *loader.Program) (constants []byte, sized bool) {
	for i := range p.Segments {
		s := &p.Segments[i]
		switch {
		case !isConstants(s):
		case s.Unmade:
			fmt.Fprintf(b, "constants %d bytes, sizes only\n", s.Size)
			sized = true
		case len(bytes.Trim(s.Data, "\x00")) > 0:
			fmt.Fprintf(b, "constants %d bytes, checksum %08x\n", s.Size, crc32.ChecksumIEEE(s.Data))
			constants = append(constants, s.Data...)
		}
	}
	return constants, sized
}

// isConstants reports whether segment s holds constants, of the program or of a caller.
func isConstants(s *loader.Segment) bool { return s.Section == "__const" || s.IsWeights() }

// A Descriptor holds a description of a descriptor in words, and the register fields that differ
// from the blank descriptor, which computes nothing.
type Descriptor struct {
	Index  int
	About  *describe.Description
	Fields []Field
}

// A Field is a field of a register, with its value as text. If the register has no fields, Name is
// empty. Name is "+" for bits that belong to no field.
type Field struct{ Group, Register, Name, Value string }

// Key returns the field's full name, such as "Common.Cfg.ShPref".
func (f *Field) Key() string {
	if f.Name == "" {
		return f.Group + "." + f.Register
	}
	return f.Group + "." + f.Register + "." + f.Name
}

// registers returns the descriptors of program p, each with the register fields that differ from
// the blank descriptor, which computes nothing. It returns an error if the descriptors of p are
// malformed.
func registers(p *loader.Program) ([]Descriptor, error) {
	bare, err := (&loader.Options{FirstWords: p.FirstWords}).Read(p.Name, bytes.NewReader(p.Text), int64(len(p.Text)))
	if err != nil {
		return nil, err
	}
	text, err := asm.Disassemble(bare)
	if err != nil {
		return nil, err
	}
	blank := blankFields()
	var list []Descriptor
	all := parseDescriptors(string(text))
	for about, err := range p.Describe() {
		if err != nil {
			return nil, err
		}
		i := len(list)
		list = append(list, Descriptor{i, about, dropBlankFields(all[i], blank)})
	}
	return list, nil
}

// blankFields returns the register fields of blank.txt, the descriptor that computes nothing.
var blankFields = sync.OnceValue(func() []Field { return parseDescriptors(blankText)[0] })

// parseDescriptors parses descriptor text as written by the disassembler.
func parseDescriptors(text string) (list [][]Field) {
	for line := range strings.SplitSeq(text, "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0][0] == '#':
		case words[0] == ".td":
			list = append(list, nil)
		case words[0][0] == '.':
		default:
			list[len(list)-1] = append(list[len(list)-1], parseFields(words[0], words[1:])...)
		}
	}
	return list
}

// parseFields parses a line of one register, or of neighbors in an array.
func parseFields(register string, values []string) (list []Field) {
	group, name, _ := strings.Cut(register, ".")
	first, step := uint64(0), uint64(0)
	if len(values) == 3 && values[1] == "step" {
		first, _ = strconv.ParseUint(values[0], 0, 64)
		step, _ = strconv.ParseUint(values[2], 0, 64)
	}
	for i, each := range expandNames(name) {
		if step > 0 {
			list = append(list, Field{group, each, "", formatHex(first + uint64(i)*step)})
			continue
		}
		for _, v := range values {
			f := Field{group, each, "", v}
			switch field, value, ok := strings.Cut(v, "="); {
			case ok:
				f.Name, f.Value = field, value
			case strings.HasPrefix(v, "+"):
				f.Name, f.Value = "+", v[1:]
			case v[0] >= 'A' && !(len(values) == 1 && isSingleQuantity(group, each)): // a flag
				f.Name, f.Value = v, "1"
			}
			list = append(list, f)
		}
	}
	return list
}

// formatHex returns v in hexadecimal with the prefix 0x, or "0" for 0.
func formatHex(v uint64) string {
	if v == 0 {
		return "0"
	}
	return fmt.Sprintf("%#x", v)
}

// expandNames returns the names of the registers that name refers to: four for Name[0-3], and name
// itself without a range.
func expandNames(name string) (list []string) {
	base, span, ok := strings.Cut(strings.TrimSuffix(name, "]"), "[")
	from, to, some := strings.Cut(span, "-")
	if !ok || !some {
		return []string{name}
	}
	lo, _ := strconv.Atoi(from)
	hi, _ := strconv.Atoi(to)
	for i := lo; i <= hi; i++ {
		list = append(list, fmt.Sprintf("%s[%d]", base, i))
	}
	return list
}

// isSingleQuantity reports whether a register is a single quantity, which is written without a
// field name.
func isSingleQuantity(group, name string) bool {
	for r := range regs.Registers() {
		if r.Block == group && r.Name == name {
			return r.Sole()
		}
	}
	return false
}

// dropBlankFields returns the fields whose values differ from a blank descriptor's. A field that is
// zero is included if it is not zero in the blank descriptor.
func dropBlankFields(fields, blank []Field) (list []Field) {
	want := map[string]string{}
	ofRegister := map[string][]Field{}
	for _, f := range blank {
		want[f.Key()] = f.Value
		ofRegister[f.Group+"."+f.Register] = append(ofRegister[f.Group+"."+f.Register], f)
	}
	has := map[string]bool{}
	for _, f := range fields {
		has[f.Key()] = true
	}
	for i, f := range fields {
		if v, ok := want[f.Key()]; ok && v != f.Value || !ok && f.Value != "0" {
			list = append(list, f)
		}
		if i+1 < len(fields) && fields[i+1].Group == f.Group && fields[i+1].Register == f.Register {
			continue
		}
		for _, b := range ofRegister[f.Group+"."+f.Register] {
			if b.Name != "" && !has[b.Key()] {
				list = append(list, Field{b.Group, b.Register, b.Name, "0"})
			}
		}
	}
	return list
}

// A register holds the printed form of a register, or of neighbors in an array.
type register struct {
	group, name string
	first, last int // indices in the array, -1 for none
	value       string
	step        uint64
}

// joinEqualRegisters converts fields to registers, joining equal neighbors in an array.
func joinEqualRegisters(fields []Field) (list []register) {
	for i := 0; i < len(fields); {
		f := &fields[i]
		var parts []string
		n := i
		for ; n < len(fields) && fields[n].Group == f.Group && fields[n].Register == f.Register; n++ {
			parts = append(parts, fields[n].Name+"="+fields[n].Value)
		}
		i = n
		r := register{f.Group, f.Register, -1, -1, "{" + strings.Join(parts, " ") + "}", 0}
		if f.Name == "" {
			r.value = f.Value
		}
		if base, index, ok := strings.Cut(strings.TrimSuffix(f.Register, "]"), "["); ok {
			r.name = base
			r.first, _ = strconv.Atoi(index)
			r.last = r.first
		}
		if len(list) == 0 || !list[len(list)-1].extendRange(&r) {
			list = append(list, r)
		}
	}
	return list
}

// extendRange adds next to the array range of r and reports whether that was possible.
func (r *register) extendRange(next *register) bool {
	if next.first < 0 || next.group != r.group || next.name != r.name || next.first != r.last+1 {
		return false
	}
	if r.step == 0 && next.value == r.value {
		r.last++
		return true
	}
	a, err := strconv.ParseUint(r.value, 0, 64)
	b, err2 := strconv.ParseUint(next.value, 0, 64)
	if err != nil || err2 != nil || b <= a || r.step == 0 && r.last > r.first || r.step > 0 && b != a+r.step*uint64(next.first-r.first) {
		return false
	}
	if r.step == 0 {
		r.step = b - a
	}
	r.last++
	return true
}

func (r *register) String() string {
	name, value := r.name, r.value
	switch {
	case r.first >= 0 && r.first == r.last:
		name = fmt.Sprintf("%s[%d]", name, r.first)
	case r.first >= 0:
		name = fmt.Sprintf("%s[%d-%d]", name, r.first, r.last)
	}
	if r.step > 0 {
		value = fmt.Sprintf("%s..+%#x", value, r.step)
	}
	if strings.HasPrefix(value, "{") {
		return name + value
	}
	return name + "=" + value
}

// format returns the descriptor in words and registers. If it resembles one of the
// descriptors in before, format lists only the registers that differ.
func (d *Descriptor) format(before []Descriptor) string {
	var b strings.Builder
	fmt.Fprintf(&b, "td %d: %s\n", d.Index, d.About.Operation)
	for label, text := range d.About.Lines() {
		fmt.Fprintf(&b, "  %-7s %s\n", label, text)
	}
	fields, like := d.Fields, -1
	for i := len(before) - 1; i >= max(0, len(before)-reach); i-- {
		// A reader is sent to another descriptor only if that saves a third of the registers. The nearest
		// of equal ones wins, and a farther one has to be better.
		if differ := d.differingFields(&before[i]); len(differ) < len(fields)-len(d.Fields)/3 || like >= 0 && len(differ) < len(fields) {
			fields, like = differ, i
		}
	}
	if like >= 0 {
		fmt.Fprintf(&b, "  like    td %d\n", like)
	}
	line, group := "", ""
	for _, r := range joinEqualRegisters(fields) {
		word := r.String()
		switch {
		case r.group != group:
			if group = r.group; line != "" {
				b.WriteString(line + "\n")
			}
			line = fmt.Sprintf("  %s:", group)
		case len(line)+1+len(word) > width:
			b.WriteString(line + "\n")
			line = "     "
		}
		line += " " + word
	}
	if line != "" {
		b.WriteString(line + "\n")
	}
	return b.String()
}

// reach is the number of preceding descriptors that a descriptor is compared with.
const reach = 12

// differingFields returns the fields of d that differ from those of e, in register order.
func (d *Descriptor) differingFields(e *Descriptor) (list []Field) {
	have, other := valuesByKey(d.Fields), valuesByKey(e.Fields)
	all := slices.Clone(d.Fields)
	for _, f := range e.Fields {
		if _, ok := have[f.Key()]; !ok {
			f.Value = blankValue(f.Key())
			all = append(all, f)
		}
	}
	for _, f := range all {
		if v, ok := other[f.Key()]; !ok || v != f.Value {
			list = append(list, f)
		}
	}
	slices.SortStableFunc(list, func(a, b Field) int {
		return cmp.Compare(registerOrder()[a.Group+"."+a.Register], registerOrder()[b.Group+"."+b.Register])
	})
	return list
}

func valuesByKey(fields []Field) map[string]string {
	m := make(map[string]string, len(fields))
	for _, f := range fields {
		m[f.Key()] = f.Value
	}
	return m
}

// registerOrder returns the position of each register in the order of all registers.
var registerOrder = sync.OnceValue(func() map[string]int {
	at := map[string]int{}
	for r := range regs.HeaderRegisters() {
		at["Header."+r.Name] = len(at)
	}
	for r := range regs.Registers() {
		at[r.Block+"."+r.Name] = len(at)
	}
	return at
})

// blankValue returns the value of a field in a blank descriptor.
func blankValue(key string) string {
	if v, ok := blankValues()[key]; ok {
		return v
	}
	return "0"
}

var blankValues = sync.OnceValue(func() map[string]string { return valuesByKey(blankFields()) })

// formatLaneChecksums returns the checksums of the weights that a descriptor's engines read,
// with equal neighbors joined. It returns "" if the descriptor reads no constants.
func formatLaneChecksums(s *regs.State, constants []byte) string {
	k := s.Header.KernelBases
	if !k.KBE0() || k.KBase0() != regs.BARWeights {
		return ""
	}
	d := &s.Groups.KernelDMASrc
	var words []string
	last, from := "", 0
	for i := range d.CoeffDMAConfig {
		sum := ""
		if base, size := uint64(d.CoeffBaseAddr[i].Bytes()), uint64(d.CoeffBfrSize[i].Bytes()); d.CoeffDMAConfig[i].En() && base+size <= uint64(len(constants)) {
			sum = fmt.Sprintf("%08x", crc32.ChecksumIEEE(constants[base:base+size]))
		}
		if sum == last && sum != "" {
			words[len(words)-1] = fmt.Sprintf("%d-%d:%s", from, i, sum)
			continue
		}
		if last, from = sum, i; sum != "" {
			words = append(words, fmt.Sprintf("%d:%s", i, sum))
		}
	}
	return strings.Join(words, " ")
}

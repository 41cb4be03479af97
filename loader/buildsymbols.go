package loader

import (
	"cmp"
	"crypto/sha256"
	"fmt"

	"anesim/hw/regs"
)

// lanes is the maximum number of weight lanes of a descriptor, one for each MAC engine.
const lanes = 16

// listKnownElementTypes returns the element types that are written to the symbol table. They are known
// from containers and from the format document.
func listKnownElementTypes() []ElementType {
	return []ElementType{
		{1, "void", "1"}, {2, "int8", "r2;0;127"}, {3, "uint8", "r1;0;255"},
		{4, "int16", "r1;-32768;32767"}, Float16(), {6, "float", "r1;4;0"},
		{7, "raw10", "r1;-512;511"}, {8, "lut", ""}, {9, "uint4", "r1;0;15"}, {10, "uint6", "r1;0;63"},
		{16, "e4m3", "r1;1;0"}, {23, "int4", "r1;-8;7"},
	}
}

// firstShape is the type number of the first shape, as in listing 23.5: t0:t44.
const firstShape = 44

// newSymtabCommand returns the load command of the symbol table. It also adds relocations for the
// weight streams to the descriptor section.
func (l *layout) newSymtabCommand() *symtabLoad {
	t := &symtabLoad{LoadBytes: newLoadCommand(CommandSymtab, 24), Strings: []byte{0}}
	add := func(s Symbol) {
		s.index = uint32(len(t.Strings))
		t.Strings = append(append(t.Strings, s.Name...), 0)
		t.Symbols = append(t.Symbols, s)
	}
	var ports []Port
	for _, q := range l.parts {
		for _, d := range q.Chain {
			for _, s := range l.addWeightSymbols(q, d) {
				s.Section = cmp.Or(l.findSectionNumber(s.Value), l.findSectionNumber(l.consts.Addr)) // unused streams are at the end
				add(s)
			}
		}
		ports = append(ports, q.ports...)
	}
	for i := range ports {
		p := &ports[i]
		s := Symbol{Name: p.Name, Type: symbolDefined, Section: l.findSectionNumber(p.Address), Value: p.Address}
		if p.Direction == Input {
			s.Desc = 2
		}
		add(s)
	}
	for _, e := range listKnownElementTypes() {
		add(Symbol{Name: fmt.Sprintf("%s:t%d=%s", e.Name, e.Code, e.Range), Type: symbolElement})
	}
	for i := range ports {
		p := &ports[i]
		number := firstShape + i*(1+len(axes))
		sh := Shape{p.Name, p.Shape, p.Strides, Float16().Code}
		add(Symbol{Name: sh.formatSymbol(number), Type: symbolShape, Desc: uint16(number)})
	}
	return t
}

// addWeightSymbols returns symbols for the weight streams of descriptor d, and adds their
// relocations. It returns nil if the descriptor reads no constants.
func (l *layout) addWeightSymbols(q *part, d *regs.Descriptor) []Symbol {
	var f regs.File
	var g regs.Groups
	if d.Apply(&f) != nil || !d.Header.KernelBases.KBE0() || int(d.Header.KernelBases.KBase0()) != cmp.Or(q.WeightsBAR, regs.BARWeights) {
		return nil
	}
	f.Snapshot(&g)
	register, _ := regs.Lookup("KernelDMASrc", "CoeffBaseAddr[0]")
	var words [lanes]uint32
	for i := range words {
		for _, at := range findWordOffsets(d, register.Addr()+4*uint32(i)) {
			words[i] = uint32(q.text) + at // the last word that is written counts
		}
	}
	digest := sha256.New()
	first := len(l.text.Relocs)
	var out []Symbol
	for i, c := range g.KernelDMASrc.CoeffDMAConfig {
		base, size := uint64(g.KernelDMASrc.CoeffBaseAddr[i].Bytes()), uint64(g.KernelDMASrc.CoeffBfrSize[i].Bytes())
		if !c.En() || base+size > uint64(len(q.constants)) || words[i] == 0 {
			if l.Late {
				out = append(out, l.newUnusedStreamSymbol(i))
			}
			continue
		}
		digest.Write(q.constants[base : base+size])
		section := uint32(l.findSectionNumber(l.consts.Addr)) // the word counts from the first, as the buffer does
		l.text.Relocs = append(l.text.Relocs, RelocPair{words[i], relocSection&^0xffffff | section})
		out = append(out, Symbol{Name: fmt.Sprintf("_ne_%d", i), Type: symbolDefined, Desc: 2, Value: l.consts.Addr + q.data + base})
	}
	if len(l.text.Relocs) == first {
		return nil // no lane is on, so there is no weight to name
	}
	for i := range out {
		out[i].Name = fmt.Sprintf("K%X%s", digest.Sum(nil), out[i].Name)
	}
	return out
}

// newUnusedStreamSymbol returns the symbol that marks a weight stream as unused. Its address is
// the end of the constants.
func (l *layout) newUnusedStreamSymbol(lane int) Symbol {
	return Symbol{Name: fmt.Sprintf("_ne_%d", lane), Type: symbolDefined, Value: l.consts.Addr + l.consts.Size}
}

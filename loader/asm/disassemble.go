package asm

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"anesim/hw/regs"
	"anesim/loader"
)

// Disassemble writes a program as text. Assembling it gives the program's bytes again.
func Disassemble(p *loader.Program) ([]byte, error) {
	if p.Form == loader.FormRegisters || p.Subtype != loader.SubtypeM1 {
		return nil, &loader.UnsupportedError{Form: string(p.Form), What: "descriptor text spells version 7 descriptors"}
	}
	d := &disassembler{registers: make(map[uint32]*regs.Register)}
	for r := range regs.Registers() {
		d.registers[r.Addr()] = &r
	}
	for r := range regs.HeaderRegisters() {
		d.header = append(d.header, r)
	}
	d.about(p)
	file, textOff := p.Text, p.TextOffset()
	if p.Form != loader.FormText {
		file = p.Bytes()
		fmt.Fprintf(&d.out, ".container %s %s\n", hex(uint64(len(file))), hex(textOff))
	}
	words, err := p.Describe()
	if err != nil {
		return nil, err
	}
	var chain []*regs.Descriptor
	for t, err := range p.Descriptors() {
		if err != nil {
			return nil, err
		}
		chain = append(chain, t)
	}
	end := uint64(0)
	for i, t := range chain {
		d.out.WriteByte('\n')
		w := &words[i]
		fmt.Fprintf(&d.out, "# %d: %s\n# %s\n#   from %s\n#   to %s\n", i, w.Operation, w.Shape, strings.Join(w.Sources, " and "), w.Result)
		next := uint64(roundUp(end))
		d.task(t, next, chain[i+1:])
		end = max(end, uint64(t.Offset)+4*uint64(t.Words))
	}
	if p.Form == loader.FormText && end < uint64(len(p.Text)) {
		fmt.Fprintf(&d.out, "\n.size %s\n", hex(uint64(len(p.Text))))
	}
	d.rest(file, textOff, chain)
	return d.out.Bytes(), nil
}

func roundUp(n uint64) uint64 { return (n + regs.Alignment - 1) &^ (regs.Alignment - 1) }

// A disassembler writes a text.
type disassembler struct {
	out       bytes.Buffer
	registers map[uint32]*regs.Register
	header    []regs.Register
}

// about says in comments what the text cannot: name, form, ports.
func (d *disassembler) about(p *loader.Program) {
	fmt.Fprintf(&d.out, "# %s: %s\n", comment(p.Name), p.Form)
	for i := range p.Ports {
		q := &p.Ports[i]
		fmt.Fprintf(&d.out, "# %v %s: b%d, %dx%dx%dx%d\n", q.Direction, comment(q.Name), q.BAR, q.Shape[0], q.Shape[1], q.Shape[2], q.Shape[3])
	}
}

// comment is a name without what would end its line.
func comment(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return '?'
		}
		return r
	}, s)
}

// task writes a descriptor; next is where it would stand if nothing said so, and rest
// are the descriptors behind it.
func (d *disassembler) task(t *regs.Descriptor, next uint64, rest []*regs.Descriptor) {
	if uint64(t.Offset) == next {
		d.out.WriteString(".td\n")
	} else {
		fmt.Fprintf(&d.out, ".td @%s\n", hex(uint64(t.Offset)))
	}
	words := (&regs.Descriptor{Header: t.Header}).Append(nil)
	for i := range d.header {
		r := &d.header[i]
		w := uint32(words[4*i]) | uint32(words[4*i+1])<<8 | uint32(words[4*i+2])<<16 | uint32(words[4*i+3])<<24
		d.headerWord(r, w, rest)
	}
	if t.Extended && t.Extra != 0 {
		d.line("Header.Extra", hex(uint64(t.Extra)))
	}
	var last *regs.Record
	for i := range t.Records {
		rec := &t.Records[i]
		if last != nil && len(last.Values) < maxRecord && last.Addr+4*uint32(len(last.Values)) == rec.Addr {
			d.out.WriteString(".record\n")
		}
		d.write(rec)
		last = rec
	}
}

// headerWord writes a header word, without what the assembler fills in.
func (d *disassembler) headerWord(r *regs.Register, w uint32, rest []*regs.Descriptor) {
	var next, size uint32
	if len(rest) > 0 {
		next, size = rest[0].Offset, uint32(rest[0].Words-1)
	}
	text := ""
	switch r.Name {
	case "Next":
		if w == next {
			return
		}
		if w == 0 {
			text = "word=0"
		}
	case "Timing":
		f, _ := r.Field("NextSize")
		if f.Of(w) == size {
			w = f.With(w, 0)
		} else if f.Of(w) == 0 {
			text = "NextSize=0"
			if rest := fields(r, w); rest != "0" {
				text = rest + " " + text
			}
		}
	}
	if text == "" {
		if w == 0 {
			return
		}
		text = fields(r, w)
	}
	d.line("Header."+r.Name, text)
}

func (d *disassembler) line(name, text string) {
	fmt.Fprintf(&d.out, "%-30s %s\n", name, text)
}

// write writes a record's registers: equal neighbours of an array on one line, and
// offsets in equal steps.
func (d *disassembler) write(rec *regs.Record) {
	for i := 0; i < len(rec.Values); {
		r := d.registers[rec.Addr+4*uint32(i)]
		if r == nil { // no window has such a register; the walk would have refused it
			d.line(fmt.Sprintf("%#x", rec.Addr+4*uint32(i)), hex(uint64(rec.Values[i])))
			i++
			continue
		}
		n, step := d.run(rec, i, r)
		name, text := r.Block+"."+r.Name, fields(r, rec.Values[i])
		if n > 1 {
			base, first, _ := strings.Cut(name, "[")
			_, last, _ := strings.Cut(d.registers[rec.Addr+4*uint32(i+n-1)].Name, "[")
			name = base + "[" + strings.TrimSuffix(first, "]") + "-" + last
			if step != 0 {
				text += " step " + hex(uint64(step))
			}
		}
		d.line(name, text)
		i += n
	}
}

// run is how many registers of one array from i on stand on one line, and their step in
// bytes.
func (d *disassembler) run(rec *regs.Record, i int, r *regs.Register) (n int, step uint32) {
	array, _, ok := strings.Cut(r.Name, "[")
	if !ok {
		return 1, 0
	}
	same := func(j int) bool {
		q := d.registers[rec.Addr+4*uint32(j)]
		return q != nil && q.Block == r.Block && strings.HasPrefix(q.Name, array+"[")
	}
	for n = 1; i+n < len(rec.Values) && same(i+n) && rec.Values[i+n] == rec.Values[i]; n++ {
	}
	if n > 1 || !sole(r) || i+2 >= len(rec.Values) {
		return n, 0
	}
	first := rec.Values[i]
	step = rec.Values[i+1] - first
	plain := func(w uint32) bool { return r.Unknown(w) == 0 }
	if step>>31 != 0 || !plain(first) || !plain(step) {
		return 1, 0
	}
	for n = 1; i+n < len(rec.Values) && same(i+n) && rec.Values[i+n] == first+uint32(n)*step && plain(rec.Values[i+n]) && rec.Values[i+n] > first; n++ {
	}
	if n < 3 {
		return 1, 0
	}
	return n, step
}

// rest writes the bytes of the file that are no descriptor's and not zero.
func (d *disassembler) rest(file []byte, textOff uint64, chain []*regs.Descriptor) {
	type extent struct{ from, to uint64 }
	var owned []extent
	for _, t := range chain {
		from := textOff + uint64(t.Offset)
		owned = append(owned, extent{from, from + 4*uint64(t.Words)})
	}
	slices.SortFunc(owned, func(a, b extent) int { return int(int64(a.from) - int64(b.from)) })
	owned = append(owned, extent{uint64(len(file)), uint64(len(file))})
	d.out.WriteByte('\n')
	at := uint64(0)
	for _, o := range owned {
		d.bytes(file, at, o.from)
		at = max(at, o.to)
	}
}

// bytes writes file[from:to] in lines of 32 bytes, without those that are zero.
func (d *disassembler) bytes(file []byte, from, to uint64) {
	const width = 32
	for at := from; at < to; {
		n := min(width-at%width, to-at)
		if b := file[at : at+n]; len(bytes.TrimLeft(b, "\x00")) > 0 {
			fmt.Fprintf(&d.out, ".at %s %x\n", hex(at), b)
		}
		at += n
	}
}

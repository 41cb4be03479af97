package asm

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"anesim/hw/regs"
	"anesim/loader"
)

// Disassemble is a program as text. Assembling it gives the program's bytes again.
func Disassemble(p *loader.Program) ([]byte, error) {
	var b bytes.Buffer
	if err := Write(&b, p); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Write writes a program as text, descriptor by descriptor.
func Write(w io.Writer, p *loader.Program) error {
	if p.Form == loader.FormRegisters || p.Subtype != loader.SubtypeM1 {
		return &loader.UnsupportedError{Form: string(p.Form), What: "descriptor text spells version 7 descriptors"}
	}
	d := &disassembler{out: bufio.NewWriter(w)}
	for r := range regs.HeaderRegisters() {
		d.header = append(d.header, r)
	}
	d.about(p)
	file, textOff := p.Text, p.TextOffset()
	if p.Form != loader.FormText {
		file = p.Bytes()
		fmt.Fprintf(d.out, ".container %s %s\n", hex(uint64(len(file))), hex(textOff))
	}
	owned, err := d.chain(p)
	if err != nil {
		return err
	}
	if p.Form == loader.FormText && d.end < uint64(len(p.Text)) {
		fmt.Fprintf(d.out, "\n.size %s\n", hex(uint64(len(p.Text))))
	}
	d.rest(file, textOff, owned)
	return d.out.Flush()
}

// chain writes the descriptors and returns where in the text they stand.
func (d *disassembler) chain(p *loader.Program) (owned []extent, err error) {
	words, stop := iter.Pull2(p.Describe())
	defer stop()
	var held *regs.Descriptor // waits for the next, whose place and size it may leave out
	for t, err := range p.Descriptors() {
		if err != nil {
			return nil, err
		}
		if held != nil {
			if err := d.described(held, t, words); err != nil {
				return nil, err
			}
		}
		owned = append(owned, extent{uint64(t.Offset), uint64(t.Offset) + 4*uint64(t.Words)})
		held = t
	}
	return owned, d.described(held, nil, words)
}

// described writes a descriptor below what it computes.
func (d *disassembler) described(t, next *regs.Descriptor, words func() (*loader.Description, error, bool)) error {
	w, err, _ := words()
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\n# %d: %s\n", t.Index, w.Operation)
	for label, text := range w.Lines() {
		fmt.Fprintf(d.out, "#   %-8s %s\n", label, text)
	}
	d.task(t, next)
	return nil
}

// An extent is a run of bytes.
type extent struct{ from, to uint64 }

func roundUp(n uint64) uint64 { return (n + regs.Alignment - 1) &^ (regs.Alignment - 1) }

// A disassembler writes a text.
type disassembler struct {
	out    *bufio.Writer // whose error shows when it is flushed
	header []regs.Register
	end    uint64 // of the descriptors so far
}

// about says in comments what the text cannot: name, form, ports.
func (d *disassembler) about(p *loader.Program) {
	fmt.Fprintf(d.out, "# %s: %s\n", comment(p.Name), p.Form)
	for i := range p.Ports {
		q := &p.Ports[i]
		fmt.Fprintf(d.out, "# %v %s: b%d, %dx%dx%dx%d\n", q.Direction, comment(q.Name), q.BAR, q.Shape[0], q.Shape[1], q.Shape[2], q.Shape[3])
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

// task writes a descriptor; next is the one behind it, or nil.
func (d *disassembler) task(t, next *regs.Descriptor) {
	if uint64(t.Offset) == roundUp(d.end) {
		d.out.WriteString(".td\n")
	} else {
		fmt.Fprintf(d.out, ".td @%s\n", hex(uint64(t.Offset)))
	}
	d.end = max(d.end, uint64(t.Offset)+4*uint64(t.Words))
	words := (&regs.Descriptor{Header: t.Header}).Append(nil)
	for i := range d.header {
		r := &d.header[i]
		w := uint32(words[4*i]) | uint32(words[4*i+1])<<8 | uint32(words[4*i+2])<<16 | uint32(words[4*i+3])<<24
		d.headerWord(r, w, next)
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
func (d *disassembler) headerWord(r *regs.Register, w uint32, behind *regs.Descriptor) {
	var next, size uint32
	if behind != nil {
		next, size = behind.Offset, uint32(behind.Words-1)
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
	fmt.Fprintf(d.out, "%-30s %s\n", name, text)
}

// write writes a record's registers: equal neighbours of an array on one line, and
// offsets in equal steps.
func (d *disassembler) write(rec *regs.Record) {
	for i := 0; i < len(rec.Values); {
		r, ok := regs.RegisterAt(rec.Addr + 4*uint32(i))
		if !ok { // no window has such a register; the walk would have refused it
			d.line(fmt.Sprintf("%#x", rec.Addr+4*uint32(i)), hex(uint64(rec.Values[i])))
			i++
			continue
		}
		n, step := run(rec, i, &r)
		name, text := r.Block+"."+r.Name, fields(&r, rec.Values[i])
		if n > 1 {
			base, first, _ := strings.Cut(name, "[")
			end, _ := regs.RegisterAt(rec.Addr + 4*uint32(i+n-1))
			_, last, _ := strings.Cut(end.Name, "[")
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
func run(rec *regs.Record, i int, r *regs.Register) (n int, step uint32) {
	array, _, ok := strings.Cut(r.Name, "[")
	if !ok {
		return 1, 0
	}
	same := func(j int) bool {
		q, ok := regs.RegisterAt(rec.Addr + 4*uint32(j))
		return ok && q.Block == r.Block && strings.HasPrefix(q.Name, array+"[")
	}
	for n = 1; i+n < len(rec.Values) && same(i+n) && rec.Values[i+n] == rec.Values[i]; n++ {
	}
	if n > 1 || !r.Sole() || i+2 >= len(rec.Values) {
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
func (d *disassembler) rest(file []byte, textOff uint64, owned []extent) {
	slices.SortFunc(owned, func(a, b extent) int { return cmp.Compare(a.from, b.from) })
	d.out.WriteByte('\n')
	at := uint64(0)
	for _, o := range owned {
		d.bytes(file, at, textOff+o.from)
		at = max(at, textOff+o.to)
	}
	d.bytes(file, at, uint64(len(file)))
}

// bytes writes file[from:to] in lines of 32 bytes, without those that are zero.
func (d *disassembler) bytes(file []byte, from, to uint64) {
	const width = 32
	for at := from; at < to; {
		n := min(width-at%width, to-at)
		if b := file[at : at+n]; len(bytes.TrimLeft(b, "\x00")) > 0 {
			fmt.Fprintf(d.out, ".at %s %x\n", hex(at), b)
		}
		at += n
	}
}

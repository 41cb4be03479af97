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
	"anesim/loader/describe"
)

// Disassemble returns program p as descriptor text. [Assemble] turns the text back into the same
// bytes. Disassemble returns a *[loader.UnsupportedError] if p holds captured registers, is for a
// chip other than the M1, or was read with [loader.Options.InFile].
func Disassemble(p *loader.Program) ([]byte, error) {
	var b bytes.Buffer
	if err := Write(&b, p); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Write writes program p to w as descriptor text, one descriptor at a time. The text is the same as
// that of [Disassemble]. Write fails in the same cases as Disassemble, and also returns any error
// from w.
func Write(w io.Writer, p *loader.Program) error {
	if p.Form == loader.FormRegisters || p.Subtype != loader.SubtypeM1 {
		return &loader.UnsupportedError{Form: string(p.Form), What: "unsupported by descriptor text, which describes version 7 descriptors only"}
	}
	if p.TextFile != nil {
		return &loader.UnsupportedError{Form: string(p.Form), What: "cannot disassemble a program that was read with the option InFile"}
	}
	d := &disassembler{out: bufio.NewWriter(w)}
	for r := range regs.HeaderRegisters() {
		d.header = append(d.header, r)
	}
	d.writeProgramComments(p)
	file, textOff := p.Text, p.TextOffset()
	if p.Form != loader.FormText {
		file = p.Bytes()
		fmt.Fprintf(d.out, ".container %s %s\n", formatHex(uint64(len(file))), formatHex(textOff))
	}
	owned, err := d.writeChain(p)
	if err != nil {
		return err
	}
	if p.Form == loader.FormText && d.end < uint64(len(p.Text)) {
		fmt.Fprintf(d.out, "\n.size %s\n", formatHex(uint64(len(p.Text))))
	}
	d.writeRemainingBytes(file, textOff, owned)
	return d.out.Flush()
}

// writeChain writes all descriptors, and returns the ranges of bytes that they occupy in
// the text.
func (d *disassembler) writeChain(p *loader.Program) (owned []extent, err error) {
	words, stop := iter.Pull2(p.Describe())
	defer stop()
	var held *regs.Descriptor // held back because its offset and size pointers depend on the next one
	for t, err := range p.Descriptors() {
		if err != nil {
			return nil, err
		}
		if held != nil {
			if err := d.writeDescribedTask(held, t, words); err != nil {
				return nil, err
			}
		}
		owned = append(owned, extent{uint64(t.Offset), uint64(t.Offset) + 4*uint64(t.Words)})
		held = t
	}
	return owned, d.writeDescribedTask(held, nil, words)
}

// writeDescribedTask writes descriptor t, preceded by its description as a comment. The function
// words must return the description of t. next is the following descriptor, or nil if t is the
// last.
func (d *disassembler) writeDescribedTask(t, next *regs.Descriptor, words func() (*describe.Description, error, bool)) error {
	w, err, _ := words()
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\n# %d: %s\n", t.Index, w.Operation)
	for label, text := range w.Lines() {
		fmt.Fprintf(d.out, "#   %-8s %s\n", label, text)
	}
	d.writeTask(t, next)
	return nil
}

// An extent is a range of bytes.
type extent struct{ from, to uint64 }

func alignUp(n uint64) uint64 { return (n + regs.Alignment - 1) &^ (regs.Alignment - 1) }

// A disassembler writes a program as descriptor text.
type disassembler struct {
	out    *bufio.Writer // errors are reported by Flush
	header []regs.Register
	end    uint64 // end of the descriptors written so far
}

// writeProgramComments writes comments with properties that descriptor text cannot express: the
// name and form of the program, and its ports.
func (d *disassembler) writeProgramComments(p *loader.Program) {
	fmt.Fprintf(d.out, "# %s: %s\n", sanitizeComment(p.Name), p.Form)
	for i := range p.Ports {
		q := &p.Ports[i]
		fmt.Fprintf(d.out, "# %v %s: b%d, %dx%dx%dx%d\n", q.Direction, sanitizeComment(q.Name), q.BAR, q.Shape[0], q.Shape[1], q.Shape[2], q.Shape[3])
	}
}

// sanitizeComment returns s with control characters replaced, so that a comment stays on
// one line.
func sanitizeComment(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return '?'
		}
		return r
	}, s)
}

// writeTask writes descriptor t. next is the following descriptor, or nil if t is the last.
func (d *disassembler) writeTask(t, next *regs.Descriptor) {
	if uint64(t.Offset) == alignUp(d.end) {
		d.out.WriteString(".td\n")
	} else {
		fmt.Fprintf(d.out, ".td @%s\n", formatHex(uint64(t.Offset)))
	}
	d.end = max(d.end, uint64(t.Offset)+4*uint64(t.Words))
	words := (&regs.Descriptor{Header: t.Header}).Append(nil)
	for i := range d.header {
		r := &d.header[i]
		w := uint32(words[4*i]) | uint32(words[4*i+1])<<8 | uint32(words[4*i+2])<<16 | uint32(words[4*i+3])<<24
		d.writeHeaderWord(r, w, next)
	}
	if t.Extended && t.Extra != 0 {
		d.writeLine("Header.Extra", formatHex(uint64(t.Extra)))
	}
	var last *regs.Record
	for i := range t.Records {
		rec := &t.Records[i]
		if last != nil && len(last.Values) < maxRecord && last.Addr+4*uint32(len(last.Values)) == rec.Addr {
			d.out.WriteString(".record\n")
		}
		d.writeRecord(rec)
		last = rec
	}
}

// writeHeaderWord writes w, the value of header word r of a descriptor. It leaves out values that
// the assembler computes from the following descriptor, which is nil if there is none.
func (d *disassembler) writeHeaderWord(r *regs.Register, w uint32, following *regs.Descriptor) {
	var next, size uint32
	if following != nil {
		next, size = following.Offset, uint32(following.Words-1)
	}
	text := ""
	switch r.Name {
	case "Next":
		if w == next {
			return
		}
		if w == 0 {
			// The assembler would fill in the offset of the following descriptor, so a zero in its place
			// has to be written.
			text = "word=0"
		}
	case "Timing":
		f, _ := r.Field("NextSize")
		// The fields of this word are separate: the size is left out if the assembler computes the same,
		// and the rest is written all the same.
		if f.Of(w) == size {
			w = f.With(w, 0)
		} else if f.Of(w) == 0 {
			text = "NextSize=0"
			if rest := formatFields(r, w); rest != "0" {
				text = rest + " " + text
			}
		}
	}
	if text == "" {
		if w == 0 {
			return
		}
		text = formatFields(r, w)
	}
	d.writeLine("Header."+r.Name, text)
}

func (d *disassembler) writeLine(name, text string) {
	fmt.Fprintf(d.out, "%-30s %s\n", name, text)
}

// writeRecord writes the registers of a record. Adjacent registers of an array share a line
// if their values are equal or rise in equal steps.
func (d *disassembler) writeRecord(rec *regs.Record) {
	for i := 0; i < len(rec.Values); {
		r, ok := regs.RegisterAt(rec.Addr + 4*uint32(i))
		if !ok { // cannot happen: the chain was checked for such registers
			d.writeLine(fmt.Sprintf("%#x", rec.Addr+4*uint32(i)), formatHex(uint64(rec.Values[i])))
			i++
			continue
		}
		n, step := countRegistersOnLine(rec, i, &r)
		name, text := r.Block+"."+r.Name, formatFields(&r, rec.Values[i])
		if n > 1 {
			base, first, _ := strings.Cut(name, "[")
			end, _ := regs.RegisterAt(rec.Addr + 4*uint32(i+n-1))
			_, last, _ := strings.Cut(end.Name, "[")
			name = base + "[" + strings.TrimSuffix(first, "]") + "-" + last
			if step != 0 {
				text += " step " + formatHex(uint64(step))
			}
		}
		d.writeLine(name, text)
		i += n
	}
}

// countRegistersOnLine returns the number of registers, starting with that of rec.Values[i], that can
// share a line of text, and the step in bytes from each value to the next.
func countRegistersOnLine(rec *regs.Record, i int, r *regs.Register) (n int, step uint32) {
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

// writeRemainingBytes writes the nonzero bytes of the file that are not in any of the
// ranges owned.
func (d *disassembler) writeRemainingBytes(file []byte, textOff uint64, owned []extent) {
	slices.SortFunc(owned, func(a, b extent) int { return cmp.Compare(a.from, b.from) })
	d.out.WriteByte('\n')
	at := uint64(0)
	for _, o := range owned {
		d.writeBytes(file, at, textOff+o.from)
		at = max(at, textOff+o.to)
	}
	d.writeBytes(file, at, uint64(len(file)))
}

// writeBytes writes the bytes from offset from to offset to of the file as .at lines of at
// most 32 bytes. It omits lines of zeros.
func (d *disassembler) writeBytes(file []byte, from, to uint64) {
	const width = 32
	for at := from; at < to; {
		n := min(width-at%width, to-at)
		if b := file[at : at+n]; len(bytes.TrimLeft(b, "\x00")) > 0 {
			fmt.Fprintf(d.out, ".at %s %x\n", formatHex(at), b)
		}
		at += n
	}
}

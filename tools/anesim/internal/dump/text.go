package dump

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"anesim/bench/report"
	"anesim/hw/regs"
	"anesim/loader"
	"anesim/tools/anesim/internal/terminal"
)

func (d *dumper) printf(format string, args ...any) { fmt.Fprintf(d.w, format, args...) }

// table prints a table; an error of the writer shows when it is flushed.
func (d *dumper) table(t *terminal.Table) { t.Print(d.w, terminal.Gap) }

func (d *dumper) writeText() error {
	if d.p.Form == loader.FormRegisters {
		d.captured()
		return nil
	}
	d.summary()
	if d.p.Subtype != loader.SubtypeM1 {
		d.printf("\nThe text of this generation is not known: the model reads that of subtype %d, %v.\n", uint32(loader.SubtypeM1), loader.SubtypeM1)
		return nil
	}
	for desc, err := range d.descriptors() {
		if err != nil {
			return err
		}
		d.descriptor(desc)
	}
	return nil
}

func (d *dumper) summary() {
	p := d.p
	d.printf("%s: ", legible(p.Name))
	if p.Form == loader.FormContainer {
		d.printf("container for %s (subtype %d)", p.Subtype, uint32(p.Subtype))
		if b := &p.Banner; b.Compiler != "" {
			d.printf(", compiled for %s by %s %s", legible(cmp.Or(b.Target, "?")), legible(b.Compiler), legible(b.Version))
		}
	} else if p.Form != loader.FormText {
		d.printf("%s of %s", map[loader.Form]string{
			loader.FormANEC: "program in the Linux driver's form (.anec)", loader.FormFirmware: "firmware container",
		}[p.Form], report.Plural(p.TaskCount, "descriptor"))
	} else {
		d.printf("bare text of %#x bytes, ", len(p.Text))
		if len(p.Segments) == 0 {
			d.printf("its memory not to be laid out from its descriptors\n")
			return
		}
		d.printf("its memory laid out from its descriptors")
	}
	d.printf("\n\nmemory\n")
	var memory, ports terminal.Table
	for i := range p.Segments {
		s := &p.Segments[i]
		memory.Add(legible(s.String()), hex(s.Addr), hex(s.Size)+" bytes", protection(s.Prot), d.bufferAt(s.Addr))
	}
	d.table(&memory)
	d.printf("\nports\n")
	for i := range p.Ports {
		q := &p.Ports[i]
		ports.Add(q.Direction.String(), legible(q.Name), joined(q.Shape, "x"), "strides "+joined(q.Strides, " "), hex(q.Address), hex(q.Bytes)+" bytes", buffer(q.BAR))
	}
	d.table(&ports)
	if p.Form == loader.FormContainer {
		d.printf("\n%s\n", d.counts())
	}
}

// counts says how much of the rest the container has.
func (d *dumper) counts() string {
	live := 0
	for _, t := range d.p.Tiles {
		if t.Live {
			live++
		}
	}
	tiles := report.Plural(live, "weight tile")
	if empty := len(d.p.Tiles) - live; empty > 0 {
		tiles += fmt.Sprintf(" and %d empty", empty)
	}
	relocations := report.Plural(len(d.p.Relocations), "relocation")
	if r := d.p.Relocations; len(r) > 0 {
		var kinds []string
		for i := range r {
			kinds = append(kinds, r[i].Kind.String())
		}
		slices.Sort(kinds)
		relocations += " (" + strings.Join(slices.Compact(kinds), ", ") + ")"
	}
	return strings.Join([]string{
		report.Plural(d.p.TaskCount, "descriptor"), tiles, relocations,
		report.Plural(len(d.p.Symbols), "symbol"), report.Plural(len(d.p.Types), "element type"),
	}, ", ")
}

func (d *dumper) descriptor(desc described) {
	h := &desc.Header
	d.printf("\ndescriptor %d: %s\n", desc.Index, desc.words.Operation)
	for label, text := range desc.words.Lines() {
		d.printf("  %-8s %s\n", label, text)
	}
	d.printf("\n  at %#x: %d words, TID %d, ExeCycles %d, events %#x, %s to %s\n",
		desc.Offset, desc.Words, h.Task.TID(), h.Timing.ExeCycles(), h.LogEvents.LogEvents(),
		place(h.Control.SrcLoc()), place(h.Control.DstLoc()))
	if b := d.buffers(h); b != "" {
		d.printf("  buffers: %s\n", b)
	}
	if desc.Extended {
		d.printf("  extra header word %#x\n", desc.Extra)
	}
	d.group("Header", header(desc.Descriptor))
	words := written(desc.Descriptor)
	for len(words) > 0 {
		block := words[0].reg.Block
		var mine, rest []registerWord
		for _, w := range words {
			if w.reg.Block == block {
				mine = append(mine, w)
			} else {
				rest = append(rest, w)
			}
		}
		d.group(block, mine)
		words = rest
	}
}

// buffers lists the buffers that the header turns on.
func (d *dumper) buffers(h *regs.Header) string {
	b, k := h.Bases, h.KernelBases
	var list []string
	for _, u := range [...]struct {
		name string
		on   bool
		bar  uint32
	}{
		{"source 1", b.RBE0(), b.RBase0()},
		{"source 2", b.RBE1(), b.RBase1()},
		{"result", b.WBE(), b.WBase()},
		{"TBase", b.TBE(), b.TBase()},
		{"kernel", k.KBE0(), k.KBase0()},
		{"kernel 1", k.KBE1(), k.KBase1()},
		{"kernel 2", k.KBE2(), k.KBase2()},
		{"kernel 3", k.KBE3(), k.KBase3()},
	} {
		if u.on {
			list = append(list, u.name+" "+buffer(int(u.bar))+d.portOf(int(u.bar)))
		}
	}
	return strings.Join(list, ", ")
}

// portOf names the port behind a buffer when it has a name of its own.
func (d *dumper) portOf(bar int) string {
	for i := range d.p.Ports {
		if p := &d.p.Ports[i]; p.BAR == bar && p.Name != buffer(bar) {
			return " (" + legible(p.Name) + ")"
		}
	}
	return ""
}

// group prints registers of one block: a line each, then the zeros and the absent.
func (d *dumper) group(block string, words []registerWord) {
	var lines []run
	var zeros []string
	idle := !d.all && !slices.ContainsFunc(words, func(w registerWord) bool { return w.word != 0 })
	for _, r := range runs(words) {
		if idle || !d.all && r.zero() {
			zeros = append(zeros, r.name())
			continue
		}
		lines = append(lines, r)
	}
	d.printf("  %s\n", block)
	width := 0
	for _, r := range lines {
		width = max(width, len(r.name()))
	}
	for _, r := range lines {
		d.printf("    %-*s  %s\n", width, r.name(), r.text(d.all))
	}
	d.list("zero", zeros)
	d.list("not written", d.absent(block, words))
}

// absent names the registers of a block that words leave out.
func (d *dumper) absent(block string, words []registerWord) []string {
	there := make(map[int]bool)
	for _, w := range words {
		there[w.reg.Word] = true
	}
	var missing []registerWord
	for r := range regs.Registers() {
		if r.Block == block && !there[r.Word] {
			missing = append(missing, registerWord{reg: r})
		}
	}
	var names []string
	for _, r := range runs(missing) {
		names = append(names, r.name())
	}
	return names
}

// lineWidth is where lists of names wrap.
const lineWidth = 100

func (d *dumper) list(what string, names []string) {
	if len(names) == 0 {
		return
	}
	line := "    " + what + ":"
	for i, n := range names {
		if i < len(names)-1 {
			n += ","
		}
		if len(line)+1+len(n) > lineWidth {
			d.printf("%s\n", line)
			line = strings.Repeat(" ", 5)
		}
		line += " " + n
	}
	d.printf("%s\n", line)
}

// captured prints the image of captured registers.
func (d *dumper) captured() {
	words := d.p.Registers.Words()
	d.printf("%s: %s captured, version 10\n\n", legible(d.p.Name), report.Plural(len(words), "register"))
	t := terminal.Words("image", "address", "register", "value")
	for _, w := range words {
		value := fieldText(registerWord{w.Reg, w.Value}, d.all)
		if name := v10Relocation(w.Addr); name != "" {
			value += "; base of " + name + ", filled in by the loader"
		}
		t.Add(fmt.Sprintf("0x%03x", w.Image), fmt.Sprintf("0x%04x", w.Addr), w.Name(), value)
	}
	d.table(t)
	if addresses, err := d.p.Addresses(); err != nil {
		d.printf("\naddresses: %v\n", err)
	} else if len(addresses) > 0 {
		d.printf("\naddresses\n")
		for _, a := range addresses {
			d.printf("  %v\n", a)
		}
	}
	if transfers, err := d.p.Transfers(); err != nil {
		d.printf("\nmoves: %v\n", err)
	} else if len(transfers) > 0 {
		d.printf("\nmoves\n")
		for _, t := range transfers {
			d.printf("  %v\n", t)
		}
	}
	if _, err := d.p.Link(); err != nil {
		d.printf("\n%v\n", err)
	}
}

// bufferAt names the buffer whose address is addr.
func (d *dumper) bufferAt(addr uint64) string {
	for i, a := range d.p.BARs {
		if a != 0 && a == addr {
			return buffer(i)
		}
	}
	return ""
}

func hex(v uint64) string { return fmt.Sprintf("%#x", v) }

func buffer(bar int) string {
	if bar < 0 {
		return ""
	}
	return fmt.Sprintf("b%d", bar)
}

func place(dram bool) string {
	if dram {
		return "DRAM"
	}
	return "L2"
}

func protection(p loader.Protection) string {
	b := []byte("---")
	for i, bit := range [...]loader.Protection{loader.ProtRead, loader.ProtWrite, loader.ProtExec} {
		if p&bit != 0 {
			b[i] = "rwx"[i]
		}
	}
	return string(b)
}

func joined[T any](axes [4]T, separator string) string {
	var parts []string
	for _, v := range axes {
		parts = append(parts, fmt.Sprint(v))
	}
	return strings.Join(parts, separator)
}

// legible is a name from a file without what a terminal would obey.
func legible(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

package dump

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"anesim/hw/regs"
	"anesim/internal/report"
	"anesim/loader"
	"anesim/tools/anesim/internal/terminal"
)

func (d *dumper) printf(format string, args ...any) { fmt.Fprintf(d.w, format, args...) }

// printTable prints a table. Errors of the writer are reported when it is flushed.
func (d *dumper) printTable(t *terminal.Table) { t.Print(d.w, terminal.Gap) }

func (d *dumper) writeText() error {
	if d.p.Form == loader.FormRegisters {
		d.printCaptured()
		return nil
	}
	d.printSummary()
	if d.p.Subtype != loader.SubtypeM1 {
		d.printf("\nDescriptors of this generation are not supported; want subtype %d, %v.\n", uint32(loader.SubtypeM1), loader.SubtypeM1)
		return nil
	}
	for desc, err := range d.describeDescriptors() {
		if err != nil {
			return err
		}
		d.printDescriptor(desc)
	}
	return nil
}

func (d *dumper) printSummary() {
	p := d.p
	d.printf("%s: ", quoteName(p.Name))
	if p.Form == loader.FormContainer {
		d.printf("container for %s (subtype %d)", p.Subtype, uint32(p.Subtype))
		if b := &p.Banner; b.Compiler != "" {
			d.printf(", compiled for %s by %s %s", quoteName(cmp.Or(b.Target, "?")), quoteName(b.Compiler), quoteName(b.Version))
		}
	} else if p.Form != loader.FormText {
		d.printf("%s of %s", map[loader.Form]string{
			loader.FormANEC: "program in the Linux driver's form (.anec)", loader.FormFirmware: "firmware container",
		}[p.Form], report.Plural(p.TaskCount, "descriptor"))
	} else {
		d.printf("bare text of %#x bytes, ", len(p.Text))
		// Memory is laid out from what descriptors read and write. For a chain that does not fit together,
		// the descriptors are still worth printing.
		if len(p.Segments) == 0 {
			d.printf("its memory cannot be laid out from its descriptors\n")
			return
		}
		d.printf("its memory laid out from its descriptors")
	}
	d.printf("\n\nmemory\n")
	var memory, ports terminal.Table
	for i := range p.Segments {
		s := &p.Segments[i]
		memory.Add(quoteName(s.String()), formatAddress(s.Addr), formatAddress(s.Size)+" bytes", formatProtection(s.Prot), d.listBuffers(s))
	}
	d.printTable(&memory)
	d.printf("\nports\n")
	for i := range p.Ports {
		q := &p.Ports[i]
		ports.Add(q.Direction.String(), quoteName(q.Name), joinAxes(q.Shape, "x"), "strides "+joinAxes(q.Strides, " "), formatAddress(q.Address), formatAddress(q.Bytes)+" bytes", bufferLabel(q.BAR))
	}
	d.printTable(&ports)
	if p.Form == loader.FormContainer {
		d.printf("\n%s\n", d.formatCounts())
	}
}

// formatCounts returns text with the numbers of descriptors, weight tiles, relocations, symbols and
// element types in a container.
func (d *dumper) formatCounts() string {
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

func (d *dumper) printDescriptor(desc described) {
	h := &desc.Header
	d.printf("\ndescriptor %d: %s\n", desc.Index, desc.words.Operation)
	for label, text := range desc.words.Lines() {
		d.printf("  %-8s %s\n", label, text)
	}
	d.printf("\n  at %#x: %d words, TID %d, ExeCycles %d, events %#x, %s to %s\n",
		desc.Offset, desc.Words, h.Task.TID(), h.Timing.ExeCycles(), h.LogEvents.LogEvents(),
		memoryName(h.Control.SrcLoc()), memoryName(h.Control.DstLoc()))
	if b := d.formatBuffers(h); b != "" {
		d.printf("  buffers: %s\n", b)
	}
	if desc.Extended {
		d.printf("  extra header word %#x\n", desc.Extra)
	}
	d.printBlock("Header", listHeaderWords(desc.Descriptor))
	// A descriptor may come back to a block after it has written another. Each block is printed once, where it
	// is first written.
	words := listWrittenWords(desc.Descriptor)
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
		d.printBlock(block, mine)
		words = rest
	}
}

// formatBuffers returns the buffers that the header enables, as text.
func (d *dumper) formatBuffers(h *regs.Header) string {
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
			list = append(list, u.name+" "+bufferLabel(int(u.bar))+d.formatPortSuffix(int(u.bar)))
		}
	}
	return strings.Join(list, ", ")
}

// formatPortSuffix returns the name of the port that uses buffer bar, in parentheses, or "" if the
// port has no name of its own.
func (d *dumper) formatPortSuffix(bar int) string {
	for i := range d.p.Ports {
		if p := &d.p.Ports[i]; p.BAR == bar && p.Name != bufferLabel(bar) {
			return " (" + quoteName(p.Name) + ")"
		}
	}
	return ""
}

// printBlock prints the registers of one block, one per line, followed by the names of registers
// that are zero and of registers that are not written.
func (d *dumper) printBlock(block string, words []registerWord) {
	var lines []run
	var zeros []string
	idle := !d.all && !slices.ContainsFunc(words, func(w registerWord) bool { return w.word != 0 })
	for _, r := range groupRuns(words) {
		if idle || !d.all && r.isUnnamedZero() {
			zeros = append(zeros, r.formatName())
			continue
		}
		lines = append(lines, r)
	}
	d.printf("  %s\n", block)
	width := 0
	for _, r := range lines {
		width = max(width, len(r.formatName()))
	}
	for _, r := range lines {
		d.printf("    %-*s  %s\n", width, r.formatName(), r.formatFields(d.all))
	}
	d.printNames("zero", zeros)
	d.printNames("not written", d.listMissingRegisters(block, words))
}

// listMissingRegisters returns the names of the registers of a block that are not in words.
func (d *dumper) listMissingRegisters(block string, words []registerWord) []string {
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
	for _, r := range groupRuns(missing) {
		names = append(names, r.formatName())
	}
	return names
}

// lineWidth is the width at which lists of names wrap.
const lineWidth = 100

func (d *dumper) printNames(what string, names []string) {
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

// printCaptured prints captured registers and the transfers that they describe.
func (d *dumper) printCaptured() {
	words := d.p.Registers.Words()
	d.printf("%s: %s captured, version 10\n\n", quoteName(d.p.Name), report.Plural(len(words), "register"))
	t := terminal.Words("image", "address", "register", "value")
	for _, w := range words {
		value := formatFields(registerWord{w.Reg, w.Value}, d.all)
		if name := v10BaseName(w.Addr); name != "" {
			value += "; base of " + name + ", filled in by the loader"
		}
		t.Add(fmt.Sprintf("0x%03x", w.Image), fmt.Sprintf("0x%04x", w.Addr), w.Name(), value)
	}
	d.printTable(t)
	// Each part is printed as far as it can be computed: whoever looks at a capture wants to see where
	// it stops to make sense.
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
	// Linking refuses this form; its error says what is missing to run it.
	if _, err := d.p.Link(); err != nil {
		d.printf("\n%v\n", err)
	}
}

// listBuffers returns the names of the buffers that begin in segment s, the one at its start first.
// A buffer further back has its offset.
func (d *dumper) listBuffers(s *loader.Segment) string {
	var first, others string
	for i, a := range d.p.BARs {
		switch {
		case a == 0 || a < s.Addr || a >= s.End():
		case a == s.Addr && first == "":
			first = bufferLabel(i)
		case a > s.Addr && s.IsWeights():
			others += fmt.Sprintf("  %s at %#x", bufferLabel(i), a-s.Addr)
		}
	}
	return first + others
}

func formatAddress(v uint64) string { return fmt.Sprintf("%#x", v) }

func bufferLabel(bar int) string {
	if bar < 0 {
		return ""
	}
	return fmt.Sprintf("b%d", bar)
}

func memoryName(dram bool) string {
	if dram {
		return "DRAM"
	}
	return "L2"
}

func formatProtection(p loader.Protection) string {
	b := []byte("---")
	for i, bit := range [...]loader.Protection{loader.ProtRead, loader.ProtWrite, loader.ProtExec} {
		if p&bit != 0 {
			b[i] = "rwx"[i]
		}
	}
	return string(b)
}

func joinAxes[T any](axes [4]T, separator string) string {
	var parts []string
	for _, v := range axes {
		parts = append(parts, fmt.Sprint(v))
	}
	return strings.Join(parts, separator)
}

// quoteName returns s, in quotes if it has unprintable characters such as terminal escapes.
func quoteName(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

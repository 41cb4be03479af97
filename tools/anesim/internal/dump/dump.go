package dump

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"strings"

	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/describe"
)

// Options selects the format and the level of detail of the output of [Write] and [WriteDispatch].
type Options struct {
	All  bool // print fields and registers that are zero, too
	JSON bool
}

// Write prints the program p as text, or as JSON if o.JSON is true.
func Write(w io.Writer, p *loader.Program, o Options) error {
	b := bufio.NewWriter(w)
	d := &dumper{b, p, o.All}
	write := d.writeText
	if o.JSON {
		write = d.writeJSON
	}
	if err := write(); err != nil {
		return err
	}
	return b.Flush()
}

// Registers describes the registers that a program writes. It returns a text for each descriptor,
// with a line for each register.
func Registers(p *loader.Program) ([]string, error) {
	var list []string
	for desc, err := range p.Descriptors() {
		if err != nil {
			return nil, err
		}
		var b strings.Builder
		fmt.Fprintf(&b, "registers of descriptor %d, at byte %#x\n", desc.Index, desc.Offset)
		for _, w := range listWrittenWords(desc) {
			fmt.Fprintf(&b, "%s.%s = %#x  %s\n", w.reg.Block, w.reg.Name, w.word, formatFields(w, false))
		}
		list = append(list, b.String())
	}
	return list, nil
}

// A dumper prints a program.
type dumper struct {
	w   *bufio.Writer
	p   *loader.Program
	all bool
}

// A described is a descriptor with a phrase that says what it computes.
type described struct {
	*regs.Descriptor
	words *describe.Description
}

// describeDescriptors returns an iterator over the descriptors of the program and their
// descriptions.
func (d *dumper) describeDescriptors() iter.Seq2[described, error] {
	return func(yield func(described, error) bool) {
		words, stop := iter.Pull2(d.p.Describe())
		defer stop()
		for desc, err := range d.p.Descriptors() {
			w, broken, _ := words()
			if !yield(described{desc, w}, cmp.Or(broken, err)) {
				return
			}
		}
	}
}

// A registerWord is a register with the word a descriptor writes to it.
type registerWord struct {
	reg  regs.Register
	word uint32
}

// listHeaderWords returns the words in a descriptor's header, each with its register.
func listHeaderWords(d *regs.Descriptor) []registerWord {
	var words []registerWord
	encoded := (&regs.Descriptor{Header: d.Header}).Append(nil)
	for r := range regs.HeaderRegisters() {
		words = append(words, registerWord{r, binary.LittleEndian.Uint32(encoded[4*r.Word:])})
	}
	return words
}

// listWrittenWords returns the registers that a descriptor writes, in the order in which it writes
// them. A register that is written twice is listed once, at its first position and with its last
// value.
func listWrittenWords(desc *regs.Descriptor) []registerWord {
	var words []registerWord
	at := make(map[uint32]int)
	for _, r := range desc.Records {
		for i, w := range r.Values {
			addr := r.Addr + 4*uint32(i)
			if first, twice := at[addr]; twice {
				words[first].word = w
				continue
			}
			at[addr] = len(words)
			reg, _ := regs.RegisterAt(addr)
			words = append(words, registerWord{reg, w})
		}
	}
	return words
}

package describe

import (
	"cmp"
	"fmt"
	"iter"
	"strings"

	"anesim/hw/regs"
)

// A Description says in words what the task of a descriptor computes, and which tensors and weights
// it reads and writes.
type Description struct {
	Operation string   // such as "3x3 convolution with bias, then ReLU"
	Sources   []string // such as "64 channels of 8x8, input x (b4)"
	Weights   string   // such as "4608 bytes for one engine, the constants (b1)"; empty if it reads no weights
	Result    string   // such as "128 channels of 8x8, L2 at 0x400"
}

// Lines returns an iterator over the lines of d, each a label and a text. There is a line "reads"
// for each source, a line "weights" if the task reads any, and a line "writes" for the result.
func (d *Description) Lines() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, s := range d.Sources {
			if !yield("reads", s) {
				return
			}
		}
		if d.Weights != "" && !yield("weights", d.Weights) {
			return
		}
		yield("writes", d.Result)
	}
}

// String returns the whole description as one line of text.
func (d Description) String() string {
	s := d.Operation + "; reads " + strings.Join(d.Sources, " and ")
	if d.Weights != "" {
		s += "; weights: " + d.Weights
	}
	return s + "; writes " + d.Result
}

// A Ports function returns the name of the port that uses the buffer with index bar, such as "input
// x (b4)", or "" if there is none. If several ports use the buffer, it prefers an output if write
// is true, and an input otherwise.
type Ports func(bar uint32, write bool) string

// Descriptor describes the task that a descriptor sets up. h is the header of the descriptor, g
// holds the values of its registers, and o holds its operands. The function ports finds the names
// of inputs and outputs.
func Descriptor(h *regs.Header, g *regs.Groups, o *regs.Operands, ports Ports) *Description {
	b := h.Bases
	d := &Description{Operation: describeOperation(g, o), Weights: ports.describeWeights(h, g)}
	d.Sources = append(d.Sources, ports.describeOperand(&o.Source1, b.RBE0(), b.RBase0(), false))
	if o.Source2.Used || o.Source2.DRAM {
		d.Sources = append(d.Sources, ports.describeOperand(&o.Source2, b.RBE1(), b.RBase1(), false))
	}
	d.Result = ports.describeOperand(&o.Result, b.WBE(), b.WBase(), true)
	return d
}

// describeOperand returns the shape and the place of operand o in words. The place is an address in
// L2, or memory. Memory is in buffer bar if named is true, and in no known buffer otherwise. write
// is true for the result of a task.
func (f Ports) describeOperand(o *regs.Operand, named bool, bar uint32, write bool) string {
	s := o.Shape
	if o.Transposed {
		s.Channels, s.Width = s.Width, s.Channels
	}
	text := Shape(s)
	if o.Element == 1 {
		text += " of 8 bits"
	}
	if !o.DRAM {
		return fmt.Sprintf("%s, the L2 at %s", text, formatHex(uint64(o.Tile.Base)))
	}
	return text + ", " + f.describeMemory(named, bar, write, o.Base)
}

// Shape describes shape s in words, such as "64 channels of 8x8".
func Shape(s regs.Shape) string {
	text := formatCount(s.Channels, "channel")
	if s.Height > 1 || s.Width > 1 {
		text += fmt.Sprintf(" of %dx%d", s.Height, s.Width)
	}
	if n := s.Planes(); n > 1 {
		text += fmt.Sprintf(" and depth %d", n)
	}
	if s.Groups > 1 {
		text = fmt.Sprintf("%d groups of %s", s.Groups, text)
	}
	return text
}

// describeMemory returns a name for the memory from byte base of buffer bar on: the name of a port,
// the constants or the scratch memory. If named is false, no buffer is known.
func (f Ports) describeMemory(named bool, bar uint32, write bool, base uint32) string {
	text := "memory that no buffer names"
	switch {
	case !named:
	case bar == regs.BARWeights:
		text = "the constants (b1)"
	case bar == regs.BARScratch:
		text = "the scratch memory (b3)"
	default:
		text = fmt.Sprintf("buffer b%d", bar)
		if bar > regs.BARScratch {
			text = cmp.Or(f(bar, write), text)
		}
	}
	if base != 0 {
		text += fmt.Sprintf(" from byte %#x on", base)
	}
	return text
}

// describeWeights returns a phrase that says how many bytes of weights a task reads, for
// how many engines and from where. It returns "" if the task reads none.
func (f Ports) describeWeights(h *regs.Header, g *regs.Groups) string {
	k := &g.KernelDMASrc
	var lanes int
	var total, least, most uint64
	var first uint32
	shared := true
	for i, c := range k.CoeffDMAConfig {
		n, at := uint64(k.CoeffBfrSize[i].Bytes()), k.CoeffBaseAddr[i].Bytes()
		if !c.En() || n == 0 {
			continue
		}
		if lanes == 0 {
			least, first = n, at
		}
		// All engines read the same bytes if the task has an activation table and no weights.
		shared = shared && at == first
		lanes++
		total += n
		least, most = min(least, n), max(most, n)
	}
	if lanes == 0 {
		return ""
	}
	where := f.describeMemory(h.KernelBases.KBE0(), h.KernelBases.KBase0(), false, first)
	switch {
	case lanes == 1:
		return fmt.Sprintf("%s for one engine, %s", formatCount(int(total), "byte"), where)
	case shared && least == most:
		return fmt.Sprintf("%s, the same for all %d engines, %s", formatCount(int(most), "byte"), lanes, where)
	case least == most:
		return fmt.Sprintf("%s, %d for each of %d engines, %s", formatCount(int(total), "byte"), most, lanes, where)
	}
	return fmt.Sprintf("%s, %d to %d for each of %d engines, %s", formatCount(int(total), "byte"), least, most, lanes, where)
}

// formatCount returns the number n followed by noun, with an s appended unless n is 1.
func formatCount(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func formatHex(n uint64) string {
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf("%#x", n)
}

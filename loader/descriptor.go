package loader

import "anesim/hw/regs"

// Events that every descriptor logs, depending on its position in the chain (seen in 104 of
// 104 descriptors).
const (
	logEvents      = 0x400
	logEventsFirst = 0x008
	logEventsLast  = 0x022
)

// NewDescriptor returns a descriptor with header h that writes the registers in g. Like the
// vendor's compiler, it makes one record for each register group. For a task without weights, it
// makes two records for the group KernelDMASrc, to leave out the addresses and sizes of weights.
func NewDescriptor(h regs.Header, g *regs.Groups) *regs.Descriptor {
	windows := regs.V7Windows()
	// One allocation has the descriptor, its records and their words: networks have many descriptors.
	made := &struct {
		regs.Descriptor
		records [len(windows) + 1]regs.Record
		words   [regs.WordsV7]uint32
	}{}
	d, all := &made.Descriptor, made.words[:0]
	d.Header, d.Records = h, made.records[:0]
	for _, w := range windows {
		first := len(all)
		switch w.Group {
		case "G0":
			a := g.KernelDMASrc.Words()
			all = append(all, a[:]...)
			if !g.KernelOn() {
				const head, tail = 18, 50
				d.Records = append(d.Records, regs.Record{Addr: w.Base, Values: all[:head:head]})
				w.Base, first = w.Base+4*tail, tail
			}
		case "G1":
			a := g.Common.Words()
			all = append(all, a[:]...)
		case "G2":
			a := g.TileDMASrc.Words()
			all = append(all, a[:]...)
		case "G3":
			a := g.L2.Words()
			all = append(all, a[:]...)
		case "G4":
			a := g.PE.Words()
			all = append(all, a[:]...)
		case "G5":
			a := g.NE.Words()
			all = append(all, a[:]...)
		case "G6":
			a := g.TileDMADst.Words()
			all = append(all, a[:]...)
		}
		d.Records = append(d.Records, regs.Record{Addr: w.Base, Values: all[first:len(all):len(all)]})
	}
	d.Words = regs.HeaderWords
	if h.IsExtended() { // the kernel is a scratch surface: the header has an extra word, 0
		d.Extended = true
		d.Words++
	}
	for _, r := range d.Records {
		d.Words += 1 + len(r.Values)
	}
	return d
}

// Sequence links descriptors into a chain in the given order and returns them. It sets their
// offsets, which are multiples of 0x100, and the header fields that depend on the order. These are
// the task number, the offset and size of the next descriptor, the marks of the first and last
// task, and the logged events.
func Sequence(chain ...*regs.Descriptor) []*regs.Descriptor {
	off := uint32(0)
	for i, d := range chain {
		last := i == len(chain)-1
		d.Index, d.Offset = i, off
		events := uint32(logEvents)
		if i == 0 {
			events |= logEventsFirst
		}
		if last {
			events |= logEventsLast
		}
		h := &d.Header
		h.Task = h.Task.WithTID(uint32(i)).WithLNID(i > 0).WithEON(last)
		h.LogEvents = h.LogEvents.WithLogEvents(events)
		h.Next, h.Timing = 0, h.Timing.WithNextSize(0)
		if !last {
			off = uint32(roundUpTo(uint64(off)+4*uint64(d.Words), regs.Alignment))
			h.Next = h.Next.WithNextPointer(off)
			h.Timing = h.Timing.WithNextSize(uint32(chain[i+1].Words - 1))
		}
	}
	return chain
}

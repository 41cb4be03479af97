package bench

import (
	"bytes"

	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/lower"
)

// LongChain returns a program for tests of long programs. It adds two tensors n times, with one
// descriptor per addition. Only the first descriptor writes all registers. All task numbers are 0,
// because a task number has only 16 bits.
func LongChain(n int) (*loader.Program, error) {
	b, err := lower.Example("add")
	if err != nil {
		return nil, err
	}
	p, err := loader.Read("add.hwx", bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	var first regs.Descriptor
	for d, err := range p.Descriptors() {
		if err != nil {
			return nil, err
		}
		first = *d
	}
	next := first
	// Registers keep their values from task to task, so a descriptor with one record does the same work
	// again.
	next.Records = first.Records[:1]
	next.Words = regs.HeaderWords + 1 + len(first.Records[0].Values)
	next.Header.Timing = next.Header.Timing.WithNextSize(uint32(next.Words - 1))
	first.Header.Timing = next.Header.Timing
	text := make([]byte, 0, 4*first.Words+(n+1)*regs.Alignment)
	for i := range n {
		d := &next
		if i == 0 {
			d = &first
		}
		end := (len(text) + 4*d.Words + regs.Alignment - 1) / regs.Alignment * regs.Alignment
		d.Header.Next = d.Header.Next.WithNextPointer(uint32(end))
		if i == n-1 {
			d.Header.Next, d.Header.Timing = 0, d.Header.Timing.WithNextSize(0)
		}
		text = d.Append(text)
		text = text[:end]
	}
	p.Text, p.TaskCount = text, n
	return p, nil
}

package hw

import (
	"iter"

	"anesim/hw/clock"
)

// Accounting gives every engine cycle of a descriptor one cause. In JSON it has the names
// of the causes.
type Accounting struct {
	Compute      clock.Cycles `json:"compute"`
	InputStall   clock.Cycles `json:"input_stall"`  // waiting for the tile DMA's source
	OutputStall  clock.Cycles `json:"output_stall"` // waiting for the tile DMA to take results
	KernelStall  clock.Cycles `json:"kernel_stall"` // waiting for coefficients
	Throttle     clock.Cycles `json:"throttle"`
	L2ReadStall  clock.Cycles `json:"l2_read_stall"`
	L2WriteStall clock.Cycles `json:"l2_write_stall"`
	Overhead     clock.Cycles `json:"overhead"` // descriptor fetch and start
	Idle         clock.Cycles `json:"idle"`
}

// A Cause is what an engine cycle went to.
type Cause uint8

// The causes, in the order of reports.
const (
	CauseCompute Cause = iota
	CauseInputStall
	CauseOutputStall
	CauseKernelStall
	CauseThrottle
	CauseL2ReadStall
	CauseL2WriteStall
	CauseOverhead
	CauseIdle
	NumCauses
)

var causeNames = [NumCauses]string{
	"compute", "input_stall", "output_stall", "kernel_stall", "throttle",
	"l2_read_stall", "l2_write_stall", "overhead", "idle",
}

// String is the cause's name in files.
func (c Cause) String() string { return causeNames[c] }

// Of is the cycles of a cause.
func (a *Accounting) Of(c Cause) *clock.Cycles {
	switch c {
	case CauseCompute:
		return &a.Compute
	case CauseInputStall:
		return &a.InputStall
	case CauseOutputStall:
		return &a.OutputStall
	case CauseKernelStall:
		return &a.KernelStall
	case CauseThrottle:
		return &a.Throttle
	case CauseL2ReadStall:
		return &a.L2ReadStall
	case CauseL2WriteStall:
		return &a.L2WriteStall
	case CauseOverhead:
		return &a.Overhead
	}
	return &a.Idle
}

// All yields the cycles by cause, in order.
func (a *Accounting) All() iter.Seq2[Cause, clock.Cycles] {
	return func(yield func(Cause, clock.Cycles) bool) {
		for c := range NumCauses {
			if !yield(c, *a.Of(c)) {
				return
			}
		}
	}
}

// Total is the descriptor's cycles.
func (a *Accounting) Total() clock.Cycles {
	// Written out because timing asks for it often; a test holds it to All.
	return a.Compute + a.InputStall + a.OutputStall + a.KernelStall + a.Throttle +
		a.L2ReadStall + a.L2WriteStall + a.Overhead + a.Idle
}

// Add adds another descriptor's cycles, cause by cause.
func (a *Accounting) Add(b *Accounting) {
	for c := range NumCauses {
		*a.Of(c) += *b.Of(c)
	}
}

// Bound names the cause with the most cycles: what to relieve first. Of equal causes it is
// the first of computing, coefficients, source, result, the L2, throttling and overhead.
func (a *Accounting) Bound() string {
	most := CauseCompute
	for _, c := range [...]Cause{
		CauseKernelStall, CauseInputStall, CauseOutputStall, CauseL2ReadStall, CauseL2WriteStall, CauseThrottle, CauseOverhead, CauseIdle,
	} {
		if *a.Of(c) > *a.Of(most) {
			most = c
		}
	}
	return most.String()
}

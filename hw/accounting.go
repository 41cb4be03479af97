package hw

import (
	"iter"

	"anesim/hw/clock"
)

// An Accounting counts the engine cycles of one descriptor by cause, such as computing or waiting
// for weights. Every cycle is counted under exactly one cause. The JSON key of each field is the
// cause's name.
type Accounting struct {
	Compute      clock.Cycles `json:"compute"`
	InputStall   clock.Cycles `json:"input_stall"`  // waiting for the tile DMA to read the source
	OutputStall  clock.Cycles `json:"output_stall"` // waiting for the tile DMA to write results
	KernelStall  clock.Cycles `json:"kernel_stall"` // waiting for weights
	Throttle     clock.Cycles `json:"throttle"`
	L2ReadStall  clock.Cycles `json:"l2_read_stall"`
	L2WriteStall clock.Cycles `json:"l2_write_stall"`
	Overhead     clock.Cycles `json:"overhead"` // descriptor fetch and start
	Idle         clock.Cycles `json:"idle"`
}

// A Cause is a reason why the engine spends cycles, such as computing or waiting for weights.
type Cause uint8

// Causes, in the order in which reports print them.
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

// String returns the name of the cause as reports spell it, such as "input_stall".
func (c Cause) String() string { return causeNames[c] }

// Of returns a pointer to the number of cycles counted under cause c. For an unknown cause, it
// returns a pointer to the idle cycles.
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

// All returns an iterator over all causes and their cycles, including causes with no cycles, in the
// order of the constants.
func (a *Accounting) All() iter.Seq2[Cause, clock.Cycles] {
	return func(yield func(Cause, clock.Cycles) bool) {
		for c := range NumCauses {
			if !yield(c, *a.Of(c)) {
				return
			}
		}
	}
}

// Total returns the number of cycles counted under all causes together.
func (a *Accounting) Total() clock.Cycles {
	// The sum is written out because timing needs it often. A test compares it with All.
	return a.Compute + a.InputStall + a.OutputStall + a.KernelStall + a.Throttle +
		a.L2ReadStall + a.L2WriteStall + a.Overhead + a.Idle
}

// AddRuns adds n times the cycles of b to a, cause by cause.
func (a *Accounting) AddRuns(b *Accounting, n int) {
	for cause, cycles := range b.All() {
		*a.Of(cause) += clock.Cycles(n) * cycles
	}
}

// Add adds the cycles of b to a, cause by cause.
func (a *Accounting) Add(b *Accounting) {
	for c := range NumCauses {
		*a.Of(c) += *b.Of(c)
	}
}

// Bound returns the name of the cause with the most cycles, such as "input_stall". In a tie, the
// first cause in this order wins: computing, waiting for weights, for the source, for the result,
// for L2 reads and for L2 writes, throttling, overhead, idle.
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

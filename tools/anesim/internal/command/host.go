package command

import (
	"iter"

	"anesim"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/evidence"
	"anesim/hw/host"
)

// hostTime is what a host adds to the engine's time of a run: its floor for every
// dispatch that was begun, and the copies of inputs and outputs. Zeros and subnormals are
// counted in outputs that were computed.
func hostTime(h *host.Host, res *anesim.Result) clock.Nanoseconds {
	n := uint64(max(1, len(res.Dispatches)))
	var l host.Load
	for p := range res.Program.Inputs() {
		l.In += 2 * elements(p.Shape)
	}
	for p := range res.Program.Outputs() {
		l.Out += 2 * elements(p.Shape)
	}
	for _, o := range res.Outputs {
		for _, v := range o.Data {
			const exponent, mantissa = 0x7c00, 0x3ff
			switch b := v.Bits(); {
			case b&exponent != 0:
			case b&mantissa == 0:
				l.Zero++
			default:
				l.Subnormal++
			}
		}
	}
	for i := range res.Report.Descriptors {
		if d := &res.Report.Descriptors[i]; d.Op == hw.Conv {
			l.Weights += d.DMA.Kernel
		}
	}
	l.Weights /= n // the report has the descriptors of every dispatch
	l.Moved = res.Report.DMA.Total() / n
	return clock.Nanoseconds(n) * h.Time(l)
}

func elements(shape [4]int) uint64 {
	n := uint64(1)
	for _, d := range shape {
		n *= uint64(d)
	}
	return n
}

// hostConstants are a host's constants; the engine alone has none.
func hostConstants(h *host.Host) iter.Seq2[string, evidence.Constant] {
	if h.Name == "none" {
		return func(func(string, evidence.Constant) bool) {}
	}
	return h.Constants()
}

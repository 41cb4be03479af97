package engine

import (
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/host"
	"anesim/loader"
)

// computeHostTime returns the time that host h adds to each dispatch of a program: a fixed time,
// and the time to copy inputs and outputs. Ports for which state returns true are not copied,
// because their values stay on the device. The copy time depends on how many computed outputs are
// zero or subnormal.
func computeHostTime(h *host.Host, res *Result, state func(*loader.Port) bool) clock.Nanoseconds {
	listed := uint64(max(1, len(res.Dispatches)))
	var l host.Load
	for p := range res.Program.Inputs() {
		if !state(p) {
			l.In += 2 * uint64(Elements(p))
		}
	}
	for p := range res.Program.Outputs() {
		if !state(p) {
			l.Out += 2 * uint64(Elements(p))
		}
	}
	for _, o := range res.Outputs {
		if state(o.Port) {
			continue
		}
		var zero, small uint64
		for _, v := range o.Data { // without branches, which would be mispredicted
			const magnitude, normal = 0x7fff, 0x400
			b := uint32(v.Bits() & magnitude)
			zero += uint64((b - 1) >> 31)
			small += uint64((b - normal) >> 31)
		}
		l.Zero += zero
		l.Subnormal += small - zero
	}
	for i := range res.Report.Descriptors {
		if d := &res.Report.Descriptors[i]; d.Op == hw.Conv {
			l.Weights += d.DMA.Kernel
		}
	}
	l.Weights += res.Report.Rest.Weights
	l.Weights /= listed // the report has the descriptors of every dispatch that is listed
	return h.Time(l)
}

// HostTime returns the part of the time that the host adds to a call that does not depend on the
// call's results: the fixed time, and the copies of inputs and outputs.
func (l *Loaded) HostTime() clock.Nanoseconds {
	return computeHostTime(&l.session.options.Host, &Result{Program: l.program, Report: new(hw.Report)}, l.staysOnDevice)
}

// staysOnDevice reports whether the values of port p need not be copied between host and device,
// because they are state or another program uses the same buffer.
func (l *Loaded) staysOnDevice(p *loader.Port) bool {
	if l.isStatePort(p) {
		return true
	}
	at := addressRange{p.Address, p.Address + portSpanBytes(p)}
	for _, other := range l.session.loaded {
		if other == l {
			continue
		}
		for i := range other.program.Ports {
			q := &other.program.Ports[i]
			if q.Direction != p.Direction && q.Address < at.hi && at.lo < q.Address+portSpanBytes(q) {
				return true
			}
		}
	}
	return false
}

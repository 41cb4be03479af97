package engine

import (
	"anesim/firmware"
	"anesim/hw"
	"anesim/hw/clock"
)

// Statistics makes each later call of the program write its statistics to the size bytes at
// address, in the format of [firmware.ReadStatistics]. Calls write nothing if address is 0 or size
// is too small for the header. Statistics returns an error if the bytes are not all in one segment
// of memory, unless address or size is 0.
func (l *Loaded) Statistics(address, size uint64) error {
	if l.session == nil {
		return ErrUnloaded
	}
	if address != 0 && size != 0 {
		if err := l.session.mem.Check(address, size); err != nil {
			return err
		}
	}
	l.statistics = addressRange{address, address + size}
	return nil
}

// writeStatistics writes the statistics of a dispatch with the given descriptors to the
// program's statistics buffer, if it has one.
func (l *Loaded) writeStatistics(descriptors []hw.DescriptorReport, faults int) error {
	at, size := l.statistics.lo, l.statistics.hi-l.statistics.lo
	if at == 0 || size == 0 {
		return nil
	}
	s := firmware.Statistics{Faults: uint32(faults), Calls: uint32(l.calls)}
	var c hw.Counters
	time := clock.Nanoseconds(0)
	for i := range descriptors {
		time += descriptors[i].Time
		for k, v := range descriptors[i].Counters {
			c[k] += v
		}
	}
	s.Time = time
	s.Records = []firmware.StatisticsRecord{
		{Unit: firmware.UnitNE, Busy: c[hw.NECompute], Stalled: c[hw.NEThrottle] + c[hw.NEInputStall] + c[hw.NEOutputStall] + c[hw.NEKernelStall], Bytes: c[hw.L2ToNEBytes] + c[hw.NEToL2Bytes]},
		{Unit: firmware.UnitL2, Busy: c[hw.L2Nominal], Stalled: c[hw.L2Throttle] + c[hw.L2ReadStall] + c[hw.L2WriteStall], Bytes: c[hw.AFToL2Bytes] + c[hw.L2ToAFBytes]},
		{Unit: firmware.UnitPlanar, Busy: c[hw.L2PECompute], Stalled: c[hw.L2PEInputStall] + c[hw.L2PEOutputStall]},
		{Unit: firmware.UnitDMA, Stalled: c[hw.KernelManagerStall], Bytes: c[hw.DMAReadBytes] + c[hw.DMAReadWriteBytes] + c[hw.AFToKMBytes]},
	}
	b, err := l.session.mem.Bytes(at, size)
	if err != nil {
		return err
	}
	copy(b, s.Append(nil, size))
	return nil
}

package bench

import (
	"math"

	"anesim"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/dma"
	"anesim/hw/host"
	"anesim/hw/machine"
	"anesim/internal/datapath/tiles"
	"anesim/internal/measured"
)

// An estimate holds the model's costs for one call of a measured row.
type estimate struct {
	Engine, Host clock.Nanoseconds
	Energy       clock.Nanojoules
	Descriptors  int
	MACs         uint64            // excluding those that sparse weights skip
	ZeroMACs     uint64            // MACs with a zero operand
	ZeroTaps     uint64            // multiplications by zeros that the values do not need, not part of MACs
	Lookups, L2  uint64            // table look-ups, bytes read and written in L2
	Planar       uint64            // elements through the planar engine
	Engines      int               // maximum number of engines at work
	Spared       clock.Nanoseconds // engine time of idle engines
	DMA          dma.Traffic
	Vendor       clock.Nanoseconds // estimate of the engine time by Apple's compiler
	Columns      clock.Nanoseconds // engine time by the columns of the vendor's cost dump
}

// wall returns the time of the call: the sum of the times of engine and host.
func (e *estimate) wall() clock.Nanoseconds { return machine.Wall(e.Engine, e.Host) }

// addMultiple adds the costs of the engine in x, multiplied by n, to e.
func (e *estimate) addMultiple(n int, x *estimate) {
	e.Engine += clock.Nanoseconds(clock.Nanoseconds(n) * x.Engine)
	e.Vendor += clock.Nanoseconds(clock.Nanoseconds(n) * x.Vendor)
	e.Columns += clock.Nanoseconds(clock.Nanoseconds(n) * x.Columns)
	e.Energy += clock.Nanojoules(clock.Nanojoules(n) * x.Energy)
	e.Descriptors += n * x.Descriptors
	e.MACs += uint64(n) * x.MACs
	e.ZeroTaps += uint64(n) * x.ZeroTaps
	e.Lookups += uint64(n) * x.Lookups
	e.L2 += uint64(n) * x.L2
	e.Planar += uint64(n) * x.Planar
	e.Engines = max(e.Engines, x.Engines)
	e.Spared += clock.Nanoseconds(clock.Nanoseconds(n) * x.Spared)
	e.DMA.Source1 += uint64(n) * x.DMA.Source1
	e.DMA.Source2 += uint64(n) * x.DMA.Source2
	e.DMA.Kernel += uint64(n) * x.DMA.Kernel
	e.DMA.Destination += uint64(n) * x.DMA.Destination
}

// addSteps adds the costs of steps to e. It times only the first two repetitions of a repeated
// step: a descriptor overlaps with the previous one, so the first repetition differs and all others
// take as long as the second. The report of the last timed descriptor is stored in last.
func (e *estimate) addSteps(steps []Step, timer *hw.Timer, last *hw.DescriptorReport) {
	for i := range steps {
		s := &steps[i]
		for _, n := range [...]int{min(1, s.Count), s.Count - 1} {
			if n <= 0 {
				continue
			}
			var x estimate
			if s.Task == nil {
				x.addSteps(s.Run, timer, last)
			} else {
				timer.Time(last, s.Task)
				d := last
				x = estimate{
					Engine: d.Time, Vendor: clock.Nanoseconds(d.Exe.Model) * 1e3, Columns: costDumpTime(d, timer.Frequency()), Energy: d.Energy,
					Descriptors: 1, MACs: d.MACs - d.Skipped, ZeroTaps: d.ZeroTaps, Lookups: d.Lookups, L2: d.L2.Read + d.L2.Written, Planar: d.PlanarElements, DMA: d.DMA,
					Engines: d.Engines, Spared: clock.Nanoseconds(tiles.Engines-d.Engines) * d.Time,
				}
			}
			e.addMultiple(n, &x)
		}
	}
}

// costDumpTime returns the duration of a descriptor according to the vendor's cost dump, which is
// that of its slowest column at clock rate f. In that dump, bytes move at 22 GB/s, and weights
// count without padding (332 bytes take 15.0909 ns).
func costDumpTime(d *hw.DescriptorReport, f clock.Hertz) clock.Nanoseconds {
	const bytesPerNanosecond = 22
	u := &d.Units
	bytes := u.KernelBytes + d.DMA.Source1 + d.DMA.Source2 + d.DMA.Destination
	return max(f.Time(max(u.NEDouble, u.Planar, u.L2Broadcast, u.L2Writeback)), clock.Nanoseconds(bytes)/bytesPerNanosecond)
}

// estimate returns the costs of one call that dispatches the chain once, on the given chip and
// host.
func (c *Chain) estimate(chip hw.Chip, h host.Host) estimate {
	var e estimate
	var last hw.DescriptorReport
	timer := hw.NewTimer(chip)
	e.addSteps(c.Steps, timer, &last)
	time, energy := last.Time, last.Energy
	timer.Finish(&last)
	e.Engine += last.Time - time
	e.Energy += last.Energy - energy
	e.Host = h.Time(c.Host)
	chip = chip.Holding(h.Hold)
	e.ZeroMACs = uint64(float64(c.Zero) * float64(e.MACs))
	e.Energy -= clock.Nanojoules((chip.MACEnergy.Value - chip.ZeroMACEnergy.Value) * float64(e.ZeroMACs) / 1e3)
	call := anesim.Timeline{Waiting: chip.Waiting}
	call.Add(&anesim.Dispatch{Energy: clock.Nanojoules(chip.DispatchEnergy.Value), Rest: hw.Rest{Engines: e.Engines}}, e.Host)
	e.Energy += call.Energy()
	return e
}

// A Sample is a measured row with the descriptors that it executes, the names of the chip and host
// presets for its machine, and its measurement session.
type Sample struct {
	Row     *measured.Row
	Chain   *Chain
	Chip    string
	Host    string // preset
	Session string
	Clock   clock.Hertz // of the engine if it is below the chip's highest state, otherwise 0
}

// samples returns a sample for each row that can be modelled, and an error for each other row. The
// errors are *[UnmodelledError] values or come from package lower.
func samples(rows []measured.Row) (samples []Sample, unmodelled []error) {
	l := newLowerer()
	for i := range rows {
		r := &rows[i]
		c, err := l.chain(r)
		if err != nil {
			unmodelled = append(unmodelled, err)
			continue
		}
		if m, err := machine.ByName(r.Machine); err == nil && m.Scaled {
			unmodelled = append(unmodelled, &UnmodelledError{r.ID, "a " + m.Title + " has an engine after the M1's, whose programs are not modelled; anesim accuracy --machines judges the estimates"})
			continue
		}
		if r.Latency == 0 && r.Energy == 0 {
			unmodelled = append(unmodelled, &UnmodelledError{r.ID, "missing latency and energy; want at least one nonzero value"})
			continue
		}
		samples = append(samples, Sample{r, c, rowChip(r).Name, rowHost(r), rowSession(r), rowClock(r)})
	}
	return samples, unmodelled
}

// Presets holds chips and hosts, keyed by name. Estimates use their constants.
type Presets struct {
	Chips map[string]hw.Chip
	Hosts map[string]host.Host
}

// DefaultPresets returns the built-in chips of package hw and hosts of package host.
func DefaultPresets() Presets {
	p := Presets{make(map[string]hw.Chip), make(map[string]host.Host)}
	for _, c := range hw.Chips() {
		p.Chips[c.Name] = c
	}
	for _, h := range host.Presets() {
		p.Hosts[h.Name] = h
	}
	return p
}

// estimate returns the model's costs for s. It uses the chip and host in p that s names.
func (p *Presets) estimate(s *Sample) estimate {
	return s.Chain.estimate(p.chipOf(s), p.Hosts[s.Host])
}

// chipOf returns the chip in p that s names, at the clock at which s was measured.
func (p *Presets) chipOf(s *Sample) hw.Chip {
	c := p.Chips[s.Chip]
	if s.Clock > 0 {
		return c.AtClock(s.Clock)
	}
	return c
}

// rooflineTime returns a naive estimate of the sample's time in nanoseconds: the longer of the time
// of all multiply-accumulates at the peak rate of chip c, and the time to move each input, weight
// and output once.
func (s *Sample) rooflineTime(c *hw.Chip) float64 {
	const lanes = 16 * 256
	r := s.Row
	var weights float64
	switch {
	case r.Op == "decode_model" || r.Op == "lm_head":
		for n, t := range distinctDescriptors(s.Chain.Steps) {
			weights += float64(float64(n) * float64(t.Groups.Operands().Kernel.Bytes))
		}
	case r.Cout > 0:
		weights = 2 * float64(max(1, r.Depth)) * float64(r.Cout) * float64(r.Cin) * float64(r.Kh*r.Kw)
	case r.Cols > 0 && r.N == 0:
		weights = 2 * float64(max(1, r.Depth)) * float64(r.K) * float64(r.Cols)
	}
	bytes := weights + float64(s.Chain.Host.In+s.Chain.Host.Out)
	macs := 0.0
	timer := hw.NewTimer(*c)
	var d hw.DescriptorReport
	for n, t := range distinctDescriptors(s.Chain.Steps) {
		timer.Time(&d, t)
		macs += float64(float64(n) * float64(d.MACs))
	}
	return 1e9 * math.Max(macs/(lanes*c.Clock.Value), bytes/c.ReadRate.Value)
}

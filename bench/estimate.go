package bench

import (
	"anesim/bench/host"
	"anesim/bench/measured"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/dma"
)

// An Estimate is what the model says of a row.
type Estimate struct {
	Engine, Host clock.Nanoseconds
	Energy       clock.Nanojoules
	Descriptors  int
	MACs         uint64
	DMA          dma.Traffic
	Vendor       clock.Nanoseconds // the vendor compiler's estimate of the engine's part
}

// Wall is the whole time of a call.
func (e *Estimate) Wall() clock.Nanoseconds { return e.Engine + e.Host }

// Estimate times a chain, descriptor by descriptor, and adds the host's part.
func (c *Chain) Estimate(chip hw.Chip, h host.Host) Estimate {
	var e Estimate
	var d hw.Descriptor
	timer := hw.NewTimer(chip)
	energy := clock.Nanojoules(chip.DispatchEnergy.Value)
	for i := range c.Steps {
		s := &c.Steps[i]
		timer.Time(&d, &s.Task)
		n := uint64(s.Count)
		e.Engine += clock.Nanoseconds(clock.Nanoseconds(n) * d.Time)
		e.Vendor += clock.Nanoseconds(clock.Nanoseconds(n) * clock.Nanoseconds(d.Exe.Model) * 1e3)
		energy += clock.Nanojoules(clock.Nanojoules(n) * d.Energy)
		e.Descriptors += s.Count
		e.MACs += n * d.MACs
		e.DMA.Source1 += n * d.DMA.Source1
		e.DMA.Source2 += n * d.DMA.Source2
		e.DMA.Kernel += n * d.DMA.Kernel
		e.DMA.Destination += n * d.DMA.Destination
	}
	e.Host = h.Time(c.Host)
	e.Energy = energy + clock.Nanojoules(chip.WaitPower.Value*float64(e.Host))
	return e
}

// A Sample is a row with its chain.
type Sample struct {
	Row   *measured.Row
	Chain *Chain
	Chip  string
	Host  string
}

// Samples lowers the rows. Those that no chain is built for come back as errors, a
// *UnmodelledError or one of the lowering each.
func Samples(rows []measured.Row) (samples []Sample, unmodelled []error) {
	l := NewLowerer()
	for i := range rows {
		r := &rows[i]
		c, err := l.Chain(r)
		if err != nil {
			unmodelled = append(unmodelled, err)
			continue
		}
		if r.Latency == 0 && r.Energy == 0 {
			unmodelled = append(unmodelled, &UnmodelledError{r.ID, "neither latency nor energy was published"})
			continue
		}
		samples = append(samples, Sample{r, c, RowChip(r).Name, RowHost(r)})
	}
	return samples, unmodelled
}

// Presets are the constants that estimates are made with.
type Presets struct {
	Chips map[string]hw.Chip
	Hosts map[string]host.Host
}

// DefaultPresets are those of the packages.
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

// Estimate is the model's word on a sample.
func (p *Presets) Estimate(s *Sample) Estimate {
	return s.Chain.Estimate(p.Chips[s.Chip], p.Hosts[s.Host])
}

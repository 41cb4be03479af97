package hw

import (
	"anesim/hw/clock"
	"anesim/hw/evidence"
	"anesim/internal/datapath/tiles"
)

// EnergyParts splits the energy of a descriptor by consumer, such as multiplications or device
// memory.
type EnergyParts struct {
	MAC    clock.Nanojoules // multiply-accumulates, including those by zeros that fill rows or columns of the window
	Table  clock.Nanojoules // activation-table look-ups
	L2     clock.Nanojoules // bytes read from and written to L2
	DRAM   clock.Nanojoules // bytes read from and written to device memory, the part that the engine's rail supplies
	Planar clock.Nanojoules // elements processed by the planar engine
	Active clock.Nanojoules // powered engines, while the descriptor runs
}

// Add adds the energy of x to e, consumer by consumer.
func (e *EnergyParts) Add(x *EnergyParts) {
	e.MAC += x.MAC
	e.Table += x.Table
	e.L2 += x.L2
	e.DRAM += x.DRAM
	e.Planar += x.Planar
	e.Active += x.Active
}

// AddRuns adds n times the energy of x to e, consumer by consumer.
func (e *EnergyParts) AddRuns(x *EnergyParts, n int) {
	runs := float64(n)
	e.MAC += clock.Nanojoules(runs * float64(x.MAC))
	e.Table += clock.Nanojoules(runs * float64(x.Table))
	e.L2 += clock.Nanojoules(runs * float64(x.L2))
	e.DRAM += clock.Nanojoules(runs * float64(x.DRAM))
	e.Planar += clock.Nanojoules(runs * float64(x.Planar))
	e.Active += clock.Nanojoules(runs * float64(x.Active))
}

// Total returns the energy of all consumers together.
func (e *EnergyParts) Total() clock.Nanojoules {
	return e.MAC + e.Table + e.L2 + e.DRAM + e.Planar + e.Active
}

// computeEnergy returns the energy of descriptor d: for each kind of event the number of events
// times its cost, and the active power of the chip while d runs. Enabled engines that d does not
// use reduce the active power by one step each. Disabled tiles draw no power.
func (p *params) computeEnergy(d *DescriptorReport, open tiles.Enables) EnergyParts {
	alone := float64(open.Tiles()*p.tiles.PerLane())/tiles.TilesPerEngine - float64(d.Engines)
	active := float64(p.active*float64(open.Tiles())/float64(p.tiles.Present().Tiles())) - float64(p.step*max(0, alone))
	return EnergyParts{
		MAC: p.mac.Times(d.MACs-d.Skipped) + p.zeroMAC.Times(d.ZeroTaps), Table: p.table.Times(d.Lookups),
		L2: p.l2Byte.Times(d.L2.Read + d.L2.Written), DRAM: p.dram.Times(d.DMA.Total()), Planar: p.planarElement.Times(d.PlanarElements),
		Active: clock.Nanojoules(max(0, active) * float64(d.Time)),
	}
}

// Holding returns a copy of c with the given hold time, which is how long the power rail stays on
// after work. If the value of time is 0, the copy equals c.
func (c Chip) Holding(time evidence.Constant) Chip {
	if time.Value > 0 {
		c.HoldTime = time
	}
	return c
}

// Waiting returns the energy that the chip draws while it waits for time t after work on the given
// number of MAC engines. The rail draws ActivePower until the hold time ends. The engines draw
// additional power for a shorter time.
func (c *Chip) Waiting(engines int, t clock.Nanoseconds) clock.Nanojoules {
	rail := c.ActivePower.Value * powerDrawTime(t, c.HoldTime.Value)
	steps := float64(engines) * c.EngineStep.Value * powerDrawTime(t, c.EngineHold.Value)
	return clock.Nanojoules(float64(rail) + float64(steps))
}

// powerDrawTime returns for how many nanoseconds a unit draws power while it waits for the time t.
// It stays on for the first hold nanoseconds after its work.
func powerDrawTime(t clock.Nanoseconds, hold float64) float64 { return max(0, min(float64(t), hold)) }

package hw

import (
	"anesim/hw/clock"
	"anesim/hw/tiles"
)

// EnergyParts are a descriptor's energy by what takes it.
type EnergyParts struct {
	MAC    clock.Nanojoules // multiply-accumulates
	Table  clock.Nanojoules // activation-table look-ups
	L2     clock.Nanojoules // bytes in and out of the scratchpad
	DRAM   clock.Nanojoules // bytes in and out of device memory, as far as the engine's rail feeds them
	Planar clock.Nanojoules // elements through the planar engine
	Active clock.Nanojoules // engines that are powered, for as long as it runs
}

// Add adds another descriptor's energy, part by part.
func (e *EnergyParts) Add(x *EnergyParts) {
	e.MAC += x.MAC
	e.Table += x.Table
	e.L2 += x.L2
	e.DRAM += x.DRAM
	e.Planar += x.Planar
	e.Active += x.Active
}

// Total is the sum.
func (e *EnergyParts) Total() clock.Nanojoules {
	return e.MAC + e.Table + e.L2 + e.DRAM + e.Planar + e.Active
}

// energy is the descriptor's events times what each costs. Engines burn the active power,
// which is that of all the chip has, for as long as it runs; those that it leaves alone a
// step less each, gated tiles nothing.
func (p *params) energy(d *DescriptorReport, open tiles.Enables) EnergyParts {
	alone := float64(open.Tiles()*p.tiles.PerLane())/tiles.TilesPerEngine - float64(d.Engines)
	active := float64(p.active*float64(open.Tiles())/float64(p.tiles.Present().Tiles())) - float64(p.step*max(0, alone))
	return EnergyParts{
		MAC: p.mac.Times(d.MACs - d.Skipped), Table: p.table.Times(d.Lookups),
		L2: p.l2Byte.Times(d.L2.Read + d.L2.Written), DRAM: p.dram.Times(d.DMA.Total()), Planar: p.planarElement.Times(d.PlanarElements),
		Active: clock.Nanojoules(max(0, active) * float64(d.Time)),
	}
}

package hw

import (
	"fmt"
	"iter"
	"reflect"

	"anesim/hw/clock"
	"anesim/hw/dma"
	"anesim/hw/l2"
	"anesim/hw/tiles"
)

// An Evidence says what a number rests on.
type Evidence string

// The kinds of evidence, strongest first.
const (
	Measured   Evidence = "measured"   // on silicon
	Bytes      Evidence = "bytes"      // seen in real programs
	Decompiled Evidence = "decompiled" // read from the vendor's code
	Fitted     Evidence = "fitted"     // by us or a study, from measurements
	Inferred   Evidence = "inferred"
	Assumed    Evidence = "assumed"
)

// A Constant is a number of the hardware with what it rests on.
type Constant struct {
	Value    float64
	Unit     string
	Evidence Evidence
	Source   string
}

// A Chip is one machine's constants: the only place they stand.
type Chip struct {
	Name string

	Clock         Constant
	PatchPixels   Constant
	MaxPack       Constant
	L2Bytes       Constant
	L2Banks       Constant
	L2Granule     Constant
	TransposeRate Constant
	PlanarRate    Constant
	ReadRate      Constant
	TotalRate     Constant
	TaskOverhead  Constant

	KernelMemory  Constant
	KernelOverlap Constant
	MemoryLatency Constant
	TileRate      Constant
	LaneRate      Constant

	DispatchEnergy Constant
	MACEnergy      Constant
	TableEnergy    Constant
	L2Energy       Constant
	DRAMEnergy     Constant
	ActivePower    Constant
	WaitPower      Constant
	EngineStep     Constant

	WakeGap  Constant
	WakeTime Constant
	ColdGap  Constant
	ColdWake Constant
	RailsOff Constant
}

const (
	study    = "fitted to the public rows (bench.Fit); leave-one-shape-out residuals in bench/residuals.txt"
	energies = "fitted to the public energy rows (bench.Fit); the rail leaves memory out, and bytes are nearly collinear with the active power"
)

// M1 is the H13 engine of the M1.
func M1() Chip {
	c := h13()
	c.Name = "m1"
	c.Clock = Constant{1.428e9, "Hz", Decompiled, "vendor clock table, H13"}
	c.ReadRate = Constant{m1ReadRate, "B/s", Fitted, study + "; GEMV, decode, GEMM 4096; a study had 61-66e9"}
	c.TotalRate = Constant{68e9, "B/s", Measured, "all traffic at most; every fit ends there"}
	c.DispatchEnergy = Constant{m1DispatchEnergy, "nJ/dispatch", Fitted, energies}
	c.MACEnergy = Constant{m1MACEnergy, "pJ/MAC", Fitted, energies}
	c.DRAMEnergy = Constant{m1DRAMEnergy, "pJ/B", Fitted, energies}
	c.ActivePower = Constant{m1ActivePower, "W", Fitted, energies}
	c.WaitPower = Constant{m1WaitPower, "W", Fitted, energies + "; powered while the host works, in no descriptor"}
	return c
}

// M1Max is the H13g engine of the M1 Pro, Max and Ultra.
func M1Max() Chip {
	c := h13()
	c.Name = "m1max"
	c.Clock = Constant{1.464e9, "Hz", Decompiled, "vendor clock table, H13g"}
	c.ReadRate = Constant{m1maxReadRate, "B/s", Fitted, study + "; GEMV, decode, GEMM 4096; a study had 55-57e9"}
	c.TotalRate = Constant{90e9, "B/s", Measured, "reads and writes together, of 79-90e9 measured the most; every fit ends there"}
	c.DispatchEnergy = Constant{m1maxDispatchEnergy, "nJ/dispatch", Fitted, energies}
	c.MACEnergy = Constant{m1maxMACEnergy, "pJ/MAC", Fitted, energies}
	c.DRAMEnergy = Constant{m1maxDRAMEnergy, "pJ/B", Fitted, energies}
	c.ActivePower = Constant{m1maxActivePower, "W", Fitted, energies}
	c.WaitPower = Constant{m1maxWaitPower, "W", Fitted, energies + "; powered while the host works, in no descriptor"}
	return c
}

func h13() Chip {
	return Chip{
		PatchPixels:   Constant{256, "pixels", Inferred, "peak of equal-I/O differences: 16 engines x 256 MAC; ExeCycles of real programs step by 256 pixels"},
		MaxPack:       Constant{8, "channels", Decompiled, "accumulators per MAC; used as the small-source packing limit"},
		L2Bytes:       Constant{2 << 20, "B", Decompiled, "hardware table; latency step measured at 2.28-2.34 MB"},
		L2Banks:       Constant{64, "banks", Decompiled, "hardware table"},
		L2Granule:     Constant{16, "B", Decompiled, "bank = (addr / 16) mod 64"},
		TransposeRate: Constant{h13TransposeRate, "elements/cycle", Fitted, study + "; at most one an L2 bank; weakly bound"},
		PlanarRate:    Constant{h13PlanarRate, "elements/s", Fitted, study},
		TaskOverhead:  Constant{44, "cycles/descriptor", Decompiled, "the vendor's model; at most 2.8 us measured, and every fit ends at the least"},

		KernelMemory:  Constant{64 << 10, "B/engine", Bytes, "no lane of a task with more than one patch is longer; that what is free of it takes the next task's coefficients early is inferred from r0119 and r0147"},
		KernelOverlap: Constant{h13KernelOverlap, "1", Fitted, study + "; share of a task's first part that the array gets through on coefficients still arriving; weakly bound, 0.2 to 0.5"},
		MemoryLatency: Constant{100, "ns", Assumed, "what a processor waits for the same memory; fits are indifferent up to 300 ns and worse beyond"},
		TileRate:      Constant{50e9, "B/s", Assumed, "what the transfers that the tile DMA keeps outstanding allow, each way: at least the 40e9 of the 96-layer chain; fits are indifferent from 40e9 to 68e9"},
		LaneRate:      Constant{5e9, "B/s", Assumed, "one coefficient lane's, by the transfers it keeps outstanding: at least a sixteenth of the measured weight stream, 3.75e9"},

		EngineStep:  Constant{10.5e-3, "W/engine", Measured, "10-11 mW for each engine more that the calls of a dispatch-bound loop use (guide, core scaling; on the H13g)"},
		TableEnergy: Constant{2, "pJ/look-up", Assumed, "a multiplication and an addition; no row decides it"},
		L2Energy:    Constant{1, "pJ/B", Assumed, "the order of an on-chip memory of this size; no row decides it"},

		WakeGap:  Constant{100e6, "ns", Measured, "the idle gap from which a wake costs WakeTime; near nothing back to back, taken to rise on a straight line between"},
		WakeTime: Constant{0.5e6, "ns", Measured, "first call after an idle gap of 100 ms"},
		ColdGap:  Constant{5e9, "ns", Measured, "the idle gap after which a first call cost ColdWake; where between 100 ms and this the cost jumps is not known"},
		ColdWake: Constant{260e6, "ns", Measured, "first call after 5 s idle (row r0173)"},
		RailsOff: Constant{100e6, "ns", Assumed, "idle is rails off, 0 W (measured); when the rails go off after the last dispatch is taken to be where the wake cost stops rising"},
	}
}

// Waiting is the power in watts while the host works between a chain's dispatches: the
// engines that the chain leaves alone do not draw their step.
func (c *Chip) Waiting(engines int) float64 {
	return max(0, c.WaitPower.Value-float64(c.EngineStep.Value*float64(tiles.Engines-engines)))
}

// Chips returns the presets.
func Chips() []Chip { return []Chip{M1(), M1Max()} }

// ChipByName finds a preset.
func ChipByName(name string) (Chip, error) {
	var known []string
	for _, c := range Chips() {
		if c.Name == name {
			return c, nil
		}
		known = append(known, c.Name)
	}
	return Chip{}, fmt.Errorf("chip %q is none of %v", name, known)
}

// Constants yields every constant by name, in the order of the struct.
func (c Chip) Constants() iter.Seq2[string, Constant] {
	return func(yield func(string, Constant) bool) {
		v := reflect.ValueOf(c)
		for i := range v.NumField() {
			if k, ok := v.Field(i).Interface().(Constant); ok && !yield(v.Type().Field(i).Name, k) {
				return
			}
		}
	}
}

// params are a chip's constants in the form the units compute with.
type params struct {
	clock        clock.Hertz
	tiles        tiles.Params
	l2           l2.Params
	dma          dma.Params
	planar       clock.Rate // elements a cycle
	transpose    clock.Rate // elements a cycle
	overhead     clock.Cycles
	kernelMemory uint64 // bytes an engine

	kernelOverlap float64

	mac, table, l2Byte, dram clock.Picojoules
	active                   float64 // watts
	step                     float64 // watts an engine
	dispatch                 clock.Nanojoules
}

func (c Chip) params() params {
	hz := clock.Hertz(c.Clock.Value)
	return params{
		clock: hz,
		tiles: tiles.Params{PatchPixels: int(c.PatchPixels.Value), MaxPack: int(c.MaxPack.Value)},
		l2:    l2.Params{Bytes: int(c.L2Bytes.Value), Banks: int(c.L2Banks.Value), Granule: int(c.L2Granule.Value)},
		dma: dma.Params{
			Read: clock.PerSecond(c.ReadRate.Value, hz), ReadWrite: clock.PerSecond(c.TotalRate.Value, hz),
			Tile: clock.PerSecond(c.TileRate.Value, hz), Lane: clock.PerSecond(c.LaneRate.Value, hz),
			Latency: hz.Cycles(clock.Nanoseconds(c.MemoryLatency.Value)),
		},
		planar:        clock.PerSecond(c.PlanarRate.Value, hz),
		transpose:     clock.Rate(c.TransposeRate.Value),
		overhead:      clock.Cycles(c.TaskOverhead.Value),
		kernelMemory:  uint64(c.KernelMemory.Value),
		kernelOverlap: c.KernelOverlap.Value,
		table:         clock.Picojoules(c.TableEnergy.Value),
		l2Byte:        clock.Picojoules(c.L2Energy.Value),
		mac:           clock.Picojoules(c.MACEnergy.Value),
		dram:          clock.Picojoules(c.DRAMEnergy.Value),
		active:        c.ActivePower.Value,
		step:          c.EngineStep.Value,
		dispatch:      clock.Nanojoules(c.DispatchEnergy.Value),
	}
}

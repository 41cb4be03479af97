package hw

import (
	"iter"
	"math/bits"
	"reflect"

	"anesim/hw/clock"
	"anesim/hw/dma"
	"anesim/hw/evidence"
	"anesim/hw/execycles"
	"anesim/hw/l2"
	"anesim/internal/datapath/mac"
	"anesim/internal/datapath/tiles"
)

// A Chip holds the constants that describe the engine of one chip: clock, units, rates, energies
// and wake times. Each constant carries its unit and the evidence for its value. Package chip
// describes the meaning of each constant.
type Chip struct {
	Name string
	// Target is the target that Apple's compiler generates programs for on this chip. It
	// selects the compiler's estimate of programs that do not say what they were compiled for.
	Target execycles.Target

	Clock         evidence.Constant
	Engines       evidence.Constant
	MACs          evidence.Constant
	PatchPixels   evidence.Constant
	MaxPack       evidence.Constant
	Winograd      evidence.Constant
	WindowColumns evidence.Constant
	L2Bytes       evidence.Constant
	L2Banks       evidence.Constant
	L2Granule     evidence.Constant
	TransposeRate evidence.Constant
	PlanarRate    evidence.Constant
	ReadRate      evidence.Constant
	TotalRate     evidence.Constant
	TaskOverhead  evidence.Constant

	// The arithmetic of the MAC array; see mac.Arithmetic. Each is 0 for a chip that lacks the property.
	CoarseSums      evidence.Constant
	OperandInfinity evidence.Constant

	KernelMemory  evidence.Constant
	KernelOverlap evidence.Constant
	MemoryLatency evidence.Constant
	TileRate      evidence.Constant
	LaneRate      evidence.Constant
	BusyLaneRate  evidence.Constant
	StreamRate    evidence.Constant

	DispatchEnergy evidence.Constant
	MACEnergy      evidence.Constant
	ZeroMACEnergy  evidence.Constant
	TableEnergy    evidence.Constant
	L2Energy       evidence.Constant
	DRAMEnergy     evidence.Constant
	PlanarEnergy   evidence.Constant
	ActivePower    evidence.Constant
	HoldTime       evidence.Constant
	EngineStep     evidence.Constant
	EngineHold     evidence.Constant

	WakeGap  evidence.Constant
	WakeTime evidence.Constant
	ColdGap  evidence.Constant
	ColdWake evidence.Constant
	RailsOff evidence.Constant

	// Spread bounds all times of the engine, if the programs of the chip are not modelled. It is zero for other
	// chips, whose bounds depend on the kind of work.
	Spread Spread
}

const (
	study    = "fitted to the public rows (TestCalibration in bench); leave-one-shape-out residuals in bench/residuals.txt"
	phones   = "fitted to the networks of the A14 (bench.NetworkRows)"
	energies = "fitted to the public energy rows (TestCalibration in bench), which exclude the energy of memory"

	activePower = energies + "; drawn while the engine works, and while its rail waits until the hold time is over"
	holdTime    = energies + "; the mean of the hold times of the hosts' sessions"
)

// M1 returns the constants of the M1's engine, which its firmware calls H13.
func M1() Chip {
	c := newH13Chip()
	c.Name = "m1"
	c.Target = execycles.H13G // the driver of an M1 names this architecture, and an M1's programs have it
	c.Clock = evidence.New(1.464e9, "Hz", evidence.Measured, "the highest of twelve states in the device tree of a T8103; the vendor's clock table has it for H13g")
	c.TileRate = newTileRate(c.Clock.Value)
	c.ReadRate = evidence.New(m1ReadRate, "B/s", evidence.Fitted, study+"; rows of GEMV, decoding and GEMM 4096; a study found 61-66e9")
	c.TotalRate = evidence.New(68e9, "B/s", evidence.Measured, "highest rate measured for all traffic; every fit reaches this limit")
	c.TableEnergy = evidence.New(m1TableEnergy, "pJ/look-up", evidence.Fitted, energies)
	c.MACEnergy = evidence.New(m1MACEnergy, "pJ/MAC", evidence.Fitted, energies)
	c.DRAMEnergy = evidence.New(m1DRAMEnergy, "pJ/B", evidence.Fitted, energies)
	c.PlanarEnergy = evidence.New(m1PlanarEnergy, "pJ/element", evidence.Fitted, energies)
	c.ActivePower = evidence.New(m1ActivePower, "W", evidence.Fitted, activePower)
	c.HoldTime = evidence.New(m1HoldTime, "ns", evidence.Fitted, holdTime)
	return c
}

// M1Max returns the constants of the engine in the M1 Pro, Max and Ultra, which their firmware
// calls H13g.
func M1Max() Chip {
	c := newH13Chip()
	c.Name = "m1max"
	c.Target = execycles.H13G
	c.Clock = evidence.New(1.5e9, "Hz", evidence.Measured, "the highest of six states in a trace of the power manager of a T6001")
	c.TileRate = newTileRate(c.Clock.Value)
	c.ReadRate = evidence.New(m1maxReadRate, "B/s", evidence.Fitted, study+"; rows of GEMV, decoding and GEMM 4096; a study found 55-57e9")
	c.TotalRate = evidence.New(90e9, "B/s", evidence.Measured, "reads and writes together: the highest of the measured 79-90e9; every fit reaches this limit")
	c.TableEnergy = evidence.New(m1maxTableEnergy, "pJ/look-up", evidence.Fitted, energies)
	c.MACEnergy = evidence.New(m1maxMACEnergy, "pJ/MAC", evidence.Fitted, energies)
	c.DRAMEnergy = evidence.New(m1maxDRAMEnergy, "pJ/B", evidence.Fitted, energies)
	c.PlanarEnergy = evidence.New(m1maxPlanarEnergy, "pJ/element", evidence.Fitted, energies)
	c.ActivePower = evidence.New(m1maxActivePower, "W", evidence.Fitted, activePower)
	c.HoldTime = evidence.New(m1maxHoldTime, "ns", evidence.Fitted, holdTime)
	return c
}

// A14 returns the constants of the A14's engine, which its firmware calls H13. They equal
// the constants of the M1, except the rates of weights and of the planar engine. These two and the
// time of a call on a phone (see package host) were found together, from times of networks.
func A14() Chip {
	c := M1()
	c.Name = "a14"
	c.Target = execycles.H13
	c.Clock = evidence.New(1.428e9, "Hz", evidence.Decompiled, "vendor clock table, H13")
	c.TileRate = newTileRate(c.Clock.Value)
	// The memory of a phone is half as wide as that of an M1. Only weights show it, so the limit is
	// that of the lanes. One limit for all lanes together would shorten the networks of the A14 by
	// less than 0.5 %, and FastViT by 4 %.
	c.LaneRate = evidence.New(2.1e9, "B/s", evidence.Fitted, phones+"; 2.1e9 and 2.3e9 fit best of 1.7e9 to 5e9, and more than 2.1e9 is more than the memory has: all 16 lanes get 33.6e9 B/s, LPDDR4X-4266 on 64 bits gives 34.1e9")
	c.PlanarRate = evidence.New(32*c.Clock.Value, "elements/s", evidence.Inferred, "4 rows of 8 elements a cycle, as the vendor's estimate counts the planar tasks of H13G; the networks of the A14 in bench.NetworkRows do not settle it: from 26e9 to here, their median error is 2.8 to 4.0 %, least here, and the sum of their errors 0.51 to 0.60, least at 26e9")
	for _, k := range []*evidence.Constant{
		&c.ReadRate, &c.TotalRate, &c.TransposeRate, &c.CoarseSums, &c.OperandInfinity, &c.KernelOverlap,
		&c.DispatchEnergy, &c.TableEnergy, &c.MACEnergy, &c.DRAMEnergy, &c.PlanarEnergy, &c.ActivePower, &c.HoldTime, &c.EngineStep,
		&c.WakeGap, &c.WakeTime, &c.ColdGap, &c.ColdWake,
	} {
		k.Evidence, k.Source = evidence.Inferred, "that of the M1: "+k.Source
	}
	for _, k := range []*evidence.Constant{&c.ReadRate, &c.TotalRate} {
		k.Source += "; with 34e9 for tensors too, the networks of the A14 fit worse, most likely because a system cache holds tensors"
	}
	return c
}

// newTileRate returns the limit of the tile DMA of an engine with a clock of hz. At the highest clock memory is
// slower, so that only slow clocks show it.
func newTileRate(hz float64) evidence.Constant {
	return evidence.New(128*hz, "B/s", evidence.Inferred, "128 bytes a cycle in each direction, as the array fetches: at 300 MHz, five tasks over tensors that no L2 holds read at least 76 bytes a cycle (row r0182); at the low clock of Linux, a sum on a T6021 moves 63 both ways; and an encoder of 13,701 tasks takes its time within 4 % on a T6001 at 300 MHz and in four states of a T8103, where 34 bytes a cycle made it 26 % too slow")
}

// AtClock returns c with its engine at the given clock. The work of a cycle does not change, so the
// rates of the planar engine and of the DMA follow the clock. Memory keeps its rates: at the low clock
// of Linux, a chain of convolutions on a T6021 is 3.74 times slower, a sum of three tensors 2.49 times.
func (c Chip) AtClock(hz clock.Hertz) Chip {
	scale := float64(hz) / c.Clock.Value
	for _, k := range [...]*evidence.Constant{&c.Clock, &c.PlanarRate, &c.TileRate, &c.LaneRate, &c.BusyLaneRate} {
		k.Value = float64(k.Value * scale)
	}
	return c
}

// widestWindow is the width of the widest window that a register can hold.
const widestWindow = 31

// newH13Chip returns the constants that are the same for all chips with an H13 engine.
func newH13Chip() Chip {
	return Chip{
		Engines:       evidence.New(tiles.Engines, "engines", evidence.Bytes, "a descriptor has 16 weight streams; there are 32 tile enables, two per engine"),
		MACs:          evidence.New(256, "MACs/engine", evidence.Inferred, "peak of equal-I/O differences: 16 engines x 256 MAC"),
		PatchPixels:   evidence.New(256, "pixels", evidence.Inferred, "peak of equal-I/O differences: 16 engines x 256 MAC; ExeCycles of real programs step by 256 pixels"),
		MaxPack:       evidence.New(8, "channels", evidence.Decompiled, "accumulators per MAC; used as the small-source packing limit"),
		Winograd:      evidence.New(0, "1", evidence.Measured, "20 convolutions of 3x3 on an M1 reach 90 % of the plain peak, and no more"),
		WindowColumns: evidence.New(widestWindow, "columns", evidence.Assumed, "no limit but that of the register: no measured window of an M1 to M5 is wider than 7 columns"),
		L2Bytes:       evidence.New(2<<20, "B", evidence.Decompiled, "hardware table; latency step measured at 2.28-2.34 MB"),
		L2Banks:       evidence.New(64, "banks", evidence.Decompiled, "hardware table"),
		L2Granule:     evidence.New(16, "B", evidence.Decompiled, "bank = (addr / 16) mod 64"),
		TransposeRate: evidence.New(h13TransposeRate, "elements/cycle", evidence.Fitted, study+"; at most one per L2 bank; weakly constrained"),
		PlanarRate:    evidence.New(h13PlanarRate, "elements/s", evidence.Fitted, study),
		TaskOverhead:  evidence.New(44, "cycles/descriptor", evidence.Decompiled, "from the vendor's model; at most 2.8 us was measured, and every fit gives the lower limit"),

		CoarseSums:      evidence.New(1, "1", evidence.Measured, "1 if terms of 4096 and more lose bits in sums of four taps: survivors of [B,-B,1] x 16, and 4096 + 1024 ones = 5116, on the M1; M4 and M6 lose none"),
		OperandInfinity: evidence.New(1, "1", evidence.Measured, "1 if an operand whose exponent field is 31 is infinite, as on the M1; M4 and M6 read it as a number from 65536 to 131008"),

		KernelMemory:  evidence.New(64<<10, "B/engine", evidence.Bytes, "no weight stream of a task with several patches is longer; that the next task's weights are prefetched into the free part is inferred from rows r0119 and r0147"),
		KernelOverlap: evidence.New(h13KernelOverlap, "1", evidence.Fitted, study+"; fraction of a task's first part that the array computes while its weights still arrive; weakly constrained, 0.2 to 0.5"),
		MemoryLatency: evidence.New(100, "ns", evidence.Assumed, "latency of the same memory for a processor; fits are equally good up to 300 ns and worse above"),
		LaneRate:      evidence.New(5e9, "B/s", evidence.Assumed, "limit of one weight lane, set by its outstanding transfers; at least a sixteenth of the measured weight stream, 3.75e9"),

		BusyLaneRate: evidence.New(1e11, "B/s", evidence.Assumed, "no limit but LaneRate: no row of an M1 shows one"),
		StreamRate:   evidence.New(1e12, "B/s", evidence.Assumed, "no limit but ReadRate: it is the memory's on an M1"),

		EngineStep:    evidence.New(10.5e-3, "W/engine", evidence.Measured, "10-11 mW for each additional engine in a loop of calls that is bound by dispatches (guide, core scaling; on the H13g)"),
		EngineHold:    evidence.New(0.25e6, "ns", evidence.Assumed, "time for which an engine draws its step after work: loops of 0.21 ms show all of it, and the errors of the energies of matmuls and convolutions are about equal for shorter times and larger for longer ones (median 3.2 % with 0.05 ms, 2.8 % with 0.25 ms, 3.0 % with 0.5 ms, 3.6 % with 2 ms)"),
		ZeroMACEnergy: evidence.New(0.1, "pJ/MAC", evidence.Assumed, "multiply-accumulate with a zero operand: the energy of row r0119, 16 layers half of whose operands a ReLU made zero, does not allow more"),

		DispatchEnergy: evidence.New(0, "nJ/dispatch", evidence.Fitted, "with bounds from 0 up, fits of the energies of both chips give 0: short calls cost what the powered rail draws"),
		L2Energy:       evidence.New(1, "pJ/B", evidence.Assumed, "order of magnitude for an on-chip memory of this size; no row determines it"),

		WakeGap:  evidence.New(100e6, "ns", evidence.Measured, "idle gap after which a wake takes WakeTime; back-to-back calls hardly wait, and the time is assumed to grow linearly between"),
		WakeTime: evidence.New(0.5e6, "ns", evidence.Measured, "first call after an idle gap of 100 ms"),
		ColdGap:  evidence.New(5e9, "ns", evidence.Measured, "idle gap after which a first call took ColdWake; at which gap between 100 ms and this one the time jumps is not known"),
		ColdWake: evidence.New(260e6, "ns", evidence.Measured, "first call after 5 s idle (row r0173)"),
		RailsOff: evidence.New(100e6, "ns", evidence.Assumed, "an idle engine has its rails off and draws 0 W (measured); the rails are assumed to go off after the gap at which the wake time stops growing"),
	}
}

// arithmetic returns the arithmetic of the chip's multiply-accumulates.
func (c *Chip) arithmetic() mac.Arithmetic {
	return mac.Arithmetic{CoarseSums: c.CoarseSums.Value > 0, KeepsInfinity: c.OperandInfinity.Value > 0}
}

// Chips returns the constants of all chips that have a preset.
func Chips() []Chip { return []Chip{M1(), M1Max(), A14()} }

// Constants returns an iterator over the name and value of every constant, in the order of the
// fields of Chip.
func (c Chip) Constants() iter.Seq2[string, evidence.Constant] {
	return func(yield func(string, evidence.Constant) bool) {
		v := reflect.ValueOf(c)
		for i := range v.NumField() {
			if k, ok := v.Field(i).Interface().(evidence.Constant); ok && !yield(v.Type().Field(i).Name, k) {
				return
			}
		}
	}
}

// All returns pointers to all constants of c, in the order of [Chip.Constants].
func (c *Chip) All() []*evidence.Constant {
	var list []*evidence.Constant
	v := reflect.ValueOf(c).Elem()
	for i := range v.NumField() {
		if k, ok := v.Field(i).Addr().Interface().(*evidence.Constant); ok {
			list = append(list, k)
		}
	}
	return list
}

// params holds the constants of a chip, converted to the units of the timing code: cycles, and
// bytes or elements per cycle.
type params struct {
	clock        clock.Hertz
	tiles        tiles.Params
	l2           l2.Params
	dma          dma.Params
	planar       clock.Rate // elements per cycle
	transpose    clock.Rate // elements per cycle
	overhead     clock.Cycles
	kernelMemory uint64 // bytes per weight lane
	part         uint64 // bytes of a weight lane that arrive together: what the M1 has room for

	kernelOverlap float64
	arithmetic    mac.Arithmetic

	mac, zeroMAC, table, l2Byte, dram, planarElement clock.Picojoules
	active                                           float64 // watts
	step                                             float64 // watts per engine
	dispatch                                         clock.Nanojoules
	budget                                           float64 // watts, 0 for no limit
	spread                                           *Spread

	// fewer holds the parameters of the same chip with fewer engines per lane. A task may run
	// faster on those. It is nil if a lane has one engine.
	fewer *params

	target execycles.Target
}

// laneBytes is the size of the memory in which an M1 engine keeps weights.
const laneBytes = 64 << 10

func (c Chip) newParams() params {
	hz := clock.Hertz(c.Clock.Value)
	p := params{
		clock: hz,
		// A patch of more pixels than multipliers would take several cycles per step. It is
		// modelled as several patches instead.
		tiles: tiles.Params{Engines: int(c.Engines.Value), MACs: int(c.MACs.Value), PatchPixels: int(min(c.PatchPixels.Value, max(1, c.MACs.Value))), MaxPack: int(c.MaxPack.Value), Winograd: c.Winograd.Value > 0, WindowColumns: int(c.WindowColumns.Value)},
		l2:    l2.Params{Bytes: int(c.L2Bytes.Value), Banks: int(c.L2Banks.Value), Granule: int(c.L2Granule.Value)},
		dma: dma.Params{
			Read: clock.PerSecond(c.ReadRate.Value, hz), ReadWrite: clock.PerSecond(c.TotalRate.Value, hz),
			Tile: clock.PerSecond(c.TileRate.Value, hz), Lane: clock.PerSecond(c.LaneRate.Value, hz),
			BusyLane: clock.PerSecond(c.BusyLaneRate.Value, hz), Stream: clock.PerSecond(c.StreamRate.Value, hz),
			Latency: hz.Cycles(clock.Nanoseconds(c.MemoryLatency.Value)),
		},
		planar:        clock.PerSecond(c.PlanarRate.Value, hz),
		transpose:     clock.Rate(c.TransposeRate.Value),
		overhead:      clock.Cycles(c.TaskOverhead.Value),
		kernelMemory:  uint64(c.KernelMemory.Value),
		kernelOverlap: c.KernelOverlap.Value,
		arithmetic:    c.arithmetic(),
		table:         clock.Picojoules(c.TableEnergy.Value),
		l2Byte:        clock.Picojoules(c.L2Energy.Value),
		mac:           clock.Picojoules(c.MACEnergy.Value),
		zeroMAC:       clock.Picojoules(c.ZeroMACEnergy.Value),
		dram:          clock.Picojoules(c.DRAMEnergy.Value),
		planarElement: clock.Picojoules(c.PlanarEnergy.Value),
		active:        c.ActivePower.Value,
		step:          c.EngineStep.Value,
		dispatch:      clock.Nanojoules(c.DispatchEnergy.Value),
		target:        c.Target,
	}
	if c.Spread.Rows > 0 {
		s := c.Spread // a copy that all descriptors share, and that only such a chip allocates
		p.spread = &s
	}
	p.kernelMemory *= uint64(p.tiles.PerLane()) // shared by the engines of a lane
	p.part = laneBytes * uint64(p.tiles.PerLane())
	if n := p.tiles.PerLane(); n > 1 {
		c.Engines.Value = float64(int(tiles.Engines) << (bits.Len(uint(n-1)) - 1))
		fewer := c.newParams()
		p.fewer = &fewer
	}
	return p
}

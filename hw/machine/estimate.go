package machine

import (
	"fmt"

	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/evidence"
	"anesim/hw/host"
)

// newScaledChip returns the chip whose engine runs an M1's program at another clock and with other memory.
// All generations from M1 to M6 have 4,096 multipliers an engine (their best rates are 90 to 97 % of
// that times the clock), so that work goes with the clock. mhz is the highest clock state and why its
// evidence; read is the rate in B/s at which the engine reads weights.
func newScaledChip(name, generation string, mhz int, read float64, why string) hw.Chip {
	c := hw.M1().AtClock(clock.Hertz(mhz) * 1e6)
	c.Name = name
	for _, k := range c.All() {
		k.Evidence, k.Source = evidence.Inferred, fmt.Sprintf("that of the M1 for an %s: %s", generation, k.Source)
	}
	c.Clock = evidence.New(c.Clock.Value, "Hz", evidence.Inferred, why)
	if generation == "H17" || generation == "H18" {
		c.Winograd = evidence.New(1, "1", evidence.Measured, "an M5 Pro runs 16 convolutions of 3x3 at 24.3 TFLOP/s where its multipliers reach 19.4, an M6 a window of 1x3 in 65 % of the plain time; their values are those of F(2,3)")
	}
	if generation == "H18" {
		c.WindowColumns = evidence.New(8, "columns", evidence.Measured, "on an M6 windows of 9 to 15 columns take 2.15 times as long as their multiplications, those of 1 to 8 columns and of 9 to 15 rows do not")
	}
	// Weights come from memory. Tensors do not, until they are larger than the system cache: on an M4, layers
	// of 3x3 and 5x5 windows over 4 to 30 MB run at the rate of the array, where an M1's program would
	// read its source again for every part of the weights.
	c.LaneRate = evidence.New(read/16, "B/s", evidence.Measured, "a sixteenth of the rate at which the last layer of a language model reads its weights")
	c.StreamRate = evidence.New(baseRates[generation], "B/s", evidence.Inferred, "the rate of the generation's narrowest memory: with it, matmuls of 4,096 rows and columns, whose source of 33 MB is read 32 times, are within 15 % on six machines of four generations; five of them were 30 to 48 % too fast")
	// Where the memory is wider than an engine needs, only tasks of few rows show it.
	if busy := baseRates[generation]; busy < read {
		c.BusyLaneRate = evidence.New(busy/16, "B/s", evidence.Inferred, "a sixteenth of the rate of the generation's narrowest memory: matmuls of 4,096 to 8,192 rows and columns, which read their weights for every 128 rows or fewer, take as long on an M4 Pro and M4 Max as with 57 to 64 GB/s, and on an M5 Pro as with 54 to 83")
	}
	for _, k := range [...]*evidence.Constant{&c.ReadRate, &c.TotalRate, &c.TileRate} {
		*k = evidence.New(tensorRate*c.Clock.Value, "B/s", evidence.Fitted, "64 bytes a cycle from a system cache; of 48, 64, 96, 128 and 192 the best for the rows of later machines (bench.CompareLater)")
	}
	fitted := func(v float64, unit string) evidence.Constant {
		return evidence.New(v, unit, evidence.Fitted, "fitted to the energies of calls on machines from M2 to M5, all counted the same (bench.JudgeLaterEnergies)")
	}
	c.MACEnergy, c.DRAMEnergy, c.ActivePower = fitted(laterMACEnergy, "pJ/MAC"), fitted(laterDRAMEnergy, "pJ/B"), fitted(laterActivePower, "W")
	for _, k := range [...]*evidence.Constant{&c.ZeroMACEnergy, &c.TableEnergy, &c.L2Energy, &c.PlanarEnergy, &c.EngineStep} {
		*k = evidence.New(0, k.Unit, evidence.Assumed, "part of the power: no row of a later machine tells it apart")
	}
	return c
}

const tensorRate = 64

// baseRates has the rates in B/s at which the last layer of a language model reads its weights on the
// chip of each generation that has the narrowest memory. The two engines of an M6 are measured together.
var baseRates = map[string]float64{"H14": 62e9, "H15": 63.1e9, "H16": 64.2e9, "H17": 70.2e9, "H18": 152e9}

// laterHost returns the cost of a call by the private runtime, which copies fp32 to fp16 and back, on
// machines from the M3 on. One host serves all of them: each was measured in one or two sessions, and a
// session's own constants would not hold for the machine of a user.
func laterHost() host.Host {
	h := host.Host{Name: "macos-later"}
	fitted := func(v float64, unit string) evidence.Constant {
		return evidence.New(v, unit, evidence.Fitted, "fitted to calls of the private runtime on machines from M4 to M6, all counted the same (bench.CompareLater)")
	}
	h.Floor, h.In, h.Out = fitted(laterFloor, "us/call"), fitted(laterCopies, "us/MB"), fitted(laterCopies, "us/MB")
	none := func(unit string) evidence.Constant {
		return evidence.New(0, unit, evidence.Assumed, "no row shows such a cost")
	}
	h.Weights, h.Zero, h.Subnormal, h.Spill, h.Hold = none("us/MB"), none("ns/output"), none("ns/output"), none("us/MB"), none("ns")
	return h
}

// EarlyHost returns the cost of a call on machines with an M2: that of an M1 Max, whose session it was
// fitted to. On an M2 Max it is within 8 % (median of 15 rows).
func EarlyHost() host.Host {
	h, err := host.ByName("macos-max")
	if err != nil {
		panic(err) // a preset of package host
	}
	h.Name, h.Chip = "macos-m2", ""
	for _, k := range [...]*evidence.Constant{&h.Floor, &h.In, &h.Out, &h.Weights, &h.Zero, &h.Subnormal, &h.Spill, &h.Hold} {
		k.Evidence, k.Source = evidence.Inferred, "that of an M1 Max: "+k.Source
	}
	return h
}

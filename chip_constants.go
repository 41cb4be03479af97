package anesim

import (
	"fmt"
	"math"
	"strings"

	"anesim/hw/evidence"
	"anesim/hw/tiles"
)

// A constantRule says what a chip's constant is and which values it may have. The bounds
// keep nonsense out, not machines that nobody has built.
type constantRule struct {
	name        string
	what        string
	least, most float64
	whole       bool
	why         string // there is no more, where the descriptors' format decides it
}

// constantRules are every constant's, in the order of the chip.
var constantRules = [...]constantRule{
	{"Clock", "the engine's clock", 1e6, 1e11, false, ""},
	{"Engines", "MAC engines of the array, up to 16 or a multiple of 16, which then share the 16 coefficient lanes of a descriptor", 1, maxEngines, true, ""},
	{"MACs", "multipliers of an engine", 1, 1 << 16, true, ""},
	{"PatchPixels", "pixels that an engine covers in a step", 1, 1 << 16, true, ""},
	{"MaxPack", "output channels that an engine packs into a step of a small source", 1, 1 << 16, true, ""},
	{"L2Bytes", "size of the scratchpad; layers and networks are lowered for it, and a program for more has faults", 1 << 10, maxL2, true, "an L2 register counts 16-byte units in 17 bits"},
	{"L2Banks", "banks of the scratchpad", 1, 1 << 16, true, ""},
	{"L2Granule", "bytes of a bank side by side", 1, 1 << 16, true, ""},
	{"TransposeRate", "elements of a transposed result that the scratchpad takes", 1e-3, 1 << 16, false, ""},
	{"PlanarRate", "elements that the planar engine takes in", 1e6, 1e15, false, ""},
	{"ReadRate", "all reads from device memory", 1e6, 1e15, false, ""},
	{"TotalRate", "all traffic with device memory", 1e6, 1e15, false, ""},
	{"TaskOverhead", "from the end of a descriptor to the start of the next", 0, 1e9, false, ""},
	{"KernelMemory", "coefficients that an engine holds; layers and networks are lowered for it", 0, 1 << 30, true, ""},
	{"KernelOverlap", "share of a task's first part that runs on coefficients still arriving", 0, 1, false, ""},
	{"MemoryLatency", "from a request to the first byte of its answer", 0, 1e12, false, ""},
	{"TileRate", "tile DMA, each way", 1e6, 1e15, false, ""},
	{"LaneRate", "one coefficient lane", 1e6, 1e15, false, ""},
	{"DispatchEnergy", "a dispatch by itself", 0, 1e12, false, ""},
	{"MACEnergy", "a multiply-accumulate", 0, 1e6, false, ""},
	{"ZeroMACEnergy", "a multiply-accumulate whose operand is zero, where values are computed", 0, 1e6, false, ""},
	{"TableEnergy", "an activation-table look-up", 0, 1e6, false, ""},
	{"L2Energy", "a byte in or out of the scratchpad", 0, 1e6, false, ""},
	{"DRAMEnergy", "a byte in or out of device memory, as far as the engine's rail feeds it", 0, 1e6, false, ""},
	{"PlanarEnergy", "an element through the planar engine", 0, 1e6, false, ""},
	{"ActivePower", "all engines that the chip has, at work and, for HoldTime, waiting; it does not follow Engines", 0, 1e4, false, ""},
	{"HoldTime", "for how long after work a waiting rail still draws ActivePower, on average over machines; a --host that has its own, HostHold, goes before it", 0, 1e12, false, ""},
	{"EngineStep", "one engine at work", 0, 1e4, false, ""},
	{"EngineHold", "for how long it draws that after work", 0, 1e12, false, ""},
	{"WakeGap", "the idle time from which a wake costs WakeTime", 0, 1e12, false, ""},
	{"WakeTime", "a wake after WakeGap", 0, 1e12, false, ""},
	{"ColdGap", "the idle time from which a wake costs ColdWake", 0, 1e12, false, ""},
	{"ColdWake", "a wake after ColdGap", 0, 1e12, false, ""},
	{"RailsOff", "the idle time after which the rails are off", 0, 1e12, false, ""},
}

const (
	maxEngines = 16 * tiles.Engines
	maxL2      = 1 << 17 << 4
)

// ruleOf finds a constant's rule by its name.
func ruleOf(name string) (constantRule, bool) {
	for _, r := range constantRules {
		if r.name == name {
			return r, true
		}
	}
	return constantRule{}, false
}

// comment is the rule in words.
func (r *constantRule) comment() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %g to %g", r.what, r.least, r.most)
	if r.why != "" {
		fmt.Fprintf(&b, " (%s)", r.why)
	}
	return b.String()
}

// refuse says what is wrong with a value, "" where nothing is.
func (r *constantRule) refuse(v float64, k evidence.Constant) string {
	switch {
	case !(v >= r.least && v <= r.most):
		what := fmt.Sprintf("%g %s is not between %g and %g", v, k.Unit, r.least, r.most)
		if v > r.most && r.why != "" {
			what += ": " + r.why
		}
		return what
	case r.whole && v != math.Trunc(v):
		return fmt.Sprintf("%g %s is not a whole number", v, k.Unit)
	case r.name == "Engines" && v > tiles.Engines && math.Mod(v, tiles.Engines) != 0:
		return fmt.Sprintf("%g %s is neither at most %d nor a multiple of it: as many coefficient lanes share the engines", v, k.Unit, tiles.Engines)
	}
	return ""
}

package chip

import (
	"fmt"
	"math"
	"reflect"

	"anesim/hw"
	"anesim/hw/evidence"
	"anesim/internal/datapath/tiles"
	"anesim/internal/spelling"
)

// A parameter declares a constant of a chip. Its default and the evidence for it come from the
// preset. The range excludes nonsense, but not hypothetical machines.
type parameter struct {
	name, unit  string
	doc         string
	least, most float64
	whole       bool
	why         string // the reason for the upper limit, if the format of descriptors sets it
}

// parameters has one row per constant, in the order of hw.Chip.
var parameters = [...]parameter{
	{"Clock", "Hz", "the engine's clock", 1e6, 1e11, false, ""},
	{"Engines", "engines", "MAC engines of the array, at most 16 or a multiple of 16; more than 16 share the 16 weight streams of a descriptor", 1, maxEngines, true, ""},
	{"MACs", "MACs/engine", "multipliers per engine", 1, 1 << 16, true, ""},
	{"PatchPixels", "pixels", "pixels that an engine computes per step", 1, 1 << 16, true, ""},
	{"MaxPack", "channels", "largest number of output channels that an engine computes in one step if the source is small", 1, 1 << 16, true, ""},
	{"Winograd", "1", "whether convolutions with windows three columns wide and a stride of 1 take two multiplications per row of the window instead of three (F(2,3)); affects times only", 0, 1, true, ""},
	{"WindowColumns", "columns", "width of the widest window that the array takes in one pass; a wider one takes two", 1, 1 << 16, true, ""},
	{"L2Bytes", "B", "size of L2; layers and networks are compiled for it, and a program that needs a larger one faults", 1 << 10, maxL2, true, "an L2 register counts 16-byte units in 17 bits"},
	{"L2Banks", "banks", "number of banks in L2", 1, 1 << 16, true, ""},
	{"L2Granule", "B", "contiguous bytes of a bank, which it transfers per cycle", 1, 1 << 16, true, ""},
	{"TransposeRate", "elements/cycle", "rate at which L2 accepts elements of a transposed result", 1e-3, 1 << 16, false, ""},
	{"PlanarRate", "elements/s", "rate at which the planar engine reads elements", 1e6, 1e15, false, ""},
	{"ReadRate", "B/s", "highest rate of all reads from device memory", 1e6, 1e15, false, ""},
	{"TotalRate", "B/s", "highest rate of all reads and writes of device memory", 1e6, 1e15, false, ""},
	{"TaskOverhead", "cycles/descriptor", "time from the end of a descriptor to the start of the next", 0, 1e9, false, ""},
	{"CoarseSums", "1", "whether terms of 4096 and more lose bits in sums of four taps; affects values only", 0, 1, true, ""},
	{"OperandInfinity", "1", "whether multiply-accumulates read operands whose exponent field is 31 as infinite, or else as numbers from 65536 to 131008; other operations always read infinities (assumed); affects values only", 0, 1, true, ""},
	{"KernelMemory", "B/engine", "memory for weights in each engine; layers and networks are compiled to as few tasks as it allows, which may delay their results and make a run up to a tenth slower", 0, 1 << 30, true, ""},
	{"KernelOverlap", "1", "fraction of a task's first part that runs while its weights still arrive", 0, 1, false, ""},
	{"MemoryLatency", "ns", "time from a request to the first byte of the answer", 0, 1e12, false, ""},
	{"TileRate", "B/s", "highest rate of the tile DMA in each direction", 1e6, 1e15, false, ""},
	{"LaneRate", "B/s", "highest rate of one weight stream", 1e6, 1e15, false, ""},
	{"BusyLaneRate", "B/s", "highest rate of one weight stream in a task of more than 64 results per channel, if it is below LaneRate", 1e6, 1e15, false, ""},
	{"StreamRate", "B/s", "highest rate of reads of a tensor of more than 16 MiB, if it is below ReadRate", 1e6, 1e15, false, ""},
	{"DispatchEnergy", "nJ/dispatch", "fixed energy of a dispatch", 0, 1e12, false, ""},
	{"MACEnergy", "pJ/MAC", "energy of a multiply-accumulate", 0, 1e6, false, ""},
	{"ZeroMACEnergy", "pJ/MAC", "energy of a multiply-accumulate with a zero operand: a source element, if values are computed, or a weight in a zero row or column of the window", 0, 1e6, false, ""},
	{"TableEnergy", "pJ/look-up", "energy of an activation-table look-up", 0, 1e6, false, ""},
	{"L2Energy", "pJ/B", "energy per byte read from or written to L2", 0, 1e6, false, ""},
	{"DRAMEnergy", "pJ/B", "energy per byte read from or written to device memory, the part that the engine's rail supplies", 0, 1e6, false, ""},
	{"PlanarEnergy", "pJ/element", "energy per element in the planar engine", 0, 1e6, false, ""},
	{"ActivePower", "W", "power of the whole array while it works and, for HoldTime, while it waits; it does not depend on Engines", 0, 1e4, false, ""},
	{"HoldTime", "ns", "time after work for which the rail still draws ActivePower, averaged over machines; the HostHold of a --host, if it has one, takes precedence", 0, 1e12, false, ""},
	{"EngineStep", "W/engine", "additional power per engine at work", 0, 1e4, false, ""},
	{"EngineHold", "ns", "time after work for which an engine still draws EngineStep", 0, 1e12, false, ""},
	{"WakeGap", "ns", "shortest idle time after which a wake takes WakeTime", 0, 1e12, false, ""},
	{"WakeTime", "ns", "time that a wake takes after WakeGap", 0, 1e12, false, ""},
	{"ColdGap", "ns", "shortest idle time after which a wake takes ColdWake", 0, 1e12, false, ""},
	{"ColdWake", "ns", "time that a wake takes after ColdGap", 0, 1e12, false, ""},
	{"RailsOff", "ns", "idle time after which the rails are off", 0, 1e12, false, ""},
}

const (
	maxEngines = 16 * tiles.Engines
	maxL2      = 1 << 17 << 4
)

// findParameter returns the parameter with the given name, or nil if there is none.
func findParameter(name string) *parameter {
	for i := range parameters {
		if parameters[i].name == name {
			return &parameters[i]
		}
	}
	return nil
}

// parameterNames returns the names of all parameters.
func parameterNames() []string {
	var list []string
	for i := range parameters {
		list = append(list, parameters[i].name)
	}
	return list
}

// describe returns the description and the range of a parameter in the form in which a chip file
// shows them.
func (p *parameter) describe() string {
	s := fmt.Sprintf("%s: %g to %g", p.doc, p.least, p.most)
	if p.why != "" {
		s += " (" + p.why + ")"
	}
	return s
}

// Check returns an *[Error] for the first constant of c that is out of range, or nil if there is
// none.
func Check(c *hw.Chip) error {
	for name, k := range c.Constants() {
		if what := findParameter(name).describeViolation(k.Value); what != "" {
			return &Error{Constant: name, What: what}
		}
	}
	return nil
}

// Set sets the constant of c with the given name to value and marks it as assumed. A constant that
// already has this value keeps its evidence. Set returns an *[Error], and does not change c, if no
// constant has that name or if value is out of range.
func Set(c *hw.Chip, name string, value float64) error {
	p := findParameter(name)
	if p == nil {
		return &Error{Constant: name, What: "unknown constant" + spelling.Suggest(name, parameterNames())}
	}
	if what := p.describeViolation(value); what != "" {
		return &Error{Constant: name, What: what}
	}
	if k := findConstant(c, name); value != k.Value {
		*k = evidence.New(value, p.unit, evidence.Assumed, "given")
	}
	return nil
}

// findConstant returns a pointer to the constant of c with the given name, which must exist.
func findConstant(c *hw.Chip, name string) *evidence.Constant {
	return reflect.ValueOf(c).Elem().FieldByName(name).Addr().Interface().(*evidence.Constant)
}

// describeViolation returns the reason why the parameter cannot have the value v, such as "0 Hz is
// out of range; want 1e+06 to 1e+11". It returns "" if the parameter can have that value.
func (p *parameter) describeViolation(v float64) string {
	switch {
	case !(v >= p.least && v <= p.most):
		what := fmt.Sprintf("%g %s is out of range; want %g to %g", v, p.unit, p.least, p.most)
		if v > p.most && p.why != "" {
			what += ": " + p.why
		}
		return what
	case p.whole && v != math.Trunc(v):
		return fmt.Sprintf("%g %s is not a whole number", v, p.unit)
	case p.name == "Engines" && v > tiles.Engines && math.Mod(v, tiles.Engines) != 0:
		return fmt.Sprintf("%g %s is out of range; want at most %d or a multiple of %[3]d, the number of weight streams", v, p.unit, tiles.Engines)
	}
	return ""
}

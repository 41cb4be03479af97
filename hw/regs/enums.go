package regs

import (
	"fmt"
	"iter"
	"strings"
)

// A Format is an element format of the datapath (ChCfg, KernelCfg).
type Format uint8

// Formats seen in programs: every real one moves fp16.
const (
	FormatInt8A Format = 0 // an 8-bit form
	FormatInt8B Format = 1 // an 8-bit form
	FormatFP16  Format = 2
)

var formatNames = [...]string{FormatInt8A: "8-bit(0)", FormatInt8B: "8-bit(1)", FormatFP16: "fp16"}

// String names the format.
func (f Format) String() string { return spell(formatNames[:], "Format", uint32(f)) }

// A MACOp is what the MAC engines do with their operands (NE.MACCfg.OpMode).
type MACOp uint8

// Operations seen in programs (bytes) and tried on silicon (measured).
const (
	MultiplyAccumulate MACOp = 0
	MantissaTable      MACOp = 8  // activation table on mantissa forms: rsqrt, reciprocal
	ChannelProduct     MACOp = 10 // product of the UnicastCin channels of a result (inferred: the last task of binary_pow)
	ChannelMaximum     MACOp = 11 // maximum over UnicastCin channels
	PassThrough        MACOp = 12 // copy, activation only
)

var macOpNames = [...]string{
	MultiplyAccumulate: "multiply-accumulate", MantissaTable: "mantissa-table", ChannelProduct: "channel-product",
	ChannelMaximum: "channel-maximum", PassThrough: "pass-through",
}

// String names the operation.
func (o MACOp) String() string { return spell(macOpNames[:], "MACOp", uint32(o)) }

// A Nonlinear is what follows the accumulator (NE.MACCfg.NonlinearMode).
type Nonlinear uint8

// Nonlinear modes seen in programs (bytes).
const (
	NoActivation    Nonlinear = 0
	ReLU            Nonlinear = 1
	ActivationTable Nonlinear = 2
)

var nonlinearNames = [...]string{NoActivation: "none", ReLU: "relu", ActivationTable: "table"}

// String names the mode.
func (n Nonlinear) String() string { return spell(nonlinearNames[:], "Nonlinear", uint32(n)) }

// A PlanarOp is the planar engine's operation (PE.Cfg.OpMode).
type PlanarOp uint8

// Planar operations: add and multiply measured on silicon, the others from programs.
const (
	PlanarAdd PlanarOp = iota
	PlanarMul
	PlanarMax
	PlanarMin
	PlanarSumSquare // (a+b)^2
)

var planarOpNames = [...]string{PlanarAdd: "add", PlanarMul: "mul", PlanarMax: "max", PlanarMin: "min", PlanarSumSquare: "sum-square"}

// String names the operation.
func (o PlanarOp) String() string { return spell(planarOpNames[:], "PlanarOp", uint32(o)) }

// A PlanarForm is how a planar task takes its operands (Common.Cfg bits 4-6, inferred).
type PlanarForm uint8

// Planar forms seen in programs.
const (
	FormConstant   PlanarForm = 2 // one source and the constant of BiasScale
	FormTwoSources PlanarForm = 3 // two sources; PlanarOperands says which are broadcast
	FormBiasScale  PlanarForm = 4 // source 2 is two rows: a bias, then a scale
	FormReduction  PlanarForm = 5 // one source reduced
	FormTwoReduced PlanarForm = 6 // two sources combined, then reduced
)

// Sources is how many sources a task of the form computes with.
func (f PlanarForm) Sources() int {
	switch f {
	case FormTwoSources, FormBiasScale, FormTwoReduced:
		return 2
	}
	return 1
}

// Reduces reports whether a task of the form joins height, width and depth.
func (f PlanarForm) Reduces() bool { return f == FormReduction || f == FormTwoReduced }

var planarFormNames = [...]string{
	FormConstant: "constant", FormTwoSources: "two-sources", FormBiasScale: "bias-scale",
	FormReduction: "reduction", FormTwoReduced: "two-reduced",
}

// String names the form.
func (f PlanarForm) String() string { return spell(planarFormNames[:], "PlanarForm", uint32(f)) }

// spell is the name of a number in a list, KIND(number) where it has none.
func spell(names []string, kind string, v uint32) string {
	if v < uint32(len(names)) && names[v] != "" {
		return names[v]
	}
	return fmt.Sprintf("%s(%d)", kind, v)
}

// An Enum is a field type whose values have names.
type Enum struct {
	Type  string // as fields.txt has it
	names []string
}

// Enums yields the field types whose values have names.
func Enums() iter.Seq[Enum] {
	return func(yield func(Enum) bool) {
		for _, e := range [...]Enum{
			{"Format", formatNames[:]}, {"MACOp", macOpNames[:]}, {"Nonlinear", nonlinearNames[:]},
			{"PlanarOp", planarOpNames[:]}, {"PlanarForm", planarFormNames[:]},
		} {
			if !yield(e) {
				return
			}
		}
	}
}

// Values yields the numbers that have a name, with it.
func (e Enum) Values() iter.Seq2[uint32, string] {
	return func(yield func(uint32, string) bool) {
		for v, name := range e.names {
			if name != "" && !yield(uint32(v), name) {
				return
			}
		}
	}
}

// Enum is the enumeration of the field's values; ok is false for a field of numbers.
func (f Field) Enum() (e Enum, ok bool) {
	for e := range Enums() {
		if e.Type == f.Type {
			return e, true
		}
	}
	return Enum{}, false
}

// ValueName is the name of a value of the field; ok is false where it has none.
func (f Field) ValueName(v uint32) (name string, ok bool) {
	e, _ := f.Enum()
	if v < uint32(len(e.names)) {
		name = e.names[v]
	}
	return name, name != ""
}

// ParseValue finds a value of the field by its name, case aside.
func (f Field) ParseValue(name string) (v uint32, ok bool) {
	e, _ := f.Enum()
	for v, n := range e.Values() {
		if strings.EqualFold(n, name) {
			return v, true
		}
	}
	return 0, false
}

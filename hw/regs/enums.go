package regs

import (
	"fmt"
	"iter"
	"strings"
)

// A Format is the element format of a tensor or of weights, a field of the registers ChCfg and
// KernelCfg.
type Format uint8

// Formats seen in programs. Almost all programs use fp16.
const (
	FormatInt8A Format = 0 // an 8-bit format
	FormatInt8B Format = 1 // an 8-bit format
	FormatFP16  Format = 2
)

var formatNames = [...]string{FormatInt8A: "8-bit(0)", FormatInt8B: "8-bit(1)", FormatFP16: "fp16"}

// String returns the name of the format, such as "fp16".
func (f Format) String() string { return enumName(formatNames[:], "Format", uint32(f)) }

// A MACOp is an operation of the MAC engines. The values equal the register field NE.MACCfg.OpMode.
type MACOp uint8

// Operations seen in programs and tried on silicon (measured).
const (
	MultiplyAccumulate MACOp = 0
	MantissaTable      MACOp = 8  // activation table on the mantissa: rsqrt, reciprocal
	ChannelProduct     MACOp = 10 // product of the UnicastCin channels of a result (inferred: the last task of binary_pow)
	ChannelMaximum     MACOp = 11 // maximum over UnicastCin channels
	PassThrough        MACOp = 12 // copy, activation only
)

var macOpNames = [...]string{
	MultiplyAccumulate: "multiply-accumulate", MantissaTable: "mantissa-table", ChannelProduct: "channel-product",
	ChannelMaximum: "channel-maximum", PassThrough: "pass-through",
}

// String returns the name of the operation, or its number if the operation is unknown.
func (o MACOp) String() string { return enumName(macOpNames[:], "MACOp", uint32(o)) }

// A Nonlinear is a function that the MAC engines apply to their accumulators. The values equal the
// register field NE.MACCfg.NonlinearMode.
type Nonlinear uint8

// Nonlinear modes seen in programs.
const (
	NoActivation    Nonlinear = 0
	ReLU            Nonlinear = 1
	ActivationTable Nonlinear = 2
)

var nonlinearNames = [...]string{NoActivation: "none", ReLU: "relu", ActivationTable: "table"}

// String returns the name of the function, or its number if the function is unknown.
func (n Nonlinear) String() string { return enumName(nonlinearNames[:], "Nonlinear", uint32(n)) }

// A PlanarOp is an operation of the planar engine on two sources. The values equal the register
// field PE.Cfg.OpMode.
type PlanarOp uint8

// Planar operations. Add and multiply were measured on silicon; the others are from programs.
const (
	PlanarAdd PlanarOp = iota
	PlanarMul
	PlanarMax
	PlanarMin
	PlanarSumSquare // (a+b)^2
)

var planarOpNames = [...]string{PlanarAdd: "add", PlanarMul: "mul", PlanarMax: "max", PlanarMin: "min", PlanarSumSquare: "sum-square"}

// String returns the name of the operation, or its number if the operation is unknown.
func (o PlanarOp) String() string { return enumName(planarOpNames[:], "PlanarOp", uint32(o)) }

// A PlanarForm selects the operands of a planar task. The values equal bits 4 to 6 of Common.Cfg;
// their meaning is inferred from programs.
type PlanarForm uint8

// Planar forms seen in programs.
const (
	FormConstant   PlanarForm = 2 // one source and the constant of BiasScale
	FormTwoSources PlanarForm = 3 // two sources; PlanarOperands says which axes are broadcast
	FormBiasScale  PlanarForm = 4 // source 2 has two rows: a bias, then a scale
	FormReduction  PlanarForm = 5 // one source reduced
	FormTwoReduced PlanarForm = 6 // two sources combined, then reduced
)

// Sources returns the number of tensors that a task of form f reads, 1 or 2.
func (f PlanarForm) Sources() int {
	switch f {
	case FormTwoSources, FormBiasScale, FormTwoReduced:
		return 2
	}
	return 1
}

// Reduces reports whether a task of form f reduces its source over height, width and depth.
func (f PlanarForm) Reduces() bool { return f == FormReduction || f == FormTwoReduced }

var planarFormNames = [...]string{
	FormConstant: "constant", FormTwoSources: "two-sources", FormBiasScale: "bias-scale",
	FormReduction: "reduction", FormTwoReduced: "two-reduced",
}

// String returns the name of the form, or its number if the form is unknown.
func (f PlanarForm) String() string { return enumName(planarFormNames[:], "PlanarForm", uint32(f)) }

// enumName returns names[v], or "kind(v)" if v has no name.
func enumName(names []string, kind string, v uint32) string {
	if v < uint32(len(names)) && names[v] != "" {
		return names[v]
	}
	return fmt.Sprintf("%s(%d)", kind, v)
}

// An Enum is a type of register field whose values have names.
type Enum struct {
	Type  string // as spelled in fields.txt
	names []string
}

// Enums returns an iterator over all types of register fields whose values have names.
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

// Values returns an iterator over the named values of e and their names.
func (e Enum) Values() iter.Seq2[uint32, string] {
	return func(yield func(uint32, string) bool) {
		for v, name := range e.names {
			if name != "" && !yield(uint32(v), name) {
				return
			}
		}
	}
}

// Enum returns the enumeration that names the values of f. It returns false if f holds a plain
// number.
func (f Field) Enum() (e Enum, ok bool) {
	for e := range Enums() {
		if e.Type == f.Type {
			return e, true
		}
	}
	return Enum{}, false
}

// ValueName returns the name of value v of field f. It returns false if v has no name.
func (f Field) ValueName(v uint32) (name string, ok bool) {
	e, _ := f.Enum()
	if v < uint32(len(e.names)) {
		name = e.names[v]
	}
	return name, name != ""
}

// ParseValue returns the value of field f that has the given name, ignoring case. It returns false
// if there is none.
func (f Field) ParseValue(name string) (v uint32, ok bool) {
	e, _ := f.Enum()
	for v, n := range e.Values() {
		if strings.EqualFold(n, name) {
			return v, true
		}
	}
	return 0, false
}

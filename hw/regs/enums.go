package regs

import "fmt"

// A Format is an element format of the datapath (ChCfg, KernelCfg).
type Format uint8

// Formats seen in programs: every real one moves fp16.
const (
	FormatInt8A Format = 0 // an 8-bit form
	FormatInt8B Format = 1 // an 8-bit form
	FormatFP16  Format = 2
)

// String names the format.
func (f Format) String() string {
	switch f {
	case FormatInt8A:
		return "8-bit(0)"
	case FormatInt8B:
		return "8-bit(1)"
	case FormatFP16:
		return "fp16"
	}
	return fmt.Sprintf("Format(%d)", uint8(f))
}

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

// String names the operation.
func (o MACOp) String() string {
	switch o {
	case MultiplyAccumulate:
		return "multiply-accumulate"
	case MantissaTable:
		return "mantissa-table"
	case ChannelProduct:
		return "channel-product"
	case ChannelMaximum:
		return "channel-maximum"
	case PassThrough:
		return "pass-through"
	}
	return fmt.Sprintf("MACOp(%d)", uint8(o))
}

// A Nonlinear is what follows the accumulator (NE.MACCfg.NonlinearMode).
type Nonlinear uint8

// Nonlinear modes seen in programs (bytes).
const (
	NoActivation    Nonlinear = 0
	ReLU            Nonlinear = 1
	ActivationTable Nonlinear = 2
)

// String names the mode.
func (n Nonlinear) String() string {
	switch n {
	case NoActivation:
		return "none"
	case ReLU:
		return "relu"
	case ActivationTable:
		return "table"
	}
	return fmt.Sprintf("Nonlinear(%d)", uint8(n))
}

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

// String names the operation.
func (o PlanarOp) String() string {
	switch o {
	case PlanarAdd:
		return "add"
	case PlanarMul:
		return "mul"
	case PlanarMax:
		return "max"
	case PlanarMin:
		return "min"
	case PlanarSumSquare:
		return "sum-square"
	}
	return fmt.Sprintf("PlanarOp(%d)", uint8(o))
}

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

// String names the form.
func (f PlanarForm) String() string {
	switch f {
	case FormConstant:
		return "constant"
	case FormTwoSources:
		return "two-sources"
	case FormBiasScale:
		return "bias-scale"
	case FormReduction:
		return "reduction"
	case FormTwoReduced:
		return "two-reduced"
	}
	return fmt.Sprintf("PlanarForm(%d)", uint8(f))
}

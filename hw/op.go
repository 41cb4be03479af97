package hw

import (
	"fmt"

	"anesim/hw/regs"
)

// An Op is the kind of operation that a descriptor performs.
type Op uint8

// Kinds of operations.
const (
	Conv Op = iota
	MatMul
	Pass
	Activation
	Elementwise
	Pool
	Reduce
	Copy
)

var opNames = [...]string{"conv", "matmul", "pass", "activation", "elementwise", "pool", "reduce", "copy"}

// String returns the name of the operation as reports spell it, such as "conv".
func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return fmt.Sprintf("Op(%d)", uint8(o))
}

// Classify returns the kind of operation that a task with header h and registers g performs. A
// multiply-accumulate is a matmul if its result is transposed or its weights come from a tensor,
// and a convolution otherwise. A planar task with one source is a copy if it neither adds nor
// scales.
func Classify(h *regs.Header, g *regs.Groups) Op {
	if g.Planar() {
		switch g.Common.Cfg.PlanarForm() {
		case regs.FormReduction, regs.FormTwoReduced:
			return Reduce
		case regs.FormConstant:
			if isWindowed(g) {
				return Pool
			}
			if isNeutral(&g.PE) {
				return Copy
			}
		}
		return Elementwise
	}
	switch g.NE.MACCfg.OpMode() {
	case regs.MultiplyAccumulate:
		if g.Common.Cfg.Transpose() || h.KernelBases.KBE0() && h.KernelBases.KBase0() == regs.BARScratch {
			return MatMul
		}
		return Conv
	case regs.ChannelMaximum:
		return Reduce
	case regs.MantissaTable:
		if !g.Common.GroupConvCfg.UnicastEn() {
			return Reduce
		}
		return Activation
	}
	if g.NE.MACCfg.NonlinearMode() != regs.NoActivation {
		return Activation
	}
	return Pass
}

// isNeutral reports whether a planar task with one source and the registers p leaves it as it is.
func isNeutral(p *regs.PE) bool {
	const halfOne, singleOne = 0x3c00, 0x3f80_0000
	return p.Cfg.IsZero() && p.BiasScale.Bias() == 0 && p.BiasScale.Scale() == halfOne &&
		p.PreScale.PreScale() == 0 && p.PreScale.Scale() == halfOne && p.FinalScale.FinalScale() == singleOne
}

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
			if p := &g.PE; p.Cfg == 0 && p.BiasScale == 0x3c000000 && p.PreScale == 0x3c000000 && p.FinalScale == 0x3f800000 {
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

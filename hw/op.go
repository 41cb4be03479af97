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
	Product // of neighboring channels
	Activation
	Elementwise
	Pool
	Reduce

	// The kinds that compute nothing.
	Copy
	Transpose  // stores channels, rows or columns in another order
	Interleave // stores the elements of several channels in turn, as weights need them
	Regroup    // stores groups in another order, such as inside the channels
)

var opNames = [...]string{
	"conv", "matmul", "product", "activation", "elementwise", "pool", "reduce",
	"copy", "transpose", "interleave", "regroup",
}

// moves reports whether a task of kind o only moves its source.
func (o Op) moves() bool { return o >= Copy }

// String returns the name of the operation as reports spell it, such as "conv".
func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return fmt.Sprintf("Op(%d)", uint8(o))
}

// classify returns the kind of operation that a task with header h, registers g and operands o
// performs. A multiply-accumulate is a matmul if its result is transposed or its weights come from a
// tensor, and a convolution otherwise. A planar task with one source moves it if it neither adds nor
// scales.
func classify(h *regs.Header, g *regs.Groups, o *regs.Operands) Op {
	if g.Planar() {
		switch g.Common.Cfg.PlanarForm() {
		case regs.FormReduction, regs.FormTwoReduced:
			return Reduce
		case regs.FormConstant:
			if g.Windowed() {
				return Pool
			}
			if isNeutral(&g.PE) {
				return classifyMove(g, o)
			}
		}
		return Elementwise
	}
	switch g.NE.MACCfg.OpMode() {
	case regs.MultiplyAccumulate:
		// Weights in the scratch buffer were written by earlier tasks: they are the second tensor of a
		// matmul.
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
	switch {
	case g.NE.MACCfg.NonlinearMode() != regs.NoActivation:
		return Activation
	case g.NE.MACCfg.OpMode() == regs.ChannelProduct:
		return Product
	}
	return classifyMove(g, o)
}

// classifyMove returns how a task that computes nothing stores its source.
func classifyMove(g *regs.Groups, o *regs.Operands) Op {
	s, r := &o.Source1, &o.Result
	switch {
	case g.ResultTransposed() != s.Tile.Transposed:
		return Transpose
	case r.DRAM && r.Interleave > max(1, s.Interleave):
		return Interleave
	case s.DRAM == r.DRAM: // between memory and L2 the order always differs
		return classifyReorder(s, r)
	}
	return Copy
}

// classifyReorder returns the kind of a task whose source s and result r are both in memory or both in
// L2. It moves axes if two of them, both of more than one element, follow each other in another
// order in the result. An axis that repeats has no place of its own.
func classifyReorder(s, r *regs.Operand) Op {
	if r.Groups > 1 && (swapsAxes(r.Planes(), s, r, groupAxis, planeAxis) || swapsAxes(r.Channels, s, r, groupAxis, channelAxis) || swapsAxes(r.Height, s, r, groupAxis, rowAxis)) {
		return Regroup
	}
	if d := r.Planes(); d > 1 && (swapsAxes(r.Channels, s, r, planeAxis, channelAxis) || swapsAxes(r.Height, s, r, planeAxis, rowAxis)) ||
		r.Channels > 1 && swapsAxes(r.Height, s, r, channelAxis, rowAxis) {
		return Transpose
	}
	return Copy
}

// The axes of an operand but its columns, which are the innermost ones.
const (
	groupAxis = iota
	planeAxis
	channelAxis
	rowAxis
)

// swapsAxes reports whether axis b, of the given extent, is outside axis a in one of the operands s and
// r but inside it in the other.
func swapsAxes(extent int, s, r *regs.Operand, a, b int) bool {
	if extent <= 1 {
		return false
	}
	p, q := stride(s, a), stride(s, b)
	return p != 0 && q != 0 && (p < q) != (stride(r, a) < stride(r, b))
}

// stride returns the distance between two elements of an operand along an axis, in bytes and without
// its sign.
func stride(o *regs.Operand, axis int) int64 {
	t := &o.Tile
	switch {
	case !o.DRAM:
		return int64([...]uint32{t.Group, t.Depth, t.Channel, t.Row}[axis])
	case axis == groupAxis:
		return max(o.Group, -o.Group)
	case axis == planeAxis:
		return max(o.DepthStride, -o.DepthStride)
	case axis == channelAxis:
		return max(o.Plane, -o.Plane)
	}
	return max(o.Row, -o.Row)
}

// isNeutral reports whether a planar task with one source and the registers p leaves it as it is.
func isNeutral(p *regs.PE) bool {
	const halfOne, singleOne = 0x3c00, 0x3f80_0000
	return p.Cfg.IsZero() && p.BiasScale.Bias() == 0 && p.BiasScale.Scale() == halfOne &&
		p.PreScale.PreScale() == 0 && p.PreScale.Scale() == halfOne && p.FinalScale.FinalScale() == singleOne
}

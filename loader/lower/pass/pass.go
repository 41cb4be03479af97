package pass

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/task"
)

// HalfHalf is 0.5 in fp16.
const HalfHalf = 0x3800

// Elementwise is a planar task of the layer's operation.
func Elementwise(l *layer.Layer, form regs.PlanarForm, in regs.Shape) *task.Task {
	t := task.PlanarTask(form, in, in)
	cfg := t.G.PE.Cfg.WithSecSrc(2)
	switch l.Op {
	case layer.Sub:
		cfg = cfg.WithSecSrc(3) // an addition with the second sign turned
	case layer.Mul:
		cfg = cfg.WithOpMode(regs.PlanarMul)
	case layer.Max:
		cfg = cfg.WithOpMode(regs.PlanarMax)
	case layer.Min:
		cfg = cfg.WithOpMode(regs.PlanarMin)
	case layer.Average:
		// The scale applies to the sum, as to softmax's differences.
		t.G.PE.BiasScale = t.G.PE.BiasScale.WithScale(HalfHalf)
	}
	t.G.PE.Cfg = cfg.WithReluEn(l.Activation == layer.ReLU)
	if l.SecondReLU {
		t.G.L2.Cfg = t.G.L2.Cfg.WithInputReLU2(true)
	}
	return t
}

// LogE is log2(e) in fp16: the exponential's table is of 2^x.
const LogE = 0x3dc5

// Activation is a pass-through task of an activation, without its operands and table.
func Activation(op layer.Op, in regs.Shape, epsilon float32) *task.Task {
	mode := regs.PassThrough
	if op == layer.Rsqrt || op == layer.Inverse {
		mode = regs.MantissaTable
	}
	t := task.EngineTask(mode, in, in)
	t.Unicast()
	t.Engines(in.Channels)
	t.Patch(in, true, nil)
	n := &t.G.NE
	switch op {
	case layer.Exp:
		n.PostScale = n.PostScale.WithPostScale(LogE)
	case layer.Rsqrt, layer.Inverse:
		n.AccBias = n.AccBias.WithAccBias(task.Half(epsilon))
	case layer.ReLU:
		t.Activate(regs.ReLU)
	}
	return t
}

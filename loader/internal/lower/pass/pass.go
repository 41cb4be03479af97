package pass

import (
	"anesim/hw/regs"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// HalfHalf is 0.5 in fp16.
const HalfHalf = 0x3800

// logE is log2(e) in fp16. It scales the argument of an exponential, whose table computes 2^x.
const logE = 0x3dc5

// Elementwise returns the planar task that computes the operation of layer l, such as a sum or a
// maximum, on two tensors of shape in, element by element.
func Elementwise(l *layer.Layer, in regs.Shape) task.Planar {
	p := task.Planar{Form: regs.FormTwoSources, In: in, Op: task.Sum, ReLU: l.Activation == layer.ReLU, SecondReLU: l.SecondReLU}
	switch l.Op {
	case layer.Sub:
		p.Op = task.Difference
	case layer.Mul:
		p.Op = task.Product
	case layer.Max:
		p.Op = task.Larger
	case layer.Min:
		p.Op = task.Smaller
	case layer.Average:
		p.Scale = task.NewFactor(HalfHalf) // scales the sum, as for the differences of a softmax
	}
	return p
}

// Scalar returns the planar task that applies the operation of layer l to the elements of a tensor
// and a constant. in is the shape of the tensor, and v holds the fp16 bits of the constant. The
// operation must be an addition, subtraction, multiplication or average.
func Scalar(l *layer.Layer, in regs.Shape, v uint16) task.Planar {
	p := task.Planar{Form: regs.FormConstant, In: in}
	switch l.Op {
	case layer.Add:
		p.Bias = v
	case layer.Sub:
		p.Bias = v ^ 0x8000
	case layer.Mul:
		p.Scale = task.NewFactor(v)
	case layer.Average:
		p.Scale, p.Bias = task.NewFactor(HalfHalf), v
	}
	return p
}

// Difference returns a planar task that subtracts the second source from the first. Both have shape
// s.
func Difference(s regs.Shape) task.Planar {
	return task.Planar{Form: regs.FormTwoSources, In: s, Op: task.Difference}
}

// Exponent returns a planar task that subtracts the second source from the first and multiplies the
// difference by log2(e). A table of 2^x then gives the exponential of the difference. Both sources
// have shape s.
func Exponent(s regs.Shape) task.Planar {
	p := Difference(s)
	p.Scale = task.NewFactor(logE)
	return p
}

// Product returns a planar task that multiplies two sources of shape s element by element.
func Product(s regs.Shape) task.Planar {
	return task.Planar{Form: regs.FormTwoSources, In: s, Op: task.Product}
}

// Affine returns a planar task that computes (x - a) * b for a source x of shape s. Its second
// source has two rows: the first is a, and the second is b.
func Affine(s regs.Shape) task.Planar {
	return task.Planar{Form: regs.FormBiasScale, In: s, Op: task.Difference}
}

// Activation returns the MAC task that applies activation op to a tensor of shape in. The caller
// must set the activation table, except for ReLU. For Rsqrt and Inverse, epsilon is added to the
// elements before the table lookup; other activations ignore it.
func Activation(op layer.Op, in regs.Shape, epsilon float32) task.MAC {
	m := task.MAC{Op: regs.PassThrough, In: in, Out: in, PerChannel: true}
	switch op {
	case layer.Exp:
		m.Scale = task.NewFactor(logE)
	case layer.Rsqrt, layer.Inverse:
		m.Op = regs.MantissaTable
		m.Addend = task.Half(epsilon)
	case layer.ReLU:
		m.ReLU = true
	}
	return m
}

package list

import "anesim/loader/layer"

// A Layer is one or more tasks of the engine, or the reason why the engine cannot run it.
type Layer struct {
	Name    string
	Op      string   // operator name in the file
	Inputs  []string // tensors, in the order of the layer's operands
	Output  string
	Lower   layer.Layer
	Weights layer.Weights // weights from the file, if any
	Out     layer.Shape
	Folded  []string // names of layers fused into this one
	Reason  string   // why the engine cannot run it, or ""
	Node    int      // index into the network's Nodes, if it has any
	Line    int      // line of a text file, from 1; 0 for a binary file
	Others  []string // other results of a layer that the engine cannot run
	Host    *Stage   // the host's work for a layer with a Reason, or nil

	Work uint64 // multiply-accumulates by definition, for a layer that the engine cannot run

	// Stored reports whether an elementwise layer's constant has to be a tensor in memory. A
	// matmul can still take it as the bias of its columns if ByColumn is also set.
	Stored, ByColumn bool
	// Spare reports whether the layer is removed if nothing reads its result.
	Spare bool
	// Rounds reports whether the layer is a sum whose purpose is to round its result. It must
	// not be fused into another layer, which would not round.
	Rounds bool
	// Average reports whether all weights of a convolution are one over their number.
	Average bool
}

// MACs returns the number of multiply-accumulates by the operation's definition. It leaves out
// the bias and the zeros between the taps of a dilated window.
func (l *Layer) MACs() uint64 {
	if l.Reason != "" && l.Lower.Op == 0 {
		return l.Work
	}
	out := uint64(l.Out.Elements())
	switch x := &l.Lower; x.Op {
	case layer.Convolution:
		if l.Average {
			return 0 // a sum and one factor; definitions count no multiply-accumulates
		}
		return out * uint64(x.In.C/max(1, x.Groups)*x.TapRows()*x.TapColumns())
	case layer.Deconvolution:
		return uint64(x.In.Elements() * (x.Cout / max(1, x.Groups)) * x.Window.Kh * x.Window.Kw)
	case layer.MatMul, layer.Linear:
		return out * uint64(x.In.W)
	}
	return 0
}

// Bytes returns the size in fp16 of the layer's inputs, weights and result, counted once each.
func (l *Layer) Bytes() uint64 {
	x := &l.Lower
	n := l.Out.Elements()
	if x.Op != 0 {
		need := Needs(x)
		n += x.In.Elements() + need.Filter + need.Bias + need.Second
		switch {
		case x.Op == layer.MatMul && x.Second == layer.Runtime:
			n += x.In.N * x.In.C * x.In.W * x.Columns
		case x.Second == layer.Runtime:
			n += x.SecondShape.Elements()
		}
	}
	return uint64(n) * fp16Bytes
}

// Absorb fuses the next layer into l: it records the name and takes over the output. The caller
// changes the operation.
func (l *Layer) Absorb(next *Layer) {
	l.Folded = append(append(l.Folded, next.Name), next.Folded...)
	l.Output = next.Output
}

// AddOutput adds another result to a layer that the engine cannot run.
func (l *Layer) AddOutput(name string) {
	if name != "" && name != l.Output {
		l.Others = append(l.Others, name)
	}
}

// Infer sets the shape of the result and validates the layer against itself and the engine's
// limits.
func (l *Layer) Infer() error {
	l.Out = l.Lower.Out()
	return l.Lower.Validate()
}

// Pooling returns a pooling layer. An average is a depthwise convolution with equal weights; a
// maximum is an operation of its own.
func Pooling(in layer.Shape, w layer.Window, average bool) Layer {
	if !average {
		return Layer{Lower: layer.Layer{Op: layer.Pool, In: in, Window: w}}
	}
	return Layer{Lower: layer.Depthwise(in, w), Average: true}
}

// A Need is the number of values of each kind that a layer holds.
type Need struct{ Filter, Bias, Second int }

// Needs returns the number of weights, bias values and second-operand values of a layer.
func Needs(l *layer.Layer) Need {
	var n Need
	switch l.Op {
	case layer.Convolution, layer.Deconvolution:
		n.Filter = l.Cout * (l.In.C / max(1, l.Groups)) * l.Taps()
		n.Bias = l.Cout
	case layer.MatMul, layer.Linear:
		if l.Second == layer.Constant {
			n.Filter, n.Bias = l.In.W*l.Columns, l.Columns
		}
	case layer.PReLU:
		n.Second = l.In.C
	case layer.Add, layer.Sub, layer.Mul, layer.Max, layer.Min, layer.RealDiv, layer.Average:
		switch l.Second {
		case layer.Constant:
			n.Second = l.SecondShape.Elements()
		case layer.Scalar:
			n.Second = 1
		}
	}
	if !l.Bias {
		n.Bias = 0
	}
	return n
}

package list

import "anesim/loader/layer"

// A Layer is one task or several of the engine, or the reason why there are none.
type Layer struct {
	Name    string
	Op      string   // what the file calls it
	Inputs  []string // tensors, in the order of the layer's own
	Output  string
	Lower   layer.Layer
	Weights layer.Weights // what the file has of them
	Out     layer.Shape
	Folded  []string // layers that this one does on its way out
	Reason  string   // why the engine cannot run it, "" where it can
	Node    int      // index into the network's Nodes, where it has some
	Line    int      // of a text, from 1; 0 where the file has no lines
	Others  []string // further tensors that a layer without a form would make
	Host    *Stage   // what the host does of a layer with a Reason, nil for nothing

	Work uint64 // multiply-accumulates of a layer without a form, as its definition has them

	// Stored says that an elementwise layer's constant has to be a tensor in memory,
	// unless a product takes it as the bias of its columns, for which it has to be ByColumn.
	Stored, ByColumn bool
	// Spare says that the layer is left out where nothing reads its result.
	Spare bool
	// Rounds says that the layer's result has to be rounded by itself: what the sum is for is
	// its rounding, which another layer that took the addend would not do.
	Rounds bool
	// Average says that the weights of a convolution are all one over their number.
	Average bool
}

// MACs is the multiply-accumulates the layer's result takes by the operation's definition:
// without bias, and without the zeros between the taps of a dilated window.
func (l *Layer) MACs() uint64 {
	if l.Reason != "" && l.Lower.Op == 0 {
		return l.Work
	}
	out := uint64(l.Out.Elements())
	switch x := &l.Lower; x.Op {
	case layer.Convolution:
		if l.Average {
			return 0 // sums and one factor, which is how no definition has multiply-accumulates
		}
		return out * uint64(x.In.C/max(1, x.Groups)*x.TapRows()*x.TapColumns())
	case layer.Deconvolution:
		return uint64(x.In.Elements() * (x.Cout / max(1, x.Groups)) * x.Window.Kh * x.Window.Kw)
	case layer.MatMul, layer.Linear:
		return out * uint64(x.In.W)
	}
	return 0
}

// Bytes is what the layer's definition reads and writes in fp16: its inputs, weights and
// result, once each.
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

// Takes notes that the layer does what the next one did.
func (l *Layer) Takes(next *Layer) {
	l.Folded = append(append(l.Folded, next.Name), next.Folded...)
	l.Output = next.Output
}

// Makes adds an output to those of a layer that is not modelled.
func (l *Layer) Makes(name string) {
	if name != "" && name != l.Output {
		l.Others = append(l.Others, name)
	}
}

// Infer fills in the shape of the result and checks the layer against itself and the
// engine's limits.
func (l *Layer) Infer() error {
	l.Out = l.Lower.Out()
	return l.Lower.Validate()
}

// Pooling is a pooling layer: an average is a depthwise convolution of equal weights,
// a maximum has an operation of its own.
func Pooling(in layer.Shape, w layer.Window, average bool) Layer {
	if !average {
		return Layer{Lower: layer.Layer{Op: layer.Pool, In: in, Window: w}}
	}
	return Layer{Lower: layer.Depthwise(in, w), Average: true}
}

// A Need is the number of values of each kind that a layer carries.
type Need struct{ Filter, Bias, Second int }

// Needs says what values a layer carries.
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

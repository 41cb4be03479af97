package list

import "anesim/loader/layer"

// A Layer is an operation with its inputs, weights and output. The engine runs it unless Reason
// says why it cannot. In that case, the host runs the layer if Host is set. Otherwise, the layer
// and all layers that depend on it are left out.
type Layer struct {
	Name    string
	Op      string   // operator name in the file
	Inputs  []string // tensors, in the order of the layer's operands
	Output  string
	Lower   layer.Layer   // operation that the engine computes
	Weights layer.Weights // weights from the file, if any
	Out     layer.Shape   // shape of the output
	Folded  []string      // names of layers fused into this one
	Reason  string        // why the engine cannot run it, or ""
	Node    int           // index into the network's Nodes, if it has any
	Line    int           // line of a text file, from 1; 0 for a binary file
	Others  []string      // other results of a layer that the engine cannot run
	Behind  string        // the node whose result has no known shape, if that is the Reason; or ""
	Host    *Stage        // the host's work for a layer with a Reason, or nil

	Work uint64 // multiply-accumulates by definition, for a layer that the engine cannot run

	// Stored reports whether an elementwise layer's constant has to be a tensor in memory. A
	// matmul can still take it as the bias of its columns if ByColumn is also set.
	Stored, ByColumn bool
	// Spare reports whether the layer is removed if nothing reads its result.
	Spare bool
	// Rounds reports whether the layer is a sum whose purpose is to round its result. It must
	// not be fused into another layer, which would not round.
	Rounds bool
	// Average reports whether a convolution computes averages: all weights are 1 divided by the
	// number of taps.
	Average bool
	// Attention reports whether the layer also does the work of a softmax and a matmul that follow
	// it, for some rows at a time.
	Attention bool
}

// Caveat returns the warning of [layer.Layer.Caveat], or one for a layer that computes an attention.
func (l *Layer) Caveat() string {
	if l.Attention {
		return "no program shows attention whose scores exceed L2: it is computed for a block of queries at a time, which fits a network compiled in 2024; programs compiled in 2023 may take up to twice as long"
	}
	return l.Lower.Caveat()
}

// MACs returns the number of multiply-accumulates in a convolution, transposed convolution, matmul
// or linear layer, and 0 for other operations and for average pooling. It does not count the bias,
// or the zeros between the taps of a dilated window. If the engine lacks the operator, MACs returns
// l.Work.
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

// Bytes returns the total size in bytes of the layer's operands, weights and result in fp16. Each
// tensor counts once, however often the engine reads it. Only the result counts for an operator
// that the engine does not have.
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

// Absorb records that next, the layer that follows l, is fused into l. It makes the output of next
// the output of l, and adds the name of next to l.Folded. The caller must change l.Lower to compute
// both.
func (l *Layer) Absorb(next *Layer) {
	l.Folded = append(append(l.Folded, next.Name), next.Folded...)
	l.Output = next.Output
}

// AddOutput adds the named tensor to the results of a layer that the engine cannot run. It does
// nothing if name is "" or the layer's output.
func (l *Layer) AddOutput(name string) {
	if name != "" && name != l.Output {
		l.Others = append(l.Others, name)
	}
}

// Infer sets l.Out to the shape of the layer's result. It returns an error if the fields of l.Lower
// contradict each other or exceed a limit of the engine.
func (l *Layer) Infer() error {
	l.Out = l.Lower.Out()
	return l.Lower.Validate()
}

// Pooling returns a layer that pools a tensor of shape in over the window w. If average is true,
// the layer computes averages, as a depthwise convolution with equal weights. Otherwise, it
// computes maxima.
func Pooling(in layer.Shape, w layer.Window, average bool) Layer {
	if !average {
		return Layer{Lower: layer.Layer{Op: layer.Pool, In: in, Window: w}}
	}
	return Layer{Lower: layer.Depthwise(in, w), Average: true}
}

// A Need counts the constant values that a layer needs: weights, biases, and elements of a constant
// second operand.
type Need struct{ Filter, Bias, Second int }

// Needs counts the constant values that layer l needs. It does not count operands that l reads at
// run time.
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
	case layer.Add, layer.Sub, layer.Mul, layer.Max, layer.Min, layer.RealDiv, layer.Average, layer.Pow:
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

package network

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/x448/float16"

	"anesim/loader/lower"
	"anesim/loader/network/onnx"
)

// ReadONNX reads a network from an ONNX file. Errors are a *[FormatError]; operators
// that are no layer of the engine are layers with a Reason. A first dimension without a
// size is 1.
func ReadONNX(data []byte) (*Network, error) {
	m, err := onnx.Read(data)
	if err != nil {
		f := &FormatError{What: err.Error(), Err: err}
		var e *onnx.FormatError
		if errors.As(err, &e) {
			f.Off, f.What = e.Off, e.What
		}
		return nil, f
	}
	if len(m.Nodes) > maxLayers {
		return nil, &FormatError{Off: m.Nodes[maxLayers].Off, What: fmt.Sprintf("more than %d nodes", maxLayers)}
	}
	r := &graphReader{builder: newBuilder(), model: m, constants: m.Constants, dims: map[string][]int{}}
	r.net.Name = m.Name
	for _, in := range m.Inputs {
		if err := r.graphInput(in); err != nil {
			return nil, &FormatError{What: fmt.Sprintf("input %q: %v", in.Name, err)}
		}
	}
	for i := range m.Nodes {
		r.node(i, &m.Nodes[i])
	}
	var outputs []string
	for _, out := range m.Outputs {
		outputs = append(outputs, out.Name)
	}
	return r.finish(outputs), nil
}

// A graphReader builds a network of ONNX nodes. Tensors of fewer than four dimensions
// stand at the end of N, C, H, W.
type graphReader struct {
	*builder
	model     *onnx.Model
	constants map[string]*onnx.Tensor
	dims      map[string][]int // as the file has them
}

func (r *graphReader) graphInput(v onnx.Value) error {
	if v.Dims == nil {
		return errors.New("its shape is not stated")
	}
	var dims []int
	for i, d := range v.Dims {
		if d == 0 && i == 0 {
			d = 1
		}
		if d < 1 || d > maxExtent {
			return fmt.Errorf("dimension %d has no size", i)
		}
		dims = append(dims, int(d))
	}
	s, err := shapeOf(dims)
	if err == nil {
		err = validShape(s)
	}
	if err != nil {
		return err
	}
	r.input(v.Name, s)
	r.dims[v.Name] = dims
	return nil
}

// shapeOf is the shape of a tensor of up to four dimensions.
func shapeOf(dims []int) (lower.Shape, error) {
	const axes = 4
	if len(dims) > axes {
		return lower.Shape{}, fmt.Errorf("%d dimensions, the engine has %d", len(dims), axes)
	}
	e := [axes]int{1, 1, 1, 1}
	copy(e[axes-len(dims):], dims)
	return lower.Shape{N: e[0], C: e[1], H: e[2], W: e[3]}, nil
}

// A nodeReader is a node on its way to layers. The first error is kept.
type nodeReader struct {
	*graphReader
	*onnx.Node
	layer Layer // name, operator and output
}

// operator finds what reads an operator's nodes.
func operator(name string) (func(n *nodeReader) error, bool) {
	f, ok := map[string]func(n *nodeReader) error{
		"Conv": (*nodeReader).conv, "Gemm": (*nodeReader).gemm, "MatMul": (*nodeReader).matmul,
		"Add": binary(lower.Add), "Sub": binary(lower.Sub), "Mul": binary(lower.Mul), "Div": binary(0),
		"Max": binary(lower.Max), "Min": binary(lower.Min), "Sum": binary(lower.Add),
		"Relu": unary(lower.ReLU), "Sigmoid": unary(lower.Sigmoid), "Tanh": unary(lower.Tanh),
		"Gelu": unary(lower.GELU), "Swish": unary(lower.SiLU), "Exp": unary(lower.Exp), "Sqrt": unary(lower.Sqrt),
		"Clip": (*nodeReader).clip, "Softmax": (*nodeReader).softmax,
		"LayerNormalization": (*nodeReader).layerNorm, "BatchNormalization": (*nodeReader).batchNorm,
		"ReduceMean": reduction(lower.ReduceMean), "ReduceSum": reduction(lower.ReduceSum), "ReduceMax": reduction(lower.ReduceMax),
		"GlobalAveragePool": global(lower.ReduceMean), "GlobalMaxPool": global(lower.ReduceMax),
		"AveragePool": (*nodeReader).pool, "MaxPool": (*nodeReader).pool,
		"Concat": (*nodeReader).concat, "Slice": (*nodeReader).slice, "Split": (*nodeReader).split,
		"Transpose": (*nodeReader).transpose, "Reshape": (*nodeReader).reshaped, "Flatten": (*nodeReader).flatten,
		"Squeeze": (*nodeReader).squeeze, "Unsqueeze": (*nodeReader).unsqueeze,
		"Identity": (*nodeReader).identity, "Dropout": (*nodeReader).identity, "Cast": (*nodeReader).identity,
	}[name]
	return f, ok
}

func (r *graphReader) node(i int, n *onnx.Node) {
	if n.Op == "Constant" && len(n.Outputs) > 0 {
		if v := n.Attributes["value"]; v != nil && v.Tensor != nil {
			r.constants[n.Outputs[0]] = v.Tensor
			return
		}
	}
	x := &nodeReader{r, n, Layer{Name: n.Name, Op: n.Op}}
	if x.layer.Name == "" {
		x.layer.Name = n.Op + strconv.Itoa(i)
	}
	x.layer.Output = x.layer.Name
	if len(n.Outputs) > 0 && n.Outputs[0] != "" {
		x.layer.Output = n.Outputs[0]
	}
	err := x.read()
	if err == nil {
		return
	}
	for _, name := range n.Inputs {
		if _, ok := r.tensors[name]; ok {
			x.layer.Inputs = append(x.layer.Inputs, name)
		}
	}
	r.missing(x.layer, r.stated(x.layer.Output), err.Error())
	for _, out := range n.Outputs {
		if _, ok := r.tensors[out]; !ok && r.stated(out) == nil {
			r.unknown[out] = fmt.Sprintf("the shape of %q is not known: %s has none", out, x.layer.Name)
		}
	}
}

// stated is the shape that the file states of a tensor, nil without.
func (r *graphReader) stated(name string) *lower.Shape {
	v, ok := r.model.Known[name]
	if !ok || v.Dims == nil {
		return nil
	}
	var dims []int
	for _, d := range v.Dims {
		if d < 1 || d > maxExtent {
			return nil
		}
		dims = append(dims, int(d))
	}
	s, err := shapeOf(dims)
	if err != nil || validShape(s) != nil {
		return nil
	}
	r.dims[name], r.tensors[name] = dims, s
	return &s
}

func (n *nodeReader) read() error {
	f, ok := operator(n.Op)
	if !ok || n.Domain != "" && n.Domain != "ai.onnx" {
		return errors.New("no layer of the engine does this operator")
	}
	if len(n.Node.Inputs) == 0 {
		return errors.New("it has no input")
	}
	t := n.constant(0)
	switch n.Op {
	case "Identity", "Cast", "Dropout":
		if t != nil {
			n.constants[n.layer.Output] = t
			return nil
		}
	case "Add", "Mul", "Max", "Min", "Sum", "Sub", "Div":
		if t != nil {
			return f(n)
		}
	}
	if _, err := n.operand(0); err != nil {
		return err
	}
	return f(n)
}

// operand is the shape of an input that is no constant.
func (n *nodeReader) operand(i int) (lower.Shape, error) {
	if i >= len(n.Inputs) {
		return lower.Shape{}, fmt.Errorf("input %d is missing", i)
	}
	name := n.Inputs[i]
	if s, ok := n.tensors[name]; ok {
		return s, nil
	}
	if why, ok := n.unknown[name]; ok {
		return lower.Shape{}, errors.New(why)
	}
	if n.constants[name] != nil {
		return lower.Shape{}, fmt.Errorf("input %q is a constant", name)
	}
	return lower.Shape{}, fmt.Errorf("no node before makes %q", name)
}

// constant is an input's constant, nil where there is none.
func (n *nodeReader) constant(i int) *onnx.Tensor {
	if i < 0 || i >= len(n.Inputs) {
		return nil
	}
	return n.constants[n.Inputs[i]]
}

// dimsOf are a constant's dimensions.
func dimsOf(t *onnx.Tensor) []int {
	var dims []int
	for _, d := range t.Dims {
		dims = append(dims, int(d))
	}
	return dims
}

// halves are a constant's values, nil where they stand in another file.
func halves(t *onnx.Tensor) ([]float16.Float16, error) {
	if t.External() {
		return nil, nil
	}
	f, err := t.Floats()
	if err != nil {
		return nil, err
	}
	out := make([]float16.Float16, len(f))
	for i, v := range f {
		out[i] = float16.Fromfloat32(v)
	}
	return out, nil
}

func (n *nodeReader) int(name string, missing int) int {
	if a := n.Attributes[name]; a != nil {
		return int(max(-maxExtent, min(maxExtent, a.Int)))
	}
	return missing
}

func (n *nodeReader) float(name string, missing float32) float32 {
	if a := n.Attributes[name]; a != nil {
		return a.Float
	}
	return missing
}

// list is a list of integers: an attribute, or, in later versions, a constant input.
func (n *nodeReader) list(name string, input int) ([]int, bool, error) {
	var values []int64
	switch t := n.constant(input); {
	case n.Attributes[name] != nil:
		values = n.Attributes[name].Ints
	case t != nil:
		var err error
		if values, err = t.Ints(); err != nil {
			return nil, false, err
		}
	case 0 <= input && input < len(n.Inputs) && n.Inputs[input] != "":
		return nil, false, fmt.Errorf("%s is computed, not a constant", name)
	default:
		return nil, false, nil
	}
	list := make([]int, len(values))
	for i, v := range values {
		list[i] = int(max(-1<<40, min(1<<40, v)))
	}
	return list, true, nil
}

// emit adds a layer that computes the node's output of the given dimensions; nil are
// those of the result's shape.
func (n *nodeReader) emit(l Layer, dims []int, inputs ...string) error {
	if err := l.infer(); err != nil {
		var limit *lower.LimitError
		if !errors.As(err, &limit) || validShape(l.Out) != nil {
			return err
		}
		l.Reason = err.Error()
	}
	out := l.Out
	if dims == nil {
		dims = []int{out.N, out.C, out.H, out.W}
	}
	s, err := shapeOf(dims)
	if err != nil {
		return err
	}
	l.Name, l.Op, l.Output, l.Inputs = n.layer.Name, n.layer.Op, n.layer.Output, inputs
	n.add(l)
	n.tensors[l.Output], n.dims[l.Output] = s, dims
	return nil
}

// view makes the node's output a view of its input.
func (n *nodeReader) view(dims []int) error {
	s, err := shapeOf(dims)
	if err == nil {
		err = validShape(s)
	}
	if err == nil {
		err = n.builder.reshape(n.layer.Output, n.Inputs[0], s)
	}
	if err == nil {
		n.dims[n.layer.Output] = dims
	}
	return err
}

package reference

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
)

// Options changes how [Run] rounds numbers and computes functions and sums, for instance to model a
// device. The zero value computes everything in float64.
type Options struct {
	// Round is called for each element of a float tensor: with the operator's name for results
	// of nodes, and with op "" for inputs and constants. The element becomes the returned value.
	// If Round is nil, elements keep the precision of float64. [tensor.RoundHalf] and [tensor.RoundSingle]
	// round to smaller formats.
	Round func(op string, v float64) float64
	// Nearest rounds quotients to integers when they are quantized. If it is nil, the nearest
	// integer is taken, and of two equally near ones the even one, as ONNX defines it.
	Nearest func(v float64) float64
	// Function replaces the elementary function of the given name at x by y if ok is true, for
	// instance with the value of a device's table. The names are Exp, Log, Sqrt, Rsqrt,
	// Reciprocal, Sigmoid, Tanh, Erf, Gelu, SiLU, Softplus, HardSigmoid (with alpha 1/6), Sin,
	// Cos and Atan. Operators that consist of these functions use them too: Softmax uses Exp and
	// Reciprocal, Div multiplies by a Reciprocal, normalizations use Rsqrt, and an LSTM uses
	// Sigmoid and Tanh. If Function is nil, all functions are exact.
	Function func(name string, x float64) (y float64, ok bool)
	// Reduce computes the sums of convolutions and matmuls, for instance as a device does:
	// Arithmetic.Reduce of package summation. For each l it adds the sum of panel[k*len(acc)+l]*taps[k]
	// over all k to acc[l], which holds the bias or 0. If Reduce is nil, all sums are computed in float64.
	// Transposed convolutions, means and matmuls of quantized operators never use Reduce.
	Reduce func(acc, panel, taps []float64)
	// Observe is called after each node with its results, including nodes in branches and loop
	// bodies. A result is nil if the node leaves out that output. Observe must not change the
	// tensors. It may be nil.
	Observe func(node *onnx.Node, results []*tensor.Tensor)
}

// An InputError reports an input that is missing or unknown, or has the wrong type or shape.
type InputError struct {
	Name, What string
}

func (e *InputError) Error() string { return fmt.Sprintf("input %q: %s", e.Name, e.What) }

// A NodeError reports a node that cannot be computed, for instance because the shapes of its inputs
// do not match. Err is an *[UnsupportedError] if this package does not implement the operator or
// the form in which the node uses it.
type NodeError struct {
	Node string // name of the node, or of its first output if the node has no name
	Op   string
	Off  int64 // offset of the node in the file, in bytes
	Err  error
}

func (e *NodeError) Error() string { return fmt.Sprintf("node %q (%s): %v", e.Node, e.Op, e.Err) }

func (e *NodeError) Unwrap() error { return e.Err }

// An UnsupportedError reports an operator that this package does not implement. Form is set if only
// the form that a node uses is unsupported, such as a Cast to strings.
type UnsupportedError struct {
	Domain, Op string
	Form       string // the unsupported form, or "" if the operator is unsupported in all forms
}

func (e *UnsupportedError) Error() string {
	op := e.Op
	if e.Domain != "" {
		op = e.Domain + "." + op
	}
	if e.Form == "" {
		return "unsupported operator " + op
	}
	return fmt.Sprintf("unsupported form of %s: %s", op, e.Form)
}

// Run computes the outputs of a model from its inputs. Inputs and outputs are keyed by name. The
// inputs may include values that replace constants of the graph. An input whose Type is 0 gets the
// type that the model declares. The outputs share no memory with the inputs. The error is an
// *[InputError] or a *[NodeError].
func Run(m *onnx.Model, inputs map[string]*tensor.Tensor, o Options) (map[string]*tensor.Tensor, error) {
	r := &interpreter{Options: o, opset: m.Opsets[""], steps: maxSteps}
	if r.opset == 0 {
		r.opset = math.MaxInt64
	}
	s := newScope(&m.Graph, nil)
	if err := r.bindInputs(&m.Graph, s, inputs); err != nil {
		return nil, err
	}
	list, err := r.runGraph(&m.Graph, s)
	if err != nil {
		return nil, err
	}
	results := map[string]*tensor.Tensor{}
	for i, out := range m.Outputs {
		t := list[i]
		results[out.Name] = &tensor.Tensor{Type: t.Type, Dims: slices.Clone(t.Dims), Data: slices.Clone(t.Data)}
	}
	return results, nil
}

// maxSteps is the largest number of nodes to run, so that every loop ends.
const maxSteps = 1 << 20

// An interpreter runs the graphs of one model with one set of options. It counts the nodes that
// it runs, to end endless loops.
type interpreter struct {
	Options
	opset int64 // of the standard domain
	steps int   // remaining nodes that may run
}

// bindInputs stores the inputs in the scope s, with their elements rounded like results of nodes.
// It returns an *[InputError] if an input is missing, is unknown to the graph g, or differs from
// the type or shape that g declares.
func (r *interpreter) bindInputs(g *onnx.Graph, s *scope, inputs map[string]*tensor.Tensor) error {
	known := map[string]bool{}
	for _, v := range g.Inputs {
		known[v.Name] = true
		t := inputs[v.Name]
		if t == nil {
			return &InputError{v.Name, "missing"}
		}
		if err := t.CheckLength(); err != nil {
			return &InputError{v.Name, err.Error()}
		}
		if t.Type == 0 {
			t = t.WithType(v.Type)
		}
		if v.Type != 0 && t.Type != v.Type {
			return &InputError{v.Name, fmt.Sprintf("type is %v; want %v", t.Type, v.Type)}
		}
		if !matchesShape(t.Dims, v.Dims) {
			return &InputError{v.Name, fmt.Sprintf("shape is %v; want %v", t.Dims, v.Dims)}
		}
		s.values[v.Name] = r.roundOrWrapElements("", t)
	}
	// Constants may be given too, which replaces weights that the file does not have.
	for name, t := range inputs {
		if known[name] || t == nil {
			continue
		}
		if g.Constants[name] == nil {
			return &InputError{name, "unknown name; want an input or a constant of the graph"}
		}
		if err := t.CheckLength(); err != nil {
			return &InputError{name, err.Error()}
		}
		if t.Type == 0 {
			t = t.WithType(g.Constants[name].Type)
		}
		s.values[name] = r.roundOrWrapElements("", t)
	}
	return nil
}

// matchesShape reports whether the shape dims agrees with the declared dimensions. A declared
// dimension that has a name or no size agrees with any size, and a nil declaration agrees with any
// shape.
func matchesShape(dims []int, declared []onnx.Dim) bool {
	if declared == nil {
		return true
	}
	if len(dims) != len(declared) {
		return false
	}
	for i, d := range declared {
		if d.Size > 0 && d.Name == "" && int64(dims[i]) != d.Size {
			return false
		}
	}
	return true
}

// A scope has the tensors that the nodes of one graph can read, by name. The scope of a graph
// inside a node, such as a loop body, also gives access to the scopes around it.
type scope struct {
	values    map[string]*tensor.Tensor
	constants map[string]*onnx.Tensor
	uses      map[string]int  // remaining reads of a tensor by nodes and outputs
	fixed     map[string]bool // names of results of Constant nodes
	outer     *scope
}

func newScope(g *onnx.Graph, outer *scope) *scope {
	s := &scope{values: map[string]*tensor.Tensor{}, constants: g.Constants, uses: map[string]int{}, fixed: map[string]bool{}, outer: outer}
	countTensorReads(g, s.uses)
	return s
}

// countTensorReads adds how often each tensor is read in g and in the graphs inside it to uses, a
// map by the name of the tensor.
func countTensorReads(g *onnx.Graph, uses map[string]int) {
	for i := range g.Nodes {
		for _, name := range g.Nodes[i].Inputs {
			uses[name]++
		}
		for _, a := range g.Nodes[i].Attributes {
			if a != nil && a.Graph != nil {
				countTensorReads(a.Graph, uses)
			}
		}
	}
	for _, out := range g.Outputs {
		uses[out.Name]++
	}
}

// findTensor returns the tensor with the given name in s or, if s has none, in the nearest scope
// around it. A constant of the file is converted when it is first read.
func (r *interpreter) findTensor(s *scope, name string) (*tensor.Tensor, error) {
	for ; s != nil; s = s.outer {
		if t := s.values[name]; t != nil {
			return t, nil
		}
		if c := s.constants[name]; c != nil {
			t, err := convertConstant(c)
			if err != nil {
				return nil, err
			}
			t = r.roundOrWrapElements("", t)
			s.values[name] = t
			return t, nil
		}
	}
	return nil, fmt.Errorf("unknown tensor %q; want an input, a constant or the output of an earlier node", name)
}

// convertConstant converts a constant of the model's file to a Tensor. It returns an
// *[UnsupportedError] if the constant holds strings.
func convertConstant(c *onnx.Tensor) (*tensor.Tensor, error) {
	if c.Type == onnx.String {
		return nil, &UnsupportedError{Op: "Constant", Form: "string elements"}
	}
	dims := make([]int, len(c.Dims))
	for i, d := range c.Dims {
		dims[i] = int(d)
	}
	if err := c.CheckValues(); err != nil {
		return nil, err
	}
	t, err := tensor.New(c.Type, dims...)
	if err != nil {
		return nil, err
	}
	return t, c.Each(func(i int, v float64) { t.Data[i] = v })
}

// releaseTensor records that a node has read the named tensor. After the last node that reads it,
// releaseTensor removes the tensor from s to free its memory.
func (s *scope) releaseTensor(name string) {
	if s.uses[name]--; s.uses[name] <= 0 {
		delete(s.values, name)
	}
}

// runGraph runs the nodes of g one by one and returns the graph's outputs. The scope s must already
// hold the graph's inputs. Errors are of type *[NodeError].
func (r *interpreter) runGraph(g *onnx.Graph, s *scope) ([]*tensor.Tensor, error) {
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if err := r.runNode(n, s); err != nil {
			var inner *NodeError
			if errors.As(err, &inner) { // from a graph inside the node
				return nil, err
			}
			e := &NodeError{Node: n.Name, Op: n.Op, Off: n.Off, Err: err}
			if e.Node == "" && len(n.Outputs) > 0 {
				e.Node = n.Outputs[0]
			}
			return nil, e
		}
	}
	var list []*tensor.Tensor
	for _, out := range g.Outputs {
		t, err := r.findTensor(s, out.Name)
		if err != nil {
			return nil, &NodeError{Node: out.Name, Op: "output", Err: err}
		}
		list = append(list, t)
	}
	return list, nil
}

// runNode computes a node from the tensors in the scope s and stores its results there. It returns
// an error once the model has run maxSteps nodes.
func (r *interpreter) runNode(n *onnx.Node, s *scope) error {
	if r.steps--; r.steps < 0 {
		return fmt.Errorf("model exceeds the limit of %d executed nodes and loop iterations", maxSteps)
	}
	op, ok := operators[n.Op]
	qonnx := n.Domain == "qonnx.custom_op.general" || n.Domain == "onnx.brevitas"
	if !ok || n.Domain != "" && n.Domain != "ai.onnx" && n.Domain != "com.microsoft" && n.Domain != trainingDomain && !qonnx || qonnx && n.Op != "Quant" && n.Op != "BipolarQuant" {
		return &UnsupportedError{Domain: n.Domain, Op: n.Op}
	}
	c := &call{interpreter: r, node: n, in: make([]*tensor.Tensor, len(n.Inputs)), scope: s}
	for i, name := range n.Inputs {
		if name == "" {
			continue
		}
		var err error
		if c.in[i], err = r.findTensor(s, name); err != nil {
			return err
		}
	}
	for i := range op.inputs {
		if c.inputTensor(i) == nil {
			return fmt.Errorf("missing input %d; want at least %d inputs", i, op.inputs)
		}
	}
	results, err := op.compute(c)
	if err != nil {
		return err
	}
	if len(results) < len(n.Outputs) {
		return &UnsupportedError{Domain: n.Domain, Op: n.Op, Form: fmt.Sprintf("%d outputs", len(n.Outputs))}
	}
	results = slices.Clone(results[:len(n.Outputs)])
	for i, name := range n.Outputs {
		if name == "" {
			results[i] = nil
			continue
		}
		if results[i] == nil {
			return &UnsupportedError{Domain: n.Domain, Op: n.Op, Form: fmt.Sprintf("output %d", i)}
		}
		results[i] = r.roundOrWrapElements(n.Op, results[i])
		s.fixed[name] = n.Op == "Constant"
		s.values[name] = results[i]
	}
	if r.Observe != nil {
		r.Observe(n, results)
	}
	// Memory is freed after the last reader: large models would not fit otherwise.
	for _, name := range n.Inputs {
		s.releaseTensor(name)
	}
	return nil
}

// roundOrWrapElements returns t with its elements as a node of operator op would store them: floats
// rounded by Options.Round, and integers wrapped to the range of their type. It returns t itself if
// no element changes, and never changes t.
func (r *interpreter) roundOrWrapElements(op string, t *tensor.Tensor) *tensor.Tensor {
	if t.Type.IsFloat() && r.Round == nil {
		return t
	}
	out := t
	for i, v := range t.Data {
		stored := v
		if t.Type.IsFloat() {
			stored = r.Round(op, v)
		} else {
			stored = tensor.WrapInteger(t.Type, v)
		}
		if stored == v || stored != stored && v != v {
			continue
		}
		if out == t { // another tensor may share the values
			out = &tensor.Tensor{Type: t.Type, Dims: t.Dims, Data: slices.Clone(t.Data)}
		}
		out.Data[i] = stored
	}
	return out
}

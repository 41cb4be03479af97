package translate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"anesim/internal/network/graph"
	"anesim/internal/network/mil"
	"anesim/internal/network/onnx"
)

// An operation is a MIL operation that is being converted to nodes. It keeps the first error.
type operation struct {
	*reader
	*mil.Operation
	name    string
	steps   int
	missing string // a file that does not exist and holds elements of a packed argument
	err     error
	read    map[string]bool // arguments and attributes that the conversion asked for
}

// checkReads records an error for the first argument or attribute of the operation that its
// conversion did not ask for, because the program may mean something else by it. The attribute name
// says nothing about the computation.
func (x *operation) checkReads() {
	if x.err != nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(x.Inputs)) {
		if !x.read[key] {
			x.err = fmt.Errorf("argument %q of operation %s is not modelled", key, x.Type)
			return
		}
	}
	for _, key := range slices.Sorted(maps.Keys(x.Attributes)) {
		if !x.read[key] && key != "name" {
			x.err = fmt.Errorf("attribute %q of operation %s is not modelled", key, x.Type)
			return
		}
	}
}

// arguments returns the values of an argument, which may be a tuple.
func (x *operation) arguments(key string) []mil.Argument {
	x.read[key] = true
	return x.Inputs[key]
}

// argument returns the value of an argument. It records an error if there are several. The second
// result is false if the argument is absent.
func (x *operation) argument(key string) (mil.Argument, bool) {
	list := x.arguments(key)
	if len(list) > 1 && x.err == nil {
		x.err = fmt.Errorf("argument %q has %d values; want 1", key, len(list))
	}
	if len(list) == 0 {
		return mil.Argument{}, false
	}
	return list[0], true
}

// attributeValue returns the attribute with the given key, which is a constant.
func (x *operation) attributeValue(key string) (mil.Value, bool) {
	v, ok := x.Attributes[key]
	if ok {
		x.read[key] = true
	}
	return v, ok
}

// inputName returns the name of the value of an argument. For a constant without a name, it adds a
// constant to the graph first. It returns "" if the argument is absent.
func (x *operation) inputName(key string) string {
	a, ok := x.argument(key)
	if !ok {
		return ""
	}
	return x.argumentName(a)
}

func (x *operation) argumentName(a mil.Argument) string {
	if a.Name != "" {
		return a.Name
	}
	x.numbers++
	name := fmt.Sprintf("%s/value %d", x.name, x.numbers)
	if err := x.addConstant(name, a.Value); err != nil && x.err == nil {
		x.err = err
	}
	return name
}

// inputNames returns the names of the values of an argument that is a tuple.
func (x *operation) inputNames(key string) []string {
	var names []string
	for _, a := range x.arguments(key) {
		names = append(names, x.argumentName(a))
	}
	return names
}

func (x *operation) hasArgument(key string) bool { return len(x.arguments(key)) > 0 }

// constantTensor returns the constant argument with the given key. It returns nil if the argument
// is absent, and records an error if it is not a constant.
func (x *operation) constantTensor(key string) *onnx.Tensor {
	if t := x.constants[x.inputName(key)]; t != nil {
		if !t.External() {
			return t
		}
		x.recordMissingFile(t)
	}
	if x.hasArgument(key) && x.err == nil {
		x.err = fmt.Errorf("argument %q is computed or in a missing file; want a constant", key)
	}
	return nil
}

// recordMissingFile records that the file with the elements of t does not exist. Of several it keeps the
// least name, so that the result is the same each time.
func (x *operation) recordMissingFile(t *onnx.Tensor) {
	if x.missing == "" || t.File.Location < x.missing {
		x.missing = t.File.Location
	}
}

func (x *operation) intsArgument(key string) []int64 {
	t := x.constantTensor(key)
	if t == nil {
		return nil
	}
	v, err := t.Ints()
	if err != nil && x.err == nil {
		x.err = err
	}
	return v
}

func (x *operation) floatArgument(key string, fallback float64) float64 {
	t := x.constantTensor(key)
	if t == nil {
		return fallback
	}
	v, err := t.Numbers()
	if err == nil && len(v) != 1 {
		err = fmt.Errorf("argument %q has %d elements; want 1", key, len(v))
	}
	if err != nil {
		x.err = cmp.Or(x.err, err)
		return fallback
	}
	return v[0]
}

func (x *operation) intArgument(key string, fallback int64) int64 {
	return graph.Integer(x.floatArgument(key, float64(fallback)))
}

func (x *operation) boolArgument(key string) bool { return x.floatArgument(key, 0) != 0 }

func (x *operation) textArgument(key, fallback string) string {
	a, ok := x.argument(key)
	if !ok {
		return fallback
	}
	if s := a.Value.Strings; a.Name == "" && len(s) == 1 {
		return s[0]
	}
	if s, ok := x.texts[a.Name]; ok {
		return s
	}
	x.err = cmp.Or(x.err, fmt.Errorf("argument %q is not a constant text", key))
	return fallback
}

// declaredRank returns the number of axes that the program declares for the named value.
func (x *operation) declaredRank(name string) int { return len(x.dims[name]) }

// An attribute is an attribute of a node, with its name.
type attribute struct {
	name  string
	value onnx.Attribute
}

func newIntsAttr(name string, v ...int64) attribute { return attribute{name, onnx.Attribute{Ints: v}} }
func newIntAttr(name string, v int64) attribute     { return attribute{name, onnx.Attribute{Int: v}} }
func newFloatAttr(name string, v float64) attribute {
	return attribute{name, onnx.Attribute{Float: float32(v)}}
}
func newTextAttr(name, v string) attribute { return attribute{name, onnx.Attribute{Text: v}} }

// emitNode appends a node with operator op, which reads inputs and produces the operation's
// outputs.
func (x *operation) emitNode(op string, inputs []string, attributes ...attribute) {
	var out []string
	for _, o := range x.Outputs {
		out = append(out, o.Name)
	}
	x.appendNode(op, inputs, out, attributes)
}

// emitIntermediateNode appends a node with operator op, which reads inputs and produces an
// intermediate tensor. It returns the name of that tensor.
func (x *operation) emitIntermediateNode(op string, inputs []string, attributes ...attribute) string {
	x.steps++
	out := fmt.Sprintf("%s/step %d", x.Outputs[0].Name, x.steps)
	x.appendNode(op, inputs, []string{out}, attributes)
	return out
}

func (x *operation) appendNode(op string, in, out []string, attributes []attribute) {
	n := onnx.Node{Name: x.name, Op: op, Inputs: in, Outputs: out, Off: x.Off, Attributes: map[string]*onnx.Attribute{}}
	for _, a := range attributes {
		v := a.value
		n.Attributes[a.name] = &v
	}
	x.model.Nodes = append(x.model.Nodes, n)
}

// emitUnknownOperation appends a node whose operator is the name of the operation. No layer
// implements it, so it is reported as unsupported.
func (x *operation) emitUnknownOperation() {
	why := ""
	if x.err != nil {
		why = x.err.Error()
	}
	var in []string
	for _, key := range slices.Sorted(maps.Keys(x.Inputs)) {
		for _, a := range x.Inputs[key] {
			if a.Name != "" && x.constants[a.Name] == nil && x.texts[a.Name] == "" {
				in = append(in, a.Name)
			}
		}
	}
	x.emitNode("mil."+x.Operation.Type, in, newTextAttr("why", why))
}

// newConstant adds a constant of type elem and shape dims, with the elements v, to the graph under
// a new name, which it returns.
func (x *operation) newConstant(elem onnx.DataType, dims []int64, v ...float64) string {
	x.numbers++
	name := fmt.Sprintf("%s/value %d", x.name, x.numbers)
	var raw []byte
	for _, f := range v {
		raw = elem.Append(raw, f)
	}
	x.model.Constants[name] = onnx.NewTensor(name, elem, dims, raw)
	x.dims[name], x.elems[name] = dims, elem
	return name
}

func (x *operation) newIntsConstant(v ...int64) string {
	f := make([]float64, len(v))
	for i := range v {
		f[i] = float64(v[i])
	}
	return x.newConstant(onnx.Int64, []int64{int64(len(v))}, f...)
}

func (x *operation) newFloatConstant(v float64) string {
	return x.newConstant(onnx.Float, []int64{}, v)
}

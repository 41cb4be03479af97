package translate

import (
	"fmt"

	"anesim/loader/network/graph"
	"anesim/loader/network/mil"
	"anesim/loader/network/onnx"
)

// A operation is an operation on its way to nodes. The first error is kept.
type operation struct {
	*reader
	*mil.Operation
	name  string
	steps int
	err   error
}

// in is the name of an argument's value; a value without one is given one. "" is none.
func (x *operation) in(key string) string {
	list := x.Inputs[key]
	if len(list) == 0 {
		return ""
	}
	return x.named(list[0])
}

func (x *operation) named(a mil.Argument) string {
	if a.Name != "" {
		return a.Name
	}
	x.numbers++
	name := fmt.Sprintf("%s/value %d", x.name, x.numbers)
	if err := x.constant(name, a.Value); err != nil && x.err == nil {
		x.err = err
	}
	return name
}

// list is the names of a tuple of values.
func (x *operation) list(key string) []string {
	var names []string
	for _, a := range x.Inputs[key] {
		names = append(names, x.named(a))
	}
	return names
}

func (x *operation) has(key string) bool { return len(x.Inputs[key]) > 0 }

// value is a constant argument's tensor, nil where it is none.
func (x *operation) value(key string) *onnx.Tensor {
	if t := x.fixed[x.in(key)]; t != nil && !t.External() {
		return t
	}
	if x.has(key) && x.err == nil {
		x.err = fmt.Errorf("%s is no constant", key)
	}
	return nil
}

func (x *operation) ints(key string) []int64 {
	t := x.value(key)
	if t == nil {
		return nil
	}
	v, err := t.Ints()
	if err != nil && x.err == nil {
		x.err = err
	}
	return v
}

func (x *operation) number(key string, missing float64) float64 {
	t := x.value(key)
	if t == nil || t.Elements() != 1 {
		return missing
	}
	v, err := t.Numbers()
	if err != nil {
		return missing
	}
	return v[0]
}

func (x *operation) int(key string, missing int64) int64 {
	return graph.Integer(x.number(key, float64(missing)))
}

func (x *operation) bool(key string) bool { return x.number(key, 0) != 0 }

func (x *operation) text(key, missing string) string {
	list := x.Inputs[key]
	if len(list) == 0 {
		return missing
	}
	if s := list[0].Value.Strings; list[0].Name == "" && len(s) == 1 {
		return s[0]
	}
	if s, ok := x.texts[list[0].Name]; ok {
		return s
	}
	return missing
}

// rank is the number of dimensions of a value.
func (x *operation) rank(name string) int { return len(x.dims[name]) }

// An attribute is a node's, by name.
type attribute struct {
	name  string
	value onnx.Attribute
}

func integers(name string, v ...int64) attribute { return attribute{name, onnx.Attribute{Ints: v}} }
func integer(name string, v int64) attribute     { return attribute{name, onnx.Attribute{Int: v}} }
func decimal(name string, v float64) attribute {
	return attribute{name, onnx.Attribute{Float: float32(v)}}
}
func textual(name, v string) attribute { return attribute{name, onnx.Attribute{Text: v}} }

// node appends a node that makes the operation's outputs.
func (x *operation) node(op string, inputs []string, attributes ...attribute) {
	var out []string
	for _, o := range x.Outputs {
		out = append(out, o.Name)
	}
	x.append(op, inputs, out, attributes)
}

// step appends a node whose output the next ones read.
func (x *operation) step(op string, inputs []string, attributes ...attribute) string {
	x.steps++
	out := fmt.Sprintf("%s/step %d", x.Outputs[0].Name, x.steps)
	x.append(op, inputs, []string{out}, attributes)
	return out
}

func (x *operation) append(op string, in, out []string, attributes []attribute) {
	n := onnx.Node{Name: x.name, Op: op, Inputs: in, Outputs: out, Off: x.Off, Attributes: map[string]*onnx.Attribute{}}
	for _, a := range attributes {
		v := a.value
		n.Attributes[a.name] = &v
	}
	x.model.Nodes = append(x.model.Nodes, n)
}

// unknown appends a node that is no layer, under the operation's own name.
func (x *operation) unknown() {
	why := ""
	if x.err != nil {
		why = x.err.Error()
	}
	var in []string
	for _, key := range sortedKeys(x.Inputs) {
		for _, a := range x.Inputs[key] {
			if a.Name != "" && x.fixed[a.Name] == nil && x.texts[a.Name] == "" {
				in = append(in, a.Name)
			}
		}
	}
	x.node("mil."+x.Operation.Type, in, textual("why", why))
}

// array makes numbers a constant.
func (x *operation) array(elem onnx.DataType, dims []int64, v ...float64) string {
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

func (x *operation) wholes(v ...int64) string {
	f := make([]float64, len(v))
	for i := range v {
		f[i] = float64(v[i])
	}
	return x.array(onnx.Int64, []int64{int64(len(v))}, f...)
}

func (x *operation) real(v float64) string { return x.array(onnx.Float, []int64{}, v) }

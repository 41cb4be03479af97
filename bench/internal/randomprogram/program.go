package randomprogram

import (
	"fmt"
	"slices"
	"strings"

	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
)

// A Value names a tensor of a program: an input, a constant or the result of an operation.
type Value struct {
	Name string
	Type onnx.DataType
	Dims []int

	data  []float64 // in float64, without rounding
	exact bool      // fp16 holds all elements, whatever computes them
	from  int       // statement that computes the value, or -1 for an input
}

// A statement computes values from other values.
type statement struct {
	op      string
	in, out []int    // numbers of values
	lines   []string // text, with the constants that it needs before it
	eval    func(in [][]float64) [][]float64
}

// A Program is a random program in MIL, Core ML's text format for networks.
type Program struct {
	Values  []*Value
	Inputs  []int // numbers of values
	Outputs []int // numbers of values

	statements []statement
	needed     []bool // statements that outputs depend on
}

var typeNames = map[onnx.DataType]string{onnx.Float16: "fp16", onnx.Float: "fp32", onnx.Bool: "bool", onnx.Int32: "int32"}

// listInts returns numbers in brackets, as in a shape.
func listInts(v []int) string { return strings.ReplaceAll(fmt.Sprint(v), " ", ", ") }

func (v *Value) formatDeclaration() string {
	return fmt.Sprintf("tensor<%s, %s> %s", typeNames[v.Type], listInts(v.Dims), v.Name)
}

// Select returns a copy of p whose outputs are the values with the given numbers. The copy omits
// statements on which no output depends.
func (p *Program) Select(outputs ...int) *Program {
	q := *p
	q.Outputs = outputs
	q.needed = make([]bool, len(p.statements))
	var visit func(v int)
	visit = func(v int) {
		at := p.Values[v].from
		if at < 0 || q.needed[at] {
			return
		}
		q.needed[at] = true
		for _, i := range p.statements[at].in {
			visit(i)
		}
	}
	for _, v := range outputs {
		visit(v)
	}
	return &q
}

// Minimize looks for a part of p that still fails, to make the cause of a failure easier to find.
// It tries copies of p with a single value as their output, in the order of the statements. It
// returns the first copy for which fails returns true, or p if there is none.
func (p *Program) Minimize(fails func(p *Program) bool) *Program {
	for i := range p.Values {
		if p.Values[i].from < 0 || p.statements[p.Values[i].from].op == "const" {
			continue
		}
		if q := p.Select(i); fails(q) {
			return q
		}
	}
	return p
}

// Operations returns the types of the operations that the outputs depend on.
func (p *Program) Operations() []string {
	var ops []string
	for i, s := range p.statements {
		if p.needed[i] && s.op != "const" {
			ops = append(ops, s.op)
		}
	}
	return ops
}

// Text returns the program as MIL text.
func (p *Program) Text() string {
	var b strings.Builder
	var in, out []string
	for _, i := range p.Inputs {
		in = append(in, p.Values[i].formatDeclaration())
	}
	for _, i := range p.Outputs {
		out = append(out, p.Values[i].Name)
	}
	fmt.Fprintf(&b, "program(1.3)\n{\n    func main<ios18>(%s) {\n", strings.Join(in, ", "))
	for i, s := range p.statements {
		if p.needed[i] {
			for _, line := range s.lines {
				fmt.Fprintf(&b, "        %s;\n", line)
			}
		}
	}
	fmt.Fprintf(&b, "    } -> (%s);\n}\n", strings.Join(out, ", "))
	return b.String()
}

// Tensors returns the values of the inputs, keyed by name.
func (p *Program) Tensors() map[string]*tensor.Tensor {
	m := map[string]*tensor.Tensor{}
	for _, i := range p.Inputs {
		v := p.Values[i]
		m[v.Name] = &tensor.Tensor{Type: v.Type, Dims: v.Dims, Data: v.data}
	}
	return m
}

// Run computes the outputs of p and returns them by name. It replaces each element v of a
// floating-point result by round(op, v), where op is the type of the operation, such as "add". If
// round is nil, nothing is rounded.
func (p *Program) Run(round func(op string, v float64) float64) map[string]*tensor.Tensor {
	data := make([][]float64, len(p.Values))
	for _, i := range p.Inputs {
		data[i] = p.Values[i].data
	}
	for at, s := range p.statements {
		if !p.needed[at] {
			continue
		}
		in := make([][]float64, len(s.in))
		for k, i := range s.in {
			in[k] = data[i]
		}
		for k, v := range s.eval(in) {
			if o := p.Values[s.out[k]]; round != nil && o.Type.IsFloat() && s.op != "const" {
				v = slices.Clone(v)
				for j := range v {
					v[j] = round(s.op, v[j])
				}
			}
			data[s.out[k]] = v
		}
	}
	m := map[string]*tensor.Tensor{}
	for _, i := range p.Outputs {
		m[p.Values[i].Name] = &tensor.Tensor{Type: p.Values[i].Type, Dims: p.Values[i].Dims, Data: data[i]}
	}
	return m
}

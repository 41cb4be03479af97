package probe

import (
	"encoding/binary"
	"fmt"

	"github.com/x448/float16"

	"anesim/internal/network/mil"
)

type half = float16.Float16

// A question describes an output of the probe's model: the results of a layer of one or two operations.
type question struct {
	name  string
	shape []int
	// operands returns the operands of result i of a layer that computes sums of products: the bias,
	// the inputs, and as many weights. It is nil for other layers.
	operands func(i int) (bias float32, x, w []half)
	relu     bool      // negative sums become 0
	of       [][]half  // inputs of a layer that is not made of sums, in the order of its arguments
	exact    []float64 // results without any rounding of such a layer, nil if nothing compares them
}

func (q *question) countElements() int { return countShapeElements(q.shape) }

func countShapeElements(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// An input holds an input of the probe's model and its values.
type input struct {
	name  string
	shape []int
	data  []half
}

// A builder collects the operations of the probe's model, its inputs and the questions.
type builder struct {
	main      mil.Function
	inputs    []input
	questions []*question
	constants int
}

// arguments maps the names of an operation's arguments to inputs and results.
type arguments map[string]string

// addInput adds an input.
func (b *builder) addInput(name string, data []half, shape ...int) input {
	if len(data) != countShapeElements(shape) {
		panic(fmt.Sprintf("probe: input %s has %d values; want shape %v", name, len(data), shape))
	}
	in := input{name, shape, data}
	b.inputs = append(b.inputs, in)
	b.main.Inputs = append(b.main.Inputs, mil.Var{Name: name, Type: newType("fp16", shape...)})
	return in
}

// ask adds a question with the last operation of its layer.
func (b *builder) ask(q *question, op string, from arguments) {
	b.addOperation(op, q.name, q.shape, from)
	b.main.Outputs = append(b.main.Outputs, q.name)
	b.questions = append(b.questions, q)
}

// addOperation adds an operation and returns the name of its result.
func (b *builder) addOperation(op, result string, shape []int, from arguments) string {
	in := map[string][]mil.Argument{}
	for key, name := range from {
		in[key] = []mil.Argument{{Name: name}}
	}
	return b.appendOperation(mil.Operation{Type: op, Inputs: in, Attributes: map[string]mil.Value{}}, result, newType("fp16", shape...))
}

// addConstant adds a constant and returns its name.
func (b *builder) addConstant(v mil.Value) string {
	b.constants++
	op := mil.Operation{Type: "const", Attributes: map[string]mil.Value{"val": v}}
	return b.appendOperation(op, fmt.Sprintf("constant_%d", b.constants), v.Type)
}

func (b *builder) appendOperation(op mil.Operation, result string, t mil.Type) string {
	op.Attributes["name"] = newText(result)
	op.Outputs = []mil.Var{{Name: result, Type: t}}
	b.main.Operations = append(b.main.Operations, op)
	return result
}

// toProgram returns the model as a program whose constants are all in the program itself.
func (b *builder) toProgram() *mil.Program {
	f := b.main
	f.Name, f.Opset = "main", "CoreML6" // the operations of macOS 13, the first with fp16 inputs
	return &mil.Program{Version: "1", Functions: []mil.Function{f}}
}

func newType(elem mil.Elem, shape ...int) mil.Type {
	t := mil.Type{Elem: elem, Dims: []int64{}}
	for _, d := range shape {
		t.Dims = append(t.Dims, int64(d))
	}
	return t
}

func newText(s string) mil.Value {
	return mil.Value{Type: newType("string"), Strings: []string{s}}
}

func newBool(v bool) mil.Value {
	data := []byte{0}
	if v {
		data[0] = 1
	}
	return mil.Value{Type: newType("bool"), Data: data}
}

func newInteger(n int) mil.Value {
	return mil.Value{Type: newType("int32"), Data: binary.LittleEndian.AppendUint32(nil, uint32(n))}
}

func newIntegers(list ...int) mil.Value {
	v := mil.Value{Type: newType("int32", len(list))}
	for _, n := range list {
		v.Data = binary.LittleEndian.AppendUint32(v.Data, uint32(n))
	}
	return v
}

// newHalves returns a constant tensor, or a scalar if shape is empty.
func newHalves(data []half, shape ...int) mil.Value {
	return mil.Value{Type: newType("fp16", shape...), Data: encodeHalves(data)}
}

// encodeHalves returns the values as little-endian bytes.
func encodeHalves(data []half) []byte {
	out := make([]byte, 0, 2*len(data))
	for _, h := range data {
		out = binary.LittleEndian.AppendUint16(out, uint16(h))
	}
	return out
}

func toHalf(v float64) half { return float16.Fromfloat32(float32(v)) }

func toHalves[F float32 | float64](list []F) []half {
	out := make([]half, len(list))
	for i, v := range list {
		out[i] = toHalf(float64(v))
	}
	return out
}

func toFloat64(h half) float64 { return float64(h.Float32()) }

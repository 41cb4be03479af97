package translate

import (
	"errors"
	"fmt"
	"maps"

	"anesim/internal/network/graph"
	"anesim/internal/network/mil"
	"anesim/internal/network/onnx"
)

// maxUnrolled bounds the operations of blocks that are converted, counted each time. It bounds the time for
// loops that leave no nodes.
const maxUnrolled = 1 << 16

// translateControl converts an operation with blocks. If that fails for another reason than a malformed
// block, the operation is unknown.
func (x *operation) translateControl() error {
	first := len(x.model.Nodes)
	var err error
	switch x.Type {
	case "while_loop":
		err = x.unrollLoop()
	case "cond":
		err = x.chooseBranch()
	default:
		x.fail(fmt.Errorf("engine does not support operator %s", x.Type))
	}
	if err != nil || x.err == nil {
		return err
	}
	x.model.Nodes = x.model.Nodes[:first]
	x.emitUnknownOperation()
	return nil
}

// chooseBranch converts a cond whose condition is a constant: the operations of one of its blocks.
func (x *operation) chooseBranch() error {
	pred := x.constantTensor("pred")
	if pred == nil || len(x.Blocks) != 2 {
		x.fail(errors.New("the condition depends on values"))
		return nil
	}
	v, ok := x.constantScalar(x.inputName("pred"))
	if !ok {
		x.fail(errors.New("the condition is not a single constant"))
		return nil
	}
	b := &x.Blocks[0]
	if v == 0 {
		b = &x.Blocks[1]
	}
	results, err := x.convertBlock(b, nil)
	if err == nil && x.err == nil {
		x.copyResults(results)
	}
	return err
}

// unrollLoop converts a while_loop whose number of rounds is constant: the condition of each follows from
// constants. The first block is the condition, and the second the body; both read the
// variables of the loop.
func (x *operation) unrollLoop() error {
	vars := x.inputNames("loop_vars")
	if len(x.Blocks) != 2 || len(x.Blocks[0].Outputs) != 1 {
		x.fail(errors.New("loop has no condition or no body"))
		return nil
	}
	for rounds := 0; ; rounds++ {
		again, err := x.convertBlock(&x.Blocks[0], vars)
		if err != nil || x.err != nil {
			return err
		}
		v, ok := x.constantScalar(again[0])
		if !ok {
			x.fail(errors.New("number of rounds is not constant"))
			return nil
		}
		if v == 0 {
			x.copyResults(vars)
			return nil
		}
		if rounds == graph.MaxRounds {
			x.fail(fmt.Errorf("loop has more than %d rounds; want at most as many", graph.MaxRounds))
			return nil
		}
		if vars, err = x.convertBlock(&x.Blocks[1], vars); err != nil || x.err != nil {
			return err
		}
	}
}

func (x *operation) fail(err error) {
	if x.err == nil {
		x.err = err
	}
}

// copyResults makes the results of the operation copies of the named values.
func (x *operation) copyResults(names []string) {
	if len(names) != len(x.Outputs) {
		x.fail(fmt.Errorf("block has %d results; want %d", len(names), len(x.Outputs)))
		return
	}
	for i, name := range names {
		out := x.Outputs[i].Name
		if t := x.constants[name]; t != nil {
			x.model.Constants[out], x.constants[out] = t, t
			x.dims[out], x.elems[out] = x.dims[name], x.elems[name]
			continue
		}
		x.appendNode("Identity", []string{name}, []string{out}, nil)
	}
}

// convertBlock converts the operations of a block whose inputs have the given values, and returns the names
// of its results. Each time, the values in it get new names. It sets x.err if an operation is not
// supported.
func (x *operation) convertBlock(b *mil.Block, inputs []string) (results []string, err error) {
	if len(inputs) != len(b.Inputs) {
		x.fail(fmt.Errorf("block has %d inputs; want %d", len(b.Inputs), len(inputs)))
		return nil, nil
	}
	x.copies++
	// A block is converted once for each iteration, and every copy needs names of its own.
	prefix := fmt.Sprintf("%s/%d/", x.name, x.copies)
	outer := x.renamed
	x.reader.renamed = maps.Clone(outer)
	if x.renamed == nil {
		x.reader.renamed = map[string]string{}
	}
	defer func() { x.reader.renamed = outer }()
	for i, in := range b.Inputs {
		x.renamed[in.Name] = inputs[i]
	}
	for i := range b.Operations {
		// Loops may nest, so the limit counts operations over all of them.
		if x.unrolled++; x.unrolled > maxUnrolled {
			x.fail(fmt.Errorf("unrolled blocks exceed the limit of %d operations", maxUnrolled))
			return nil, nil
		}
		op := x.copyOperation(&b.Operations[i], prefix)
		// Conditions of loops are computed from counters: unless these are constants, it is not known how
		// often the body runs.
		if x.foldScalar(op) {
			continue
		}
		if err := x.translateOperation(op); err != nil {
			return nil, err
		}
	}
	for _, name := range b.Outputs {
		results = append(results, x.nameInBlock(name))
	}
	return results, nil
}

// nameInBlock returns the name of a value that the block being converted calls by the given name.
func (r *reader) nameInBlock(name string) string {
	if own, ok := r.renamed[name]; ok {
		return own
	}
	return name
}

// copyOperation returns a copy of an operation of a block that reads and writes the values of this conversion
// of the block. Nested blocks are not copied: their values are renamed when they are converted.
func (x *operation) copyOperation(op *mil.Operation, prefix string) *mil.Operation {
	y := *op
	y.Inputs = make(map[string][]mil.Argument, len(op.Inputs))
	for key, list := range op.Inputs {
		for _, a := range list {
			if a.Name != "" {
				a.Name = x.nameInBlock(a.Name)
			}
			y.Inputs[key] = append(y.Inputs[key], a)
		}
	}
	y.Attributes = maps.Clone(op.Attributes)
	delete(y.Attributes, "name") // of which there is one for all conversions
	y.Outputs = nil
	for _, out := range op.Outputs {
		own := prefix + out.Name
		x.renamed[out.Name] = own
		y.Outputs = append(y.Outputs, mil.Var{Name: own, Type: out.Type})
	}
	return &y
}

// constantScalar returns the only element of the named value. ok is false if the value is not a constant with
// one element.
func (r *reader) constantScalar(name string) (v float64, ok bool) {
	t := r.constants[name]
	if t == nil || t.External() || t.Elements() != 1 {
		return 0, false
	}
	list, err := t.Numbers()
	if err != nil {
		return 0, false
	}
	return list[0], true
}

// scalarOperations holds the operations that compute the counter of a loop and its condition.
var scalarOperations = map[string]func(a, b float64) float64{
	"add": func(a, b float64) float64 { return a + b }, "sub": func(a, b float64) float64 { return a - b },
	"mul":  func(a, b float64) float64 { return a * b },
	"less": func(a, b float64) float64 { return truth(a < b) }, "less_equal": func(a, b float64) float64 { return truth(a <= b) },
	"greater": func(a, b float64) float64 { return truth(a > b) }, "greater_equal": func(a, b float64) float64 { return truth(a >= b) },
	"equal": func(a, b float64) float64 { return truth(a == b) }, "not_equal": func(a, b float64) float64 { return truth(a != b) },
	"logical_and": func(a, b float64) float64 { return truth(a != 0 && b != 0) }, "logical_or": func(a, b float64) float64 { return truth(a != 0 || b != 0) },
	"logical_not": func(a, _ float64) float64 { return truth(a == 0) }, "identity": func(a, _ float64) float64 { return a },
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// foldScalar makes the result of op a constant, and returns true, if op computes a single integer or
// bool from constants. Numbers beyond 2^31 and other types are left to the graph.
func (x *operation) foldScalar(op *mil.Operation) bool {
	f := scalarOperations[op.Type]
	if f == nil || len(op.Outputs) != 1 || len(op.Blocks) > 0 {
		return false
	}
	out := op.Outputs[0]
	elem := elemTypes[out.Type.Elem]
	if out.Type.Elements() != 1 || elem != onnx.Int32 && elem != onnx.Bool {
		return false
	}
	var operands [2]float64
	for i, key := range []string{"x", "y"} {
		list := op.Inputs[key]
		if len(list) == 0 && i == 1 && (op.Type == "logical_not" || op.Type == "identity") {
			continue
		}
		if len(list) != 1 {
			return false
		}
		inner := &operation{reader: x.reader, Operation: op, name: out.Name}
		name := inner.argumentName(list[0])
		t := x.constants[name]
		v, ok := x.constantScalar(name)
		if !ok || t.Type.IsFloat() {
			return false
		}
		operands[i] = v
	}
	v := f(operands[0], operands[1])
	// The result is stored as int32.
	const limit = 1 << 31
	if v < -limit || v >= limit {
		return false
	}
	r := x.reader
	r.declareValue(out)
	t := onnx.NewTensor(out.Name, elem, out.Type.Dims, elem.Append(nil, v))
	r.model.Constants[out.Name], r.constants[out.Name] = t, t
	return true
}

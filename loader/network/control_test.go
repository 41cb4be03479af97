package network

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"anesim/internal/network/coreml"
	"anesim/internal/network/mil"
)

var (
	scalarInt  = mil.Type{Elem: "int32", Dims: []int64{}}
	scalarBool = mil.Type{Elem: "bool", Dims: []int64{}}
	wholeX     = mil.Type{Elem: "fp16", Dims: []int64{1, 4, 2, 8}}
)

func intArg(v int32) mil.Argument {
	return mil.Argument{Value: mil.Value{Type: scalarInt, Data: binary.LittleEndian.AppendUint32(nil, uint32(v))}}
}

// milOp returns an operation with the inputs x and y, which are names or integers.
func milOp(kind, out string, t mil.Type, in ...any) mil.Operation {
	op := mil.Operation{Type: kind, Outputs: []mil.Var{{Name: out, Type: t}}, Inputs: map[string][]mil.Argument{}}
	for i, v := range in {
		a := mil.Argument{}
		if name, ok := v.(string); ok {
			a.Name = name
		} else {
			a = intArg(int32(v.(int)))
		}
		op.Inputs[[]string{"x", "y"}[i]] = []mil.Argument{a}
	}
	return op
}

// newMILLoop returns a model whose loop applies relu and tanh to x, from the counter first while the counter and
// last are in the relation less. last is a number or the name of an input.
func newMILLoop(first int, less string, last any, body ...mil.Operation) []byte {
	vars := []mil.Var{{Name: "i", Type: scalarInt}, {Name: "v", Type: wholeX}}
	if body == nil {
		body = []mil.Operation{milOp("relu", "a", wholeX, "v"), milOp("tanh", "b", wholeX, "a"), milOp("add", "next", scalarInt, "i", 2)}
	}
	loop := mil.Operation{
		Type: "while_loop", Inputs: map[string][]mil.Argument{"loop_vars": {intArg(int32(first)), {Name: "x"}}},
		Outputs: []mil.Var{{Name: "n", Type: scalarInt}, {Name: "w", Type: wholeX}},
		Blocks: []mil.Block{
			{Inputs: vars, Operations: []mil.Operation{milOp(less, "more", scalarBool, "i", last)}, Outputs: []string{"more"}},
			{Inputs: vars, Operations: body, Outputs: []string{"next", "b"}},
		},
	}
	f := mil.Function{Name: "main", Opset: "CoreML7", Inputs: []mil.Var{{Name: "x", Type: wholeX}, {Name: "limit", Type: scalarInt}},
		Operations: []mil.Operation{loop, milOp("abs", "y", wholeX, "w")}, Outputs: []string{"y"}}
	return coreml.Encode(&mil.Program{Functions: []mil.Function{f}})
}

// A loop whose count follows from constants becomes its iterations, however often; a loop whose count depends on
// values, or that never ends, is refused.
func TestLoopsOfMIL(t *testing.T) {
	for _, tc := range []struct {
		name    string
		file    []byte
		count   int // of iterations
		refused string
	}{
		{"three iterations", newMILLoop(0, "less", 6), 3, ""},
		{"up to and with the last", newMILLoop(0, "less_equal", 6), 4, ""},
		{"none", newMILLoop(6, "less", 6), 0, ""},
		{"a count that is an input", newMILLoop(0, "less", "limit"), 0, "number of rounds is not constant"},
		{"512 iterations", newMILLoop(0, "less", 1024), 512, ""},
		{"513 iterations", newMILLoop(0, "less", 1026), 0, "more than 512 rounds"},
		{"no end", newMILLoop(0, "greater_equal", 0), 0, "more than 512 rounds"},
		{"a body that is not supported", newMILLoop(0, "less", 4, milOp("unheard", "b", wholeX, "v"), milOp("add", "next", scalarInt, "i", 1)), 0, "unheard"},
	} {
		n, err := ReadCoreML(tc.file, Options{})
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		checkNetwork(t, n)
		var ops, refused []string
		for i := range n.Layers {
			if l := &n.Layers[i]; l.Reason != "" {
				refused = append(refused, l.Op+": "+l.Reason)
			}
			if op := n.Layers[i].Op; op == "Relu" || op == "Tanh" {
				ops = append(ops, op)
			}
		}
		want := strings.Fields(strings.Repeat("Relu Tanh ", tc.count))
		if tc.refused == "" && (!slices.Equal(ops, want) || refused != nil) || tc.refused != "" && !strings.Contains(fmt.Sprint(refused), tc.refused) {
			t.Errorf("%s: layers %v, refused %v; want %v, refused %q", tc.name, ops, refused, want, tc.refused)
		}
	}
}

// A condition that is constant chooses one of two blocks.
func TestBranchesOfMIL(t *testing.T) {
	for _, truth := range []byte{0, 1} {
		pred := mil.Argument{Value: mil.Value{Type: scalarBool, Data: []byte{truth}}}
		branch := mil.Operation{Type: "cond", Inputs: map[string][]mil.Argument{"pred": {pred}}, Outputs: []mil.Var{{Name: "y", Type: wholeX}}, Blocks: []mil.Block{
			{Operations: []mil.Operation{milOp("relu", "a", wholeX, "x")}, Outputs: []string{"a"}},
			{Operations: []mil.Operation{milOp("tanh", "a", wholeX, "x")}, Outputs: []string{"a"}},
		}}
		f := mil.Function{Name: "main", Opset: "CoreML7", Inputs: []mil.Var{{Name: "x", Type: wholeX}}, Operations: []mil.Operation{branch}, Outputs: []string{"y"}}
		n, err := ReadCoreML(coreml.Encode(&mil.Program{Functions: []mil.Function{f}}), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"Tanh", "Relu"}[truth]; len(n.Layers) != 1 || n.Layers[0].Op != want {
			t.Errorf("condition %d: %+v; want %s", truth, n.Layers, want)
		}
	}
}

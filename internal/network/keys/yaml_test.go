package keys_test

import (
	"errors"
	"strings"
	"testing"

	"anesim/internal/network/keys"
	"anesim/loader/network/list"
)

func TestYAMLErrors(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"", "line 1: file is empty; want a network"},
		{"- a", "line 1: network is a list; want a mapping such as {inputs: {x: {c: 3, h: 8, w: 8}}, layers: [{op: relu}]}"},
		{"inputs: {x: [3, 8, 8]}\nlayers:\n- {op: relu}", "line 1: input x is a list; want a mapping such as {c: 3, h: 224, w: 224}"},
		{"inputs: {x: {c: 1}}\nlayers: relu", `line 2: layers is "relu"; want a list such as [{op: relu}]`},
		{"inputs: {x: {c: 1}}\nlayers:\n- relu", `line 3: layer is "relu"; want a mapping such as {name: a, op: relu}`},
		{"inputs: {x: {c: 1}}\nlayers:\n- {op: [relu]}", "line 3: op is a list; want a single value"},
		{"inputs: {x: {c: }}\nlayers:\n- {op: relu}", "line 1: c is empty; want a single value"},
		{"name: x", `line 1: key "inputs" or "layers" is missing; want both`},
		{"inputs: {x: {c: 1}}\nlayers: []", "line 2: layers is an empty list; want at least one layer"},
		{"inputs: {x: {c: 1}}\nlayers:\n- {op: relu}\nfirst: both", `line 4: first is "both"; want input or output`},
		{"inputs: {x: {c: 1}}\nlayers:\n- {op: conv}", `line 3: layer conv0: conv: cout: missing key; conv has keys cout k kh kw stride sy sx pad dilation groups bias act`},
		{"inputs: {x: {c: 1}}\nlayers:\n- {op: conv, cout: 1, rate: 2}", "line 3: layer conv0: conv: rate: unknown key; conv has keys cout k kh kw stride sy sx pad dilation groups bias act besides name, op and from"},
		{"inputs: {x: {c: 4}, y: {c: 4}}\nlayers:\n- {op: concat, from: [x, y], axis: 1}", "line 3: layer concat0: concat: axis: unknown key; concat has no keys besides name, op and from"},
		{"inputs: {x: {c: 0}}\nlayers:\n- {op: relu}", `line 1: input x: input: c: invalid value "0"; want an integer from 1 to 16777216; input has keys n c h w`},
		{"inputs: {x: {w: 64}}\nlayers:\n- {op: logical_not, name: a}\n- {op: relu}", `line 4: layer relu1: from: tensor "a" has 8-bit elements in layer a; want 16-bit elements`},
		{"inputs: {x: {w: 64}}\nlayers:\n- {op: relu, name: a, from: x}\n- {op: reshape, name: v, from: x, h: 8, w: 8}\n- {op: logical_not, from: v}", `line 5: layer logical_not2: from: tensor "v" has 16-bit elements in layer a; want 8-bit elements`},
		{"inputs: {x: {w: 64}}\nlayers:\n- {op: logical_not, name: a}\n- {op: reshape, h: 8, w: 8}", `line 4: layer reshape1: from: tensor "a" has 8-bit elements in layer a; want 16-bit elements`},
		{"inputs: {x: {c: 1}}\nlayers:\n- {op: relu, from: y}", `line 3: layer relu0: from: unknown tensor "y"; want an earlier layer or input`},
		{"inputs: {x: {c: 1}}\nlayers:\n- {op: relu}\n- {name: relu0, op: relu}", `line 4: name "relu0" is already in use`},
		{"inputs: {x: {c: 4}}\nlayers:\n- {op: reshape, c: 3}", "line 3: layer reshape0: cannot reshape 1x4x1x1 (4 elements) to 1x3x1x1 (3 elements)"},
		{"inputs: {x: {c: 4, c: 5}}\nlayers:\n- {op: relu}", `line 1: input x: duplicate key "c"`},
		{"inputs: {x: {c: 4}}\nlayers:\n- {op: sub}", "line 3: layer sub0: sub: from: layer has 1 input; want 2, or second=itself, second=constant or second=scalar; sub has keys second value act"},
		{"a: [", "line 2: did not find expected node content"},
		{"inputs: {x: {c: 4}}\nlayers:\n- {op: conv, cout: 4, k: 3}", "line 3: layer conv0: conv: window of 3x3 taps is larger than the padded input of 1x1"},
	} {
		_, err := keys.ReadYAML([]byte(tc.text))
		var f *list.FormatError
		if !errors.As(err, &f) {
			t.Errorf("%q: %v, want a FormatError", tc.text, err)
		} else if err.Error() != tc.want {
			t.Errorf("%q:\n got %s\nwant %s", tc.text, err, tc.want)
		}
	}
}

// TestYAMLOperands gives every operation every number of operands from 1 to 3, and keys that
// contradict that number. A missing operand must not become a constant, nor a surplus one be
// ignored.
func TestYAMLOperands(t *testing.T) {
	keyText := map[string]string{
		"conv": "cout: 4", "deconv": "cout: 4", "linear": "n: 4", "tile": "reps: 1x1x1x2", "slice": "size: 1",
	}
	read := func(op, from, text string) error {
		_, err := keys.ReadYAML([]byte("inputs: {x: {h: 8, w: 8}, y: {h: 8, w: 8}}\nlayers:\n- {op: " + op + ", from: " + from + ", " + text + "}"))
		return err
	}
	for _, op := range keys.Operations() {
		accepted := []bool{true, false, false} // for 1, 2 and 3 operands
		switch op.Name {
		case "matmul", "pow", "add", "sub", "mul", "max", "min", "real_div", "average":
			accepted = []bool{false, true, false}
		case "concat":
			accepted = []bool{true, true, true}
		}
		for i, from := range []string{"x", "[x, y]", "[x, y, x]"} {
			if err := read(op.Name, from, keyText[op.Name]); (err == nil) != accepted[i] {
				t.Errorf("%s of %d operands: error is %v, want accepted to be %v", op.Name, i+1, err, accepted[i])
			}
		}
	}
	for _, tc := range []struct{ op, from, text, want string }{
		{"matmul", "x", "n: 4", ""},
		{"matmul", "x", "n: 4, rhs: constant", ""},
		{"matmul", "x", "n: 4, rhs: runtime", "from: layer has 1 input; want 2 for rhs=runtime"},
		{"matmul", "[x, y]", "rhs: runtime, n: 8", ""},
		{"matmul", "[x, y]", "rhs: constant", "rhs: cannot combine rhs=constant with 2 inputs; want rhs=runtime or 1 input"},
		{"matmul", "[x, y]", "n: 4", "n: value is 4; want 8, the number of columns of the second input"},
		{"add", "x", "second: runtime", `second: invalid value "runtime"; want itself or constant or scalar`},
		{"add", "x", "second: itself", ""},
		{"add", "x", "value: 2", ""},
		{"add", "x", "second: constant, value: 2", "value: cannot combine value with second=constant; want second=scalar"},
		{"add", "[x, y]", "second: runtime", ""},
		{"add", "[x, y]", "second: scalar", `second: invalid value "scalar"; want runtime`},
		{"add", "[x, y]", "value: 2", "value: cannot combine value with 2 inputs; want 1 input and second=scalar"},
		{"pow", "x", "", "from: number of inputs is 1; want 2 for pow"},
	} {
		err := read(tc.op, tc.from, tc.text)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s from %s with %s: error is %v, want %q", tc.op, tc.from, tc.text, err, tc.want)
		}
	}
}

package keys_test

import (
	"errors"
	"testing"

	"anesim/loader/network/keys"
	"anesim/loader/network/list"
)

func TestYAMLErrors(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"", "line 1: file is empty"},
		{"- a", "line 1: network is a list; want a mapping such as {inputs: {x: {c: 3, h: 8, w: 8}}, layers: [{op: relu}]}"},
		{"inputs: {x: [3, 8, 8]}\nlayers:\n- {op: relu}", "line 1: input x is a list; want a mapping such as {c: 3, h: 224, w: 224}"},
		{"inputs: {x: {c: 1}}\nlayers: relu", `line 2: layers is "relu"; want a list such as [{op: relu}]`},
		{"inputs: {x: {c: 1}}\nlayers:\n- relu", `line 3: layer is "relu"; want a mapping such as {name: a, op: relu}`},
		{"inputs: {x: {c: 1}}\nlayers:\n- {op: [relu]}", "line 3: op is a list; want a single value"},
		{"inputs: {x: {c: }}\nlayers:\n- {op: relu}", "line 1: c is empty; want a single value"},
		{"name: x", "line 1: inputs or layers are missing; want both"},
		{"inputs: {x: {c: 1}}\nlayers: []", "line 2: layers is an empty list; want at least one layer"},
		{"inputs: {x: {c: 1}}\nlayers:\n- {op: conv}", `line 3: layer conv0: conv: cout: key is missing; conv has cout k kh kw stride sy sx pad dilation groups bias act`},
		{"inputs: {x: {c: 1}}\nlayers:\n- {op: conv, cout: 1, rate: 2}", "line 3: layer conv0: conv: rate: unknown key; conv has cout k kh kw stride sy sx pad dilation groups bias act besides name, op and from"},
		{"inputs: {x: {c: 4}, y: {c: 4}}\nlayers:\n- {op: concat, from: [x, y], axis: 1}", "line 3: layer concat0: concat: axis: unknown key; concat has no keys besides name, op and from"},
		{"inputs: {x: {c: 0}}\nlayers:\n- {op: relu}", `line 1: input x: input: c: found "0", want a number from 1 to 16777216; input has n c h w`},
		{"inputs: {x: {c: 1}}\nlayers:\n- {op: relu, from: y}", `line 3: layer relu0: from: found "y", want an earlier layer or input`},
		{"inputs: {x: {c: 1}}\nlayers:\n- {op: relu}\n- {name: relu0, op: relu}", `line 4: name "relu0" is already in use`},
		{"inputs: {x: {c: 4}}\nlayers:\n- {op: reshape, c: 3}", "line 3: layer reshape0: cannot reshape 1x4x1x1 with 4 elements to 1x3x1x1 with 3"},
		{"inputs: {x: {c: 4, c: 5}}\nlayers:\n- {op: relu}", "line 1: input x: c is given twice"},
		{"inputs: {x: {c: 4}}\nlayers:\n- {op: sub}", "line 3: layer sub0: sub: from: found 1 input, want 2 for sub, or second: itself, constant or scalar; sub has second value act"},
		{"a: [", "line 2: did not find expected node content"},
		{"inputs: {x: {c: 4}}\nlayers:\n- {op: conv, cout: 4, k: 3}", "line 3: layer conv0: conv: window of 3x3 taps does not fit the padded input"},
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

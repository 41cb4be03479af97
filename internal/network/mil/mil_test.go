package mil_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/internal/network/mil"
)

const text = `program(1.0)
[buildInfo = dict<tensor<string, []>, tensor<string, []>>({{"a", "b"}})]
{
    func main<ios16>(tensor<fp16, [1, ?]> x, state<tensor<fp16, [2]>> s) {
            tensor<int32, [2, 2]> w = const()[val = tensor<int32, [2, 2]>([[1, -2], [0x3, 4]])];
            tensor<bool, []> t = const()[val = tensor<bool, []>(true)];
            tensor<fp16, [1]> a, tensor<fp16, [1]> b = split(x = x, how = (w, tensor<string, []>("n\"1")))[name = string("two")];
        } -> (a, b);
}
`

func TestParse(t *testing.T) {
	p, err := mil.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	f, ok := p.Main()
	if !ok || f.Opset != "ios16" || len(f.Operations) != 3 {
		t.Fatalf("%+v", p)
	}
	if d := cmp.Diff([]mil.Var{{"x", mil.Type{Elem: "fp16", Dims: []int64{1, -1}}}, {"s", mil.Type{Kind: mil.State, Elem: "fp16", Dims: []int64{2}}}}, f.Inputs); d != "" {
		t.Errorf("inputs (-want +got):\n%s", d)
	}
	want := []byte{1, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 3, 0, 0, 0, 4, 0, 0, 0}
	if d := cmp.Diff(want, f.Operations[0].Attributes["val"].Data); d != "" {
		t.Errorf("value (-want +got):\n%s", d)
	}
	op := f.Operations[2]
	if how := op.Inputs["how"]; len(op.Outputs) != 2 || len(how) != 2 || how[0].Name != "w" || how[1].Value.Strings[0] != `n"1` {
		t.Errorf("%+v", op)
	}
	if d := cmp.Diff([]string{"a", "b"}, f.Outputs); d != "" {
		t.Error(d)
	}
}

// A statement may have no result, alone or among others.
func TestStatementWithoutResult(t *testing.T) {
	const head, tail = "program(1.3)\n{\nfunc main<ios18>(state<tensor<fp16, [2]>> s) {\n", "} -> ();\n}\n"
	p, err := mil.Parse(head + `write_state(data = s, input = s)[name = string("w")];` + "\n" + tail)
	if err != nil {
		t.Fatal(err)
	}
	op := p.Functions[0].Operations[0]
	if op.Type != "write_state" || len(op.Outputs) != 0 || op.Inputs["data"][0].Name != "s" || op.Attributes["name"].Strings[0] != "w" || op.Off != 4 {
		t.Errorf("%+v", op)
	}
	for _, wrong := range []string{`write_state;`, `"write_state"(data = s);`, `tensor<fp16, [2]>(data = s);`, `list<fp16>(data = s);`, `fp16 a, write_state(data = s);`} {
		var e *mil.SyntaxError
		if _, err := mil.Parse(head + wrong + "\n" + tail); !errors.As(err, &e) || e.Line != 4 {
			t.Errorf("%s: %v; want a syntax error in line 4", wrong, err)
		}
	}
}

// A text cut anywhere is an error of a line.
func TestCut(t *testing.T) {
	for i := range len(text) - 2 {
		_, err := mil.Parse(text[:i])
		var e *mil.SyntaxError
		if !errors.As(err, &e) || e.Line < 1 || e.Line > 10 {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
}

func TestUnpack(t *testing.T) {
	for _, tc := range []struct {
		bits   int
		packed []byte
		want   []byte
	}{
		{1, []byte{0b10110001}, []byte{1, 0, 0, 0, 1, 1, 0, 1}},
		{3, []byte{0b10_001_111, 0b0_110_101_1}, []byte{7, 1, 6, 5, 6}},
		{4, []byte{0x21, 0x43}, []byte{1, 2, 3, 4}},
		{6, []byte{0b01_000001, 0b1000_0000, 0b000011_00}, []byte{1, 1, 8, 3}},
	} {
		if d := cmp.Diff(tc.want, mil.Unpack(tc.packed, tc.bits, len(tc.want))); d != "" {
			t.Errorf("%d bits (-want +got):\n%s", tc.bits, d)
		}
	}
}

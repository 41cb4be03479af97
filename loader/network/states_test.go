package network

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"anesim/internal/network/coreml"
	"anesim/internal/network/mil"
	"anesim/internal/network/wire"
	"anesim/loader/network/list"
)

const (
	stateHead = "program(1.3)\n{\nfunc main<ios18>(tensor<fp16, [1, 4]> x, state<tensor<fp16, [1, 4]>> s, state<tensor<fp16, [1, 4]>> kept) {\n"
	stateRead = "tensor<fp16, [1, 4]> r = read_state(input = s);\n"
)

// A state is an input that names the result with its next value. A state that is only read names itself.
// The text and the binary of a program agree.
func TestStates(t *testing.T) {
	for _, tc := range []struct{ what, body, s, results string }{
		{"written", stateRead + "tensor<fp16, [1, 4]> y = add(x = r, y = x);\nwrite_state(data = y, input = s);\n", "y", "y"},
		{"written with another value than the result", stateRead + "tensor<fp16, [1, 4]> a = add(x = r, y = x);\nwrite_state(data = a, input = s);\ntensor<fp16, [1, 4]> y = relu(x = a);\n", "a", "y a"},
		{"the last of two writes", stateRead + "tensor<fp16, [1, 4]> a = add(x = r, y = x);\nwrite_state(data = a, input = s);\ntensor<fp16, [1, 4]> y = relu(x = a);\nwrite_state(data = y, input = s);\n", "y", "y"},
		{"only read", stateRead + "tensor<fp16, [1, 4]> y = add(x = r, y = x);\n", "s", "y"},
		{"written with its own value", stateRead + "write_state(data = r, input = s);\ntensor<fp16, [1, 4]> y = add(x = r, y = x);\n", "s", "y"},
		{"read after a write", stateRead + "tensor<fp16, [1, 4]> a = mul(x = r, y = x);\nwrite_state(data = a, input = s);\ntensor<fp16, [1, 4]> y = read_state(input = s);\n", "a", "y a"},
	} {
		text := stateHead + tc.body + "} -> (y);\n}\n"
		p, err := mil.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		fromText, err := ReadMIL([]byte(text), Options{})
		if err != nil {
			t.Fatalf("%s: %v", tc.what, err)
		}
		fromBinary, err := ReadCoreML(coreml.Encode(p), Options{})
		if err != nil {
			t.Fatalf("%s, binary: %v", tc.what, err)
		}
		for _, n := range []*list.Network{fromText, fromBinary} {
			var results []string
			for _, out := range n.Results {
				results = append(results, out.Name)
			}
			for _, in := range n.Inputs {
				if want := map[string]string{"x": "", "s": tc.s, "kept": "kept"}[in.Name]; in.State != want {
					t.Errorf("%s: the next value of %s is %q; want %q", tc.what, in.Name, in.State, want)
				}
			}
			if got := strings.Join(results, " "); got != tc.results {
				t.Errorf("%s: results %s; want %s", tc.what, got, tc.results)
			}
			for _, l := range n.Layers {
				if l.Reason != "" {
					t.Errorf("%s: layer %s is not modelled: %s", tc.what, l.Name, l.Reason)
				}
			}
			form := map[bool]string{false: "this is the output-to-input form", true: "the network only reads it, so it is an input"}
			for name, onlyRead := range map[string]bool{"s": tc.s == "s", "kept": true} {
				note := "state " + name + ": native state operations are rejected on the M1; " + form[onlyRead]
				if notes := strings.Join(n.Notes, "\n"); strings.Count(notes, note) != 1 {
					t.Errorf("%s: notes %q; want %q", tc.what, notes, note)
				}
			}
		}
	}
}

func TestWrongStates(t *testing.T) {
	for _, tc := range []struct{ body, want string }{
		{"write_state(data = x, input = x);", `"x" is not a state`},
		{"write_state(data = x);", `argument "input"`},
		{"write_state(input = s);", `argument "data"`},
		{"write_state(data = q, input = s);", `no earlier operation produces "q"`},
		{"tensor<fp16, [1, 4]> r = read_state(input = x);", `"x" is not a state`},
		{"tensor<fp16, [4, 1]> r = read_state(input = s);", "shape [4 1]"},
		{"write_state(data = tensor<fp16, [2]>([1, 2]), input = s);", "shape [2]; state"},
		{"write_state(data = tensor<fp32, [1, 4]>([[1, 2, 3, 4]]), input = s);", "type float32"},
		{"tensor<fp16, [1, 4]> r = write_state(data = x, input = s);", "1 results"},
		{"relu(x = x);", "no result"},
	} {
		text := stateHead + tc.body + "\ntensor<fp16, [1, 4]> y = relu(x = x);\n} -> (y);\n}\n"
		var e *list.FormatError
		if _, err := ReadMIL([]byte(text), Options{}); !errors.As(err, &e) || e.Line != 4 || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v; want %s in line 4", tc.body, err, tc.want)
		}
		p, err := mil.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ReadCoreML(coreml.Encode(p), Options{}); !errors.As(err, &e) || e.Off <= 0 || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s, binary: %v; want %s with an offset", tc.body, err, tc.want)
		}
	}
}

// A slice_update that cannot be converted is a layer that is not modelled, with the reason.
func TestSliceUpdatesThatAreNotModelled(t *testing.T) {
	for _, tc := range []struct{ begin, update, more, want string }{
		{"tensor<int32, [2]>([0, 2])", "[1, 2]", ", stride = tensor<int32, [2]>([1, 2])", "stride is [1 2]; want 1"},
		{"tensor<int32, [2]>([0, 3])", "[1, 2]", "", "update of shape [1 2] at [0 3] is outside shape [1 4]"},
		{"tensor<int32, [2]>([0, -5])", "[1, 2]", "", "is outside shape [1 4]"},
		{"tensor<int32, [1]>([0])", "[1, 2]", "", "begin has 1 elements; want 2"},
		{"at", "[1, 2]", "", "update of 2 of 4 elements along axis 1 at a computed position; want one or all"},
		{"tensor<int32, [2]>([0, 0])", "[2]", "", "update of shape [2] in a tensor of shape [1 4]"},
	} {
		text := fmt.Sprintf(`program(1.3)
{
func main<ios18>(tensor<fp16, %s> u, tensor<int32, [2]> at, state<tensor<fp16, [1, 4]>> s) {
tensor<fp16, [1, 4]> r = read_state(input = s);
tensor<fp16, [1, 4]> y = slice_update(x = r, update = u, begin = %s, end = tensor<int32, [2]>([1, 4])%s);
write_state(data = y, input = s);
} -> (y);
}
`, tc.update, tc.begin, tc.more)
		n, err := ReadMIL([]byte(text), Options{})
		if err != nil {
			t.Errorf("%+v: %v", tc, err)
			continue
		}
		if l := n.Layers[len(n.Layers)-1]; !strings.Contains(l.Reason, tc.want) {
			t.Errorf("%+v: layer %s: %q", tc, l.Name, l.Reason)
		}
	}
}

// The operations of a branch are not read, so a write in one is refused, at any depth.
func TestWriteInBlock(t *testing.T) {
	text := func(name string) wire.Encoding { return wire.Encoding{}.Text(1, name) }
	block := wire.Encoding{}.Bytes(3, text("write_state"))
	for depth := 1; depth <= 40; depth++ {
		op := text("cond").Bytes(4, block)
		function := wire.Encoding{}.Text(2, "CoreML8").Bytes(3, text("CoreML8").Bytes(2, wire.Encoding{}.Bytes(3, op)))
		program := wire.Encoding{}.Bytes(2, text("main").Bytes(2, function))
		want := "cond: write_state in a block"
		if depth > 32 {
			want = "nesting of blocks exceeds the limit of 32 levels"
		}
		var e *list.FormatError
		if _, err := ReadCoreML(wire.Encoding{}.Int(1, 7).Bytes(502, program), Options{}); !errors.As(err, &e) || e.Off <= 0 || !strings.Contains(err.Error(), want) {
			t.Errorf("depth %d: %v; want %s", depth, err, want)
		}
		block = wire.Encoding{}.Bytes(3, op)
	}
}

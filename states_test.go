package anesim_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/hw"
	"anesim/internal/network/coreml"
	"anesim/internal/network/mil"
)

const accumulator = `program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 4, 1, 1]> x, state<tensor<fp16, [1, 4, 1, 1]>> s) {
        tensor<fp16, [1, 4, 1, 1]> r = read_state(input = s);
        tensor<fp16, [1, 4, 1, 1]> a = add(x = r, y = x);
        write_state(data = a, input = s)[name = string("w")];
        tensor<fp16, [1, 4, 1, 1]> after = read_state(input = s);
        tensor<fp16, [1, 4, 1, 1]> y = relu(x = after);
    } -> (y);
}
`

// readForms returns the model of a program's text and that of its binary.
func readForms(t *testing.T, text string) map[string]*anesim.Model {
	t.Helper()
	p, err := mil.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	forms := map[string]*anesim.Model{}
	for name, data := range map[string][]byte{"st.mil": []byte(text), "st.mlmodel": coreml.Encode(p)} {
		if forms[name], err = anesim.Read(name, bytes.NewReader(data), int64(len(data))); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return forms
}

// A state of a Core ML program keeps its value from call to call, without an option for it, in a run
// and in a session. It is zero at first.
func TestStatesOfCoreML(t *testing.T) {
	one := []float16.Float16{0x3c00, 0x3c00, 0x3c00, 0x3c00}
	for name, m := range readForms(t, accumulator) {
		for calls := 1; calls <= 4; calls++ {
			res, err := m.Run(context.Background(), anesim.Options{Chip: hw.M1(), Values: true, Repeat: calls, Inputs: map[string][]float16.Float16{"x": one}})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			want := float16.Fromfloat32(float32(calls))
			if y := res.Outputs[0]; y.Port.Name != "y" || !slices.Equal(y.Data, []float16.Float16{want, want, want, want}) {
				t.Errorf("%s: %d calls leave %s = %v", name, calls, y.Port.Name, y.Data)
			}
		}
		s, err := anesim.NewSession(anesim.Options{Chip: hw.M1(), Values: true})
		if err != nil {
			t.Fatal(err)
		}
		l, err := s.Load(context.Background(), m)
		if err != nil {
			t.Fatal(err)
		}
		for call := 1; call <= 4; call++ {
			if err := l.Set("x", one); err != nil {
				t.Fatal(err)
			}
			res, err := l.Call(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if got := res.Outputs[0].Data[3].Float32(); got != float32(call) {
				t.Errorf("%s: call %d of a session is %v", name, call, got)
			}
		}
	}
}

// A program with a state costs and computes the same as one with an input and an output that an
// option connects.
func TestStatesAndTheOptionAgree(t *testing.T) {
	const cache = `program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 4, 1, 8]> new, tensor<fp16, [1, 1, 8, 1]> at, TYPE s) {
        READ
        tensor<fp16, [1, 4, 8, 8]> apart = sub(x = r, y = new);
        tensor<fp16, [1, 4, 8, 8]> change = mul(x = apart, y = at);
        tensor<fp16, [1, 4, 8, 8]> next = sub(x = r, y = change);
        WRITE
    } -> (next);
}
`
	fill := func(tensor, read, write string) string {
		text := cache
		for old, by := range map[string]string{"TYPE": tensor, "READ": read, "WRITE": write} {
			text = string(bytes.ReplaceAll([]byte(text), []byte(old), []byte(by)))
		}
		return text
	}
	state := readForms(t, fill("state<tensor<fp16, [1, 4, 8, 8]>>", "tensor<fp16, [1, 4, 8, 8]> r = read_state(input = s);", "write_state(data = next, input = s);"))["st.mil"]
	plain := readForms(t, fill("tensor<fp16, [1, 4, 8, 8]>", "tensor<fp16, [1, 4, 8, 8]> r = identity(x = s);", ""))["st.mil"]
	o := anesim.Options{Chip: hw.M1(), Values: true, Repeat: 5}
	a, err := state.Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	o.State = []anesim.StateAlias{{Output: "next", Input: "s"}}
	b, err := plain.Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if a.Report.Cycles != b.Report.Cycles || !slices.Equal(a.Outputs[0].Data, b.Outputs[0].Data) {
		t.Errorf("%v cycles with a state, %v with the option", a.Report.Cycles, b.Report.Cycles)
	}
	if !slices.Equal(a.Options.State, o.State) {
		t.Errorf("the run connected %v; want %v", a.Options.State, o.State)
	}
	// A position vector of one row puts each call's row there, and leaves the others as they were.
	session, err := anesim.NewSession(anesim.Options{Chip: hw.M1(), Values: true})
	if err != nil {
		t.Fatal(err)
	}
	l, err := session.Load(t.Context(), state)
	if err != nil {
		t.Fatal(err)
	}
	const channels, rows, width = 4, 8, 8
	want := make([]float16.Float16, channels*rows*width)
	for _, row := range []int{0, 1, 2, 3, 4, 5, 6, 7, 2} { // the last writes a row again
		value, at := make([]float16.Float16, channels*width), make([]float16.Float16, rows)
		at[row] = float16.Fromfloat32(1)
		for i := range value {
			value[i] = float16.Fromfloat32(float32(i%7 - row))
			want[(i/width*rows+row)*width+i%width] = value[i]
		}
		if err := errors.Join(l.Set("new", value), l.Set("at", at)); err != nil {
			t.Fatal(err)
		}
		res, err := l.Call(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(res.Outputs[0].Data, want, func(a, b float16.Float16) bool { return a.Float32() == b.Float32() }) {
			t.Fatalf("after row %d the cache is %v, want %v", row, res.Outputs[0].Data, want)
		}
	}
}

// The decoder step of the example decode.yaml, written in MIL with its caches as states, has the cycles and
// the results of the same step with caches that are inputs and outputs, which an option connects. Its
// cycles are those of the YAML file with that option, but for the order of two layers.
func TestDecodeWithStates(t *testing.T) {
	const calls = 6
	state := readForms(t, decodeStep("state<tensor<fp16, [1, 32, 1, 64]>>", "state<tensor<fp16, [1, 64, 1, 32]>>", "read_state(input = keys)", "read_state(input = values)",
		"write_state(data = keys_next, input = keys);\n        write_state(data = values_next, input = values);"))
	plain := readForms(t, decodeStep("tensor<fp16, [1, 32, 1, 64]>", "tensor<fp16, [1, 64, 1, 32]>", "identity(x = keys)", "identity(x = values)", ""))["st.mil"]
	yaml, err := anesim.Open(filepath.Join("tools", "anesim", "examples", "decode.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	o := anesim.Options{Chip: hw.M1(), Values: true, Repeat: calls}
	connected := o
	connected.State = []anesim.StateAlias{{Output: "keys_next", Input: "keys"}, {Output: "values_next", Input: "values"}}
	want, err := plain.Run(t.Context(), connected)
	if err != nil {
		t.Fatal(err)
	}
	for form, m := range state {
		got, err := m.Run(t.Context(), o)
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		for i := range got.Layers {
			if l := &got.Layers[i]; l.Report == nil {
				t.Errorf("%s is incomplete: layer %s: %s", form, l.Layer.Name, l.Reason)
			}
		}
		if got.Report.Cycles != want.Report.Cycles || len(got.Outputs) != 3 || !slices.Equal(got.Options.State, connected.State) {
			t.Errorf("%s: %d cycles, %d outputs, connected %v; want %d", form, got.Report.Cycles, len(got.Outputs), got.Options.State, want.Report.Cycles)
		}
		for i, out := range got.Outputs {
			if other := want.Outputs[i]; out.Port.Name != other.Port.Name || !slices.Equal(out.Data, other.Data) {
				t.Errorf("%s: after %d calls %s differs from %s with the option", form, calls, out.Port.Name, other.Port.Name)
			}
		}
	}
	file, err := yaml.Run(t.Context(), connected)
	if err != nil {
		t.Fatal(err)
	}
	// The YAML file gives the order of its layers. Of a graph, the values' layers follow the attention, and
	// two of them then wait longer for what they load (43 of 6,582 cycles).
	if a, b := float64(file.Report.Cycles), float64(want.Report.Cycles); math.Abs(b/a-1) > 0.01 {
		t.Errorf("%.0f cycles of decode.yaml, %.0f of the step in MIL", a, b)
	}
}

// decodeStep returns the layers of decode.yaml as MIL text, with weights of its own. The caches have the
// given types, are read with the given operations, and write stores their new values.
func decodeStep(keys, values, readKeys, readValues, write string) string {
	r := rand.New(rand.NewPCG(1, 64))
	var b strings.Builder
	fmt.Fprintf(&b, "program(1.3)\n{\n    func main<ios18>(tensor<fp16, [1, 64, 1, 1]> token, %s keys, %s values, tensor<fp16, [1, 1, 1, 64]> at_column, tensor<fp16, [1, 64, 1, 1]> at_row, tensor<fp16, [1, 1, 1, 64]> mask) {\n", keys, values)
	let := func(name, shape, text string) {
		fmt.Fprintf(&b, "        tensor<fp16, [%s]> %s = %s;\n", shape, name, text)
	}
	conv := func(name, from string, in, out int) {
		var weights strings.Builder
		for n := range out {
			for c := range in {
				sep := ", "
				if n+c == 0 {
					sep = ""
				}
				// None is zero: the engine skips zeros, and the weights of the file have none.
				fmt.Fprintf(&weights, "%s%g", sep, float64(1-2*r.IntN(2))*float64(1+r.IntN(8))/64)
			}
		}
		shape := fmt.Sprintf("%d, %d, 1, 1", out, in)
		let("w_"+name, shape, fmt.Sprintf("const()[val = tensor<fp16, [%s]>([%s])]", shape, weights.String()))
		let(name, fmt.Sprintf("1, %d, 1, 1", out), fmt.Sprintf("conv(x = %s, weight = w_%s)", from, name))
	}
	norm := func(name, from string) {
		let(name, "1, 64, 1, 1", "layer_norm(x = "+from+", axes = tensor<int32, [3]>([1, 2, 3]), epsilon = fp16(1e-05))")
	}
	reshape := func(name, from, shape string) {
		let(name, shape, fmt.Sprintf("reshape(x = %s, shape = tensor<int32, [4]>([%s]))", from, shape))
	}
	two := func(name, shape, op, x, y string) { let(name, shape, fmt.Sprintf("%s(x = %s, y = %s)", op, x, y)) }

	norm("norm1", "token")
	conv("q", "norm1", 64, 32)
	conv("k", "norm1", 64, 32)
	conv("v", "norm1", 64, 32)
	let("old_keys", "1, 32, 1, 64", readKeys)
	two("keys_difference", "1, 32, 1, 64", "sub", "old_keys", "k")
	two("keys_update", "1, 32, 1, 64", "mul", "keys_difference", "at_column")
	two("keys_next", "1, 32, 1, 64", "sub", "old_keys", "keys_update")
	reshape("v_row", "v", "1, 1, 1, 32")
	let("old_values", "1, 64, 1, 32", readValues)
	two("values_difference", "1, 64, 1, 32", "sub", "old_values", "v_row")
	two("values_update", "1, 64, 1, 32", "mul", "values_difference", "at_row")
	two("values_next", "1, 64, 1, 32", "sub", "old_values", "values_update")
	fmt.Fprintf(&b, "        %s\n", write)
	reshape("q_row", "q", "1, 1, 1, 32")
	reshape("k_matrix", "keys_next", "1, 1, 32, 64")
	two("scores", "1, 1, 1, 64", "matmul", "q_row", "k_matrix")
	two("scaled", "1, 1, 1, 64", "mul", "scores", "fp16(0.1767578125)")
	two("masked", "1, 1, 1, 64", "add", "scaled", "mask")
	let("attention", "1, 1, 1, 64", "softmax(x = masked, axis = int32(-1))")
	reshape("v_matrix", "values_next", "1, 1, 64, 32")
	two("context", "1, 1, 1, 32", "matmul", "attention", "v_matrix")
	reshape("features", "context", "1, 32, 1, 1")
	conv("projected", "features", 32, 64)
	two("residual1", "1, 64, 1, 1", "add", "projected", "token")
	norm("norm2", "residual1")
	conv("up", "norm2", 64, 256)
	let("bent", "1, 256, 1, 1", "gelu(x = up, mode = string(\"EXACT\"))")
	conv("down", "bent", 256, 64)
	two("next", "1, 64, 1, 1", "add", "down", "residual1")
	b.WriteString("    } -> (next, keys_next, values_next);\n}\n")
	return b.String()
}

// States whose memory cannot be exchanged with that of a result keep their values too: the host copies
// them, and the result says so. Each case states what y is in calls 1, 2, 3 and so on, for x of one.
func TestStatesThatTheHostCopies(t *testing.T) {
	const head = `program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 4, 1, 1]> x, state<tensor<fp16, [1, 4, 1, 1]>> s, state<tensor<fp16, [1, 4, 1, 1]>> t) {
        tensor<fp16, [1, 4, 1, 1]> r = read_state(input = s);
        tensor<fp16, [1, 4, 1, 1]> q = read_state(input = t);
`
	for _, tc := range []struct {
		name, body string
		want       []float32
		why        string // for state s; "" if it stays in memory
	}{
		{"the new value is an input", `
			tensor<fp16, [1, 4, 1, 1]> y = add(x = r, y = x);
			write_state(data = x, input = s);`, []float32{1, 2, 2, 2}, "no layer computes its new value, x"},
		{"two states with one value", `
			tensor<fp16, [1, 4, 1, 1]> a = add(x = r, y = x);
			write_state(data = a, input = s);
			write_state(data = a, input = t);
			tensor<fp16, [1, 4, 1, 1]> y = add(x = a, y = q);`, []float32{1, 3, 5, 7}, "the host copies other states"},
		{"exchanged states", `
			tensor<fp16, [1, 4, 1, 1]> y = add(x = r, y = x);
			write_state(data = q, input = s);
			write_state(data = y, input = t);`, []float32{1, 1, 2, 2, 3}, "no layer computes its new value, t"},
		{"a constant", `
			tensor<fp16, [1, 4, 1, 1]> y = add(x = r, y = x);
			write_state(data = tensor<fp16, [1, 4, 1, 1]>([[[[8]], [[8]], [[8]], [[8]]]]), input = s);`, []float32{1, 9, 9}, "no layer computes its new value"},
		{"a value that the host computes", `
			tensor<fp16, [1, 4, 1, 1]> a = add(x = r, y = x);
			tensor<fp16, [1, 4, 1, 1]> c = round(x = a);
			tensor<fp16, [1, 4, 1, 1]> y = add(x = c, y = x);
			write_state(data = c, input = s);`, []float32{2, 3, 4, 5}, "the host computes its new value, c"},
		{"several programs", `
			tensor<fp16, [1, 4, 1, 1]> a = add(x = r, y = x);
			tensor<fp16, [1, 4, 1, 1]> c = round(x = a);
			tensor<fp16, [1, 4, 1, 1]> y = add(x = c, y = a);
			write_state(data = a, input = s);`, []float32{2, 4, 6, 8}, "the network has 2 programs"},
		{"written and never read", `
			tensor<fp16, [1, 4, 1, 1]> y = add(x = q, y = x);
			write_state(data = y, input = s);
			write_state(data = y, input = t);`, []float32{1, 2, 3, 4}, ""},
		{"only read", `
			tensor<fp16, [1, 4, 1, 1]> y = add(x = r, y = x);`, []float32{1, 1, 1}, ""},
		{"two that stay", `
			tensor<fp16, [1, 4, 1, 1]> a = add(x = r, y = x);
			tensor<fp16, [1, 4, 1, 1]> y = add(x = a, y = q);
			write_state(data = y, input = t);
			write_state(data = a, input = s);`, []float32{1, 3, 6, 10}, ""},
	} {
		one := slices.Repeat([]float16.Float16{0x3c00}, 4)
		for form, m := range readForms(t, head+tc.body+"\n} -> (y);\n}\n") {
			for calls, want := range tc.want {
				o := anesim.Options{Chip: hw.M1(), Values: true, Repeat: calls + 1, Inputs: map[string][]float16.Float16{"x": one}}
				res, err := m.Run(t.Context(), o)
				if err != nil {
					t.Fatalf("%s, %s: %v", tc.name, form, err)
				}
				if y := res.Outputs[0]; y.Port.Name != "y" || y.Data[0].Float32() != want || y.Data[3].Float32() != want {
					t.Errorf("%s, %s: %s is %v in call %d; want %v", tc.name, form, y.Port.Name, y.Data, calls+1, want)
				}
				why := ""
				for _, c := range res.CopiedStates {
					if c.Input == "s" {
						why = c.Why
					}
				}
				if calls > 0 && (!strings.Contains(why, tc.why) || tc.why == "" && why != "") {
					t.Errorf("%s, %s: state s is copied because %q; want %q", tc.name, form, why, tc.why)
				}
				o.Values = false
				timed, err := m.Run(t.Context(), o)
				if err != nil || timed.Report.Cycles != res.Report.Cycles || timed.Report.DMA != res.Report.DMA {
					t.Errorf("%s, %s: %v; %d cycles without values, %d with", tc.name, form, err, timed.Report.Cycles, res.Report.Cycles)
				}
			}
			s, err := anesim.NewSession(anesim.Options{Chip: hw.M1(), Values: true})
			if err != nil {
				t.Fatal(err)
			}
			l, err := s.Load(t.Context(), m)
			if tc.why != "" {
				var e *anesim.StateError
				var several *anesim.OptionError // a session holds single programs
				if !errors.As(err, &e) && !(errors.As(err, &several) && several.Option == "Load") {
					t.Errorf("%s, %s, in a session: %v", tc.name, form, err)
				}
				continue
			}
			if err == nil {
				err = l.Set("x", one)
			}
			if err != nil {
				t.Fatalf("%s, %s, in a session: %v", tc.name, form, err)
			}
			for i, want := range tc.want {
				res, err := l.Call(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if got := res.Outputs[0].Data[0].Float32(); got != want {
					t.Errorf("%s, %s, in a session: y is %v in call %d; want %v", tc.name, form, got, i+1, want)
				}
			}
		}
	}
}

// A network whose state an operation without a model writes still has the time of the others. It has no
// values after the first call, and says which layer is missing.
func TestStateThatIsNotModelled(t *testing.T) {
	const text = `program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 4, 1, 1]> x, state<tensor<fp16, [1, 4, 1, 1]>> s) {
        tensor<fp16, [1, 4, 1, 1]> r = read_state(input = s);
        tensor<fp16, [1, 4, 1, 1]> a = no_such_operation(x = r, y = x);
        write_state(data = a, input = s);
        tensor<fp16, [1, 4, 1, 1]> y = relu(x = x);
    } -> (y);
}
`
	for name, m := range readForms(t, text) {
		res, err := m.Run(context.Background(), anesim.Options{Chip: hw.M1(), Repeat: 2})
		if err != nil || res.Report.Cycles == 0 || len(res.Options.State)+len(res.CopiedStates) != 0 {
			t.Errorf("%s: %v", name, err)
		}
		var e *anesim.StateError
		if _, err := m.Run(context.Background(), anesim.Options{Chip: hw.M1(), Values: true, Repeat: 2}); !errors.As(err, &e) || e.State != "s" || !strings.Contains(e.What, "layer a") {
			t.Errorf("%s, with values: %v", name, err)
		}
		if _, err := m.Run(context.Background(), anesim.Options{Chip: hw.M1(), Values: true}); err != nil {
			t.Errorf("%s, one call with values: %v", name, err)
		}
	}
}

// An option that connects the input of a state replaces the connection of the program, which others keep.
func TestOptionReplacesState(t *testing.T) {
	const text = `program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 4, 1, 1]> x, state<tensor<fp16, [1, 4, 1, 1]>> s, state<tensor<fp16, [1, 4, 1, 1]>> t) {
        tensor<fp16, [1, 4, 1, 1]> r = read_state(input = s);
        tensor<fp16, [1, 4, 1, 1]> q = read_state(input = t);
        tensor<fp16, [1, 4, 1, 1]> a = add(x = r, y = x);
        tensor<fp16, [1, 4, 1, 1]> b = add(x = q, y = a);
        write_state(data = a, input = s);
        write_state(data = b, input = t);
        tensor<fp16, [1, 4, 1, 1]> y = add(x = a, y = b);
    } -> (y);
}
`
	one := slices.Repeat([]float16.Float16{0x3c00}, 4)
	for form, m := range readForms(t, text) {
		o := anesim.Options{Chip: hw.M1(), Values: true, Repeat: 3, Inputs: map[string][]float16.Float16{"x": one}}
		for _, tc := range []struct {
			given []anesim.StateAlias
			state []anesim.StateAlias
			want  float32 // a is 1, 2, 3 and b 1, 3, 6; with y as the next t, y is 2, 6, 12
		}{
			{nil, []anesim.StateAlias{{Output: "a", Input: "s"}, {Output: "b", Input: "t"}}, 9},
			{[]anesim.StateAlias{{Output: "y", Input: "t"}}, []anesim.StateAlias{{Output: "y", Input: "t"}, {Output: "a", Input: "s"}}, 12},
		} {
			o.State = tc.given
			res, err := m.Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if got := res.Outputs[0].Data[0].Float32(); got != tc.want || !slices.Equal(res.Options.State, tc.state) {
				t.Errorf("%s, given %v: y is %v with %v; want %v with %v", form, tc.given, got, res.Options.State, tc.want, tc.state)
			}
		}
		// Without values, a state of which the option leaves no memory to exchange is copied.
		o.State = []anesim.StateAlias{{Output: "b", Input: "s"}}
		var e *anesim.StateError
		if _, err := m.Run(t.Context(), o); !errors.As(err, &e) || e.State != "t" {
			t.Errorf("%s: the new value of t goes to s: %v", form, err)
		}
	}
}

// An update of a slice of a cache replaces that slice and nothing else, at a constant and at a computed
// position, in the text and in the binary. The reference is a loop over the elements.
func TestSliceUpdate(t *testing.T) {
	const layers, rows, width = 2, 6, 8 // shape [2, 6, 8], with one or all positions updated along each axis
	for _, tc := range []struct {
		name     string
		update   [3]int
		begin    [3]int
		masks    string // begin_mask, end_mask and squeeze_mask
		computed bool
		squeezed bool
		negative int // axis whose begin counts from the end, -1 for none
	}{
		{"a row of all", [3]int{layers, 1, width}, [3]int{0, 3, 0}, "", false, false, -1},
		{"the first row", [3]int{layers, 1, width}, [3]int{0, 0, 0}, "", false, false, -1},
		{"the last row, from the end", [3]int{layers, 1, width}, [3]int{0, 5, 0}, "", false, false, 1},
		{"two rows of one", [3]int{1, 2, width}, [3]int{1, 2, 0}, "", false, false, -1},
		{"a part of a row", [3]int{1, 1, 3}, [3]int{1, 4, 2}, "", false, false, -1},
		{"all", [3]int{layers, rows, width}, [3]int{}, "", false, false, -1},
		{"masked axes", [3]int{layers, 1, width}, [3]int{0, 3, 0}, "begin_mask = tensor<bool, [3]>([true, false, true]), end_mask = tensor<bool, [3]>([true, false, true])", false, false, -1},
		{"an axis that the update lacks", [3]int{1, rows, width}, [3]int{1, 0, 0}, "squeeze_mask = tensor<bool, [3]>([true, false, false])", false, true, -1},
		{"a computed row", [3]int{layers, 1, width}, [3]int{0, 4, 0}, "", true, false, -1},
		{"a computed row of one", [3]int{1, 1, width}, [3]int{1, 5, 0}, "", true, false, -1},
		{"a computed index that the update lacks", [3]int{1, rows, width}, [3]int{1, 0, 0}, "squeeze_mask = tensor<bool, [3]>([true, false, false])", true, true, -1},
	} {
		u := tc.update
		shape := fmt.Sprint("[", u[0], ", ", u[1], ", ", u[2], "]")
		if tc.squeezed {
			shape = fmt.Sprint("[", u[1], ", ", u[2], "]")
		}
		at := tc.begin
		if tc.negative >= 0 {
			at[tc.negative] -= [3]int{layers, rows, width}[tc.negative]
		}
		begin := fmt.Sprintf("tensor<int32, [3]>([%d, %d, %d])", at[0], at[1], at[2])
		input := ""
		if tc.computed {
			begin, input = "at", "tensor<int32, [3]> at, "
		}
		masks := tc.masks
		if masks != "" {
			masks = ", " + masks
		}
		text := fmt.Sprintf(`program(1.3)
{
    func main<ios18>(%stensor<fp16, %s> new, state<tensor<fp16, [%d, %d, %d]>> s) {
        tensor<fp16, [%[3]d, %[4]d, %[5]d]> r = read_state(input = s);
        tensor<fp16, [%[3]d, %[4]d, %[5]d]> next = slice_update(x = r, update = new, begin = %[6]s, end = tensor<int32, [3]>([%[7]d, %[8]d, %[9]d])%[10]s);
        write_state(data = next, input = s);
        tensor<fp16, [%[3]d, %[4]d, %[5]d]> y = relu(x = next);
    } -> (y);
}
`, input, shape, layers, rows, width, begin, tc.begin[0]+u[0], tc.begin[1]+u[1], tc.begin[2]+u[2], masks)
		old, fresh := make([]half, layers*rows*width), make([]half, u[0]*u[1]*u[2])
		for i := range old {
			old[i] = fp16(float32(i + 1))[0]
		}
		for i := range fresh {
			fresh[i] = fp16(float32(1000 + i))[0]
		}
		want := slices.Clone(old)
		for i := range u[0] {
			for k := range u[1] {
				for w := range u[2] {
					want[((tc.begin[0]+i)*rows+tc.begin[1]+k)*width+tc.begin[2]+w] = fresh[(i*u[1]+k)*u[2]+w]
				}
			}
		}
		for form, m := range readForms(t, text) {
			in := map[string][]half{"new": fresh, "s": old}
			if tc.computed {
				in["at"] = fp16(float32(at[0]), float32(at[1]), float32(at[2]))
			}
			res, err := m.Run(t.Context(), anesim.Options{Chip: hw.M1(), Values: true, Inputs: in})
			if err != nil {
				t.Fatalf("%s, %s: %v", tc.name, form, err)
			}
			if len(res.Missing()) > 0 || len(res.Outputs) == 0 || !slices.Equal(res.Outputs[0].Data, want) {
				t.Errorf("%s, %s: missing %v, outputs %v; want %v", tc.name, form, res.Missing(), res.Outputs, want)
			}
		}
	}
}

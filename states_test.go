package anesim_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/hw"
	"anesim/loader/network/coreml"
	"anesim/loader/network/mil"
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
}

// A state whose new value is an input has no output to connect. One call runs; several are refused.
func TestStateThatNoLayerComputes(t *testing.T) {
	const text = `program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 4, 1, 1]> x, state<tensor<fp16, [1, 4, 1, 1]>> s) {
        tensor<fp16, [1, 4, 1, 1]> r = read_state(input = s);
        tensor<fp16, [1, 4, 1, 1]> y = add(x = r, y = x);
        write_state(data = x, input = s);
    } -> (y);
}
`
	for name, m := range readForms(t, text) {
		if _, err := m.Run(context.Background(), anesim.Options{Chip: hw.M1(), Values: true}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var e *anesim.OptionError
		if _, err := m.Run(context.Background(), anesim.Options{Chip: hw.M1(), Repeat: 2}); !errors.As(err, &e) || e.Option != "State" {
			t.Errorf("%s: %v; want an error of option State", name, err)
		}
	}
}

// A network whose state an operation without a model writes still has the time of the others.
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
		if err != nil || res.Report.Cycles == 0 || len(res.Options.State) != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package anesim_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/x448/float16"

	"anesim"
	"anesim/loader/network"
)

// TestByteTensors negates tensors of 8-bit elements in networks. Their values are those of the
// tensor, although a program's ports hold two elements in each fp16 element.
func TestByteTensors(t *testing.T) {
	for _, width := range []int{1, 2, 17, 64} {
		for _, inMemory := range []bool{false, true} {
			net, err := network.ReadYAML(fmt.Appendf(nil, `
inputs: {x: {n: 2, c: 3, h: 2, w: %d}, z: {c: 8}}
outputs: [not, twice, other]
layers:
- {name: not, op: logical_not, from: x}
- {name: inner, op: logical_not, from: x}
- {name: twice, op: logical_not, from: inner}
- {name: other, op: relu, from: z}
`, width))
			if err != nil {
				t.Fatal(err)
			}
			net.InMemory = inMemory
			x := make([]float16.Float16, 12*width)
			var not, twice []float16.Float16
			for i := range x {
				v := float32(i * i % 3 * (i % 128)) // at most 254
				if v > 127 {
					v = 127
				}
				x[i] = float16.Fromfloat32(v)
				truth := float32(0)
				if v != 0 {
					truth = 1
				}
				not = append(not, float16.Fromfloat32(1-truth))
				twice = append(twice, float16.Fromfloat32(truth))
			}
			res, err := anesim.FromNetwork(net).Run(t.Context(), anesim.Options{Values: true, Inputs: map[string][]float16.Float16{"x": x}})
			if err != nil {
				t.Fatal(err)
			}
			if len(res.Outputs) != 3 {
				t.Fatalf("width %d: %d outputs; want 3", width, len(res.Outputs))
			}
			for i, want := range [][]float16.Float16{not, twice} {
				got := res.Outputs[i]
				if len(got.Data) != len(want) {
					t.Fatalf("width %d: %s has %d elements; want %d", width, got.Port.Name, len(got.Data), len(want))
				}
				for k, v := range got.Data {
					if v != want[k] {
						t.Errorf("width %d, in memory %t: %s[%d] of x[%[4]d] = %v is %v; want %v", width, inMemory, got.Port.Name, k, x[k], v, want[k])
						break
					}
				}
			}
		}
	}
}

// TestGeneratedByteTensor checks that generated values of a tensor with 8-bit elements are truth
// values, and that its negation has the other ones.
func TestGeneratedByteTensor(t *testing.T) {
	net, err := network.ReadYAML([]byte("inputs: {x: {c: 5, w: 9}}\noutputs: [x, y]\nlayers:\n- {name: y, op: logical_not}\n"))
	if err != nil {
		t.Fatal(err)
	}
	res, err := anesim.FromNetwork(net).Run(t.Context(), anesim.Options{Values: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Outputs) != 2 {
		t.Fatalf("%d outputs; want 2", len(res.Outputs))
	}
	s, err := anesim.NewSession(anesim.Options{Values: true})
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := s.Load(t.Context(), anesim.FromNetwork(net))
	if err != nil {
		t.Fatal(err)
	}
	call, err := loaded.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for more := true; more; {
		_, more = call.Run()
	}
	for range 2 { // the second result does not depend on the first
		again, err := call.Result()
		if err != nil {
			t.Fatal(err)
		}
		// A session returns no output that is an input.
		if d := cmp.Diff(res.Outputs[1:], again.Outputs); d != "" {
			t.Errorf("a session has other outputs (-run +session):\n%s", d)
		}
	}
	seen := map[float32]bool{}
	for i, x := range res.Outputs[0].Data {
		a, b := x.Float32(), res.Outputs[1].Data[i].Float32()
		if a*b != 0 || a+b != 1 {
			t.Errorf("element %d is %v, and its negation %v", i, a, b)
		}
		seen[a] = true
	}
	if !seen[0] || !seen[1] {
		t.Errorf("generated values are %v; want zeros and ones", res.Outputs[0].Data)
	}
}

func TestByteTensorErrors(t *testing.T) {
	net, err := network.ReadYAML([]byte("inputs: {x: {w: 3}}\nlayers:\n- {op: logical_not}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for v, bad := range map[float32]bool{0: false, 1: false, 127: false, 128: true, -1: true, 0.5: true, 60000: true} {
		x := []float16.Float16{0, 0, float16.Fromfloat32(v)}
		_, err := anesim.FromNetwork(net).Run(t.Context(), anesim.Options{Values: true, Inputs: map[string][]float16.Float16{"x": x}})
		want := "<nil>"
		if bad {
			want = fmt.Sprintf(`input "x": element 2 is %v; want whole numbers from 0 to 127, because a layer reads 8-bit elements`, x[2].Float32())
		}
		if got := fmt.Sprint(err); got != want {
			t.Errorf("an element of %v: error %q; want %q", v, got, want)
		}
	}
	x := []float16.Float16{0, 0, float16.NaN()}
	if _, err := anesim.FromNetwork(net).Run(t.Context(), anesim.Options{Inputs: map[string][]float16.Float16{"x": x}}); err == nil {
		t.Error("NaN is accepted")
	}
}

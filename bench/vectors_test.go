package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/x448/float16"

	"anesim"
	"anesim/firmware"
	"anesim/internal/datapath/mac"
	"anesim/internal/datapath/planar"
	"anesim/internal/vectors"
	"anesim/loader"
)

type half = float16.Float16

func cases[T any](t *testing.T, load func() ([]vectors.Case[T], error)) []vectors.Case[T] {
	t.Helper()
	list, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A reduction gives its half as one dot product and as every column of a panel.
func TestReductionCases(t *testing.T) {
	for _, c := range cases(t, vectors.Reductions) {
		x, w := c.Data.Operands()
		want := half(c.Data.Want)
		if got := mac.Dot(x, w); got != want {
			t.Errorf("%s: %s: %v, want %v", c.File, c.Name, got, want)
		}
		for _, lanes := range []int{1, 5, 16, 64} {
			for i, got := range columns(x, w, lanes) {
				if got != want {
					t.Errorf("%s: %s: column %d of %d is %v, want %v", c.File, c.Name, i, lanes, got, want)
					break
				}
			}
		}
	}
}

// columns computes the same sum of products of x and w in each of several lanes and returns the
// results.
func columns(x, w []half, lanes int) []half {
	taps, acc := make([]float32, len(w)), make([]float32, lanes)
	mac.Widen(taps, w)
	var panel []float32
	one := make([]float32, 1)
	for i := range x {
		mac.Widen(one, x[i:i+1])
		panel = append(panel, slices.Repeat(one, lanes)...)
	}
	mac.H13.Reduce(acc, panel, lanes, mac.TapsOf(len(w), taps), mac.Start{})
	out := make([]half, lanes)
	(&mac.Post{Scale: 1}).Apply(out, acc)
	return out
}

func TestSpecialCases(t *testing.T) {
	for _, c := range cases(t, vectors.Specials) {
		in, want := c.Data.Operands()
		got, err := special(c.Data.Op, in)
		if err != nil {
			t.Errorf("%s: %v", c.File, err)
			continue
		}
		for way, got := range got {
			if !slices.Equal(want, got) {
				t.Errorf("%s: %s, %s: %v, want %v", c.File, c.Name, way, bits(got), bits(want))
			}
		}
	}
}

func bits(h []half) []string {
	s := make([]string, len(h))
	for i, v := range h {
		s[i] = fmt.Sprintf("%v (%#04x)", v, v.Bits())
	}
	return s
}

// special computes a case of [vectors.Special] in every way that the model offers, and returns the
// results by the name of the way.
func special(op string, in []half) (map[string][]half, error) {
	out := make([]half, len(in))
	switch op {
	case "add", "sub", "mul", "max":
		subtract := planar.Neutral(planar.Add)
		subtract.Negate2 = true
		c := map[string]planar.Config{
			"add": planar.Neutral(planar.Add), "sub": subtract,
			"mul": planar.Neutral(planar.Mul), "max": planar.Neutral(planar.Max),
		}[op]
		one, vector := make([]half, 1), make([]half, 16)
		c.Apply(one, in[:1], in[1:])
		c.Apply(vector, slices.Repeat(in[:1], 16), slices.Repeat(in[1:], 16))
		if slices.ContainsFunc(vector, func(h half) bool { return h != one[0] }) {
			return nil, fmt.Errorf("one element gives %v, sixteen %v", bits(one), bits(vector))
		}
		return map[string][]half{"planar": one}, nil
	case "square":
		c := planar.Neutral(planar.SumSquare)
		c.ApplyOne(out, in)
		return map[string][]half{"planar": out}, nil
	case "sum":
		c := planar.Neutral(planar.Add)
		one := make([]half, 1)
		err := c.Reduce(one, planar.AxisW, planar.Source{Data: in, Shape: planar.Shape{C: 1, H: 1, W: len(in)}})
		return map[string][]half{"planar": one}, err
	case "softmax":
		m, err := anesim.Layer("softmax", "w="+strconv.Itoa(len(in)), "axis=w")
		if err != nil {
			return nil, err
		}
		res, err := m.Run(context.Background(), anesim.Options{Values: true, Inputs: map[string][]half{"x": in}})
		if err != nil || len(res.Outputs) != 1 {
			return nil, fmt.Errorf("no result (%v)", err)
		}
		return map[string][]half{"device": res.Outputs[0].Data}, nil
	case "slice":
		planar.WidthSliceGain(out, in)
		return map[string][]half{"planar": out}, nil
	case "conv":
		return map[string][]half{"engines": engines(in[:1], in[1:], mac.Post{Scale: 1})}, nil
	case "relu":
		return map[string][]half{"engines": engines(in, nil, mac.Post{Scale: 1, ReLU: true})}, nil
	}
	for _, a := range mac.Activations() {
		if a.String() != op {
			continue
		}
		table := mac.TableOf(a)
		post := mac.Post{Scale: a.Prescale().Float32(), Table: table}
		ways := map[string][]half{"table": engines(in, nil, post)}
		if op == "rsqrt" {
			c := planar.Neutral(planar.Add)
			c.Post = planar.PostRsqrt
			c.ApplyOne(out, in)
			ways["planar"] = out
		}
		return ways, nil
	}
	return nil, fmt.Errorf("the model has no %q", op)
}

// engines multiplies each element of x by the only weight w, which is 1 if w is nil, and returns
// the results of the post-processing stage.
func engines(x, w []half, post mac.Post) []half {
	if w == nil {
		w = []half{0x3c00}
	}
	panel, taps, acc := make([]float32, len(x)), make([]float32, 1), make([]float32, len(x))
	mac.Widen(panel, x)
	mac.Widen(taps, w)
	mac.Arithmetic{KeepsInfinity: true, FullRange: true}.Reduce(acc, panel, len(x), mac.TapsOf(1, taps), mac.Start{})
	out := make([]half, len(x))
	post.Apply(out, acc)
	return out
}

func TestRunCases(t *testing.T) {
	for _, c := range cases(t, vectors.Runs) {
		t.Run(c.File, func(t *testing.T) {
			r := &c.Data
			var p *loader.Program
			if r.Example != "" {
				p = example(t, r.Example)
			} else {
				p = realProgram(t, r.File)
			}
			if r.Weights != nil {
				reweigh(t, p, half(*r.Weights))
			}
			o := anesim.Options{Values: true, Inputs: make(map[string][]half)}
			for _, set := range r.Set {
				v, err := firmware.ParseOverride(set)
				if err != nil {
					t.Fatal(err)
				}
				o.Overrides = append(o.Overrides, v)
			}
			for port := range p.Inputs() {
				if n := len(o.Inputs); n < len(r.Inputs) {
					o.Inputs[port.Name] = r.Inputs[n].Halves()
				}
			}
			res := sound(t, p, o)
			if len(res.Inputs) != len(r.Inputs) || len(res.Outputs) != len(r.Outputs) {
				t.Fatalf("%d inputs and %d outputs, the case has %d and %d",
					len(res.Inputs), len(res.Outputs), len(r.Inputs), len(r.Outputs))
			}
			for i, out := range res.Outputs {
				if d := cmp.Diff(r.Outputs[i].Halves(), out.Data); d != "" {
					t.Errorf("%s, output %s (-want +got):\n%s", c.Name, out.Port.Name, d)
				}
			}
		})
	}
}

// reweigh sets every fp16 constant of p that is not zero to v.
func reweigh(t *testing.T, p *loader.Program, v half) {
	t.Helper()
	s, ok := p.Segment("__TEXT", "__const")
	if !ok {
		t.Fatal("no constants")
	}
	for i := 0; i+1 < len(s.Data); i += 2 {
		if s.Data[i]|s.Data[i+1] != 0 {
			s.Data[i], s.Data[i+1] = byte(v), byte(v>>8)
		}
	}
}

// Apple's cost dump: every column, the bytes moved, and the time it makes of
// them, which is the sum of its bytes at its one rate.
func TestCostDumpCases(t *testing.T) {
	for _, c := range cases(t, vectors.CostDumps) {
		t.Run(c.File, func(t *testing.T) {
			r := sound(t, realProgram(t, c.Data.File), anesim.Options{}).Report
			if len(r.Descriptors) != 1 {
				t.Fatalf("%d descriptors", len(r.Descriptors))
			}
			d := &r.Descriptors[0]
			if diff := cmp.Diff(c.Data.Columns, units(d)); diff != "" {
				t.Errorf("columns (-dump +model):\n%s", diff)
			}
			got := []uint64{d.Units.KernelBytes, d.DMA.Source1 + d.DMA.Source2, d.DMA.Destination}
			want := []uint64{c.Data.Kernel, c.Data.Read, c.Data.Write}
			if !slices.Equal(want, got) {
				t.Errorf("kernel, read and write bytes are %v, the dump has %v", got, want)
			}
			ns := float64(got[0]+got[1]+got[2]) / c.Data.Rate
			if s := strconv.FormatFloat(ns, 'f', 4, 64); math.Abs(ns-c.Data.TimeNS) > 5e-5 {
				t.Errorf("the bytes take %s ns at %v bytes a ns, the dump has %v", s, c.Data.Rate, c.Data.TimeNS)
			}
		})
	}
}

package explain_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"anesim"
	"anesim/internal/explain"
	"anesim/internal/samples"
	"anesim/loader/network/weights"
)

const regroupedNetwork = `inputs: {x: {c: 24, h: 6, w: 10}}
layers:
  - {name: q, op: conv, cout: 32, k: 1, bias: true, from: [x]}
  - {name: k, op: conv, cout: 16, k: 1, from: [x]}
  - {name: v, op: conv, cout: 48, k: 1, bias: true, from: [x]}
  - {name: wide, op: conv, cout: 40, k: 3, pad: 1, bias: true, from: [v]}
  - {name: narrow, op: conv, cout: 16, k: 1, bias: true}
  - {name: on, op: relu}
  - {name: sum, op: add, from: [on, k]}
  - {name: join, op: concat, from: [sum, q]}
  - {name: rows, op: transpose}
  - {name: up, op: linear, n: 40}
  - {name: down, op: linear, n: 24, bias: true}
  - {name: side, op: matmul, n: 16, from: [rows]}
  - {name: other, op: matmul, n: 32, bias: true, from: [rows]}
  - {name: after, op: matmul, n: 8}
`

// Layers side by side in one, and one in parts, give the same values; layers one behind the
// other come as near as weights that are rounded once more let them.
func TestRegroupedGivesTheSameValues(t *testing.T) {
	m := withWeights(t, samples.Read(t, regroupedNetwork))
	want := samples.Run(t, m, anesim.Options{Values: true})
	if len(want.Outputs) != 3 {
		t.Fatalf("%d outputs", len(want.Outputs))
	}
	for _, tt := range []struct {
		list  []explain.Regroup
		exact bool
	}{
		{[]explain.Regroup{{Layers: []string{"q", "k", "v"}}}, true},
		{[]explain.Regroup{{Layers: []string{"k", "v"}}}, true},
		{[]explain.Regroup{{Layers: []string{"side", "other"}}}, true},
		{[]explain.Regroup{{Layers: []string{"v"}, Parts: 3}, {Layers: []string{"wide"}, Parts: 2}}, true},
		{[]explain.Regroup{{Layers: []string{"wide", "narrow"}}, {Layers: []string{"q", "k"}}}, false},
		{[]explain.Regroup{{Layers: []string{"up", "down"}}, {Layers: []string{"other", "after"}}}, false},
	} {
		x, err := explain.RegroupLayers(m, tt.list)
		if err != nil {
			t.Errorf("%v: %v", tt.list, err)
			continue
		}
		got := samples.Run(t, x, anesim.Options{Values: true})
		if len(got.Outputs) != len(want.Outputs) {
			t.Errorf("%v: %d outputs", tt.list, len(got.Outputs))
			continue
		}
		for i, o := range got.Outputs {
			w := want.Outputs[i]
			if tt.exact && !slices.Equal(o.Data, w.Data) || o.Port.Name != w.Port.Name || len(o.Data) != len(w.Data) {
				t.Errorf("%v: other values of %s", tt.list, w.Port.Name)
				continue
			}
			worst, largest := 0.0, 0.0
			for k := range o.Data {
				worst = max(worst, math.Abs(float64(o.Data[k].Float32()-w.Data[k].Float32())))
				largest = max(largest, math.Abs(float64(w.Data[k].Float32())))
			}
			if worst > largest/200 {
				t.Errorf("%v: values of %s to %g differ by %g", tt.list, w.Port.Name, largest, worst)
			}
		}
	}
}

// withWeights returns a copy of the network m in which every layer has generated weights, as if its
// file had them.
func withWeights(t *testing.T, m *anesim.Model) *anesim.Model {
	t.Helper()
	n := *m.Network()
	n.Layers = slices.Clone(n.Layers)
	for i := range n.Layers {
		l := &n.Layers[i]
		w, err := weights.Complete(l, uint64(i+1))
		if err != nil {
			t.Fatal(err)
		}
		w.Table, w.Tables = nil, nil
		l.Weights = w
	}
	return anesim.FromNetwork(&n)
}

func TestRegroupedRefuses(t *testing.T) {
	m := samples.Read(t, regroupedNetwork)
	for _, tt := range []struct {
		m    *anesim.Model
		list []explain.Regroup
		want string
	}{
		{anesim.Identity(), []explain.Regroup{{Layers: []string{"q", "k"}}}, "want a network"},
		{m, []explain.Regroup{{}}, "missing layers"},
		{m, []explain.Regroup{{Layers: []string{"q", "none"}}}, `no layer "none"`},
		{m, []explain.Regroup{{Layers: []string{"q", "k"}}, {Layers: []string{"k"}, Parts: 2}}, "duplicate layer"},
		{m, []explain.Regroup{{Layers: []string{"q", "wide"}}}, "cannot merge"},
		{m, []explain.Regroup{{Layers: []string{"q", "sum"}}}, "cannot merge"},
		{m, []explain.Regroup{{Layers: []string{"v", "wide"}}}, "cannot merge"}, // a bias in a padded window
		{m, []explain.Regroup{{Layers: []string{"k"}, Parts: 2}}, "16 channels"},
		{m, []explain.Regroup{{Layers: []string{"q"}, Parts: 0}}, "32 channels"},
		{m, []explain.Regroup{{Layers: []string{"sum"}, Parts: 2}}, "want a dense convolution"},
	} {
		var o *anesim.OptionError
		if _, err := explain.RegroupLayers(tt.m, tt.list); !errors.As(err, &o) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v, want %q", tt.list, err, tt.want)
		}
	}
}

func FuzzParseRegroup(f *testing.F) {
	for _, s := range []string{"q,k,v", "conv1=2", "a=b=3", "a,", ",", "=2", "a=1", "a=02", "a=99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if r, err := explain.ParseMerge(text); err == nil && (r.String() != text || len(r.Layers) < 2) {
			t.Errorf("%q is %v", text, r)
		}
		if r, err := explain.ParseSplit(text); err == nil && (r.String() != text || r.Parts < 2) {
			t.Errorf("%q is %v", text, r)
		}
	})
}

// Explain merges layers beside and behind each other, all that are alike at once, and what it
// says that gains is what the network then takes.
func TestExplainMergesConvolutions(t *testing.T) {
	var text strings.Builder
	text.WriteString("inputs: {in: {c: 64, h: 28, w: 28}}\nlayers:\n  - {name: x0, op: conv, cout: 192, k: 1, act: relu}\n")
	const blocks = 3
	for i := range blocks {
		fmt.Fprintf(&text, "  - {name: a%d, op: conv, cout: 40, k: 1, act: relu, from: [x%d]}\n", i, i)
		fmt.Fprintf(&text, "  - {name: b%d, op: conv, cout: 24, k: 1, act: relu, from: [x%d]}\n", i, i)
		fmt.Fprintf(&text, "  - {name: c%d, op: conv, cout: 64, k: 1, from: [x%d]}\n", i, i)
		fmt.Fprintf(&text, "  - {name: d%d, op: conv, cout: 64, k: 3, pad: 1, act: relu}\n", i)
		fmt.Fprintf(&text, "  - {name: cat%d, op: concat, from: [a%d, b%d, d%d]}\n", i, i, i, i)
		fmt.Fprintf(&text, "  - {name: x%d, op: conv, cout: 192, k: 1, act: relu}\n", i+1)
	}
	m := samples.Read(t, text.String())
	x, err := explain.Explain(t.Context(), m, anesim.Options{}, explain.Options{File: "net.yaml", Top: 9})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		change, flags string
		list          []explain.Regroup
	}{
		{"merge into one of 64 channels with b0", "--merge a0,b0 --merge a1,b1 --merge a2,b2",
			[]explain.Regroup{{Layers: []string{"a0", "b0"}}, {Layers: []string{"a1", "b1"}}, {Layers: []string{"a2", "b2"}}}},
	} {
		i := slices.IndexFunc(x.Trials, func(c explain.Change) bool { return strings.HasSuffix(c.Command, want.flags) })
		if i < 0 {
			t.Errorf("no trial ends in %s: %+v", want.flags, x.Trials)
			continue
		}
		c := x.Trials[i]
		y, err := explain.RegroupLayers(m, want.list)
		if err != nil {
			t.Fatal(err)
		}
		res := samples.Run(t, y, anesim.Options{})
		if c.Change != want.change || c.Alike != blocks || c.After.Cycles != uint64(res.Report.Cycles) || c.After.Cycles >= x.Now.Cycles {
			t.Errorf("%q of %d alike, %d cycles of %d; the network takes %d", c.Change, c.Alike, c.After.Cycles, x.Now.Cycles, res.Report.Cycles)
		}
	}
}

package explain_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/internal/explain"
	"anesim/internal/samples"
	"anesim/loader/layer"
)

const reshapedNetwork = `inputs: {x: {c: 24, h: 6, w: 10}}
layers:
  - {name: wide, op: conv, cout: 16, k: 3, pad: 1}
  - {name: point, op: conv, cout: 32, k: 1}
  - {name: on, op: relu}
  - {name: sum, op: add, from: [on, point]}
`

// A reshape moves no value.
func TestReshapedGivesTheSameValues(t *testing.T) {
	m := samples.Read(t, reshapedNetwork)
	want := samples.Run(t, m, anesim.Options{Values: true})
	if len(want.Outputs) != 1 {
		t.Fatal("no values")
	}
	for _, layer := range []string{"point", "sum"} {
		for _, to := range [][2]int{{1, 60}, {60, 1}, {3, 20}} {
			x, err := explain.ReshapeLayers(m, []explain.Reshape{{Layer: layer, H: to[0], W: to[1]}})
			if err != nil {
				t.Fatal(err)
			}
			got := samples.Run(t, x, anesim.Options{Values: true})
			if len(got.Outputs) != 1 || !slices.Equal(got.Outputs[0].Data, want.Outputs[0].Data) {
				t.Errorf("%s as %v: other values", layer, to)
			}
		}
	}
	again := samples.Run(t, m, anesim.Options{})
	if again.Report.Cycles != want.Report.Cycles {
		t.Errorf("the network itself was changed: %d cycles, %d before", again.Report.Cycles, want.Report.Cycles)
	}
}

// Layers that are reshaped together stand in their new rows between each other: no tensor is
// laid out anew there, one after the other comes to the same network, and Explain tries it
// however many they are.
func TestReshapedAll(t *testing.T) {
	text := strings.Builder{}
	text.WriteString("inputs: {x: {c: 16, h: 6, w: 10}}\nlayers:\n")
	const layers = 40
	var list []explain.Reshape
	for i := range layers {
		fmt.Fprintf(&text, "  - {name: l%d, op: conv, cout: 16, k: 1}\n", i)
		list = append(list, explain.Reshape{Layer: fmt.Sprint("l", i), H: 1, W: 60})
	}
	m := samples.Read(t, text.String())
	want := samples.Run(t, m, anesim.Options{Values: true})
	all, err := explain.ReshapeLayers(m, list)
	if err != nil {
		t.Fatal(err)
	}
	got := samples.Run(t, all, anesim.Options{Values: true})
	if len(got.Outputs) != 1 || !slices.Equal(got.Outputs[0].Data, want.Outputs[0].Data) {
		t.Error("other values")
	}
	one := m
	for _, r := range list {
		if one, err = explain.ReshapeLayers(one, []explain.Reshape{r}); err != nil {
			t.Fatal(err)
		}
	}
	if x := samples.Run(t, one, anesim.Options{}); x.Report.Cycles != got.Report.Cycles || len(x.Layers) != len(got.Layers) {
		t.Errorf("together %d cycles of %d layers, one after the other %d of %d", got.Report.Cycles, len(got.Layers), x.Report.Cycles, len(x.Layers))
	}
	if _, err := explain.ReshapeLayers(m, append(list, explain.Reshape{Layer: "l3", H: 7, W: 7})); err == nil {
		t.Error("a reshape to other pixels behind good ones")
	}
	x, err := explain.Explain(t.Context(), m, anesim.Options{}, explain.Options{File: "net.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(x.Trials, func(c explain.Change) bool {
		return c.Alike == layers && strings.Count(c.Command, " --reshape ") == layers && c.After.Cycles == uint64(got.Report.Cycles)
	}) {
		t.Errorf("no trial reshapes all %d layers: %+v", layers, x.Trials)
	}
}

func TestReshapedRefuses(t *testing.T) {
	m := samples.Read(t, reshapedNetwork)
	for _, c := range []struct {
		m     *anesim.Model
		layer string
		h, w  int
	}{{m, "none", 1, 60}, {m, "wide", 1, 60}, {m, "point", 1, 59}, {m, "point", -1, -60}, {m, "point", 1 << 62, 4}, {anesim.Identity(), "point", 1, 60}} {
		var o *anesim.OptionError
		if _, err := explain.ReshapeLayers(c.m, []explain.Reshape{{Layer: c.layer, H: c.h, W: c.w}}); !errors.As(err, &o) {
			t.Errorf("%s as %dx%d: %v", c.layer, c.h, c.w, err)
		}
	}
}

func TestParseReshape(t *testing.T) {
	layer, h, w, err := explain.ParseReshape("a=b=3x20")
	if layer != "a=b" || h != 3 || w != 20 || err != nil {
		t.Errorf("%s %d %d: %v", layer, h, w, err)
	}
	for _, bad := range []string{"", "a", "a=", "=1x2", "a=1", "a=1x2x3", "a= 1x2", "a=01x2", "a=1x99999999999999999999"} {
		if _, _, _, err := explain.ParseReshape(bad); err == nil {
			t.Errorf("%q is no mistake", bad)
		}
	}
}

func FuzzParseReshape(f *testing.F) {
	for _, s := range []string{"conv1=1x784", "a=b=3x20", "=1x2", "a=01x2", "a=1x99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		layer, h, w, err := explain.ParseReshape(text)
		if err == nil && (layer == "" || text != fmt.Sprintf("%s=%dx%d", layer, h, w)) {
			t.Errorf("%q is %q, %d and %d", text, layer, h, w)
		}
	})
}

// Rows without gaps are rows of any other length without gaps: no task stands between them,
// in memory or in L2, and a move of whole pieces of rows is one.
func TestRowsWithoutGaps(t *testing.T) {
	const text = `inputs: {x: {c: 6, h: 4, w: 96}}
layers:
  - {name: a, op: relu}
  - {name: pieces, op: reshape, c: 24, h: 3, w: 32}
  - {name: swapped, op: transpose, perm: hcw}
  - {name: b, op: sigmoid}
  - {name: whole, op: reshape, c: 1, h: 3, w: 768}
  - {name: sum, op: relu}
`
	m := samples.Read(t, text)
	layers := 0
	for i := range m.Network().Layers {
		if l := &m.Network().Layers[i]; l.Lower.Op == layer.Transpose {
			layers++
		}
	}
	if layers != 1 {
		t.Errorf("%d transposes, want that of the network alone", layers)
	}
	r := rand.New(rand.NewPCG(2, 5))
	x := make([]float16.Float16, 6*4*96)
	for i := range x {
		x[i] = float16.Fromfloat32(r.Float32()*4 - 2)
	}
	o := anesim.Options{Values: true, Inputs: map[string][]float16.Float16{"x": x}}
	got := samples.Run(t, m, o)
	n := *m.Network()
	n.InMemory = true
	inMemory := samples.Run(t, anesim.FromNetwork(&n), o)
	if len(got.Outputs) != 1 || !slices.Equal(got.Outputs[0].Data, inMemory.Outputs[0].Data) {
		t.Error("other values in the L2 and in memory")
	}
	for i, h := range got.Outputs[0].Data {
		piece, place := i/32, i%32 // [3][24] pieces, of [24][3] before
		v := float64(x[(piece%24*3+piece/24)*32+place].Float32())
		if want := 1 / (1 + math.Exp(-max(0, v))); math.Abs(float64(h.Float32())-want) > 1e-2 { // a table
			t.Fatalf("element %d is %v, want %v", i, h.Float32(), want)
		}
	}
	if a, b := got.Report.DMA.Total(), inMemory.Report.DMA.Total(); a >= b {
		t.Errorf("%d bytes moved with tensors in the L2, %d in memory", a, b)
	}
}

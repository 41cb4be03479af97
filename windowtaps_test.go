package anesim_test

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/firmware"
	"anesim/hw"
	"anesim/internal/cache"
	ox "anesim/internal/network/onnxtest"
	"anesim/internal/report"
	"anesim/internal/samples"
)

// sameEverywhere runs a model with and without values, from a cache, and as the programs written
// from it. All of these must agree. It returns the report.
func sameEverywhere(t *testing.T, open func() *anesim.Model, o anesim.Options) *hw.Report {
	t.Helper()
	var first *hw.Report
	add := func(way string, r *hw.Report) {
		t.Helper()
		if first == nil {
			first = r
		}
		// Sums of energies may be formed in another order.
		if r.MACs != first.MACs || r.Cycles != first.Cycles || math.Abs(float64(r.Energy/first.Energy)-1) > 1e-12 {
			t.Errorf("%s: %d multiply-accumulates, %d cycles, %v; otherwise %d, %d, %v", way, r.MACs, r.Cycles, r.Energy, first.MACs, first.Cycles, first.Energy)
		}
		for i := range r.Descriptors {
			if d, f := &r.Descriptors[i], &first.Descriptors[i]; d.MACs != f.MACs || d.Skipped != f.Skipped || d.ZeroTaps != f.ZeroTaps || d.ZeroMACs > d.MACs {
				t.Errorf("%s, descriptor %d: %d multiply-accumulates, %d skipped, %d of zero taps, %d of zeros; otherwise %d, %d, %d",
					way, i, d.MACs, d.Skipped, d.ZeroTaps, d.ZeroMACs, f.MACs, f.Skipped, f.ZeroTaps)
			}
		}
	}
	dir := t.TempDir()
	for _, way := range []string{"values", "timing only", "values again", "timing only again"} {
		o := o
		o.Values = strings.HasPrefix(way, "values")
		add(way, samples.Run(t, open(), o).Report)
		if len(o.Inputs) > 0 {
			continue
		}
		c, err := cache.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		o.Cache = c
		res := samples.Run(t, open(), o)
		if again := strings.HasSuffix(way, "again"); again != (res.Cache.Outcome == cache.Fetched) {
			t.Errorf("%s: %v", way, res.Cache.Outcome)
		}
		add(way+" from the cache", res.Report)
	}
	list, err := open().Programs(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 {
		t.Fatalf("%d programs, want 1", len(list))
	}
	file := list[0].Bytes()
	for _, values := range []bool{false, true} {
		m, err := anesim.Read("written.hwx", bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		add("written and read", samples.Run(t, m, anesim.Options{Values: values, Overrides: o.Overrides}).Report)
	}
	return first
}

func openLayer(t *testing.T, words string) func() *anesim.Model {
	t.Helper()
	list := strings.Fields(words)
	return func() *anesim.Model {
		m, err := anesim.Layer(list[0], list[1:]...)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}

// TestMACsOfWindows checks that zeros between the taps of a dilated window, and those that enlarge a
// window, are not counted as multiply-accumulates.
func TestMACsOfWindows(t *testing.T) {
	for words, want := range map[string]uint64{
		"conv cin=16 h=14 w=14 cout=24 k=3 pad=1":                              14 * 14 * 24 * 16 * 9,
		"conv cin=16 h=14 w=14 cout=24 k=3 pad=2 dilation=2":                   14 * 14 * 24 * 16 * 9,
		"conv cin=16 h=14 w=14 cout=24 k=3 pad=2 dilation=2 act=gelu":          14 * 14 * 24 * 16 * 9,
		"conv cin=16 h=15 w=15 cout=32 k=3 pad=2 dilation=2 stride=2":          8 * 8 * 32 * 16 * 9, // without zeros in its lanes
		"conv cin=16 h=15 w=15 cout=20 k=3 pad=2 dilation=2 stride=2":          8 * 8 * 20 * 16 * 9,
		"conv cin=16 h=20 w=20 cout=24 kh=3 kw=1 dilation=3 groups=4":          14 * 20 * 24 * 4 * 3,
		"conv cin=32 h=14 w=14 cout=32 k=3 pad=2 dilation=2 groups=32":         14 * 14 * 32 * 9,
		"conv cin=8 h=1 w=40 cout=8 kh=1 kw=3 pad=0,0,2,2 dilation=2 groups=8": 40 * 8 * 3,
		"conv cin=16 h=14 w=14 cout=24 k=1 pad=1":                              16 * 16 * 24 * 16,
		"conv cin=16 h=14 w=14 cout=24 k=1 pad=1 act=sigmoid":                  16 * 16 * 24 * 16,
		"conv cin=192 h=12 w=12 cout=128 k=3 pad=2 dilation=2":                 12 * 12 * 128 * 192 * 9, // in two tasks
	} {
		t.Run(words, func(t *testing.T) {
			r := sameEverywhere(t, openLayer(t, words), anesim.Options{})
			if r.MACs != want {
				t.Errorf("%d multiply-accumulates, want %d", r.MACs, want)
			}
			op, keys, _ := strings.Cut(words, " ")
			yaml := "inputs: {x: {c: 16, h: 14, w: 14}}\nlayers:\n  - {name: a, op: relu, from: x}\n  - {name: y, op: " + op
			for _, key := range strings.Fields(keys) {
				switch name, value, _ := strings.Cut(key, "="); name {
				case "cin":
					yaml = strings.Replace(yaml, "c: 16", "c: "+value, 1)
				case "h", "w":
					yaml = strings.Replace(yaml, name+": 14", name+": "+value, 1)
				case "pad":
					yaml += ", pad: \"" + value + "\""
				default:
					yaml += ", " + name + ": " + value
				}
			}
			yaml += ", from: a}\n"
			if r := sameEverywhere(t, func() *anesim.Model { return samples.Read(t, yaml) }, anesim.Options{}); r.MACs != want {
				t.Errorf("%d multiply-accumulates in a network, want %d", r.MACs, want)
			}
		})
	}
}

// TestZeroTaps checks the energy and the cycles of a window with zeros between its taps: the array
// steps over the zeros, and multiplies by them at the energy of a zero operand. The image is too
// small for phases of its rows, which would have no zeros between them.
func TestZeroTaps(t *testing.T) {
	const products, zeros = 8 * 8 * 24 * 16 * 9, 8 * 8 * 24 * 16 * (25 - 9)
	dilated := sameEverywhere(t, openLayer(t, "conv cin=16 h=8 w=8 cout=24 k=3 pad=2 dilation=2"), anesim.Options{})
	wide := sameEverywhere(t, openLayer(t, "conv cin=16 h=8 w=8 cout=24 k=5 pad=2"), anesim.Options{})
	chip := hw.M1()
	d := &dilated.Descriptors[0]
	if d.MACs != products || d.ZeroTaps != zeros || wide.MACs != products+zeros || dilated.Cycles != wide.Cycles {
		t.Errorf("%d multiply-accumulates, %d by zero taps, %d cycles; of all taps %d, %d cycles", d.MACs, d.ZeroTaps, dilated.Cycles, wide.MACs, wide.Cycles)
	}
	saved := float64(wide.Energy - dilated.Energy)
	if want := zeros * (chip.MACEnergy.Value - chip.ZeroMACEnergy.Value) / 1e3; saved < want*(1-1e-9) || saved > want*(1+1e-9) {
		t.Errorf("zero taps save %v nJ, want %v", saved, want)
	}
}

// TestMACsOfGivenWeights checks that only rows and columns of zeros in all channels leave the
// multiply-accumulates, whatever weights a layer or a file has.
func TestMACsOfGivenWeights(t *testing.T) {
	const cin, cout, side, k = 4, 8, 10, 3
	for name, tc := range map[string]struct {
		zero func(n, c, y, x int) bool
		taps uint64
	}{
		"none":                   {func(n, c, y, x int) bool { return false }, 9},
		"one tap of one channel": {func(n, c, y, x int) bool { return n == 1 && c == 2 && y == 1 && x == 0 }, 9},
		"one tap of all":         {func(n, c, y, x int) bool { return y == 1 && x == 1 }, 9},
		"a row":                  {func(n, c, y, x int) bool { return y == 2 }, 6},
		"a row, but for one":     {func(n, c, y, x int) bool { return y == 2 && (n != 7 || c != 3 || x != 2) }, 9},
		"a column and a row":     {func(n, c, y, x int) bool { return y == 0 || x == 1 }, 4},
		"all":                    {func(n, c, y, x int) bool { return true }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var halves []float16.Float16
			var floats []float32
			for i := range cout * cin * k * k {
				v := float32(1 + i%3)
				if tc.zero(i/(cin*k*k), i/(k*k)%cin, i/k%k, i%k) {
					v = 0
				}
				floats, halves = append(floats, v), append(halves, float16.Fromfloat32(v))
			}
			want := tc.taps * side * side * cout * cin
			open := openLayer(t, "conv cin=4 h=10 w=10 cout=8 k=3 pad=1")
			if r := sameEverywhere(t, open, anesim.Options{Inputs: map[string][]float16.Float16{"weights": halves}}); r.MACs != want {
				t.Errorf("%d multiply-accumulates of a layer, want %d", r.MACs, want)
			}
			deconv := openLayer(t, "deconv cin=4 h=10 w=10 cout=8 k=3 stride=2")
			sameEverywhere(t, deconv, anesim.Options{Inputs: map[string][]float16.Float16{"weights": halves}})
			file := ox.Model(ox.Input("x", 1, cin, side, side), ox.Constant("w", []int{cout, cin, k, k}, floats...),
				ox.Node("Conv", "y", []string{"x", "w"}, ox.List("pads", 1, 1, 1, 1)), ox.Output("y"))
			read := func() *anesim.Model { return readModel(t, "net.onnx", file, anesim.OpenOptions{}) }
			if r := sameEverywhere(t, read, anesim.Options{}); r.MACs != want {
				t.Errorf("%d multiply-accumulates of a file, want %d", r.MACs, want)
			}
			if name != "none" {
				return
			}
			for _, floats := range [][]float32{floats, nil} { // in the file, and left out
				file = ox.Model(ox.Input("x", 1, cin, side, side), ox.Constant("w", []int{cout, cin, k, k}, floats...),
					ox.Node("Conv", "y", []string{"x", "w"}, ox.List("pads", 2, 2, 2, 2), ox.List("dilations", 2, 2)), ox.Output("y"))
				res := samples.Run(t, read(), anesim.Options{})
				if needed := report.NewNetwork(res).Coverage.MACs; res.Report.MACs != want || needed != want {
					t.Errorf("%d multiply-accumulates of a dilated convolution, %d by definition; want %d", res.Report.MACs, needed, want)
				}
				if floats != nil { // without weights there are no values
					sameEverywhere(t, read, anesim.Options{})
				}
			}
		})
	}
}

// TestMACsOfChangedWindows checks that all taps count if a what-if changes the window, with and
// without values, and that other changes leave the count.
func TestMACsOfChangedWindows(t *testing.T) {
	open := openLayer(t, "conv cin=16 h=8 w=8 cout=24 k=3 pad=2 dilation=2")
	for change, taps := range map[string]uint64{
		"Common.ConvCfg.Kh=4": 20, "Common.ConvCfg.Kw=3": 15, "Common.ConvCfg.Px=1": 9, "Common.ConvCfg.OCGSize=0": 9, "NE.MACCfg.NonlinearMode=1": 9,
	} {
		o, err := firmware.ParseOverride(change)
		if err != nil {
			t.Fatal(err)
		}
		r := sameEverywhere(t, open, anesim.Options{Overrides: []firmware.Override{o}})
		if want := taps * 8 * 8 * 24 * 16; r.MACs != want {
			t.Errorf("%s: %d multiply-accumulates, want %d", change, r.MACs, want)
		}
	}
}

// TestMACsOfGivenConstants checks that all taps count if the weights are an input of the program.
func TestMACsOfGivenConstants(t *testing.T) {
	list, err := openLayer(t, "conv cin=16 h=8 w=8 cout=24 k=3 pad=2 dilation=2")().Programs(t.Context(), anesim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := slices.Clone(list[0].Text)
	m, err := anesim.Read("net.td", bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	for _, values := range []bool{false, true} {
		if r := samples.Run(t, m, anesim.Options{Values: values}).Report; r.MACs != 8*8*24*16*25 {
			t.Errorf("values %v: %d multiply-accumulates, want %d", values, r.MACs, 8*8*24*16*25)
		}
	}
}

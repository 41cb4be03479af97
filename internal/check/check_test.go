package check_test

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim"
	"anesim/firmware"
	"anesim/hw"
	"anesim/internal/check"
	"anesim/internal/material"
	"anesim/internal/report"
	"anesim/internal/samples"
)

// entry runs a model with the options o and returns its baseline entry.
func entry(t testing.TB, m *anesim.Model, o anesim.Options) check.Entry {
	t.Helper()
	res, err := m.Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	e, err := check.NewEntry(res, m.Name())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func layerModel(t testing.TB, words ...string) *anesim.Model {
	t.Helper()
	m, err := anesim.Layer(words[0], words[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var convolution = []string{"conv", "cin=64", "h=28", "w=28", "cout=64", "k=3", "pad=1"}

func baseline(t testing.TB, entries ...check.Entry) *check.Baseline {
	t.Helper()
	b := &check.Baseline{Header: report.NewHeader(), Entries: entries}
	var file bytes.Buffer
	if err := b.Write(&file); err != nil {
		t.Fatal(err)
	}
	read, err := check.Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// What is written is what is read, and the same model passes.
func TestBaselineRoundTrip(t *testing.T) {
	e := entry(t, layerModel(t, convolution...), anesim.Options{Values: true})
	b := baseline(t, e)
	stored := e
	stored.Values = false // is about a run
	if diff := cmp.Diff([]check.Entry{stored}, b.Entries); diff != "" {
		t.Error(diff)
	}
	if v := b.Check(&e, 0); !v.Passed() || v.ModelChanged || v.ProgramChanged {
		t.Errorf("%+v", v)
	}
	e.Input = "another"
	if v := b.Check(&e, 0); v.Passed() || !v.Unknown {
		t.Errorf("a model that the baseline does not have: %+v", v)
	}
}

// A change of one register is caught, named and explained.
func TestCheckNamesTheRegister(t *testing.T) {
	m := layerModel(t, convolution...)
	b := baseline(t, entry(t, m, anesim.Options{}))
	o, err := firmware.ParseOverride("Common.Cfg.ActiveNE=2")
	if err != nil {
		t.Fatal(err)
	}
	got := entry(t, m, anesim.Options{Overrides: []firmware.Override{o}})
	v := b.Check(&got, 0.01)
	if v.Passed() || !v.ProgramChanged || v.ModelChanged {
		t.Fatalf("%+v", v)
	}
	named := slices.ContainsFunc(v.Differences, func(d check.Difference) bool {
		return strings.HasPrefix(d.Where, "descriptor 0") && slices.Contains(d.Why, "Common.Cfg.ActiveNE 0x4 -> 0x2") &&
			slices.ContainsFunc(d.Why, func(s string) bool { return strings.HasPrefix(s, "compute +") })
	})
	if !named {
		t.Errorf("no difference names the register: %+v", v.Differences)
	}
}

// So is one of a real program of Apple's compiler, with what its energy is made of.
func TestCheckNamesTheRegisterOfARealProgram(t *testing.T) {
	m, err := anesim.Open(material.File(t, "programs/gemm_64x64.hwx"))
	if err != nil {
		t.Fatal(err)
	}
	b := baseline(t, entry(t, m, anesim.Options{}))
	o, err := firmware.ParseOverride("Common.Cfg.ActiveNE=1")
	if err != nil {
		t.Fatal(err)
	}
	got := entry(t, m, anesim.Options{Overrides: []firmware.Override{o}})
	v := b.Check(&got, 0)
	if v.Passed() || !v.ProgramChanged || v.ModelChanged {
		t.Fatalf("%+v", v)
	}
	for _, d := range v.Differences {
		if !strings.HasPrefix(d.Where, "descriptor") {
			continue
		}
		if !slices.ContainsFunc(d.Why, func(s string) bool {
			return strings.HasPrefix(s, "Common.Cfg.ActiveNE 0x") && strings.HasSuffix(s, "-> 0x1")
		}) ||
			!slices.ContainsFunc(d.Why, func(s string) bool { return strings.HasPrefix(s, "energy of powered engines ") }) {
			t.Errorf("%v is explained by %q", &d, d.Why)
		}
	}
}

// Values that are to be compared and are not on both sides fail, and a comparison without the values
// that the baseline has says so.
func TestCheckNeedsValues(t *testing.T) {
	m := layerModel(t, convolution...)
	with, without := entry(t, m, anesim.Options{Values: true}), entry(t, m, anesim.Options{})
	none := entry(t, m, anesim.Options{Values: true})
	none.Outputs, none.NoValues, none.Why = nil, []string{"y"}, "no table"
	some := entry(t, m, anesim.Options{Values: true})
	some.NoValues, some.Why = []string{"z"}, "no table"
	for name, tt := range map[string]struct {
		want, got check.Entry
		passed    bool
		says      string
	}{
		"both":                 {with, with, true, ""},
		"neither":              {without, without, true, ""},
		"baseline has none":    {without, with, false, "no checksums in the baseline"},
		"baseline is empty":    {none, with, false, "no checksums in the baseline"},
		"run has none":         {with, without, true, "the checksums in the baseline were not compared"},
		"run could have none":  {with, none, false, "no values: no table"},
		"both could have none": {none, none, false, "no values: no table"},
		"one is missing":       {with, some, true, "no values of z: no table"},
	} {
		b := baseline(t, tt.want)
		v := b.Check(&tt.got, 0)
		if v.Passed() != tt.passed || !strings.HasPrefix(v.Uncompared, tt.says) || (tt.says == "") != (v.Uncompared == "") {
			t.Errorf("%s: passed %t, %q", name, v.Passed(), v.Uncompared)
		}
		if !tt.passed && (v.Cause() != v.Uncompared || v.Summary() != v.Uncompared) {
			t.Errorf("%s: cause %q, summary %q", name, v.Cause(), v.Summary())
		}
	}
}

// Counters are compared, and a difference within the model's interval is said to be one of
// the program all the same.
func TestCheckComparesCounters(t *testing.T) {
	e := entry(t, layerModel(t, convolution...), anesim.Options{})
	b := baseline(t, e)
	got := entry(t, layerModel(t, convolution...), anesim.Options{})
	got.Descriptors[0].Registers += " Common.TaskType=0x1"
	got.Total.TimeNs *= 1.01
	got.Descriptors[0].Counters[hw.L2ToNEBytes] *= 2
	v := b.Check(&got, 0)
	if !v.Within || !strings.Contains(v.Cause(), "inside anesim's error (-") {
		t.Errorf("%+v: %s", v, v.Cause())
	}
	if !slices.ContainsFunc(v.Differences, func(d check.Difference) bool { return strings.HasPrefix(d.What, "counters: l2_to_ne_bytes ") }) {
		t.Errorf("%+v", v.Differences)
	}
	got.Total.TimeNs, got.Total.TimeLowNs, got.Total.TimeHighNs = 3*got.Total.TimeNs, 3*got.Total.TimeLowNs, 3*got.Total.TimeHighNs
	if v := b.Check(&got, 0); v.Within || strings.Contains(v.Cause(), "interval") {
		t.Errorf("three times the time: %s", v.Cause())
	}
}

// A change of the model's constants is told apart from one of the program.
func TestCheckTellsTheModelApart(t *testing.T) {
	e := entry(t, layerModel(t, convolution...), anesim.Options{})
	b := baseline(t, e)
	b.Tool.Constants = "000000000000"
	e.Total.Cycles += 100
	v := b.Check(&e, 0)
	if v.Passed() || !v.ModelChanged || v.ProgramChanged || !strings.Contains(v.Cause(), "anesim changed") {
		t.Errorf("%+v: %s", v, v.Cause())
	}
}

func TestCheckAllows(t *testing.T) {
	e := entry(t, layerModel(t, convolution...), anesim.Options{})
	b := baseline(t, e)
	e.Total.Cycles += e.Total.Cycles / 100
	if v := b.Check(&e, 0.02); !v.Passed() {
		t.Errorf("one percent beyond two: %+v", v.Differences)
	}
	if v := b.Check(&e, 0.005); v.Passed() || len(v.Differences) != 1 {
		t.Errorf("one percent within a half: %+v", v.Differences)
	}
}

// A cost that falls is a difference as one that rises: the baseline no longer describes the
// model. It is allowed within the same share.
func TestCheckReportsFallingCosts(t *testing.T) {
	e := entry(t, layerModel(t, convolution...), anesim.Options{})
	b := baseline(t, e)
	e.Total.Cycles -= e.Total.Cycles / 100
	if v := b.Check(&e, 0.02); !v.Passed() {
		t.Errorf("a fall of one percent, two are allowed: %+v", v.Differences)
	}
	v := b.Check(&e, 0.005)
	if v.Passed() || len(v.Differences) != 1 {
		t.Fatalf("a fall of one percent, half of one is allowed: %+v", v.Differences)
	}
	if d := &v.Differences[0]; d.Got >= d.Want || d.Relative() >= -0.005 || d.Relative() < -0.011 {
		t.Errorf("%s: relative %g, want about -0.01", d, d.Relative())
	}
}

func TestCheckComparesOutputs(t *testing.T) {
	m := layerModel(t, convolution...)
	b := baseline(t, entry(t, m, anesim.Options{Values: true, Seed: 1}))
	other := entry(t, m, anesim.Options{Values: true, Seed: 2})
	v := b.Check(&other, 1)
	if v.Passed() || !strings.Contains(v.Differences[0].String(), "checksum") {
		t.Errorf("other values pass: %+v", v)
	}
}

// Descriptors that come and go are paired around.
func TestDiffAligns(t *testing.T) {
	reg := func(names ...string) (list []check.Descriptor) {
		for _, n := range names {
			list = append(list, check.Descriptor{Op: n[:1], Registers: "Common.Cin=" + n[1:]})
		}
		return list
	}
	a := check.Entry{Descriptors: reg("c0x1", "c0x2", "p0x3", "c0x4")}
	b := check.Entry{Descriptors: reg("c0x1", "e0x9", "c0x2", "p0x7", "c0x4")}
	var got []string
	for _, d := range check.Diff(&a, &b) {
		switch {
		case d.A == nil:
			got = append(got, "+"+d.B.Registers)
		case d.B == nil:
			got = append(got, "-"+d.A.Registers)
		default:
			got = append(got, strings.Join(d.Changes, ";"))
		}
	}
	want := []string{"", "+Common.Cin=0x9", "", "Common.Cin.Cin 0x3 -> 0x7", ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What older baselines call a pass is paired with a task that moves data, and with no convolution.
func TestDiffAlignsPasses(t *testing.T) {
	a := check.Entry{Descriptors: []check.Descriptor{{Op: "pass", Registers: "Common.Cin=0x1"}, {Op: "conv", Registers: "Common.Cin=0x2"}}}
	b := check.Entry{Descriptors: []check.Descriptor{
		{Op: "conv", Registers: "Common.Cin=0x8"}, {Op: "transpose", Registers: "Common.Cin=0x3"}, {Op: "conv", Registers: "Common.Cin=0x2"},
	}}
	var got []string
	for _, d := range check.Diff(&a, &b) {
		if d.A == nil {
			got = append(got, "+ "+d.B.Op)
			continue
		}
		got = append(got, d.A.Op+" "+d.B.Op)
	}
	if want := []string{"+ conv", "pass transpose", "conv conv"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// An array of registers takes one line.
func TestRegisterChangesJoinArrays(t *testing.T) {
	var a, b []string
	for i := range 16 {
		n := string("0123456789abcdef"[i])
		name := "KernelDMASrc.CoeffBfrSize[" + []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15"}[i] + "]="
		a = append(a, name+"0x40")
		b = append(b, name+"0x"+n+"80")
	}
	same := strings.Join(a, " ")
	if got := check.RegisterChanges(same, strings.ReplaceAll(same, "0x40", "0x80")); !slices.Equal(got, []string{"KernelDMASrc.CoeffBfrSize[0-15].Size 0x1 -> 0x2"}) {
		t.Error(got)
	}
	if got := check.RegisterChanges(same, strings.Join(b, " ")); !slices.Equal(got, []string{"KernelDMASrc.CoeffBfrSize[0-15].Size differ"}) {
		t.Error(got)
	}
}

// A result's JSON and the run it came from cost the same, with every term.
func TestEntryOfDocument(t *testing.T) {
	m := layerModel(t, convolution...)
	res, err := m.Run(context.Background(), anesim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var doc bytes.Buffer
	if err := report.WriteJSON(&doc, res); err != nil {
		t.Fatal(err)
	}
	got, err := check.ReadEntry(doc.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	want := entry(t, m, anesim.Options{})
	if diff := cmp.Diff(want.Total, got.Total); diff != "" {
		t.Error(diff)
	}
	for _, d := range check.Diff(&want, got) {
		if d.Changed() {
			t.Errorf("descriptor %d differs", d.AAt)
		}
	}
	for _, bad := range []string{"", "{", `{"schema":2}`, `{"schema":1}`} {
		if _, err := check.ReadEntry([]byte(bad)); err == nil {
			t.Errorf("%q is a result", bad)
		}
	}
}

func FuzzReadBaseline(f *testing.F) {
	f.Add(`{"schema":1,"tool":{"version":"x","constants":"y"},"entries":[{"input":"a","chip":"m1","total":{},"outputs":[],"layers":[],"descriptors":[{"op":"conv","registers":"Common.Cin=0x1"}]}]}`)
	f.Add(`{"schema":2}`)
	f.Fuzz(func(t *testing.T, s string) {
		b, err := check.Read(strings.NewReader(s))
		if err != nil {
			return
		}
		for i := range b.Entries {
			e := b.Entries[i]
			b.Check(&e, 0)
			check.Diff(&e, &b.Entries[0])
		}
		var again bytes.Buffer
		if err := b.Write(&again); err != nil {
			t.Fatal(err)
		}
		if _, err := check.Read(&again); err != nil {
			t.Errorf("what was written is not read: %v", err)
		}
	})
}

const threeLayers = `inputs: {x: {c: 16, h: 8, w: 8}}
layers:
  - {name: first, op: conv, cout: 32, k: 3, pad: 1}
  - {name: second, op: conv, cout: 32, k: 1}
  - {name: last, op: softmax, axis: c}
`

// A register that a compiler writes otherwise throughout a network is named for the whole
// and for each layer, not only behind everything else.
func TestCheckNamesRegistersOfANetwork(t *testing.T) {
	m := samples.Read(t, threeLayers)
	b := baseline(t, entry(t, m, anesim.Options{}))
	o, err := firmware.ParseOverride("Common.ConvCfg.OCGSize=0")
	if err != nil {
		t.Fatal(err)
	}
	got := entry(t, m, anesim.Options{Overrides: []firmware.Override{o}})
	v := b.Check(&got, 0)
	whole, layer := false, false
	for _, d := range v.Differences {
		for _, why := range d.Why {
			whole = whole || d.Where == "total" && strings.HasPrefix(why, "Common.ConvCfg.OCGSize 0x") && strings.Contains(why, " descriptors")
			layer = layer || d.Where == "layer first" && strings.HasPrefix(why, "Common.ConvCfg.OCGSize 0x")
		}
	}
	if !whole || !layer {
		t.Errorf("named for the whole: %v, for a layer: %v, in %+v", whole, layer, v.Differences)
	}
}

// What cycles, energy and bytes are made of sums to them, of a network with every unit at
// work.
func TestTermsSumToTheMeasures(t *testing.T) {
	var costs []check.Cost
	for _, repeat := range []int{1, 10_000} { // of which most are counted and not listed
		e := entry(t, samples.Read(t, threeLayers), anesim.Options{Repeat: repeat})
		costs = append(costs, e.Total)
		for i := range e.Layers {
			costs = append(costs, e.Layers[i].Cost)
		}
		for i := range e.Descriptors {
			costs = append(costs, e.Descriptors[i].Cost)
		}
	}
	for i := range costs {
		c := &costs[i]
		sum := map[string]float64{}
		for _, x := range check.CostChanges(c, c) {
			sum[x.Of] += x.A
		}
		if sum["cycles"] != float64(c.Cycles) || sum["bytes"] != float64(c.DMABytes) || math.Abs(sum["energy"]-float64(c.EnergyNJ)) > 1e-6*float64(c.EnergyNJ) {
			t.Errorf("terms sum to %v, the cost is %d cycles, %v and %d bytes", sum, c.Cycles, c.EnergyNJ, c.DMABytes)
		}
	}
}

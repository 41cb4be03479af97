package anesim_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/x448/float16"

	"anesim"
	"anesim/firmware"
	"anesim/hw"
	"anesim/loader"
)

// halves converts numbers to fp16.
func halves(v ...float32) []float16.Float16 {
	h := make([]float16.Float16, len(v))
	for i, x := range v {
		h[i] = float16.Fromfloat32(x)
	}
	return h
}

func repeat(v float32, n int) []float16.Float16 {
	h := make([]float16.Float16, n)
	for i := range h {
		h[i] = float16.Fromfloat32(v)
	}
	return h
}

// open reads one of the real containers. It skips the test if the file is missing.
func open(t testing.TB, name string) *loader.Program {
	t.Helper()
	for _, f := range programs(t) {
		if filepath.Base(f) == name {
			p, err := loader.Open(f)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
	}
	t.Fatalf("%s is not among the real programs", name)
	return nil
}

// output runs p with values and returns its only output.
func output(t *testing.T, p *loader.Program, o anesim.Options) []float16.Float16 {
	t.Helper()
	o.Chip, o.Values = hw.M1(), true
	r, err := anesim.Run(p, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Report.Faults {
		t.Fatal(f)
	}
	if len(r.Outputs) != 1 {
		t.Fatalf("%d outputs, want 1; descriptors %+v", len(r.Outputs), r.Report.Descriptors)
	}
	return r.Outputs[0].Data
}

// The runs whose results on silicon are known.
func TestSiliconRuns(t *testing.T) {
	in := func(pairs ...any) map[string][]float16.Float16 {
		m := make(map[string][]float16.Float16)
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1].([]float16.Float16)
		}
		return m
	}
	mul, err := firmware.ParseOverride("PE.Cfg.OpMode=1")
	if err != nil {
		t.Fatal(err)
	}
	inputs := func(p *loader.Program) (names []string) {
		for port := range p.Inputs() {
			names = append(names, port.Name)
		}
		return names
	}
	add := open(t, "add_c64.hwx")
	names := inputs(add)
	operands := in(names[0], repeat(3, 64), names[1], repeat(2, 64))
	for _, tc := range []struct {
		name string
		p    *loader.Program
		o    anesim.Options
		want []float16.Float16
	}{
		{"3+2", add, anesim.Options{Inputs: operands}, repeat(5, 64)},
		{"3*2", add, anesim.Options{Inputs: operands, Overrides: []firmware.Override{mul}}, repeat(6, 64)},
		{"conv 3 to 3, weights 3", open(t, "conv_1x1_3to3_w3.hwx"), anesim.Options{Inputs: in("image", halves(3, 3, 3))}, halves(27, 27, 27)},
		{"conv 3 to 2, bias 1, weights 3", open(t, "conv_1x1_3to2_bias.hwx"), anesim.Options{Inputs: in("image", halves(1, 2, 3))}, halves(19, 19)},
		// Denormal weights count with their value: checksums of chips need them.
		{"denormal weights", open(t, "conv_1x1_3to3.hwx"), anesim.Options{Inputs: in("image", halves(1000, 1000, 1000))}, halves(12./65536, 48./65536, 81./65536)},
		{"zero weights", open(t, "gemm_64x64.hwx"), anesim.Options{Inputs: in("image", repeat(7, 64))}, repeat(0, 64)},
	} {
		if d := cmp.Diff(tc.want, output(t, tc.p, tc.o)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, d)
		}
	}
}

func TestReLUClampsOnARealProgram(t *testing.T) {
	p := open(t, "relu_w16.hwx")
	var in, want []float16.Float16
	for i := range 16 {
		v := float32(i) - 8.5
		in = append(in, float16.Fromfloat32(v))
		want = append(want, float16.Fromfloat32(max(v, 0)))
	}
	for port := range p.Inputs() {
		got := output(t, p, anesim.Options{Inputs: map[string][]float16.Float16{port.Name: in}})
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("relu (-want +got):\n%s", d)
		}
	}
}

// sigmoid(3) on silicon is 0x3b9f.
func TestSigmoidOnARealProgram(t *testing.T) {
	p := open(t, "sigmoid_w77.hwx")
	for port := range p.Inputs() {
		got := output(t, p, anesim.Options{Inputs: map[string][]float16.Float16{port.Name: repeat(3, 77)}})
		for i, h := range got {
			if h != 0x3b9f {
				t.Fatalf("sigmoid(3) at %d is %#04x, silicon gives 0x3b9f", i, uint16(h))
			}
		}
	}
}

func TestConcatCopiesOnARealProgram(t *testing.T) {
	p := open(t, "concat_2td.hwx")
	o := anesim.Options{Seed: 7, Chip: hw.M1(), Values: true}
	r, err := anesim.Run(p, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Inputs) != 2 || len(r.Outputs) != 1 {
		t.Fatalf("%d inputs and %d outputs", len(r.Inputs), len(r.Outputs))
	}
	// Which input comes first is the program's own: each half of the output must be one
	// of them, and both must occur.
	got := r.Outputs[0].Data
	first, second := r.Inputs[0].Data, r.Inputs[1].Data
	a, b := got[:16], got[16:]
	if !(cmp.Equal(a, first) && cmp.Equal(b, second)) && !(cmp.Equal(a, second) && cmp.Equal(b, first)) {
		t.Errorf("output %v is no concatenation of %v and %v", got, first, second)
	}
}

// Convolutions and the inner product equal a plain reference of the program's weights.
func TestContainersAgainstPlainReference(t *testing.T) {
	for _, name := range []string{"conv_1x1_3to2_bias.hwx", "conv_1x1_3to3.hwx", "conv_1x1_3to3_w3.hwx", "gemm_64x64.hwx"} {
		p := open(t, name)
		linked, err := p.Link()
		if err != nil {
			t.Fatal(err)
		}
		r, err := anesim.Run(p, anesim.Options{Chip: hw.M1(), Values: true, Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		want := plainConvolution(p, linked.Tasks[0], r.Inputs[0].Data)
		if d := cmp.Diff(want, r.Outputs[0].Data); d != "" {
			t.Errorf("%s (-reference +model):\n%s", name, d)
		}
	}
}

// Apple's cost dump of this very program.
func TestCostDumpColumns(t *testing.T) {
	r, err := anesim.Run(open(t, "conv_1x1_3to2_bias.hwx"), anesim.Options{Chip: hw.M1()})
	if err != nil {
		t.Fatal(err)
	}
	d := r.Report.Descriptors[0]
	want := hw.Units{
		WorkUnits: 1, MACCyclesPerWU: 4, PostCyclesPerWU: 1, NESingle: 5, NEDouble: 4,
		Planar: 0, L2Broadcast: 3, L2Writeback: 1, KernelBytes: 12,
	}
	if diff := cmp.Diff(want, d.Units); diff != "" {
		t.Errorf("columns (-dump +model):\n%s", diff)
	}
	if d.DMA.Source1 != 192 || d.DMA.Destination != 128 {
		t.Errorf("reads %d and writes %d bytes, the dump has 192 and 128", d.DMA.Source1, d.DMA.Destination)
	}
}

// Every real program runs or is timed; nothing faults; what it stores as its time is
// what the rule gives.
func TestEveryRealProgram(t *testing.T) {
	const wantPrograms, wantTexts = 81, 104
	files := programs(t)
	if len(files) != wantPrograms {
		t.Errorf("%d programs, want %d", len(files), wantPrograms)
	}
	texts, stored := 0, 0
	for _, f := range files {
		p, err := loader.Open(f)
		if err != nil {
			t.Error(err)
			continue
		}
		timed, err := anesim.Run(p, anesim.Options{Chip: hw.M1()})
		if err != nil {
			t.Errorf("%s: %v", f, err)
			continue
		}
		name := filepath.Base(f)
		if strings.HasSuffix(name, ".bin") {
			texts += len(timed.Report.Descriptors)
		}
		for _, d := range timed.Report.Descriptors {
			if d.Exe.Stored != 0 {
				stored++
				if d.Exe.Model != d.Exe.Stored {
					t.Errorf("%s descriptor %d: stored %d us, model %d", name, d.Index, d.Exe.Stored, d.Exe.Model)
				}
			}
		}
		for _, x := range timed.Report.Faults {
			t.Errorf("%s: %v", name, x)
		}
	}
	if texts != wantTexts {
		t.Errorf("%d descriptors in bare texts, want %d", texts, wantTexts)
	}
	if stored == 0 {
		t.Error("no descriptor stores its time")
	}
}

package command

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim/tools/network/onnx/onnxtest"
)

// exampleNetwork is an example network.
func exampleNetwork(name string) string { return filepath.Join("..", "..", "examples", name) }

func model(t *testing.T, args ...string) jsonModel {
	t.Helper()
	out, errs, code := anesim(append([]string{"model", "--json"}, args...)...)
	if code != exitDone {
		t.Fatalf("model %v: exit %d: %s", args, code, errs)
	}
	var r jsonModel
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// The examples come out at the multiply-accumulates of the literature, and their totals
// are the sums of their rows.
func TestModelExamples(t *testing.T) {
	for _, tc := range []struct {
		name    string
		macs    uint64
		missing int
	}{
		{"resnet50.yaml", 4_089_184_256, 1}, // at most the maximum pool
		{"mobilenetv2.yaml", 300_774_272, 0},
		{"transformer.yaml", 931_135_488, 0},
	} {
		r := model(t, exampleNetwork(tc.name))
		if r.Total.MACs != tc.macs {
			t.Errorf("%s: %d MACs, want %d", tc.name, r.Total.MACs, tc.macs)
		}
		if len(r.NotModelled) > tc.missing {
			t.Errorf("%s: not modelled: %v", tc.name, r.NotModelled)
		}
		var cycles, bytes uint64
		energy := r.Total.Dispatch
		for _, l := range r.Layers {
			cycles += l.Total.Cycles
			bytes += l.Total.DMABytes
			energy += l.Total.EnergyNJ
			if l.Modelled != (l.Descriptors > 0) {
				t.Errorf("%s: %+v", tc.name, l)
			}
		}
		if cycles != r.Total.Cycles || bytes != r.Total.DMABytes || math.Abs(energy-r.Total.EnergyNJ) > 1 {
			t.Errorf("%s: rows add up to %d cycles, %d bytes, %g nJ, total %+v", tc.name, cycles, bytes, energy, r.Total)
		}
	}
}

// What is not modelled is said in the table, the CSV and the JSON.
func TestModelSaysWhatIsMissing(t *testing.T) {
	file := writeFile(t, "wide.yaml", []byte("inputs: {x: {c: 4, h: 4, w: 4}, y: {w: 20000}}\nlayers:\n- {op: relu, from: x}\n- {op: relu, from: y}\n"))
	const why = "width is 20000, the engine takes at most 16384"
	out, _, code := anesim("model", file)
	if code != exitDone {
		t.Fatal(code)
	}
	for _, want := range []string{
		"wide  2 layers, chip m1", "\nnot modelled: 1 layer, in no total\n  relu1 (relu): " + why,
		"\nnote: each layer is a program of its own",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in the table:\n%s", want, out)
		}
	}
	out, _, _ = anesim("model", file, "--csv")
	rows := records(t, out)
	if len(rows) != 3 || rows[2][0] != "relu1" || rows[2][7] != "" || !strings.Contains(rows[2][14], why) {
		t.Errorf("rows %q", rows)
	}
	r := model(t, file)
	if len(r.Notes) != 2 || !r.Layers[0].Modelled || r.Layers[1].Modelled || r.NotModelled[0].Name != "relu1" {
		t.Errorf("notes %q, missing %v", r.Notes, r.NotModelled)
	}
}

// Values go through a network from ONNX: the file's weights, folded, and views between.
func TestModelValuesOfONNX(t *testing.T) {
	file := writeFile(t, "net.onnx", onnxtest.Model(
		onnxtest.Input("x", 0, 2, 1, 2), onnxtest.Output("y"),
		onnxtest.Constant("w", []int{2, 2, 1, 1}, 1, 2, 3, -4), onnxtest.Constant("b", []int{2}, 1, 1),
		onnxtest.Constant("m", []int{4, 2}, 1, 0, 0, 1, 1, 0, 0, 1),
		onnxtest.Node("Conv", "c", []string{"x", "w", "b"}), onnxtest.Node("Relu", "r", []string{"c"}),
		onnxtest.Node("Flatten", "f", []string{"r"}), onnxtest.Node("MatMul", "y", []string{"f", "m"}),
	))
	x := writeNPY(t, []int{1, 2, 1, 2}, []float16.Float16{0x3c00, 0x4000, 0x4200, 0x4400}) // 1 2 3 4
	dir := t.TempDir()
	r := model(t, file, "--values", "--in", "x="+x, "--out", dir)
	// [1 2; 3 -4] [1 2; 3 4] + 1 = [8 11; -8 -9], clamped, and columns 0 + 2 and 1 + 3.
	want := checksum([]float16.Float16{float16.Fromfloat32(8), float16.Fromfloat32(11)})
	if len(r.Outputs) != 1 || r.Outputs[0].CRC32 != want || r.Outputs[0].Name != "y" || len(r.Synthetic) != 0 {
		t.Errorf("%+v, want crc32 %s", r, want)
	}
	if r.Layers[0].Folded[0] != "r" || len(r.Layers) != 2 {
		t.Errorf("%+v", r.Layers)
	}
	if _, err := os.Stat(filepath.Join(dir, "y.npy")); err != nil {
		t.Error(err)
	}
	if r := model(t, file, "--values"); len(r.Synthetic) != 1 || r.Synthetic[0] != "x" || r.Outputs[0].CRC32 == want {
		t.Errorf("without an input: %+v", r)
	}
}

// What no modelled layer makes is pseudo-random to its readers.
func TestModelValuesBehindAGap(t *testing.T) {
	file := writeFile(t, "net.onnx", onnxtest.Model(
		onnxtest.Input("x", 1, 4, 4, 4), onnxtest.Shape("r", 1, 4, 8, 8), onnxtest.Output("y"),
		onnxtest.Node("Resize", "r", []string{"x"}), onnxtest.Node("Relu", "y", []string{"r"}),
	))
	r := model(t, file, "--values")
	if len(r.NotModelled) != 1 || len(r.Outputs) != 1 || len(r.Synthetic) != 1 || r.Synthetic[0] != "r" {
		t.Errorf("%+v", r)
	}
}

func TestModelErrors(t *testing.T) {
	bad := writeFile(t, "bad.yaml", []byte("inputs: {x: {c: 1}}\nlayers:\n- {op: conv}\n"))
	cut := writeFile(t, "cut.onnx", []byte{0x3a, 0x05, 0x01})
	for _, tc := range []struct {
		args string
		code int
		want string
	}{
		{"", exitUsage, "anesim model takes one file"},
		{bad, exitFailed, bad + ": line 3: layer conv0: conv: cout: missing"},
		{cut, exitFailed, cut + ": byte 0x0: field 7: unexpected EOF"},
		{"nothing.onnx", exitFailed, "open nothing.onnx: no such file"},
		{"net.pb", exitFailed, `net.pb: extension ".pb": want .yaml, .yml or .onnx`},
		{bad + " --in x=y.npy", exitUsage, "--in and --out want --values"},
		{bad + " --values --timing-only", exitUsage, "--values and --timing-only exclude each other"},
		{bad + " --counters", exitUsage, "unknown flag: --counters"},
	} {
		_, errs, code := anesim(append([]string{"model"}, strings.Fields(tc.args)...)...)
		if code != tc.code || !strings.HasPrefix(errs, "anesim: "+tc.want) {
			t.Errorf("model %s: exit %d, want %d\n got %swant %s", tc.args, code, tc.code, errs, tc.want)
		}
	}
}

package command

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	ox "anesim/internal/network/onnxtest"
	"anesim/internal/report"
)

// manyKeys is attention over many keys, whose shares are so small that the engine loses products.
const manyKeys = `
name: attention
inputs:
  scores: {h: 8, w: 4096}
  values: {h: 4096, w: 16}
layers:
  - {name: the_shares_of_all_keys_that_the_softmax_of_this_layer_computes, op: softmax, from: scores, axis: w}
  - {name: the_context_of_all_queries_that_this_layer_computes_from_shares, op: matmul, from: [the_shares_of_all_keys_that_the_softmax_of_this_layer_computes, values]}
  - {op: relu}
`

func writeNetwork(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "net.yaml")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

func runNetwork(t *testing.T, args ...string) (doc report.Network) {
	t.Helper()
	out, stderr, code := invoke(append([]string{"model"}, append(args, "--json")...)...)
	if code != exitDone {
		t.Fatalf("%q: %s", args, stderr)
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// The first lines name the layer, the scale and both errors of the JSON report, and no line is wider
// than 80 characters.
func TestPrecisionText(t *testing.T) {
	file := writeNetwork(t, manyKeys)
	doc := runNetwork(t, file, "--precision")
	s := doc.Layers[1].Precision.Sums
	if s == nil || s.Shift < 5 || *s.Error < 0.02 || *s.Scaled > 0.0005 || doc.Layers[0].Precision.Sums != nil {
		t.Fatalf("matmul: %+v; want an error of some 4 %% and a scale that repairs it; softmax: %+v", s, doc.Layers[0].Precision.Sums)
	}
	out, stderr, code := invoke("model", file, "--precision", "--compare", "fp32")
	if code != exitDone {
		t.Fatal(stderr)
	}
	if want := "attention: 1 of 1 layer loses accuracy in its sums\n"; !strings.HasPrefix(out, want) {
		t.Errorf("report begins %q; want %q", strings.SplitN(out, "\n", 2)[0], want)
	}
	row := regexp.MustCompile(`matmul +[3-4]\.\d% +x 2\^(\d+) +x 2\^-(\d+) +0\.02\d%`).FindStringSubmatch(out)
	if row == nil || row[1] != row[2] {
		t.Errorf("no row with the scale of the matmul:\n%s", out)
	}
	for _, args := range [][]string{
		{"model", file, "--precision", "--compare", "fp32"},
		{"model", exampleNetwork("transformer.yaml"), "--precision", "--compare", "fp32"},
		{"model", exampleNetwork("decoder-step.onnx"), "--precision", "--compare", "fp32"},
		{"layer", "conv", "cin=32", "cout=32", "h=8", "w=8", "k=3", "pad=1", "groups=32", "act=gelu", "--precision"},
		{"layer", "softmax", "c=16", "h=4", "w=4", "axis=c", "--precision"},
		{"run", "--precision"},
	} {
		out, stderr, code := invoke(args...)
		if code != exitDone {
			t.Errorf("%q: %s", args, stderr)
		}
		for line := range strings.Lines(out) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
				t.Errorf("%q: %d characters: %s", args, n, line)
			}
		}
	}
}

// The summary on accuracy has the figures of the JSON report, names the inputs that were made up and
// the rounding that no figure has, and fits a screen.
func TestAccuracySummary(t *testing.T) {
	file := writeNetwork(t, manyKeys)
	doc := runNetwork(t, file, "--precision", "--compare", "fp32")
	out, errs, code := invoke("model", file, "--precision", "--compare", "fp32", "--summary")
	if code != exitDone {
		t.Fatal(errs)
	}
	words := strings.Join(strings.Fields(out), " ")
	for _, want := range []string{
		fmt.Sprintf("differs from float32 by %.2g%%", 100**doc.FP32.Outputs[0].Error), "1 of 1 layer lose",
		"a power of two on the weights helps 1", "scores, values: pseudo-random", "rounding them to fp16 is not in these figures", "verdict fp16 shows",
	} {
		if !strings.Contains(words, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if n := strings.Count(out, "\n"); n > 24 {
		t.Errorf("%d lines", n)
	}
	if full, _, _ := invoke("model", file, "--precision", "--compare", "fp32"); strings.Count(full, "\n") <= strings.Count(out, "\n") {
		t.Error("the report is not longer than its summary")
	}
	// A copy is exact: nothing hurts, and no sum is there to lose.
	copied := writeNetwork(t, "inputs: {x: {c: 4, h: 2, w: 2}}\nlayers:\n- {op: transpose, perm: cwh}\n")
	in := filepath.Join(t.TempDir(), "x.f16")
	if err := os.WriteFile(in, make([]byte, 32), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, code = invoke("model", copied, "--precision", "--compare", "fp32", "--summary", "--in", "x="+in)
	if code != exitDone || !strings.Contains(out, "fp16 does not hurt") || !strings.Contains(out, "no layer multiplies") || strings.Contains(out, "pseudo-random") {
		t.Errorf("exit %d: %s%s", code, errs, out)
	}
}

// A user cannot scale the weights of an average pool or of a pad. The advice is to scale the input, and it
// helps.
func TestPrecisionOfLayersWithoutWeights(t *testing.T) {
	pool := func(scale float64) string {
		return writeNetwork(t, fmt.Sprintf(`
inputs: {x: {c: 16, h: 64, w: 64}}
layers:
  - {op: mul, second: scalar, value: %g}
  - {name: averages, op: pool, kind: avg, k: 31, stride: 31}
`, scale))
	}
	for _, c := range []struct {
		scale float64
		loses bool
	}{{1. / 1024, true}, {64, false}} {
		file := pool(c.scale)
		s := runNetwork(t, file, "--precision").Layers[1].Precision.Sums
		if s == nil || s.Loses() != c.loses || s.Shift != 0 || s.Gain() != 1 {
			t.Errorf("input times %g: %+v; want loses %v, and no scale for weights", c.scale, s, c.loses)
		}
		out, stderr, code := invoke("model", file, "--precision")
		const advice = "no weights to scale, as in an average pool, whose input can be scaled instead:\n  averages\n"
		if code != exitDone || strings.Contains(out, advice) != c.loses || strings.Contains(out, "power of two") {
			t.Errorf("input times %g: exit %d: %s%s; want advice %v, and none on weights", c.scale, code, out, stderr, c.loses)
		}
	}
	out, stderr, code := invoke("layer", "pool", "kind=avg", "c=4", "h=31", "w=31", "k=31", "--precision", "--json")
	var run report.Run
	if err := json.Unmarshal([]byte(out), &run); code != exitDone || err != nil {
		t.Fatal(stderr, err)
	}
	if s := run.Descriptors[0].Precision.Sums; s == nil || s.Shift != 0 {
		t.Errorf("layer: %+v; want sums without a scale for weights", s)
	}
}

// Measuring precision and comparing with float32 change neither values nor times.
func TestPrecisionChangesNothingElse(t *testing.T) {
	for _, file := range []string{writeNetwork(t, manyKeys), exampleNetwork("decoder-step.onnx"), exampleNetwork("classifier.mlpackage")} {
		plain, measured := runNetwork(t, file, "--values"), runNetwork(t, file, "--precision", "--compare", "fp32")
		if plain.Total.Cycles != measured.Total.Cycles || plain.Total.EnergyNJ != measured.Total.EnergyNJ {
			t.Errorf("%s: %d cycles, %v; want %d, %v", file, measured.Total.Cycles, measured.Total.EnergyNJ, plain.Total.Cycles, plain.Total.EnergyNJ)
		}
		if len(plain.Outputs) == 0 || len(plain.Outputs) != len(measured.Outputs) {
			t.Fatalf("%s: %d and %d outputs", file, len(plain.Outputs), len(measured.Outputs))
		}
		for i := range plain.Outputs {
			if a, b := plain.Outputs[i].CRC32, measured.Outputs[i].CRC32; a != b {
				t.Errorf("%s: output %s has checksum %s; want %s", file, plain.Outputs[i].Name, b, a)
			}
		}
		if plain.FP32 != nil || plain.Layers[0].Precision != nil {
			t.Errorf("%s: --values alone has figures on accuracy", file)
		}
		if measured.FP32 == nil || len(measured.FP32.Notes) > 0 || len(measured.FP32.Outputs) != len(plain.Outputs) {
			t.Errorf("%s: %+v; want all outputs compared and no note", file, measured.FP32)
		}
	}
}

// A layer, the program that it is compiled to and a network of it have the same figures.
func TestPrecisionOfLayerProgramAndNetwork(t *testing.T) {
	program := filepath.Join(t.TempDir(), "linear.hwx")
	decode := func(args ...string) (run report.Run) {
		t.Helper()
		out, stderr, code := invoke(args...)
		if code != exitDone {
			t.Fatalf("%q: %s", args, stderr)
		}
		if err := json.Unmarshal([]byte(out), &run); err != nil {
			t.Fatal(err)
		}
		return run
	}
	sums := func(run report.Run) (found *report.Sums) {
		for i := range run.Descriptors {
			if s := run.Descriptors[i].Precision.Sums; s != nil {
				found = s
			}
		}
		return found
	}
	layer := sums(decode("layer", "linear", "m=16", "k=1024", "n=32", "--precision", "--json", "--emit", program))
	again := sums(decode("run", program, "--precision", "--json"))
	net := runNetwork(t, writeNetwork(t, "inputs: {x: {h: 16, w: 1024}}\nlayers:\n  - {op: linear, n: 32}\n"), "--precision").Layers[0].Precision.Sums
	for name, got := range map[string]*report.Sums{"program": again, "network": net} {
		if got == nil || *got.Error != *layer.Error || got.Sampled != layer.Sampled || got.Shift != layer.Shift || got.Largest != layer.Largest {
			t.Errorf("%s: %+v; want %+v", name, got, layer)
		}
	}
}

// The error that a matmul adds to float32's is that of its sums, if its operands are exact.
func TestComparisonAgreesWithPrecision(t *testing.T) {
	file := writeNetwork(t, "inputs: {x: {h: 16, w: 512}}\nlayers:\n  - {op: mul, second: scalar, value: 0.0009765625}\n  - {op: linear, n: 64}\n")
	doc := runNetwork(t, file, "--precision", "--compare", "fp32")
	sums, layers := doc.Layers[1].Precision.Sums, doc.FP32.Layers
	if got := layers[len(layers)-1]; got.Error == nil || math.Abs(*got.Error-*sums.Error) > 0.01**sums.Error || *got.Error < 0.005 || sums.Sampled != sums.Results {
		t.Errorf("float32 says %+v, sums %+v; want one error, above 0.5 %%", got, sums)
	}
	if worst := doc.FP32.Worst; len(worst) == 0 || worst[0] != len(layers)-1 {
		t.Errorf("worst layers are %v; want %d first", worst, len(layers)-1)
	}
}

func TestPrecisionErrors(t *testing.T) {
	file := writeNetwork(t, manyKeys)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"model", file, "--precision", "--timing-only"}, "mutually exclusive"},
		{[]string{"model", file, "--precision", "--csv"}, "--json has the figures"},
		{[]string{"model", file, "--compare", "fp32", "--timing-only"}, "mutually exclusive"},
		{[]string{"model", file, "--compare", "fp32", "--csv"}, "--json has the figures"},
		{[]string{"model", file, "--compare", "fp32", "--repeat", "2"}, "single call"},
		{[]string{"model", file, "--compare", "bf16"}, "want fp32"},
		{[]string{"run", "--precision", "--timing-only"}, "mutually exclusive"},
		{[]string{"model", file, "--compare", ""}, "want fp32"},
		{[]string{"model", file, "--precision", "--html", "p.html"}, "--json has the figures"},
		{[]string{"model", file, "--compare", "fp32", "--html", "p.html"}, "--json has the figures"},
		{[]string{"model", file, "--precision", "--l2"}, "accuracy instead of times"},
		{[]string{"model", file, "--compare", "fp32", "--top", "3"}, "accuracy instead of times"},
		{[]string{"model", file, "--compare", "fp32", "--compute", "all"}, "accuracy instead of times"},
		{[]string{"layer", "add", "c=4", "--precision", "--csv"}, "--json has the figures"},
		{[]string{"layer", "add", "c=4", "--precision", "--counters"}, "requires --json"},
		{[]string{"run", "--precision", "--constants"}, "requires --json"},
	} {
		if _, stderr, code := invoke(c.args...); code != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: status %d, %q; want %q", c.args, code, stderr, c.want)
		}
	}
}

// Every flag that the JSON report honours works with --precision.
func TestPrecisionWithJSON(t *testing.T) {
	out, stderr, code := invoke("run", "--precision", "--constants", "--counters", "--json")
	var run report.Run
	if err := json.Unmarshal([]byte(out), &run); code != exitDone || err != nil {
		t.Fatal(stderr, err)
	}
	if len(run.Constants) == 0 || run.Descriptors[0].Precision == nil {
		t.Errorf("%d constants, precision %v; want both", len(run.Constants), run.Descriptors[0].Precision)
	}
	if doc := runNetwork(t, writeNetwork(t, manyKeys), "--precision", "--compute", "all"); doc.Placement == nil || doc.Layers[1].Precision == nil {
		t.Errorf("placement %v, precision %v; want both", doc.Placement, doc.Layers[1].Precision)
	}
}

// A report on accuracy ends with the cache's line, as a report on time does.
func TestPrecisionShowsTheCache(t *testing.T) {
	file, dir := writeNetwork(t, manyKeys), t.TempDir()
	for _, outcome := range []string{"made", "fetched"} {
		out, stderr, code := invoke("model", file, "--precision", "--compare", "fp32", "--cache", dir)
		lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		if last := lines[len(lines)-1]; code != exitDone || !strings.HasPrefix(last, "cache: "+outcome+" ") {
			t.Errorf("exit %d: last line %q; want cache: %s\n%s", code, last, outcome, stderr)
		}
	}
}

// A program that is dispatched several times has one row for each descriptor. Equal dispatches have the
// figures of one, from as many more results.
func TestPrecisionOfSeveralDispatches(t *testing.T) {
	const layer = "conv cin=64 h=32 w=32 cout=64 act=gelu"
	rows := func(out string) (list []string) {
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, "descriptor ") {
				list = append(list, line)
			}
		}
		return list
	}
	args := append(append([]string{"layer"}, strings.Fields(layer)...), "--precision")
	once, _, _ := invoke(args...)
	thrice, stderr, code := invoke(append(args, "--repeat", "3")...)
	if code != exitDone || len(rows(once)) == 0 || !slices.Equal(rows(once), rows(thrice)) {
		t.Errorf("exit %d: %srows %q; want %q", code, stderr, rows(thrice), rows(once))
	}
	if !strings.Contains(once, "of 65,536 results") || !strings.Contains(thrice, "of 196,608 results") {
		t.Errorf("%s%swant samples of 65,536 and 196,608 results", once, thrice)
	}
	out, stderr, code := invoke("layer", "softmax", "c=64", "--precision", "--repeat", "2")
	if code != exitDone || !strings.Contains(out, "  descriptor 2:\n    activations by table\n") {
		t.Errorf("exit %d: %s%s; want each descriptor named once", code, out, stderr)
	}
}

// The page states the cycles and errors of functions that a file defines, as they are computed and by
// one table. The exact forms are nearer to float32, which is why they are the default.
func TestTablesOnThePage(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/precision.md")
	if err != nil {
		t.Fatal(err)
	}
	for op, name := range map[string]string{"Elu": "elu", "Selu": "selu", "Celu": "elu", "Softsign": "softsign"} {
		file := writeFile(t, "net.onnx", ox.Model(ox.Input("x", 1, 16, 32, 32), ox.Node(op, "y", []string{"x"}), ox.Output("y")))
		exact, table := runNetwork(t, file, "--compare", "fp32"), runNetwork(t, file, "--compare", "fp32", "--tables")
		e, f := *exact.FP32.Outputs[0].Error, *table.FP32.Outputs[0].Error
		if row := fmt.Sprintf("| %s | %s | %.2g%% | %s | %.2g%% |\n", op, report.Thousands(uint64(exact.Total.Cycles)), 100*e, report.Thousands(uint64(table.Total.Cycles)), 100*f); !strings.Contains(string(page), row) {
			t.Errorf("docs/precision.md has no row %s", row)
		}
		if !(e < f/10 && e < 1./2048) {
			t.Errorf("%s: errors of %v and with a table %v; want the exact form at least ten times nearer, and within fp16", op, e, f)
		}
		layer := readJSONCosts(t, "layer", name, "c=16", "h=32", "w=32", "--timing-only")
		if layer.Total.Cycles != uint64(table.Total.Cycles) {
			t.Errorf("%s: %d cycles with a table; want the layer's %d", op, table.Total.Cycles, layer.Total.Cycles)
		}
	}
}

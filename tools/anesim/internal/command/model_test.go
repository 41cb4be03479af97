package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim/firmware/engine"
	"anesim/internal/network/onnxtest"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/npy"
)

// exampleNetwork returns the path of the example network with the given name.
func exampleNetwork(name string) string { return filepath.Join("..", "..", "examples", name) }

func model(t *testing.T, args ...string) report.Network {
	t.Helper()
	out, errs, code := invoke(append([]string{"model", "--json"}, args...)...)
	if code != exitDone {
		t.Fatalf("model %v: exit %d: %s", args, code, errs)
	}
	var r report.Network
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
		energy := r.Total.DispatchNJ
		folded := map[string]bool{}
		for _, l := range r.Layers {
			for _, name := range l.Folded {
				folded[name] = true
			}
		}
		for _, l := range r.Layers {
			cycles += l.Total.Cycles
			bytes += l.Total.DMABytes
			energy += l.Total.EnergyNJ
			if l.Modelled != (l.Descriptors > 0 || folded[l.Name]) {
				t.Errorf("%s: %+v", tc.name, l)
			}
		}
		if cycles != r.Total.Cycles || bytes != r.Total.DMABytes || math.Abs(float64(energy-r.Total.EnergyNJ)) > 1 {
			t.Errorf("%s: rows add up to %d cycles, %d bytes, %g nJ, total %+v", tc.name, cycles, bytes, energy, r.Total)
		}
	}
}

// What is not modelled is said in the table, the CSV and the JSON.
func TestModelSaysWhatIsMissing(t *testing.T) {
	file := writeFile(t, "wide.yaml", []byte("inputs: {x: {c: 4, h: 4, w: 4}, y: {w: 20001}}\nlayers:\n- {op: relu, from: x}\n- {op: logical_not, from: y}\n"))
	const why = "width: found 20001; want at most 16384"
	out, _, code := invoke("model", file)
	if code != exitDone {
		t.Fatal(code)
	}
	for _, want := range []string{
		"INCOMPLETE: 1 layer without a cost, left out of all totals: logical_not1 (logical_not)\nwide  2 layers, 1 program, chip m1",
		"\ncovers: 1 of 2 nodes (50.0%), none of multiply-accumulates, 0.3% of bytes\n", "\nnot modelled: 1 layer, left out of all totals\n  logical_not1 (logical_not): " + why,
		"\nprogram 1: relu0, 1 layer, 1 descriptor, 0 B of scratch\nnote: tensors stay in L2",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in the table:\n%s", want, out)
		}
	}
	out, _, _ = invoke("model", file, "--csv")
	rows := records(t, out)
	if len(rows) != 3 || rows[2][0] != "logical_not1" || rows[2][7] != "" || !strings.Contains(rows[2][14], why) {
		t.Errorf("rows %q", rows)
	}
	r := model(t, file)
	if c := r.Coverage; c.Nodes != 2 || c.Done != 1 || c.DoneBytes != 2*2*64 || c.Bytes != c.DoneBytes+2*2*20001 || len(c.Lost) != 1 || c.Lost[0].Layer != "logical_not1" {
		t.Errorf("coverage %+v", c)
	}
	out, errs, code := invoke("model", file, "--strict")
	if code != exitFailed || !strings.Contains(errs, "--strict: 1 of 2 nodes not modelled") || !strings.Contains(out, "\ntotal: ") {
		t.Errorf("--strict: exit %d: %s", code, errs)
	}
	if _, errs, code := invoke("model", exampleNetwork("mobilenetv2.yaml"), "--strict"); code != exitDone {
		t.Errorf("--strict of a whole network: exit %d: %s", code, errs)
	}
	if len(r.Notes) != 2 || !r.Layers[0].Modelled || r.Layers[1].Modelled || r.NotModelled[0].Name != "logical_not1" {
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
	want := engine.Checksum([]float16.Float16{float16.Fromfloat32(8), float16.Fromfloat32(11)})
	if len(r.Outputs) != 1 || r.Outputs[0].CRC32 != want || r.Outputs[0].Name != "y" || len(r.Synthetic) != 0 {
		t.Errorf("%+v, want crc32 %s", r, want)
	}
	if r.Layers[0].Folded[0] != "r" || len(r.Layers) != 4 || r.Layers[1].Op != "Reshape" || len(r.Programs) != 1 {
		t.Errorf("%+v", r.Layers)
	}
	if _, err := os.Stat(filepath.Join(dir, "y.npy")); err != nil {
		t.Error(err)
	}
	if r := model(t, file, "--values"); len(r.Synthetic) != 1 || r.Synthetic[0] != "x" || r.Outputs[0].CRC32 == want {
		t.Errorf("without an input: %+v", r)
	}
}

// A constant that no task can carry stands in the program's constants, not behind a port.
func TestModelConstantInMemory(t *testing.T) {
	file := writeFile(t, "net.onnx", onnxtest.Model(
		onnxtest.Input("x", 1, 2, 2, 2), onnxtest.Output("y"),
		onnxtest.Constant("k", []int{1, 2, 2, 2}, 1, 2, 3, 4, 5, 6, 7, 8),
		onnxtest.Node("Relu", "r", []string{"x"}), onnxtest.Node("Add", "y", []string{"r", "k"}),
	))
	x := writeNPY(t, []int{1, 2, 2, 2}, make([]float16.Float16, 8))
	emitted := filepath.Join(t.TempDir(), "net.hwx")
	r := model(t, file, "--values", "--in", "x="+x, "--emit", emitted)
	var want []float16.Float16
	for i := range 8 {
		want = append(want, float16.Fromfloat32(float32(i+1)))
	}
	if len(r.Outputs) != 1 || r.Outputs[0].CRC32 != engine.Checksum(want) || len(r.Programs) != 1 || len(r.Synthetic) != 0 {
		t.Errorf("%+v, want crc32 %s", r, engine.Checksum(want))
	}
	out, errs, _ := invoke("run", emitted, "--in", "x="+x)
	if !strings.Contains(out, engine.Checksum(want)) {
		t.Errorf("the program alone makes something else: %s%s", out, errs)
	}
}

// An output that rests on what no layer makes has no values; --out writes the others as the
// file has them, and the report stands all the same.
func TestModelValuesBehindAGap(t *testing.T) {
	file := writeFile(t, "net.onnx", onnxtest.Model(
		onnxtest.Input("x", 1, 4, 4, 4), onnxtest.Shape("r", 1, 4, 8, 8), onnxtest.Output("y"), onnxtest.Output("flat"), onnxtest.Output("same"),
		onnxtest.Node("Resize", "r", []string{"x"}), onnxtest.Node("Relu", "y", []string{"r"}),
		onnxtest.Node("Relu", "a", []string{"x"}), onnxtest.Node("Flatten", "flat", []string{"a"}), onnxtest.Node("Identity", "same", []string{"x"}),
	))
	x := filepath.Join(t.TempDir(), "x.npy")
	var b bytes.Buffer
	values := make([]float16.Float16, 64)
	for i := range values {
		values[i] = float16.Fromfloat32(float32(i) - 31.5)
	}
	if err := npy.WriteAs(&b, "float32", []int{1, 4, 4, 4}, values); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(x, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	out, errs, code := invoke("model", file, "--values", "--json", "--in", "x="+x, "--out", dir)
	var r report.Network
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("no report beside the error of --out: %v: %s", err, errs)
	}
	if code != exitFailed || !strings.Contains(errs, "some outputs were not written: y needs r, which is not modelled") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if len(r.NotModelled) != 1 || len(r.Outputs) != 2 || len(r.Coverage.Lost) != 1 || r.Coverage.Lost[0].Output != "y" {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(filepath.Join(dir, "y.npy")); err == nil {
		t.Error("y is written")
	}
	for _, o := range r.Outputs {
		text, err := os.ReadFile(filepath.Join(dir, o.Name+".npy"))
		if err != nil {
			t.Fatal(err)
		}
		a, err := npy.ReadRounded(bytes.NewReader(text), int64(len(text)))
		want := map[string][]int{"flat": {1, 64}, "same": {1, 4, 4, 4}}[o.Name]
		if err != nil || !slices.Equal(a.Shape, want) || !slices.Equal(o.Shape, want) || !bytes.Contains(text[:80], []byte("<f4")) {
			t.Errorf("%s: %v, %v: %q", o.Name, a.Shape, err, text[:80])
		}
		if o.Name == "same" && !slices.Equal(a.Data, values) || engine.Checksum(a.Data) != o.CRC32 {
			t.Errorf("%s: %v", o.Name, a.Data)
		}
	}
}

// The program that model writes is the one it runs: run computes the same of it.
func TestModelEmits(t *testing.T) {
	net := writeFile(t, "net.yaml", []byte("inputs: {x: {c: 20, h: 6, w: 6}}\nlayers:\n"+
		"- {name: a, op: conv, cout: 32, k: 3, pad: 1, bias: true, act: relu}\n- {name: b, op: tanh}\n"+
		"- {name: c, op: add, from: [a, b]}\n- {name: d, op: reduce, kind: mean, axis: hw}\n"+
		"- {name: flat, op: reshape, w: 32}\n- {name: e, op: linear, n: 10, bias: true}\n"))
	file := filepath.Join(t.TempDir(), "net.hwx")
	r := model(t, net, "--values", "--emit", file)
	if len(r.Programs) != 1 || r.Programs[0].Descriptors != 7 || r.Programs[0].File != file || r.Programs[0].ScratchBytes == 0 {
		t.Fatalf("programs %+v", r.Programs)
	}
	for i, want := range []int{1, 1, 1, 1, 3} {
		if got := r.Layers[i]; got.Descriptors != want || got.Program != 1 {
			t.Errorf("%+v, want %d descriptors of program 1", got, want)
		}
	}
	out, errs, code := invoke("run", file, "--json")
	if code != exitDone {
		t.Fatal(errs)
	}
	var run struct {
		Total   report.Total
		Outputs []report.Output
	}
	if err := json.Unmarshal([]byte(out), &run); err != nil {
		t.Fatal(err)
	}
	if len(run.Outputs) != 1 || len(r.Outputs) != 1 || run.Outputs[0].CRC32 != r.Outputs[0].CRC32 || run.Outputs[0].Name != "e" {
		t.Errorf("run makes %+v, model %+v", run.Outputs, r.Outputs)
	}
	if r.Layers[0].CRC32 != "" || r.Layers[4].CRC32 != r.Outputs[0].CRC32 {
		t.Errorf("layers %+v", r.Layers)
	}
	if run.Total.Cycles != r.Total.Cycles || math.Abs(float64(run.Total.EnergyNJ-r.Total.EnergyNJ)) > 1e-3 {
		t.Errorf("run: %+v, model: %+v", run.Total, r.Total)
	}
	if twice := model(t, net, "--repeat", "2"); twice.Total.Cycles != 2*r.Total.Cycles || twice.Total.DispatchNJ != 2*r.Total.DispatchNJ ||
		twice.Layers[4].Total.Cycles != 2*r.Layers[4].Total.Cycles {
		t.Errorf("twice: %+v, once: %+v", twice.Total, r.Total)
	}
}

// Around a layer that is not modelled there is a program on each side, and a dispatch.
func TestModelInSegments(t *testing.T) {
	net := writeFile(t, "net.yaml", []byte("inputs: {x: {c: 4, h: 8, w: 8}}\nlayers:\n- {name: a, op: relu}\n"+
		"- {name: b, op: conv, cout: 4, k: 33, pad: same}\n- {name: c, op: relu}\n- {name: flat, op: reshape, h: 16, w: 16}\n- {name: d, op: relu}\n"))
	file := filepath.Join(t.TempDir(), "net.hwx")
	r := model(t, net, "--values", "--emit", file)
	if len(r.Programs) != 2 || len(r.NotModelled) != 1 || r.Total.DispatchNJ != 2*model(t, exampleNetwork("transformer.yaml")).Total.DispatchNJ {
		t.Errorf("programs %+v, missing %+v, total %+v", r.Programs, r.NotModelled, r.Total)
	}
	for k, want := range [][2]string{{"a", "a"}, {"c", "d"}} {
		p := r.Programs[k]
		if p.First != want[0] || p.Last != want[1] || !strings.HasSuffix(p.File, "net-"+string(rune('1'+k))+".hwx") {
			t.Errorf("program %d: %+v", k+1, p)
		}
		if _, errs, code := invoke("run", p.File); code != exitDone {
			t.Error(errs)
		}
	}
	if r.Programs[1].Why != "" {
		t.Errorf("programs %+v", r.Programs)
	}
	if len(r.Synthetic) != 2 || r.Synthetic[1] != "b" || len(r.Outputs) != 0 || r.Layers[0].CRC32 == "" || r.Layers[5].CRC32 != "" ||
		len(r.Coverage.Lost) != 1 || r.Coverage.Lost[0] != (report.Loss{Output: "d", Layer: "b"}) {
		t.Errorf("synthetic %q, outputs %+v, layers %+v", r.Synthetic, r.Outputs, r.Layers)
	}
	out, _, _ := invoke("model", net)
	for _, want := range []string{"net  6 layers, 2 programs, chip", "\nprogram 2: c to d, 4 layers, 4 descriptors, 0 B of scratch\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in the table:\n%s", want, out)
		}
	}
	bad := writeFile(t, "bad.yaml", []byte("inputs: {x: {w: 20000}}\nlayers:\n- {op: pool, k: 1}\n"))
	if _, errs, code := invoke("model", bad, "--emit", file); code != exitFailed || !strings.Contains(errs, "no program to write") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// A fault ends its program: the layers before it stand, its own is named.
func TestModelFaults(t *testing.T) {
	net := writeFile(t, "net.yaml", []byte("inputs: {x: {c: 4, h: 8, w: 8}}\nlayers:\n- {name: a, op: add, second: scalar, value: 1}\n"+
		"- {name: b, op: conv, cout: 4}\n- {name: c, op: softmax}\n"))
	out, errs, code := invoke("model", net, "--json", "--gate-tiles", "0-31")
	if code != exitFailed || !strings.Contains(errs, "layer b: device fault: descriptor 1, tiles") {
		t.Errorf("exit %d: %s", code, errs)
	}
	var r report.Network
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.NotModelled) != 2 || !r.Layers[0].Modelled || r.Total.Cycles != r.Layers[0].Total.Cycles ||
		!strings.HasPrefix(r.NotModelled[0].Reason, "device fault: ") || r.NotModelled[1].Reason != "follows a device fault" {
		t.Errorf("%+v", r)
	}
}

func TestModelErrors(t *testing.T) {
	bad := writeFile(t, "bad.yaml", []byte("inputs: {x: {c: 1}}\nlayers:\n- {op: conv}\n"))
	cut := writeFile(t, "cut.onnx", []byte{0x08, 0x07, 0x3a, 0x05, 0x01})
	for _, tc := range []struct {
		args string
		code int
		want string
	}{
		{"", exitUsage, "anesim model: found 0 files; want one"},
		{bad, exitFailed, bad + ": line 3: layer conv0: conv: cout: missing key"},
		{cut, exitFailed, cut + ": byte 0x2: the file is cut off: field 7 has 5 bytes, and 1 of them are there"},
		{"nothing.onnx", exitFailed, "open nothing.onnx: no such file"},
		{"net.pb", exitFailed, "open net.pb: no such file"},
		{bad + " --in x=y.npy", exitUsage, "--in and --out require --values"},
		{bad + " --values --timing-only", exitUsage, "--values and --timing-only are mutually exclusive"},
		{bad + " --counters", exitUsage, "unknown flag: --counters"},
	} {
		_, errs, code := invoke(append([]string{"model"}, strings.Fields(tc.args)...)...)
		if code != tc.code || !strings.HasPrefix(errs, "anesim: "+tc.want) {
			t.Errorf("model %s: exit %d, want %d\n got %swant %s", tc.args, code, tc.code, errs, tc.want)
		}
	}
}

// A network under the extension of another format is read in its own format.
func TestMessageFormatOfRenamedNetworks(t *testing.T) {
	list := []byte("inputs: {x: {c: 4}}\nlayers:\n- {op: relu}\n")
	graph := onnxtest.Model(onnxtest.Input("x", 1, 4), onnxtest.Node("Relu", "y", []string{"x"}), onnxtest.Output("y"))
	for name, data := range map[string][]byte{"a.onnx": list, "a.mlmodel": graph, "a.yaml": graph, "a.mil": list, "a.yml": list} {
		if out, errs, code := invoke("model", writeFile(t, name, data)); code != exitDone || !strings.Contains(out, "relu") && !strings.Contains(out, "Relu") {
			t.Errorf("%s: exit %d: %s%s", name, code, errs, out)
		}
	}
}

// --weights says in every form of the report that the network is another one, and its time is never that of
// values: options that need them are refused.
func TestModelWeights(t *testing.T) {
	net := writeFile(t, "net.yaml", []byte("name: net\ninputs: {x: {h: 1, w: 1024}}\nlayers:\n- {op: linear, n: 1024}\n"))
	plain, four := modelTotal(t, net), modelTotal(t, net, "--weights", "palette4")
	if ratio := four / plain; ratio < 0.2 || ratio > 0.6 {
		t.Errorf("a layer that waits for its weights takes %.2f of its time with a quarter of their bytes", ratio)
	}
	for _, form := range []string{"", "--summary", "--json", "--csv", "--machine=m1,m4"} {
		out, errs, code := invoke(strings.Fields("model " + net + " --weights int8 " + form)...)
		if code != exitDone || form != "--csv" && !strings.Contains(out, "weights as int8") {
			t.Errorf("%s: exit %d: %s%s", form, code, errs, out)
		}
		if form == "--summary" && !strings.Contains(out, "what-if") {
			t.Errorf("no gain in %s", out)
		}
	}
	for _, flags := range []string{"--weights int4", "--weights int8 --values", "--weights int8 --precision", "--weights int8 --compare fp32", "--weights int8 --emit o.hwx"} {
		if _, errs, code := invoke(strings.Fields("model " + net + " " + flags)...); code != exitUsage || !strings.Contains(errs, "--weights") {
			t.Errorf("%s: exit %d: %s", flags, code, errs)
		}
	}
	none := writeFile(t, "none.yaml", []byte("inputs: {x: {c: 4}}\nlayers:\n- {op: relu}\n"))
	if _, errs, code := invoke("model", none, "--weights", "int8"); code != exitUsage || !strings.Contains(errs, "no layer has weights") {
		t.Errorf("exit %d: %s", code, errs)
	}
	// Weights that would have to be made up take memory, which a few words must not claim.
	huge := writeFile(t, "huge.yaml", []byte("inputs: {x: {h: 1, w: 65536}}\nlayers:\n- {op: linear, n: 16384}\n"))
	if _, errs, code := invoke("model", huge, "--weights", "int8"); code != exitFailed || !strings.Contains(errs, "weights that the file does not have") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// modelTotal returns the engine's time of a network in nanoseconds.
func modelTotal(t *testing.T, args ...string) float64 {
	t.Helper()
	return float64(runNetwork(t, args...).Total.TimeNs)
}

// A file that is neither a network nor a program is refused as that by every command, without a word on
// the registers that its letters would be; and one for programs names a network.
func TestFilesOfNoKnownForm(t *testing.T) {
	notes := writeFile(t, "notes.txt", []byte("Some notes about things\nsecond line of text\n"))
	net := writeFile(t, "net.onnx", onnxtest.Model(onnxtest.Input("x", 1, 4), onnxtest.Node("Relu", "y", []string{"x"}), onnxtest.Output("y")))
	out := filepath.Join(t.TempDir(), "o.hwx")
	for _, args := range [][]string{{"explain"}, {"run"}, {"lint"}, {"check", "--expect", "cycles<=6"}, {"diff", notes}, {"dump"},
		{"patch", "--set", "Common.Cfg.ShPref=1", "-o", out}, {"convert", "-o", out}} {
		_, errs, code := invoke(append(args, notes)...)
		if code != exitFailed || !strings.Contains(errs, "text of no known form") || strings.Contains(errs, "descriptor 0") {
			t.Errorf("%s of notes: exit %d: %s", args[0], code, errs)
		}
		if programs := []string{"run", "dump", "patch", "convert"}; slices.Contains(programs, args[0]) {
			if _, errs, code := invoke(append(args, net)...); code == exitDone || !strings.Contains(errs, "is a network, not a compiled program") {
				t.Errorf("%s of a network: exit %d: %s", args[0], code, errs)
			}
		}
	}
}

// A renamed network finds its weights beside it, as under its own name, and no output replaces it.
func TestRenamedNetworksHaveTheirFiles(t *testing.T) {
	weights := onnxtest.Message{}.Int(1, 4).Int(2, 1).Text(8, "w").Int(14, 1).
		Bytes(13, onnxtest.Message{}.Text(1, "location").Text(2, "w.bin"))
	file := writeFile(t, "net.mlmodel", onnxtest.Model(onnxtest.Input("x", 1, 4), onnxtest.Message{}.Bytes(5, weights),
		onnxtest.Node("Mul", "y", []string{"x", "w"}), onnxtest.Output("y")))
	if _, errs, code := invoke("model", file, "--strict"); code != exitFailed || !strings.Contains(errs, "w.bin") {
		t.Errorf("without weights: exit %d: %s", code, errs)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), "w.bin"), make([]byte, 16), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := invoke("model", file, "--strict"); code != exitDone {
		t.Errorf("with weights: exit %d: %s", code, errs)
	}
	if _, errs, code := invoke("model", file, "--emit", file); code != exitUsage || !strings.Contains(errs, "--emit") {
		t.Errorf("--emit to the network itself: exit %d: %s", code, errs)
	}
}

// A host adds to the wall time and to nothing else.
func TestModelHost(t *testing.T) {
	file := filepath.Join("..", "..", "examples", "mobilenetv2.yaml")
	total := func(host string) (r struct {
		Host  string
		Total struct {
			TimeNs float64 `json:"time_ns"`
			WallNs float64 `json:"wall_ns"`
		}
	}) {
		out, errs, code := invoke("model", file, "--json", "--host", host)
		if code != exitDone {
			t.Fatal(errs)
		}
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	bare, air := total("none"), total("macos-air")
	if bare.Total.WallNs != bare.Total.TimeNs || air.Total.TimeNs != bare.Total.TimeNs {
		t.Errorf("engine time %v and %v, wall without a host %v", bare.Total.TimeNs, air.Total.TimeNs, bare.Total.WallNs)
	}
	if floor := 100e3; air.Host != "macos-air" || air.Total.WallNs < air.Total.TimeNs+floor {
		t.Errorf("host %q, wall %v", air.Host, air.Total.WallNs)
	}
}

// TestModelSaysWhyThereAreNoValues computes networks whose tensors are too large for values.
func TestModelSaysWhyThereAreNoValues(t *testing.T) {
	for layer, want := range map[string]string{
		"logical_not": "values: none of program 1: its tensors: size with row padding exceeds 313174698 bytes",
		"relu":        "values: none of program 1: its tensors: size with row padding exceeds 939524096 bytes",
	} {
		file := filepath.Join(t.TempDir(), "large.yaml")
		text := "inputs: {x: {n: 60, c: 64, h: 64, w: 1024}}\nlayers:\n- {op: " + layer + "}\n"
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		out, errs, code := invoke("model", "--values", file)
		if code != exitDone || !strings.Contains(out, want) {
			t.Errorf("exit %d, %s%s; want %q", code, errs, out, want)
		}
	}
}

// A missing file of weights leaves the time right, and fails all that depends on the weights.
func TestMissingWeights(t *testing.T) {
	entry := onnxtest.Message{}.Text(1, "location").Text(2, "gone.bin")
	weights := onnxtest.Message{}.Int(1, 4).Int(1, 4).Int(2, 1).Text(8, "w").Int(14, 1).Bytes(13, entry)
	file := writeFile(t, "net.onnx", onnxtest.Model(onnxtest.Input("x", 1, 4), onnxtest.Message{}.Bytes(5, weights),
		onnxtest.Node("MatMul", "y", []string{"x", "w"}), onnxtest.Output("y")))
	packed := filepath.Join(t.TempDir(), "p.mlpackage")
	if err := os.CopyFS(packed, os.DirFS(exampleNetwork("classifier.mlpackage"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(packed, "Data", "com.apple.CoreML", "weights", "weight.bin")); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	base, program := filepath.Join(dir, "base.json"), filepath.Join(dir, "p.hwx")
	script := writeFile(t, "script.fw", []byte("option values=on\nmodel m file "+file+"\nsend control BOOT\nsend control REQUEST_PROGRAM_ID\n"+
		"send control LOAD_PROGRAM program=0 model=m\nexpect failed\n"))
	for _, tt := range []struct {
		line string
		code int
	}{
		{"model NET", exitDone}, {"check --baseline BASE --update NET", exitDone}, {"model NET --values", exitFailed}, {"model NET --values --out " + dir, exitFailed},
		{"model NET --strict", exitFailed}, {"model NET --emit " + program, exitFailed}, {"check --baseline BASE --values NET", exitFailed},
		{"check --baseline BASE --update --values NET", exitFailed},
	} {
		for _, net := range []string{file, packed} {
			_, errs, code := invoke(strings.Fields(strings.NewReplacer("NET", net, "BASE", base).Replace(tt.line))...)
			if code != tt.code || code != exitDone && !strings.Contains(errs, net+": weights are missing: \"") {
				t.Errorf("%s of %s: exit %d: %s", tt.line, net, code, errs)
			}
		}
	}
	if _, err := os.Stat(program); err == nil {
		t.Error("a program with other weights was written")
	}
	if _, errs, code := invoke("fw", script); code != exitDone {
		t.Errorf("an engine with values loads the program: exit %d: %s", code, errs)
	}
}

// TestModelThatDoesNotFit times ten layers of 537 MB of weights and says, first of all, that one program
// cannot have them; with --strict that fails. Five layers fit.
func TestModelThatDoesNotFit(t *testing.T) {
	for layers, line := range map[int]string{
		5:  "",
		10: "program 1: does not fit in one program: 5,370,813,812 bytes of 2,952,790,016, passed at a5; it would have to be cut before a5",
	} {
		text := "inputs: {x: {c: 16384, h: 1, w: 1}}\nlayers:\n"
		for i := range layers {
			text += fmt.Sprintf("- {name: a%d, op: conv, cout: 16384, k: 1}\n", i)
		}
		file := writeFile(t, "net.yaml", []byte(text))
		out, errs, code := invoke("model", file)
		if code != exitDone || errs != "" || strings.Contains(out, "does not fit") != (line != "") || !strings.Contains(out, line) || !strings.Contains(out, "\ntotal: ") {
			t.Errorf("%d layers: exit %d: %s%s; want %q", layers, code, errs, out, line)
		}
		want := exitDone
		if line != "" {
			want = exitFailed
		}
		if out, errs, code := invoke("model", file, "--strict"); code != want || !strings.Contains(errs, line) || !strings.Contains(out, "\ntotal: ") {
			t.Errorf("%d layers, --strict: exit %d: %s", layers, code, errs)
		}
	}
}

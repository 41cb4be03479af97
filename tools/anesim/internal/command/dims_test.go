package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anesim/internal/network/onnxtest"
)

// openShaped writes a network whose input has two named dimensions and one without a name, and
// returns the name of its file.
func openShaped(t *testing.T, dir, name, rows string) string {
	t.Helper()
	dim := func(text string, size int) onnxtest.Message {
		if text != "" {
			return onnxtest.Message{}.Text(2, text)
		}
		return onnxtest.Message{}.Int(1, size)
	}
	var shape onnxtest.Message
	for _, d := range []onnxtest.Message{dim("batch", 0), dim("", 8), dim(rows, 0), {}} {
		shape = shape.Bytes(1, d)
	}
	input := onnxtest.Message{}.Text(1, "x").Bytes(2, onnxtest.Message{}.Bytes(1, onnxtest.Message{}.Int(1, 1).Bytes(2, shape)))
	file := filepath.Join(dir, name)
	data := onnxtest.Model(onnxtest.Message{}.Bytes(11, input), onnxtest.Node("Relu", "y", []string{"x"}), onnxtest.Output("y"))
	if err := os.WriteFile(file, data, 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// Every command that reads networks takes the function of a program with several. Without it, the
// error lists the functions and names the flag.
func TestFunctionsWhereverNetworksAreRead(t *testing.T) {
	t.Chdir(t.TempDir())
	body := func(name, op string) string {
		return "func " + name + "<ios18>(tensor<fp16, [1, 8, 4, 4]> x) { tensor<fp16, [1, 8, 4, 4]> y = " + op + "(x = x)[name = string(\"" + op + "\")]; } -> (y);\n"
	}
	if err := os.WriteFile("two.mil", []byte("program(1.3)\n{\n"+body("infer", "relu")+body("prefill", "tanh")+"}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"model two.mil", "explain two.mil", "plot timeline two.mil -o a.svg", "check --baseline c.json --update two.mil", "diff two.mil two.mil", "lint two.mil", "sweep two.mil chip.Clock=1e9,2e9"} {
		if _, errs, code := invoke(strings.Fields(line)...); code == 0 || !strings.Contains(errs, "infer, prefill") || !strings.Contains(errs, "--function") {
			t.Errorf("%s: status %d, %s", line, code, errs)
		}
		if _, errs, code := invoke(append(strings.Fields(line), "--function", "prefill")...); code != 0 {
			t.Errorf("%s --function prefill: status %d, %s", line, code, errs)
		}
	}
	out, _, _ := invoke("model", "two.mil", "--function", "prefill")
	if !strings.Contains(out, "tanh") || !strings.Contains(out, `this is function "prefill" of 2`) {
		t.Errorf("another function is run: %s", out)
	}
}

// Every command that reads networks takes the release of the compiler. A wrong one is refused, and the
// report of a network says how many layers it concerns.
func TestReleasesWhereverNetworksAreRead(t *testing.T) {
	t.Chdir(t.TempDir())
	mil := "program(1.3)\n{\nfunc main<ios18>(tensor<fp16, [1, 64, 1, 32]> x) { " +
		"tensor<fp16, [1, 1, 1, 32]> m = reduce_mean(x = x, axes = tensor<int32, [1]>([1]), keep_dims = bool(true))[name = string(\"m\")]; " +
		"tensor<fp16, [1, 64, 1, 32]> y = sub(x = x, y = m)[name = string(\"y\")]; } -> (y);\n}\n"
	if err := os.WriteFile("mean.mil", []byte(mil), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"model mean.mil", "explain mean.mil", "plot timeline mean.mil -o a.svg", "check --baseline c.json --update mean.mil", "diff mean.mil mean.mil", "lint mean.mil", "sweep mean.mil chip.Clock=1e9,2e9"} {
		if _, errs, code := invoke(append(strings.Fields(line), "--release", "2026")...); code != 0 {
			t.Errorf("%s --release 2026: status %d, %s", line, code, errs)
		}
		if _, errs, code := invoke(append(strings.Fields(line), "--release", "2025")...); code == 0 || !strings.Contains(errs, `unknown release "2025"; want newest or 2026`) {
			t.Errorf("%s --release 2025: status %d, %s", line, code, errs)
		}
	}
	out, _, _ := invoke("model", "mean.mil", "--release", "2026")
	if !strings.Contains(out, "note: release: 2026: 2 of 2 layers on the engine") {
		t.Errorf("no note says how many layers the release concerns: %s", out)
	}
	if newest, _, _ := invoke("model", "mean.mil"); strings.Contains(newest, "note: release") {
		t.Errorf("a note about the default: %s", newest)
	}
	hwx, list := "mean.hwx", "mean.mil"
	if _, errs, code := invoke("model", list, "--emit", hwx); code != 0 {
		t.Fatal(errs)
	}
	if _, errs, code := invoke("diff", hwx, list, "--release", "2026"); code != 0 {
		t.Errorf("a compiled program beside a network: status %d, %s", code, errs)
	}
	if _, errs, code := invoke("explain", hwx, "--release", "2026"); code == 0 || !strings.Contains(errs, "has its descriptors") {
		t.Errorf("a compiled program alone: status %d, %s", code, errs)
	}
}

// Every command that reads networks takes sizes of their dimensions, for all of them or for
// one, by name, or by input and axis where a dimension has none.
func TestDimensionsWhereverNetworksAreRead(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	openShaped(t, dir, "a.onnx", "rows")
	openShaped(t, dir, "b.onnx", "height")
	if err := os.WriteFile("load.yaml", []byte("duration: 1ms\nclients: [{name: a, model: a.onnx, dim: \"rows=4,x:3=6\", arrival: fixed, rate: 1000}]\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	a, both := "--dim rows=4,x:3=6", "--dim a.onnx:rows=4 --dim b.onnx:height=6 --dim x:3=6"
	for _, line := range []string{
		"model a.onnx " + a, "explain a.onnx " + a, "plot timeline a.onnx -o a.svg " + a, "load load.yaml",
		"check --baseline c.json --update a.onnx b.onnx " + both, "check --baseline c.json a.onnx b.onnx " + both,
		"sweep a.onnx chip.Clock=1e9,2e9 " + a, "sweep a.onnx b.onnx " + both, "sweep optimise a.onnx chip.Clock=1e9..2e9 " + a,
		"diff a.onnx b.onnx " + both, "check --baseline c.json --update a.onnx b.onnx p.hwx " + both,
	} {
		if strings.Contains(line, "p.hwx") {
			if _, errs, code := invoke("layer", "relu", "c=4", "--timing-only", "--emit", "p.hwx"); code != 0 {
				t.Fatal(errs)
			}
		}
		out, errs, code := invoke(strings.Fields(line)...)
		if code != 0 {
			t.Errorf("%s: status %d, %s", line, code, errs)
		}
		if strings.HasPrefix(line, "sweep a.onnx chip") && !strings.Contains(out, " dims="+strings.Fields(a)[1]+" ") {
			t.Errorf("%s: no sizes in the origin of the rows:\n%s", line, out)
		}
		if strings.HasPrefix(line, "model") && !strings.Contains(out, "8x4x6") {
			t.Errorf("%s: no tensor of 8x4x6:\n%s", line, out)
		}
	}
	for line, want := range map[string]string{
		"model a.onnx":                  "rows=224,x:3=224 (given by --dim)",
		"model a.onnx " + a + ",high=3": "unknown dimension high; the network has batch, rows, x:3",
		"model a.onnx --dim rows":       "want NAME=SIZE",
		"sweep a.onnx":                  "rows=224,x:3=224 (given by --dim)",
		"sweep p.hwx --set PE.Cfg.OpMode=0,1 --dim rows=3": "compiled program has fixed dimensions",
		"diff a.onnx b.onnx " + a:                          "unknown dimension rows; the network has batch, height, x:3; to set a dimension of one network only, use --dim FILE:NAME=SIZE",
		"check --baseline c.json p.hwx --dim p.hwx:rows=3": "compiled program has fixed dimensions",
	} {
		if _, errs, code := invoke(strings.Fields(line)...); code == 0 || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d, %s, want %s", line, code, errs, want)
		}
	}
}

// The error on a dimension without a size names the remedy of the command at hand.
func TestRemediesOfOpenDims(t *testing.T) {
	dir := t.TempDir()
	file := openShaped(t, dir, "open.onnx", "rows")
	load, fw := filepath.Join(dir, "load.yaml"), filepath.Join(dir, "script.fw")
	for name, text := range map[string]string{
		load: "duration: 1ms\nclients:\n- {name: a, model: open.onnx, arrival: back-to-back}\n",
		fw:   "model a file open.onnx\nsend control program-create program=0\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct{ args, want string }{
		{"model " + file, "want sizes such as rows=224,x:3=224 (given by --dim)"},
		{"load " + load, " (given by the client's key dim)"},
		{"fw " + fw, "(given by anesim model --dim; with --emit it writes a program for this script"},
	} {
		if _, errs, code := invoke(strings.Fields(tc.args)...); code != exitFailed || !strings.Contains(errs, tc.want) {
			t.Errorf("%s: exit %d: %s", tc.args, code, errs)
		}
	}
}

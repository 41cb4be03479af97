package command

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/pflag"
	"github.com/x448/float16"

	"anesim"
	"anesim/firmware/engine"
	"anesim/internal/network/onnxtest"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/output"
	"anesim/tools/anesim/internal/terminal"
)

func TestVersion(t *testing.T) {
	out, _, code := invoke("--version")
	if code != exitDone || !strings.HasPrefix(out, "anesim ") || !strings.Contains(out, ", revision ") ||
		!strings.HasSuffix(out, ", constants "+anesim.ThisTool().Constants+"\n") || strings.Count(out, "\n") != 1 {
		t.Errorf("exit %d: %s", code, out)
	}
}

// Every command has help with examples, under help and -h alike.
func TestHelp(t *testing.T) {
	for _, name := range []string{"run", "layer", "model", "sweep", "dump", "accuracy"} {
		help, _, code := invoke("help", name)
		flag, _, _ := invoke(name, "-h")
		if code != exitDone || help != flag || !strings.Contains(help, "\nExamples:\n  anesim "+name) {
			t.Errorf("help %s: exit %d:\n%s", name, code, help)
		}
	}
	help, _, code := invoke("help")
	flag, _, _ := invoke("-h")
	if code != exitDone || help != flag || !strings.Contains(help, "Examples:") {
		t.Errorf("help: exit %d:\n%s\n-h:\n%s", code, help, flag)
	}
	if _, errs, code := invoke("help", "rnu"); code != exitUsage || !strings.Contains(errs, "did you mean run?") {
		t.Errorf("help rnu: exit %d: %s", code, errs)
	}
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if out, _, code := invoke("completion", shell); code != exitDone || !strings.Contains(out, "anesim") {
			t.Errorf("%s: exit %d", shell, code)
		}
	}
	for _, tc := range []struct {
		words []string
		want  string
	}{
		{[]string{"layer", ""}, "softmax"}, {[]string{"layer", "conv", ""}, "stride="}, {[]string{"run", "--chip", ""}, "m1max"},
		{[]string{"model", "--host", ""}, "macos-air"}, {[]string{""}, "accuracy"},
	} {
		out, _, code := invoke(append([]string{"__complete"}, tc.words...)...)
		if code != exitDone || !strings.Contains(out, tc.want) {
			t.Errorf("%q: exit %d, no %q in %q", tc.words, code, tc.want, out)
		}
	}
}

// A mistake says what may have been meant, whatever its case.
func TestDidYouMean(t *testing.T) {
	net := writeFile(t, "net.yaml", []byte("inputs: {x: {c: 4}}\nlayers:\n- {op: relu}\n"))
	bare := writeFile(t, "net", []byte("inputs: {x: {c: 4}}\nlayers:\n- {op: relu}\n"))
	program := example(t, "add")
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"RUN"}, "; did you mean run?"}, {[]string{"modle"}, "; did you mean model?"},
		{[]string{"layer", "Softmx"}, "; did you mean softmax?"}, {[]string{"layer", "convolution"}, "; did you mean conv?"},
		{[]string{"layer", "conv", "cin=4", "cuot=4"}, "; did you mean cout?"}, {[]string{"layer", "conv", "Stride=4"}, "; did you mean stride?"},
		{[]string{"run", "--chip", "M1Max"}, "; did you mean m1max?"}, {[]string{"run", "--host", "macosair"}, "; did you mean macos-air"},
		{[]string{"run", "--timing"}, "; did you mean --timing-only?"}, {[]string{"sweep", "Relu", "c=4"}, "; did you mean relu?"},
		{[]string{"layer", "relu", "c=4", "--set", "Foo.Bar=1"}, `override "Foo.Bar=1": unknown register group "Foo"; want one of KernelDMASrc, Common, `},
		{[]string{"layer", "relu", "c=4", "--set", "PE.Cfg.OpMod=1"}, "; did you mean OpMode?"},
		{[]string{"layer", "relu", "c=4", "--set", "Header.Bases=1"}, `Header.Bases is in the descriptor's header, which has no registers to set; edit it in the output of "dump --text"`},
		{[]string{"run", net}, net + " is a network, not a compiled program; try anesim model " + net}, {[]string{"run", bare}, "is a network"},
		{[]string{"model", program}, program + " is a compiled program, not a network; try anesim run " + program},
	} {
		_, errs, code := invoke(tc.args...)
		if code != exitUsage || !strings.Contains(errs, tc.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: exit %d, want %q:\n%s", tc.args, code, tc.want, errs)
		}
	}
}

// Several files are run one after the other; one that fails does not stop the others.
func TestSeveralFiles(t *testing.T) {
	add, relu := example(t, "add"), example(t, "relu")
	bad := writeFile(t, "bad.hwx", []byte("\xce\xfa\xef\xbe"))
	out, errs, code := invoke("run", add, bad, relu, "--json")
	if code != exitFailed || !strings.Contains(errs, "bad.hwx") || !strings.Contains(errs, "1 of 3 files failed") {
		t.Errorf("exit %d: %s", code, errs)
	}
	d := json.NewDecoder(strings.NewReader(out))
	var names []string
	for {
		var r report.Run
		err := d.Decode(&r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, r.Program)
	}
	if !slices.Equal(names, []string{"add.hwx", "relu.hwx"}) {
		t.Errorf("%q", names)
	}
	out, _, _ = invoke("run", add, relu, "--csv")
	if rows := records(t, out); len(rows) != 3 || rows[0][0] != "program" || rows[2][0] != "relu.hwx" {
		t.Errorf("%q", rows)
	}
	one, _, _ := invoke("dump", add)
	two, _, _ := invoke("dump", relu)
	if both, _, code := invoke("dump", add, relu); code != exitDone || both != one+"\n"+two {
		t.Errorf("dump of two: exit %d:\n%s", code, both)
	}
}

// A command does not overwrite a file that it did not write itself.
func TestFilesAreNotOverwritten(t *testing.T) {
	foreign := writeFile(t, "notes.txt", []byte("no newline"))
	if _, errs, code := invoke("sweep", "relu", "c=1..4", "--resume", foreign); code != exitFailed || !strings.Contains(errs, "not the output of a sweep") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if b, _ := os.ReadFile(foreign); string(b) != "no newline" {
		t.Errorf("%q", b)
	}
	const net = "inputs: {x: {c: 4}}\nlayers:\n- {op: relu}\n"
	file := writeFile(t, "n.yaml", []byte(net))
	link := filepath.Join(t.TempDir(), "link.yaml")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{file, link, filepath.Join(filepath.Dir(file), ".", "n.yaml")} {
		if _, errs, code := invoke("model", file, "--emit", out); code != exitUsage || !strings.Contains(errs, "would overwrite input") {
			t.Errorf("--emit %s: exit %d: %s", out, code, errs)
		}
	}
	if b, _ := os.ReadFile(file); string(b) != net {
		t.Errorf("%q", b)
	}
}

// Outputs whose names would give the same file name get different files.
func TestOutputsOfOneFileName(t *testing.T) {
	long := strings.Repeat("a/path/é/", 40)
	file := writeFile(t, "net.onnx", onnxtest.Model(
		onnxtest.Input("x", 1, 2, 2, 2), onnxtest.Output("a/b"), onnxtest.Output("a_b"), onnxtest.Output(long),
		onnxtest.Node("Relu", "a/b", []string{"x"}), onnxtest.Node("Tanh", "a_b", []string{"x"}), onnxtest.Node("Sigmoid", long, []string{"x"}),
	))
	dir := t.TempDir()
	if _, errs, code := invoke("model", file, "--values", "--out", dir); code != exitDone {
		t.Fatal(errs)
	}
	for _, name := range []string{"a%2Fb.npy", "a_b.npy", output.FileNames([]string{long})[0] + ".npy"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// An input is taken once, and in the shape that the port has.
func TestInputsAreChecked(t *testing.T) {
	fits, flat := writeNPY(t, []int{2, 3, 4}, ramp(24)), writeNPY(t, []int{24}, ramp(24))
	four, ones := writeNPY(t, []int{2, 2}, ramp(4)), writeNPY(t, []int{4}, ramp(4))
	turned := writeNPY(t, []int{3, 2, 4}, ramp(24))
	for _, tc := range []struct {
		line string
		code int
		want string
	}{
		{"relu c=2 h=3 w=4 --in x=" + fits, exitDone, ""},
		{"relu c=2 h=3 w=4 --in x=" + flat, exitFailed, "found shape [24]; want [1 2 3 4]; if the elements are in this order, array.reshape(1, 2, 3, 4) in numpy has that shape"},
		{"relu c=2 h=3 w=4 --in x=" + turned, exitFailed, "found shape [3 2 4]; want [1 2 3 4], with the axes in this order"},
		{"add c=4 --in x=" + ones, exitDone, ""},
		{"conv cin=2 cout=2 --in weights=" + four + " --in weights=" + four, exitUsage, "duplicate --in weights"},
	} {
		_, errs, code := invoke(append([]string{"layer"}, strings.Fields(tc.line)...)...)
		if code != tc.code || !strings.Contains(errs, tc.want) {
			t.Errorf("%s: exit %d: %s", tc.line, code, errs)
		}
	}
}

// The accumulator counts, and the report says what each call left and what state saves.
func TestState(t *testing.T) {
	one := writeNPY(t, []int{1, 4, 1, 1}, []float16.Float16{0x3c00, 0x3c00, 0x3c00, 0x3c00})
	args := []string{"layer", "add", "c=4", "--in", "x=" + one, "--state", "y=z", "--repeat", "4"}
	out, errs, code := invoke(args...)
	if code != exitDone {
		t.Fatal(errs)
	}
	for _, want := range []string{"\ncall 1   y  ", "[1 1 1 1]", "[2 2 2 2]", "[3 3 3 3]", "\ncall 4   y  ", "[4 4 4 4]", "\nstate saves 48 B of host copies; 96 B fewer are moved\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	// The program that layer writes does the same under run.
	file := filepath.Join(t.TempDir(), "add.hwx")
	if _, errs, code := invoke("layer", "add", "c=4", "--emit", file, "--timing-only"); code != exitDone {
		t.Fatal(errs)
	}
	var r report.Run
	out, _, _ = invoke("run", file, "--in", "x="+one, "--state", "y=z", "--repeat", "4", "--json")
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	four := engine.Checksum([]float16.Float16{0x4400, 0x4400, 0x4400, 0x4400})
	if len(r.Calls) != 4 || r.Calls[3].Outputs[0].CRC32 != four || r.Outputs[0].CRC32 != four || r.State.HostCopyBytes != 48 {
		t.Errorf("%+v, %+v", r.Calls, r.State)
	}
	for _, tc := range []struct{ state, want string }{{"y", "want OUT=IN"}, {"y=q", `unknown input "q"`}, {"q=z", `unknown output "q"`}} {
		if _, errs, code := invoke("layer", "add", "c=4", "--state", tc.state); code == exitDone || !strings.Contains(errs, tc.want) {
			t.Errorf("%s: exit %d: %s", tc.state, code, errs)
		}
	}
}

// A state that cannot be is refused in the shapes of the network's file, with the outputs and inputs that
// there are, and with the form of a cache that works.
func TestStateErrorsHaveShapesOfTheFile(t *testing.T) {
	const outputs = "the outputs are next [1 1 32], keys [1 2 32 16], values [1 2 32 16]; the inputs are token [1 1 32], past_keys [1 2 31 16], past_values [1 2 31 16]"
	for state, want := range map[string]string{
		"OUT=IN":         `unknown output "OUT"; ` + outputs,
		"keys=keys":      `unknown input "keys"; ` + outputs,
		"keys=past_keys": "the output has shape [1 2 32 16] and the input [1 2 31 16]; want one shape, as of a cache of fixed length",
	} {
		_, errs, code := invoke("model", exampleNetwork("decoder-step.onnx"), "--state", state)
		if code != exitFailed || !strings.Contains(errs, want) || !strings.Contains(errs, outputs) {
			t.Errorf("%s: exit %d: %s", state, code, errs)
		}
	}
	if _, errs, code := invoke("model", exampleNetwork("decode.yaml"), "--state", "x=y"); code != exitFailed || !strings.Contains(errs, "the outputs are ") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// No line of a report that goes to no terminal is wider than its tables may be.
func TestTablesFit(t *testing.T) {
	for _, args := range [][]string{{"run"}, {"run", example(t, "concat")}, {"model", exampleNetwork("resnet50.yaml")}} {
		out, _, _ := invoke(args...)
		head, _, _ := strings.Cut(out, "\n\ntotal:")
		for l := range strings.Lines(head) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(l, "\n")); n > terminal.PipeWidth {
				t.Errorf("%q: %d columns: %s", args, n, l)
			}
		}
	}
}

// Names from a file cannot steer a terminal, in a table, a CSV or an error.
func TestNamesAreEscaped(t *testing.T) {
	const evil = "a\x1b[31mred\nb"
	net := writeFile(t, "net.yaml", []byte("inputs: {x: {c: 4}, y: {w: 20000}}\nlayers:\n- {name: \"a\\e[31mred\\nb\", op: relu, from: x}\n- {name: \"c\\ad\", op: pool, k: 1, from: y}\n"))
	for _, more := range []string{"", "--csv", "--values"} {
		out, errs, code := invoke(append([]string{"model", net}, strings.Fields(more)...)...)
		if code != exitDone || strings.ContainsAny(out+errs, "\x1b\a") || !strings.Contains(out, `a\x1b[31mred\nb`) {
			t.Errorf("model %s: exit %d: %q", more, code, out+errs)
		}
	}
	for _, args := range [][]string{{"run", evil}, {evil}, {"layer", evil}, {"run", "--in", evil + "=" + writeNPY(t, []int{1}, []float16.Float16{0})}, {"run", "--set", evil}} {
		_, errs, code := invoke(args...)
		if code == exitDone || strings.Contains(errs, "\x1b") || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: exit %d: %q", args, code, errs)
		}
	}
}

// Every flag of every command says what it does.
func TestFlagsHaveHelp(t *testing.T) {
	for _, c := range Root(io.Discard).Commands() {
		if c.Name() == "completion" || c.Name() == "help" {
			continue // the command library's own
		}
		if c.Example == "" || c.Short == "" || c.Long == "" {
			t.Errorf("%s has no example or help", c.Name())
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s --%s has no help", c.Name(), f.Name)
			}
		})
	}
}

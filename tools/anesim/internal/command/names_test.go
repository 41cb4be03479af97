package command

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"anesim/internal/network/coreml"
	"anesim/internal/network/mil"
	"anesim/internal/network/onnxtest"
)

// Outputs whose names no terminal would show, or would end a name in a container, have their
// values like any other: under the names that messages, files, --in and containers have.
func TestControlCharactersInNames(t *testing.T) {
	p, err := mil.Parse(`program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 4, 2, 2]> xQi) {
        tensor<fp16, [1, 4, 2, 2]> yQa = relu(x = xQi)[name = string("first")];
        tensor<fp16, [1, 4, 2, 2]> yQb = sigmoid(x = xQi)[name = string("second")];
    } -> (yQa, yQb);
}
`)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"net.yaml": []byte(`inputs: {"x\u0001i": {c: 4, h: 2, w: 2}}
layers:
- {op: relu, name: "y\0a"}
- {op: sigmoid, name: "y\0b", from: "x\u0001i"}
`),
		"net.onnx": onnxtest.Model(onnxtest.Input("x\x01i", 1, 4, 2, 2), onnxtest.Node("Relu", "y\x00a", []string{"x\x01i"}),
			onnxtest.Node("Sigmoid", "y\x00b", []string{"x\x01i"}), onnxtest.Output("y\x00a"), onnxtest.Output("y\x00b")),
		"net.mlmodel": bytes.ReplaceAll(bytes.ReplaceAll(coreml.Encode(p), []byte("yQ"), []byte("y\x00")), []byte("xQ"), []byte("x\x01")),
	} {
		t.Run(name, func(t *testing.T) {
			file, dir := writeFile(t, name, data), t.TempDir()
			in := filepath.Join(dir, "in.f16")
			if err := os.WriteFile(in, bytes.Repeat([]byte{0, 0x40}, 16), 0o666); err != nil { // twos
				t.Fatal(err)
			}
			out, errs, code := invoke("model", file, "--values", "--in", `x\x01i=`+in, "--out", filepath.Join(dir, "d"))
			if code != exitDone || !strings.Contains(out, `y\x00a [1 4 2 2]`) || !strings.Contains(out, `y\x00b [1 4 2 2]`) {
				t.Fatalf("exit %d: %s%s", code, errs, out)
			}
			files, err := filepath.Glob(filepath.Join(dir, "d", "*.npy"))
			if err != nil || len(files) != 2 {
				t.Fatalf("files %q, %v", files, err)
			}
			if !strings.Contains(out, "[2 2 2 2 ...]") || !strings.Contains(out, "[0.88") {
				t.Errorf("not two and its sigmoid: %s", out)
			}
			r := model(t, file, "--values")
			var names []string
			for _, o := range r.Outputs {
				names = append(names, o.Name)
			}
			if want := []string{`y\x00a`, `y\x00b`}; !slices.Equal(names, want) {
				t.Errorf("the document has %q, want %q", names, want)
			}
			hwx := filepath.Join(dir, "net.hwx")
			if _, errs, code := invoke("model", file, "--emit", hwx); code != exitDone {
				t.Fatal(errs)
			}
			if out, errs, code := invoke("run", hwx, "--in", `x\x01i=`+in); code != exitDone || !strings.Contains(out, `y\x00a [1 4 2 2]`) || !strings.Contains(out, `y\x00b [1 4 2 2]`) {
				t.Errorf("of the container: exit %d: %s%s", code, errs, out)
			}
		})
	}
}

// No cell of any CSV that the program writes begins like a formula, but for numbers.
func TestNoFormulasInCSV(t *testing.T) {
	program, err := os.ReadFile(example(t, "add"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	const net = "inputs: {x: {c: 4, h: 2, w: 20000}}\nlayers:\n- {op: pool, k: 1, name: '@wide'}\n- {op: pool, k: 1, name: '=1+1', from: x}\n- {op: sigmoid, name: '+y'}\n"
	for name, data := range map[string][]byte{"=net.yaml": []byte(net), "=a.hwx": program, "@b.hwx": program} {
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "=a.hwx", "@b.hwx", "--timing-only", "--csv"}, "'@b.hwx"},
		{[]string{"model", "=net.yaml", "--csv"}, "'=1+1"},
		{[]string{"sweep", "=net.yaml", "chip.Engines=8,16"}, "'=net.yaml"},
		{[]string{"sweep", "conv", "cin=4", "cout=4", "w=4", "pad=same,=same"}, "'=same"},
	} {
		out, errs, _ := invoke(tc.args...)
		rows, found := records(t, out), false
		for _, row := range rows[1:] {
			for _, cell := range row {
				_, err := strconv.ParseFloat(cell, 64)
				if err != nil && len(cell) > 1 && strings.ContainsRune("=+-@", rune(cell[0])) {
					t.Errorf("%q has the cell %q", tc.args, cell)
				}
				found = found || cell == tc.want
			}
		}
		if !found {
			t.Errorf("%q has no cell %q: %s%s", tc.args, tc.want, errs, out)
		}
	}
}

package command

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim/internal/network/onnx"
	"anesim/internal/network/onnxtest"
)

// keptFiles lists command lines with all files that they read, also those that no argument names,
// and all that they write. A word {NAME} is an output, at first called NAME. The map made has
// outputs that the command names itself, by the word from which it makes the name, or "" if none.
var keptFiles = []struct {
	line  string
	reads string
	made  map[string]string
}{
	{"run c.hwx --in x=x.f16 --init init.csv --chip chip.yaml --html {p} --baseline base.json --trace {t} --pprof {f} --out d",
		"c.hwx c.hwx.params x.f16 init.csv chip.yaml base.json", map[string]string{"": "d/y.npy"}},
	{"run c.hwx --record {r} --html {p} --out d", "c.hwx c.hwx.params", map[string]string{"": "d/y.npy"}},
	{"layer relu c=16 w=64 --in x=x.f16 --emit {e} --html {p} --trace {t} --pprof {f} --out d", "x.f16", map[string]string{"": "d/y.npy"}},
	{"layer matmul m=16 n=32 rhs=runtime --over k=32..64+32 --emit {e} --html {p} --trace {t} --out d", "",
		map[string]string{"": "d/y.npy", "{e}": "e.params"}},
	{"model ext.onnx --values --in x=v.npy --emit {e} --html {p} --trace {t} --pprof {f} --out d --cache k",
		"ext.onnx wd.svg v.npy k/com.apple.e5rt.e5bundlecache/x",
		map[string]string{"": "d/y.npy"}},
	{"model ext.onnx --compute all --backends rates.yaml --html {p} --trace {t}", "ext.onnx wd.svg rates.yaml", nil},
	{"model P.mlpackage --html {p} --trace {t} --emit {e} --chip chip.yaml",
		"P.mlpackage/Manifest.json P.mlpackage/Data/com.apple.CoreML/model.mlmodel P.mlpackage/Data/com.apple.CoreML/weights/weight.bin chip.yaml", nil},
	{"model two.yaml --values --emit {e.hwx} --html {p}", "two.yaml", map[string]string{"{e.hwx}": "e-1.hwx e-2.hwx"}},
	{"check --baseline {b} --update ext.onnx c.hwx", "ext.onnx wd.svg c.hwx", nil},
	{"check --baseline base.json --junit {j} ext.onnx", "base.json ext.onnx wd.svg", nil},
	{"plot roofline ext.onnx -o {o.svg}", "wd.svg", nil},
	{"load script.yaml --record {r} --trace {t} --pprof {f} --html {p}", "script.yaml c.hwx c.hwx.params ext.onnx wd.svg", nil},
	{"sweep ext.onnx chip.Clock=1e9,1.2e9 --resume {r} --html {p} --trace {t} --pprof {f}", "ext.onnx wd.svg", nil},
	{"sweep ext.onnx chip.Clock=1e9,1.2e9 --pareto time,energy --plot {o.svg} --html {p}", "wd.svg", nil},
	{"sweep front time,energy rows.svg --plot {o.svg}", "rows.svg", nil},
	{"accuracy --csv measured.csv --html {p}", "measured.csv", nil},
	{"accuracy --md {m} --html {p}", "", map[string]string{"{m}": "m-times.svg m-errors.svg"}},
	{"asm text.td -o {o}", "text.td w.npy", nil},
	{"patch text.td --set Common.Cfg.ActiveNE=1 -o {o}", "text.td w.npy", nil},
	{"patch conv.hwx --weights 0=w.npy -o {o}", "conv.hwx w.npy", nil},
	{"convert c.hwx -o {o.anec}", "c.hwx", nil},
}

// writeKeptFiles writes the files that the commands of keptFiles read to the current directory. Some are
// in the directory examples.
func writeKeptFiles(t *testing.T, examples string) {
	t.Helper()
	var weights []byte
	for range 64 {
		weights = onnx.Float.Append(weights, 0.5)
	}
	constant := onnxtest.Message{}.Int(1, 8).Int(1, 8).Int(2, 1).Text(8, "w").Int(14, 1).Bytes(13, onnxtest.Message{}.Text(1, "location").Text(2, "wd.svg"))
	text, err := os.ReadFile(filepath.Join(examples, "folded.td"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS("P.mlpackage", os.DirFS(filepath.Join(examples, "classifier.mlpackage"))); err != nil {
		t.Fatal(err)
	}
	chip, errs, code := invoke("chip", "m1")
	if code != exitDone {
		t.Fatal(errs)
	}
	rows, errs, code := invoke("sweep", "relu", "c=4", "w=64", "chip.Clock=1e9,1.2e9")
	if code != exitDone {
		t.Fatal(errs)
	}
	for name, data := range map[string]string{
		"ext.onnx": string(onnxtest.Model(onnxtest.Input("x", 1, 8), onnxtest.Message{}.Bytes(5, constant),
			onnxtest.Node("MatMul", "y", []string{"x", "w"}), onnxtest.Output("y"))),
		// A kernel this large cannot be compiled, so there is a program on each side of it.
		"two.yaml":   "inputs: {x: {c: 4, h: 8, w: 8}}\nlayers: [{op: relu}, {op: conv, cout: 4, k: 33, pad: same}, {op: relu}]\n",
		"wd.svg":     string(weights),
		"x.f16":      strings.Repeat("\x00\x3c", 16*64),
		"init.csv":   "block,offset,mask,value\nANE,0xd014,1,1\n",
		"chip.yaml":  chip,
		"rows.svg":   rows,
		"rates.yaml": "gpu: {gflops: 2600, gb_per_s: 68, launch_us: 100}\n",
		"script.yaml": "duration: 1ms\nclients:\n- {name: a, model: c.hwx, arrival: fixed, rate: 1000}\n" +
			"- {name: b, model: ext.onnx, arrival: fixed, rate: 1000}\n",
		"measured.csv": "tier,id,chip,machine,op,M,K,Ncols,latency_us\nT2-host,a,M1,\"MacBookAir10,1 macOS15.6.1\",matmul,1024,1024,1024,993.3\n",
		"text.td":      ".weights w.npy\n" + string(text),
	} {
		if err := os.WriteFile(name, []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	values := make([]float16.Float16, 16)
	for name, shape := range map[string][]int{"v.npy": {1, 8}, "w.npy": {4, 4, 1, 1}} {
		if err := os.Rename(writeNPY(t, shape, values[:shape[0]*shape[1]]), name); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{
		"layer relu c=4 w=64 --timing-only --emit c.hwx", "layer conv cin=4 h=4 w=4 cout=4 --timing-only --emit conv.hwx",
		"layer matmul m=16 n=32 rhs=runtime --over k=32..64+32 --emit m.hwx --timing-only", "check --baseline base.json --update ext.onnx",
	} {
		if _, errs, code := invoke(strings.Fields(line)...); code != exitDone {
			t.Fatalf("%s: %s", line, errs)
		}
	}
	// The program of run has parameters beside it.
	for from, to := range map[string]string{"m.hwx": "c.hwx", "m.hwx.params": "c.hwx.params"} {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
}

// readTree returns the contents of all files in the current directory and below.
func readTree(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		files[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Each command writes its outputs and leaves its inputs as they are. If one of its outputs has the
// name of a file that it reads or of another output, also of one that it names itself, it fails
// before it has written anything.
func TestEveryPairOfFilesIsKept(t *testing.T) {
	examples, err := filepath.Abs(filepath.Join("..", "..", "examples"))
	if err != nil {
		t.Fatal(err)
	}
	start := t.TempDir()
	t.Chdir(start)
	writeKeptFiles(t, examples)
	before := readTree(t)
	plain := strings.NewReplacer("{", "", "}", "").Replace
	for _, tt := range keptFiles {
		t.Run(tt.line, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			if err := os.CopyFS(dir, os.DirFS(start)); err != nil {
				t.Fatal(err)
			}
			outputs := slices.DeleteFunc(strings.Fields(tt.line), func(word string) bool { return word[0] != '{' })
			pairs := 0
			for _, out := range outputs {
				others := append(strings.Fields(tt.reads), outputs...)
				for from, names := range tt.made {
					if from != out { // otherwise they follow the new name
						others = append(others, strings.Fields(names)...)
					}
				}
				for _, other := range others {
					other = plain(other)
					if ext := filepath.Ext(plain(out)); other == plain(out) || ext != "" && ext != filepath.Ext(other) {
						continue
					}
					line := plain(strings.Replace(tt.line, out, other, 1))
					_, errs, code := invoke(strings.Fields(line)...)
					if code == exitDone || !strings.Contains(errs, "would overwrite input") && !strings.Contains(errs, "both write") &&
						!strings.Contains(errs, "not a baseline") { // an update reads its output first
						t.Errorf("%s: status %d, %q", line, code, errs)
					}
					if !maps.Equal(readTree(t), before) {
						t.Fatalf("%s: wrote a file", line)
					}
					pairs++
				}
			}
			if pairs == 0 && tt.reads != "c.hwx" { // whose extension is not that of the output
				t.Error("no pair")
			}
			line := plain(tt.line)
			if _, errs, code := invoke(strings.Fields(line)...); code != exitDone {
				t.Fatalf("status %d, %s", code, errs)
			}
			after := readTree(t)
			for file, text := range before {
				if after[file] != text {
					t.Errorf("%s has changed", file)
				}
			}
			files := strings.Fields(tt.made[""])
			for _, out := range outputs {
				if names := strings.Fields(tt.made[out]); len(names) > 0 && strings.Contains(line, "two.yaml") {
					files = append(files, names...) // in place of the one that it is asked for
				} else {
					files = append(files, append(names, plain(out))...)
				}
			}
			for _, file := range files {
				if after[file] == "" {
					t.Errorf("no file %s", file)
				}
			}
		})
	}
}

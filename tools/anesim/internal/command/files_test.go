package command

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A file that is larger than its command takes is refused by its size: what is allocated
// before that does not depend on it.
func TestHugeFilesAreRefusedBySize(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, errs, code := invoke("layer", "relu", "c=4", "--timing-only", "--emit", "p.hwx"); code != 0 {
		t.Fatal(errs)
	}
	for _, name := range []string{"huge", "huge.yaml", "huge.onnx", "huge.json", "huge.td", "huge.mil", "huge.npy", "huge.f16", "huge.hwx"} {
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		err = f.Truncate(6 << 30)
		f.Close()
		if err != nil {
			t.Skip("a large file without data cannot be made here: ", err)
		}
	}
	for _, line := range []string{
		"run huge.hwx", "run p.hwx --init huge", "run p.hwx --in x=huge.f16", "run p.hwx --in x=huge.npy", "run p.hwx --html h --baseline huge.json",
		"model huge.yaml", "model huge.onnx", "model huge.mil", "explain huge.yaml", "explain huge.hwx", "layer relu c=4 --chip ./huge.yaml",
		"check --baseline huge.json p.hwx", "diff huge.json p.hwx", "diff huge.hwx p.hwx", "load huge.yaml", "fw huge", "dump huge.hwx", "dump huge",
		"asm huge.td -o out", "convert huge.hwx -o out.td", "patch huge.hwx -o out --set Common.Cfg=1", "patch p.hwx -o out --params huge --bind a=1",
		"patch p.hwx -o out --weights 0=huge.npy", "sweep huge.yaml", "sweep merge huge", "sweep status huge", "probe read huge.json", "chip ./huge.yaml", "plot timeline huge.hwx -o out.svg",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, errs, code := invoke(strings.Fields(line)...)
		runtime.ReadMemStats(&after)
		if code == 0 || errs == "" {
			t.Errorf("%s: status %d, %q", line, code, errs)
		}
		if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 32 {
			t.Errorf("%s: %d MB were allocated to say %q", line, n, errs)
		}
	}
}

// Standard input is read by every command that reads one file, whatever it holds.
func TestPipesAreRead(t *testing.T) {
	dir := t.TempDir()
	program, text := example(t, "conv"), filepath.Join(dir, "p.td")
	if _, errs, code := invoke("convert", program, "-o", text); code != 0 {
		t.Fatal(errs)
	}
	examples := filepath.Join("..", "..", "examples")
	for _, c := range []struct{ file, line string }{
		{program, "run - --timing-only"}, {program, "dump -"}, {program, "explain -"}, {program, "convert - -o OUT.td"},
		{program, "patch - -o OUT --set Common.Cfg=1"}, {text, "patch - -o OUT --set Common.Cfg=1"}, {text, "asm - -o OUT"},
		{filepath.Join(examples, "decoder-step.onnx"), "model -"}, {filepath.Join(examples, "decoder-step.onnx"), "explain -"},
		{filepath.Join(examples, "transformer.yaml"), "model -"}, {filepath.Join(examples, "transformer.yaml"), "explain -"},
	} {
		in, err := os.Open(c.file)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		var out, errs strings.Builder
		root := Root(&out)
		root.SetArgs(strings.Fields(strings.ReplaceAll(c.line, "OUT", filepath.Join(dir, "out"))))
		root.SetIn(in)
		root.SetErr(&errs)
		if err := root.Execute(); err != nil || out.Len() == 0 {
			t.Errorf("%s < %s: %v, %d bytes", c.line, filepath.Base(c.file), err, out.Len())
		}
	}
}

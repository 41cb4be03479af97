package command

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A command line that would write over a file which it reads, or write one file twice, is
// refused before anything runs, and every file stays as it was.
func TestFilesAreNotWrittenOver(t *testing.T) {
	t.Chdir(t.TempDir())
	keep := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if _, errs, code := invoke("layer", "relu", "c=4", "--timing-only", "--emit", "p.hwx"); code != 0 {
		t.Fatal(errs)
	}
	program, err := os.ReadFile("p.hwx")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"d", "sub"} {
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	values := strings.Repeat("\x00\x3c", 4)
	keep("x.f16", values)
	if err := os.Link("p.hwx", "hard.hwx"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("p.hwx", "link.hwx"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("sub", "other"); err != nil {
		t.Fatal(err)
	}
	keep("net.yaml", "inputs: {x: {c: 4, h: 1, w: 1}}\nlayers: [{name: y, op: relu, from: x}]\noutputs: [y]\n")
	keep("script.yaml", "duration: 1ms\nclients: [{name: a, model: p.hwx, arrival: fixed, rate: 1000}]\n")
	for _, line := range []string{
		"run p.hwx --html p.hwx", "run p.hwx --html ./sub/../p.hwx", "run p.hwx --pprof hard.hwx", "run p.hwx --trace link.hwx",
		"run p.hwx --record p.hwx", "run link.hwx --record p.hwx", "run p.hwx --in x=x.f16 --html x.f16",
		"run p.hwx --html out --trace out", "run p.hwx --html out --trace ./out", "run p.hwx --html sub/out --pprof other/out",
		"run p.hwx --html out --record out", "model net.yaml --html out --emit out", "model net.yaml --emit net.yaml",
		"layer relu c=4 --in x=x.f16 --emit x.f16", "layer relu c=4 --in x=x.f16 --trace x.f16",
		"check --baseline net.yaml --update net.yaml", "check --baseline b.json --update net.yaml --junit b.json",
		"patch p.hwx -o p.hwx --bind a=1", "plot roofline p.hwx -o p.hwx", "load script.yaml --record script.yaml",
		"load script.yaml --trace p.hwx", "sweep p.hwx set.Common.Cfg.ShPref=1,2 --html p.hwx",
		"run p.hwx --out d --html d/y.npy", "model net.yaml --values --out d --trace d/y.npy",
	} {
		_, errs, code := invoke(strings.Fields(line)...)
		if code != exitUsage || !strings.Contains(errs, "would overwrite input") && !strings.Contains(errs, "both write") && !strings.Contains(errs, "another argument names") {
			t.Errorf("%s: status %d, %q", line, code, errs)
		}
	}
	if b, err := os.ReadFile("p.hwx"); err != nil || string(b) != string(program) {
		t.Errorf("p.hwx has changed: %v", err)
	}
	if b, err := os.ReadFile("x.f16"); err != nil || string(b) != values {
		t.Errorf("x.f16 has changed: %v", err)
	}
	// An input in the directory of the outputs, under the name of an output.
	if _, errs, code := invoke("run", "p.hwx", "--out", "d"); code != 0 {
		t.Fatal(errs)
	}
	before, err := os.ReadFile("d/y.npy")
	if err != nil {
		t.Fatal(err)
	}
	if _, errs, code := invoke("run", "p.hwx", "--in", "x=d/y.npy", "--out", "d"); code == 0 {
		t.Errorf("--in x=d/y.npy --out d: status %d, %s", code, errs)
	}
	if after, err := os.ReadFile("d/y.npy"); err != nil || string(after) != string(before) {
		t.Errorf("d/y.npy has changed: %v", err)
	}
	// No flag takes - for standard output.
	for _, line := range []string{"run p.hwx --html -", "run p.hwx --trace - --pprof -", "layer relu c=4 --emit -", "check --baseline - --update p.hwx", "convert p.hwx -o -"} {
		if _, errs, code := invoke(strings.Fields(line)...); code != exitUsage || !strings.Contains(errs, "/dev/stdout is standard output") {
			t.Errorf("%s: status %d, %s", line, code, errs)
		}
	}
	// What may be written twice, and files that only look alike.
	for _, line := range []string{"run p.hwx --html /dev/null --trace /dev/null", "run p.hwx --html out1 --trace sub/out1", "layer relu c=4 --html relu"} {
		if _, errs, code := invoke(strings.Fields(line)...); code != 0 {
			t.Errorf("%s: status %d, %s", line, code, errs)
		}
	}
}

// Every flag whose value names a file is known to the test for files that are written over.
func TestFileFlagsAreKnown(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			value, _ := pflag.UnquoteUsage(f)
			for _, word := range []string{"FILE", "OUT", "DIR"} {
				if f.Value.Type() != "int" && f.Name != "state" && strings.Contains(value, word) && fileFlags[f.Name] == 0 {
					t.Errorf("%s --%s %s is not in fileFlags", c.CommandPath(), f.Name, value)
				}
			}
		})
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(Root(new(strings.Builder)))
}

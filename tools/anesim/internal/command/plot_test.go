package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A picture of a network and one of its stored result are the same.
func TestPlotOfModelAndResult(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join("..", "..", "examples", "transformer.yaml")
	result := filepath.Join(dir, "result.json")
	var stored, errs strings.Builder
	if code := Main([]string{"model", model, "--json"}, &stored, &errs); code != exitDone {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	if err := os.WriteFile(result, []byte(stored.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, picture := range []string{"roofline", "timeline", "energy"} {
		var drawn [2][]byte
		for i, from := range []string{model, result} {
			out := filepath.Join(dir, picture+".svg")
			if code := Main([]string{"plot", picture, from, "-o", out}, &errs, &errs); code != exitDone {
				t.Fatalf("%s of %s: exit %d: %s", picture, from, code, errs.String())
			}
			var err error
			if drawn[i], err = os.ReadFile(out); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(drawn[0], drawn[1]) {
			t.Errorf("%s of a model is not that of its result", picture)
		}
	}
}

func TestPlotMistakes(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	model := filepath.Join("..", "..", "examples", "transformer.yaml")
	other := write("other.json", `{"schema": 1, "rows": []}`)
	newer := write("newer.json", `{"schema": 99, "program": "x"}`)
	broken := write("broken.json", `{"schema": 1, "program": `)
	svg := filepath.Join(dir, "x.svg")
	for _, x := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"plot"}, exitUsage, "want one of roofline"},
		{[]string{"plot", "pie", model, "-o", svg}, exitUsage, "want one of roofline"},
		{[]string{"plot", "roofline", "-o", svg}, exitUsage, "found 0 files; want one"},
		{[]string{"plot", "roofline", model}, exitUsage, "ends in .svg"},
		{[]string{"plot", "roofline", model, "-o", "x.png"}, exitUsage, "ends in .svg"},
		{[]string{"plot", "roofline", other, "-o", svg}, exitFailed, "unknown kind of result"},
		{[]string{"plot", "roofline", newer, "-o", svg}, exitFailed, `unsupported "schema" 99; want 1`},
		{[]string{"plot", "roofline", broken, "-o", svg}, exitFailed, "broken.json"},
		{[]string{"plot", "roofline", filepath.Join(dir, "none.hwx"), "-o", svg}, exitFailed, "none.hwx"},
	} {
		var out, errs strings.Builder
		if code := Main(x.args, &out, &errs); code != x.code || !strings.Contains(errs.String(), x.says) {
			t.Errorf("%v: exit %d: %s", x.args, code, errs.String())
		}
	}
	if _, err := os.Stat(svg); err == nil {
		t.Error("a mistake left a picture")
	}
}

// A page stands beside the report, is held against a baseline, and is never written over
// what was read.
func TestPageFlag(t *testing.T) {
	dir := t.TempDir()
	file, base := filepath.Join(dir, "page.html"), filepath.Join(dir, "base.json")
	layer := "conv cin=16 h=8 w=8 cout=16 k=1"
	run := func(want int, args ...string) string {
		t.Helper()
		var out, errs strings.Builder
		if code := Main(args, &out, &errs); code != want {
			t.Fatalf("%v: exit %d: %s", args, code, errs.String())
		}
		return errs.String()
	}
	hwx := filepath.Join(dir, "x.hwx")
	run(exitDone, append([]string{"layer"}, append(strings.Fields(layer), "--emit", hwx, "--timing-only")...)...)
	run(exitDone, "check", "--baseline", base, "--update", hwx)
	for _, x := range []struct {
		args []string
		says string
	}{
		{[]string{}, "Nothing differs."},
		{[]string{"--chip", "m1max"}, "total"},
	} {
		run(exitDone, append([]string{"run", hwx, "--timing-only", "--html", file, "--baseline", base}, x.args...)...)
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, section, _ := strings.Cut(string(b), `<section id="baseline">`); !strings.Contains(strings.SplitN(section, "</section>", 2)[0], x.says) {
			t.Errorf("%v: the page's comparison does not say %q", x.args, x.says)
		}
		if !bytes.Contains(b, []byte("registers of descriptor 0")) {
			t.Error("the page has no registers")
		}
	}
	run(exitUsage, "run", hwx, "--baseline", base)
	if text := run(exitUsage, "run", hwx, "--timing-only", "--html", hwx); !strings.Contains(text, "would overwrite input") {
		t.Error(text)
	}
	script := filepath.Join("..", "..", "examples", "load.yaml")
	run(exitDone, "load", script, "--html", file)
	run(exitDone, "sweep", "conv", "cin=16,32", "h=8", "w=8", "cout=16", "k=1", "--html", file)
	if b, err := os.ReadFile(file); err != nil || !bytes.Contains(b, []byte("2 points")) {
		t.Errorf("a sweep's page: %v", err)
	}
}

// The commands of a page's changes have the flags that the run had; a run with what-ifs that
// explain has no flags for is not explained.
func TestPageExplains(t *testing.T) {
	dir := t.TempDir()
	file, hwx := filepath.Join(dir, "page.html"), filepath.Join(dir, "x.hwx")
	page := func(args ...string) string {
		t.Helper()
		if _, errs, code := invoke(append(args, "--html", file)...); code != exitDone {
			t.Fatalf("%v: exit %d: %s", args, code, errs)
		}
		return string(contents(t, file))
	}
	page(append(strings.Fields("layer add c=64 h=32 w=32 --timing-only"), "--emit", hwx)...)
	const command = "<code>anesim "
	for flags, want := range map[string]string{
		"--host linux":                      command + "run " + hwx + " --timing-only --gate-tiles ",
		"--host linux --chip m1max":         command + "run " + hwx + " --timing-only --chip m1max --gate-tiles ",
		"--set Common.TileCfg.TileHeight=2": "",
		"--power-budget 3":                  "",
	} {
		text := page(append([]string{"run", hwx, "--timing-only"}, strings.Fields(flags)...)...)
		if !strings.Contains(text, want) || want == "" && strings.Contains(text, command) {
			t.Errorf("%s: no %q, or commands of another run", flags, want)
		}
	}
	if text := page("model", exampleNetwork("transformer.yaml"), "--chip", "m1,Clock=1e9"); !strings.Contains(text, command) || strings.Count(text, command) != strings.Count(text, "--chip m1,Clock=1e9") {
		t.Error("a network's commands are not on the chip of the run")
	}
}

package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// partlyModelled and unmodelled are networks of which one of two layers, or the only layer, is too
// wide for the engine.
const (
	partlyModelled = "inputs: {x: {c: 64, h: 16, w: 16}, y: {w: 20000}}\nlayers:\n- {op: pool, k: 1, from: x, name: narrow}\n- {op: pool, k: 1, from: y, name: wide}\n"
	unmodelled     = "inputs: {y: {w: 20000}}\nlayers:\n- {op: pool, k: 1, from: y, name: wide}\n"
	incompleteLine = "INCOMPLETE: 1 layer without a cost, left out of all totals: wide (pool)"
)

// No command reports a network of which a layer has no cost as if it were complete.
func TestIncomplete(t *testing.T) {
	dir := t.TempDir()
	part, none := writeFile(t, "part.yaml", []byte(partlyModelled)), writeFile(t, "none.yaml", []byte(unmodelled))
	load := writeFile(t, "part.load", []byte("duration: 1s\nclients:\n- {name: a, model: "+part+", arrival: fixed, rate: 10}\n"))
	alone := writeFile(t, "none.load", []byte("duration: 1s\nclients:\n- {name: a, model: "+none+", arrival: fixed, rate: 10}\n"))
	script := writeFile(t, "part.fw", []byte("model net file "+part+"\nsend control BOOT\nsend control REQUEST_PROGRAM_ID\nsend control LOAD_PROGRAM program=0 model=net\n"))
	picture, page := filepath.Join(dir, "p.svg"), filepath.Join(dir, "p.html")
	document, _, _ := invoke("model", part, "--json")
	result := writeFile(t, "part.json", []byte(document))
	base := filepath.Join(dir, "base.json")
	for _, c := range []struct {
		args []string
		code int
		want string // in the output or the error
	}{
		{[]string{"model", part}, exitDone, incompleteLine},
		{[]string{"model", none}, exitDone, incompleteLine},
		{[]string{"explain", part}, exitDone, incompleteLine},
		{[]string{"explain", none}, exitDone, incompleteLine + "\nnone  network on chip m1: nothing runs on the engine, so there is nothing to explain\n"},
		{[]string{"lint", part}, exitDone, part + ": INCOMPLETE: 1 layer without"},
		{[]string{"lint", none}, exitFailed, "no layer could be compiled for the engine: " + incompleteLine},
		{[]string{"lint", part, "--json"}, exitDone, `"not_modelled": [`},
		{[]string{"diff", part, part}, exitDone, part + ": " + incompleteLine},
		{[]string{"diff", none, part}, exitFailed, "none.yaml: no layer could be compiled for the engine: " + incompleteLine},
		{[]string{"diff", result, result}, exitDone, incompleteLine},
		{[]string{"check", "--baseline", base, "--update", part}, exitDone, "part.yaml: " + incompleteLine},
		{[]string{"load", load}, exitFailed, `layer "wide" is not modelled`},
		{[]string{"load", alone}, exitFailed, `layer "wide" is not modelled`},
		{[]string{"fw", script}, exitDone, "failed: engine failed to load the program"},
		{[]string{"sweep", part}, exitDone, "anesim: 1 of 1 point without a complete cost; the column error has the reasons\n"},
		{[]string{"plot", "energy", part, "-o", picture}, exitDone, ""},
		{[]string{"model", part, "--html", page}, exitDone, incompleteLine},
	} {
		out, errs, code := invoke(c.args...)
		if code != c.code || !strings.Contains(strings.Join(strings.Fields(out+errs), " "), strings.Join(strings.Fields(c.want), " ")) {
			t.Errorf("%q: exit %d, want %d with %q:\n%s%s", c.args, code, c.code, c.want, out, errs)
		}
		if strings.Contains(out, "NaN") || strings.Contains(out, "0.0 ns ->") {
			t.Errorf("%q:\n%s", c.args, out)
		}
	}
	for _, file := range []string{picture, page} {
		if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), ">"+incompleteLine+"<") {
			t.Errorf("%s: %v: no warning", file, err)
		}
	}
	if d := explanation(t, none); len(d.NotModelled) != 1 || d.Tried.All != 0 || len(d.Trials)+len(d.Machines) != 0 {
		t.Errorf("explanation of nothing: %+v", d)
	}
}

// A check fails for a network with a layer without a cost, unless the baseline lists that layer.
func TestCheckIncomplete(t *testing.T) {
	dir := t.TempDir()
	base, junit, file := filepath.Join(dir, "base.json"), filepath.Join(dir, "junit.xml"), filepath.Join(dir, "net.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run := func(code int, want string, args ...string) {
		t.Helper()
		out, errs, got := invoke(append([]string{"check", "--baseline", base}, args...)...)
		if got != code || !strings.Contains(out+errs, want) {
			t.Errorf("%q: exit %d, want %d with %q:\n%s%s", args, got, code, want, out, errs)
		}
	}
	write(strings.Replace(partlyModelled, "20000", "2000", 1))
	run(exitDone, "wrote 1 model", "--update", file)
	write(partlyModelled)
	run(exitFailed, "FAIL  "+file+": "+incompleteLine, "--max", "1000%", "--junit", junit, file)
	if xml, err := os.ReadFile(junit); err != nil || !strings.Contains(string(xml), `message="not modelled: wide (pool)"`) {
		t.Errorf("%v: %s", err, xml)
	}
	run(exitDone, "wrote 1 model", "--update", file)
	run(exitDone, "ok    "+file+"\n      "+incompleteLine+", as in the baseline\n", file)
	write(strings.NewReplacer("w: 16}", "w: 20000}", "wide", "wider").Replace(partlyModelled))
	run(exitFailed, ": INCOMPLETE: 2 layers without a cost", "--max", "1000%", file)
}

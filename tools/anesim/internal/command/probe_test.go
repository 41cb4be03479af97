package command

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"anesim/bench/probe"
)

// runProbe writes the results of the model of a chip to a file and returns its name.
func runProbe(t *testing.T, chip string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "results.json")
	if out, errs, code := invoke("probe", "run", "-o", file, "--chip", chip); code != exitDone || out != "" || errs != "" {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	return file
}

// The files of a probe are written whole, and its package is a network that can be run.
func TestProbeWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "probe")
	for range 2 { // the second time, over the first
		out, errs, code := invoke("probe", "write", dir)
		if code != exitDone || errs != "" || !strings.Contains(out, "swift probe.swift") {
			t.Fatalf("exit %d: %s%s", code, out, errs)
		}
	}
	for name, want := range probe.Files() {
		if got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name))); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v, or other bytes than those of the probe", name, err)
		}
	}
	out, errs, code := invoke("model", filepath.Join(dir, probe.PackageName), "--values")
	if code != exitDone || strings.Contains(out, "not modelled") || strings.Count(out, "\noutput ") != 23 {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"probe", "write", filepath.Join(dir, "file")}, {"probe", "write"}, {"probe", "write", dir, dir}, {"probe"}, {"probe", "ask"}, {"probe", "run"}} {
		if _, errs, code := invoke(args...); code == exitDone || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: exit %d, %q; want an error on one line", args, code, errs)
		}
	}
}

// Results of an M1 follow the rules of an M1. Those of a chip with the two properties of M4 and M6
// differ in these alone, which the text says first, with the way to read them by their own rules.
func TestProbeRead(t *testing.T) {
	const later = "m1,OperandInfinity=0,CoarseSums=0"
	m1 := runProbe(t, "m1")
	out, errs, code := invoke("probe", "read", m1)
	if code != exitDone || errs != "" || !strings.HasPrefix(out, "25 of 25 rules of m1 hold\n") || strings.Contains(out, "differs") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	file := runProbe(t, later)
	out, errs, code = invoke("probe", "read", file)
	if code != exitFailed || errs != "anesim: "+file+": 2 of 25 rules do not hold\n" || !strings.HasPrefix(out, "23 of 25 rules of m1 hold, 2 do not\n") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if flat := strings.Join(strings.Fields(out), " "); !strings.Contains(flat, "--chip "+later) {
		t.Errorf("the text does not name --chip %s:\n%s", later, out)
	}
	for line := range strings.Lines(out) {
		if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > 80 {
			t.Errorf("wider than 80 columns: %s", line)
		}
	}
	if out, errs, code := invoke("probe", "read", file, "--chip", later); code != exitDone || !strings.HasPrefix(out, "25 of 25 rules") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
}

// The text and the JSON say the same, and a machine's name cannot change how a terminal shows them.
func TestProbeReadShowsTheMachine(t *testing.T) {
	data, err := os.ReadFile(runProbe(t, "m1"))
	if err != nil {
		t.Fatal(err)
	}
	file := writeFile(t, "results.json", bytes.Replace(data, []byte(`"machine": "anesim"`), []byte(`"machine": "Mac1\u001b[31m`+strings.Repeat("x", 1000)+`"`), 1))
	out, errs, code := invoke("probe", "read", file)
	if code != exitDone || strings.ContainsRune(out, 0x1b) || len(out) > 4000 || !strings.Contains(out, "Mac1") {
		t.Errorf("exit %d: %q %s", code, out, errs)
	}
	out, errs, code = invoke("probe", "read", file, "--json")
	var d probe.Document
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != exitDone || d.Holds != 25 || d.Rules != 25 || len(d.Answers) != 30 {
		t.Errorf("exit %d: %d of %d rules hold, %d answers, %v %s", code, d.Holds, d.Rules, len(d.Answers), err, errs)
	}
}

// A file that has no results of the probe is refused with its name and the place.
func TestProbeReadErrors(t *testing.T) {
	data, err := os.ReadFile(runProbe(t, "m1"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty": {nil, "byte 0"}, "half": {data[:len(data)/2], "byte 26"}, "old": {bytes.Replace(data, []byte(`"probe": "`), []byte(`"probe": "0`), 1), "probe"},
		"digits": {bytes.Replace(data, []byte(`"bits": "`), []byte(`"bits": "0`), 1), ".bits: "},
	} {
		file := writeFile(t, name, c.data)
		out, errs, code := invoke("probe", "read", file)
		if code != exitFailed || out != "" || strings.Count(errs, "\n") != 1 || !strings.HasPrefix(errs, "anesim: "+file+": ") || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit %d: %s%s", name, code, out, errs)
		}
	}
	if _, errs, code := invoke("probe", "read", "no-such-file"); code != exitFailed || strings.Count(errs, "\n") != 1 {
		t.Errorf("exit %d: %s", code, errs)
	}
	if _, errs, code := invoke("probe", "read", runProbe(t, "m1"), "--chip", "m9"); code != exitUsage || strings.Count(errs, "\n") != 1 {
		t.Errorf("exit %d: %s", code, errs)
	}
}

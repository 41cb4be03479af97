package command

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"anesim/internal/probe"
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
	if code != exitFailed || errs != "anesim: "+file+": 2 of 25 rules are not confirmed\n" || !strings.HasPrefix(out, "23 of 25 rules of m1 hold, 2 do not\n") {
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

// Following the advice on --chip makes the rules hold, whatever chip was given: with changes, which may
// be wrong themselves, or from a file, whose name may have commas.
func TestProbeAdviceHolds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chip,of mine.yaml")
	constants, _, _ := invoke("chip", "m1")
	if err := os.WriteFile(file, []byte(constants), 0o666); err != nil {
		t.Fatal(err)
	}
	later := runProbe(t, "m1,OperandInfinity=0,CoarseSums=0")
	for chip, want := range map[string]string{
		"m1":                             "m1,OperandInfinity=0,CoarseSums=0",
		"m1,CoarseSums=0":                "m1,CoarseSums=0,OperandInfinity=0",
		"m1,OperandInfinity=1,Clock=1e9": "m1,Clock=1e9,OperandInfinity=0,CoarseSums=0",
		file:                             file + ",OperandInfinity=0,CoarseSums=0",
		file + ",Clock=1e9,CoarseSums=0": file + ",Clock=1e9,CoarseSums=0,OperandInfinity=0",
	} {
		out, errs, code := invoke("probe", "read", later, "--chip", chip)
		shown := want
		if strings.Contains(want, " ") {
			shown = "'" + want + "'"
		}
		if flat := strings.Join(strings.Fields(out), " "); code != exitFailed || !strings.Contains(flat, "--chip "+shown+" ") {
			t.Errorf("%s: exit %d: %s%s; want the advice --chip %s", chip, code, out, errs, shown)
		}
		if out, errs, code := invoke("probe", "read", later, "--chip", want); code != exitDone {
			t.Errorf("%s: exit %d: %s%s; want all rules to hold", want, code, out, errs)
		}
	}
}

// A layer that Core ML ran elsewhere says nothing about the engine, and the others say as much as ever.
func TestProbeReadOfOtherDevices(t *testing.T) {
	data, err := os.ReadFile(runProbe(t, "m1"))
	if err != nil {
		t.Fatal(err)
	}
	move := func(names ...string) string {
		var r map[string]any
		if err := json.Unmarshal(data, &r); err != nil {
			t.Fatal(err)
		}
		devices := r["devices"].(map[string]any)
		if len(names) == 0 {
			for name := range devices {
				devices[name] = "cpu"
			}
		}
		for _, name := range names {
			devices[name] = "cpu"
		}
		moved, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return writeFile(t, "results.json", moved)
	}
	for _, c := range []struct {
		file             string
		head, what, last string
	}{
		{move("log"), "24 of 25 rules of m1 hold, 1 not on the engine\n", "", "1 of 25 rules is not confirmed"},
		{move("linear"), "23 of 25 rules of m1 hold, 2 not on the engine\n", "Core ML ran the linear layer on the cpu; only other layers say something", "2 of 25 rules are not confirmed"},
		{move(), "0 of 25 rules of m1 hold, 30 not on the engine\n", "no layer ran on the engine", "25 of 25 rules are not confirmed"},
	} {
		out, errs, code := invoke("probe", "read", c.file)
		flat := strings.Join(strings.Fields(out), " ")
		if code != exitFailed || !strings.HasPrefix(out, c.head) || !strings.Contains(flat, c.what) || errs != "anesim: "+c.file+": "+c.last+"\n" {
			t.Errorf("exit %d: %s%s; want %q, %q, %q", code, out, errs, c.head, c.what, c.last)
		}
		if c.what == "" && strings.Contains(flat, "linear layer on") {
			t.Errorf("%s\nsays that the linear layer ran elsewhere; want that of log alone", out)
		}
	}
}

// Files that are not the probe's are not overwritten, and then nothing is written.
func TestProbeWriteKeepsOtherFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "README.txt")
	if err := os.WriteFile(path, []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	out, errs, code := invoke("probe", "write", dir)
	if want := "anesim: " + path + ": exists and is not the probe's; choose another directory, or remove it\n"; code != exitFailed || out != "" || errs != want {
		t.Errorf("exit %d: %s%s; want %s", code, out, errs, want)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("%v %v; want README.txt alone", list, err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "mine" {
		t.Errorf("%s is %q, %v; want it unchanged", path, data, err)
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

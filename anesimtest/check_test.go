package anesimtest_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"anesim"
	"anesim/anesimtest"
	"anesim/internal/check"
	"anesim/internal/report"
)

// A recorder is a TB that records failures and continues.
type recorder struct {
	ctx    context.Context
	failed []string
}

func (r *recorder) Helper()                  {}
func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) Errorf(format string, args ...any) {
	r.failed = append(r.failed, fmt.Sprintf(format, args...))
}
func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...) }

// newEntry runs m and returns its entry in a baseline.
func newEntry(t *testing.T, m *anesim.Model) check.Entry {
	t.Helper()
	res, err := m.Run(t.Context(), anesim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := check.NewEntry(res, m.Name())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// writeBaseline writes a baseline with the entry e to file.
func writeBaseline(t *testing.T, file string, e check.Entry) {
	t.Helper()
	var b bytes.Buffer
	base := check.Baseline{Header: report.NewHeader(), Entries: []check.Entry{e}}
	if err := base.Write(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestCheck(t *testing.T) {
	m, err := anesim.Layer("matmul", "m=16", "k=64", "n=64")
	if err != nil {
		t.Fatal(err)
	}
	e := newEntry(t, m)
	file := filepath.Join(t.TempDir(), "cost.json")
	r := &recorder{ctx: t.Context()}
	if anesimtest.Check(r, file, 0, m); len(r.failed) != 1 || !strings.Contains(r.failed[0], "-anesim.update") {
		t.Errorf("without a baseline: %q", r.failed)
	}
	writeBaseline(t, file, e)
	anesimtest.Check(t, file, 0, m)
	e.Total.Cycles *= 2
	writeBaseline(t, file, e)
	r = &recorder{ctx: t.Context()}
	if anesimtest.Check(r, file, 0.02, m); len(r.failed) != 2 || !strings.Contains(r.failed[1], "cycles: want") {
		t.Errorf("half the cycles: %q", r.failed)
	}
}

// An update keeps what other tests have in the same file. Values without checksums in the baseline
// fail.
func TestCheckUpdates(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cost.json")
	var models []*anesim.Model
	for _, keys := range [][]string{{"c=4"}, {"c=8"}} {
		m, err := anesim.Layer("relu", keys...)
		if err != nil {
			t.Fatal(err)
		}
		models = append(models, m)
	}
	if err := flag.Set("anesim.update", "true"); err != nil {
		t.Fatal(err)
	}
	for _, m := range models {
		anesimtest.Check(t, file, 0, m)
	}
	if err := flag.Set("anesim.update", "false"); err != nil {
		t.Fatal(err)
	}
	anesimtest.Check(t, file, 0, models...)
	r := &recorder{ctx: t.Context()}
	anesimtest.CheckOptions(r, file, 0, anesim.Options{Values: true}, models[0])
	if len(r.failed) != 1 || !strings.Contains(r.failed[0], "no checksums in the baseline") {
		t.Errorf("values: %q", r.failed)
	}
}

// Processes that update the same file at the same time, such as tests of several packages, lose no
// entry. Each process runs this test with its own layer in the environment.
func TestUpdatesOfProcesses(t *testing.T) {
	const layer, baseline = "ANESIMTEST_LAYER", "ANESIMTEST_BASELINE"
	if keys := os.Getenv(layer); keys != "" {
		m, err := anesim.Layer("relu", keys)
		if err != nil {
			t.Fatal(err)
		}
		anesimtest.Check(t, os.Getenv(baseline), 0, m)
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Skipf("no program to start: %v", err)
	}
	file := filepath.Join(t.TempDir(), "cost.json")
	var models []*anesim.Model
	var started []*exec.Cmd
	for n := 1; n <= 12; n++ {
		keys := fmt.Sprintf("c=%d", n)
		m, err := anesim.Layer("relu", keys)
		if err != nil {
			t.Fatal(err)
		}
		models = append(models, m)
		c := exec.Command(self, "-test.run=^TestUpdatesOfProcesses$", "-anesim.update")
		c.Env = append(os.Environ(), layer+"="+keys, baseline+"="+file)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		started = append(started, c)
	}
	for _, c := range started {
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
	anesimtest.Check(t, file, 0, models...)
	if list, err := os.ReadDir(filepath.Dir(file)); err != nil || len(list) != 1 {
		t.Errorf("%v, %v: want the baseline alone", list, err)
	}
}

// A network with a layer that has no cost fails, unless the baseline lists that layer.
func TestCheckIncomplete(t *testing.T) {
	dir := t.TempDir()
	net, file := filepath.Join(dir, "net.yaml"), filepath.Join(dir, "cost.json")
	if err := os.WriteFile(net, []byte("inputs: {x: {c: 4}, y: {w: 20000}}\nlayers:\n- {op: relu, from: x}\n- {op: pool, k: 1, from: y, name: wide}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := anesim.Open(net)
	if err != nil {
		t.Fatal(err)
	}
	e := newEntry(t, m)
	for _, listed := range []bool{true, false} {
		if !listed {
			e.NotModelled = nil
		}
		writeBaseline(t, file, e)
		r := &recorder{ctx: t.Context()}
		anesimtest.Check(r, file, 1, m)
		if failed := strings.Contains(strings.Join(r.failed, "\n"), "INCOMPLETE: 1 layer without a cost"); failed == listed {
			t.Errorf("listed %v: %q", listed, r.failed)
		}
	}
}

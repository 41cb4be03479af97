package command

import (
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/x448/float16"

	"anesim/loader"
	"anesim/loader/lower"
	"anesim/tools/anesim/internal/npy"
)

// invoke runs the command line and returns its output and exit status.
func invoke(args ...string) (stdout, stderr string, code int) {
	var out, errs strings.Builder
	code = Main(args, &out, &errs)
	return out.String(), errs.String(), code
}

// example writes an example program to a file and returns the name of the file.
func example(t *testing.T, name string) string {
	t.Helper()
	b, err := lower.Example(name)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), name+".hwx")
	if err := os.WriteFile(file, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func writeNPY(t *testing.T, shape []int, data []float16.Float16) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "in.npy")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := npy.Write(f, shape, data); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

func ramp(n int) []float16.Float16 {
	data := make([]float16.Float16, n)
	for i := range data {
		data[i] = float16.Fromfloat32(float32(i) - 8)
	}
	return data
}

// The names of the JSON are a contract: every one of them must be there.
func TestRunJSONNames(t *testing.T) {
	out, errs, code := invoke("run", "--json", "--constants")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var r map[string]any
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	has := func(where string, m any, names string) map[string]any {
		t.Helper()
		got, ok := m.(map[string]any)
		if !ok {
			t.Fatalf("%s is %T", where, m)
		}
		for _, n := range strings.Fields(names) {
			if _, ok := got[n]; !ok {
				t.Errorf("%s has no %q", where, n)
			}
		}
		return got
	}
	has("report", r, "schema program form chip host descriptors total outputs faults constants")
	descriptors := r["descriptors"].([]any)
	if len(descriptors) != 2 {
		t.Fatalf("%d descriptors, want 2", len(descriptors))
	}
	d := has("descriptor", descriptors[1], "index offset op shape engines tiles cycles units dma_bytes exe_cycles macs bound time_ns energy_nj counters")
	has("shape", d["shape"], "win hin cin wout hout cout kw kh groups")
	has("units", d["units"], "work_units mac_cycles_per_wu post_cycles_per_wu ne_single ne_double planar l2_broadcast l2_writeback kernel_bytes")
	has("dma_bytes", d["dma_bytes"], "source1 source2 kernel destination total")
	has("exe_cycles", d["exe_cycles"], "stored model")
	if n := len(d["counters"].(map[string]any)); n != 24 {
		t.Errorf("%d counters, want 24", n)
	}
	cycles := has("cycles", d["cycles"], "total compute input_stall output_stall kernel_stall throttle l2_read_stall l2_write_stall overhead idle")
	sum := 0.0
	for name, v := range cycles {
		if name != "total" {
			sum += v.(float64)
		}
	}
	if sum != cycles["total"] {
		t.Errorf("causes sum to %v, total is %v", sum, cycles["total"])
	}
	has("total", r["total"], "cycles time_ns wall_ns energy_nj macs dma_bytes")
	o := has("output", r["outputs"].([]any)[0], "name shape crc32")
	if o["name"] != "t2" {
		t.Errorf("output is %v, want t2", o["name"])
	}
}

func TestRunIsReproducible(t *testing.T) {
	a, _, _ := invoke("run", "--json")
	b, _, _ := invoke("run", "--json")
	if a != b {
		t.Error("two runs print different reports")
	}
	c, _, _ := invoke("run", "--json", "--seed", "2")
	if a == c {
		t.Error("the seed changes nothing")
	}
}

func TestRunCSV(t *testing.T) {
	out, _, code := invoke("run", example(t, "concat"), "--csv")
	if code != exitDone {
		t.Fatal(code)
	}
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 3 || rows[1][2] != "copy" {
		t.Errorf("rows %v", rows)
	}
}

// Inputs from .npy and .f16 arrive, outputs leave as .npy, and flags may stand anywhere.
func TestRunFilesInAndOut(t *testing.T) {
	p, err := lower.ExampleProgram("relu")
	if err != nil {
		t.Fatal(err)
	}
	in := p.Ports[0]
	n := in.Shape[0] * in.Shape[1] * in.Shape[2] * in.Shape[3]
	data := ramp(n)
	var want []float16.Float16
	raw := make([]byte, 0, 2*n)
	for _, h := range data {
		raw = binary.LittleEndian.AppendUint16(raw, uint16(h))
		want = append(want, float16.Fromfloat32(max(0, h.Float32())))
	}
	f16 := filepath.Join(t.TempDir(), "in.f16")
	if err := os.WriteFile(f16, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{writeNPY(t, in.Shape[:], data), f16} {
		dir := filepath.Join(t.TempDir(), "results")
		_, errs, code := invoke("run", "--in", in.Name+"="+file, example(t, "relu"), "--out", dir)
		if code != exitDone {
			t.Fatalf("exit %d: %s", code, errs)
		}
		out, ok := p.Port(p.Ports[1].Name, loader.Output)
		if !ok {
			t.Fatal("no output port")
		}
		f, err := os.Open(filepath.Join(dir, out.Name+".npy"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		st, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		got, err := npy.Read(f, st.Size())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got.Data); d != "" {
			t.Errorf("%s (-want +got):\n%s", file, d)
		}
		if d := cmp.Diff(out.Shape[:], got.Shape); d != "" {
			t.Errorf("%s: shape %v", file, got.Shape)
		}
	}
}

func TestRunTimingOnlyKeepsTheCycles(t *testing.T) {
	with, _, _ := invoke("run", "--csv")
	without, _, _ := invoke("run", "--csv", "--timing-only")
	if strings.ReplaceAll(with, ",true,", ",false,") != without {
		t.Errorf("cycles differ with values on:\n%s\nand off:\n%s", with, without)
	}
}

func TestRunWhatIfs(t *testing.T) {
	add := example(t, "add")
	plain, _, _ := invoke("run", add)
	mul, _, code := invoke("run", add, "--set", "PE.Cfg.OpMode=1")
	if code != exitDone || plain == mul {
		t.Errorf("exit %d; --set changes nothing", code)
	}
	_, errs, code := invoke("run", "--gate-tiles", "0-31")
	if code != exitFailed || !strings.Contains(errs, "descriptor 0") || strings.Count(errs, "\n") != 1 {
		t.Errorf("all tiles gated: exit %d, %q", code, errs)
	}
	slow, _, code := invoke("run", example(t, "conv"), "--gate-tiles", "1-31", "--csv")
	if code != exitDone || !strings.Contains(slow, "conv") {
		t.Errorf("one tile open: exit %d", code)
	}
}

func TestExitStatuses(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.hwx")
	if err := os.WriteFile(bad, []byte("\xce\xfa\xef\xbe"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{}, exitUsage, "command"},
		{[]string{"frobnicate"}, exitUsage, "frobnicate"},
		{[]string{"run", "--no-such-flag"}, exitUsage, "no-such-flag"},
		{[]string{"run", "a", "b", "--out", "d"}, exitUsage, "single FILE"},
		{[]string{"model", "a", "b"}, exitUsage, "found 2 files"},
		{[]string{"run", "--chip", "m9"}, exitUsage, "m1max"},
		{[]string{"run", "--json", "--csv"}, exitUsage, "mutually exclusive"},
		{[]string{"run", "--repeat", "0"}, exitUsage, "repeat"},
		{[]string{"run", "--gate-tiles", "40"}, exitUsage, "40"},
		{[]string{"run", "--set", "PE.Cfg.Nothing=1"}, exitUsage, "Nothing"},
		{[]string{"run", "--in", "t0"}, exitUsage, "NAME=FILE"},
		{[]string{"run", "--timing-only", "--out", "d"}, exitUsage, "--out"},
		{[]string{"run", bad}, exitFailed, "bad.hwx"},
		{[]string{"run", filepath.Join(t.TempDir(), "missing.hwx")}, exitFailed, "missing.hwx"},
		{[]string{"run", "--in", "nobody=" + writeNPY(t, []int{1}, ramp(1))}, exitFailed, "nobody"},
		{[]string{"run", "--in", "t0=" + writeNPY(t, []int{3}, ramp(3))}, exitFailed, "3 elements"},
		{[]string{"run", "-h"}, exitDone, ""},
		{[]string{"-h"}, exitDone, ""},
	} {
		_, errs, code := invoke(tc.args...)
		if code != tc.code || !strings.Contains(errs, tc.says) {
			t.Errorf("anesim %q: exit %d, want %d; stderr %q, want it to say %q", tc.args, code, tc.code, errs, tc.says)
		}
		if n := strings.Count(errs, "\n"); code != exitDone && n != 1 {
			t.Errorf("anesim %q: %d lines on standard error:\n%s", tc.args, n, errs)
		}
	}
}

func TestConstantsCarryEvidence(t *testing.T) {
	out, _, code := invoke("run", "--constants")
	if code != exitDone {
		t.Fatal(code)
	}
	_, list, ok := strings.Cut(out, "constants of m1\n")
	if !ok {
		t.Fatal("no constants printed")
	}
	for line := range strings.Lines(list) {
		if f := strings.Fields(line); len(f) < 5 {
			t.Errorf("constant without unit, evidence or source: %q", line)
		}
	}
}

package command

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"anesim/internal/report"
)

// The profile's cycles are those of the report beside it, and the trace is a list of
// packets.
func TestProfileFlags(t *testing.T) {
	dir := t.TempDir()
	for _, line := range [][]string{
		{"model", filepath.Join("..", "..", "examples", "transformer.yaml")},
		{"layer", "conv", "cin=16", "cout=16", "h=8", "w=8", "k=3", "pad=1"},
		{"run", example(t, "identity")},
	} {
		pb, trace := filepath.Join(dir, line[0]+".pb.gz"), filepath.Join(dir, line[0]+".perfetto-trace")
		out, stderr, code := invoke(append(line, "--json", "--pprof", pb, "--trace", trace)...)
		if code != exitDone {
			t.Fatalf("%q: exit %d: %s", line, code, stderr)
		}
		var d struct{ Total report.Total }
		if err := json.Unmarshal([]byte(out), &d); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(pb)
		if err != nil {
			t.Fatal(err)
		}
		p, err := profile.Parse(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		sum := int64(0)
		for _, s := range p.Sample {
			sum += s.Value[0]
		}
		if sum == 0 || sum != int64(d.Total.Cycles) {
			t.Errorf("%q: %d cycles in the profile, %d in the report", line, sum, d.Total.Cycles)
		}
		// Field 1 of a Trace, as bytes.
		if b, err := os.ReadFile(trace); err != nil || len(b) == 0 || b[0] != 0x0a {
			t.Errorf("%q: trace of %d bytes: %v", line, len(b), err)
		}
	}
}

// The profile of a sweep has a stack for each point that can run, and its cycles are those of
// the rows; a load's has the engine's time.
func TestProfilesOfSweepAndLoad(t *testing.T) {
	dir := t.TempDir()
	cycles := func(pb string) (sum int64, points map[string]bool) {
		f, err := os.Open(pb)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		p, err := profile.Parse(f)
		if err != nil {
			t.Fatal(err)
		}
		points = map[string]bool{}
		for _, s := range p.Sample {
			sum += s.Value[0]
			points[s.Location[len(s.Location)-2].Line[0].Function.Name] = true
		}
		return sum, points
	}
	pb, trace := filepath.Join(dir, "sweep.pb.gz"), filepath.Join(dir, "sweep.perfetto-trace")
	out, stderr, code := invoke("sweep", "conv", "cin=16,32", "cout=16", "h=8", "w=8", "k=3", "chip.Clock=1e9,2e9", "--pprof", pb, "--trace", trace)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := int64(0)
	at := slices.Index(rows[0], "cycles")
	for _, row := range rows[1:] {
		n, err := strconv.ParseInt(row[at], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		want += n
	}
	if got, points := cycles(pb); got != want || want == 0 || len(points) != 4 || !points["point 3: cin=32 chip.Clock=2e+09"] {
		t.Errorf("%d cycles of %v, the rows have %d", got, points, want)
	}
	if b, err := os.ReadFile(trace); err != nil || !bytes.Contains(b, []byte("point 3: cin=32 chip.Clock=2e+09")) {
		t.Errorf("the trace has no last point: %v", err)
	}
	pb = filepath.Join(dir, "load.pb.gz")
	script := filepath.Join("..", "..", "examples", "load.yaml")
	if _, stderr, code := invoke("load", script, "--pprof", pb, "--trace", trace); code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if got, clients := cycles(pb); got == 0 || !clients["camera"] {
		t.Errorf("%d cycles of %v", got, clients)
	}
	if _, stderr, code := invoke("sweep", "conv", "cin=16..32768+16", "cout=16", "--pprof", pb); code != exitUsage || !strings.Contains(stderr, "found 2048 points; want at most 1000") {
		t.Errorf("2048 points: exit %d: %s", code, stderr)
	}
}

// A profile never goes over what the command reads, and one file has no room for two.
func TestProfileFlagsRefuse(t *testing.T) {
	net := writeFile(t, "net.yaml", []byte("inputs: {x: {c: 4}}\nlayers:\n- {op: relu}\n"))
	for _, c := range []struct {
		want string
		code int
		line []string
	}{
		{"choose another name", exitUsage, []string{"model", net, "--pprof", net}},
		{"choose another name", exitUsage, []string{"model", net, "--trace", net}},
		{"both write x", exitUsage, []string{"model", net, "--trace", "x", "--pprof", "x"}},
		{"single FILE", exitUsage, []string{"run", example(t, "identity"), example(t, "add"), "--pprof", "x"}},
	} {
		_, stderr, code := invoke(c.line...)
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: exit %d: %s", c.line, code, stderr)
		}
	}
	if b, err := os.ReadFile(net); err != nil || !strings.HasPrefix(string(b), "inputs") {
		t.Errorf("the network was overwritten: %q, %v", b, err)
	}
}

package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"anesim"
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
		var d struct{ Total anesim.TotalDocument }
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

// A profile never goes over what the command reads, and one file has no room for two.
func TestProfileFlagsRefuse(t *testing.T) {
	net := writeFile(t, "net.yaml", []byte("inputs: {x: {c: 4}}\nlayers:\n- {op: relu}\n"))
	for _, c := range []struct {
		want string
		code int
		line []string
	}{
		{"choose another output", exitFailed, []string{"model", net, "--pprof", net}},
		{"choose another output", exitFailed, []string{"model", net, "--trace", net}},
		{"a file each", exitUsage, []string{"model", net, "--trace", "x", "--pprof", "x"}},
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

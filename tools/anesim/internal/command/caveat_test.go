package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Values that rest on an inferred order of weights say so; those of proved forms do not.
func TestCaveats(t *testing.T) {
	file := filepath.Join(t.TempDir(), "net.yaml")
	for _, tc := range []struct {
		name string
		args []string
		want bool
	}{
		{"3x3 stride 2", strings.Fields("layer conv cin=16 cout=16 h=8 w=8 k=3 stride=2 pad=1"), true},
		{"as JSON", strings.Fields("layer conv cin=16 cout=16 h=8 w=8 k=3 stride=2 pad=1 --json"), true},
		{"1x1 stride 2", strings.Fields("layer conv cin=16 cout=16 h=8 w=8 k=1 stride=2"), false},
		{"3x3 stride 1", strings.Fields("layer conv cin=16 cout=16 h=8 w=8 k=3 pad=1"), false},
		{"no values", strings.Fields("layer conv cin=16 cout=16 h=8 w=8 k=3 stride=2 pad=1 --timing-only"), false},
		{"a network", []string{"model", file, "--values"}, true},
		{"a network as JSON", []string{"model", file, "--values", "--json"}, true},
	} {
		if err := os.WriteFile(file, []byte("inputs: {x: {c: 16, h: 8, w: 8}}\nlayers:\n- {op: conv, cout: 16, k: 3, stride: 2, pad: 1}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		out, errs, code := invoke(tc.args...)
		if code != exitDone {
			t.Fatalf("%s: %s", tc.name, errs)
		}
		if got := strings.Contains(out, "caveat"); got != tc.want {
			t.Errorf("%s: caveat %v, want %v:\n%s", tc.name, got, tc.want, out)
		}
	}
}

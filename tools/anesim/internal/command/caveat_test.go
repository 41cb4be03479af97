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

// A caveat of several layers is printed once, with their names.
func TestCaveatsAreGrouped(t *testing.T) {
	text := "inputs: {x: {c: 16, h: 16, w: 16}}\nlayers:\n" + strings.Repeat("- {op: conv, cout: 16, k: 3, stride: 2, pad: 1}\n", 4)
	out, errs, code := invoke("model", writeFile(t, "net.yaml", []byte(text)), "--values")
	if code != exitDone {
		t.Fatal(errs)
	}
	if n := strings.Count(out, "\ncaveat "); n != 1 || !strings.Contains(out, "\ncaveat  4 layers (conv0, conv1, conv2 and 1 more): ") {
		t.Errorf("%d caveats:\n%s", n, out)
	}
}

package randomprogram

import (
	"slices"
	"strings"
	"testing"

	"anesim/internal/network/onnx"
)

// TestNew checks that a seed always gives the same program, and that its values have the declared
// shapes.
func TestNew(t *testing.T) {
	for seed := range uint64(200) {
		p := New(seed, 8)
		if a, b := p.Text(), New(seed, 8).Text(); a != b {
			t.Fatalf("seed %d gives two programs:\n%s\n%s", seed, a, b)
		}
		for name, v := range p.Run(nil) {
			if len(v.Data) != onnx.Elements(v.Dims) {
				t.Errorf("seed %d: %s has %d elements for shape %v", seed, name, len(v.Data), v.Dims)
			}
		}
	}
}

// TestMinimize checks that a program shrinks to the first operation that fails and to what it needs.
func TestMinimize(t *testing.T) {
	for seed := range uint64(200) {
		p := New(seed, 8)
		has := func(p *Program) bool { return slices.Contains(p.Operations(), "transpose") }
		if !has(p) {
			continue
		}
		small := p.Minimize(has)
		if n := len(small.Outputs); n != 1 {
			t.Fatalf("seed %d: %d outputs, want 1", seed, n)
		}
		if n := strings.Count(small.Text(), "= transpose("); n != 1 {
			t.Errorf("seed %d: %d transposes, want 1:\n%s", seed, n, small.Text())
		}
	}
}

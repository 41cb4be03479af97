package agreement

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"anesim/bench/internal/onnxgraph"
	"anesim/bench/randomgraph"
)

var invariants = flag.Int("invariants", 50, "random graphs whose other forms are compared")

// TestInvariants runs random graphs in several equivalent forms. With every tensor in memory,
// with the nodes in another order, under other names and in functions, the bits are equal. With all tensors
// between nodes as outputs, so that nothing is merged, and in a batch of two, which has other
// tasks for norms and scales, the values agree within the tolerance.
func TestInvariants(t *testing.T) {
	counts := map[string]int{}
	for i := range uint64(*invariants) {
		g := randomgraph.New(*seed+i, randomgraph.Options{MaxNodes: *nodes})
		if findGap(g) != "" {
			continue
		}
		for _, form := range forms {
			what, ok := form.compare(g, rand.New(rand.NewPCG(*seed+i, 5)))
			if ok {
				counts[form.name]++
			}
			if what == "" {
				continue
			}
			small := g.Minimize(func(g *onnxgraph.Graph) bool {
				what, _ := form.compare(g, rand.New(rand.NewPCG(*seed+i, 5)))
				return what != ""
			})
			what, _ = form.compare(small, rand.New(rand.NewPCG(*seed+i, 5)))
			t.Errorf("seed %d, %s: %s\n%s", *seed+i, form.name, what, small)
		}
	}
	for _, form := range forms {
		if counts[form.name] == 0 {
			t.Errorf("%s: no graph was compared", form.name)
		}
	}
	t.Logf("graphs compared: %v", counts)
}

// forms are other ways to write a graph. The function compare returns what differs, and whether
// the graph has the form.
var forms = []struct {
	name    string
	compare func(g *onnxgraph.Graph, rng *rand.Rand) (what string, ok bool)
}{
	{"in memory", func(g *onnxgraph.Graph, _ *rand.Rand) (string, bool) {
		return diffBits(runForm(g, false), runForm(g, true)), true
	}},
	{"other order", func(g *onnxgraph.Graph, rng *rand.Rand) (string, bool) {
		return diffBits(runForm(g, false), runForm(g.Permute(rng), false)), true
	}},
	{"other names", func(g *onnxgraph.Graph, rng *rand.Rand) (string, bool) {
		return diffBits(runForm(g, false), runForm(g.Rename(rng), false)), true
	}},
	{"in functions", func(g *onnxgraph.Graph, rng *rand.Rand) (string, bool) {
		results, err := Run(g.EncodeInFunctions(rng), graphInputs(g), false)
		return diffBits(runForm(g, false), outcome{results, err}), true
	}},
	{"nothing fused", func(g *onnxgraph.Graph, _ *rand.Rand) (string, bool) {
		all := g
		for _, name := range g.Inner() {
			all = all.AddOutput(name)
		}
		return diffBeyondTolerance(g, runForm(g, false), runForm(all, false)), true
	}},
	{"batch of two", func(g *onnxgraph.Graph, rng *rand.Rand) (string, bool) {
		two, second, ok := g.Rebatch(rng)
		if !ok {
			return "", false
		}
		return diffBeyondTolerance(two, runForm(two, false), joinBatch(runForm(g, false), runForm(second, false))), true
	}},
}

// An outcome is the results of a graph, or the reason why there are none.
type outcome struct {
	results map[string]*Result
	err     error
}

func runForm(g *onnxgraph.Graph, inMemory bool) outcome {
	results, err := Run(g.Encode(), graphInputs(g), inMemory)
	return outcome{results, err}
}

// diffBits returns the name of the first output that differs in a bit between a and b, or "" if
// there is none.
func diffBits(a, b outcome) string {
	if fmt.Sprint(a.err) != fmt.Sprint(b.err) {
		return fmt.Sprintf("%v, and in the other form %v", a.err, b.err)
	}
	for name, x := range a.results {
		y := b.results[name]
		if (x.Data == nil) != (y.Data == nil) {
			return fmt.Sprintf("%s is computed in one form only", name)
		}
		if !slices.EqualFunc(x.Data, y.Data, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b }) {
			return fmt.Sprintf("%s: %v, and in the other form %v", name, firstValues(x.Data), firstValues(y.Data))
		}
	}
	return ""
}

func firstValues(v []float64) []float64 { return v[:min(8, len(v))] }

// diffBeyondTolerance returns the name of the first output that differs between a and b by more
// than its tolerance, or "" if there is none.
func diffBeyondTolerance(g *onnxgraph.Graph, a, b outcome) string {
	if a.err != nil || b.err != nil {
		return diffBits(a, b)
	}
	n, err := Read(g.Encode(), graphInputs(g))
	if err != nil {
		return ""
	}
	for name, x := range a.results {
		y := b.results[name]
		if y == nil || x.Data == nil || y.Data == nil {
			if y == nil || (x.Data == nil) != (y.Data == nil) {
				return fmt.Sprintf("%s is computed in one form only", name)
			}
			continue
		}
		if len(x.Data) != len(y.Data) {
			return fmt.Sprintf("%s has %d elements, and in the other form %d", name, len(x.Data), len(y.Data))
		}
		tolerance := n.outputTolerance(name)
		for i := range x.Data {
			p, q := x.Data[i], y.Data[i]
			if p != q && !(math.Abs(p-q) <= tolerance) && !math.IsInf(p, 0) && !math.IsInf(q, 0) && p == p && q == q {
				return fmt.Sprintf("%s: element %d is %g, and in the other form %g; tolerance %g", name, i, p, q, tolerance)
			}
		}
	}
	return ""
}

// joinBatch returns the outputs of two graphs, joined like the outputs of a batch of two items.
func joinBatch(first, second outcome) outcome {
	if first.err != nil || second.err != nil {
		return outcome{err: cmp.Or(first.err, second.err)}
	}
	both := outcome{results: map[string]*Result{}}
	for name, x := range first.results {
		y := second.results[name]
		both.results[name] = &Result{}
		if x.Data != nil && y.Data != nil {
			both.results[name].Data = slices.Concat(x.Data, y.Data)
		}
	}
	return both
}

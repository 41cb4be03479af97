package agreement

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"anesim/bench/randomgraph"
)

var invariants = flag.Int("invariants", 50, "random graphs whose other forms are compared")

// TestInvariants runs random graphs in forms that mean the same: with every tensor in memory,
// with the nodes in another order, and under other names, which give the same bits. With all
// tensors between nodes as outputs, which leaves nothing to fuse, and in a batch of two, whose
// norms and scales are other tasks, values are as near as they have to be to the definition.
func TestInvariants(t *testing.T) {
	counts := map[string]int{}
	for i := range uint64(*invariants) {
		g := randomgraph.New(*seed+i, randomgraph.Options{MaxNodes: *nodes})
		for _, form := range forms {
			what, ok := form.compare(g, rand.New(rand.NewPCG(*seed+i, 5)))
			if ok {
				counts[form.name]++
			}
			if what == "" {
				continue
			}
			small := g.Minimize(func(g *randomgraph.Graph) bool {
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

// A form is another way to write a graph. Its compare reports what differs, and whether the
// graph has the form.
var forms = []struct {
	name    string
	compare func(g *randomgraph.Graph, rng *rand.Rand) (what string, ok bool)
}{
	{"in memory", func(g *randomgraph.Graph, _ *rand.Rand) (string, bool) {
		return sameBits(run(g, false), run(g, true)), true
	}},
	{"other order", func(g *randomgraph.Graph, rng *rand.Rand) (string, bool) {
		return sameBits(run(g, false), run(g.Permute(rng), false)), true
	}},
	{"other names", func(g *randomgraph.Graph, rng *rand.Rand) (string, bool) {
		return sameBits(run(g, false), run(g.Rename(rng), false)), true
	}},
	{"nothing fused", func(g *randomgraph.Graph, _ *rand.Rand) (string, bool) {
		all := g
		for _, name := range g.Inner() {
			all = all.AddOutput(name)
		}
		return near(g, run(g, false), run(all, false)), true
	}},
	{"batch of two", func(g *randomgraph.Graph, rng *rand.Rand) (string, bool) {
		two, second, ok := g.Rebatch(rng)
		if !ok {
			return "", false
		}
		return near(two, run(two, false), joined(run(g, false), run(second, false))), true
	}},
}

// An outcome is the results of a graph, or why there are none.
type outcome struct {
	results map[string]*Result
	err     error
}

func run(g *randomgraph.Graph, inMemory bool) outcome {
	results, err := Run(g.Encode(), inputsOf(g), inMemory)
	return outcome{results, err}
}

// sameBits says which output differs in a bit, and "" if none does.
func sameBits(a, b outcome) string {
	if fmt.Sprint(a.err) != fmt.Sprint(b.err) {
		return fmt.Sprintf("%v, and in the other form %v", a.err, b.err)
	}
	for name, x := range a.results {
		y := b.results[name]
		if (x.Data == nil) != (y.Data == nil) {
			return fmt.Sprintf("%s is computed in one form only", name)
		}
		if !slices.EqualFunc(x.Data, y.Data, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b }) {
			return fmt.Sprintf("%s: %v, and in the other form %v", name, head(x.Data), head(y.Data))
		}
	}
	return ""
}

func head(v []float64) []float64 { return v[:min(8, len(v))] }

// near says which output of a graph differs by more than its tolerance.
func near(g *randomgraph.Graph, a, b outcome) string {
	if a.err != nil || b.err != nil {
		return sameBits(a, b)
	}
	n, err := Read(g.Encode(), inputsOf(g))
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
		tolerance := n.tolerance(name)
		for i := range x.Data {
			p, q := x.Data[i], y.Data[i]
			if p != q && !(math.Abs(p-q) <= tolerance) && !math.IsInf(p, 0) && !math.IsInf(q, 0) && p == p && q == q {
				return fmt.Sprintf("%s: element %d is %g, and in the other form %g; tolerance %g", name, i, p, q, tolerance)
			}
		}
	}
	return ""
}

// joined returns the outputs of two graphs one after the other, as those of a batch of two are.
func joined(first, second outcome) outcome {
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

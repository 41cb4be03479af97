package agreement

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anesim/bench/internal/onnxgraph"
	"anesim/bench/internal/reference/tensor"
	"anesim/bench/randomgraph"
)

var (
	graphs = flag.Int("graphs", 300, "random graphs to compare")
	seed   = flag.Uint64("seed", 1, "of the first graph")
	found  = flag.String("found", "", "directory for graphs that differ")
	nodes  = flag.Int("nodes", 0, "largest number of choices in a random graph, 0 for the default")
)

// graphInputs returns the inputs of a random graph by name.
func graphInputs(g *onnxgraph.Graph) map[string]*tensor.Tensor {
	in := map[string]*tensor.Tensor{}
	for _, t := range g.Inputs {
		in[t.Name] = &tensor.Tensor{Type: t.Type, Dims: t.Dims, Data: t.Values}
	}
	return in
}

// diffDefinition returns how the engine's results for g differ from those of package reference, or
// "" if they agree.
func diffDefinition(g *onnxgraph.Graph) string {
	file := g.Encode()
	n, err := Read(file, graphInputs(g))
	if err != nil {
		return "" // of a shrunk graph: checkDefinition reports others
	}
	results, err := Run(file, n.Inputs, false)
	if err != nil {
		return "not run: " + err.Error()
	}
	return n.compare(results)
}

// checkDefinition computes g with package reference. It returns the error, or the name of an output
// whose type or shape differs from the generator's declaration, or "" if there is neither.
func checkDefinition(g *onnxgraph.Graph) string {
	n, err := Read(g.Encode(), graphInputs(g))
	if err != nil {
		return err.Error()
	}
	for _, name := range g.Outputs {
		if got, want := n.Exact[name], g.Values[name]; got.Type != want.Type || !slices.Equal(got.Dims, want.Dims) {
			return fmt.Sprintf("output %s is %v %v; the generator declared %v %v", name, got.Type, got.Dims, want.Type, want.Dims)
		}
	}
	return ""
}

// TestRandomGraphs compares random graphs with the definition of their operators.
func TestRandomGraphs(t *testing.T) {
	var seen onnxgraph.Coverage
	failed, skipped := 0, map[string]int{}
	for i := range uint64(*graphs) {
		g := randomgraph.New(*seed+i, randomgraph.Options{MaxNodes: *nodes})
		seen.Add(g)
		if what := checkDefinition(g); what != "" {
			t.Errorf("seed %d: wrong graph: %s\n%s", *seed+i, what, g)
			continue
		}
		if name := findGap(g); name != "" {
			skipped[name]++
			continue
		}
		what := diffDefinition(g)
		if what == "" {
			continue
		}
		failed++
		kind, _, _ := strings.Cut(what, ";")
		small := g.Minimize(func(g *onnxgraph.Graph) bool { return findGap(g) == "" && isSameKind(diffDefinition(g), kind) })
		t.Errorf("seed %d: %s\n%s\nsmallest:\n%s\n%s", *seed+i, what, g, small, diffDefinition(small))
		if *found != "" {
			if err := small.Save(filepath.Join(*found, fmt.Sprint(*seed+i))); err != nil {
				t.Fatal(err)
			}
			os.WriteFile(filepath.Join(*found, fmt.Sprint(*seed+i), "what.txt"), []byte(diffDefinition(small)), 0o666)
		}
	}
	t.Logf("%d differ; %v; skipped for known gaps: %v", failed, &seen, skipped)
	for _, name := range []string{"graphs", "seed", "nodes", "invariants"} {
		if f := flag.Lookup(name); f.Value.String() != f.DefValue {
			return // the pages have what a run without flags compares
		}
	}
	number := fmt.Sprintf("%d,%03d nodes", seen.Nodes/1000, seen.Nodes%1000)
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "values.md"))
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("| %d graphs with %s in total, and %d in six other forms", seen.Graphs, number, *invariants); !strings.Contains(string(text), want) {
		t.Errorf("docs/values.md does not say %q", want)
	}
}

// isSameKind reports whether two differences are both failures to run, both panics, or both wrong
// values.
func isSameKind(a, b string) bool {
	if a == "" {
		return false
	}
	class := func(s string) string {
		switch {
		case strings.Contains(s, "panic"):
			return "panic"
		case strings.Contains(s, "not computed"), strings.Contains(s, "not run"):
			return "refused"
		case strings.Contains(s, "shape "), strings.Contains(s, "type "):
			return "form"
		}
		return "values"
	}
	return class(a) == class(b)
}

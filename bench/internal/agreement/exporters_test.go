package agreement

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anesim/bench/internal/exporters"
	"anesim/bench/internal/onnxgraph"
	"anesim/bench/internal/onnxruntime"
	"anesim/loader/network"
)

var exported = flag.Int("exported", 2*len(exporters.Names()), "graphs in the forms of exporters to compare")

// exporterGraph returns the graph of package exporters for a seed, and its forms. It returns nil and
// reports an error if a form is not valid.
func exporterGraph(t *testing.T, seed uint64) (*onnxgraph.Graph, string) {
	t.Helper()
	g, names, err := exporters.New(seed)
	if err != nil {
		t.Errorf("seed %d: wrong graph: %v", seed, err)
	}
	return g, strings.Join(names, "; ")
}

// TestExporters compares graphs of the forms that exporters write with the definition of their operators.
func TestExporters(t *testing.T) {
	failed := 0
	for i := range uint64(*exported) {
		g, names := exporterGraph(t, *seed+i)
		if g == nil {
			continue
		}
		if what := checkDefinition(g); what != "" {
			t.Errorf("seed %d (%s): wrong graph: %s\n%s", *seed+i, names, what, g)
			continue
		}
		what := diffDefinition(g)
		if what == "" {
			continue
		}
		failed++
		kind, _, _ := strings.Cut(what, ";")
		small := g.Minimize(func(g *onnxgraph.Graph) bool { return isSameKind(diffDefinition(g), kind) })
		t.Errorf("seed %d (%s): %s\n%s\nsmallest:\n%s\n%s", *seed+i, names, what, g, small, diffDefinition(small))
	}
	t.Logf("%d of %d graphs differ", failed, *exported)
}

// TestExportersRuntime compares the graphs of [TestExporters] with onnxruntime if $ORT_DIR has it: both the
// definition and the engine.
func TestExportersRuntime(t *testing.T) {
	if err := onnxruntime.Find(); err != nil {
		t.Skip("it takes Node.js, and a directory in ORT_DIR where npm install onnxruntime-node ran: ", err)
	}
	refused := map[string]int{}
	compared := 0
	const batch = 500 // graphs for one start of node
	for first := 0; first < *exported; first += batch {
		dir := t.TempDir()
		var list []*Network
		var dirs, names []string
		for i := first; i < min(first+batch, *exported); i++ {
			g, forms := exporterGraph(t, *seed+uint64(i))
			if g == nil {
				continue
			}
			n, err := Read(g.Encode(), graphInputs(g))
			if err != nil {
				t.Fatalf("seed %d: %v", *seed+uint64(i), err)
			}
			list, dirs, names = append(list, n), append(dirs, filepath.Join(dir, g.Seed)), append(names, forms)
			if err := g.Save(dirs[len(dirs)-1]); err != nil {
				t.Fatal(err)
			}
		}
		if err := onnxruntime.Run(dirs...); err != nil {
			t.Fatal(err)
		}
		for i, n := range list {
			switch what, err := n.compareRuntime(dirs[i]); {
			case err != nil:
				refused[fmt.Sprintf("%.200v", err)]++
			case what != "":
				t.Errorf("seed %s (%s): %s", filepath.Base(dirs[i]), names[i], what)
				fallthrough
			default:
				compared++
			}
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d of %d graphs were compared with onnxruntime", compared, *exported)
	for _, what := range slices.Sorted(maps.Keys(refused)) {
		t.Logf("%d graphs are refused by onnxruntime: %s", refused[what], what)
	}
	if compared*10 < *exported*9 {
		t.Errorf("onnxruntime runs %d of %d graphs", compared, *exported)
	}
}

// TestSpelledFunctions holds that a function that the engine looks up in one table is one layer however an
// exporter spells it: with casts around any part, quotients for products, and factors in any order.
func TestSpelledFunctions(t *testing.T) {
	names := exporters.Names()
	for _, form := range []string{
		"gelu", "gelu by tanh", "gelu by half of an error function", "swish", "swish by a quotient", "hard swish", "tanh by exponentials", "softmax",
	} {
		at := uint64(slices.Index(names, form+", spelled"))
		graphs := 0
		for seed := at; graphs < 40; seed += uint64(len(names)) {
			g, forms, err := exporters.New(seed)
			if err != nil {
				t.Fatal(err)
			}
			if len(forms) > 1 {
				continue
			}
			graphs++
			n, err := network.ReadONNX(g.Encode(), network.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(n.Layers) != 1 {
				t.Errorf("seed %d: %s is %d layers:\n%s", seed, form, len(n.Layers), g)
			}
		}
	}
}

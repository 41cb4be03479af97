package lint_test

import (
	"bytes"
	"context"
	"flag"
	"testing"

	"anesim"
	"anesim/bench/randomgraph"
	"anesim/internal/lint"
)

var (
	graphs = flag.Int("graphs", 300, "number of random graphs")
	seed   = flag.Uint64("seed", 49_2811, "seed of the first random graph")
)

// Programs that we compile from random graphs have no finding but results that nothing reads, which
// cost time and are not wrong: tensors that share a place in L2 or in scratch memory do so one after
// the other, and no run ends while L2 holds data that is needed. This checks the lowering without any value,
// by other code than that which chose the places.
func TestRandomGraphs(t *testing.T) {
	descriptors, unread := 0, 0
	for i := range uint64(*graphs) {
		g := randomgraph.New(*seed+i, randomgraph.Options{})
		data := g.Encode()
		m, err := anesim.Read("graph.onnx", bytes.NewReader(data), int64(len(data)))
		if err != nil {
			continue // refused with its reason, which other tests look at
		}
		list, err := m.Programs(context.Background(), anesim.Options{})
		if err != nil {
			continue // nothing to compile
		}
		for k, p := range list {
			r, err := lint.Program(p)
			if err != nil {
				t.Errorf("seed %d, program %d: %v", *seed+i, k, err)
				continue
			}
			descriptors += r.Descriptors
			for _, f := range r.Findings {
				if f.Rule == lint.Unread {
					unread++
					continue
				}
				t.Errorf("seed %d, program %d: %v\n%s", *seed+i, k, &f, g)
			}
		}
	}
	t.Logf("%d descriptors, %d results that nothing reads", descriptors, unread)
	if descriptors < 10**graphs {
		t.Errorf("%d descriptors of %d graphs", descriptors, *graphs)
	}
}

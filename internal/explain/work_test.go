package explain_test

import (
	"context"
	"strings"
	"testing"

	"anesim"
	"anesim/internal/explain"
	"anesim/loader/network"
)

// TestWork holds that changes are tried until so many descriptors were timed, that those left are
// counted, and that the counts add up to what is tried with more work.
func TestWork(t *testing.T) {
	n, err := network.ReadYAML([]byte("inputs:\n  x: {c: 32, h: 14, w: 14}\nlayers:\n  - {op: conv, cout: 64, k: 3, pad: same}\n  - {op: conv, cout: 64}\n  - {op: softmax}\n"))
	if err != nil {
		t.Fatal(err)
	}
	m := anesim.FromNetwork(n)
	tried := func(work int) *explain.Explanation {
		t.Helper()
		x, err := explain.Explain(context.Background(), m, anesim.Options{}, explain.Options{File: "net.yaml", Work: work})
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	whole := tried(0)
	if whole.Tried.Left != 0 || whole.Tried.Work != 0 || len(whole.Machines) == 0 {
		t.Fatalf("%+v, %d machines", whole.Tried, len(whole.Machines))
	}
	last := 0
	for _, work := range []int{1, 20, 40} {
		x := tried(work)
		n := &x.Tried
		if n.Left == 0 || n.Work > work+20 || n.All != n.Faster+n.NotFaster+n.OtherResults+n.Failed || n.All < last || n.All >= whole.Tried.All {
			t.Errorf("work %d: %+v, of %+v", work, *n, whole.Tried)
		}
		last = n.All
	}
}

// The changes that a report tries take about as many timed descriptors as the run. Those that make
// a network too long to be timed are left out before they are compiled, and counted.
func TestWorkLikeRun(t *testing.T) {
	for _, layers := range []string{
		strings.Repeat("  - {op: relu}\n", 3000),
		strings.Repeat("  - {op: softmax, axis: w}\n", 1000),
		strings.Repeat("  - {op: conv, cout: 4}\n  - {op: sigmoid}\n", 2000),
	} {
		n, err := network.ReadYAML([]byte("inputs:\n  x: {c: 4, h: 4, w: 4}\nlayers:\n" + layers))
		if err != nil {
			t.Fatal(err)
		}
		m := anesim.FromNetwork(n)
		res, err := m.Run(t.Context(), anesim.Options{})
		if err != nil {
			t.Fatal(err)
		}
		work := explain.WorkLikeRun(len(res.Report.Descriptors))
		x, err := explain.Explain(t.Context(), m, anesim.Options{}, explain.Options{File: "net.yaml", Work: work})
		if err != nil {
			t.Fatal(err)
		}
		if x.Tried.Work > 2*work || x.Tried.Left == 0 {
			t.Errorf("%d descriptors: %+v, want at most %d timed and some changes left", len(res.Report.Descriptors), x.Tried, 2*work)
		}
	}
}

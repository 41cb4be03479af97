package explain_test

import (
	"context"
	"testing"

	"anesim"
	"anesim/bench/explain"
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
	for _, work := range []int{1, 20, 60} {
		x := tried(work)
		n := &x.Tried
		if n.Left == 0 || n.Work > work+20 || n.All != n.Faster+n.NotFaster+n.OtherResults+n.Failed || n.All < last || n.All >= whole.Tried.All {
			t.Errorf("work %d: %+v, of %+v", work, *n, whole.Tried)
		}
		last = n.All
	}
}

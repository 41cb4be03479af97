package pattern

import (
	"slices"

	"anesim/loader/network/internal/graph"
	"anesim/loader/network/internal/ops"
)

// CancelTransposes merges transposes with earlier transposes whose results they read. The later
// transpose then reads the input of the earlier one and does the work of both, or becomes an
// Identity if the two cancel. Two transposes that cancel may have elementwise operators between
// them, which then work on the untransposed tensor. All tensors in outputs keep their values.
// CancelTransposes does nothing if a node has a branch, because a branch may read any tensor.
func CancelTransposes(nodes []*graph.Node, outputs []*graph.Value) {
	maker, readers := map[*graph.Value]int{}, map[*graph.Value]int{}
	for _, out := range outputs {
		readers[out]++
	}
	for i := range nodes {
		for _, in := range nodes[i].In {
			readers[in]++
		}
		for _, a := range nodes[i].Attr {
			if a.Graph != nil { // a branch may read any tensor
				return
			}
		}
	}
	for i, node := range nodes {
		if outer := readPermutation(node); outer != nil {
			at, between := node.In[0], []int(nil)
			k, ok := maker[at]
			// A second reader needs the tensor between as it is, and moving the transpose would give it
			// another.
			for ok && readers[at] == 1 && ops.Of(nodes[k].Op).Has(ops.Transparent) && nodes[k].Domain == "" && len(nodes[k].In) > 0 {
				between = append(between, k)
				at = nodes[k].In[0]
				before, made := maker[at]
				k, ok = before, made && before < k // nodes of a file may form a cycle
			}
			if ok && len(between) == 0 || ok && readers[at] == 1 {
				if inner := readPermutation(nodes[k]); inner != nil && len(inner) == len(outer) {
					mergeTransposes(nodes, node, nodes[k], between, inner, outer)
				}
			}
		}
		for _, out := range node.Out {
			maker[out] = i
		}
	}
}

// mergeTransposes makes outer, a transpose, read the input of the transpose inner and do the work
// of both. first and second are the permutations of inner and outer. between holds the indices of
// elementwise nodes between them, which then work on the untransposed tensor. If there are such
// nodes but the transposes do not cancel, mergeTransposes changes nothing.
func mergeTransposes(nodes []*graph.Node, outer, inner *graph.Node, between, first, second []int) {
	perm, same := &graph.Attr{}, true
	for i, p := range second {
		perm.Ints = append(perm.Ints, int64(first[p]))
		same = same && first[p] == i
	}
	if len(between) > 0 && !same {
		return
	}
	source := inner.In[0]
	if len(between) > 0 {
		u := nodes[between[len(between)-1]]
		u.In = slices.Clone(u.In)
		u.In[0] = source
		source = outer.In[0]
		for _, k := range between {
			nodes[k].Out[0].Stated = nil // the file states the transposed shape
		}
	}
	inner.Out[0].Bypassed = true
	outer.In = []*graph.Value{source}
	if same {
		outer.Op, outer.Attr = "Identity", nil
		return
	}
	outer.Attr = map[string]*graph.Attr{"perm": perm}
}

// readPermutation returns the permutation that n, a Transpose, states. It returns nil if n has
// another operator, or no valid permutation. The permutation of a scalar is empty but not nil.
func readPermutation(n *graph.Node) []int {
	if n.Op != "Transpose" || n.Domain != "" || len(n.In) != 1 || len(n.Attr) != 1 || n.Attr["perm"] == nil {
		return nil
	}
	p := make([]int, len(n.Attr["perm"].Ints))
	seen := make([]bool, len(p))
	for i, v := range n.Attr["perm"].Ints {
		if v < 0 || int(v) >= len(p) || seen[v] {
			return nil
		}
		p[i], seen[v] = int(v), true
	}
	return p
}

package pattern

import (
	"slices"

	"anesim/internal/network/graph"
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

// narrowRow is the number of elements of a row at which half of its 64 bytes in memory is padding.
const narrowRow = 16

// AdvanceTransposes moves transposes of images with few channels, which come last, to the input of the
// network: before the operators with one number, such as the Sub and Div that scale its pixels. These then
// work on long rows, instead of rows of 3 channels that take 64 bytes each. The values stay the same. All
// tensors in outputs keep their values.
func AdvanceTransposes(nodes []*graph.Node, outputs []*graph.Value) {
	maker, readers := map[*graph.Value]int{}, map[*graph.Value]int{}
	for _, out := range outputs {
		readers[out]++
	}
	for i, node := range nodes {
		for _, in := range node.In {
			readers[in]++
		}
		for _, a := range node.Attr {
			if a.Graph != nil { // a branch may read any tensor
				return
			}
		}
		for _, out := range node.Out {
			maker[out] = i
		}
	}
	for i, node := range nodes {
		perm := readPermutation(node)
		if len(perm) == 0 {
			continue // no valid permutation, or that of a scalar, which has no rows
		}
		slots := []int{i} // the transpose and the nodes before it, the last one first
		source := node.In[0]
		for {
			k, made := maker[source]
			if !made || k >= slots[len(slots)-1] || readers[source] != 1 || !isPointwise(nodes[k], len(perm)) {
				break
			}
			slots = append(slots, k)
			source = nodes[k].In[dataInput(nodes[k])]
		}
		_, made := maker[source]
		if n := len(perm); len(slots) == 1 || made || source.Const != nil || len(source.Dims) != n || source.Dims[n-1] >= narrowRow || source.Dims[perm[n-1]] <= source.Dims[n-1] || !movesElements(perm, source.Dims) {
			continue
		}
		moveToFront(nodes, slots, source)
	}
}

// movesElements reports whether a permutation of the axes of a tensor of shape dims changes the order of its
// elements. A transpose that does not costs nothing where it is.
func movesElements(perm, dims []int) bool {
	last := -1
	for _, p := range perm {
		if dims[p] == 1 {
			continue
		}
		if p < last {
			return true
		}
		last = p
	}
	return false
}

// dataInput returns the number of the input of n that is not its constant number.
func dataInput(n *graph.Node) int {
	if len(n.In) == 2 && n.In[0].Const != nil && n.In[1].Const == nil {
		return 1
	}
	return 0
}

// isPointwise reports whether n computes each element of its result from the element of one input at the
// same place, of at most the given number of axes, and perhaps from one constant number.
func isPointwise(n *graph.Node, axes int) bool {
	if n.Domain != "" || len(n.In) == 0 || len(n.Out) != 1 {
		return false
	}
	if ops.Of(n.Op).Has(ops.Transparent) {
		return true
	}
	if !slices.Contains([]string{"Add", "Sub", "Mul", "Div"}, n.Op) || len(n.In) != 2 {
		return false
	}
	c := n.In[1-dataInput(n)].Const
	return c != nil && c.Elements() == 1 && len(c.Dims) <= axes
}

// moveToFront makes the transpose in the first of slots read source, and each other node read the result of
// the one that is now before it. The tensors keep their places in the list, so that the last one is the
// result of the same values.
func moveToFront(nodes []*graph.Node, slots []int, source *graph.Value) {
	moved := make([]graph.Node, len(slots))
	for i, k := range slots {
		moved[i] = *nodes[k]
	}
	in := source
	for i := len(slots) - 1; i >= 0; i-- {
		from, out := moved[(i+1)%len(slots)], nodes[slots[i]].Out
		from.In = slices.Clone(from.In)
		from.In[dataInput(&from)] = in
		from.Out = out
		*nodes[slots[i]] = from
		if in = out[0]; i > 0 {
			in.Stated = nil // the file states the shape before the transpose
		}
	}
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

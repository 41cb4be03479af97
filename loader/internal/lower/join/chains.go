package join

import (
	"slices"
	"sort"

	"github.com/x448/float16"

	"anesim/loader/internal/lower/family"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/rows"
	"anesim/loader/layer"
)

// A rowChain is a run of nodes that package rows lowers to one part.
type rowChain struct {
	pixels bool // is a pixel chain
	groups []rows.Group
	part   *Part // without weights
	inputs []string
	output string
	more   []string    // further results of a pixel chain
	nodes  []int       // nodes with descriptors of their own
	runs   []Run       // descriptors of each of nodes
	none   map[int]int // maps the other nodes to the ones that do their work
}

// A chainFinder finds the runs of nodes that package rows can lower.
type chainFinder struct {
	net     *Network
	nodes   []node
	shapes  map[string]layer.Shape
	readers map[string]int // number of nodes and network outputs that read a tensor
	twice   map[string]int // number of nodes that read a tensor as both of their inputs, which count twice in readers
	last    map[string]int // the last node that reads a tensor, or the number of nodes for a network output
	next    []int          // for each node, the first node from there on that startsChain reports
	stop    []int          // for each node, the first node from there on that no chain can have
	vain    int            // groups of the long chains that were tried and do not fit
}

// newChainFinder returns a chainFinder for the nodes of n after fusion.
func newChainFinder(n *Network, nodes []node) *chainFinder {
	f := &chainFinder{
		net: n, nodes: nodes, shapes: map[string]layer.Shape{}, readers: map[string]int{}, twice: map[string]int{}, last: map[string]int{},
		next: make([]int, len(nodes)), stop: make([]int, len(nodes)),
	}
	for i := range n.Inputs {
		f.shapes[n.Inputs[i].Name] = n.Inputs[i].Shape
	}
	for i := range nodes {
		for _, in := range nodes[i].Inputs {
			f.readers[in]++
			f.last[in] = i
		}
		if in := nodes[i].Inputs; len(in) == 2 && in[0] == in[1] {
			f.twice[in[0]]++
		}
		f.shapes[nodes[i].Output] = nodes[i].Part.Shape
	}
	// An output of the network counts as a reader after the last node, so no chain may keep its tensor to
	// itself.
	for _, out := range n.Outputs {
		f.readers[out]++
		f.last[out] = len(nodes)
	}
	// Backwards, so that the search for chains skips runs of other layers in one step instead of trying
	// each node.
	for i, next := len(nodes)-1, len(nodes); i >= 0; i-- {
		if startsChain(&nodes[i].Part.Layer) {
			next = i
		}
		f.next[i] = next
	}
	if len(nodes) > 0 && f.next[0] < len(nodes) {
		f.findStops()
	}
	return f
}

// findStops fills in f.stop.
func (f *chainFinder) findStops() {
	supported, transposed := make([]bool, len(f.nodes)), map[string]bool{}
	for i := range f.nodes {
		n := &f.nodes[i].Node
		if !hasKnownInputs(n) {
			continue
		}
		if _, ok := f.findTransposition(n); ok {
			transposed[n.Output], supported[i] = true, true
			continue
		}
		// Which transposes a matmul may read depends on the chain.
		supported[i] = slices.ContainsFunc(n.Inputs, func(in string) bool { return transposed[in] })
		if !supported[i] {
			_, supported[i] = f.makeGroup(n, nil)
		}
	}
	for i, stop := len(f.nodes)-1, len(f.nodes); i >= 0; i-- {
		if !supported[i] {
			stop = i
		}
		f.stop[i] = stop
	}
}

// hasKnownInputs reports whether n reads tensors, each by a port of its own.
func hasKnownInputs(n *Node) bool { return len(n.Inputs) > 0 && len(n.Inputs) == len(n.Part.inputs) }

// startsChain reports whether l is an operation for which a row chain saves time: a matmul, a layer
// norm or a softmax.
func startsChain(l *layer.Layer) bool {
	switch l.Op {
	case layer.Linear, layer.MatMul, layer.LayerNorm, layer.Softmax:
		return true
	}
	return false
}

// Numbers of groups that bound the search for a chain, so that its time is in proportion to the network.
// Known chains are shorter than the first.
const (
	firstGroups = 64 // the first length of a chain to look for, and the longest of which each is tried
	moreGroups  = 4  // factor of the next length, if all of a length fits
	vainGroups  = 16 // groups for each node of a network that longer chains may take in vain
)

// findChain looks for a row chain (consecutive layers computed on rows that stay in L2) that starts
// at the node with index first. It returns the row chains that replace these nodes, and the index
// of the node after them. If package rows cannot lower the nodes, or if a chain would save nothing,
// it returns nil and first.
func (f *chainFinder) findChain(first int) ([]rowChain, int) {
	if f.next[first] == len(f.nodes) {
		return nil, first
	}
	patient := f.vain <= vainGroups*len(f.nodes)
	// A group has at most two transposes of its own.
	if need := f.last[f.nodes[first].Output] - first; !patient && need > 3*firstGroups {
		return nil, first
	}
	var longest *rowChain
	var groups []rows.Group
	var ends []int
	best, fits := 0, 0
	for most, more := firstGroups, true; more; most *= moreGroups {
		groups, ends, more = f.collectGroups(first, most)
		var ready []int // numbers of groups with nothing but their last output in use elsewhere
		for n, closed := range f.findChainEnds(groups, first, ends) {
			if closed && f.next[first] < ends[n] {
				ready = append(ready, n+1)
			}
		}
		longest, best = f.lowerLongestPrefix(groups, ready, fits)
		if most > firstGroups && best == fits {
			f.vain += len(groups) // looking for an end costs less than lowering, but may be all there is
		}
		// A longer chain may fit if all of this one does, or if this one has no end.
		more = more && patient && (len(ready) == 0 || best == ready[len(ready)-1])
		fits = best
	}
	switch {
	case best == 0 || best == 1 && len(groups[0].Nodes) == 1:
		return nil, first
	case !f.net.InMemory:
		return []rowChain{*longest}, ends[best-1]
	}
	var list []rowChain
	for i := range best {
		one, ok := f.lowerGroups(slices.Clone(groups[i : i+1]))
		if !ok {
			return nil, first
		}
		list = append(list, *one)
	}
	return list, ends[best-1]
}

// lowerLongestPrefix lowers the longest prefix of groups that fits in L2 as a row chain. It tries
// the lengths in numbers, which must be in ascending order; those up to fits are known to fit. It
// returns the chain and its length in groups, or nil and 0 if no prefix fits.
func (f *chainFinder) lowerLongestPrefix(groups []rows.Group, numbers []int, fits int) (longest *rowChain, best int) {
	try := func(n int) bool {
		one, ok := f.lowerGroups(slices.Clone(groups[:n]))
		if ok {
			longest, best = one, n
		} else if n > firstGroups {
			f.vain += n
		}
		return ok
	}
	if k := len(numbers); k == 0 || try(numbers[k-1]) {
		return longest, best
	}
	// If some groups do not fit, more groups do not either.
	if len(groups) <= firstGroups {
		for _, n := range numbers {
			if !try(n) {
				break
			}
		}
		return longest, best
	}
	known, _ := slices.BinarySearch(numbers, fits+1)
	sort.Search(len(numbers)-1-known, func(i int) bool { return !try(numbers[known+i]) })
	if best == 0 && fits > 0 {
		try(fits)
	}
	return longest, best
}

// findChainEnds returns a bool for each group that says whether a row chain that starts at node
// first may end with that group. It may if the group's output is the only tensor of the chain that
// other nodes read. ends[i] is the index after the last node of group i.
func (f *chainFinder) findChainEnds(groups []rows.Group, first int, ends []int) []bool {
	closed := make([]bool, len(groups))
	inside := map[string]int{} // number of readers among the nodes so far
	made := map[string]bool{}  // tensors made by the nodes so far
	leave := 0                 // number of these tensors that other nodes read
	nodes, at := 0, first
	for k, end := range ends {
		for ; at < end; at++ {
			n := &f.nodes[at].Node
			for _, in := range n.Inputs {
				if inside[in]++; made[in] && inside[in] == f.readers[in] {
					leave--
				}
			}
			if made[n.Output] = true; inside[n.Output] < f.readers[n.Output] {
				leave++
			}
		}
		nodes += len(groups[k].Nodes)
		last := groups[k].Output
		closed[k] = nodes == end-first && leave == 1 && inside[last] == 0 && f.readers[last] > 0
	}
	return closed
}

// collectGroups returns the groups (operations of a row chain) for the nodes starting at index
// first, up to the first node that no chain from first can have, and at most the given number of
// them. ends[i] is the index after the last node of group i. more reports whether this number is
// the reason to end.
func (f *chainFinder) collectGroups(first, most int) (groups []rows.Group, ends []int, more bool) {
	transposes := map[string]transposition{} // by the names of their results
	var pending []int
	made, inputs := map[string]bool{}, map[string]bool{}
	for i := first; i < f.stop[first]; i++ {
		n := &f.nodes[i].Node
		// The nodes before the last one of a chain have readers in the chain only.
		if i > first && f.last[f.nodes[i-1].Output] >= f.stop[first] {
			break
		}
		for _, in := range n.Inputs {
			if !made[in] {
				inputs[in] = true
			}
		}
		if made[n.Output] = true; len(inputs) > rows.MaxInputs {
			break
		}
		if t, ok := f.findTransposition(n); ok {
			if _, ok := transposes[n.Inputs[0]]; ok { // only a matmul may read the result of a transpose
				break
			}
			transposes[n.Output] = t
			pending = append(pending, i)
			continue
		}
		g, ok := f.makeGroup(n, transposes)
		if !ok {
			break
		}
		if len(groups) == most {
			return groups, ends, true
		}
		g.Nodes = append([]int{i}, pending...)
		pending = nil
		groups = append(groups, *g)
		ends = append(ends, i+1)
	}
	return groups, ends, false
}

// findTransposition returns what n transposes, if it is a transpose that a chain may leave to the
// matmul that reads its result.
func (f *chainFinder) findTransposition(n *Node) (transposition, bool) {
	l := &n.Part.Layer
	t, ok := transposedMatrices(l)
	return transposition{n.Inputs[0], t}, ok && f.readers[n.Output] == 1 && f.shapes[n.Inputs[0]].W == l.In.W
}

// A transposition describes the result of a transpose: matrices of shape (1, count, rows,
// columns), which are the transposed matrices of the tensor from.
type transposition struct {
	from     string
	matrices layer.Shape
}

// transposedMatrices returns the shape (1, count, rows, columns) of the matrices that transpose l
// produces. ok is false if l does something other than exchanging the rows and columns of matrices.
func transposedMatrices(l *layer.Layer) (matrices layer.Shape, ok bool) {
	if l.Op != layer.Transpose || l.In.N != 1 || l.Activation != 0 {
		return layer.Shape{}, false
	}
	switch l.Permutation() {
	case [3]layer.Axes{layer.AxisC, layer.AxisW, layer.AxisH}:
		return layer.Shape{N: 1, C: l.In.C, H: l.In.W, W: l.In.H}, true
	case [3]layer.Axes{layer.AxisW, layer.AxisH, layer.AxisC}:
		return layer.Shape{N: 1, C: 1, H: l.In.W, W: l.In.C}, l.In.H == 1
	}
	return layer.Shape{}, false
}

// makeGroup returns the operation of a row chain for node n. transposes holds the results of
// transposes that a matmul may read without running them. makeGroup reports false if package rows
// does not support the node.
func (f *chainFinder) makeGroup(n *Node, transposes map[string]transposition) (*rows.Group, bool) {
	if n.Part.attention {
		return nil, false
	}
	l := &n.Part.Layer
	out := n.Part.Shape
	g := &rows.Group{Layer: *l, Weights: n.Part.Weights, Inputs: slices.Clone(n.Inputs), Output: n.Output, Heads: 1, Rows: out.N * out.C * out.H, Width: out.W}
	for k, in := range n.Inputs {
		read := portShape(&n.Part.inputs[k])
		t, transposed := transposes[in]
		if !transposed && f.shapes[in].W != read.W {
			return nil, false
		}
		// Only the right side of a matmul can be read transposed.
		if transposed && (l.Op != layer.MatMul || k != 1 || t.matrices != read) {
			return nil, false
		}
	}
	if l.In.N != 1 || g.Rows > layer.MaxChannels {
		return nil, false
	}
	switch l.Op {
	case layer.Linear, layer.MatMul:
		return g, setMatMulFields(g, transposes)
	case layer.Add, layer.Sub, layer.Mul, layer.Max, layer.Min:
		return g, setElementwiseFields(g)
	}
	if l.Activation != 0 {
		return nil, false // it would need a task of its own
	}
	switch {
	case l.Op == layer.LayerNorm:
		g.Kind = rows.Norm
		return g, l.Axes == layer.AxisW && l.In.C == 1 && (g.Rows <= 192 || g.Rows%8 == 0)
	case l.Op == layer.Softmax:
		g.Kind = rows.Softmax
		return g, l.Axes == layer.AxisW
	case l.Op == layer.ReLU || l.Op.IsSingleTable() || l.Op == layer.Inverse:
		g.Kind = rows.Activation
		return g, l.In.C == 1 && l.In.H > 1
	}
	return nil, false
}

// setMatMulFields derives the matmul fields of g (kind, scale, bias and activation) from its layer.
// If a matmul of two tensors reads one of transposes, its input becomes the tensor before the
// transpose. setMatMulFields reports false if package rows does not support the matmul.
func setMatMulFields(g *rows.Group, transposes map[string]transposition) bool {
	l := &g.Layer
	if l.TransposeX || l.TransposeY && l.Second != layer.Runtime {
		return false
	}
	g.Scale = l.Factor
	if l.Op == layer.MatMul && l.Second == layer.Runtime {
		g.Kind = rows.PairProduct
		g.Heads, g.Rows = l.In.C, l.In.H
		g.Transposed = l.TransposeY
		// The task reads either side of a transpose, so the transpose costs no task of its own.
		if t, ok := transposes[g.Inputs[1]]; ok {
			g.Inputs[1], g.Transposed = t.from, !g.Transposed
		}
		g.Activation = l.Activation
		return l.In.C <= 64 && (l.Activation == 0 || l.Activation == layer.ReLU)
	}
	g.Kind = rows.Product
	if l.Bias {
		if g.Bias = g.Weights.Bias; g.Bias == nil {
			g.Bias = make([]float16.Float16, l.Columns)
		}
	}
	switch {
	case l.Activation == layer.ReLU:
		g.Activation = layer.ReLU
	case l.Activation != 0 && !l.Activation.IsSingleTable():
		return false
	case l.Activation != 0:
		g.Table = g.Weights.Table
	}
	return l.In.C == 1
}

// setElementwiseFields sets the fields of g that are specific to elementwise operations, from its
// layer. It reports false if package rows does not support the operation.
func setElementwiseFields(g *rows.Group) bool {
	l := &g.Layer
	switch {
	case l.In.C != 1:
		return false
	case l.Second == layer.Runtime && l.SecondShape == l.In && !l.SecondReLU:
		g.Kind = rows.Binary
	case l.Second == layer.Itself:
		g.Kind, g.Inputs = rows.Binary, append(g.Inputs, g.Inputs[0])
	case l.Second == layer.Scalar && l.Op != layer.Max && l.Op != layer.Min:
		g.Kind = rows.Scalar
	default:
		return false
	}
	g.Activation = l.Activation
	return l.Activation == 0 || l.Activation == layer.ReLU
}

// lowerGroups lowers groups to a row chain with one part. The part has no weights yet;
// [joiner.packStepWeights] adds them. lowerGroups reports false if the groups do not fit in L2.
func (f *chainFinder) lowerGroups(groups []rows.Group) (*rowChain, bool) {
	return f.lowerChain(&rowChain{groups: groups, output: groups[len(groups)-1].Output, none: map[int]int{}})
}

// lower lowers the groups of a chain. If dryRun is true, the tasks have no weights.
func (c *rowChain) lower(shapes map[string]layer.Shape, dryRun bool) (*rows.Lowered, bool) {
	if c.pixels {
		return rows.LowerPixels(c.groups, append([]string{c.output}, c.more...), shapes, dryRun)
	}
	return rows.Lower(c.groups, shapes, dryRun)
}

// lowerChain completes out, of which the groups and the results are known. It reports false if the
// groups do not fit in L2.
func (f *chainFinder) lowerChain(out *rowChain) (*rowChain, bool) {
	groups := out.groups
	low, ok := out.lower(f.shapes, true)
	if !ok {
		return nil, false
	}
	out.inputs = low.Inputs
	for i := range groups {
		end := len(low.Tasks)
		if i+1 < len(groups) {
			end = low.Starts[i+1]
		}
		out.nodes = append(out.nodes, groups[i].Nodes[0])
		out.runs = append(out.runs, Run{First: low.Starts[i], Tasks: end - low.Starts[i]})
		for _, n := range groups[i].Nodes[1:] {
			out.none[n] = groups[i].Nodes[0]
		}
	}
	out.part = newChainPart(low, f.shapes[out.output])
	return out, true
}

// newChainPart returns the part of a lowered row chain whose result has the given shape.
func newChainPart(low *rows.Lowered, out layer.Shape) *Part {
	return &Part{
		output:    &family.Output{Tasks: low.Tasks, Constants: low.Constants, Scratch: low.Scratch},
		inputs:    low.Ports,
		Shape:     out,
		outputBAR: place.Bar4,
	}
}

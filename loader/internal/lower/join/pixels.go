package join

import (
	"slices"
	"sort"

	"github.com/x448/float16"

	"anesim/hw/evidence"
	"anesim/loader/internal/lower/rows"
	"anesim/loader/layer"
)

// mostPixels is the largest number of pixels of a pixel chain: as many rows as one task reduces.
const mostPixels = 192

// findPixelChain looks for a pixel chain, layers over the channels of one row of pixels, that starts
// at node first. Only the compiler of 2026 has them. It returns the chain, or one for each of its
// groups if all tensors go through memory, and the index of the node after it. It returns nil and
// first if there is none.
func (f *chainFinder) findPixelChain(first int) ([]rowChain, int) {
	if f.nodes[first].Part.Layer.Release != layer.Release2026 {
		return nil, first
	}
	if f.vain > vainGroups*len(f.nodes) {
		return nil, first
	}
	groups, ends := f.collectPixelGroups(first)
	var ready [][]rows.Group // the runs from first on that may be a chain
	for n := range len(groups) {
		results, ok := f.findPixelResults(groups[:n+1])
		chosen := slices.Clone(groups[:n+1])
		if ok && slices.ContainsFunc(chosen, startsPixelChain) {
			rows.ChoosePixelBlocks(chosen, results)
			ready = append(ready, chosen)
		}
	}
	// If some groups do not fit in L2, more groups do not either.
	var longest *rowChain
	sort.Search(len(ready), func(i int) bool {
		i = len(ready) - 1 - i
		results, _ := f.findPixelResults(ready[i])
		c, ok := f.lowerChain(newPixelChain(ready[i], results))
		switch {
		case !ok:
			f.vain += len(ready[i])
		case longest == nil || len(c.groups) > len(longest.groups):
			longest = c
		}
		return ok
	})
	switch {
	case longest == nil:
		return nil, first
	case !f.net.InMemory:
		return []rowChain{*longest}, ends[len(longest.groups)-1]
	}
	var list []rowChain
	for i := range longest.groups {
		longest.groups[i].Block = false // in memory, all pixels of a tensor are in one row
		one, ok := f.lowerChain(newPixelChain(longest.groups[i:i+1], []string{longest.groups[i].Output}))
		if !ok {
			return nil, first
		}
		list = append(list, *one)
	}
	return list, ends[len(longest.groups)-1]
}

// newPixelChain returns the chain of groups with the given results, which is not lowered yet.
func newPixelChain(groups []rows.Group, results []string) *rowChain {
	return &rowChain{pixels: true, groups: groups, output: results[0], more: results[1:], none: map[int]int{}}
}

// startsPixelChain reports whether a chain with group g is worth it: programs show those with a mean
// over channels, which all others have as well.
func startsPixelChain(g rows.Group) bool { return g.Kind == rows.ChannelMean || g.Kind == rows.Product }

// collectPixelGroups returns the groups for the nodes from first on, as many as a pixel chain can have.
// ends[i] is the index after the last node of group i.
func (f *chainFinder) collectPixelGroups(first int) (groups []rows.Group, ends []int) {
	pixels := f.nodes[first].Part.Layer.In.W
	for i := first; i < len(f.nodes) && len(groups) < firstGroups; i++ {
		n := &f.nodes[i].Node
		g, ok := f.makePixelGroup(n, pixels)
		if !ok {
			break
		}
		if k := len(groups) - 1; k >= 0 && !n.Rounds && f.isOnlyReader(n, groups[k].Output) && mergePixelGroups(&groups[k], g) {
			groups[k].Nodes = append(groups[k].Nodes, i)
			groups[k].Output = n.Output
			ends[k] = i + 1
			continue
		}
		g.Nodes = []int{i}
		groups, ends = append(groups, *g), append(ends, i+1)
	}
	return groups, ends
}

// isOnlyReader reports whether n, and nothing else, reads a tensor.
func (f *chainFinder) isOnlyReader(n *Node, tensor string) bool {
	return len(n.Inputs) == 1 && n.Inputs[0] == tensor && f.readers[tensor] == 1
}

// A pixelRule merges two groups of a pixel chain, the second of which is the only reader of the first
// one's result.
type pixelRule struct {
	name     string
	evidence evidence.Kind
	basis    string // where programs show the rule
	// merge makes a do the work of b. If the rule does not apply, merge returns false and leaves a
	// unchanged.
	merge func(a, b *rows.Group) bool
}

// pixelRules holds the rules for merging groups of pixel chains, besides those of all layers (rules).
var pixelRules = [...]pixelRule{
	{name: "mean of squares", evidence: evidence.Bytes, basis: "in the norms of 3 of 3 programs: the reduction squares its source", merge: mergeSquares},
	{name: "addend after a mean", evidence: evidence.Bytes, basis: "in the norms of 3 of 3 programs, in PreScale", merge: mergeAddend},
	{name: "factor after a sum or product", evidence: evidence.Bytes, basis: "3 of 3 in one program: of two products in PreScale, of a sum in BiasScale; inferred for differences", merge: mergeFactor},
}

// mergePixelGroups makes group a do the work of b, the only reader of its result, if a task can do
// both. It reports whether it did.
func mergePixelGroups(a, b *rows.Group) bool {
	for i := range pixelRules {
		if a.Activation == 0 && pixelRules[i].merge(a, b) {
			return true
		}
	}
	return false
}

func mergeSquares(a, b *rows.Group) bool {
	if a.Kind != rows.Square || b.Kind != rows.ChannelMean {
		return false
	}
	inputs, nodes, output := a.Inputs, a.Nodes, a.Output
	*a = *b
	a.Inputs, a.Nodes, a.Output, a.Squares = inputs, nodes, output, true
	return true
}

func mergeAddend(a, b *rows.Group) bool {
	if a.Kind != rows.ChannelMean || a.Addend != 0 || b.Kind != rows.Scalar || b.Layer.Op != layer.Add || b.Activation != 0 {
		return false
	}
	a.Addend = layer.ValueAt(b.Weights.Second, 0)
	return true
}

func mergeFactor(a, b *rows.Group) bool {
	factor := layer.ValueAt(b.Weights.Second, 0)
	if a.Kind != rows.Binary || a.Scale != 0 || a.Layer.Op != layer.Mul && a.Layer.Op != layer.Add && a.Layer.Op != layer.Sub ||
		b.Kind != rows.Scalar || b.Layer.Op != layer.Mul || !factor.IsNormal() {
		return false
	}
	a.Scale, a.Activation = factor, b.Activation
	return true
}

// makePixelGroup returns the group of a pixel chain for node n. It reports false if none of the given
// number of pixels can have n.
func (f *chainFinder) makePixelGroup(n *Node, pixels int) (*rows.Group, bool) {
	l, out := &n.Part.Layer, n.Part.Shape
	if n.Part.attention || !hasKnownInputs(n) || l.Release != layer.Release2026 ||
		pixels < 2 || pixels > mostPixels || out.N != 1 || out.H != 1 || out.W != pixels || l.In.N != 1 || l.In.H != 1 || l.In.W != pixels ||
		l.Activation != 0 && l.Activation != layer.ReLU && l.Op != layer.Convolution {
		return nil, false
	}
	// A chain has one layout for each tensor, so a node that reads a tensor in another shape cannot be
	// part of it.
	for k, in := range n.Inputs {
		if f.shapes[in] != portShape(&n.Part.inputs[k]) {
			return nil, false
		}
	}
	g := &rows.Group{Layer: *l, Weights: n.Part.Weights, Inputs: slices.Clone(n.Inputs), Output: n.Output, Heads: 1, Rows: pixels, Width: out.C, Activation: l.Activation}
	switch l.Op {
	case layer.ReduceMean:
		g.Kind = rows.ChannelMean
		return g, l.Axes == layer.AxisC && l.Activation == 0 && l.In.C > 1
	case layer.Convolution:
		return g, setPixelProductFields(g)
	case layer.Square:
		g.Kind = rows.Square
	case layer.Pow:
		g.Kind = rows.Power
		return g, l.Second == layer.Scalar && l.Activation == 0
	case layer.Add, layer.Sub, layer.Mul, layer.Max, layer.Min:
		return g, setPixelElementwiseFields(g)
	default:
		g.Kind = rows.Activation
		return g, l.Activation == 0 && (l.Op == layer.ReLU || l.Op.IsSingleTable() || l.Op == layer.Rsqrt || l.Op == layer.Inverse)
	}
	return g, true
}

// setPixelElementwiseFields sets the kind of g, an operation on two operands. It reports false if
// pixel chains do not have the operation.
func setPixelElementwiseFields(g *rows.Group) bool {
	l := &g.Layer
	bounds := l.Op == layer.Max || l.Op == layer.Min
	switch {
	case l.SecondReLU:
		return false
	case l.Op == layer.Mul && (l.Second == layer.Itself || l.Second == layer.Runtime && g.Inputs[0] == g.Inputs[1]):
		g.Kind, g.Inputs = rows.Square, g.Inputs[:1]
	case l.Second == layer.Runtime:
		g.Kind = rows.Binary
		return g.Inputs[0] != g.Inputs[1] && (l.SecondShape == l.In || l.SecondShape == layer.Shape{N: 1, C: 1, H: 1, W: l.In.W})
	case l.Second == layer.Scalar:
		g.Kind = rows.Scalar
		return !bounds
	case l.Second == layer.Constant:
		g.Kind = rows.Affine
		return !bounds
	default:
		return false
	}
	return true
}

// setPixelProductFields makes g, a convolution, a product with the same weights. It reports false if
// pixel chains do not have the convolution.
func setPixelProductFields(g *rows.Group) bool {
	l := &g.Layer
	w := l.Window
	if w.Kh*w.Kw != 1 || w.Sy*w.Sx != 1 || w.Py+w.Px+w.Qy+w.Qx != 0 || l.Groups > 1 {
		return false
	}
	switch {
	case l.Activation == 0 || l.Activation == layer.ReLU:
	case !l.Activation.IsSingleTable() || l.Activation == layer.Exp:
		return false // the factor of an exponential has no place
	default:
		g.Activation, g.Table = 0, g.Weights.Table
	}
	g.Kind, g.Scale = rows.Product, l.Factor
	if l.Bias {
		if g.Bias = g.Weights.Bias; g.Bias == nil {
			g.Bias = make([]float16.Float16, l.Cout)
		}
	}
	g.Layer = layer.Layer{
		Op: layer.Linear, In: layer.Shape{N: 1, C: 1, H: g.Rows, W: l.In.C}, Columns: l.Cout, Second: layer.Constant,
		Bias: l.Bias, Factor: l.Factor, Release: l.Release, Memories: l.Memories,
	}
	return true
}

// findPixelResults returns the tensors of groups that are results of the chain. It reports false if a
// tensor is read both inside and outside of the chain.
func (f *chainFinder) findPixelResults(groups []rows.Group) (results []string, ok bool) {
	inside := map[string]int{}
	for i := range groups {
		read := map[string]bool{}
		for _, in := range groups[i].Inputs {
			if !read[in] {
				inside[in]++
			}
			read[in] = true
		}
	}
	for i := range groups {
		name := groups[i].Output
		switch {
		case inside[name] == 0:
			results = append(results, name)
		case inside[name] < f.readers[name]-f.twice[name]:
			return nil, false
		}
	}
	return results, len(results) > 0
}

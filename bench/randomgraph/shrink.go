package randomgraph

import (
	"iter"
	"math/rand/v2"
	"slices"

	"anesim/loader/network/onnx"
)

// Minimize returns the smallest graph it finds for which fails reports true, by removing
// outputs and nodes as long as the rest still fails. It returns g itself if nothing can be
// removed. The caller must ensure that fails(g) is true.
func (g *Graph) Minimize(fails func(*Graph) bool) *Graph {
	for {
		smaller := g.shrinkOnce(fails)
		if smaller == nil {
			return g
		}
		g = smaller
	}
}

// shrinkOnce returns the first graph of Shrinkings that fails, or nil.
func (g *Graph) shrinkOnce(fails func(*Graph) bool) *Graph {
	for c := range g.Shrinkings() {
		if fails(c) {
			return c
		}
	}
	return nil
}

// Shrinkings returns the graphs that are one step smaller than g, those with the largest step
// first: single outputs, single tensors inside as the only output, nodes replaced by an
// input, nodes left out, and constants replaced by simpler ones.
func (g *Graph) Shrinkings() iter.Seq[*Graph] {
	return func(yield func(*Graph) bool) {
		for _, steps := range []iter.Seq[*Graph]{g.cutOutputs(), g.replaceNodes(), g.bypassNodes(), g.roundConstants()} {
			for c := range steps {
				c.Seed = g.Seed + " shrunk"
				if !yield(c) {
					return
				}
			}
		}
	}
}

// cutOutputs yields g with only one of its tensors as an output, early ones first, and g
// without one of its outputs.
func (g *Graph) cutOutputs() iter.Seq[*Graph] {
	return func(yield func(*Graph) bool) {
		for _, n := range g.Nodes {
			for _, out := range n.Outputs {
				c := g.Copy()
				c.Outputs = []string{out}
				c.Prune()
				if (len(c.Nodes) < len(g.Nodes) || len(g.Outputs) > 1) && len(c.Nodes) > 0 && !yield(c) {
					return
				}
			}
		}
		for i := range g.Outputs {
			c := g.Copy()
			c.Outputs = slices.Delete(c.Outputs, i, i+1)
			c.Prune()
			if len(c.Outputs) > 0 && len(c.Nodes) > 0 && !yield(c) {
				return
			}
		}
	}
}

// replaceNodes yields g with one node replaced by new inputs of the same shapes, late nodes
// first.
func (g *Graph) replaceNodes() iter.Seq[*Graph] {
	return func(yield func(*Graph) bool) {
		for i := len(g.Nodes) - 1; i >= 0; i-- {
			if c := g.replaceNode(i); c != nil && !yield(c) {
				return
			}
		}
	}
}

// replaceNode returns a copy of g in which inputs stand in for node i, or nil if a graph
// without nodes would be left or the node makes an output.
func (g *Graph) replaceNode(i int) *Graph {
	if slices.ContainsFunc(g.Nodes[i].Outputs, func(s string) bool { return slices.Contains(g.Outputs, s) }) {
		return nil
	}
	c := g.Copy()
	for _, out := range c.Nodes[i].Outputs {
		v := c.Values[out]
		if _, ok := descriptors[v.Type]; !ok {
			return nil
		}
		c.Inputs = append(c.Inputs, &Tensor{Name: out, Type: v.Type, Dims: v.Dims, Values: sample(v)})
	}
	c.Nodes = slices.Delete(c.Nodes, i, i+1)
	c.Prune()
	if len(c.Nodes) == 0 {
		return nil
	}
	return c
}

// sample returns values of the range of v: multiples of 1/64, or whole numbers, of at most
// four in magnitude unless the range lies beyond.
func sample(v Value) []float64 {
	low, high := max(v.Low, -4), min(v.High, 4)
	if v.Low > 4 {
		low, high = v.Low, min(v.High, v.Low+4)
	}
	unit := 64.0
	if v.Type != onnx.Float {
		unit = 1
	}
	first, last := int(low*unit), int(high*unit)
	if float64(first) < low*unit {
		first++
	}
	return multiples(rand.New(rand.NewPCG(uint64(elements(v.Dims)), 1)), elements(v.Dims), first, max(first, last), unit)
}

// bypassNodes yields g without one node, whose result is replaced by an operand of the same
// shape and type.
func (g *Graph) bypassNodes() iter.Seq[*Graph] {
	return func(yield func(*Graph) bool) {
		for i, n := range g.Nodes {
			for _, in := range n.Inputs {
				if in == "" || len(n.Outputs) != 1 || g.Constant(in) != nil || !g.substitutes(in, n.Outputs[0]) {
					continue
				}
				c := g.Copy()
				c.Nodes = slices.Delete(c.Nodes, i, i+1)
				for _, m := range c.Nodes {
					for j, s := range m.Inputs {
						if s == n.Outputs[0] {
							m.Inputs[j] = in
						}
					}
				}
				c.Prune()
				if len(c.Nodes) > 0 && !yield(c) {
					return
				}
			}
		}
	}
}

// substitutes reports whether every reader of to can read from instead: to is no output,
// both have one shape and type, and from has no values that to excludes.
func (g *Graph) substitutes(from, to string) bool {
	v, w := g.Values[from], g.Values[to]
	return !slices.Contains(g.Outputs, to) && v.Type == w.Type && slices.Equal(v.Dims, w.Dims) &&
		(w.Low <= 0 && w.High >= 0 || v.Low >= w.Low && v.High <= w.High)
}

// roundConstants yields g with the values of one float32 constant rounded to one of -1, 1
// and 2.
func (g *Graph) roundConstants() iter.Seq[*Graph] {
	return func(yield func(*Graph) bool) {
		for i, t := range g.Constants {
			if t.Type != onnx.Float || len(t.Values) < 2 || g.hasReader(t.Name, "Resize") {
				continue
			}
			same := true
			values := make([]float64, len(t.Values))
			for j, x := range t.Values {
				values[j] = []float64{1, 2}[j%2]
				if x < 0 {
					values[j] = -1
				}
				same = same && values[j] == x
			}
			c := g.Copy()
			c.Constants[i].Values = values
			if !same && !yield(c) {
				return
			}
		}
	}
}

// hasReader reports whether a node of g with the given operator reads the tensor.
func (g *Graph) hasReader(name, op string) bool {
	return slices.ContainsFunc(g.Nodes, func(n *Node) bool { return n.Op == op && slices.Contains(n.Inputs, name) })
}

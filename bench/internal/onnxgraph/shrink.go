package onnxgraph

import (
	"iter"
	"math/rand/v2"
	"slices"

	"anesim/internal/network/onnx"
)

// Minimize simplifies the failing graph g, to make the cause of the failure easier to find.
// Starting with g, it repeatedly moves on to the first of [Graph.Shrinkings] for which fails
// returns true. It returns the graph for which there is none. The caller must ensure that fails(g)
// is true.
func (g *Graph) Minimize(fails func(*Graph) bool) *Graph {
	for {
		smaller := g.findFailingShrinking(fails)
		if smaller == nil {
			return g
		}
		g = smaller
	}
}

// findFailingShrinking returns the first graph of [Graph.Shrinkings] for which fails returns true,
// or nil if there is none.
func (g *Graph) findFailingShrinking(fails func(*Graph) bool) *Graph {
	for c := range g.Shrinkings() {
		if fails(c) {
			return c
		}
	}
	return nil
}

// Shrinkings returns an iterator over copies of g that are one step simpler, the largest steps
// first. A step keeps a single output, makes an inner tensor the only output, replaces a node by an
// input, removes a node, or simplifies the values of a constant.
func (g *Graph) Shrinkings() iter.Seq[*Graph] {
	return func(yield func(*Graph) bool) {
		for _, steps := range []iter.Seq[*Graph]{g.yieldFewerOutputs(), g.yieldReplacedNodes(), g.yieldBypassedNodes(), g.yieldSimplerConstants()} {
			for c := range steps {
				c.Seed = g.Seed + " shrunk"
				if !yield(c) {
					return
				}
			}
		}
	}
}

// yieldFewerOutputs returns an iterator over copies of g with fewer outputs. The first copies have
// a single tensor as their output, early tensors first. The others lack one of the outputs of g.
func (g *Graph) yieldFewerOutputs() iter.Seq[*Graph] {
	return func(yield func(*Graph) bool) {
		for _, n := range g.Nodes {
			for _, out := range n.Outputs {
				if out == "" {
					continue
				}
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

// yieldReplacedNodes returns an iterator over copies of g with one node replaced by new inputs of
// the same shapes, late nodes first.
func (g *Graph) yieldReplacedNodes() iter.Seq[*Graph] {
	return func(yield func(*Graph) bool) {
		for i := len(g.Nodes) - 1; i >= 0; i-- {
			if c := g.replaceNode(i); c != nil && !yield(c) {
				return
			}
		}
	}
}

// replaceNode returns a copy of g with node i replaced by new inputs. It returns nil if no node
// would be left or the node produces an output.
func (g *Graph) replaceNode(i int) *Graph {
	if slices.ContainsFunc(g.Nodes[i].Outputs, func(s string) bool { return slices.Contains(g.Outputs, s) }) {
		return nil
	}
	c := g.Copy()
	for _, out := range c.Nodes[i].Outputs {
		if out == "" {
			continue
		}
		v := c.Values[out]
		if _, ok := numpyTypes[v.Type]; !ok {
			return nil
		}
		c.Inputs = append(c.Inputs, &Tensor{Name: out, Type: v.Type, Dims: v.Dims, Values: sampleValues(v)})
	}
	c.Nodes = slices.Delete(c.Nodes, i, i+1)
	c.Prune()
	if len(c.Nodes) == 0 {
		return nil
	}
	return c
}

// sampleValues returns values in the range of v that look random: multiples of 1/64, or integers if
// the type is an integer type. Their magnitude is at most 4 unless the range requires more.
func sampleValues(v Value) []float64 {
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
	return RandomMultiples(rand.New(rand.NewPCG(uint64(onnx.Elements(v.Dims)), 1)), onnx.Elements(v.Dims), first, max(first, last), unit)
}

// yieldBypassedNodes returns an iterator over copies of g without one node, whose result is
// replaced by an operand of the same shape and type.
func (g *Graph) yieldBypassedNodes() iter.Seq[*Graph] {
	return func(yield func(*Graph) bool) {
		for i, n := range g.Nodes {
			for _, in := range n.Inputs {
				if in == "" || len(n.Outputs) != 1 || g.Constant(in) != nil || !g.canSubstitute(in, n.Outputs[0]) {
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

// canSubstitute reports whether all nodes that read the tensor to can read the tensor from instead.
// This requires that both have the same type and shape, that to is not an output, and that the
// range of to includes 0 or contains that of from.
func (g *Graph) canSubstitute(from, to string) bool {
	v, w := g.Values[from], g.Values[to]
	return !slices.Contains(g.Outputs, to) && v.Type == w.Type && slices.Equal(v.Dims, w.Dims) &&
		(w.Low <= 0 && w.High >= 0 || v.Low >= w.Low && v.High <= w.High)
}

// yieldSimplerConstants returns an iterator over copies of g in which one float32 constant has
// simpler values: negative values become -1, the others alternate between 1 and 2.
func (g *Graph) yieldSimplerConstants() iter.Seq[*Graph] {
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

// hasReader reports whether a node of g with the operator op reads the named tensor.
func (g *Graph) hasReader(name, op string) bool {
	return slices.ContainsFunc(g.Nodes, func(n *Node) bool { return n.Op == op && slices.Contains(n.Inputs, name) })
}

package onnxgraph

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Prune removes from g all nodes, inputs, constants and values that no output depends on.
func (g *Graph) Prune() {
	needed := map[string]bool{"": false}
	for _, name := range g.Outputs {
		needed[name] = true
	}
	var nodes []*Node
	for _, n := range slices.Backward(g.Nodes) {
		if slices.ContainsFunc(n.Outputs, func(s string) bool { return needed[s] }) {
			nodes = append(nodes, n)
			for _, in := range n.Inputs {
				needed[in] = in != ""
			}
			for _, out := range n.Outputs {
				needed[out] = out != ""
			}
		}
	}
	slices.Reverse(nodes)
	g.Nodes = nodes
	unused := func(t *Tensor) bool { return !needed[t.Name] }
	g.Inputs = slices.DeleteFunc(g.Inputs, unused)
	g.Constants = slices.DeleteFunc(g.Constants, unused)
	for name := range g.Values {
		if !needed[name] {
			delete(g.Values, name)
		}
	}
}

// Permute returns a copy of g with its nodes in a random order. Each node still comes after the
// nodes whose outputs it reads.
func (g *Graph) Permute(rng *rand.Rand) *Graph {
	c := g.Copy()
	left := c.Nodes
	c.Nodes = nil
	made := map[string]bool{"": true}
	for _, t := range slices.Concat(c.Inputs, c.Constants) {
		made[t.Name] = true
	}
	for len(left) > 0 {
		var ready []int
		for i, n := range left {
			if !slices.ContainsFunc(n.Inputs, func(s string) bool { return !made[s] }) {
				ready = append(ready, i)
			}
		}
		i := ready[rng.IntN(len(ready))]
		for _, out := range left[i].Outputs {
			made[out] = true
		}
		c.Nodes = append(c.Nodes, left[i])
		left = slices.Delete(left, i, i+1)
	}
	return c
}

// Rename returns a copy of g with new names for inner tensors and constants, but not for inputs and
// outputs. The alphabetical order of the new names is random, so that tests find code that depends
// on the order of names.
func (g *Graph) Rename(rng *rand.Rand) *Graph {
	c := g.Copy()
	names := map[string]string{}
	keep := func(name string) bool {
		return name == "" || slices.Contains(g.Outputs, name) || g.Input(name) != nil
	}
	var old []string
	for _, t := range c.Constants {
		old = append(old, t.Name)
	}
	for _, n := range c.Nodes {
		old = append(old, n.Outputs...)
	}
	// Random numbers, not ascending ones, which would keep the order of the names that the graph has now.
	numbers := rng.Perm(len(old))
	for i, name := range old {
		if !keep(name) {
			names[name] = fmt.Sprintf("r%d", numbers[i])
		}
	}
	rename := func(list []string) {
		for i, s := range list {
			if to, ok := names[s]; ok {
				list[i] = to
			}
		}
	}
	for _, n := range c.Nodes {
		rename(n.Inputs)
		rename(n.Outputs)
	}
	for _, t := range c.Constants {
		if to, ok := names[t.Name]; ok {
			t.Name = to
		}
	}
	for from, to := range names {
		c.Values[to] = c.Values[from]
		delete(c.Values, from)
	}
	return c
}

// Inner returns the names of the tensors of g that are results of nodes but not outputs of g.
func (g *Graph) Inner() []string {
	var names []string
	for _, n := range g.Nodes {
		for _, out := range n.Outputs {
			if out != "" && !slices.Contains(g.Outputs, out) {
				names = append(names, out)
			}
		}
	}
	return names
}

// AddOutput returns a copy of g with the named tensor as an additional output. The tensor must be a
// result of a node.
func (g *Graph) AddOutput(name string) *Graph {
	c := g.Copy()
	c.Outputs = append(c.Outputs, name)
	return c
}

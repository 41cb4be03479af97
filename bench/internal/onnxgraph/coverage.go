package onnxgraph

import (
	"fmt"
	"slices"
	"strings"
)

// A Coverage counts operators in graphs, and chains of two and three operators in which each reads
// a result of the previous one. The zero value is an empty coverage, ready to use.
type Coverage struct {
	Graphs, Nodes int
	Operators     map[string]int // number of nodes by operator, such as "Conv"
	Pairs         map[string]int // number of pairs by name, such as "Conv>Relu"
	Triples       map[string]int // number of triples by name, such as "Conv>Relu>Mul"
}

// chains returns the names of the operators along each path of length nodes through g. An element
// is a string such as "Conv>Relu>Mul" if length is 3. Each node of a path reads a result of the
// previous one. Different paths can have equal names, so the result can contain duplicates.
func (g *Graph) chains(length int) []string {
	makers := g.IndexProducers()
	var chains []string
	var extend func(i int, ops []string)
	extend = func(i int, ops []string) {
		ops = append([]string{g.Nodes[i].Op}, ops...)
		if len(ops) == length {
			chains = append(chains, strings.Join(ops, ">"))
			return
		}
		var seen []int // an operator that reads a tensor twice is one path
		for _, in := range g.Nodes[i].Inputs {
			if p, ok := makers[in]; ok && !slices.Contains(seen, p) {
				seen = append(seen, p)
				extend(p, ops)
			}
		}
	}
	for i := range g.Nodes {
		extend(i, nil)
	}
	return chains
}

// Add adds the operators, pairs and triples of g to the counts.
func (c *Coverage) Add(g *Graph) {
	if c.Operators == nil {
		c.Operators, c.Pairs, c.Triples = map[string]int{}, map[string]int{}, map[string]int{}
	}
	c.Graphs++
	c.Nodes += len(g.Nodes)
	for i, counts := range []map[string]int{c.Operators, c.Pairs, c.Triples} {
		for _, chain := range g.chains(i + 1) {
			counts[chain]++
		}
	}
}

// String returns a line such as
//
//	2000 graphs, 11000 nodes, 90 operators, 2500 of 8100 pairs, 9000 triples
func (c *Coverage) String() string {
	n := len(c.Operators)
	return fmt.Sprintf("%d graphs, %d nodes, %d operators, %d of %d pairs, %d triples", c.Graphs, c.Nodes, n, len(c.Pairs), n*n, len(c.Triples))
}

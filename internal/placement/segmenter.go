package placement

import (
	"math"

	"gonum.org/v1/gonum/graph/path"
	"gonum.org/v1/gonum/graph/simple"
)

// A Segmenter is a way to assign operations to backends. The documents name three, and say of the
// last that it minimizes the cost of a path. The rules of the other two are assumed from their names,
// greedy and graph-grouped.
type Segmenter string

// The segmenters.
const (
	// Coarse gives each operation the backend on which it is fastest by itself, without regard to
	// launches and transfers.
	Coarse Segmenter = "coarse"
	// Graph gives each connected group of operations that the engine supports one backend, and any
	// other operation its fastest one.
	Graph Segmenter = "graph"
	// ShortestPath gives the cheapest plan of all.
	ShortestPath Segmenter = "shortest-path"
)

// Segmenters returns all segmenters.
func Segmenters() []Segmenter { return []Segmenter{Coarse, Graph, ShortestPath} }

// choose returns the number of the backend of each operation. Every operation must have a backend
// that supports it.
func (s Segmenter) choose(g *costGraph) []int {
	switch s {
	case Coarse:
		list := make([]int, len(g.n.Operations))
		for i := range list {
			list[i] = g.findFastest([]int{i})
		}
		return list
	case Graph:
		return g.chooseByGroup()
	}
	list := make([]int, 0, len(g.n.Operations))
	nodes, _ := path.DijkstraFrom(simple.Node(g.sourceID()), g).To(g.sinkID())
	for _, x := range nodes {
		if _, b, ok := g.operationOfNode(x.ID()); ok {
			list = append(list, b)
		}
	}
	return list
}

// findFastest returns the backend that supports all of the given operations and takes the least time
// for them, the first of several. It returns -1 if there is none.
func (g *costGraph) findFastest(operations []int) int {
	best, least := -1, math.Inf(1)
	for b := range g.m.Backends {
		sum := 0.0
		for _, i := range operations {
			if !g.support[i][b].Taken {
				sum = math.Inf(1)
				break
			}
			sum += g.support[i][b].Ns
		}
		if sum < least {
			best, least = b, sum
		}
	}
	return best
}

// chooseByGroup returns the assignment of [Graph]. Two operations are in one group if the engine
// supports both and one reads a result of the other, or of another operation of the group.
func (g *costGraph) chooseByGroup() []int {
	list := make([]int, len(g.n.Operations))
	group := make([]int, len(list)) // an earlier operation of the same group, or itself
	find := func(i int) int {
		for group[i] != i {
			group[i] = group[group[i]]
			i = group[i]
		}
		return i
	}
	maker := map[string]int{}
	members := map[int][]int{}
	for i := range list {
		group[i] = i
		if g.isSupportedByEngine(i) {
			for _, in := range g.n.Operations[i].Inputs {
				if from, ok := maker[in]; ok {
					a, b := find(from), find(i)
					// Groups are disjoint sets, named by their first member.
					group[max(a, b)] = min(a, b)
				}
			}
			for _, out := range g.n.Operations[i].Outputs {
				maker[out] = i
			}
		}
	}
	for i := range list {
		members[find(i)] = append(members[find(i)], i)
	}
	for _, m := range members {
		b := g.findFastest(m)
		for _, i := range m {
			list[i] = b
		}
	}
	return list
}

// isSupportedByEngine reports whether a backend with the engine's layout supports operation i.
func (g *costGraph) isSupportedByEngine(i int) bool {
	for b := range g.m.Backends {
		if g.m.Backends[b].Interleaved && g.support[i][b].Taken {
			return true
		}
	}
	return false
}

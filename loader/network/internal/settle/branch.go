package settle

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"anesim/internal/network/graph"
)

// maxDepth is the largest nesting of branches.
const maxDepth = 8

// settleIf settles an If node: the branch that a constant condition selects, or both branches if
// the condition is computed.
func (s *settler) settleIf(n *Node) error {
	c := n.Input(0).Const
	if c == nil {
		// An error is kept in the node and not returned: it refuses this node, and reading goes on after
		// it.
		if n.Unstated = s.settleBothBranches(n); n.Unstated == nil {
			n.Unsized = inferBranchResults(n)
		}
		return nil
	}
	v, err := c.Scalar()
	if err != nil {
		return err
	}
	yes, a := n.Attribute("then_branch"), n.Attribute("else_branch")
	if v != 0 {
		a = yes
	}
	g, err := s.readBranchGraph(n, a)
	if err != nil {
		return err
	}
	// The branch becomes part of the graph around it, where names must stay unique.
	if name := s.findDuplicateName(g.Nodes); name != "" {
		return fmt.Errorf("branch redefines tensor %q; want a unique name", name)
	}
	s.declareConstants(g)
	s.depth++
	body, err := s.settleGraph(g)
	s.depth--
	if err != nil {
		return err
	}
	for i, out := range n.Out {
		body = append(body, newAliasNode(out, g.Outputs[i]))
	}
	n.Kind, n.Body = Branch, body
	return nil
}

// readBranchGraph returns the graph that a, an attribute of the If node n, holds. It returns an
// error if there is none, if it has fewer outputs than n, or if branches are nested too deeply.
func (s *settler) readBranchGraph(n *Node, a *graph.Attr) (*graph.Graph, error) {
	switch {
	case a == nil || a.Graph == nil:
		return nil, errors.New(`branch is missing; want graphs in "then_branch" and "else_branch"`)
	case len(a.Graph.Outputs) < len(n.Out):
		return nil, fmt.Errorf("branch has %d outputs; want at least %d", len(a.Graph.Outputs), len(n.Out))
	case s.depth > maxDepth:
		return nil, fmt.Errorf("branch nesting exceeds the limit of %d levels", maxDepth)
	}
	return a.Graph, nil
}

// settleBothBranches settles both branches of an If node whose condition is computed.
func (s *settler) settleBothBranches(n *Node) error {
	var graphs [2]*graph.Graph
	for i, name := range [...]string{"then_branch", "else_branch"} {
		g, err := s.readBranchGraph(n, n.Attribute(name))
		if err != nil {
			return err
		}
		if err := s.claimNames(g); err != nil {
			return err
		}
		graphs[i] = g
	}
	s.depth++
	for i, g := range graphs {
		s.declareConstants(g)
		side := &Side{Outputs: g.Outputs}
		for k, node := range g.Nodes {
			side.Nodes = append(side.Nodes, s.settleNode(k, node))
		}
		n.Sides[i] = side
	}
	s.depth--
	return nil
}

// claimNames adds the names of all tensors that a graph produces to the names in use. It returns an
// error if a name is in use already.
func (s *settler) claimNames(g *graph.Graph) error {
	var own []string
	for _, x := range g.Nodes {
		for _, out := range x.Out {
			own = append(own, out.Name)
		}
	}
	own = append(own, slices.Sorted(maps.Keys(g.Consts))...)
	for _, name := range own {
		if name != "" && s.taken[name] {
			return fmt.Errorf("branch redefines tensor %q; want a unique name", name)
		}
		s.taken[name] = true
	}
	return nil
}

// inferBranchResults gives each result of an If node with a computed condition the shape that the
// result has in both branches. It returns an error if the shapes differ.
func inferBranchResults(n *Node) error {
	var results []graph.Result
	for i := range n.Out {
		var sides [2]*graph.Value
		for k, side := range n.Sides {
			v := side.Outputs[i]
			switch {
			case v.Const != nil:
				return fmt.Errorf("branch result %q is a constant; want a computed tensor", v.Name)
			case v.Type != 0 && !v.Type.IsFloat():
				return fmt.Errorf("branch result %q has type %v; want a floating-point type", v.Name, v.Type)
			case v.Dims == nil:
				return fmt.Errorf("branch result %q has an unknown shape; want equal shapes in both branches", v.Name)
			}
			sides[k] = v
		}
		if !slices.Equal(sides[0].Dims, sides[1].Dims) {
			return fmt.Errorf("branch results have shapes %v and %v; want equal shapes", sides[0].Dims, sides[1].Dims)
		}
		results = append(results, graph.Result{Dims: sides[0].Dims, Type: sides[0].Type})
	}
	n.Results = results
	return nil
}

package network

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"anesim/loader/layer"
	"anesim/loader/network/choose"
	"anesim/loader/network/graph"
)

// both reads the nodes of both sides of a computed condition, and selects.
func (n *nodeReader) both() error {
	c, err := n.Whole(0)
	if err != nil {
		return errors.New(n.undecided())
	}
	if graph.Elements(c.Dims) != 1 {
		return errors.New("its condition is more than one value")
	}
	if why := n.bothSides(c); why != nil {
		return fmt.Errorf("%s; both sides and a choice do not go either: %v", n.undecided(), why)
	}
	return nil
}

// undecided says why a branch is open, and what may decide it.
func (n *nodeReader) undecided() string {
	for _, in := range n.Inputs() {
		if in.Shape.Elements() == 1 && in.Type != "" && in.Type[0] != 'f' {
			return fmt.Sprintf("its condition is computed; a value of input %q may decide it: --dim %[1]s=VALUE", in.Name)
		}
	}
	return "its condition is computed, not a constant; the host decides"
}

// bothSides reads both sides, and takes each result of the one or of the other: the sum of both,
// times the condition and times its opposite.
func (n *nodeReader) bothSides(c choose.Operand) error {
	graphs, err := n.branches()
	if err != nil {
		return err
	}
	n.depth++
	for _, g := range graphs {
		n.declare(g)
		n.nodes(g.Nodes)
	}
	n.depth--
	for _, l := range n.Net.Layers {
		if l.Reason != "" {
			return fmt.Errorf("%s: %s", l.Name, l.Reason)
		}
	}
	n.First = len(n.Net.Layers)
	not, err := n.Negated(choose.Operand{Name: c.Name}.As(slices.Repeat([]int{1}, 4)...))
	if err != nil {
		return err
	}
	n.Results = nil
	for i := range n.Out {
		sides, err := n.branchResults(graphs, i)
		if err != nil {
			return err
		}
		n.Results = append(n.Results, graph.Result{Dims: sides[0].Dims, Type: n.value(graphs[0].Outputs[i].Name).Type})
		for k, mask := range [...]choose.Operand{{Name: c.Name, Dims: []int{1}}, {Name: not.Name, Dims: []int{1}}} {
			if sides[k], err = n.Binary(layer.Mul, sides[k], mask); err != nil {
				return err
			}
		}
		x, err := n.Binary(layer.Add, sides[0], sides[1])
		if err == nil {
			err = n.Result(i, x)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// branches are the graphs of both sides. Names of what they make are taken from now on.
func (n *nodeReader) branches() (graphs [2]*graph.Graph, err error) {
	for i, side := range [...]string{"then_branch", "else_branch"} {
		a := n.Attr[side]
		if a == nil || a.Graph == nil || len(a.Graph.Outputs) < len(n.Out) || n.depth > 8 {
			return graphs, errors.New("it has no such branch")
		}
		graphs[i] = a.Graph
		var own []string
		for _, x := range a.Graph.Nodes {
			own = append(own, names(x.Out)...)
		}
		own = append(own, slices.Sorted(maps.Keys(a.Graph.Consts))...)
		for _, name := range own {
			if name != "" && n.taken[name] {
				return graphs, fmt.Errorf("%q is made on both sides, or elsewhere too", name)
			}
			n.taken[name] = true
		}
	}
	return graphs, nil
}

// branchResults are what both sides make of the i-th result, in one shape.
func (n *nodeReader) branchResults(graphs [2]*graph.Graph, i int) (sides [2]choose.Operand, err error) {
	for k, g := range graphs {
		name := g.Outputs[i].Name
		if t := n.value(name).Type; n.value(name).Const != nil || t != 0 && !t.IsFloat() || n.value(name).Dims == nil {
			return sides, fmt.Errorf("%q is a constant or no fp16", name)
		}
		sides[k] = choose.Operand{Name: n.TensorOf(name), Dims: n.value(name).Dims}
	}
	if !slices.Equal(sides[0].Dims, sides[1].Dims) {
		return sides, fmt.Errorf("%v on one side, %v on the other", sides[0].Dims, sides[1].Dims)
	}
	return sides, nil
}

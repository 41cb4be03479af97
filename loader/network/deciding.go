package network

import (
	"fmt"
	"slices"
	"strings"

	"anesim/internal/network/graph"
)

// isSingleInteger reports whether v is an input of one integer or truth value, such as the flag that
// chooses a branch of a decoder, which exporters give the shape [1]. The user may give such an input
// its value while the file is read.
func isSingleInteger(v graph.Port) bool {
	return v.Dims != nil && !v.Type.IsFloat() && v.Type.Width() > 0 &&
		!slices.ContainsFunc(v.Dims, func(d graph.Dim) bool { return d.Size != 1 })
}

// findDecidingInputs returns the inputs of m on which the given tensors depend, in the order of m.
func findDecidingInputs(m *graph.Model, tensors ...*graph.Value) (inputs []graph.Port) {
	made := map[*graph.Value]*graph.Node{}
	addProducers(made, &m.Graph)
	open, seen := slices.Clone(tensors), map[*graph.Value]bool{}
	for len(open) > 0 {
		v := open[len(open)-1]
		if open = open[:len(open)-1]; seen[v] {
			continue
		}
		if seen[v] = true; made[v] != nil {
			open = append(open, made[v].In...)
		}
	}
	for _, in := range m.Inputs {
		if v := m.Values[in.Name]; v != nil && seen[v] {
			inputs = append(inputs, in)
		}
	}
	return inputs
}

// addProducers adds the nodes of g, and of the graphs inside them, to made, a map by the tensors
// that they produce.
func addProducers(made map[*graph.Value]*graph.Node, g *graph.Graph) {
	for _, n := range g.Nodes {
		for _, out := range n.Out {
			made[out] = n
		}
		for _, a := range n.Attr {
			if a.Graph != nil {
				addProducers(made, a.Graph)
			}
		}
	}
}

// findConditionInputs returns the names of the inputs of m on which the conditions of its If nodes
// depend. It returns only inputs that are a single integer and have no value in sizes.
func findConditionInputs(m *graph.Model, sizes map[string]int) (names []string) {
	var conditions []*graph.Value
	for _, n := range m.Nodes {
		if n.Op == "If" && len(n.In) > 0 {
			conditions = append(conditions, n.In[0])
		}
	}
	for _, in := range findDecidingInputs(m, conditions...) {
		if _, given := sizes[in.Name]; !given && isSingleInteger(in) {
			names = append(names, in.Name)
		}
	}
	return names
}

// explainUndecided returns a text that says why v, on which the work of a node depends, is not known
// while the file is read. If values of integer inputs decide it, the text names the flag that sets
// them. role describes v, as in "condition".
func (r *reading) explainUndecided(role string, v *graph.Value) string {
	var all, given []string
	for _, in := range findDecidingInputs(r.model, v) {
		all = append(all, fmt.Sprintf("%q", in.Name))
		value := "VALUE"
		if in.Type == graph.Bool {
			value = "1 or 0"
		}
		if isSingleInteger(in) {
			given = append(given, in.Name+"="+value)
		}
	}
	switch {
	case len(all) == 0:
		return role + " is computed, not a constant; the host decides"
	case len(given) == len(all):
		return fmt.Sprintf("%s depends on input %s; choose it with --dim %s", role, strings.Join(all, ", "), strings.Join(given, ","))
	}
	return fmt.Sprintf("%s depends on the values of input %s; the host decides", role, strings.Join(all, ", "))
}

package network

import (
	"slices"

	"anesim/loader/network/onnx"
)

// elementwise are operators of one tensor that a transpose may pass.
var elementwise = []string{
	"Relu", "Sigmoid", "Tanh", "Exp", "Sqrt", "Log", "Abs", "Neg", "Erf", "Gelu", "Swish", "HardSwish", "HardSigmoid",
	"LeakyRelu", "Elu", "Softplus", "Clip", "Identity",
}

// straighten makes one transpose of two that follow one another, and none of two that
// undo each other, with elements' operators between them or without. An output of the
// network is read by whoever runs it: no operator passes a transpose in front of it.
func (r *graphReader) straighten(nodes []onnx.Node, outputs []onnx.Value) {
	maker, readers := map[string]int{}, map[string]int{}
	for _, out := range outputs {
		readers[out.Name]++
	}
	for i := range nodes {
		for _, in := range nodes[i].Inputs {
			readers[in]++
		}
		for _, a := range nodes[i].Attributes {
			if a.Graph != nil { // a branch may read any tensor
				return
			}
		}
	}
	for i := range nodes {
		node := &nodes[i]
		if outer := order(node); outer != nil {
			at, between := node.Inputs[0], []int(nil)
			k, ok := maker[at]
			for ok && readers[at] == 1 && slices.Contains(elementwise, nodes[k].Op) && nodes[k].Domain == "" && len(nodes[k].Inputs) > 0 {
				between = append(between, k)
				at = nodes[k].Inputs[0]
				before, made := maker[at]
				k, ok = before, made && before < k // a file's nodes may run in a circle
			}
			if ok && len(between) == 0 || ok && readers[at] == 1 {
				if inner := order(&nodes[k]); len(inner) == len(outer) {
					r.turn(nodes, node, &nodes[k], between, inner, outer)
				}
			}
		}
		for _, out := range node.Outputs {
			maker[out] = i
		}
	}
}

// turn rewires the outer transpose of two; nodes between them go in front of both.
func (r *graphReader) turn(nodes []onnx.Node, outer, inner *onnx.Node, between, first, second []int) {
	perm, same := &onnx.Attribute{}, true
	for i, p := range second {
		perm.Ints = append(perm.Ints, int64(first[p]))
		same = same && first[p] == i
	}
	if len(between) > 0 && !same {
		return
	}
	source := inner.Inputs[0]
	if len(between) > 0 {
		u := &nodes[between[len(between)-1]]
		u.Inputs = slices.Clone(u.Inputs)
		u.Inputs[0] = source
		source = outer.Inputs[0]
		for _, k := range between {
			delete(r.known, nodes[k].Outputs[0]) // the file states the shape it had behind the transpose
		}
	}
	r.bypassed[inner.Outputs[0]] = true
	outer.Inputs = []string{source}
	if same {
		outer.Op, outer.Attributes = "Identity", nil
		return
	}
	outer.Attributes = map[string]*onnx.Attribute{"perm": perm}
}

// order is the permutation that a transpose states, nil for another node.
func order(n *onnx.Node) []int {
	if n.Op != "Transpose" || n.Domain != "" || len(n.Inputs) != 1 || n.Attributes["perm"] == nil {
		return nil
	}
	p := make([]int, len(n.Attributes["perm"].Ints))
	seen := make([]bool, len(p))
	for i, v := range n.Attributes["perm"].Ints {
		if v < 0 || int(v) >= len(p) || seen[v] {
			return nil
		}
		p[i], seen[v] = int(v), true
	}
	return p
}

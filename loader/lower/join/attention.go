package join

import (
	"slices"

	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower/family"
)

// fuseAttention returns the nodes with each matmul, softmax and matmul that follow each other merged
// into one node, if nothing else reads the scores and they do not fit in L2. The node takes the place
// of the second matmul. Smaller scores stay in L2 between the layers: the vendor's compiler is known
// to lower such layers as row chains.
func (n *Network) fuseAttention(nodes []node) []node {
	readers, makers := map[string]int{}, map[string]int{}
	for _, out := range n.Outputs {
		readers[out]++
	}
	for i := range nodes {
		for _, in := range nodes[i].Inputs {
			readers[in]++
		}
		makers[nodes[i].Output] = i
	}
	// maker returns the index of the only node with operation op that makes a tensor for one reader.
	maker := func(name string, op layer.Op) (int, bool) {
		i, ok := makers[name]
		return i, ok && readers[name] == 1 && nodes[i].Part.Layer.Op == op && !nodes[i].Part.attention
	}
	kept := slices.Clone(nodes)
	gone := make([]bool, len(nodes))
	for i := range nodes {
		last := &nodes[i]
		if last.Part.Layer.Op != layer.MatMul || len(last.Inputs) != 2 || last.Inputs[0] == last.Inputs[1] {
			continue
		}
		s, ok := maker(last.Inputs[0], layer.Softmax)
		if !ok {
			continue
		}
		m, ok := maker(nodes[s].Inputs[0], layer.MatMul)
		if !ok || len(nodes[m].Inputs) != 2 {
			continue
		}
		part, ok := newAttentionPart(nodes[m].Part, nodes[s].Part, last.Part)
		if !ok {
			continue
		}
		kept[i] = node{
			Node{Part: part, Inputs: append(slices.Clone(nodes[m].Inputs), last.Inputs[1]), Output: last.Output},
			slices.Concat(nodes[m].members, nodes[s].members, last.members),
		}
		gone[m], gone[s] = true, true
	}
	at := 0
	return slices.DeleteFunc(kept, func(node) bool { at++; return gone[at-1] })
}

// newAttentionPart returns the part that computes three others: a matmul of two inputs, a softmax of
// its result, and the matmul of that and another input. Its inputs are both inputs of the first
// matmul and the second input of the other one. It reports false if [family.LowerAttention] does.
func newAttentionPart(scores, softmax, values *Part) (*Part, bool) {
	a := family.Attention{Scores: scores.Layer, Softmax: softmax.Layer, Values: values.Layer, Weights: &softmax.Weights}
	if !a.IsLarge() {
		return nil, false
	}
	made, ok := family.LowerAttention(&a)
	if !ok {
		return nil, false
	}
	q := &Part{Layer: scores.Layer, output: made, attention: true}
	for _, port := range made.Ports {
		if port.Direction == loader.Output {
			q.Shape, q.outputBAR = portShape(&port), uint32(port.BAR)
		} else {
			q.inputs = append(q.inputs, port)
		}
	}
	return q, true
}

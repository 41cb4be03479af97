package join

import (
	"slices"

	"anesim/loader"
	"anesim/loader/internal/lower/family"
	"anesim/loader/layer"
)

// fuseAttention returns the nodes with each matmul, softmax and matmul that follow each other merged
// into one node, if nothing else reads the scores and they do not fit in L2. Transposes of the heads'
// matrices before and between them are merged too. The node takes the place of the second matmul.
// Smaller scores stay in L2 between the layers: Apple's compiler is known to lower such layers as
// row chains.
func (n *Network) fuseAttention(nodes []node) []node {
	f := &attentionFinder{nodes: nodes, readers: map[string]int{}, makers: map[string]int{}}
	for _, out := range n.Outputs {
		f.readers[out]++
	}
	for i := range nodes {
		for _, in := range nodes[i].Inputs {
			f.readers[in]++
		}
		f.makers[nodes[i].Output] = i
	}
	kept := slices.Clone(nodes)
	gone := make([]bool, len(nodes))
	for i := range nodes {
		merged, ok := f.findAttention(i)
		if !ok {
			continue
		}
		for _, k := range merged.from { // the first one gives the node its name in reports
			gone[k] = true
			merged.members = append(merged.members, nodes[k].members...)
		}
		merged.members = append(merged.members, nodes[i].members...)
		kept[i] = merged.node
	}
	at := 0
	return slices.DeleteFunc(kept, func(node) bool { at++; return gone[at-1] })
}

// An attentionFinder finds the nodes of an attention by the names of their tensors.
type attentionFinder struct {
	nodes   []node
	readers map[string]int // number of nodes and outputs that read a tensor
	makers  map[string]int // index of the node that makes a tensor
}

// A mergedAttention is the node of an attention, and the indices of the other nodes whose work it
// does.
type mergedAttention struct {
	node
	from []int
}

// findAttention returns the node of the attention whose last matmul is node i. It reports false if
// there is none that [family.LowerAttention] supports.
func (f *attentionFinder) findAttention(i int) (m mergedAttention, ok bool) {
	values, ok := f.findProduct(i)
	if !ok {
		return m, false
	}
	// The softmax may be on either side of the last matmul, because a network may compute the transposed
	// product.
	for side := range values.inputs {
		s, ok := f.onlyMaker(values.inputs[side], layer.Softmax)
		if !ok {
			continue
		}
		softmax := f.nodes[s].Part
		at, ok := f.onlyMaker(f.nodes[s].Inputs[0], layer.MatMul)
		if !ok {
			continue
		}
		scores, ok := f.findProduct(at)
		if !ok {
			continue
		}
		a := family.Attention{
			Scores: scores.layer, Softmax: softmax.Layer, Values: values.layer, Weights: &softmax.Weights,
			KeysLeft: softmax.Layer.Axes == layer.AxisH, ValuesLeft: side == 1,
		}
		part, ok := newAttentionPart(&a)
		if !ok {
			continue
		}
		inputs := append(scores.inputs[:], values.inputs[1-side])
		// A softmax over H normalizes columns, so the scores are those of the transposed product, with the
		// keys on the left.
		if a.KeysLeft {
			inputs[0], inputs[1] = inputs[1], inputs[0]
		}
		m.from = slices.Concat([]int{at, s}, scores.transposes, values.transposes)
		m.Node = Node{Part: part, Inputs: inputs, Output: f.nodes[i].Output}
		return m, true
	}
	return m, false
}

// onlyMaker returns the index of the node with operation op that makes a tensor for one reader.
func (f *attentionFinder) onlyMaker(name string, op layer.Op) (int, bool) {
	i, ok := f.makers[name]
	return i, ok && f.readers[name] == 1 && f.nodes[i].Part.Layer.Op == op && !f.nodes[i].Part.attention
}

// A readProduct is a matmul of two inputs together with the transposes of its inputs: the layer reads
// the inputs of the transposes instead, if it does not read them transposed already. transposes has
// the indices of those that nothing else reads.
type readProduct struct {
	layer      layer.Layer
	inputs     [2]string
	transposes []int
}

// findProduct returns the matmul of node i with its transposes. It reports false if the node is no matmul of two
// different inputs.
func (f *attentionFinder) findProduct(i int) (p readProduct, ok bool) {
	x := &f.nodes[i]
	if x.Part.Layer.Op != layer.MatMul || x.Part.attention || len(x.Inputs) != 2 || x.Inputs[0] == x.Inputs[1] {
		return p, false
	}
	p.layer, p.inputs = x.Part.Layer, [2]string(x.Inputs)
	l := &p.layer
	rows, columns := [2]int{l.In.H, l.In.W}, [2]int{l.In.W, l.Columns}
	for side, transposed := range [...]*bool{&l.TransposeX, &l.TransposeY} {
		at, ok := f.makers[p.inputs[side]]
		if !ok {
			continue
		}
		r, c := rows[side], columns[side]
		if !*transposed {
			r, c = c, r // the transpose reads what the matmul would read transposed
		}
		if t := &f.nodes[at].Part.Layer; !transposesMatrices(t, l.In.N*l.In.C, r, c) || t.Activation != 0 {
			continue
		}
		if f.readers[p.inputs[side]] == 1 {
			p.transposes = append(p.transposes, at)
		}
		p.inputs[side] = f.nodes[at].Inputs[0]
		*transposed = !*transposed
	}
	return p, true
}

// transposesMatrices reports whether l transposes each of the given number of matrices, which follow
// each other, and does nothing else.
func transposesMatrices(l *layer.Layer, matrices, rows, columns int) bool {
	if l.Op != layer.Transpose {
		return false
	}
	s := l.In
	switch l.Permutation() {
	case [3]layer.Axes{layer.AxisC, layer.AxisW, layer.AxisH}:
		return s.N*s.C == matrices && s.H == rows && s.W == columns
	case [3]layer.Axes{layer.AxisW, layer.AxisH, layer.AxisC}:
		return s.H == 1 && s.N == matrices && s.C == rows && s.W == columns
	}
	return false
}

// newAttentionPart returns the part that computes a, with the queries, the keys and the values as its
// inputs. It reports false if the scores are small or if [family.LowerAttention] does.
func newAttentionPart(a *family.Attention) (*Part, bool) {
	if !a.IsLarge() {
		return nil, false
	}
	made, ok := family.LowerAttention(a)
	if !ok {
		return nil, false
	}
	q := &Part{Layer: a.Scores, output: made, attention: true}
	for _, port := range made.Ports {
		if port.Direction == loader.Output {
			q.Shape, q.outputBAR = portShape(&port), uint32(port.BAR)
		} else {
			q.inputs = append(q.inputs, port)
		}
	}
	return q, true
}

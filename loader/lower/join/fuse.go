package join

import (
	"slices"

	"github.com/x448/float16"

	"anesim/loader/layer"
)

// A Step is a layer at work on tensors before it is lowered.
type Step struct {
	Layer   layer.Layer
	Weights layer.Weights
	Inputs  []string
	Output  string
	// ByColumn says that the second operand is one row of constants, a value a column, and Columns
	// are those: nil where nobody gave them. Stored says that a constant operand of the layer is no
	// value a channel, whatever its Second says.
	ByColumn, Stored bool
	Columns          []float16.Float16
	// Rounds says that the result has to be rounded by itself, so that no layer takes it in.
	Rounds bool
	// Average says that the weights are all one over their number, and stay so.
	Average bool
	// Apart keeps a step that the engine has no form for as it is.
	Apart bool
	// Does are the steps whose work it does, as they were given to Fuse. The first is the one that
	// it is told as.
	Does []int
}

// A Fusion makes one step of several.
type Fusion struct {
	Outputs []string // of the network; nobody takes them in
	// Arranged says that tensors have their rows, so that one is no longer seen in rows of another
	// width for nothing.
	Arranged bool
}

// Fuse gives every step what follows it, is read by nobody else and can be done on the way out, by
// the rules of the package. It changes neither its argument nor a value that others read.
func (f Fusion) Fuse(steps []Step) []Step {
	readers, maker := map[string]int{}, map[string]int{}
	for _, out := range f.Outputs {
		readers[out]++
	}
	for i := range steps {
		for _, in := range steps[i].Inputs {
			readers[in]++
		}
	}
	kept := make([]Step, 0, len(steps))
	for i, s := range steps {
		s.Does = []int{i}
		at := -1
		for k, in := range s.Inputs {
			if m, ok := maker[in]; ok && readers[in] == 1 && f.take(&kept[m], &s, k) {
				at = m
				break
			}
		}
		if at < 0 {
			at = len(kept)
			kept = append(kept, s)
		}
		maker[s.Output] = at
	}
	return kept
}

// take makes one step of a and b, whose input is what a makes, by the first rule that does.
func (f Fusion) take(a, b *Step, input int) bool {
	if a.Apart || b.Apart || b.Rounds || !f.sees(a, b, input) {
		return false
	}
	for i := range rules {
		one := *a
		if !rules[i].fuse(&one, b, input) || one.Layer.Validate() != nil {
			continue
		}
		one.Output = b.Output
		one.Does = slices.Concat(a.Does, b.Does)
		if rules[i].second {
			one.Does = slices.Concat(b.Does, a.Does)
		}
		*a = one
		return true
	}
	return false
}

// sees reports whether b sees a's result where a could leave b's. Elements follow each other in the
// order of the axes whatever the view. Once they stand in rows, the width of these must be the same,
// and the shape where it is that of a port.
func (f Fusion) sees(a, b *Step, input int) bool {
	have, want := a.Layer.Out(), b.Layer.In
	if input > 0 {
		want = b.Layer.SecondShape
	}
	switch {
	case have.Elements() != want.Elements():
		return false
	case !f.Arranged || have == want:
		return true
	}
	return have.W == want.W && !slices.Contains(f.Outputs, b.Output)
}

// fused are the nodes of the network as Fuse leaves them.
func (n *Network) fused() ([]node, error) {
	values := map[string][]float16.Float16{}
	for i := range n.Inputs {
		values[n.Inputs[i].Name] = n.Inputs[i].Values
	}
	steps := make([]Step, len(n.Nodes))
	for i := range n.Nodes {
		x := &n.Nodes[i]
		s := Step{Layer: x.Part.Layer, Weights: x.Part.Weights, Inputs: x.Inputs, Output: x.Output, Rounds: x.Rounds}
		if l := &s.Layer; l.Second == layer.Runtime && len(x.Inputs) == 2 {
			s.Columns = values[x.Inputs[1]]
			s.ByColumn = l.SecondShape == layer.Shape{N: 1, C: 1, H: 1, W: l.In.W} && len(s.Columns) == l.In.W
		}
		steps[i] = s
	}
	var nodes []node
	for _, s := range (Fusion{Outputs: n.Outputs, Arranged: true}).Fuse(steps) {
		x := node{n.Nodes[s.Does[0]], s.Does}
		if len(s.Does) > 1 {
			part, err := n.part(&s, steps)
			if err != nil {
				return nil, n.wrong(s.Does[0], "with what follows it: %v", err)
			}
			x.Node = Node{Part: part, Inputs: s.Inputs, Output: s.Output}
		}
		nodes = append(nodes, x)
	}
	return nodes, nil
}

// part is the part of a step that does the work of several nodes. Nodes of the same parts have the
// same one, so that it has its constants in a program once.
func (n *Network) part(s *Step, given []Step) (*Part, error) {
	p := n.Nodes[s.Does[0]].Part
	for k, i := range s.Does[1:] {
		key := taken{next: n.Nodes[i].Part}
		if given[i].ByColumn {
			key.values = &given[i].Columns[0]
		}
		next := p.with(key)
		if k == len(s.Does)-2 {
			next.mu.Lock()
			defer next.mu.Unlock()
			if next.made == nil {
				if err := next.lower(s.Layer, s.Weights); err != nil {
					return nil, err
				}
			}
		}
		p = next
	}
	return p, nil
}

// with is the part that takes another in, which may not be lowered yet.
func (q *Part) with(key taken) *Part {
	q.mu.Lock()
	defer q.mu.Unlock()
	next, ok := q.taken[key]
	if !ok {
		next = &Part{}
		if q.taken == nil {
			q.taken = map[taken]*Part{}
		}
		q.taken[key] = next
	}
	return next
}

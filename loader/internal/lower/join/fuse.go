package join

import (
	"slices"

	"github.com/x448/float16"

	"anesim/loader/layer"
)

// A Step is one layer of a network before fusion, with the names of the tensors that it reads and
// writes.
type Step struct {
	Layer   layer.Layer
	Weights layer.Weights
	Inputs  []string
	Output  string
	// ByColumn is set if the second operand is a row of constants with one value for each column.
	// Columns holds these values, or is nil if they are not known.
	ByColumn bool
	Columns  []float16.Float16
	// Stored is set if the constant operand does not have one value for each channel, even if
	// Layer.Second is layer.Constant.
	Stored bool
	// Rounds is set if the result must be rounded on its own. Such a step is never merged into the
	// step before it.
	Rounds bool
	// Average is set if each of the n weights is 1/n and must stay so.
	Average bool
	// Unfusable is set for a step that the engine cannot run. Such a step stays as it is.
	Unfusable bool
	// Merged holds the indices of the steps passed to Fuse whose work this step does. The first
	// one gives the step its identity in reports.
	Merged []int
}

// A Fusion merges layers of a network that a single task can compute together, such as a
// convolution and the ReLU after it.
type Fusion struct {
	// Outputs names the tensors that the network returns. A step that makes one of them is never
	// merged with a step that reads it.
	Outputs []string
	// Arranged is set once tensors are laid out in rows. From then on, reading a tensor in rows of
	// another width is not free.
	Arranged bool
}

// Fuse merges steps of a network and returns the steps that remain. A step is merged into the step
// that makes its input if nothing else reads that input and one task can do the work of both. The
// steps must be in the order in which they run. Fuse does not change steps or the values that they
// share.
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
		s.Merged = []int{i}
		at := -1
		for k, in := range s.Inputs {
			if m, ok := maker[in]; ok && readers[in] == 1 && f.mergeSteps(&kept[m], &s, k) {
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

// mergeSteps applies the first fusion rule that fits steps a and b, after which step a does the
// work of both. Step b reads the result of a as its operand with index input. If no rule fits,
// mergeSteps returns false and does not change a.
func (f Fusion) mergeSteps(a, b *Step, input int) bool {
	if a.Unfusable || b.Unfusable || b.Rounds || !f.canWriteInShape(a, b, input) {
		return false
	}
	for i := range rules {
		one := *a
		if !rules[i].fuse(&one, b, input) || one.Layer.Validate() != nil {
			continue
		}
		one.Output = b.Output
		one.Merged = slices.Concat(a.Merged, b.Merged)
		if rules[i].keepsSecond {
			one.Merged = slices.Concat(b.Merged, a.Merged)
		}
		*a = one
		return true
	}
	return false
}

// canWriteInShape reports whether a can write its result directly in the shape in which b reads it
// as its operand with index input. The number of elements must be the same. Once tensors are
// arranged in rows, the rows must also have the same width, and a result of the network must keep
// its shape.
func (f Fusion) canWriteInShape(a, b *Step, input int) bool {
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

// fuseNodes returns the nodes of the network after fusion. If a node merges several nodes, it gets
// a new part that computes all of them.
func (n *Network) fuseNodes() ([]node, error) {
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
		part, err := n.lowerMerged(&s, steps)
		if err != nil {
			return nil, n.errorf(s.Merged[0], "cannot merge with the following layers: %v", err)
		}
		nodes = append(nodes, node{Node{Part: part, Inputs: s.Inputs, Output: s.Output}, s.Merged})
	}
	return nodes, nil
}

// lowerMerged returns the part for s, which merges one or more of the given steps. If another step
// merges the same parts, both get the same part, so that a program stores its constants once.
func (n *Network) lowerMerged(s *Step, given []Step) (*Part, error) {
	p := n.Nodes[s.Merged[0]].Part
	for k, i := range s.Merged[1:] {
		key := mergeKey{next: n.Nodes[i].Part, before: i < s.Merged[0]}
		if given[i].ByColumn {
			key.values = &given[i].Columns[0]
		}
		next := p.findOrMakeMergedPart(key)
		if k == len(s.Merged)-2 {
			next.mu.Lock()
			defer next.mu.Unlock()
			if next.output == nil {
				if err := next.lowerLayer(s.Layer, s.Weights); err != nil {
					return nil, err
				}
			}
		}
		p = next
	}
	return p, nil
}

// findOrMakeMergedPart returns the part that merges q with the part of key. The first call creates
// it without lowering it.
func (q *Part) findOrMakeMergedPart(key mergeKey) *Part {
	q.mu.Lock()
	defer q.mu.Unlock()
	next, ok := q.merged[key]
	if !ok {
		next = &Part{}
		if q.merged == nil {
			q.merged = map[mergeKey]*Part{}
		}
		q.merged[key] = next
	}
	return next
}

package lower

// pair folds a rectifier into the layer before it, which does it on its way out, or into
// the addition behind it, which does it on its way in: x + relu(x) is one task (1/1). It
// returns nil where node i and the one behind it do not fold.
func (f *folder) pair(i int) *folded {
	if i+1 >= len(f.net.Nodes) {
		return nil
	}
	a, b := &f.net.Nodes[i], &f.net.Nodes[i+1]
	if a.Part == nil || b.Part == nil || f.readers[a.Output] != 1 {
		return nil
	}
	l, m := a.Part.layer, b.Part.layer
	into := i
	var part *Part
	switch {
	case m.Op == ReLU && len(b.Inputs) == 1 && b.Inputs[0] == a.Output && l.Activation == 0 && m.In == a.Part.out:
		part = a.Part.rectified()
	case l.Op == ReLU && m.Op == Add && m.Second == Runtime && m.SecondShape == m.In && l.In == m.In &&
		len(b.Inputs) == 2 && b.Inputs[0] == a.Inputs[0] && b.Inputs[1] == a.Output:
		m.Second, m.SecondReLU = Itself, true
		part, _ = NewPart(m, Weights{})
		into = i + 1
	}
	if part == nil || len(part.inputs) != len(a.Part.inputs) {
		return nil
	}
	return &folded{
		part: part, inputs: a.Inputs, output: b.Output,
		nodes: []int{into}, runs: []Run{{0, len(part.plan.tasks)}},
		none: map[int]int{i + i + 1 - into: into},
	}
}

// rectified is the part with ReLU on its result, nil where its tasks cannot do that.
func (q *Part) rectified() *Part {
	q.once.Do(func() {
		l := q.layer
		l.Activation = ReLU
		if p, err := NewPart(l, q.weights); err == nil && len(p.plan.tasks) == len(q.plan.tasks) {
			q.relu = p
		}
	})
	return q.relu
}

package join

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/coeff"
	"anesim/loader/lower/place"
	"anesim/loader/lower/task"
)

// pair folds a rectifier or a table into the layer before it, which applies it on its way
// out, or a rectifier into the addition behind it, which does it on its way in: x +
// relu(x) is one task (1/1). That a table rides on a convolution as it does on a matrix
// product (5/5) is inferred. It returns nil where node i and the one behind it do not fold.
func (f *folder) pair(i int) *folded {
	if i+1 >= len(f.net.Nodes) {
		return nil
	}
	a, b := &f.net.Nodes[i], &f.net.Nodes[i+1]
	if a.Part == nil || b.Part == nil || f.readers[a.Output] != 1 {
		return nil
	}
	l, m := a.Part.Layer, b.Part.Layer
	into := i
	var part *Part
	switch {
	case m.Op == layer.ReLU && len(b.Inputs) == 1 && b.Inputs[0] == a.Output && l.Activation == 0 && m.In == a.Part.Shape:
		part = a.Part.rectified()
	case plainTable(m.Op) && len(b.Inputs) == 1 && b.Inputs[0] == a.Output && l.Activation == 0 && m.In == a.Part.Shape:
		part = a.Part.tabled(b.Part.Weights.Table)
	case l.Op == layer.ReLU && m.Op == layer.Add && m.Second == layer.Runtime && m.SecondShape == m.In && l.In == m.In &&
		len(b.Inputs) == 2 && b.Inputs[0] == a.Inputs[0] && b.Inputs[1] == a.Output:
		m.Second, m.SecondReLU = layer.Itself, true
		part, _ = NewPart(m, layer.Weights{})
		into = i + 1
	}
	if part == nil || len(part.inputs) != len(a.Part.inputs) {
		return nil
	}
	return &folded{
		part: part, inputs: a.Inputs, output: b.Output,
		nodes: []int{into}, runs: []Run{{0, len(part.made.Tasks)}},
		none: map[int]int{i + i + 1 - into: into},
	}
}

// rectified is the part with ReLU on its result, nil where its tasks cannot do that.
func (q *Part) rectified() *Part {
	q.once.Do(func() {
		l := q.Layer
		l.Activation = layer.ReLU
		if p, err := NewPart(l, q.Weights); err == nil && len(p.made.Tasks) == len(q.made.Tasks) {
			q.relu = p
		}
	})
	return q.relu
}

// plainTable reports whether an activation is one table and nothing else, so that it may
// follow a multiply-accumulate.
func plainTable(o layer.Op) bool {
	switch o {
	case layer.Exp, layer.Rsqrt, layer.Log, layer.HardSwish, layer.LogicalNot:
		return false // scaled, biased or multiplied beside the table
	}
	return o.Activates() && o.Tables() == 1
}

// tabled is the part with a table behind its multiply-accumulates, nil where its result
// is not theirs. Every lane has the table ahead of its weights.
func (q *Part) tabled(table []byte) *Part {
	if len(table) != coeff.TableBytes {
		return nil
	}
	products := 0
	for _, t := range q.made.Tasks {
		bar, coefficients := t.KernelBar()
		switch {
		case t.Planar() || coefficients && bar != regs.BARWeights:
			return nil
		case t.Passes() && !t.On(task.OperandResult):
		case !t.Multiplies() || !coefficients || t.Activates() || !t.On(task.OperandResult) || t.Bar(task.OperandResult) != q.surface:
			return nil
		default:
			products++
		}
	}
	if products == 0 {
		return nil
	}
	at := place.Spots{}
	for i := range at {
		at[i].Bar = uint32(i)
	}
	p := *q.made
	p.Tasks, p.Constants = q.place(&at), coeff.Section{SizesOnly: q.made.Constants.SizesOnly}
	moved := map[int]int{} // blocks of coefficients by their place without the table
	for _, t := range p.Tasks {
		if !t.Multiplies() {
			continue
		}
		given := t.Lanes()
		base, ok := moved[given[0].Base]
		if !ok {
			base = p.Constants.Bytes
			moved[given[0].Base] = base
		}
		lanes := make([]coeff.Lane, len(given))
		size := 0
		for i, l := range given {
			lanes[i] = coeff.Lane{Base: size, Size: coeff.TableBytes + l.Size}
			size += lanes[i].Size
			if !ok {
				p.Constants.Add(table)
				p.Constants.Copy(&q.made.Constants, l.Base, l.Size)
			}
		}
		t.TakesTable(base, lanes, table)
	}
	if task.Refused(p.Tasks) != nil {
		return nil
	}
	return &Part{Layer: q.Layer, Weights: q.Weights, made: &p, inputs: q.inputs, Shape: q.Shape, surface: q.surface}
}

package lower

import "anesim/hw/regs"

// logE is log2(e) in fp16: the exponential's table is of 2^x.
const logE = 0x3dc5

// unary lowers an activation: a pass through the MAC engines' post-processing.
func (p *plan) unary() error {
	l := p.layer
	return p.apply(l.Op, l.In, p.input("x", l.In), p.output("y", l.In))
}

// behind is where a layer writes whose result takes a table: the scratch buffer, from
// where apply reads it. No program shows a table behind a multiply-accumulate, so the
// two do not share a descriptor.
func (p *plan) behind(y memory, s Shape) memory {
	if !p.layer.tabulated() {
		return y
	}
	y = surface(barScratch, s)
	p.scratch = y.depth * s.N
	return y
}

// finishActivation applies the table that behind made room for.
func (p *plan) finishActivation(s Shape, from, y memory) error {
	if !p.layer.tabulated() {
		return nil
	}
	return p.apply(p.layer.Activation, s, from, y)
}

// tabulated reports whether the layer's own descriptors cannot do its activation.
func (l *Layer) tabulated() bool { return l.Activation != 0 && l.Activation != ReLU }

// apply appends the task that passes x through an activation to y.
func (p *plan) apply(op Op, s Shape, x, y memory) error {
	in := regs.Shape{Groups: s.N, Channels: s.C, Height: s.H, Width: s.W}
	t := activation(op, in, p.layer.Epsilon)
	at := t.sourceTile()
	rows, tile := p.tileHeight(in, s, &Window{Kh: 1, Kw: 1, Sy: 1, Sx: 1}, &at)
	if err := p.checkTile(in, 1); err != nil {
		return err
	}
	t.tileRows(tile)
	t.source1(x, at, false)
	t.writes(y, at.row*rows)
	if err := p.tabulate(t, op); err != nil {
		return err
	}
	p.add(t)
	return nil
}

// activation is a pass-through task of an activation, without its operands and table.
func activation(op Op, in regs.Shape, epsilon float32) *task {
	mode := regs.PassThrough
	if op == Rsqrt {
		mode = regs.MantissaTable
	}
	t := engineTask(mode, in, in)
	t.unicast()
	t.engines(in.Channels)
	t.patch(in, true, nil)
	n := &t.g.NE
	switch op {
	case Exp:
		n.PostScale = n.PostScale.WithPostScale(logE)
	case Rsqrt:
		n.AccBias = n.AccBias.WithAccBias(half(epsilon))
	case ReLU:
		t.activate(regs.ReLU)
	}
	return t
}

// tabulate gives an activation its table; the section holds nothing else and is padded.
func (p *plan) tabulate(t *task, op Op) error {
	if op == ReLU {
		return nil
	}
	table := p.weights.Table
	if len(table) != tableBytes {
		return p.layer.wrong("the table of %v has %d bytes, want %d", op, len(table), tableBytes)
	}
	base := roundUp(len(p.constants), 64)
	section := make([]byte, roundUp(base+tableBytes, tableSection))
	copy(section, p.constants)
	copy(section[base:], table)
	p.constants = section
	t.lookup(base, table)
	return nil
}

package lower

import "anesim/hw/regs"

// logE is log2(e) in fp16: the exponential's table is of 2^x.
const logE = 0x3dc5

// unary lowers an activation: a pass through the MAC engines' post-processing.
func (p *plan) unary() error {
	l := p.layer
	in := regs.Shape{Groups: l.In.N, Channels: l.In.C, Height: l.In.H, Width: l.In.W}
	x, y := p.input("x", l.In), p.output("y", l.In)
	t := activation(l.Op, in, l.Epsilon)
	at := engineTile(in, false, 1, false)
	rows, tile := p.tileHeight(in, l.In, &Window{Kh: 1, Kw: 1, Sy: 1, Sx: 1}, &at)
	if err := p.checkTile(in, 1); err != nil {
		return err
	}
	t.tileRows(tile)
	t.source1(x, at, false)
	t.writes(y, at.row*uint32(rows))
	if err := p.tabulate(t, l.Op); err != nil {
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
	base := roundUp(uint32(len(p.constants)), 64)
	section := make([]byte, roundUp(base+tableBytes, tableSection))
	copy(section, p.constants)
	copy(section[base:], table)
	p.constants = section
	t.lookup(base, table)
	return nil
}

package lower

import (
	"fmt"

	"anesim/hw/regs"
	"anesim/loader"
)

// copyTask passes a surface through the engines unchanged.
func (p *plan) copyTask(in, out view) error {
	if err := p.checkTile(in.s, 1); err != nil {
		return err
	}
	s := in.s
	t := engineTask(regs.PassThrough, s, s)
	t.unicast()
	t.engines(s.Channels)
	t.patch(s, true, nil)
	at := t.sourceTile()
	rows, tile := p.tileHeight(s, Shape{1, s.Channels, s.Height, s.Width}, &Window{Kh: 1, Kw: 1, Sy: 1, Sx: 1}, &at)
	t.tileRows(tile)
	t.source1(in.m, at, false)
	t.writes(out.m, at.row*rows)
	p.add(t)
	return nil
}

// concat copies the inputs behind one another along the channels, a task each (2/2).
func (p *plan) concat() error {
	l := p.layer
	y := surface(bar5, l.In)
	inputs := make([]memory, len(l.Parts))
	for i, c := range l.Parts {
		s := l.In
		s.C = c
		bar := uint32(bar4)
		if i > 0 {
			bar = bar5 + uint32(i)
		}
		inputs[i] = p.port(fmt.Sprintf("x%d", i), loader.Input, bar, s, surface(bar, s))
		if i == 0 {
			y = p.output("y", l.In)
		}
	}
	first := 0
	for i, c := range l.Parts {
		s := l.In
		s.C = c
		in, out := viewOf(inputs[i], s), viewOf(y, s)
		out.m.base += first * y.plane
		if err := p.copyTask(in, out); err != nil {
			return err
		}
		first += c
	}
	return nil
}

// transpose exchanges channel and x on the way to memory.
func (p *plan) transpose() error {
	l := p.layer
	x, y := p.input("x", l.In), p.output("y", l.Out())
	in := viewOf(x, l.In)
	if err := p.checkTile(in.s, 1); err != nil {
		return err
	}
	t := exchange(in.s)
	at := t.sourceTile()
	rows, tile := p.tileHeight(in.s, l.In, &Window{Kh: 1, Kw: 1, Sy: 1, Sx: 1}, &at)
	t.tileRows(tile)
	t.source1(x, at, false)
	t.writes(y, at.row*rows)
	p.add(t)
	return nil
}

// slice copies a part of a tensor. A first column that stands at no multiple of 64 bytes
// is reached in the L2: the tile is exchanged, so that columns become channels, and its
// channels from there on are exchanged back.
func (p *plan) slice() error {
	l := p.layer
	x, y := p.input("x", l.In), p.output("y", l.Size)
	in, out := viewOf(x, l.Size), viewOf(y, l.Size)
	in.m.base = l.Begin.N*x.depth + l.Begin.C*x.plane + l.Begin.H*x.row
	if skip := l.Begin.W * elementBytes; skip%64 == 0 {
		in.m.base += skip
		return p.copyTask(in, out)
	}
	in.m.base += l.Begin.W * elementBytes &^ 63
	column := l.Begin.W % 32
	in.s.Width += column
	for n := range l.Size.N {
		if err := p.shifted(in.element(n), out.element(n), column); err != nil {
			return err
		}
	}
	return nil
}

// shifted copies all but the first columns.
func (p *plan) shifted(in, out view, columns int) error {
	s := in.s
	turned := packed(regs.Shape{Channels: s.Width, Width: s.Channels})
	prep := exchange(s)
	from := prep.sourceTile()
	bytes := turned.row * s.Height
	if err := within(limit{"bytes of tiles in the L2", bytes + from.row*s.Height, MaxTile,
		"begin at a multiple of 32 columns, or split the tensor until they are at most %d"}); err != nil {
		return err
	}
	prep.source1(in.m, from.moved(bytes), false)
	kept := prep.leaves(turned, bytes)
	p.add(prep)

	back := exchange(regs.Shape{Groups: 1, Channels: s.Width - columns, Height: s.Height, Width: s.Channels})
	back.reads(kept, turned.moved(columns*turned.channel))
	back.writes(out.m, bytes)
	p.add(back)
	return nil
}

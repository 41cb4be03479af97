package lower

import (
	"anesim/hw/regs"
	"anesim/loader"
)

// elementwise lowers an operation on two operands to one task of the planar engine, and
// one before it that brings a repeated operand into the L2.
//
//	x --DMA--> L2 --+
//	                planar engine --> y
//	z --DMA--> L2 --+        or a constant in BiasScale, or a row of them in the constants
func (p *plan) elementwise() error {
	l := p.layer
	in := regs.Shape{Groups: l.In.N, Channels: l.In.C, Height: l.In.H, Width: l.In.W}
	x := p.input("x", l.In)
	switch {
	case l.Second == Scalar:
		return p.scalar(in, x)
	case l.Second == Constant:
		return p.channelConstants(in, x)
	case l.Second == Runtime && l.SecondShape != l.In:
		return p.repeated(in, x)
	}
	z := x
	if l.Second == Runtime {
		// The second input stands behind the result.
		z = surface(bar6, l.In)
	}
	y := p.output("y", l.Out())
	if l.Second == Runtime {
		z = p.port("z", loader.Input, bar6, l.In, z)
	}
	t := p.planarOp(regs.FormTwoSources, in)
	at := t.planarTile()
	rows, err := p.planarRows(in, &at, 2)
	if err != nil {
		return err
	}
	t.tileRows(rows)
	t.source1(x, at, false)
	second := secondBase(at.row * rows)
	t.source2(z, at.moved(second))
	t.writes(y, second+at.row*rows)
	p.add(t)
	return nil
}

// secondBase is where the second tile stands behind a first of n bytes: at a multiple of
// 64, but not in the bank where the first begins, of 64 banks of 16 bytes (8/8).
func secondBase(n int) int {
	n = roundUp(n, 64)
	if n%0x400 == 0 {
		n += 64
	}
	return n
}

func (t *task) tileRows(rows int) {
	t.g.Common.TileCfg = t.g.Common.TileCfg.WithTileHeight(uint32(rows))
}

// planarRows is how many rows of n such tiles fit the L2 at a time (holds where all do:
// 25/25; less is assumed).
func (p *plan) planarRows(s regs.Shape, at *layout, n int) (int, error) {
	if n*at.row*s.Height <= MaxTile {
		return s.Height, nil
	}
	rows := MaxTile / (n * at.row)
	if rows == 0 {
		return 0, within(limit{"bytes of a row in the L2", n * at.row, MaxTile,
			"split the width or the channels until it is at most %d"})
	}
	return rows, nil
}

// planarOp is a planar task of the layer's operation.
func (p *plan) planarOp(form regs.PlanarForm, in regs.Shape) *task {
	t := planarTask(form, in, in)
	cfg := t.g.PE.Cfg.WithSecSrc(2)
	switch p.layer.Op {
	case Sub:
		cfg = cfg.WithSecSrc(3) // an addition with the second sign turned
	case Mul:
		cfg = cfg.WithOpMode(regs.PlanarMul)
	case Max:
		cfg = cfg.WithOpMode(regs.PlanarMax)
	case Min:
		cfg = cfg.WithOpMode(regs.PlanarMin)
	}
	t.g.PE.Cfg = cfg
	if p.layer.SecondReLU {
		t.g.L2.Cfg = t.g.L2.Cfg.WithInputReLU2(true)
	}
	return t
}

// scalar adds or multiplies by one constant: the planar engine's own bias and scale.
func (p *plan) scalar(in regs.Shape, x memory) error {
	y := p.output("y", p.layer.Out())
	t := planarTask(regs.FormConstant, in, in)
	v := uint16(value(p.weights.Second, 0))
	switch p.layer.Op {
	case Add:
		t.g.PE.BiasScale = t.g.PE.BiasScale.WithBias(v)
	case Sub:
		t.g.PE.BiasScale = t.g.PE.BiasScale.WithBias(v ^ 0x8000)
	case Mul:
		t.g.PE.BiasScale = t.g.PE.BiasScale.WithScale(v)
	default:
		return p.layer.unsupported("no program shows a constant operand; give it as a second input")
	}
	at := t.planarTile()
	rows, err := p.planarRows(in, &at, 1)
	if err != nil {
		return err
	}
	t.tileRows(rows)
	t.source1(x, at, false)
	t.writes(y, at.row*rows)
	p.add(t)
	return nil
}

// repeated brings the second input, repeated along some axes, into the L2 first. Where
// both have a batch, each element goes by itself.
func (p *plan) repeated(in regs.Shape, x memory) error {
	l := p.layer
	s := l.SecondShape
	y := p.output("y", l.Out())
	z := p.port("z", loader.Input, bar6, s, surface(bar6, s))
	if s.N == 1 {
		return p.repeat(in, x, y, z)
	}
	in.Groups = 1
	for n := range l.In.N {
		if err := p.repeat(in, x.element(n), y.element(n), z.element(n)); err != nil {
			return err
		}
	}
	return nil
}

func (p *plan) repeat(in regs.Shape, x, y, z memory) error {
	s := p.layer.SecondShape
	small := regs.Shape{Groups: 1, Channels: s.C, Height: s.H, Width: s.W}
	prep := engineTask(regs.PassThrough, small, small)
	prep.unicast()
	prep.engines(s.C)
	prep.patch(small, true, nil)
	at := prep.resultTile(small)
	bytes := at.row * s.H
	if err := p.checkTile(small, s.H); err != nil {
		return err
	}
	kept := prep.leaves(at, bytes)
	prep.source1(z, prep.sourceTile().moved(roundUp(bytes, 64)), false)
	p.add(prep)

	t := p.planarOp(regs.FormTwoSources, in)
	c := &t.g.Common
	c.PlanarOperands = c.PlanarOperands.WithSrc2BroadcastW(s.W < in.Width).WithSrc2BroadcastH(s.H < in.Height).
		WithSrc2BroadcastC(s.C < in.Channels)
	return p.besideTile(t, in, x, y, kept, at, bytes)
}

// besideTile reads x into the L2 behind a kept second operand and writes y.
func (p *plan) besideTile(t *task, in regs.Shape, x, y memory, kept *tile, second layout, used int) error {
	at := t.planarTile()
	if used+at.row*in.Height > MaxTile {
		rows := (MaxTile - used) / at.row
		if rows < 1 {
			return within(limit{"bytes of a row in the L2", used + at.row, MaxTile,
				"split the width or the channels until it is at most %d"})
		}
		t.tileRows(rows)
	}
	rows := int(t.g.Common.TileCfg.TileHeight())
	t.source1(x, at.moved(used), false)
	t.joins(kept, second)
	t.writes(y, used+at.row*rows)
	p.add(t)
	return nil
}

// channelConstants joins every channel with its own constant: a row of addends and a row
// of factors in the constants, loaded as a picture of two rows first.
func (p *plan) channelConstants(in regs.Shape, x memory) error {
	l := p.layer
	y := p.output("y", l.Out())
	row := roundUp(l.In.C*elementBytes, 64)
	p.constants = make([]byte, 2*row)
	for c := range l.In.C {
		bias, scale := uint16(0), uint16(halfOne)
		v := uint16(value(p.weights.Second, c))
		switch l.Op {
		case Add:
			bias = v
		case Sub:
			bias = v ^ 0x8000
		case Mul:
			scale = v
		default:
			return l.unsupported("no program shows constants a channel; give them as a second input")
		}
		putHalf(p.constants[2*c:], bias)
		putHalf(p.constants[row+2*c:], scale)
	}
	rows := regs.Shape{Groups: 1, Channels: 1, Height: 2, Width: l.In.C}
	prep := engineTask(regs.PassThrough, rows, rows)
	prep.unicast()
	prep.engines(1)
	prep.patch(rows, true, nil)
	at := prep.resultTile(rows)
	kept := prep.leaves(at, 2*at.row)
	prep.source1(surface(regs.BARWeights, Shape{1, 1, 2, l.In.C}), prep.sourceTile().moved(2*at.row), false)
	p.add(prep)

	t := planarTask(regs.FormBiasScale, in, in)
	t.g.PE.Cfg = t.g.PE.Cfg.WithSecSrc(2)
	t.g.Common.PlanarOperands = t.g.Common.PlanarOperands.WithSrc2Transpose(true)
	return p.besideTile(t, in, x, y, kept, at, 2*at.row)
}

func putHalf(dst []byte, h uint16) { dst[0], dst[1] = byte(h), byte(h>>8) }

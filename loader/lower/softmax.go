package lower

import (
	"anesim/hw/regs"
)

// softmax lowers exp(x - max) / sum over an axis to five tasks in the L2:
//
//	1  max over C             MAC engines          tile kept
//	2  (x - max) * log2 e     planar
//	3  2^d                    MAC engines, table
//	4  1 / sum over C         MAC engines, table
//	5  e * r                  planar --> y
//
// The axis has to be the channels: strides make H one, an exchange in the L2 makes W
// one, and the result is exchanged again. Tensors larger than the L2 go a run of rows
// at a time.
func (p *plan) softmax() error {
	l := p.layer
	if len(p.weights.Table) != tableBytes || len(p.weights.Reciprocal) != tableBytes {
		return l.wrong("softmax takes the table of 2^x and the one of 1/x, %d bytes each", tableBytes)
	}
	x, y := p.input("x", l.In), p.output("y", l.In)
	in, out := viewOf(x, l.In), viewOf(y, l.In)
	turn := false
	switch l.Axes {
	case AxisC:
	case AxisH:
		in, out = in.swapped(), out.swapped()
	case AxisW:
		turn = true
	default:
		return l.unsupported("softmax goes over one axis; C, H or W")
	}
	if err := p.checkUnicast(in.s.Channels); err != nil {
		return err
	}
	p.constants = append(append([]byte(nil), p.weights.Table...), p.weights.Reciprocal...)
	for n := range l.In.N {
		whole, result := in.element(n), out.element(n)
		rows := whole.s.Height
		for rows > 1 && softmaxBytes(whole.s, rows, turn) > MaxTile {
			rows = (rows + 1) / 2
		}
		if err := within(limit{"bytes of a row's tiles in the L2", softmaxBytes(whole.s, rows, turn), MaxTile,
			"split the axes that softmax leaves until they are at most %d"}); err != nil {
			return err
		}
		for first := 0; first < whole.s.Height; first += rows {
			m := min(rows, whole.s.Height-first)
			a, b := whole.run(first, m), result.run(first, m)
			if turn {
				p.softmaxTurned(a, b)
			} else {
				p.softmaxRun(a, b)
			}
		}
	}
	return nil
}

// run is m rows from first on.
func (v view) run(first, m int) view {
	v.m.base += first * v.m.row
	v.s.Height = m
	return v
}

// softmaxBytes is what the tiles of a run of rows take.
func softmaxBytes(s regs.Shape, rows int, turn bool) int {
	if turn {
		s.Channels, s.Width = s.Width, s.Channels
	}
	row := packed(s).row + 0x80
	n := 3*row + packed(regs.Shape{Channels: 1, Width: s.Width}).row
	if turn {
		n += packed(regs.Shape{Channels: s.Width, Width: s.Channels}).row + 0x80
	}
	return n*rows + 0x400
}

// softmaxRun is the five tasks over channels of a surface in memory.
func (p *plan) softmaxRun(in, out view) {
	s := in.s
	one := s
	one.Channels = 1
	// The maximum, and later the reciprocal, stands at 0, then the exponentials, the
	// differences and the source.
	single := packed(one)
	singles := single.row * s.Height
	exps := packed(s).moved(singles)
	pixel := s.Height == 1 && s.Width == 1
	diffs := exps
	if pixel {
		diffs = packed(regs.Shape{Channels: 1, Width: s.Channels})
	}
	diffs.base = exps.base + exps.row*s.Height
	source := engineTile(s, false, 1, false).moved(diffs.base + diffs.row*s.Height)

	top := maximumTask(s)
	tile := top.source1(in.m, source, true)
	largest := top.leaves(single, singles)
	p.add(top)
	p.softmaxTail(s, tile, largest, exps, diffs, out.m, false)
}

// softmaxTurned exchanges channel and x first, and x and channel last.
func (p *plan) softmaxTurned(in, out view) {
	s := in.s
	turned := s
	turned.Channels, turned.Width = s.Width, s.Channels
	one := turned
	one.Channels = 1
	single := packed(one)
	singles := single.row * s.Height
	exps := packed(turned).moved(singles)
	bytes := exps.row * s.Height
	diffs := exps.moved(exps.base + bytes)
	exchanged := exps.moved(diffs.base + bytes)
	from := engineTile(s, true, 1, false).moved(exchanged.base + bytes)

	prep := exchange(s)
	prep.source1(in.m, from, false)
	tile := prep.leaves(exchanged, bytes)
	p.add(prep)
	top := maximumTask(turned)
	top.reads(tile, exchanged)
	largest := top.leaves(single, singles)
	p.add(top)
	p.softmaxTail(turned, tile, largest, exps, diffs, out.m, true)
}

// softmaxTail is what follows the maximum.
func (p *plan) softmaxTail(s regs.Shape, tile, largest *tile, exps, diffs layout, y memory, turned bool) {
	pixel := s.Height == 1 && s.Width == 1
	bytes := exps.row * s.Height

	sub := planarTask(regs.FormTwoSources, s, s)
	sub.g.PE.Cfg = sub.g.PE.Cfg.WithSecSrc(3)
	sub.g.PE.BiasScale = sub.g.PE.BiasScale.WithScale(logE)
	c := &sub.g.Common
	c.PlanarOperands = c.PlanarOperands.WithSrc2BroadcastC(true)
	sub.reads(tile, tile.at)
	sub.joins(largest, largest.at)
	if pixel {
		// A pixel's channels become a row, so that sixteen engines share the table's
		// work; the row is described in the scratch buffer on the way (1/1).
		row := matrix(barScratch, 1, s.Channels)
		p.scratch = max(p.scratch, row.depth)
		c.PlanarOperands = c.PlanarOperands.WithResultTranspose(true)
		differences := sub.leavesScratch(diffs, diffs.row, row)
		p.add(sub)
		exp := exchange(regs.Shape{Groups: 1, Channels: 1, Height: 1, Width: s.Channels})
		exp.readsScratch(differences, row)
		p.softmaxDivide(s, exp, exps, diffs.base, largest.at, y, turned)
		return
	}
	differences := sub.leaves(diffs, bytes)
	p.add(sub)
	exp := engineTask(regs.PassThrough, s, s)
	exp.unicast()
	exp.engines(s.Channels)
	exp.patch(s, true, nil)
	exp.reads(differences, diffs)
	p.softmaxDivide(s, exp, exps, diffs.base, largest.at, y, turned)
}

// softmaxDivide is the exponential, the reciprocal of its sum, which takes the maximum's
// place, and their product.
func (p *plan) softmaxDivide(s regs.Shape, exp *task, exps layout, free int, single layout, y memory, turned bool) {
	bytes := exps.row * s.Height
	exp.lookup(0, p.weights.Table)
	powers := exp.leaves(exps, bytes)
	p.add(exp)

	one := s
	one.Channels = 1
	sum := engineTask(regs.MantissaTable, s, one)
	sum.engines(1)
	sum.patch(one, false, &Window{Kh: 1, Kw: 1, Sy: 1, Sx: 1})
	sum.reads(powers, exps)
	sum.lookup(tableBytes, p.weights.Reciprocal)
	reciprocals := sum.leaves(single, single.row*s.Height)
	p.add(sum)

	mul := planarTask(regs.FormTwoSources, s, s)
	mul.g.PE.Cfg = mul.g.PE.Cfg.WithSecSrc(2).WithOpMode(regs.PlanarMul)
	c := &mul.g.Common
	c.PlanarOperands = c.PlanarOperands.WithSrc1BroadcastC(true).WithResultTranspose(turned)
	mul.reads(reciprocals, single)
	mul.joins(powers, exps)
	mul.writes(y, free)
	p.add(mul)
}

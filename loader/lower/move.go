package lower

import (
	"fmt"

	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/layer"
)

// passTask passes a source through the engines unchanged.
func passTask(s regs.Shape) *task {
	t := engineTask(regs.PassThrough, s, s)
	t.unicast()
	t.engines(s.Channels)
	t.patch(s, true, nil)
	return t
}

// copyTask passes a surface through the engines unchanged.
func (p *plan) copyTask(in, out view) error {
	if err := p.checkTile(in.s, 1); err != nil {
		return err
	}
	s := in.s
	t := passTask(s)
	at := t.sourceTile()
	rows, tile := p.tileHeight(s, layer.Shape{N: 1, C: s.Channels, H: s.Height, W: s.Width}, pointwise, &at, false)
	t.tileRows(tile)
	t.source1(in.m, at, false)
	t.writes(out.m, at.row*rows)
	p.add(t)
	return nil
}

// pointwise is the window of one tap.
var pointwise = &layer.Window{Kh: 1, Kw: 1, Sy: 1, Sx: 1}

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

// transpose orders the axes anew in one task, whatever the order: strides name any axis
// channel or row, and the engines transpose channel and x where another axis becomes x.
//
//	x stays x           strides alone
//	channels become x   transpose
//	rows become x       rows as channels, transpose
//
// (The compiler's: C with H, H with W of one channel. The others are the same with
// other strides: inferred.)
func (p *plan) transpose() error {
	l := p.layer
	x, y := p.input("x", l.In), p.output("y", l.Out())
	order := l.Permutation()
	// Strides of the result by the axis of the input that stands there.
	to := map[layer.Axes]int{order[0]: y.plane, order[1]: y.row}
	in := viewOf(x, l.In)
	if order[2] == layer.AxisH {
		in = in.swapped()
	}
	out := memory{bar: y.bar, base: y.base, depth: y.depth, group: y.group}
	if order[2] == layer.AxisW {
		if order[0] == layer.AxisH {
			in = in.swapped()
		}
		out.plane, out.row = y.plane, y.row
		return p.eachElement(in, view{s: in.s, m: out}, p.copyTask)
	}
	// The transpose writes its columns as channels.
	rows := layer.AxisH
	if order[2] == layer.AxisH {
		rows = layer.AxisC
	}
	out.plane, out.row = to[layer.AxisW], to[rows]
	if in.s.Height == 1 {
		in.m.row, out.row = in.m.depth, out.depth
	}
	return p.eachElement(in, view{s: in.s, m: out}, func(in, out view) error {
		most := in.s.Height
		for ; most > 1; most = (most + 1) / 2 {
			if movedBytes(in.s, most) <= p.l2()-unitBytes {
				break
			}
		}
		if err := layer.Within("bytes of a row and its transpose in the L2", movedBytes(in.s, most), p.l2()-unitBytes,
			"split the channels or the width until they are at most %d"); err != nil {
			return err
		}
		rows := in.s.Height
		for first := 0; first < rows; first += most {
			p.transposed(in.run(first, min(most, rows-first)), out.run(first, min(most, rows-first)))
		}
		return nil
	})
}

// movedBytes is what so many rows of a shape and their transpose take in the L2.
func movedBytes(s regs.Shape, rows int) int {
	s.Height = rows
	from := transposing(s).sourceTile()
	return rows * (from.row + transposedTile(s).row)
}

// transposed transposes channel and x on the way to memory, by way of a tile in the L2.
func (p *plan) transposed(in, out view) {
	s := in.s
	t := transposing(s)
	at := t.sourceTile()
	t.source1(in.m, at, false)
	result := transposedTile(s).moved(at.row * s.Height)
	t.stages(out.m, result)
	p.add(t)
}

// stages writes a result to memory by way of a tile that has a layout of its own (tasks
// that move data only: slice, transpose, tile, 4/4).
func (t *task) stages(m memory, at layout) {
	t.writes(m, at.base)
	l := &t.g.L2
	l.ResultCfg = l.ResultCfg.WithType(2).WithDep_or_BfrMode(0)
	t.place(at, &l.ResultBase, &l.ResultChannelStride, &l.ResultRowStride, &l.ResultDepthStride, &l.ResultGroupStride)
	t.g.TileDMADst.DstDMAConfig = t.g.TileDMADst.DstDMAConfig.WithB26(false)
	t.staged = true
	t.result.bytes = at.row * t.g.OutShape().Height
}

// slice copies a part of a tensor. A first column that stands at no multiple of 64 bytes
// is reached in the L2: the tile is transposed, so that columns become channels, and its
// channels from there on are transposed back.
func (p *plan) slice() error {
	l := p.layer
	x, y := p.input("x", l.In), p.output("y", l.Size)
	in, out := viewOf(x, l.Size), viewOf(y, l.Size)
	in.m.base += l.Begin.N*x.depth + l.Begin.C*x.plane + l.Begin.H*x.row
	if skip := l.Begin.W * layer.ElementBytes; skip%64 == 0 {
		in.m.base += skip
		if in.s.Width > sliceColumns {
			return p.eachElement(in, out, p.sliced)
		}
		return p.copyTask(in, out)
	}
	in.m.base += l.Begin.W * layer.ElementBytes &^ 63
	column := l.Begin.W % 32
	in.s.Width += column
	return p.eachElement(in, out, func(in, out view) error {
		return p.eachPart(in, out, func(in, out view) error { return p.shifted(in, out, column) })
	})
}

// sliced copies rows of more than 128 columns, in slices both in the source's tile and the
// result's. The result's rows stand as far apart as two slices' patches with their halos
// (1/1).
func (p *plan) sliced(in, out view) error {
	s := in.s
	t := passTask(s)
	t.wholeSlices(s)
	at := t.sourceTile()
	result := packedColumns(s, engineColumns(s.Width))
	if s.Height > 1 {
		result = result.skewed(1, fetch{2, 10})
	}
	if (at.row+result.row)*s.Height > p.l2()-unitBytes {
		return p.copyTask(in, out)
	}
	t.source1(in.m, at, false)
	t.stages(out.m, result.moved(at.row*s.Height))
	p.add(t)
	return nil
}

// wholeSlices lets a copy of rows that are no whole slices of 128 columns take the highest
// patch (2/2).
func (t *task) wholeSlices(s regs.Shape) {
	if s.Width > sliceColumns && s.Width%sliceColumns != 0 && s.Height > 1 {
		c := &t.g.Common
		c.Cfg = c.Cfg.WithShMax(min(4, log2Ceil(s.Height)))
	}
}

// shifted copies all but the first columns.
func (p *plan) shifted(in, out view, columns int) error {
	s := in.s
	turned := packed(regs.Shape{Channels: s.Width, Width: s.Channels})
	prep := transposing(s)
	from := prep.sourceTile()
	bytes := turned.row * s.Height
	if err := layer.Within("bytes of tiles in the L2", bytes+from.row*s.Height, p.maxTile(),
		"begin at a multiple of 32 columns, or split the tensor until they are at most %d"); err != nil {
		return err
	}
	prep.source1(in.m, from.moved(bytes), false)
	kept := prep.leaves(turned, bytes)
	p.add(prep)

	back := transposing(regs.Shape{Groups: 1, Channels: s.Width - columns, Height: s.Height, Width: s.Channels})
	back.reads(kept, turned.moved(columns*turned.channel))
	back.writes(out.m, bytes)
	p.add(back)
	return nil
}

// tile repeats a tensor. An axis of one element is broadcast on the way through the
// planar engine, all such axes in one task (1/1); a longer one is copied time after time.
func (p *plan) tile() error {
	l := p.layer
	x, y := p.input("x", l.In), p.output("y", l.Out())
	once := l.Out() // what one task writes
	if l.In.N > 1 || l.Reps.N > 1 {
		once.N = l.In.N
	}
	reps := layer.Shape{N: l.Reps.N, C: 1, H: 1, W: 1}
	for _, a := range [...]struct {
		in, reps   int
		once, left *int
	}{{l.In.C, l.Reps.C, &once.C, &reps.C}, {l.In.H, l.Reps.H, &once.H, &reps.H}, {l.In.W, l.Reps.W, &once.W, &reps.W}} {
		if a.in > 1 {
			*a.once, *a.left = a.in, a.reps
		}
	}
	if reps.W > 1 && l.In.W*layer.ElementBytes%64 != 0 {
		return l.Unsupported("a row of %d columns repeats at no multiple of 32; pad it to %d", l.In.W, layer.RoundUp(l.In.W, 32))
	}
	if err := layer.Within("copies", reps.N*reps.C*reps.H*reps.W, maxTasks, "repeat at most %d times"); err != nil {
		return err
	}
	for n := range reps.N {
		for c := range reps.C {
			for h := range reps.H {
				for w := range reps.W {
					to := y
					to.base += n*l.In.N*y.depth + c*l.In.C*y.plane + h*l.In.H*y.row + w*l.In.W*layer.ElementBytes
					if err := p.eachElement(viewOf(x, l.In), viewOf(to, once), p.repeatedTile); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// repeatedTile broadcasts a tensor, and applies ReLU.
func (p *plan) repeatedTile(in, out view) error {
	s := out.s
	t := planarTask(regs.FormConstant, s, s)
	c := &t.g.Common
	// A patch of 512 pixels, rows before columns (1/1).
	h := min(log2Ceil(s.Height), 4)
	c.PlanarPatch = c.PlanarPatch.WithLog2H(h).WithLog2W(min(max(log2Ceil(s.Width), 4), 9-h))
	c.PlanarOperands = c.PlanarOperands.WithSrc1BroadcastC(in.s.Channels < s.Channels).
		WithSrc1BroadcastH(in.s.Height < s.Height).WithSrc1BroadcastW(in.s.Width < s.Width)
	t.g.PE.Cfg = t.g.PE.Cfg.WithReluEn(p.layer.Activation == layer.ReLU)
	at := packed(in.s)
	if in.s.Height > 1 {
		at = at.skewed(1, planarFetch)
	}
	result := packedColumns(s, min(s.Width, 1<<c.PlanarPatch.Log2W()))
	if s.Height > 1 {
		result = result.skewed(1, planarFetch)
	}
	bytes := at.row * in.s.Height
	if in.s.Height == 1 && s.Height > 1 {
		at.row = at.channel // the one row is read for all (1/1)
	}
	if err := layer.Within("bytes of a tile and its copies in the L2", bytes+result.row*s.Height, p.l2()-unitBytes,
		"repeat along fewer axes at a time until they are at most %d"); err != nil {
		return err
	}
	kept := t.source1(in.m, at, true)
	kept.bytes = bytes
	t.stages(out.m, result.moved(bytes))
	p.add(t)
	return nil
}

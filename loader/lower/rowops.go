package lower

import (
	"anesim/hw/regs"
)

// emit appends the tasks of a group; out says that its result leaves the chain.
func (c *rowChain) emit(g *rowGroup, out bool) bool {
	v := &rowValue{name: g.output, heads: g.heads, rows: g.rows, width: g.width}
	c.values[g.output] = v
	switch g.kind {
	case rowProduct:
		return c.product(g, v, out)
	case rowProduct2:
		return c.product2(g, v, out)
	case rowBinary:
		c.binary(g, v, out)
	case rowScalar:
		c.scalarOp(g, v, out)
	case rowActivation:
		c.activation(g, v, out)
	case rowNorm:
		c.norm(g, v, out)
	case rowSoftmax:
		c.softmax(g, v, out)
	}
	return true
}

// result streams a planar task's rows out, or holds them.
func (c *rowChain) result(t *task, v *rowValue, out bool) {
	if out {
		m := c.output
		m.plane = m.row * v.heads * v.rows
		m.depth, m.group = m.plane, m.plane
		c.write(t, m)
		return
	}
	v.nat = c.rows(t, v)
}

// wantsColumns reports whether all that read a tensor are products of its columns, of
// blocks or not as block says.
func (c *rowChain) wantsColumns(name string, block bool) bool {
	n := 0
	for i := range c.groups {
		g := &c.groups[i]
		for k, in := range g.inputs {
			if in != name {
				continue
			}
			n++
			column := g.kind == rowProduct && g.block == block || g.kind == rowProduct2 && k == 1 && g.turned && !block
			if !column {
				return false
			}
		}
	}
	return n > 0
}

// product appends a product with constants: columns to columns, or exchanged to rows.
func (c *rowChain) product(g *rowGroup, v *rowValue, out bool) bool {
	x := c.value(g.inputs[0])
	cols := c.columnsOf(x, 0, g.block)
	k, n, m := x.width, g.width, g.rows
	in := regs.Shape{Groups: 1, Channels: k, Height: 1, Width: m}
	if g.block {
		in.Height, in.Width = m/blockWidth, blockWidth
	}
	columns := !out && c.wantsColumns(g.output, g.block)
	shares := []share{{0, 1, 0, n}}
	if m > patchPixels {
		var ok bool
		if shares, ok = g.shares(n, k); !ok {
			return false
		}
	}
	var at layout
	var e *extent
	switch {
	case columns:
		at = packed(regs.Shape{Channels: n, Width: in.Width})
		if g.block && in.Height > 1 {
			at = at.skewed(1, smallFetch)
		}
	case g.block:
		pitch := roundUp(n*elementBytes, 16)
		at = layout{channel: pitch, row: blockWidth * pitch, depth: m * pitch}
	case !out:
		pitch := planarRows(regs.Shape{Channels: 1, Height: m, Width: n}).row
		if c.blocks() {
			pitch = roundUp(n*elementBytes, 16)
		}
		at = layout{channel: pitch, row: m * pitch, depth: m * pitch}
	}
	for i, s := range shares {
		to := in
		to.Channels = s.channels
		t := engineTask(regs.MultiplyAccumulate, in, to)
		t.g.Common.Cfg = t.g.Common.Cfg.WithTranspose(!columns)
		t.engines(s.channels)
		t.patch(to, false, &Window{Kh: 1, Kw: 1, Sy: 1, Sx: 1})
		t.outputGroups(s.channels, false)
		from := cols.at
		c.from(t, cols, from)
		if i == 0 && len(c.tasks) > 0 && c.tasks[len(c.tasks)-1].describesResult && c.tasks[len(c.tasks)-1].result == cols.tile {
			c.describe(t, x, g.block)
		}
		c.coefficients(t, g, s)
		switch {
		case out && !g.block:
			dst := matrix(c.output.bar, m, n)
			dst.base = s.first * elementBytes
			c.write(t, dst)
		default:
			part := at
			if columns {
				part.base = s.first * at.channel
			} else {
				part.base = s.first * elementBytes
			}
			bytes := at.row * in.Height
			if !columns {
				bytes = at.depth
			}
			h := c.hold(t, part, bytes, e)
			e = h.extent
			h.at.base = 0
			if columns {
				h.block = g.block
				v.columns = h
			} else {
				h.pitch = at.channel
				v.nat = h
			}
		}
		c.add(t)
	}
	v.product = true
	if out && g.block {
		// Rows of blocks are written back by a pass-through of their own.
		s := regs.Shape{Groups: 1, Channels: m, Height: 1, Width: n}
		t := engineTask(regs.PassThrough, s, s)
		t.unicast()
		t.engines(s.Channels)
		t.patch(s, true, nil)
		c.from(t, v.nat, v.nat.channelsAt())
		c.write(t, matrix(c.output.bar, m, n))
		c.add(t)
	}
	return true
}

// describe makes a task name the surface that the preparation before it described.
func (c *rowChain) describe(t *task, x *rowValue, block bool) {
	staged := c.staged(x, block)
	t.describe1(staged)
	t.describesSource = true
	t.g.TileDMASrc.Src1DMAConfig |= describedSource
	t.h.Bases = t.h.Bases.WithRBase0(staged.bar).WithRBE0(true)
	t.g.L2.SourceCfg = t.g.L2.SourceCfg.WithDMAFmt(1)
}

// shares splits a product's columns so that a lane, its table included, fits an engine.
// Above sixteen channels a lane has a multiple of sixteen (1/1: 512, 768 and 768 of 2048
// with a table). The remainder goes first, from the last channels down; without one they
// ascend (1/1).
func (g *rowGroup) shares(n, k int) ([]share, bool) {
	each := (MaxLane - len(g.table)) / ((k + biasRows(g.bias != nil)) * elementBytes)
	switch {
	case each > 16:
		each &^= 15
	case each > 1:
		each &^= 1
	case each < 1:
		return nil, false
	}
	each *= engines
	var s []share
	if n%each == 0 {
		for first := 0; first < n; first += each {
			s = append(s, share{0, 1, first, each})
		}
		return s, true
	}
	for end := n; end > 0; {
		size := min(end, each)
		if r := end % each; len(s) == 0 {
			size = r
		}
		end -= size
		s = append(s, share{0, 1, end, size})
	}
	return s, true
}

// coefficients gives a product its lanes: the table, where it has one, ahead of the
// weights of every lane (that a lane grows by the table is the compiler's, 5/5; that the
// table stands first is inferred from tables by themselves).
func (c *rowChain) coefficients(t *task, g *rowGroup, s share) {
	width := t.planeWidth()
	k := c.value(g.inputs[0]).width
	for t.g.Common.Cfg.Transpose() && g.rows > patchPixels && width > 1 && width*k > planeHalves {
		width /= 2
	}
	p := plan{layer: &g.layer, weights: &g.weights}
	kernel := p.productKernel(s, width)
	if g.bias != nil {
		t.g.NE.MACCfg = t.g.NE.MACCfg.WithBiasMode(true)
	}
	lanes := kernel.lanes
	data := kernel.data
	if g.table != nil {
		data = nil
		lanes = nil
		for _, l := range kernel.lanes {
			lanes = append(lanes, lane{len(data), tableBytes + l.size})
			data = append(data, g.table...)
			data = append(data, kernel.data[l.base:l.base+l.size]...)
		}
		t.table = g.table
	}
	t.kernel(c.constant(data), lanes)
	c.post(t, g)
}

// post turns on what follows the accumulator.
func (c *rowChain) post(t *task, g *rowGroup) {
	if g.scale != 0 {
		t.g.NE.PostScale = t.g.NE.PostScale.WithPostScale(uint16(g.scale))
	}
	switch {
	case g.table != nil:
		t.activate(regs.ActivationTable)
	case g.activation == ReLU:
		t.activate(regs.ReLU)
	}
}

// interleave makes rows a product's coefficients: a planar copy of all of them to the
// scratch buffer.
func (c *rowChain) interleave(v *rowValue) *interleaved {
	if v.kernel != nil {
		return v.kernel
	}
	s := v.channelShape()
	t := planarTask(regs.FormConstant, s, s)
	at := packed(s)
	if v.nat != nil {
		c.from(t, v.nat, v.nat.channelsAt())
	} else {
		v.nat = c.load(t, v.channelsOf(), at, c.again(v))
		if !c.again(v) {
			v.nat = nil
		}
	}
	c.toKernel(t, v)
	c.add(t)
	return v.kernel
}

// again reports whether a value from memory is read by more than one group.
func (c *rowChain) again(v *rowValue) bool {
	return c.reads[v.name] > 1
}

// kernelRows is how many rows of a left side an engine takes side by side.
func kernelRows(rows int) int {
	each := 1
	for 2*each <= min(maxInterleave, rows/engines) {
		each *= 2
	}
	return each
}

// toKernel makes a planar task write its rows as coefficients.
func (c *rowChain) toKernel(t *task, v *rowValue) {
	each := kernelRows(v.rows)
	plane := roundUp(each*v.width*elementBytes, 64)
	dst := memory{bar: barScratch, row: plane, plane: plane}
	dst.depth = plane * (v.heads * v.rows / each)
	dst.group = dst.depth
	// A product's result keeps its place until the product of what is made from it
	// (3/3, by the size of the scratch buffer); others give it up.
	until := c.step
	for i := c.step; i < len(c.groups); i++ {
		if g := &c.groups[i]; g.kind == rowProduct2 && g.inputs[0] == v.name {
			until = i
		}
	}
	if v.product {
		for i := until + 1; i < len(c.groups); i++ {
			if c.groups[i].kind == rowProduct2 {
				until = i
				break
			}
		}
	}
	dst.base = c.kernels.take(dst.depth, c.step, until)
	c.write(t, dst)
	d := &t.g.TileDMADst
	d.DstDMAConfig |= scratchWrite
	d.DstFmt = d.DstFmt.WithInterleave(uint32(each))
	t.g.L2.ResultCfg = t.g.L2.ResultCfg.WithDMAIntl(uint32(each))
	v.kernel = &interleaved{dst.base, each, plane, t}
}

// product2 appends a product of two tensors: the left one's rows are coefficients, in
// parts of 128, the right one's rows are channels; turned, its columns are.
func (c *rowChain) product2(g *rowGroup, v *rowValue, out bool) bool {
	x, z := c.value(g.inputs[0]), c.value(g.inputs[1])
	m, k, n := g.rows, x.width, g.width
	if n := kernelRows(m) * engines; m > engines && m%n != 0 {
		return false // the parts of the left side would differ in how their rows interleave
	}
	x.heads, x.rows, z.heads = g.heads, m, g.heads
	z.rows = k
	if g.turned {
		z.rows = n
	}
	left := c.interleave(x)
	columns := !out && c.wantsColumns(g.output, false) && g.heads == 1
	var e *extent
	for head := range g.heads {
		var src *held
		var from layout
		if g.turned {
			src = c.columnsOf(z, head, false)
			from = src.at
		} else if z.nat != nil {
			src = z.nat
			from = src.channelsAt()
			from.base += head * k * src.pitch
		}
		pixels := n
		if columns {
			pixels = min(n, patchPixels) // an exchanged result is at most 128 pixels wide (2/2, by count)
		}
		each := max(1, left.each) * engines
		if m < engines {
			each = m
		}
		for first := 0; first < m; first += each {
			rows := min(each, m-first)
			for p := 0; p < n; p += pixels {
				in := regs.Shape{Groups: 1, Channels: k, Height: 1, Width: min(pixels, n-p)}
				to := in
				to.Channels = rows
				t := engineTask(regs.MultiplyAccumulate, in, to)
				t.g.Common.Cfg = t.g.Common.Cfg.WithTranspose(columns)
				t.engines(rows)
				t.patch(to, false, &Window{Kh: 1, Kw: 1, Sy: 1, Sx: 1})
				t.outputGroups(rows, false)
				lanes := make([]lane, max(1, rows/left.each))
				for i := range lanes {
					lanes[i] = lane{left.base + ((head*m+first)/left.each+i)*left.plane, left.plane}
				}
				t.kernel(0, lanes)
				t.h.KernelBases = t.h.KernelBases.WithKBase0(barScratch)
				t.g.NE.KernelCfg = t.g.NE.KernelCfg.WithKernelFromScratch(true)
				t.kernelFrom = left.writer
				c.post(t, g)
				if src != nil {
					at := from
					at.base += p * elementBytes
					c.from(t, src, at)
				} else {
					s := matrix(z.mem.bar, k, n)
					s.base = z.mem.base + head*k*z.mem.row
					c.load(t, s, packed(in), false)
				}
				switch {
				case out:
					dst := matrix(c.output.bar, rows, n)
					dst.base = (head*m+first)*c.output.row + p*elementBytes
					c.write(t, dst)
				case columns:
					at := packed(regs.Shape{Channels: n, Width: m})
					full := at
					at.base = p*at.channel + first*elementBytes
					h := c.hold(t, at, full.row, e)
					e, h.at.base = h.extent, 0
					v.columns = h
				default:
					ch := roundUp(n*elementBytes, 16)
					at := layout{base: (head*m + first) * ch, channel: ch, row: m * ch, depth: m * ch}
					h := c.hold(t, at, g.heads*m*ch, e)
					e, h.at.base, h.pitch = h.extent, 0, ch
					v.nat = h
				}
				c.add(t)
			}
		}
	}
	v.scores = true
	return true
}

// source gives a task its first operand over the given view; what is in memory and read
// again stays.
func (c *rowChain) source(t *task, v *rowValue, channels bool) {
	switch {
	case v.nat != nil && channels:
		c.from(t, v.nat, v.nat.channelsAt())
	case v.nat != nil:
		c.from(t, v.nat, v.nat.rowsAt(v))
	case channels:
		h := c.load(t, v.channelsOf(), packed(v.channelShape()), c.again(v))
		if c.again(v) {
			v.nat = h
		}
	default:
		c.load(t, v.surfaceOf(), pieces(v.rowsShape()), false)
	}
}

// binary appends an operation on two tensors.
func (c *rowChain) binary(g *rowGroup, v *rowValue, out bool) {
	x, z := c.value(g.inputs[0]), c.value(g.inputs[1])
	if c.siblings(g) && (g.layer.Op == Add || g.layer.Op == Mul) {
		x, z = z, x
	}
	s := v.rowsShape()
	p := plan{layer: &g.layer}
	t := p.planarOp(regs.FormTwoSources, s)
	t.g.PE.Cfg = t.g.PE.Cfg.WithReluEn(g.activation == ReLU)
	if x.nat != nil {
		c.from(t, x.nat, x.nat.rowsAt(x))
	} else {
		c.load(t, x.surfaceOf(), planarRows(s), false)
	}
	if z.nat != nil {
		c.with(t, z.nat, z.nat.rowsAt(z))
	} else {
		c.load2(t, z.surfaceOf(), planarRows(s))
	}
	t.inL2()
	c.result(t, v, out)
	c.add(t)
}

// siblings reports whether both operands are products of one tensor: the later one comes
// first then (1/1).
func (c *rowChain) siblings(g *rowGroup) bool {
	from := ""
	n := 0
	for i := range c.groups {
		if p := &c.groups[i]; p.kind == rowProduct && (p.output == g.inputs[0] || p.output == g.inputs[1]) {
			if n++; n == 2 {
				return p.inputs[0] == from
			}
			from = p.inputs[0]
		}
	}
	return false
}

// scalarOp appends an operation with one constant.
func (c *rowChain) scalarOp(g *rowGroup, v *rowValue, out bool) {
	s := v.rowsShape()
	t := planarTask(regs.FormConstant, s, s)
	k := uint16(value(g.weights.Second, 0))
	switch g.layer.Op {
	case Mul:
		t.g.PE.BiasScale = t.g.PE.BiasScale.WithScale(k)
	case Sub:
		t.g.PE.BiasScale = t.g.PE.BiasScale.WithBias(k ^ 0x8000)
	default:
		t.g.PE.BiasScale = t.g.PE.BiasScale.WithBias(k)
	}
	c.source(t, c.value(g.inputs[0]), false)
	c.result(t, v, out)
	c.add(t)
}

// activation appends a table or ReLU by itself.
func (c *rowChain) activation(g *rowGroup, v *rowValue, out bool) {
	s := v.rowsShape()
	t := activation(g.layer.Op, s, g.layer.Epsilon)
	c.source(t, c.value(g.inputs[0]), false)
	if g.layer.Op != ReLU {
		c.table(t, g.weights.Table)
	}
	c.result(t, v, out)
	c.add(t)
}

// statistics holds one or two rows of a value each row, below everything for the whole
// chain (2/2: layer norm with a projection, attention).
func (c *rowChain) statistics(rows, n int) *extent {
	e := c.extent(n * roundUp(rows*elementBytes, 64))
	e.first, e.last = 0, maxTasks
	return e
}

// normParts are the runs of rows whose statistics one task takes: at most 192, the
// remainder first (183 and 192 of 375).
func normParts(rows int) []Run {
	var parts []Run
	for at := 0; at < rows; {
		n := rows % 192
		if at > 0 || n == 0 {
			n = 192
		}
		parts = append(parts, Run{at, n})
		at += n
	}
	return parts
}

// norm appends a layer norm of rows: mean and reciprocal deviation of every row in a row
// of statistics each, then both applied.
func (c *rowChain) norm(g *rowGroup, v *rowValue, out bool) {
	x := c.value(g.inputs[0])
	rows := v.heads * v.rows
	stats := c.statistics(rows, 2)
	unit := stats.bytes / 2
	at := layout{channel: unit, row: unit, depth: unit}
	var means, spreads *held
	var tile *held
	if x.nat != nil {
		tile = x.nat
	}
	for _, part := range normParts(rows) {
		s := regs.Shape{Groups: 1, Channels: part.Tasks, Height: 1, Width: v.width}
		mean := planarTask(regs.FormReduction, s, s)
		mean.reducePatch(v.width)
		mean.g.PE.FinalScale = mean.g.PE.FinalScale.WithFinalScale(reciprocal(v.width))
		o := &mean.g.Common.PlanarOperands
		*o = o.WithResultTranspose(true)
		mean.g.NE.KernelCfg = mean.g.NE.KernelCfg.WithNextPlanar(true)
		src := packed(v.channelShape())
		if x.nat != nil {
			src = x.nat.channelsAt()
		}
		src.base += part.First * src.channel
		whole := src
		if x.nat != nil {
			c.from(mean, x.nat, src)
		} else {
			m := x.channelsOf()
			m.base += part.First * m.plane
			if tile == nil {
				tile = c.load(mean, m, src, true)
				tile.extent.bytes = packed(v.channelShape()).row
			} else {
				tl := mean.source1(m, src, true)
				tl.bytes = part.Tasks * src.channel
				c.fixes = append(c.fixes, fix{mean, &mean.g.L2.Src1Base, tile.extent, tl})
				tile.extent.last = max(tile.extent.last, c.now())
			}
		}
		first := at
		first.base = part.First * elementBytes
		if first.base%16 != 0 {
			first.base = roundUp(first.base, 16)
		}
		means = c.hold(mean, first, unit, stats)
		c.add(mean)

		spread := planarTask(regs.FormTwoReduced, s, s)
		spread.reducePatch(v.width)
		spread.g.PE.Cfg = spread.g.PE.Cfg.WithOpMode(regs.PlanarSumSquare).WithFirstSrc(true).WithSecSrc(2).WithRsqrt(true)
		spread.g.PE.FinalScale = spread.g.PE.FinalScale.WithFinalScale(reciprocal(v.width))
		spread.g.PE.PreScale = spread.g.PE.PreScale.WithPreScale(half(g.layer.Epsilon))
		o = &spread.g.Common.PlanarOperands
		*o = o.WithSrc1BroadcastW(true).WithSrc1Transpose(true).WithResultTranspose(true)
		spread.g.NE.KernelCfg = spread.g.NE.KernelCfg.WithNextPlanar(true).WithPreviousPlanar(true)
		c.from(spread, means, first)
		c.with(spread, tile, whole)
		second := first
		second.base += unit
		spreads = c.hold(spread, second, unit, stats)
		c.add(spread)
	}
	if x.nat == nil && c.again(x) {
		tile.at, tile.pitch = packed(v.channelShape()), packed(v.channelShape()).channel
		x.nat = tile
	}
	s := v.channelShape()
	normal := planarTask(regs.FormBiasScale, s, s)
	normal.g.PE.Cfg = normal.g.PE.Cfg.WithSecSrc(3)
	normal.g.NE.KernelCfg = normal.g.NE.KernelCfg.WithPreviousPlanar(true)
	o := &normal.g.Common.PlanarOperands
	*o = o.WithSrc2Transpose(true)
	normal.reducePatch(v.width)
	whole := packed(s)
	if x.nat != nil {
		whole = x.nat.channelsAt()
	}
	c.from(normal, tile, whole)
	c.with(normal, spreads, at)
	if out {
		m := c.output
		m.plane = m.row
		m.row = m.plane * rows
		m.depth, m.group = m.row, m.row
		c.write(normal, m)
	} else {
		v.nat = c.hold(normal, packed(s), packed(s).row, nil)
		v.nat.pitch = packed(s).channel
	}
	c.add(normal)
}

// reducePatch widens a planar task's patch to 512 where rows are that wide.
func (t *task) reducePatch(width int) {
	if width > 256 {
		t.g.Common.PlanarPatch = t.g.Common.PlanarPatch.WithLog2W(9).WithLog2H(0)
	}
}

// softmax appends a softmax of rows. Scores of a product are channels of one row, other
// rows are one channel of rows as far as the table goes.
func (c *rowChain) softmax(g *rowGroup, v *rowValue, out bool) {
	x := c.value(g.inputs[0])
	if x.nat == nil && v.heads*v.rows > 1 {
		c.natural(x)
	}
	scores := x.scores
	rows := v.heads * v.rows
	parts := []Run{{0, rows}}
	if !scores {
		parts = normParts(rows)
	}
	unit := 16
	single := layout{channel: unit, row: rows * unit, depth: rows * unit}
	stats := c.extent(rows * unit)
	stats.first, stats.last = 0, maxTasks
	var top *held
	reduce := func(src *held, pitch int, sum bool) *held {
		var h *held
		for _, part := range parts {
			s := regs.Shape{Groups: 1, Channels: part.Tasks, Height: 1, Width: v.width}
			t := planarTask(regs.FormReduction, s, s)
			t.reducePatch(v.width)
			if sum {
				t.g.PE.Cfg = t.g.PE.Cfg.WithReciprocal(true)
			} else {
				t.g.PE.Cfg = t.g.PE.Cfg.WithMaximum(true)
				t.g.L2.Cfg = t.g.L2.Cfg.WithPaddingMode(maximumPadding)
			}
			at := src.channelsAt()
			at.base += part.First * pitch
			c.from(t, src, at)
			to := single
			to.base = part.First * unit
			h = c.hold(t, to, rows*unit, stats)
			c.add(t)
		}
		return h
	}
	if x.nat == nil {
		c.natural(x)
	}
	top = reduce(x.nat, x.nat.pitch, false)
	top.at = single

	s := v.channelShape()
	sub := planarTask(regs.FormTwoSources, s, s)
	sub.g.PE.Cfg = sub.g.PE.Cfg.WithSecSrc(3)
	sub.g.PE.BiasScale = sub.g.PE.BiasScale.WithScale(logE)
	o := &sub.g.Common.PlanarOperands
	*o = o.WithSrc2BroadcastW(true)
	c.from(sub, x.nat, x.nat.channelsAt())
	c.with(sub, top, single)
	exps := packed(s)
	differences := c.hold(sub, exps, exps.row, nil)
	differences.pitch = exps.channel
	c.add(sub)

	shape := s
	if !scores {
		shape = v.rowsShape()
	}
	exp := engineTask(regs.PassThrough, shape, shape)
	exp.unicast()
	exp.engines(shape.Channels)
	exp.patch(shape, true, nil)
	powers := &held{}
	if scores {
		c.from(exp, differences, exps)
		powers = c.hold(exp, exps, exps.row, nil)
	} else {
		view := layout{channel: exps.row, row: exps.channel, depth: exps.row}
		c.from(exp, differences, view)
		powers = c.hold(exp, view, exps.row, nil)
	}
	powers.pitch = exps.channel
	c.table(exp, g.weights.Table)
	c.add(exp)
	powers.at = exps

	sums := reduce(powers, powers.pitch, true)
	mul := planarTask(regs.FormTwoSources, s, s)
	mul.g.PE.Cfg = mul.g.PE.Cfg.WithSecSrc(2).WithOpMode(regs.PlanarMul)
	o = &mul.g.Common.PlanarOperands
	*o = o.WithSrc1BroadcastW(true)
	c.from(mul, sums, single)
	c.with(mul, powers, exps)
	switch {
	case out:
		m := c.output
		m.plane = m.row
		m.row = m.plane * rows
		m.depth, m.group = m.row, m.row
		c.write(mul, m)
	case c.onlyLeft(g.output):
		c.toKernel(mul, v)
	default:
		v.nat = c.hold(mul, exps, exps.row, nil)
		v.nat.pitch = exps.channel
	}
	c.add(mul)
}

// onlyLeft reports whether a tensor is read by one product, as its left side.
func (c *rowChain) onlyLeft(name string) bool {
	n := 0
	for i := range c.groups {
		g := &c.groups[i]
		for k, in := range g.inputs {
			if in == name {
				if n++; g.kind != rowProduct2 || k != 0 {
					return false
				}
			}
		}
	}
	return n == 1
}

package lower

import (
	"cmp"

	"anesim/hw/regs"
	"anesim/loader/layer"
)

// Tensors beyond the L2 pass from task to task in one of two ways in the programs of 2023:
//
//	engine --> ring of 16 rows in the L2 --> other engine    neighbours, one source each
//	any    --> scratch buffer            --> any             everything else
//
// A ring is as narrow as a patch of 16x16 pixels, and the two tasks run beside each other
// (9/9).

// Columns side by side of the tiles of two tasks that share a ring, and their rows.
const (
	ringColumns = 16
	ringSource  = 32 // of what the first reads and the second writes
	ringRows    = 16
	ringLog2    = 4
	typeRing    = 3 // of L2.SourceCfg and L2.ResultCfg
)

// ringFetch: the MAC engines read a ring 16 rows of 8 columns at a time.
var ringFetch = fetch{8, 2}

// A ring is where two tasks' shared tiles stand in the L2, one behind the other.
type ring struct{ held, source, result layout }

func newRing(s regs.Shape, base int) ring {
	tile := func(columns, base int) layout {
		return packedColumns(s, columns).skewed(1, planarFetch, ringFetch).moved(base)
	}
	held := tile(ringColumns, base)
	source := tile(ringSource, base+held.row*ringRows)
	return ring{held, source, tile(ringSource, source.base+source.row*ringRows)}
}

// ringPatch takes the patch of a ring.
func (t *task) ringPatch() {
	if t.planar() {
		c := &t.g.Common
		c.PlanarPatch = c.PlanarPatch.WithLog2W(ringLog2).WithLog2H(ringLog2)
	} else {
		t.fixPatch(ringLog2)
	}
	t.tileRows(ringRows)
}

// share makes a task leave its result in a ring for the next, from base on in the L2.
func (t *task) share(next *task, base int) {
	r := newRing(t.g.InShape(), base)
	t.ringPatch()
	l := &t.g.L2
	t.place(r.source, &l.Src1Base, &l.Src1ChannelStride, &l.Src1RowStride, &l.Src1DepthStride, &l.Src1GroupStride)
	t.first = &tile{at: r.source, owner: t, bytes: r.source.row * ringRows}
	shared := &tile{at: r.held, owner: t, bytes: r.held.row * ringRows, result: true}
	t.stays(r.held, shared)
	l.ResultCfg = l.ResultCfg.WithType(typeRing)

	next.ringPatch()
	next.takes1(r.held, shared)
	l = &next.g.L2
	l.SourceCfg = l.SourceCfg.WithType(typeRing)
	l.ResultCfg = l.ResultCfg.WithDep_or_BfrMode(0)
	next.place(r.result, &l.ResultBase, &l.ResultChannelStride, &l.ResultRowStride, &l.ResultDepthStride, &l.ResultGroupStride)
	next.g.TileDMADst.DstDMAConfig = next.g.TileDMADst.DstDMAConfig.WithB26(false)
	next.result = &tile{at: r.result, owner: next, bytes: r.result.row * ringRows, result: true}
}

// ringWith reports whether a task's result can pass through a ring to the next: they are on
// different engines, the next has no other source in memory, and none of the two is at a
// ring already.
func (t *task) ringWith(next *task) bool {
	return t.planar() != next.planar() && t.inMemory() && !t.g.Source2On() &&
		!next.g.Source2On() && next.second == nil &&
		t.g.Common.OutDim == regs.OutDim(next.g.Common.InDim) && uint32(t.g.Common.Cout) == uint32(next.g.Common.Cin)
}

// A passed tensor is one that goes through the scratch buffer.
type passed struct {
	extent
	writer  int
	readers []reader
}

// A reader is a source of a task.
type reader struct {
	task int
	base *regs.DMAWord
}

// spread makes the tasks pass tensors on as the compiler of 2023 does: rings where they
// can be, the rest in the scratch buffer at the lowest addresses free while they live. It
// returns the bytes of scratch.
func (c chain) spread() int {
	written := map[uint32]*passed{} // by base
	var list []*passed
	for i, t := range c {
		for _, r := range t.scratchSources(i) {
			if p := written[r.base.Bytes()]; p != nil {
				p.readers = append(p.readers, r)
			}
		}
		if t.toScratch() {
			d := &t.g.TileDMADst
			p := &passed{writer: i}
			p.bytes = int(d.DstDepthStride.Bytes()) * t.g.GroupCount()
			written[d.DstBase.Bytes()] = p
			list = append(list, p)
		}
	}
	var kept []*passed
	var extents []*extent
	ringed := map[int]bool{}
	for _, p := range list {
		i := p.writer
		if len(p.readers) == 1 && p.readers[0].task == i+1 && !ringed[i] && c[i].ringWith(c[i+1]) {
			ringed[i+1] = true
			base := 0
			if c[i].second != nil {
				base = c[i].second.at.base + c[i].second.bytes
			}
			c[i].share(c[i+1], base)
			continue
		}
		p.first, p.last = i, i
		if n := len(p.readers); n > 0 {
			p.last = p.readers[n-1].task
		}
		kept = append(kept, p)
		extents = append(extents, &p.extent)
	}
	allocateScratch(extents)
	scratch := 0
	for _, p := range kept {
		scratch = max(scratch, layer.RoundUp(p.base+p.bytes, scratchPage))
		c.pass(p)
	}
	return scratch
}

// toScratch reports whether a task writes to the scratch buffer.
func (t *task) toScratch() bool {
	return t.g.DestinationOn() && t.h.Bases.WBase() == barScratch
}

// scratchSources are the sources that task i of a chain reads from the scratch buffer.
func (t *task) scratchSources(i int) []reader {
	var list []reader
	d, b := &t.g.TileDMASrc, t.h.Bases
	if t.inMemory() && b.RBase0() == barScratch {
		list = append(list, reader{i, &d.Src1Base})
	}
	if t.g.Source2On() && b.RBase1() == barScratch {
		list = append(list, reader{i, &d.Src2Base})
	}
	return list
}

// pass moves a tensor to its place in the scratch buffer.
func (c chain) pass(p *passed) {
	w := c[p.writer]
	w.dma(&w.g.TileDMADst.DstBase, p.base)
	for _, r := range p.readers {
		c[r.task].dma(r.base, p.base)
	}
}

// starts2023 is starts, but a task between two that move through memory is joined with the
// one after it (3/3).
func (c chain) starts2023(place map[*task]int) []bool {
	starts := c.starts(place)
	for i := 2; i < len(c); i++ {
		if starts[i] && starts[i-1] {
			starts[i] = false
		}
	}
	return starts
}

// route2023 writes the dependency bits of a task after the first: one that begins a run
// waits for the MAC engines, and for what the planar engine left where its tiles stand
// (6/6); inside a run a task waits for what the other engine does in the places of its
// source, and one that reads an earlier tile for that tile.
func (c chain) route2023(i int, place map[*task]int, starts bool) {
	t, l := c[i], &c[i].g.L2
	if l.SourceCfg.Type() == typeRing {
		return
	}
	var planar, engine *task
	for _, u := range c[:i] {
		if u.planar() {
			planar = u
		} else {
			engine = u
		}
	}
	if starts {
		l.SourceCfg = l.SourceCfg.WithAConvSrc(true).WithAConvRslt(true)
		l.ResultCfg = l.ResultCfg.WithAConvSrc(true).WithAConvRslt(true)
		if planar != nil {
			l.SourceCfg = l.SourceCfg.WithAPlnrRslt(t.loaded().overlaps(planar.result))
		}
		return
	}
	own, other := engine, planar
	if t.planar() {
		own, other = planar, engine
	}
	var otherSource, otherResult, ownResult bool
	for _, at := range [...]*tile{t.first, t.second} {
		if at == nil {
			continue
		}
		if at.owner != t && at.owner != nil {
			ownResult = ownResult || at.owner == own && at.result && place[at.owner] == i-1
			otherResult = otherResult || at.owner == other && at.result
		}
	}
	if other != nil && (t.inMemory() || t.g.Source2On()) {
		otherSource = other.inMemory() && t.loaded().overlaps(other.loaded())
		otherResult = otherResult || t.loaded().overlaps(other.result)
	}
	s := l.SourceCfg
	if t.planar() {
		s = s.WithAPlnrRslt(ownResult).WithAConvSrc(otherSource).WithAConvRslt(otherResult)
	} else {
		s = s.WithAConvRslt(ownResult).WithAPlnrSrc(otherSource).WithAPlnrRslt(otherResult)
	}
	l.SourceCfg = s
}

// loaded is the place of the tile that a task loads, of the second source where the first
// stands in the L2.
func (t *task) loaded() *tile {
	l, rows := &t.g.L2, int(t.g.Common.TileCfg.TileHeight())
	if t.inMemory() {
		return &tile{at: layout{base: int(l.Src1Base.Bytes())}, bytes: int(l.Src1RowStride.Bytes()) * rows}
	}
	return &tile{at: layout{base: int(l.Src2Base.Bytes())}, bytes: int(l.Src2RowStride.Bytes()) * rows}
}

// softmaxStreams is softmax over the columns of a tensor beyond the L2: a value for each
// row stays in the L2, and the powers go through the scratch buffer (1/1).
//
//	x --> largest (L2)    x - largest --> ring --> 2^d (scratch)
//	1/sum of the powers (L2), over the largest's place    powers / sum --> y
func (p *plan) softmaxStreams(in, out view) error {
	s := in.s
	each := s.Channels * unitBytes
	stats := layout{channel: unitBytes, row: s.Height * each, depth: each, group: s.Height * each}.skewed(1, planarFetch)
	stats.group = each
	flat := layout{channel: unitBytes, row: each, depth: each}
	if s.Channels == 1 {
		flat.channel = stats.row
	}
	if err := cmp.Or(layer.Within("groups of rows", s.Height, layer.MaxGroups, "split the tensor into parts of at most %d rows"),
		layer.Within("bytes of a value for each row in the L2", stats.row, p.maxTile(), "split the tensor until they are at most %d")); err != nil {
		return err
	}
	powers := viewOf(p.intermediate(p.layer.In), p.layer.In)

	reduce := func(from view, previous bool, set func(*task)) *tile {
		rows := from.grouped()
		t := planarTask(regs.FormReduction, rows.s, rows.s).aside(previous, true)
		set(t)
		t.source1(rows.m, t.skewedPlanar().moved(stats.row), false)
		reduced := t.leaves(stats, stats.row)
		t.l2(&t.g.L2.ResultGroupStride, stats.group)
		p.add(t)
		return reduced
	}
	streamed := func(t *task) layout {
		t.streamed(s)
		return t.planarColumns().moved(stats.row)
	}
	largest := reduce(in, false, (*task).takesMaximum)

	sub := scaledDifference(s).aside(true, false)
	sub.g.Common.PlanarOperands = sub.g.Common.PlanarOperands.WithSrc2BroadcastW(s.Width > 1)
	at := streamed(sub)
	sub.source1(in.m, at, false)
	sub.joins(largest, flat)
	between := p.intermediate(p.layer.In)
	sub.writes(between, at.base+at.row*ringRows)
	p.add(sub)

	exp := passTask(s)
	exp.narrow()
	exp.source1(between, exp.sourceTile().moved(stats.row), false)
	exp.lookup(p.placeTable(p.weights.Table, exp.tableLanes()), p.weights.Table)
	exp.writes(powers.m, stats.row)
	p.add(exp)

	sums := reduce(powers, false, func(t *task) { t.g.PE.Cfg = t.g.PE.Cfg.WithReciprocal(true) })

	mul := productTask(s).aside(true, false)
	mul.g.Common.PlanarOperands = mul.g.Common.PlanarOperands.WithSrc1BroadcastW(s.Width > 1)
	at = streamed(mul)
	mul.reads(sums, flat)
	mul.source2(powers.m, at)
	mul.inL2()
	mul.g.L2.SourceCfg = mul.g.L2.SourceCfg.WithDMAFmt(1)
	mul.writes(out.m, at.base+at.row*int(mul.g.Common.TileCfg.TileHeight()))
	p.add(mul)
	return nil
}

package task

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/place"
)

// Columns side by side of the tiles of two tasks that share a ring, and their rows.
const (
	RingColumns = 16
	RingSource  = 32 // of what the first reads and the second writes
	RingRows    = 16
	RingLog2    = 4
	typeRing    = 3 // of L2.SourceCfg and L2.ResultCfg
)

// A ring is where two tasks' shared tiles stand in the L2, one behind the other.
type ring struct{ held, source, result place.Layout }

func newRing(s regs.Shape, base int) ring {
	tile := func(columns, base int) place.Layout {
		return place.PackedColumns(s, columns).Skewed(1, place.PlanarFetch, place.RingFetch).Moved(base)
	}
	held := tile(RingColumns, base)
	source := tile(RingSource, base+held.Row*RingRows)
	return ring{held, source, tile(RingSource, source.Base+source.Row*RingRows)}
}

// share makes a task leave its result in a ring for the next, from base on in the L2.
func (t *Task) share(next *Task, base int) {
	r := newRing(t.g.InShape(), base)
	t.ringPatch()
	l := &t.g.L2
	t.place(r.source, &l.Src1Base, &l.Src1ChannelStride, &l.Src1RowStride, &l.Src1DepthStride, &l.Src1GroupStride)
	t.First = &Tile{At: r.source, Owner: t, Bytes: r.source.Row * RingRows}
	shared := &Tile{At: r.held, Owner: t, Bytes: r.held.Row * RingRows, Result: true}
	t.Stays(r.held, shared)
	l.ResultCfg = l.ResultCfg.WithType(typeRing)

	next.ringPatch()
	next.Takes1(r.held, shared)
	l = &next.g.L2
	l.SourceCfg = l.SourceCfg.WithType(typeRing)
	l.ResultCfg = l.ResultCfg.WithDep_or_BfrMode(0)
	next.place(r.result, &l.ResultBase, &l.ResultChannelStride, &l.ResultRowStride, &l.ResultDepthStride, &l.ResultGroupStride)
	next.g.TileDMADst.DstDMAConfig = next.g.TileDMADst.DstDMAConfig.WithB26(false)
	next.Result = &Tile{At: r.result, Owner: next, Bytes: r.result.Row * RingRows, Result: true}
}

// ringWith reports whether a task's result can pass through a ring to the next: they are on
// different engines, the next has no other source in memory, and none of the two is at a
// ring already.
func (t *Task) ringWith(next *Task) bool {
	return t.Planar() != next.Planar() && t.InMemory() && !t.g.Source2On() &&
		!next.g.Source2On() && next.Second == nil &&
		t.g.Common.OutDim == regs.OutDim(next.g.Common.InDim) && uint32(t.g.Common.Cout) == uint32(next.g.Common.Cin)
}

// A passed tensor is one that goes through the scratch buffer.
type passed struct {
	place.Extent
	writer  int
	readers []reader
}

// A reader is a source of a task.
type reader struct {
	task int
	base *regs.DMAWord
}

// Spread makes the tasks pass tensors on as the compiler of 2023 does: rings where they
// can be, the rest in the scratch buffer at the lowest addresses free while they live. It
// returns the bytes of scratch.
func (c Chain) Spread() int {
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
			p.Bytes = int(d.DstDepthStride.Bytes()) * t.g.GroupCount()
			written[d.DstBase.Bytes()] = p
			list = append(list, p)
		}
	}
	var kept []*passed
	var extents []*place.Extent
	ringed := map[int]bool{}
	for _, p := range list {
		i := p.writer
		if len(p.readers) == 1 && p.readers[0].task == i+1 && !ringed[i] && c[i].ringWith(c[i+1]) {
			ringed[i+1] = true
			base := 0
			if c[i].Second != nil {
				base = c[i].Second.At.Base + c[i].Second.Bytes
			}
			c[i].share(c[i+1], base)
			continue
		}
		p.First, p.Last = i, i
		if n := len(p.readers); n > 0 {
			p.Last = p.readers[n-1].task
		}
		kept = append(kept, p)
		extents = append(extents, &p.Extent)
	}
	place.AllocateScratch(extents)
	scratch := 0
	for _, p := range kept {
		scratch = max(scratch, layer.RoundUp(p.Base+p.Bytes, place.ScratchPage))
		c.pass(p)
	}
	return scratch
}

// toScratch reports whether a task writes to the scratch buffer.
func (t *Task) toScratch() bool {
	return t.g.DestinationOn() && t.h.Bases.WBase() == place.BarScratch
}

// scratchSources are the sources that task i of a chain reads from the scratch buffer.
func (t *Task) scratchSources(i int) []reader {
	var list []reader
	d, b := &t.g.TileDMASrc, t.h.Bases
	if t.InMemory() && b.RBase0() == place.BarScratch {
		list = append(list, reader{i, &d.Src1Base})
	}
	if t.g.Source2On() && b.RBase1() == place.BarScratch {
		list = append(list, reader{i, &d.Src2Base})
	}
	return list
}

// pass moves a tensor to its place in the scratch buffer.
func (c Chain) pass(p *passed) {
	w := c[p.writer]
	w.setDMA(&w.g.TileDMADst.DstBase, p.Base)
	for _, r := range p.readers {
		c[r.task].setDMA(r.base, p.Base)
	}
}

// starts2023 is starts, but a task between two that move through memory is joined with the
// one after it (3/3).
func (c Chain) starts2023(place map[*Task]int) []bool {
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
func (c Chain) route2023(i int, place map[*Task]int, starts bool) {
	t, l := c[i], &c[i].g.L2
	if l.SourceCfg.Type() == typeRing {
		return
	}
	var planar, engine *Task
	for _, u := range c[:i] {
		if u.Planar() {
			planar = u
		} else {
			engine = u
		}
	}
	if starts {
		l.SourceCfg = l.SourceCfg.WithAConvSrc(true).WithAConvRslt(true)
		l.ResultCfg = l.ResultCfg.WithAConvSrc(true).WithAConvRslt(true)
		if planar != nil {
			l.SourceCfg = l.SourceCfg.WithAPlnrRslt(t.loaded().overlaps(planar.Result))
		}
		return
	}
	own, other := engine, planar
	if t.Planar() {
		own, other = planar, engine
	}
	var otherSource, otherResult, ownResult bool
	for _, at := range [...]*Tile{t.First, t.Second} {
		if at == nil {
			continue
		}
		if at.Owner != t && at.Owner != nil {
			ownResult = ownResult || at.Owner == own && at.Result && place[at.Owner] == i-1
			otherResult = otherResult || at.Owner == other && at.Result
		}
	}
	if other != nil && (t.InMemory() || t.g.Source2On()) {
		otherSource = other.InMemory() && t.loaded().overlaps(other.loaded())
		otherResult = otherResult || t.loaded().overlaps(other.Result)
	}
	s := l.SourceCfg
	if t.Planar() {
		s = s.WithAPlnrRslt(ownResult).WithAConvSrc(otherSource).WithAConvRslt(otherResult)
	} else {
		s = s.WithAConvRslt(ownResult).WithAPlnrSrc(otherSource).WithAPlnrRslt(otherResult)
	}
	l.SourceCfg = s
}

// loaded is the place of the tile that a task loads, of the second source where the first
// stands in the L2.
func (t *Task) loaded() *Tile {
	l, rows := &t.g.L2, int(t.g.Common.TileCfg.TileHeight())
	if t.InMemory() {
		return &Tile{At: place.Layout{Base: int(l.Src1Base.Bytes())}, Bytes: int(l.Src1RowStride.Bytes()) * rows}
	}
	return &Tile{At: place.Layout{Base: int(l.Src2Base.Bytes())}, Bytes: int(l.Src2RowStride.Bytes()) * rows}
}

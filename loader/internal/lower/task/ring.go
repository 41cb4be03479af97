package task

import (
	"anesim/hw/regs"
	"anesim/loader/internal/lower/place"
)

// Tiles of two tasks that share a ring.
const (
	RingColumns = 16 // columns of the shared tile
	RingSource  = 32 // columns of the first task's source and of the second task's result
	RingRows    = 16 // rows of every tile
	RingLog2    = 4  // log2 of the patch height
	TypeRing    = 3  // value of L2.SourceCfg and L2.ResultCfg
)

// A ring holds the layouts of the shared tile, of the first task's source and of the second
// task's result. They follow each other in L2.
type ring struct{ held, source, result place.Layout }

// newRingLayouts returns the layouts for a pair of tasks that share a ring at address base of L2. s
// is the shape of the tensor that passes through the ring.
func newRingLayouts(s regs.Shape, base int) ring {
	tile := func(columns, base int) place.Layout {
		return place.PackedColumns(s, columns).Skew(place.PlanarFetch, place.RingFetch).Rebase(base)
	}
	held := tile(RingColumns, base)
	source := tile(RingSource, base+held.Row*RingRows)
	return ring{held, source, tile(RingSource, source.Base+source.Row*RingRows)}
}

// ShareRing makes t pass its result to task next through a ring at address base of L2. A ring is a
// small buffer that one task empties while the other fills it. ShareRing also places the source of
// t and the result of next after the ring.
func ShareRing(t, next *Task, base int) {
	r := newRingLayouts(t.g.InShape(), base)
	t.SetPatch(setRingPatch)
	l := &t.g.L2
	t.setLayout(r.source, &l.Src1Base, &l.Src1ChannelStride, &l.Src1RowStride, &l.Src1DepthStride, &l.Src1GroupStride)
	t.First = &Tile{At: r.source, Owner: t}
	shared := &Tile{At: r.held, Owner: t, Bytes: r.held.Row * RingRows, Result: true}
	t.ReplaceResult(r.held, shared)
	l.ResultCfg = l.ResultCfg.WithType(TypeRing)

	next.SetPatch(setRingPatch)
	next.ReplaceSource1(r.held, shared)
	l = &next.g.L2
	l.SourceCfg = l.SourceCfg.WithType(TypeRing)
	l.ResultCfg = l.ResultCfg.WithDep_or_BfrMode(0)
	next.setLayout(r.result, &l.ResultBase, &l.ResultChannelStride, &l.ResultRowStride, &l.ResultDepthStride, &l.ResultGroupStride)
	next.g.TileDMADst.DstDMAConfig = next.g.TileDMADst.DstDMAConfig.WithB26(false)
	next.Result = &Tile{At: r.result, Owner: next, Bytes: r.result.Row * RingRows, Result: true}
}

// CanShareRing reports whether t can pass its result to task next through a ring, a small buffer in
// L2 that one task empties while the other fills it. The tasks must run on different engines, t
// must load its only source from memory, and next must read nothing but the result of t.
func CanShareRing(t, next *Task) bool {
	return t.Planar() != next.Planar() && t.LoadsFirst() && !t.g.Source2On() &&
		!next.g.Source2On() && next.Second == nil &&
		fits(&t.g, &next.g)
}

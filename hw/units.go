package hw

import (
	"math/bits"

	"anesim/hw/clock"
	"anesim/hw/l2"
	"anesim/hw/regs"
	"anesim/internal/datapath/tiles"
)

// Units holds the columns of the per-descriptor cost report that Apple's compiler can write.
type Units struct {
	WorkUnits       int
	MACCyclesPerWU  int          // multiply-accumulate cycles per work unit; the last of an engine may take fewer
	PostCyclesPerWU int          // post-processing cycles per work unit
	NESingle        clock.Cycles // with one set of accumulators, see [tiles.Work.Single]
	NEDouble        clock.Cycles // with two sets, see [tiles.Work.Double]
	Planar          clock.Cycles
	L2Broadcast     clock.Cycles
	L2Writeback     clock.Cycles
	KernelBytes     uint64 // weights, unpadded
}

// engineUnitColumns returns the columns that the cost report of Apple's compiler has for a
// task with work w on the MAC engines. It also returns the bytes that the task moves to and from
// L2.
func (p *params) engineUnitColumns(g *regs.Groups, o *regs.Operands, w *tiles.Work) (Units, l2.Traffic) {
	u := Units{
		WorkUnits: w.WorkUnits, MACCyclesPerWU: w.MACCycles, PostCyclesPerWU: w.PostCycles,
		NESingle: w.Single(), NEDouble: w.Double(),
	}
	c, in, out := &g.Common, &o.In, &o.Out
	width := min(max(1, out.Width), p.tiles.PatchPixels)
	rows := min(max(1, out.Height), max(1, p.tiles.PatchPixels/width))
	kh, kw, sy, sx := 1, 1, 1, 1
	if g.NE.MACCfg.OpMode() == regs.MultiplyAccumulate {
		cc := c.ConvCfg
		kh, kw, sy, sx = int(cc.Kh()), int(cc.Kw()), int(cc.Sy()), int(cc.Sx())/max(1, int(cc.Ox()))
	}
	source := l2.Window{
		Patch: l2.Patch{
			Rows:   min((rows-1)*sy+kh, max(1, in.Height)),
			Width:  min((width-1)*sx+kw, max(1, in.Width)),
			Stride: g.L2.Src1RowStride.Bytes(),
		},
		Columns: 1 << bits.Len(uint(width-1)),
		Step:    sy,
	}
	// Each work unit reads every input channel of its patch once. A unicast task reads each channel
	// for one engine only.
	reads, unicast := w.WorkUnits*in.Channels, c.GroupConvCfg.UnicastEn()
	if unicast {
		reads = w.Patches * in.Channels
	}
	u.L2Broadcast = clock.Cycles(reads) * clock.Cycles(p.l2.Cycles(source, unicast))
	moved := l2.Traffic{
		Read:    fp16Bytes * uint64(reads) * uint64(source.Rows) * uint64(source.Width),
		Written: fp16Bytes * uint64(out.Elements()),
	}
	u.L2Writeback = p.writebackCycles(g, out, l2.Patch{Rows: rows, Width: width, Stride: g.L2.ResultRowStride.Bytes()}, w.Patches)
	switch {
	case g.NE.MACCfg.OpMode() == regs.MultiplyAccumulate:
		u.KernelBytes = 2 * uint64(out.Groups) * uint64(out.Channels) * uint64(tiles.Taps(g))
	case g.NE.MACCfg.NonlinearMode() == regs.ActivationTable:
		u.KernelBytes = 128
	}
	return u, moved
}

const fp16Bytes = 2

// writebackCycles returns the number of cycles needed to write the results of a task to L2. Each
// bank accepts one granule per cycle. A transposed result is written element by element.
func (p *params) writebackCycles(g *regs.Groups, out *regs.Shape, t l2.Patch, patches int) clock.Cycles {
	if g.ResultTransposed() {
		return p.transpose.Cycles(uint64(out.Elements()))
	}
	return clock.Cycles(patches) * p.l2.WritebackCycles(out.Channels, t)
}

// planarUnitColumns returns the columns that the cost report of Apple's compiler has for a
// planar task. It also returns the bytes that the task moves to and from L2.
func (p *params) planarUnitColumns(g *regs.Groups, o *regs.Operands) (Units, l2.Traffic) {
	in, out := &o.In, &o.Out
	patch := l2.Patch{Rows: max(1, in.Height), Width: max(1, in.Width), Stride: g.L2.Src1RowStride.Bytes()}
	if w := g.Common.PlanarPatch; w.Log2W() > 0 && w.Log2H() == 0 {
		patch.Stride = 0 // rows of a patch of one row are read one by one, and the compiler does not space them (one program)
	}
	// Every element of the source counts once, also where it is in several windows: in a
	// dump of a later target, a maximum of 2x2 windows counts all its rows, then half as many.
	u := Units{Planar: p.planar.Cycles(uint64(in.Elements()))}
	u.L2Broadcast = clock.Cycles(in.Groups*o.Sources()) * p.l2.WritebackCycles(in.Channels, patch)
	u.L2Writeback = p.writebackCycles(g, out, l2.Patch{Rows: max(1, out.Height), Width: max(1, out.Width)}, out.Groups)
	return u, l2.Traffic{
		Read:    fp16Bytes * uint64(in.Elements()) * uint64(o.Sources()),
		Written: fp16Bytes * uint64(out.Elements()),
	}
}

// splitByCause divides the duration of a descriptor among its causes. The argument array is the
// number of cycles in which the array or the planar engine works; they count as computing. L2
// transfers overlap with them. If the transfers take longer, the additional cycles count as L2
// stalls.
func (u *Units) splitByCause(array clock.Cycles) Accounting {
	a := Accounting{Compute: array}
	at := a.Compute
	wait := func(cause *clock.Cycles, until clock.Cycles) {
		if until > at {
			*cause = until - at
			at = until
		}
	}
	wait(&a.L2ReadStall, u.L2Broadcast)
	wait(&a.L2WriteStall, u.L2Writeback)
	return a
}

package tiles

import (
	"math/bits"

	"anesim/hw/clock"
	"anesim/hw/regs"
)

// Params holds the dimensions of a chip's MAC array.
type Params struct {
	Engines     int // 16 or fewer; a hypothetical chip may have a multiple of 16
	MACs        int // multipliers per engine: 256 on the M1 (inferred from the measured peak)
	PatchPixels int // pixels per step, one multiply-accumulate each: 256 on the M1 (inferred from the measured peak)
	MaxPack     int // channels that can share a step if the source is small: 8 on the M1, the accumulators of a MAC (decompiled)
	// Winograd is true for an array that transforms windows three columns wide; see [Params.reduceSteps].
	Winograd bool
	// WindowColumns is the width of the widest window that the array takes in one pass. Two passes take a wider one.
	WindowColumns int
}

// Present returns the tiles of the array that descriptors can address. A descriptor has at most
// sixteen weight streams. In a larger array, several engines share a stream and count as one here.
func (p *Params) Present() Enables {
	return AllTiles >> (Tiles - TilesPerEngine*min(p.Engines, Engines))
}

// PerLane returns the number of engines that share a weight stream. It is 1 unless the array has
// more than sixteen engines, which no known chip has.
func (p *Params) PerLane() int { return max(1, p.Engines/Engines) }

// A Work describes how much work a task is for the MAC array.
type Work struct {
	Crew
	Patches    int    // patches of up to PatchPixels pixels, over all groups
	WorkUnits  int    // patches x rounds of output-channel groups
	MACCycles  int    // per work unit, without the steps skipped for sparse weights
	PostCycles int    // per work unit: bias, scale, activation and rounding of a group
	MACs       uint64 // multiply-accumulates that the values need, including those by zero
	Skipped    uint64 // part of MACs: multiplications by zeros that sparse weights omit
	ZeroTaps   uint64 // not part of MACs: multiplications by zeros that fill rows or columns of the window
	Lookups    uint64 // activation-table look-ups
	Pixels     int    // output pixels per group
	Channels   int    // output channels that an engine serves in a round
	ShortMAC   int    // MACCycles of the last group of an engine; 0 if it has as many channels as the others
	ShortPost  int    // PostCycles of the last group, likewise
	Half       int    // of Patches, those at the end of a row with at most half of PatchPixels, which take half as long
}

// Single returns the duration of the work in cycles for engines with one set of accumulators, which
// must finish the results of one unit of work before they start the next.
func (w *Work) Single() clock.Cycles {
	return w.totalCycles(w.MACCycles+w.PostCycles, w.ShortMAC+w.ShortPost)
}

// Buffered returns the duration of the work in cycles for the engines of an array with dimensions
// p. If a unit of work uses at most half of their accumulators, the engines start the next unit
// while they finish the results of this one.
func (w *Work) Buffered(p Params) clock.Cycles {
	if 2*clock.CeilDiv(w.PostCycles, TilesPerEngine) <= p.MaxPack {
		return w.Double()
	}
	return w.Single()
}

// Double returns the duration of the work in cycles for engines with two sets of accumulators,
// which start the next unit of work while they finish the results of the last.
func (w *Work) Double() clock.Cycles {
	return w.totalCycles(max(w.MACCycles, w.PostCycles), max(w.ShortMAC, w.ShortPost))
}

// totalCycles returns the cycles of all work units: perShort for one of last groups that have fewer
// channels, and perUnit for every other.
func (w *Work) totalCycles(perUnit, perShort int) clock.Cycles {
	short := w.Patches * w.Short
	total := clock.Cycles(w.WorkUnits+w.Patches*w.Slow-short)*clock.Cycles(perUnit) + clock.Cycles(short)*clock.Cycles(perShort)
	if w.Half == 0 {
		return total
	}
	return total - total/clock.Cycles(2*w.Patches)*clock.Cycles(w.Half)
}

// Taps returns the number of products that are summed for one result of the task with registers g:
// input channels times window size. In a unicast task, such as a depthwise convolution, only
// UnicastCin channels count.
func Taps(g *regs.Groups) int {
	c := &g.Common
	channels := int(c.Cin.Cin())
	if c.GroupConvCfg.UnicastEn() {
		channels = int(c.GroupConvCfg.UnicastCin())
	}
	switch g.NE.MACCfg.OpMode() {
	case regs.PassThrough:
		return 1
	case regs.MultiplyAccumulate:
		return channels * int(c.ConvCfg.Kw()) * int(c.ConvCfg.Kh())
	}
	return channels
}

// Plan distributes the task with registers g over the enabled tiles and returns the resulting work.
// It assumes that the values need all taps of the window; see [Work.NeedTaps].
func Plan(g *regs.Groups, open Enables, p Params) Work {
	out := g.OutShape()
	w := Work{Pixels: out.Height * out.Width}
	want := 1 << min(4, g.Common.Cfg.ActiveNE())
	w.Patches = out.Groups * clock.CeilDiv(w.Pixels, p.PatchPixels)
	// A row runs in slices of half a patch: 375 columns are three of them. Apple's estimates of rows
	// wider than a slice say so (3 of 3 words), and a measured product of 375 rows of 1024 channels (r0184).
	if rest := w.Pixels % p.PatchPixels; out.Height == 1 && w.Pixels > p.PatchPixels && 0 < rest && 2*rest <= p.PatchPixels {
		w.Half = out.Groups
	}

	perEngine := clock.CeilDiv(out.Channels, want*p.PerLane())
	group := min(perEngine, 1<<g.Common.ConvCfg.OCGSize())
	if g.NE.MACCfg.OpMode() != regs.MultiplyAccumulate {
		group = perEngine // OCGSize is 0 on tasks without a kernel, for any number of channels
	}
	rounds := clock.CeilDiv(perEngine, max(1, group))
	w.Channels = group

	// Multipliers that the pixels of a patch leave idle serve additional output channels. A patch
	// with more pixels than multipliers takes several cycles per step.
	covered := p.PatchPixels
	if w.Pixels > 0 && w.Pixels < p.PatchPixels {
		covered = min(covered, 1<<bits.Len(uint(w.Pixels-1)))
	}
	pack := min(max(p.MACs/covered, 1), p.MaxPack)
	w.PostCycles = clock.CeilDiv(group, pack)
	last := clock.CeilDiv(perEngine-(rounds-1)*group, pack)
	w.Crew = open.assign(want, rounds, w.PostCycles, last)
	w.Engines *= p.PerLane()
	w.Tiles *= p.PerLane()
	w.WorkUnits = w.Patches * max(rounds, w.Rounds)

	taps := Taps(g)
	steps := taps
	if g.NE.MACCfg.OpMode() == regs.MultiplyAccumulate {
		w.MACs = uint64(out.Elements()) * uint64(taps)
		steps = p.reduceSteps(g, &out, taps)
		if g.NE.MACCfg.BiasMode() {
			steps++ // the bias is a separate row in the coefficient stream (from the bytes of programs)
		}
		skip, zeros := countSkippedSteps(g)
		steps -= min(skip, max(0, taps-1))
		w.Skipped = min(w.MACs, uint64(zeros)*uint64(g.Common.OutDim.Hout())*uint64(g.Common.OutDim.Wout()))
	}
	steps *= clock.CeilDiv(covered, p.MACs)
	w.MACCycles = w.PostCycles * steps
	if w.Short > 0 {
		w.ShortPost, w.ShortMAC = last, last*steps
	}
	if g.NE.MACCfg.NonlinearMode() == regs.ActivationTable {
		w.Lookups = uint64(out.Elements())
	}
	return w
}

// reduceSteps returns the steps in which an array with dimensions p multiplies all taps of the task with
// registers g and results of shape out. The Winograd transform F(2,3) along rows gives two results from
// four products instead of six. Values show that M5 and M6 transform rows, and times show where:
// windows of 3x3 run faster than the multipliers allow on maps of 32 rows and more, and at the
// plain rate on maps of 4 and 8; a window of 1x3 is transformed on 4 rows too, and 3x1 is not.
// That depthwise windows and sparse weights are not transformed is assumed.
func (p *Params) reduceSteps(g *regs.Groups, out *regs.Shape, taps int) int {
	c := &g.Common.ConvCfg
	switch {
	case p.WindowColumns > 0 && int(c.Kw()) > p.WindowColumns:
		return 2 * taps
	case p.Winograd && c.Kw() == 3 && c.Sx() <= 1 && c.Sy() <= 1 && c.Ox() <= 1 && (c.Kh() == 1 || out.Height > plainRows) &&
		!g.Common.GroupConvCfg.UnicastEn() && !g.NE.KernelCfg.Sparse():
		return taps / 3 * 2
	}
	return taps
}

// plainRows is a number of rows up to which windows of several rows are not transformed. Between it and
// 28 rows no measurement tells.
const plainRows = 8

// NeedTaps records that the values need only the given number of taps of the window. It moves the
// multiplications of all other taps from w.MACs to w.ZeroTaps, except for the ones that sparse
// weights omit. The registers g must be the same as in the call of [Plan]. The cycles do not
// change, because the array takes a step for every tap. NeedTaps does nothing if taps is 0 or is
// not less than the number of taps in the window.
func (w *Work) NeedTaps(g *regs.Groups, taps int) {
	c := &g.Common.ConvCfg
	all := int(c.Kh()) * int(c.Kw())
	if taps <= 0 || taps >= all || g.NE.MACCfg.OpMode() != regs.MultiplyAccumulate {
		return
	}
	needed := w.MACs / uint64(all) * uint64(taps)
	zeros := w.MACs - needed
	omitted := min(w.Skipped, zeros)
	w.MACs, w.Skipped, w.ZeroTaps = needed, w.Skipped-omitted, zeros-omitted
}

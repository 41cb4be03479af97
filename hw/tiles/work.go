package tiles

import (
	"math/bits"

	"anesim/hw/clock"
	"anesim/hw/regs"
)

// Params are a chip's array: its engines, their multipliers, the pixels an engine covers
// in a step and the channels it can pack into a step when the source is small.
type Params struct {
	Engines     int // 16, or fewer; of a chip that nobody built, a multiple of 16
	MACs        int // 256: multipliers of an engine (inferred from the measured peak)
	PatchPixels int // 256: one multiply-accumulate a pixel (inferred from the measured peak)
	MaxPack     int // 8: accumulators of a MAC (decompiled)
}

// Present is the tiles that the array has. A descriptor names sixteen lanes and their gates
// at most, so that the engines of a larger array share lanes.
func (p *Params) Present() Enables {
	return AllTiles >> (Tiles - TilesPerEngine*min(p.Engines, Engines))
}

// PerLane is the engines that serve the output channels of a lane: one, but for arrays of
// more than sixteen (a what-if: no such chip is known).
func (p *Params) PerLane() int { return max(1, p.Engines/Engines) }

// Work is a descriptor's demand on the array.
type Work struct {
	Crew
	Patches    int    // of up to PatchPixels pixels, over all groups
	WorkUnits  int    // patches x rounds of output-channel groups
	MACCycles  int    // per work unit, without the steps that sparse weights skip
	PostCycles int    // per work unit: bias, scale, activation and rounding of a group
	MACs       uint64 // multiply-accumulates the values need, those by zero among them
	Skipped    uint64 // of MACs, those by zeros that sparse weights leave out
	Lookups    uint64 // activation-table look-ups
	Pixels     int    // output pixels of a group
	Channels   int    // output channels an engine serves in a round
}

// Single is the engine cycles with one accumulator bank: a unit's post-processing
// waits for its multiply-accumulates.
func (w *Work) Single() clock.Cycles { return w.cycles(w.MACCycles + w.PostCycles) }

// Buffered is the engine cycles the accumulators allow: a unit that takes at most half of
// a MAC's lets the next one start beside its post-processing (decompiled). That the two
// tiles of an engine share a unit's output channels is inferred.
func (w *Work) Buffered(p Params) clock.Cycles {
	if 2*clock.CeilDiv(w.PostCycles, TilesPerEngine) <= p.MaxPack {
		return w.Double()
	}
	return w.Single()
}

// Double is the engine cycles with two: post-processing hides behind the next unit.
func (w *Work) Double() clock.Cycles { return w.cycles(max(w.MACCycles, w.PostCycles)) }

func (w *Work) cycles(perUnit int) clock.Cycles {
	return clock.Cycles(w.WorkUnits+w.Patches*w.Slow) * clock.Cycles(perUnit)
}

// Taps is the length of one output's reduction: input channels times kernel taps, of
// one channel for a unicast task.
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

// Plan deals a task of the MAC engines out to the open tiles.
func Plan(g *regs.Groups, open Enables, p Params) Work {
	out := g.OutShape()
	w := Work{Pixels: out.Height * out.Width}
	want := 1 << min(4, g.Common.Cfg.ActiveNE())
	w.Patches = out.Groups * clock.CeilDiv(w.Pixels, p.PatchPixels)

	perEngine := clock.CeilDiv(out.Channels, want*p.PerLane())
	group := min(perEngine, 1<<g.Common.ConvCfg.OCGSize())
	if g.NE.MACCfg.OpMode() != regs.MultiplyAccumulate {
		group = perEngine // OCGSize is 0 on tasks without a kernel, whatever their channels
	}
	rounds := clock.CeilDiv(perEngine, max(1, group))
	w.Channels = group
	w.Crew = open.Assign(want, rounds)
	w.Engines *= p.PerLane()
	w.Tiles *= p.PerLane()
	w.WorkUnits = w.Patches * max(rounds, w.Rounds)

	// Multipliers that a patch's pixels leave idle take further output channels; a patch of
	// more pixels than multipliers takes several cycles a step.
	covered := p.PatchPixels
	if w.Pixels > 0 && w.Pixels < p.PatchPixels {
		covered = min(covered, 1<<bits.Len(uint(w.Pixels-1)))
	}
	pack := min(max(p.MACs/covered, 1), p.MaxPack)
	taps := Taps(g)
	steps := taps
	if g.NE.MACCfg.OpMode() == regs.MultiplyAccumulate {
		w.MACs = uint64(out.Elements()) * uint64(taps)
		if g.NE.MACCfg.BiasMode() {
			steps++ // the bias is a row of its own in the coefficient stream (bytes)
		}
		skip, zeros := skips(g)
		steps -= min(skip, max(0, taps-1))
		w.Skipped = min(w.MACs, uint64(zeros)*uint64(g.Common.OutDim.Hout())*uint64(g.Common.OutDim.Wout()))
	}
	w.PostCycles = clock.CeilDiv(group, pack)
	w.MACCycles = w.PostCycles * steps * clock.CeilDiv(covered, p.MACs)
	if g.NE.MACCfg.NonlinearMode() == regs.ActivationTable {
		w.Lookups = uint64(out.Elements())
	}
	return w
}

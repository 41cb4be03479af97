package execycles

import (
	"math"

	"anesim/hw/regs"
)

// Constants of both targets. The words that 315 tasks store agree with the rules (TestStoredExeCycles),
// but only few of them depend on any one constant.
const (
	patchPixels         = 256
	sliceColumns        = 128
	channelsPerStep     = 16
	stepsPerMicrosecond = 1493.3 // one input channel and tap
	patchMicroseconds   = 0.0711 // a patch and sixteen output channels
)

// Constants of the target H13, fitted like those of both.
const (
	h13BytesPerMicrosecond   = 34133.33 // LPDDR4X-4266 on 64 bits
	h13LookupsPerMicrosecond = 11428.57 // in an engine's table
	h13PlanarMicroseconds    = 0.004444 // a channel and source
	h13ReduceMicroseconds    = 0.0017   // a channel of a planar reduction
	h13ReducePixel           = 0.000056 // plus this for each column of four rows
	h13ReducedRows           = 4        // rows reduced at a time
)

// Constants of the target H13G. The stored words (139 were compared, of which 50 are at hand) allow
// 67,500 to 68,300 bytes in a microsecond: twice as many as H13's is assumed. They allow 1,300 to 1,536
// cycles: as many as steps of the array is assumed. The granules of a cycle are known from one word.
const (
	h13gBytesPerMicrosecond  = 2 * h13BytesPerMicrosecond
	h13gCyclesPerMicrosecond = stepsPerMicrosecond
	h13gBlockRows            = 4 // rows and columns that the planar engine processes in a cycle
	h13gBlockColumns         = 8
	h13gGranuleBytes         = 16 // unit of L2
	h13gGranulesPerCycle     = 8  // that a pass through the MAC engines reads or writes
)

// maxEnginesLog2 is the largest value of ActiveNE, the logarithm of the number of engines: there are 16.
const maxEnginesLog2 = 4

// pairedMode is the value of SourceCfg.Dep_or_BfrMode of a pass that runs at the same time as the
// planar task before it.
const pairedMode = 2

// bytesPerMicrosecond returns the bytes that memory moves in a microsecond.
func (t Target) bytesPerMicrosecond() float64 {
	if t == H13G {
		return h13gBytesPerMicrosecond
	}
	return h13BytesPerMicrosecond
}

// Microseconds returns Apple's compiler's cost estimate for a task that runs alone, in
// microseconds. It is the largest of three times: for moving its bytes, for its steps on the MAC
// engines and for its work on the planar engine.
func (t Target) Microseconds(g *regs.Groups, o *regs.Operands) float64 {
	us := float64(o.Bytes()) / t.bytesPerMicrosecond()
	switch {
	case !g.Planar() && g.NE.MACCfg.OpMode() == regs.MultiplyAccumulate:
		return max(us, t.stepTime(g))
	case t == H13G && g.Planar():
		return max(us, blockTime(o.In))
	case t == H13G:
		return max(us, granuleTime(g, o), lookupTime(g, h13gCyclesPerMicrosecond))
	case g.Planar() && g.Common.Cfg.PlanarForm().Reduces():
		return max(us, reductionTime(g))
	}
	// H13 counts the channels of a pass once, and again for a second source that the planar engine reads
	// from memory. A second source in L2 does not count, and the first counts wherever it is.
	sources := 1.0
	if o.Source2.Used && o.Source2.DRAM {
		sources = 2
	}
	channels := float64(g.Common.Cin.Cin()) * float64(g.GroupCount())
	return max(us, h13PlanarMicroseconds*channels*sources, lookupTime(g, h13LookupsPerMicrosecond))
}

// stepTime returns the time of the steps of a multiply-accumulate on the MAC engines, or 0 if its
// result is transposed: the words of those products count their bytes alone.
func (t Target) stepTime(g *regs.Groups) float64 {
	c := &g.Common
	if c.Cfg.Transpose() {
		return 0
	}
	channels := float64(c.Cin.Cin())
	if c.GroupConvCfg.UnicastEn() {
		channels = float64(c.GroupConvCfg.UnicastCin())
	}
	steps := float64(channels*float64(c.ConvCfg.Kw())) * float64(c.ConvCfg.Kh())
	each := float64(steps/stepsPerMicrosecond) + patchMicroseconds
	return float64(t.countPatches(g)*float64(c.Cout.Cout())/channelsPerStep) * each
}

// countPatches returns the number of patches that the array computes the result in. Rows of more
// than 128 pixels are cut into slices of 128, the last of which is as large as the others, and the
// last patch may then be half as large: 375 pixels are one patch and a half (three words of a
// convolution of 1,024 channels). So may that of a small source for H13G (one word, of 32 pixels,
// which allows no more than 0.62 patches); the words of H13 have whole patches there.
func (t Target) countPatches(g *regs.Groups) float64 {
	h, w := float64(g.Common.OutDim.Hout()), float64(g.Common.OutDim.Wout())
	parts := 1.0 // of a patch
	if w > sliceColumns || t == H13G && g.Common.Cfg.SmallSourceMode() {
		parts = 2
	}
	if w > sliceColumns {
		w = math.Ceil(w/sliceColumns) * sliceColumns
	}
	return math.Ceil(parts*h*w/patchPixels) / parts
}

// reductionTime returns the time of a reduction on the planar engine of H13. If all W*H pixels
// counted, the second task of reduce_probe_mean_ax1_1x128x16x16 would have 2, but it has 0. It is
// the only stored word with several rows that its bytes do not determine.
func reductionTime(g *regs.Groups) float64 {
	in := float64(g.Common.InDim.Win()) * math.Ceil(float64(g.Common.InDim.Hin())/h13ReducedRows)
	channels := float64(g.Common.Cin.Cin()) * float64(g.GroupCount())
	return channels * (h13ReduceMicroseconds + float64(h13ReducePixel*in))
}

// lookupTime returns the time of the look-ups of an activation table, of which each engine does the
// given number in a microsecond. It returns 0 if the task has no table.
func lookupTime(g *regs.Groups, rate float64) float64 {
	if g.Planar() || g.NE.MACCfg.NonlinearMode() != regs.ActivationTable {
		return 0
	}
	c := &g.Common
	pixels := float64(c.OutDim.Wout()) * float64(c.OutDim.Hout())
	engines := float64(uint(1) << min(maxEnginesLog2, c.Cfg.ActiveNE()))
	return float64(c.Cin.Cin()) * pixels / engines / rate
}

// blockTime returns the time of a task of source in on the planar engine of H13G, which processes a
// block of a plane in a cycle. A second source and a reduction make no difference (54 of 54
// stored words).
func blockTime(in regs.Shape) float64 {
	rows, columns := math.Ceil(float64(in.Height)/h13gBlockRows), math.Ceil(float64(in.Width)/h13gBlockColumns)
	planes := float64(in.Groups) * float64(in.Channels) * float64(in.Planes())
	return planes * rows * columns / h13gCyclesPerMicrosecond
}

// granuleTime returns the time in which a pass through the MAC engines of H13G reads or writes the
// granules of its tiles. Each row begins a granule; a row of a transposed result holds the channels
// of a column.
func granuleTime(g *regs.Groups, o *regs.Operands) float64 {
	granules := func(s regs.Shape, element int, transposed bool) float64 {
		row, rows := float64(s.Width), float64(s.Channels)
		if transposed {
			row, rows = rows, row
		}
		return float64(s.Groups) * float64(s.Planes()) * float64(s.Height) * rows * math.Ceil(row*float64(element)/h13gGranuleBytes)
	}
	source := granules(o.In, o.Source1.Element, false)
	result := granules(o.Out, o.Result.Element, g.Common.Cfg.Transpose())
	return max(source, result) / h13gGranulesPerCycle / h13gCyclesPerMicrosecond
}

// A Chain estimates the tasks of a chain, one after the other. The zero value is at the start of a
// chain.
type Chain struct {
	before float64 // microseconds of the task before if that ran on the planar engine, else 0
}

// Next returns the cost estimate that Apple's compiler for target t stores in the header of the
// next task, which has the registers g and the operands o. It holds the costs of both of two tasks
// that run at the same time:
//
//   - If they share a ring buffer in L2, the first stores the higher cost and the second stores 0.
//     reader holds the registers of the second, and is nil for any other task.
//   - If a pass of H13G runs together with the planar task before it, it stores the higher cost of the two
//     (10 of 10 stored words).
func (c *Chain) Next(t Target, g *regs.Groups, o *regs.Operands, reader *regs.Groups) uint16 {
	before := c.before
	c.before = 0
	if o.Source1.L2 == regs.Circular {
		return 0
	}
	us := t.Microseconds(g, o)
	switch {
	case g.Planar():
		c.before = us
	case t == H13G && g.L2.SourceCfg.Dep_or_BfrMode() == pairedMode:
		us = max(us, before)
	}
	if o.Result.L2 == regs.Circular && reader != nil {
		var next regs.Operands
		next.Resolve(reader)
		us = max(us, t.Microseconds(reader, &next))
	}
	return uint16(min(math.Floor(us), math.MaxUint16))
}

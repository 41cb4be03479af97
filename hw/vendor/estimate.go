package vendor

import (
	"math"

	"anesim/hw/regs"
)

// Constants of the estimate, derived from stored words. Each is fitted to only a few points
// (registers.md).
const (
	bytesPerMicrosecond   = 34133.33
	patchPixels           = 256
	channelsPerStep       = 16
	stepsPerMicrosecond   = 1493.3   // one input channel and tap
	patchMicroseconds     = 0.0711   // a patch and sixteen output channels
	planarMicroseconds    = 0.004444 // a channel and source
	reduceMicroseconds    = 0.0017   // a channel of a planar reduction
	reducePixel           = 0.000056 // plus this for each column of four rows
	reducedRows           = 4        // rows reduced at a time
	lookupsPerMicrosecond = 11428.57 // look-ups in an engine's table
)

// Microseconds returns the vendor compiler's cost estimate for a task that runs alone, in
// microseconds. It is the largest of three times: for moving its bytes, for its steps on the MAC
// engines and for its channels on the planar engine.
func Microseconds(g *regs.Groups, o *regs.Operands) float64 {
	us := float64(o.Bytes()) / bytesPerMicrosecond
	c := &g.Common
	groups := float64(g.GroupCount())
	channels, pixels := float64(c.Cin.Cin()), float64(c.OutDim.Wout())*float64(c.OutDim.Hout())
	switch {
	case !g.Planar() && g.NE.MACCfg.OpMode() == regs.MultiplyAccumulate:
		if c.Cfg.Transpose() {
			return us
		}
		if c.GroupConvCfg.UnicastEn() {
			channels = float64(c.GroupConvCfg.UnicastCin())
		}
		steps := float64(channels*float64(c.ConvCfg.Kw())) * float64(c.ConvCfg.Kh())
		each := float64(steps/stepsPerMicrosecond) + patchMicroseconds
		patches := math.Ceil(pixels / patchPixels)
		return max(us, float64(patches*float64(c.Cout.Cout())/channelsPerStep)*each)
	case g.Planar() && c.Cfg.PlanarForm().Reduces():
		// If all W*H pixels counted, the second task of reduce_probe_mean_ax1_1x128x16x16 would
		// have 2, but it has 0. It is the only stored word with several rows that its bytes do not
		// determine.
		in := float64(c.InDim.Win()) * math.Ceil(float64(c.InDim.Hin())/reducedRows)
		return max(us, float64(channels*groups)*(reduceMicroseconds+float64(reducePixel*in)))
	}
	sources := 1.0
	if o.Source2.Used && o.Source2.DRAM {
		sources = 2 // a source in the L2 does not count
	}
	us = max(us, planarMicroseconds*channels*groups*sources)
	if !g.Planar() && g.NE.MACCfg.NonlinearMode() == regs.ActivationTable {
		engines := float64(uint(1) << min(4, c.Cfg.ActiveNE()))
		us = max(us, channels*pixels/engines/lookupsPerMicrosecond)
	}
	return us
}

// ExeCycles returns the cost estimate that the vendor's compiler stores in a task's header. The
// argument neighbour holds the registers of the task that runs at the same time because both share
// a ring buffer in L2. It is nil if there is none. The first task of such a pair stores the cost of
// both and the second stores 0.
func ExeCycles(g *regs.Groups, o *regs.Operands, neighbour *regs.Groups) uint16 {
	if o.Source1.L2 == regs.Circular {
		return 0
	}
	us := Microseconds(g, o)
	if o.Result.L2 == regs.Circular && neighbour != nil {
		var next regs.Operands
		next.Resolve(neighbour)
		us = max(us, Microseconds(neighbour, &next))
	}
	return uint16(min(math.Floor(us), math.MaxUint16))
}

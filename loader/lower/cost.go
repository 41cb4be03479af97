package lower

import (
	"math"

	"anesim/hw/regs"
)

// The compiler's own estimate of a task, in microseconds, is the floor of the largest of
// three terms (holds 104/104; the constants of the second and third rest on six points
// each, fitted).
const (
	bytesPerMicrosecond = 4266e6 * 8 / 1e6 // LPDDR4X-4266 on 64 bits
	estimatePatch       = 256              // pixels
	stepsPerMicrosecond = 1493.3           // one input channel and tap
	channelOverhead     = 0.0711           // microseconds a patch and channel
	planarMicroseconds  = 0.004444         // a channel and source
)

// estimate is ExeCycles of the task as it stands; see [bytesPerMicrosecond].
func estimate(t *task) uint32 {
	g := &t.g
	c := &g.Common
	us := float64(moved(t)) / bytesPerMicrosecond
	if !t.planar() && g.NE.MACCfg.OpMode() == regs.MultiplyAccumulate {
		cc := c.ConvCfg
		pixels := int(c.OutDim.Wout()) * int(c.OutDim.Hout())
		steps := int(c.Cin.Cin())
		if c.GroupConvCfg.UnicastEn() {
			steps = int(c.GroupConvCfg.UnicastCin())
		}
		steps *= int(cc.Kh()) * int(cc.Kw())
		patches := (pixels + estimatePatch - 1) / estimatePatch
		each := float64(steps)/stepsPerMicrosecond + channelOverhead
		us = max(us, float64(float64(patches)*float64(c.Cout.Cout())/engines*each))
	} else {
		sources := 1
		if c.ChCfg&twoSourceChCfg != 0 {
			sources = 2
		}
		us = max(us, planarMicroseconds*float64(int(c.Cin.Cin())*sources*g.GroupCount()))
	}
	return uint32(min(us, math.MaxUint16))
}

// moved is the bytes that cross the memory's bus: surfaces whole, coefficients as their
// buffers are.
func moved(t *task) uint64 {
	g := &t.g
	n := g.KernelBytes()
	if g.Source1On() {
		n += g.Source1().Moved()
	}
	if g.Source2On() {
		n += g.Source2().Moved()
	}
	if g.DestinationOn() {
		n += g.Destination().Moved()
	}
	return n
}

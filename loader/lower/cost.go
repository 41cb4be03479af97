package lower

import (
	"math"

	"anesim/hw/regs"
)

// The compiler's own estimate of a task, in microseconds, is the floor of the largest of
// three terms (228/228; the constants of the second and third rest on few points each,
// fitted).
const (
	bytesPerMicrosecond = 4266e6 * 8 / 1e6 // LPDDR4X-4266 on 64 bits
	estimatePatch       = 256              // pixels
	stepsPerMicrosecond = 1493.3           // one input channel and tap
	channelOverhead     = 0.0711           // microseconds a patch and channel
	planarMicroseconds  = 0.004444         // a channel and source
	reducedChannel      = 0.0017           // microseconds a channel of a planar reduction
	reducedPixel        = 0.000056         // and of each column of four of its rows
	lookupsPerEngine    = 11428.57         // a microsecond
)

// estimate is ExeCycles of the task as it stands.
func estimate(t *task) uint32 {
	us := max(float64(moved(t))/bytesPerMicrosecond, t.engineEstimate())
	return uint32(min(us, math.MaxUint16))
}

// engineEstimate is what the task keeps its engines busy for, in microseconds.
func (t *task) engineEstimate() float64 {
	g := &t.g
	c := &g.Common
	channels := float64(int(c.Cin.Cin()) * g.GroupCount())
	pixels := float64(int(c.OutDim.Wout()) * int(c.OutDim.Hout()))
	quarters := float64(int(c.OutDim.Wout()) * ((int(c.OutDim.Hout()) + foldRows - 1) / foldRows))
	op := g.NE.MACCfg.OpMode()
	switch {
	case t.planar() && c.Cfg.PlanarForm() >= regs.FormReduction:
		return float64(channels * (reducedChannel + float64(reducedPixel*quarters)))
	case t.planar() || op != regs.MultiplyAccumulate:
		sources := 1.0
		if c.ChCfg&twoSourceChCfg != 0 && g.Source2On() {
			sources = 2
		}
		us := float64(float64(planarMicroseconds*channels) * sources)
		if g.NE.MACCfg.NonlinearMode() == regs.ActivationTable && !t.planar() {
			us = max(us, float64(float64(c.Cout.Cout())*pixels)/(float64(int(1)<<c.Cfg.ActiveNE())*lookupsPerEngine))
		}
		return us
	case op == regs.MultiplyAccumulate && !c.Cfg.Transpose():
		steps := float64(c.Cin.Cin())
		if c.GroupConvCfg.UnicastEn() {
			steps = float64(c.GroupConvCfg.UnicastCin())
		}
		steps *= float64(int(c.ConvCfg.Kh()) * int(c.ConvCfg.Kw()))
		each := float64(steps/stepsPerMicrosecond) + channelOverhead
		return float64(float64(math.Ceil(pixels/estimatePatch)*float64(c.Cout.Cout())/engines) * each)
	}
	return 0
}

// moved is the bytes that the estimate has cross the memory's bus: rows padded to 64
// bytes, a repeated operand once, the rows two tiles share twice, lanes that read the same
// coefficients once.
func moved(t *task) uint64 {
	g := &t.g
	c := &g.Common
	o := c.PlanarOperands
	in, depth := g.InShape(), max(1, int(c.InDepth.Din()))
	total := t.coefficientBytes()
	if g.Source1On() {
		s := in
		s.Height += t.sharedRows()
		total += elementRows(repeat(s, o.Src1BroadcastW(), o.Src1BroadcastH(), o.Src1BroadcastC()), depth)
	}
	if g.Source2On() {
		total += elementRows(repeat(in, o.Src2BroadcastW(), o.Src2BroadcastH(), o.Src2BroadcastC()), depth)
	}
	if g.DestinationOn() {
		s, d := g.OutShape(), max(1, int(c.OutDepth.Dout()))
		if c.Cfg.Transpose() {
			s.Width, s.Channels = s.Channels, s.Width
		}
		if t.planar() && c.Cfg.PlanarForm() >= regs.FormReduction {
			d = 1
		}
		total += elementRows(s, d)
	}
	return total
}

// sharedRows is how many source rows the task reads again: those that the windows of two
// tiles share.
func (t *task) sharedRows() int {
	c := &t.g.Common
	if t.planar() || t.g.NE.MACCfg.OpMode() != regs.MultiplyAccumulate {
		return 0
	}
	rows, tile := int(c.OutDim.Hout()), max(1, int(c.TileCfg.TileHeight()))
	tiles := (rows + tile - 1) / tile
	return (tiles - 1) * max(0, int(c.ConvCfg.Kh())-int(c.ConvCfg.Sy()))
}

func repeat(s regs.Shape, w, h, c bool) regs.Shape {
	if w {
		s.Width = 1
	}
	if h {
		s.Height = 1
	}
	if c {
		s.Channels = 1
	}
	return s
}

// elementRows is the bytes of a shape whose rows stand at multiples of 64 bytes.
func elementRows(s regs.Shape, depth int) uint64 {
	return uint64(roundUp(s.Width*elementBytes, 64)) * uint64(s.Height) * uint64(s.Channels) * uint64(s.Groups) * uint64(depth)
}

// coefficientBytes is the bytes of the coefficient buffers that are on, each place once.
func (t *task) coefficientBytes() uint64 {
	d := &t.g.KernelDMASrc
	seen := map[uint32]bool{}
	n := uint64(0)
	for i, c := range d.CoeffDMAConfig {
		base := d.CoeffBaseAddr[i].Bytes()
		if c.En() && !seen[base] {
			seen[base] = true
			n += uint64(d.CoeffBfrSize[i].Bytes())
		}
	}
	return n
}

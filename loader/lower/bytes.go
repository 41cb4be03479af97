package lower

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
)

// bytePort is a port of 8-bit elements, which programs see as half as many fp16 columns.
func (p *plan) bytePort(name string, halves layer.Shape) memory {
	if name == "y" {
		return p.output(name, halves)
	}
	return p.input(name, halves)
}

// eightBit makes a pass-through one of 8-bit elements (1/1).
func (t *task) eightBit(halves layer.Shape) {
	c, n := &t.g.Common, &t.g.NE
	c.ChCfg = c.ChCfg.WithInFmt(regs.FormatInt8A).WithOutFmt(regs.FormatInt8A)
	n.KernelCfg = n.KernelCfg.WithKernelFmt(regs.FormatInt8A)
	n.MACCfg = n.MACCfg.WithBinaryPoint(0)
	t.passPatch(regs.Shape{Height: halves.H, Width: halves.W})
}

// byteTile is sourceTile for 8-bit elements.
func (t *task) byteTile(halves layer.Shape) layout {
	s := t.g.InShape()
	s.Width = halves.W
	l := packedColumns(s, engineColumns(s.Width))
	if s.Height == 1 && s.Width > 1 {
		return l
	}
	return l.skewed(1, engineFetches(&t.g.Common)...)
}

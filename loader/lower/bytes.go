package lower

import (
	"anesim/hw/regs"
	"anesim/loader"
)

// bytePort is a port of 8-bit elements, whose surface is that of half as many fp16
// columns.
func (p *plan) bytePort(name string, s, halves Shape) memory {
	d, bar := loader.Input, uint32(bar4)
	if name == "y" {
		d, bar = loader.Output, bar5
	}
	m := surface(bar, halves)
	if at, ok := p.bound[name]; ok {
		return at
	}
	port := m.port(name, d, s)
	port.Strides[3] = 1
	p.ports = append(p.ports, port)
	return m
}

// eightBit makes a pass-through one of 8-bit elements (1/1).
func (t *task) eightBit(halves Shape) {
	c, n := &t.g.Common, &t.g.NE
	c.ChCfg = c.ChCfg.WithInFmt(regs.FormatInt8A).WithOutFmt(regs.FormatInt8A)
	n.KernelCfg = n.KernelCfg.WithKernelFmt(regs.FormatInt8A)
	n.MACCfg = n.MACCfg.WithBinaryPoint(0)
	t.passPatch(regs.Shape{Height: halves.H, Width: halves.W})
}

// byteTile is sourceTile for 8-bit elements.
func (t *task) byteTile(halves Shape) layout {
	s := t.g.InShape()
	s.Width = halves.W
	l := packedColumns(s, engineColumns(s.Width))
	if s.Height == 1 && s.Width > 1 {
		return l
	}
	return l.skewed(1, engineFetches(&t.g.Common)...)
}

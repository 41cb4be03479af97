package lower

import (
	"anesim/hw/lanes"
	"anesim/hw/regs"
	"anesim/loader/lower/coeff"
)

// A packing is what makes two tasks' coefficients the same: the share and the width of
// its planes.
type packing struct {
	share coeff.Share
	width int
}

// An attached kernel stands in the constant section.
type attached struct {
	base   int
	lanes  []coeff.Lane
	coding coeff.Coding
}

// attach gives a task its coefficients: those of an earlier task with the same share in
// planes of the same width, or the ones that pack makes, at the end of the constants.
func (p *plan) attach(t *task, s coeff.Share, width int, pack func(s coeff.Share, width int) *coeff.Kernel) {
	key := packing{s, width}
	a, ok := p.packed[key]
	if !ok {
		k := pack(s, width)
		a = attached{p.constants.AddKernel(k), k.Lanes, k.Coding}
		if p.packed == nil {
			p.packed = map[packing]attached{}
		}
		p.packed[key] = a
	}
	t.kernel(a.base, a.lanes)
	t.coded(a.coding)
}

// planeWidth is the most channels side by side in a plane of the task's coefficients, of so
// many weights a channel.
func (t *task) planeWidth(taps int) int { return lanes.Most(&t.g, taps) }

// kernel turns lanes on, base bytes into the constants. Lanes that are off keep a
// buffer of 64 bytes.
func (t *task) kernel(base int, lanes []coeff.Lane) {
	d := &t.g.KernelDMASrc
	d.Reserved00 = kernelWord
	for i := range d.CoeffBfrSize {
		t.dma(&d.CoeffBfrSize[i], 64)
	}
	for i, l := range lanes {
		d.CoeffDMAConfig[i] = d.CoeffDMAConfig[i].WithEn(true)
		t.dma(&d.CoeffBaseAddr[i], base+l.Base)
		t.dma(&d.CoeffBfrSize[i], l.Size)
	}
	t.h.KernelBases = t.h.KernelBases.WithKBase0(regs.BARWeights).WithKBE0(true)
}

// tableLanes is how many engines look their results up: one for each channel of the
// result, sixteen at most (44/44).
func (t *task) tableLanes() int { return min(engines, int(t.g.Common.Cout.Cout())) }

// lookup gives the engines an activation table, base bytes into the constants. All of
// them read the same 128 bytes.
func (t *task) lookup(base int, table []byte) {
	lanes := make([]coeff.Lane, t.tableLanes())
	for i := range lanes {
		lanes[i].Size = coeff.TableBytes
	}
	t.kernel(base, lanes)
	t.table = table
	t.activate(regs.ActivationTable)
}

// coded says how the planes of the coefficients are written.
func (t *task) coded(c coeff.Coding) {
	n := &t.g.NE
	switch c {
	case coeff.ZeroSkipping, coeff.Masked:
		t.g.KernelDMASrc.Reserved00 |= sparseWord
		n.KernelCfg = n.KernelCfg.WithSparse(true)
	case coeff.Palette4:
		n.KernelCfg = n.KernelCfg.WithPalEn(true).WithPalBits(4)
	case coeff.Palette8:
		n.KernelCfg = n.KernelCfg.WithPalEn(true).WithPalBits(8)
	case coeff.Int8s:
		n.KernelCfg = n.KernelCfg.WithKernelFmt(regs.FormatInt8A)
	}
}

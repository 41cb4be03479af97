package lower

import (
	"anesim/hw/lanes"
	"anesim/hw/regs"
)

// A packing is what makes two tasks' coefficients the same: the share and the width of
// its planes.
type packing struct {
	share share
	width int
}

// An attached kernel stands in the constant section.
type attached struct {
	base   int
	lanes  []lane
	coding coding
}

// attach gives a task its coefficients: those of an earlier task with the same share in
// planes of the same width, or the ones that pack makes, at the end of the constants.
func (p *plan) attach(t *task, s share, width int, pack func(s share, width int) *kernel) {
	key := packing{s, width}
	a, ok := p.packed[key]
	if !ok {
		k := pack(s, width)
		a = attached{p.constants.addKernel(k), k.lanes, k.coding}
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
func (t *task) kernel(base int, lanes []lane) {
	d := &t.g.KernelDMASrc
	d.Reserved00 = kernelWord
	for i := range d.CoeffBfrSize {
		t.dma(&d.CoeffBfrSize[i], 64)
	}
	for i, l := range lanes {
		d.CoeffDMAConfig[i] = d.CoeffDMAConfig[i].WithEn(true)
		t.dma(&d.CoeffBaseAddr[i], base+l.base)
		t.dma(&d.CoeffBfrSize[i], l.size)
	}
	t.h.KernelBases = t.h.KernelBases.WithKBase0(regs.BARWeights).WithKBE0(true)
}

// tableLanes is how many engines look their results up: one for each channel of the
// result, sixteen at most (44/44).
func (t *task) tableLanes() int { return min(engines, int(t.g.Common.Cout.Cout())) }

// lookup gives the engines an activation table, base bytes into the constants. All of
// them read the same 128 bytes.
func (t *task) lookup(base int, table []byte) {
	lanes := make([]lane, t.tableLanes())
	for i := range lanes {
		lanes[i].size = tableBytes
	}
	t.kernel(base, lanes)
	t.table = table
	t.activate(regs.ActivationTable)
}

// coded says how the planes of the coefficients are written.
func (t *task) coded(c coding) {
	n := &t.g.NE
	switch c {
	case zeroSkipping, masked:
		t.g.KernelDMASrc.Reserved00 |= sparseWord
		n.KernelCfg = n.KernelCfg.WithSparse(true)
	case palette4:
		n.KernelCfg = n.KernelCfg.WithPalEn(true).WithPalBits(4)
	case palette8:
		n.KernelCfg = n.KernelCfg.WithPalEn(true).WithPalBits(8)
	case int8s:
		n.KernelCfg = n.KernelCfg.WithKernelFmt(regs.FormatInt8A)
	}
}

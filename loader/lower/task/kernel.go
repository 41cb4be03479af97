package task

import (
	"anesim/hw/lanes"
	"anesim/hw/regs"
	"anesim/loader/lower/coeff"
)

// PlaneWidth returns the largest number of channels in a plane of the task's weights, if each
// channel has taps weights.
func (t *registers) PlaneWidth(taps int) int { return lanes.Most(&t.g, taps) }

// SetKernel enables the kernel DMA of the given lanes. base is the offset of the task's weights
// in the program's constants. Lanes that stay disabled keep a buffer size of 64 bytes.
func (t *Task) SetKernel(base int, lanes []coeff.Lane) {
	d := &t.g.KernelDMASrc
	d.Reserved00 = kernelWord
	for i := range d.CoeffBfrSize {
		t.setDMA(&d.CoeffBfrSize[i], 64)
	}
	for i, l := range lanes {
		d.CoeffDMAConfig[i] = d.CoeffDMAConfig[i].WithEn(true)
		t.setDMA(&d.CoeffBaseAddr[i], base+l.Base)
		t.setDMA(&d.CoeffBfrSize[i], l.Size)
	}
	t.h.KernelBases = t.h.KernelBases.WithKBase0(regs.BARWeights).WithKBE0(true)
}

// TableLanes returns how many engines look up results in a table: one per channel of the result,
// at most 16 (seen in 44 of 44 tasks).
func (t *registers) TableLanes() int { return min(Engines, int(t.g.Common.Cout.Cout())) }

// SetTable makes the engines look up their results in an activation table, which is stored at
// offset base of the program's constants. All engines read the same 128 bytes.
func (t *Task) SetTable(base int, table []byte) {
	lanes := make([]coeff.Lane, t.TableLanes())
	for i := range lanes {
		lanes[i].Size = coeff.TableBytes
	}
	t.SetKernel(base, lanes)
	t.Table = table
	t.setNonlinear(regs.ActivationTable)
}

// SetCoding sets how the planes of the task's weights are encoded.
func (t *Task) SetCoding(c coeff.Coding) {
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

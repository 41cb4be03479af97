package task

import (
	"anesim/hw/lanes"
	"anesim/hw/regs"
	"anesim/loader/lower/coeff"
)

// PlaneWidth is the most channels side by side in a plane of the task's coefficients, of so
// many weights a channel.
func (t *registers) PlaneWidth(taps int) int { return lanes.Most(&t.g, taps) }

// Kernel turns lanes on, base bytes into the constants. Lanes that are off keep a
// buffer of 64 bytes.
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

// TableLanes is how many engines look their results up: one for each channel of the
// result, sixteen at most (44/44).
func (t *registers) TableLanes() int { return min(Engines, int(t.g.Common.Cout.Cout())) }

// Lookup gives the engines an activation table, base bytes into the constants. All of
// them read the same 128 bytes.
func (t *Task) SetTable(base int, table []byte) {
	lanes := make([]coeff.Lane, t.TableLanes())
	for i := range lanes {
		lanes[i].Size = coeff.TableBytes
	}
	t.SetKernel(base, lanes)
	t.Table = table
	t.setNonlinear(regs.ActivationTable)
}

// Coded says how the planes of the coefficients are written.
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

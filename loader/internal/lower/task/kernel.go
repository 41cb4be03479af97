package task

import (
	"anesim/hw/regs"
	"anesim/internal/datapath/lanes"
	"anesim/loader/internal/lower/coeff"
)

// PlaneWidth returns the largest number of output channels whose weights the task interleaves in
// one plane. taps is the number of weights of an output channel.
func (t *registers) PlaneWidth(taps int) int { return lanes.Most(&t.g, taps) }

// SetKernel makes the engines load weights from the constants of the program: engine i loads
// lanes[i]. base is the offset in bytes of the task's weights in the constants, and the lanes have
// offsets relative to it. Engines without a lane load nothing.
func (t *Task) SetKernel(base int, lanes []coeff.Lane) {
	d := &t.g.KernelDMASrc
	d.Reserved00 = regs.KernelMaster{}.WithMasterEnable(true)
	for i := range d.CoeffBfrSize {
		t.setDMAWord(&d.CoeffBfrSize[i], 64)
	}
	for i, l := range lanes {
		d.CoeffDMAConfig[i] = d.CoeffDMAConfig[i].WithEn(true)
		t.setDMAWord(&d.CoeffBaseAddr[i], base+l.Base)
		t.setDMAWord(&d.CoeffBfrSize[i], l.Size)
	}
	t.h.KernelBases = t.h.KernelBases.WithKBase0(regs.BARWeights).WithKBE0(true)
}

// WindowTaps returns how many taps of the window each task has to compute. The keys are indices in
// tasks. Only tasks that can skip some taps, because their weights are zero, have an entry. The
// result is nil if there are none.
func WindowTaps(tasks []*Task) map[int]regs.WindowTaps {
	var list map[int]regs.WindowTaps
	for i, t := range tasks {
		c := t.g.Common.ConvCfg
		if t.WindowTaps == 0 || t.WindowTaps >= int(c.Kh()*c.Kw()) {
			continue
		}
		if list == nil {
			list = make(map[int]regs.WindowTaps)
		}
		list[i] = regs.WindowTaps{Window: c, Taps: t.WindowTaps}
	}
	return list
}

// TableLanes returns how many engines need an activation table: one for each channel of the result,
// up to 16 (seen in 44 of 44 tasks).
func (t *registers) TableLanes() int { return min(Engines, int(t.g.Common.Cout.Cout())) }

// SetTable makes a task without weights apply an activation table to its results. base is the
// offset of the table in the constants of the program. All engines read the same 128 bytes there.
func (t *Task) SetTable(base int, table []byte) {
	lanes := make([]coeff.Lane, t.TableLanes())
	for i := range lanes {
		lanes[i].Size = coeff.TableBytes
	}
	t.SetKernel(base, lanes)
	t.Table = table
	t.setNonlinear(regs.ActivationTable)
}

// SetCoding sets the registers for the encoding of the task's weights: dense, sparse, palette or
// signed bytes.
func (t *Task) SetCoding(c coeff.Coding) {
	n := &t.g.NE
	switch c {
	case coeff.ZeroSkipping, coeff.Masked:
		k := &t.g.KernelDMASrc
		k.Reserved00 = k.Reserved00.WithSparseFmt(true)
		n.KernelCfg = n.KernelCfg.WithSparse(true)
	case coeff.Palette4:
		n.KernelCfg = n.KernelCfg.WithPalEn(true).WithPalBits(4)
	case coeff.Palette8:
		n.KernelCfg = n.KernelCfg.WithPalEn(true).WithPalBits(8)
	case coeff.Int8s:
		n.KernelCfg = n.KernelCfg.WithKernelFmt(regs.FormatInt8A)
	}
}

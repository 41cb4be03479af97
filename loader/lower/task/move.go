package task

import (
	"anesim/hw/regs"
	"anesim/loader/lower/place"
)

// Rebase moves every surface of the task to the given places of its buffers. A surface that is
// only described, because it stays in the L2, changes its buffer too.
func (t *registers) Rebase(at *place.Spots) {
	b := t.h.Bases
	move := func(w *regs.DMAWord, bar uint32) uint32 {
		t.setDMA(w, int(w.Bytes())+at[bar].Base)
		return at[bar].Bar
	}
	if b.RBE0() {
		b = b.WithRBase0(move(&t.g.TileDMASrc.Src1Base, b.RBase0()))
	}
	if b.RBE1() {
		b = b.WithRBase1(move(&t.g.TileDMASrc.Src2Base, b.RBase1()))
	}
	if b.WBE() {
		b = b.WithWBase(move(&t.g.TileDMADst.DstBase, b.WBase()))
	}
	t.h.Bases = b
	k := t.h.KernelBases
	if !k.KBE0() {
		return
	}
	d := &t.g.KernelDMASrc
	bar := k.KBase0()
	for i, c := range d.CoeffDMAConfig {
		if c.En() {
			move(&d.CoeffBaseAddr[i], bar)
		}
	}
	t.h.KernelBases = k.WithKBase0(at[bar].Bar)
}

// Shift moves an operand in the L2 by the given number of bytes.
func (t *Task) Shift(which Operand, by int) {
	l := &t.g.L2
	w := [...]*regs.L2Word{&l.Src1Base, &l.Src2Base, &l.ResultBase}[which]
	t.setL2(w, int(w.Bytes())+by)
}

// MoveTo sets the base of an operand within its buffer in memory.
func (t *Task) MoveTo(which Operand, base int) {
	w := [...]*regs.DMAWord{&t.g.TileDMASrc.Src1Base, &t.g.TileDMASrc.Src2Base, &t.g.TileDMADst.DstBase}[which]
	t.setDMA(w, base)
}

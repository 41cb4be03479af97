package task

import (
	"anesim/hw/regs"
	"anesim/loader/internal/lower/place"
)

// Rebase moves all surfaces of the task from the buffers of a part to buffers of the whole program:
// a surface in buffer i moves to buffer at[i].Bar, and its offset grows by at[i].Base. This
// includes surfaces that the task describes but keeps in L2.
func (t *registers) Rebase(at *place.Spots) {
	b := t.h.Bases
	move := func(w *regs.DMAWord, bar uint32) uint32 {
		t.setDMAWord(w, int(w.Bytes())+at[bar].Base)
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

// Shift adds n bytes to the address of an operand in L2. The strides of the operand do not change.
func (t *Task) Shift(operand Operand, n int) {
	l := &t.g.L2
	w := [...]*regs.L2Word{&l.Src1Base, &l.Src2Base, &l.ResultBase}[operand]
	t.setL2Word(w, int(w.Bytes())+n)
}

// MoveTo sets the offset in bytes of an operand within its buffer in memory.
func (t *Task) MoveTo(operand Operand, base int) {
	w := [...]*regs.DMAWord{&t.g.TileDMASrc.Src1Base, &t.g.TileDMASrc.Src2Base, &t.g.TileDMADst.DstBase}[operand]
	t.setDMAWord(w, base)
}

package task

import (
	"anesim/hw/regs"
	"anesim/loader/internal/lower/place"
	"anesim/loader/layer"
)

// SetEightBit makes t move 8-bit elements instead of fp16 elements. t must be a copy through the
// MAC engines. halves is the shape of the tensor with each pair of 8-bit elements counted as one
// element (seen in the one program that moves 8-bit elements).
func SetEightBit(t *Task, halves layer.Shape) {
	c, n := &t.g.Common, &t.g.NE
	c.ChCfg = c.ChCfg.WithInFmt(regs.FormatInt8A).WithOutFmt(regs.FormatInt8A)
	n.KernelCfg = n.KernelCfg.WithKernelFmt(regs.FormatInt8A)
	n.MACCfg = n.MACCfg.WithBinaryPoint(0)
	setCopyPatch(c, regs.Shape{Height: halves.H, Width: halves.W})
}

// ByteTile returns the layout in L2 of a source of 8-bit elements that t loads. halves is the shape
// of the tensor with each pair of elements counted as one.
func ByteTile(t *Task, halves layer.Shape) place.Layout {
	s := t.g.InShape()
	s.Width = halves.W
	l := place.PackedColumns(s, place.EngineColumns(s.Width))
	if s.Height == 1 && s.Width > 1 {
		return l
	}
	return l.Skew(sourceFetches(&t.g.Common)...)
}

// SetByteSurfaces makes t use 8-bit elements for its first source and its result in memory (seen in
// the one program with such operands).
func SetByteSurfaces(t *Task) {
	f := &t.g.TileDMASrc.Src1Fmt
	*f = regs.SurfaceFmt{}.WithInterleave(1)
	t.g.TileDMADst.DstFmt = f.WithZeroPadLast(true).WithZeroPadFirst(true)
	t.g.L2.SourceCfg = t.g.L2.SourceCfg.WithDMAFmt(0)
	t.g.L2.ResultCfg = t.g.L2.ResultCfg.WithDMAFmt(0)
}

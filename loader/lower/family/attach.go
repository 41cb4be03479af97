package family

import (
	"anesim/loader/lower/coeff"
	"anesim/loader/lower/task"
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

// kernels are the coefficients of a layer that its tasks have placed in the constants so far.
type kernels map[packing]attached

// attachKernel gives a task its coefficients: those of an earlier task with the same share in
// planes of the same width, or the ones that pack makes, at the end of the constants.
func attachKernel(o *Output, made kernels, t *task.Task, s coeff.Share, width int, pack func(s coeff.Share, width int) *coeff.Kernel) {
	key := packing{s, width}
	a, ok := made[key]
	if !ok {
		k := pack(s, width)
		a = attached{o.Constants.AddKernel(k), k.Lanes, k.Coding}
		made[key] = a
	}
	t.SetKernel(a.base, a.lanes)
	t.SetCoding(a.coding)
}

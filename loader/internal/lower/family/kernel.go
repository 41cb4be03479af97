package family

import (
	"anesim/loader/internal/lower/coeff"
	"anesim/loader/internal/lower/task"
)

// A packKey identifies packed weights. Tasks with the same share and the same plane width use
// the same weights.
type packKey struct {
	share coeff.Share
	width int
}

// A packedKernel is a packed kernel in the constant section.
type packedKernel struct {
	base   int
	lanes  []coeff.Lane
	coding coeff.Coding
	taps   int
}

// kernels holds the packed kernels that the tasks of a layer have used so far.
type kernels map[packKey]packedKernel

// attachKernel gives task t the packed weights of share s, in planes of up to width channels. The
// map packed holds the weights of earlier tasks, which t shares if the share and the width are
// equal. Otherwise attachKernel calls pack and appends the result to the constants of o.
func attachKernel(o *Output, packed kernels, t *task.Task, s coeff.Share, width int, pack func(s coeff.Share, width int) *coeff.Kernel) {
	key := packKey{s, width}
	a, ok := packed[key]
	if !ok {
		k := pack(s, width)
		a = packedKernel{o.Constants.AddKernel(k), k.Lanes, k.Coding, k.WindowTaps}
		packed[key] = a
	}
	t.SetKernel(a.base, a.lanes)
	t.SetCoding(a.coding)
	t.WindowTaps = a.taps
}

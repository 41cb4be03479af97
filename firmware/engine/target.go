package engine

import (
	"anesim/hw/execycles"
	"anesim/hw/regs"
)

// A targetFinder finds out for which target a program was compiled. It looks at the program's tasks
// in order.
type targetFinder struct {
	found     execycles.Target // 0 as long as it is not known
	h13, h13g execycles.Chain
}

// visit looks at task t. The rules of one target alone give the estimate that its descriptor stores
// if the target is known from it.
func (f *targetFinder) visit(t *regs.Task) {
	if f.found != 0 {
		return
	}
	stored := uint16(t.Header.Timing.ExeCycles())
	h13 := f.h13.Next(execycles.H13, &t.Groups, t.Operands, t.Beside)
	h13g := f.h13g.Next(execycles.H13G, &t.Groups, t.Operands, t.Beside)
	switch {
	case h13 == h13g || stored == 0:
	case stored == h13:
		f.found = execycles.H13
	case stored == h13g:
		f.found = execycles.H13G
	}
}

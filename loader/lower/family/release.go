package family

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/task"
)

// beyondL2 reports whether a tensor takes the patches of the compiler of 2023.
func beyondL2(l *layer.Layer, s regs.Shape) bool {
	return l.Release == layer.Release2023 && task.Packed(s).Row*s.Height > layer.LargestTile(l.L2Bytes())
}

package lanes

import "anesim/hw/regs"

// Count is the number of coefficient lanes, one for each MAC engine.
const Count = 16

// Planes returns the width of the next planes in channels, and the number of consecutive planes of
// that width. left is the number of channels of the group that are not yet in a plane, and most is
// the maximum width.
func Planes(left, most int) (width, n int) {
	if left < Count {
		return 1, left
	}
	width = min(most, left/Count)
	return width, left / (Count * width) * Count
}

// PatchPixels is the number of pixels that the engines work on at a time. For more pixels, an
// engine keeps its weights.
const PatchPixels = 128

// planeHalves is the maximum number of values in a plane of a matmul with more pixels than a patch.
// It is the 64 KiB of kernel memory (inferred in the reference for layouts).
const planeHalves = 1 << 15

// Most returns the maximum number of channels in a plane of a task with taps weights per channel.
// It is 2^OCGSize, or less for a matmul, which is a task with a transposed result.
func Most(g *regs.Groups, taps int) int {
	c := &g.Common
	most := 1 << c.ConvCfg.OCGSize()
	if c.Cfg.Transpose() && c.OutDim.Wout() > PatchPixels {
		for most > 1 && most*taps > planeHalves {
			most /= 2
		}
	}
	return most
}

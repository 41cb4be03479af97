package lanes

import "anesim/hw/regs"

// Count is how many lanes of coefficients there are, one for each MAC engine.
const Count = 16

// Planes is the width of the next planes when so many channels of a group are left, and how
// many of them follow each other; most is the most channels side by side.
func Planes(left, most int) (width, n int) {
	if left < Count {
		return 1, left
	}
	width = min(most, left/Count)
	return width, left / (Count * width) * Count
}

// PatchPixels is how many pixels the engines work on at a time. Over more of them an engine
// keeps its coefficients.
const PatchPixels = 128

// planeHalves is the most values that a plane of a matrix product has over more than a patch:
// the 64 KiB of kernel memory (inferred by the layout's reference).
const planeHalves = 1 << 15

// Most is the most channels side by side in a plane of a task whose channels have so many
// weights each: 2^OCGSize, or less in a matrix product, which has its result transposed.
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

package lanes

import "anesim/hw/regs"

// Count is the number of weight streams of a task, one for each MAC engine.
const Count = 16

// Planes returns how the channels of a group are split into planes, which are sets of channels
// whose weights are stored together. The next n planes have width channels each. The argument
// channels is the number of channels that are not yet in a plane, and maxWidth is the largest width
// of a plane.
func Planes(channels, maxWidth int) (width, n int) {
	if channels < Count {
		return 1, channels
	}
	width = min(maxWidth, channels/Count)
	return width, channels / (Count * width) * Count
}

// PatchPixels is the number of pixels that the MAC engines compute at a time. A task with more
// pixels reuses the weights in the engines.
const PatchPixels = 128

// planeHalves is the maximum number of fp16 values in a plane of a matmul with more pixels than a
// patch. Such a plane fills the 64 KiB of kernel memory (inferred in the reference for layouts).
const planeHalves = 1 << 15

// Most returns the largest number of channels in one plane of a task with registers g. The number
// is 2^OCGSize, or less if the result is transposed, as for a matmul, and has more than
// [PatchPixels] columns. The argument taps is the number of weights per output channel.
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

package layer

// Limits of the engine. Field widths are given for the registers that hold the values.
const (
	MaxExtent    = 16384                   // elements of height or width; the limit of the vendor's document, the field has 15 bits
	MaxChannels  = 1 << 16                 // Cin and Cout have 17 bits, UnicastCin has 16
	MaxGroups    = 1<<13 - 1               // groups of a convolution, or elements along the batch axis
	MaxKernel    = 1<<5 - 1                // taps per side
	MaxStride    = 1<<2 - 1                // of the stride fields; longer strides select rows of a result with stride 1
	MaxPad       = 1<<5 - 1                // zeros per side
	MaxSurface   = 1<<31 - 1               // bytes of a tensor; strides are signed words
	MaxTile      = MaxL2 - MaxL2/tileShare // bytes of the largest source tile in the L2 (holds in 77 of 77 tasks)
	MaxLane      = 0x10000                 // bytes of one engine's weights if the result has more than one patch (holds in 42 of 42 tasks)
	MaxL2        = 0x200000                // bytes of L2; its addresses have 17 bits and count units of 16 bytes
	tileShare    = 16                      // 1/16 of L2 at least is left to results that are written to memory
	ElementBytes = 2                       // bytes of an fp16 element
)

// LargestTile returns the size in bytes of the largest source tile in an L2 of l2 bytes. It leaves
// 1/16 of L2 for results. This share is known for an L2 of 2 MiB and assumed for other sizes.
func LargestTile(l2 int) int { return l2 - l2/tileShare }

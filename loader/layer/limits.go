package layer

// Limits of the engine. Field widths are those of the registers that hold the value.
const (
	MaxExtent    = 16384   // elements of height or width: the document's limit; the field has 15 bits
	MaxChannels  = 1 << 16 // Cin and Cout have 17 bits, UnicastCin 16
	MaxGroups    = 1<<13 - 1
	MaxKernel    = 1<<5 - 1 // taps a side
	MaxStride    = 1<<2 - 1
	MaxPad       = 1<<5 - 1
	MaxSurface   = 1<<31 - 1               // bytes of a tensor: strides are signed words
	MaxTile      = MaxL2 - MaxL2/tileShare // bytes of the largest source tile in the L2 (holds 77/77)
	MaxLane      = 0x10000                 // bytes of one engine's coefficients above one patch (holds 42/42)
	MaxL2        = 0x200000                // bytes of the L2: its addresses are 17 bits of 16 bytes
	tileShare    = 16                      // of the L2 that results on their way out have at least
	ElementBytes = 2                       // of an fp16 element
)

// LargestTile is MaxTile of a scratchpad of so many bytes: the same share of it (assumed,
// but for 2 MiB).
func LargestTile(l2 int) int { return l2 - l2/tileShare }

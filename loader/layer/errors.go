package layer

import "fmt"

// A LimitError is a layer that the engine cannot run as it stands.
type LimitError struct {
	Limit    string // the limit it breaks, with its unit
	Got, Max int
	Nearest  string // the nearest layer that fits
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s is %d, the engine takes at most %d; %s", e.Limit, e.Got, e.Max, e.Nearest)
}

// An UnsupportedError is a layer whose registers no program shows.
type UnsupportedError struct {
	Op  Op
	Why string
}

func (e *UnsupportedError) Error() string { return fmt.Sprintf("%v: %s", e.Op, e.Why) }

// A LayerError is a layer that contradicts itself, or weights that do not fit it.
type LayerError struct {
	Op   Op
	What string
}

func (e *LayerError) Error() string { return fmt.Sprintf("%v: %s", e.Op, e.What) }

// Wrong says how the layer contradicts itself.
func (l *Layer) Wrong(format string, args ...any) error {
	return &LayerError{l.Op, fmt.Sprintf(format, args...)}
}

// Unsupported says why no program shows the layer's registers.
func (l *Layer) Unsupported(format string, args ...any) error {
	return &UnsupportedError{l.Op, fmt.Sprintf(format, args...)}
}

// Within refuses what is more than a limit, which it names with its unit. The nearest layer
// that fits is a format with the limit as its argument.
func Within(limit string, got, most int, nearest string) error {
	if got > most {
		return &LimitError{limit, got, most, fmt.Sprintf(nearest, most)}
	}
	return nil
}

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

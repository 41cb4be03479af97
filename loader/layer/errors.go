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
func (l *Layer) Errorf(format string, args ...any) error {
	return &LayerError{l.Op, fmt.Sprintf(format, args...)}
}

// Unsupported says why no program shows the layer's registers.
func (l *Layer) Unsupportedf(format string, args ...any) error {
	return &UnsupportedError{l.Op, fmt.Sprintf(format, args...)}
}

// Within refuses what is more than a limit, which it names with its unit. The nearest layer
// that fits is a format with the limit as its argument.
func CheckLimit(limit string, got, most int, nearest string) error {
	if got > most {
		return &LimitError{limit, got, most, fmt.Sprintf(nearest, most)}
	}
	return nil
}

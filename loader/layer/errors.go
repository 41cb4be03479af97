package layer

import "fmt"

// A LimitError reports a layer that exceeds a limit of the engine, with the value found, the limit,
// and how to change the layer.
type LimitError struct {
	Limit    string // the limited quantity, with its unit
	Got, Max int
	Nearest  string // how to change the layer so that it fits
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s: found %d, want at most %d; %s", e.Limit, e.Got, e.Max, e.Nearest)
}

// An UnsupportedError reports a layer that the engine may support, but whose registers are not
// known because no compiled program contains such a layer.
type UnsupportedError struct {
	Op  Op
	Why string
}

func (e *UnsupportedError) Error() string { return fmt.Sprintf("%v: %s", e.Op, e.Why) }

// A LayerError reports a layer whose fields contradict each other, or weights that do not match
// their layer.
type LayerError struct {
	Op   Op
	What string
}

func (e *LayerError) Error() string { return fmt.Sprintf("%v: %s", e.Op, e.What) }

// Errorf returns a [*LayerError] for the operation of l, with a message formatted as by
// [fmt.Sprintf].
func (l *Layer) Errorf(format string, args ...any) error {
	return &LayerError{l.Op, fmt.Sprintf(format, args...)}
}

// Unsupportedf returns an [*UnsupportedError] for the operation of l, with a message formatted as
// by [fmt.Sprintf].
func (l *Layer) Unsupportedf(format string, args ...any) error {
	return &UnsupportedError{l.Op, fmt.Sprintf(format, args...)}
}

// CheckLimit returns a [*LimitError] if got is greater than most, and nil otherwise. limit names
// the quantity with its unit. nearest says how to stay within the limit; it is a format string
// whose only argument is most.
func CheckLimit(limit string, got, most int, nearest string) error {
	if got > most {
		return &LimitError{limit, got, most, fmt.Sprintf(nearest, most)}
	}
	return nil
}

package layer

import "fmt"

// A LimitError reports a layer that exceeds a limit of the engine, with the value found, the limit,
// and how to change the layer.
type LimitError struct {
	Limit    string // the limited quantity, with its unit
	Got, Max int    // the layer's value and the largest that the engine allows
	Nearest  string // how to change the layer so that it fits
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s: found %d; want at most %d; %s", e.Limit, e.Got, e.Max, e.Nearest)
}

// An UnsupportedError reports a layer that the engine may support, but whose registers are not
// known because no compiled program contains such a layer.
type UnsupportedError struct {
	Op  Op
	Why string // the unsupported feature, as a clause
}

func (e *UnsupportedError) Error() string { return fmt.Sprintf("%v: %s", e.Op, e.Why) }

// A LayerError reports a layer whose fields contradict each other, or weights that do not match
// their layer.
type LayerError struct {
	Op   Op
	What string // the contradiction, as a clause
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

// CheckLimit returns a [*LimitError] if got is greater than maximum, and nil otherwise. quantity
// names the limited quantity with its unit. remedy is a format string with one verb, for maximum.
// It says how to stay within the limit, as in "use at most %d rows of taps".
func CheckLimit(quantity string, got, maximum int, remedy string) error {
	if got > maximum {
		return &LimitError{quantity, got, maximum, fmt.Sprintf(remedy, maximum)}
	}
	return nil
}

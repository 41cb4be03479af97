package usage

import (
	"fmt"
)

// An Error reports a command line that cannot be understood.
type Error struct{ err error }

func (e *Error) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.err }

// Errorf formats an error about the command line.
func Errorf(format string, args ...any) error { return &Error{fmt.Errorf(format, args...)} }

// Of marks err as an error about the command line.
func Of(err error) error { return &Error{err} }

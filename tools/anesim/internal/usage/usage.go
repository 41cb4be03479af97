package usage

import (
	"fmt"
)

// An Error reports a mistake in the command line.
type Error struct{ err error }

func (e *Error) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.err }

// Errorf returns an *[Error] with a formatted message.
func Errorf(format string, args ...any) error { return &Error{fmt.Errorf(format, args...)} }

// Of wraps err in an *[Error], which marks it as a mistake in the command line.
func Of(err error) error { return &Error{err} }

package usage

import (
	"fmt"
)

// A Error is a command line that cannot be understood.
type Error struct{ err error }

func (e *Error) Error() string { return e.err.Error() }

func (e *Error) Unwrap() error { return e.err }

// Errorf makes an error of the command line itself.
func Errorf(format string, args ...any) error { return &Error{fmt.Errorf(format, args...)} }

// Of makes err an error of the command line itself.
func Of(err error) error { return &Error{err} }

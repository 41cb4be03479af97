package sweep

import (
	"errors"
	"fmt"
	"io/fs"
)

// An ArgumentError is a mistake in the description of a sweep, rather than in one of its
// programs or files.
type ArgumentError struct{ Err error }

func (e *ArgumentError) Error() string { return e.Err.Error() }
func (e *ArgumentError) Unwrap() error { return e.Err }

// wrong makes an ArgumentError.
func wrong(format string, args ...any) error { return &ArgumentError{fmt.Errorf(format, args...)} }

// inRows puts the file's name before an error; those of opening it have it already.
func inRows(name string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

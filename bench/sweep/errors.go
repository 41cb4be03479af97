package sweep

import (
	"errors"
	"fmt"
	"io/fs"
)

// An ArgumentError reports a mistake in the description of a sweep, as opposed to one in
// its programs or files.
type ArgumentError struct{ Err error }

func (e *ArgumentError) Error() string { return e.Err.Error() }
func (e *ArgumentError) Unwrap() error { return e.Err }

// argumentErrorf formats an ArgumentError.
func argumentErrorf(format string, args ...any) error {
	return &ArgumentError{fmt.Errorf(format, args...)}
}

// addFileName prefixes err with the file's name unless err is a *fs.PathError, which has it
// already.
func addFileName(name string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

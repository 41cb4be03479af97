package input

import (
	"errors"
	"fmt"
	"io/fs"

	"anesim"
)

// ModelError adds the model's name to an error. It returns the error of a layer unchanged, since
// that already contains the operation.
func ModelError(m *anesim.Model, err error) error {
	if m.Kind() == anesim.KindLayer {
		return err
	}
	return InFile(m.Name(), err)
}

// InFile adds a file name to an error, unless the error is a *fs.PathError, which already
// contains it.
func InFile(name string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

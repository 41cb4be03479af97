package input

import (
	"errors"
	"fmt"
	"io/fs"

	"anesim"
)

// ModelError returns err with the name of the model m as a prefix. If m is a layer, it returns err
// unchanged, because errors of a layer already name the operation.
func ModelError(m *anesim.Model, err error) error {
	if m.Kind() == anesim.KindLayer {
		return err
	}
	return InFile(m.Name(), err)
}

// InFile returns err with the name of a file as a prefix. If err is or wraps a *fs.PathError,
// InFile returns it unchanged, because it already has the name.
func InFile(name string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

package input

import (
	"errors"
	"fmt"
	"io/fs"

	"anesim"
)

// ModelError returns err with the name of the file that the model m was read from as a prefix. A
// network's own name is less useful: exporters write the same into many files. If m is a layer, ModelError
// returns err unchanged, because errors of a layer already name the operation. If file is "" or "-", the
// prefix is the model's name.
func ModelError(m *anesim.Model, file string, err error) error {
	if m.Kind() == anesim.KindLayer {
		return err
	}
	if file == "" || file == "-" {
		file = m.Name()
	}
	return InFile(file, err)
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

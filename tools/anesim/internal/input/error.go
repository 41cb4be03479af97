package input

import (
	"errors"
	"fmt"
	"io/fs"

	"anesim"
)

// ModelError puts a model's name before an error; a layer's says its operation already.
func ModelError(m *anesim.Model, err error) error {
	if m.Kind() == anesim.KindLayer {
		return err
	}
	return InFile(m.Name(), err)
}

// InFile puts the file's name before an error; those of opening it have it already.
func InFile(name string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

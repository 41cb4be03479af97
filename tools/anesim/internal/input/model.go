package input

import (
	"errors"
	"io"
	"os"

	"anesim"
	"anesim/loader"
)

// stdinName is the name of standard input in errors and reports.
const stdinName = "stdin"

// A MissingError reports a file that cannot be opened.
type MissingError struct{ error }

// Unwrap returns the error of opening the file.
func (e *MissingError) Unwrap() error { return e.error }

// openModel opens the model in the named file, or on standard input if file is "-". Errors contain
// the name of the file.
func openModel(file string, stdin io.Reader) (*anesim.Model, error) {
	return OpenModelWith(new(anesim.OpenOptions), file, stdin)
}

// OpenModelWith is like openModel, but opens the model with the options o.
func OpenModelWith(o *anesim.OpenOptions, file string, stdin io.Reader) (*anesim.Model, error) {
	if info, err := os.Stat(file); file != "-" && err == nil && (info.IsDir() || info.Mode().IsRegular()) {
		m, err := o.Open(file)
		if err != nil {
			return nil, InFile(file, err)
		}
		return m, nil
	}
	var m *anesim.Model
	err := Open(file, stdin, func(name string, r io.ReaderAt, size int64) (err error) {
		m, err = o.Read(name, r, size)
		return err
	})
	return m, err
}

// ReadProgram reads a compiled program with the options o. The error for a network says that it is one.
func ReadProgram(o *loader.Options, name string, r io.ReaderAt, size int64) (*loader.Program, error) {
	p, err := o.Read(name, r, size)
	if !errors.As(err, new(*loader.UnknownFormError)) {
		return p, err
	}
	if m, bad := anesim.Read(name, r, size); bad == nil && m.Kind() == anesim.KindNetwork {
		return nil, errors.New("is a network, not a compiled program; anesim model runs it, and its --emit writes the program")
	}
	return nil, err
}

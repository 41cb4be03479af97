package input

import (
	"errors"
	"io/fs"

	"anesim"
	"anesim/hw/spelling"
	"anesim/loader/params"
)

// ParametersOf is the file of a program's run-time parameters: beside it, with this behind
// its name.
func ParametersOf(program string) string { return program + ".params" }

// WithParameters is a program with the run-time parameters of the file beside it, itself
// where there is none.
func WithParameters(m *anesim.Model, file string) (*anesim.Model, error) {
	if file == "-" || m.Kind() != anesim.KindProgram {
		return m, nil
	}
	name := ParametersOf(file)
	data, err := ReadFile(name, nil, params.MaxText)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	} else if err != nil {
		return nil, err
	}
	set, err := readParameters(data)
	if err != nil {
		return nil, InFile(name, err)
	}
	if m, err = m.WithParameters(set); err != nil {
		return nil, InFile(name, err)
	}
	return m, nil
}

// A parameterError is a text of run-time parameters that cannot be read, with the words that
// may have been meant.
type parameterError struct {
	err     *params.TextError
	nearest []string
}

func (e *parameterError) Error() string { return e.err.Error() + spelling.Hint(e.nearest) }

// Unwrap returns the cause.
func (e *parameterError) Unwrap() error { return e.err }

// readParameters reads a text of run-time parameters. The error is a *parameterError.
func readParameters(data []byte) (*params.Set, error) {
	s, err := params.Parse(data)
	var t *params.TextError
	if errors.As(err, &t) {
		return nil, &parameterError{t, spelling.Nearest(t.Word, t.Known)}
	}
	return s, err
}

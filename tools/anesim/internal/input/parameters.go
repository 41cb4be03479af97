package input

import (
	"errors"
	"io/fs"
	"syscall"

	"anesim"
	"anesim/internal/spelling"
	"anesim/loader/params"
)

// ParametersFile returns the name of the file that holds the run-time parameters of a program. It
// is the name of the program file with ".params" appended.
func ParametersFile(program string) string { return program + ".params" }

// WithParameters adds run-time parameters to m, which was read from the named file. It returns a
// copy of m with the parameters in the file's [ParametersFile]. It returns m itself if there is no
// such file, if m is not a compiled program, or if file is "-".
func WithParameters(m *anesim.Model, file string) (*anesim.Model, error) {
	if file == "-" || m.Kind() != anesim.KindProgram {
		return m, nil
	}
	name := ParametersFile(file)
	data, err := ReadFile(name, nil, params.MaxText)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENAMETOOLONG) { // no such file can exist
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

// A parameterError reports a text of run-time parameters that cannot be parsed, with suggestions
// for a misspelled word.
type parameterError struct {
	err     *params.TextError
	nearest []string
}

func (e *parameterError) Error() string { return e.err.Error() + spelling.Hint(e.nearest) }

// Unwrap returns the cause.
func (e *parameterError) Unwrap() error { return e.err }

// readParameters parses a parameters file. The error is a *parameterError.
func readParameters(data []byte) (*params.Set, error) {
	s, err := params.Parse(data)
	var t *params.TextError
	if errors.As(err, &t) {
		return nil, &parameterError{t, spelling.Nearest(t.Word, t.Known)}
	}
	return s, err
}

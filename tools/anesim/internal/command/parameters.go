package command

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"strings"

	"anesim"
	"anesim/hw/spelling"
	"anesim/loader"
	"anesim/loader/network/keys"
	"anesim/loader/params"
	"anesim/tools/anesim/internal/outfile"
)

// parametersOf is the file of a program's run-time parameters: beside it, with this behind
// its name.
func parametersOf(program string) string { return program + ".params" }

// withParameters is a program with the run-time parameters of the file beside it, itself
// where there is none.
func withParameters(m *anesim.Model, file string) (*anesim.Model, error) {
	if file == "-" || m.Kind() != anesim.KindProgram {
		return m, nil
	}
	name := parametersOf(file)
	data, err := readFile(name, nil, params.MaxText)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	} else if err != nil {
		return nil, err
	}
	set, err := readParameters(data)
	if err != nil {
		return nil, inFile(name, err)
	}
	if m, err = m.WithParameters(set); err != nil {
		return nil, inFile(name, err)
	}
	return m, nil
}

// overRange reads KEY=FROM..TO or KEY=FROM..TO+STEP.
func overRange(text string) (key string, r loader.Range, err error) {
	key, rest, ok := strings.Cut(text, "=")
	from, rest, dots := strings.Cut(rest, "..")
	to, step, stepped := strings.Cut(rest, "+")
	if !stepped {
		step = "1"
	}
	for _, x := range []struct {
		to   *uint64
		text string
	}{{&r.Start, from}, {&r.Stop, to}, {&r.Step, step}} {
		if *x.to, err = strconv.ParseUint(x.text, 10, 32); err != nil {
			ok = false
		}
	}
	if !ok || !dots || key == "" {
		return "", r, usage("--over %q: want KEY=FROM..TO or KEY=FROM..TO+STEP, numbers", text)
	}
	return key, r, nil
}

// over is one program for a layer of every size, written with its parameters beside it.
func (f *layerFlags) layerOver(ctx context.Context, words []string) (*anesim.Model, error) {
	if f.emit == "" {
		return nil, usage("--over requires --emit: the program and %s are written", parametersOf("OUT.hwx"))
	}
	if len(words) == 0 {
		return nil, usage("missing operation: want one of %s", strings.Join(keys.Names(), " "))
	}
	key, sizes, err := overRange(f.over)
	if err != nil {
		return nil, err
	}
	m, set, err := anesim.LayerOver(ctx, key, sizes, words[0], words[1:]...)
	var mistake *anesim.LayerError
	if errors.As(err, &mistake) {
		return nil, &usageError{err}
	} else if err != nil {
		return nil, err
	}
	text := append([]byte("# run-time parameters of "+f.emit+": "+m.Name()+"\n"), set.Append(nil)...)
	return m, outfile.Write(parametersOf(f.emit), text)
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

package command

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"anesim"
	"anesim/internal/network/keys"
	"anesim/loader"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/usage"
)

// parseOverRange parses the argument of --over: KEY=FROM..TO or KEY=FROM..TO+STEP.
func parseOverRange(text string) (key string, r loader.Range, err error) {
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
		return "", r, usage.Errorf("--over %q: want KEY=FROM..TO or KEY=FROM..TO+STEP with numbers", text)
	}
	return key, r, nil
}

// newLayerOverRange returns one program for the layer at every size in the range of --over, and the
// text of the file with its run-time parameters.
func (f *layerFlags) newLayerOverRange(ctx context.Context, words []string) (m *anesim.Model, text []byte, err error) {
	if f.emit == "" {
		return nil, nil, usage.Errorf("--over requires --emit, since it writes the program and %s", input.ParametersFile("OUT.hwx"))
	}
	if len(words) == 0 {
		return nil, nil, usage.Errorf("missing operation; want one of %s", strings.Join(keys.Names(), " "))
	}
	key, sizes, err := parseOverRange(f.over)
	if err != nil {
		return nil, nil, err
	}
	m, set, err := anesim.LayerOver(ctx, key, sizes, words[0], words[1:]...)
	var mistake *anesim.LayerError
	if errors.As(err, &mistake) {
		return nil, nil, usage.Of(err)
	} else if err != nil {
		return nil, nil, err
	}
	text = append([]byte("# run-time parameters of "+f.emit+": "+m.Name()+"\n"), set.Append(nil)...)
	return m, text, nil
}

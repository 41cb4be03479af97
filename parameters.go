package anesim

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"anesim/loader"
	"anesim/loader/params"
)

// WithParameters is the model, which must be a compiled program, with run-time parameters
// for [Options.Bind] and [Loaded.Bind]. Errors are an *[OptionError], a *[params.ApplyError]
// or a *[loader.RelocError].
func (m *Model) WithParameters(s *params.Set) (*Model, error) {
	if m.kind != KindProgram {
		return nil, &OptionError{Option: "Bind", What: fmt.Sprintf("%s is a %v; only a compiled program has run-time parameters", m.name, m.kind)}
	}
	p, err := s.Apply(m.program)
	if err != nil {
		return nil, err
	}
	return FromProgram(p), nil
}

// LayerOver is one program for a layer of every size in a range: that of the largest, with
// the key's size as a run-time parameter of its name, and the parameters by themselves, to
// be written beside it. The keys leave that one out. It is found by lowering the layer at
// every size, and refused where descriptors do not follow the size in a straight line.
//
// Errors are a *[LayerError], a *[params.DeriveError], or the engine's limit that a size
// exceeds.
func LayerOver(ctx context.Context, key string, sizes loader.Range, op string, keys ...string) (*Model, *params.Set, error) {
	p, s, err := params.Derive(key, sizes, func(v uint64) (*loader.Program, error) {
		m, err := Layer(op, append(slices.Clone(keys), fmt.Sprintf("%s=%d", key, v))...)
		if err != nil {
			return nil, err
		}
		list, err := m.Programs(ctx, Options{})
		if err != nil {
			return nil, err
		}
		return list[0], ctx.Err()
	})
	if err != nil {
		return nil, nil, err
	}
	p.Name = strings.Join(append([]string{op}, keys...), " ") + fmt.Sprintf(" %s=%d..%d", key, sizes.Start, sizes.Stop)
	m, err := FromProgram(p).WithParameters(s)
	return m, s, err
}

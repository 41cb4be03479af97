package anesim

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"anesim/loader"
	"anesim/loader/params"
)

// WithParameters returns a copy of a compiled program with the run-time parameters in s.
// [Options.Bind] and [Loaded.Bind] give them values. The error is an *[OptionError] if the model is
// not a compiled program, otherwise a *[params.ApplyError] or a *[loader.RelocError].
func (m *Model) WithParameters(s *params.Set) (*Model, error) {
	if m.kind != KindProgram {
		return nil, &OptionError{Option: "Bind", What: fmt.Sprintf("%s is a %v; only compiled programs have run-time parameters", m.name, m.kind)}
	}
	p, err := s.Apply(m.program)
	if err != nil {
		return nil, err
	}
	return FromProgram(p), nil
}

// LayerOver lowers a layer at every size in a range and returns one program for all of them. The
// program is that of the largest size, in which the value of key is a run-time parameter of the
// same name. The returned set, which can be written to a parameter file, describes this parameter.
// The argument keys must not contain key. The descriptors must depend linearly on the size.
//
// The error is a *[LayerError], a *[params.DeriveError] if the dependence is not linear, or an
// error that reports a limit of the engine that a size exceeds.
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

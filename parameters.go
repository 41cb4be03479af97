package anesim

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"anesim/loader"
	"anesim/loader/params"
)

// WithParameters returns a copy of m, a compiled program, with the run-time parameters in s added.
// [Options.Bind] and [Loaded.Bind] set their values. If m is not a compiled program, the error is
// an *[OptionError]. Any other error is from [params.Set.Apply].
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

// LayerOver returns one program for a layer of variable size. The layer has the operation op, the
// fixed keys in keys, and the key named key, which has each size in sizes in turn. This key becomes a
// run-time parameter of the program, with the largest size as its default. The returned set
// describes the parameter and can be written to a parameter file.
//
// The descriptors must depend linearly on the size. If they do not, the error is a
// *[params.DeriveError]. If the operation or a key is wrong, it is a *[LayerError]. Any other error
// is from ctx, or reports a limit of the engine that a size exceeds.
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

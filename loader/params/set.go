package params

import (
	"fmt"
	"slices"

	"anesim/loader"
)

// A Parameter is a name, the value it has until it is bound, and what it may be.
type Parameter struct {
	Name  string
	Value uint64
	Range loader.Range
}

// A Set is a program's parameters and all that follows them. Relocations have no Off: the
// program that they are applied to knows where its words stand.
type Set struct {
	Parameters  []Parameter
	Relocations []loader.Relocation
	Axes        []loader.LiveAxis
}

// An ApplyError is a line of a set that the program has no place for.
type ApplyError struct{ What string }

func (e *ApplyError) Error() string { return "parameters: " + e.What }

// Apply gives a program the parameters, each at its value. The program that was given stays
// as it is. Errors are an *ApplyError, a *loader.RelocError, or what is wrong with the
// program's chain.
func (s *Set) Apply(p *loader.Program) (*loader.Program, error) {
	bad := func(format string, args ...any) (*loader.Program, error) {
		return nil, &ApplyError{fmt.Sprintf(format, args...)}
	}
	list, err := chain(p)
	if err != nil {
		return nil, err
	}
	q := *p
	q.Relocations, q.LiveAxes, q.Ports = slices.Clone(p.Relocations), slices.Clone(p.LiveAxes), slices.Clone(p.Ports)
	for _, r := range s.Relocations {
		if r.Task >= len(list) {
			return bad("descriptor %d: the program has %d", r.Task, len(list))
		}
		words := p.WordsOf(list[r.Task], r.Register)
		if len(words) == 0 {
			return bad("descriptor %d does not write %s", r.Task, r.Field())
		}
		for _, off := range words {
			r.Off = off
			if _, err := r.Resolve(&p.BARs); err != nil {
				return nil, err
			}
			q.Relocations = append(q.Relocations, r)
		}
	}
	for _, a := range s.Axes {
		if _, ok := p.Port(a.Port, a.Direction); !ok {
			return bad("the program has no %v %q", a.Direction, a.Port)
		}
	}
	q.LiveAxes = append(q.LiveAxes, s.Axes...)
	for i := range s.Parameters {
		if err := Shape(&q, s.Parameters[i].Name, s.Parameters[i].Value); err != nil {
			return nil, err
		}
	}
	return &q, nil
}

// Shape gives the sizes and strides of the program's ports that follow a parameter their
// value. The program's ports must be its own. A window is that of the largest shape: whoever
// fills or reads a port checks that its shape stays inside.
func Shape(p *loader.Program, name string, value uint64) error {
	for _, a := range p.LiveAxes {
		if a.Name != name {
			continue
		}
		v, ok := loader.Linear(value, a.Scale, a.Plus)
		if !ok || v > 1<<31 || v == 0 && !a.Stride {
			return &ApplyError{fmt.Sprintf("%v %s: axis %d has no size for %s=%d", a.Direction, a.Port, a.Axis, name, value)}
		}
		for i := range p.Ports {
			q := &p.Ports[i]
			if q.Name != a.Port || q.Direction != a.Direction {
				continue
			}
			if a.Stride {
				q.Strides[a.Axis] = v
			} else {
				q.Shape[a.Axis] = int(v)
			}
		}
	}
	return nil
}

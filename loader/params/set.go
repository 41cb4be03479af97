package params

import (
	"fmt"
	"slices"

	"anesim/loader"
)

// A Parameter is a number that a program receives at run time, such as its number of channels.
// Value is the default.
type Parameter struct {
	Name  string
	Value uint64
	Range loader.Range
}

// A Set holds the run-time parameters of a program, and the register fields, sizes and strides that
// depend on them. [Set.Apply] finds the fields in each program, so it ignores the Off fields of the
// relocations.
type Set struct {
	Parameters  []Parameter
	Relocations []loader.Relocation
	Axes        []loader.LiveAxis
}

// An ApplyError reports that a program lacks a descriptor, register or port that a Set refers to,
// or that a size is out of range.
type ApplyError struct{ What string }

func (e *ApplyError) Error() string { return "parameters: " + e.What }

// Apply returns a copy of p with the parameters of s added. They have their default values. The
// error is an *ApplyError, a *loader.RelocError, or an error in the descriptors of p.
func (s *Set) Apply(p *loader.Program) (*loader.Program, error) {
	bad := func(format string, args ...any) (*loader.Program, error) {
		return nil, &ApplyError{fmt.Sprintf(format, args...)}
	}
	list, err := listDescriptors(p)
	if err != nil {
		return nil, err
	}
	q := *p
	q.Relocations, q.LiveAxes, q.Ports = slices.Clone(p.Relocations), slices.Clone(p.LiveAxes), slices.Clone(p.Ports)
	for _, r := range s.Relocations {
		if r.Task >= len(list) {
			return bad("unknown descriptor %d; the program has %d descriptors", r.Task, len(list))
		}
		words := p.WordsOf(list[r.Task], r.Register)
		if len(words) == 0 {
			return bad("descriptor %d does not write %s", r.Task, r.Field())
		}
		if r.Kind == loader.DeviceAddress {
			r.Within = loader.BufferBase(list[r.Task], r.Register)
		}
		// A descriptor may write a register more than once. All of its words change, as the last
		// one holds when the task runs. Resolving each here reports a default that does not fit
		// before anything runs.
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
			return bad("unknown %v %q", a.Direction, a.Port)
		}
	}
	q.LiveAxes = append(q.LiveAxes, s.Axes...)
	// Only now do all axes have their parameter: the ports get the default sizes.
	for i := range s.Parameters {
		if err := SetShape(&q, s.Parameters[i].Name, s.Parameters[i].Value); err != nil {
			return nil, err
		}
	}
	return &q, nil
}

// SetShape updates the shapes and strides of p's ports for a new value of the parameter called
// name. It returns an *ApplyError if a size becomes less than 1, or if a size or stride becomes
// negative or greater than 1<<31. The memory of a port keeps its size, so a caller that fills or
// reads the port must check that the new shape fits.
func SetShape(p *loader.Program, name string, value uint64) error {
	for _, a := range p.LiveAxes {
		if a.Name != name {
			continue
		}
		v, ok := loader.Linear(value, a.Scale, a.Plus)
		if !ok || v > 1<<31 || v == 0 && !a.Stride {
			return &ApplyError{fmt.Sprintf("%s=%d gives axis %d of %v %q an invalid size or stride", name, value, a.Axis, a.Direction, a.Port)}
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

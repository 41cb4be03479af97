package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/params"
)

// A Loaded program is in a session's memory until it is unloaded.
type Loaded struct {
	session *Session
	program *loader.Program // where it stands, with its ports where they are bound
	span    addressRange
	bytes   uint64
	linked  map[bindings]*loader.Linked

	inputs  map[string][]float16.Float16 // to be written before the next call
	written bool                         // every input has been written once
	state   []StateAlias
	calls   int
	under   *Call // the call under way, nil for none

	own  []loader.Segment           // the program's own
	lent map[portKey]loader.Segment // segments of ports that are bound elsewhere
	home map[portKey]uint64         // addresses of the own buffers of ports that were bound

	statistics addressRange // where calls write their statistics
}

// bindings are the buffers of a program's ports.
type bindings = regs.BARs

// Program returns the program at its place in memory, with its ports where they are
// bound. It changes with every binding and must not be changed by the caller.
func (l *Loaded) Program() *loader.Program { return l.program }

// Bytes returns the memory that the program takes.
func (l *Loaded) Bytes() uint64 { return l.bytes }

// Unloaded reports whether the program is no longer in memory.
func (l *Loaded) Unloaded() bool { return l.session == nil }

// UnderWay returns the call of the program that has begun and not ended, or nil.
func (l *Loaded) UnderWay() *Call { return l.under }

// State returns the outputs that become inputs, in the order of Alias.
func (l *Loaded) State() []StateAlias { return slices.Clone(l.state) }

// A StateAlias makes an output the input of the next call.
type StateAlias struct{ Output, Input string }

// ErrUnloaded is the error of a call of a program that is unloaded.
var ErrUnloaded = errors.New("the program is unloaded")

// An AliasError is an output that cannot become an input.
type AliasError struct {
	StateAlias
	What string
}

func (e *AliasError) Error() string {
	return fmt.Sprintf("state %s=%s: %s", e.Output, e.Input, e.What)
}

// Set gives an input values for the next call and those after it, in N, C, H, W order. It
// copies data. The error is an *[InputError] if the program has no such input or if it has
// another number of elements.
func (l *Loaded) Set(input string, data []float16.Float16) error {
	if l.session == nil {
		return ErrUnloaded
	}
	if err := CheckInput(l.program, input, len(data)); err != nil {
		return err
	}
	if l.inputs == nil {
		l.inputs = make(map[string][]float16.Float16)
	}
	l.inputs[input] = slices.Clone(data)
	return nil
}

// Alias makes the values that a call leaves in an output the next call's input, without a
// copy: the two ports swap buffers after each call, so that a call never writes what it
// reads. The state starts at zero unless Set gives the input. Both ports must have the same
// shape and strides, and a buffer each that no other port shares. The error is an
// *[AliasError].
func (l *Loaded) Alias(output, input string) error {
	if l.session == nil {
		return ErrUnloaded
	}
	a := StateAlias{output, input}
	bad := func(format string, args ...any) error { return &AliasError{a, fmt.Sprintf(format, args...)} }
	if l.under != nil {
		return ErrOutstanding
	}
	out, ok := l.program.Port(output, loader.Output)
	if !ok {
		return bad("the program has no output %q; it has %q", output, portNames(l.program.Outputs()))
	}
	in, ok := l.program.Port(input, loader.Input)
	if !ok {
		return bad("the program has no input %q; it has %q", input, portNames(l.program.Inputs()))
	}
	for _, s := range l.state {
		if s.Output == output || s.Input == input {
			return bad("%s=%s is a state already", s.Output, s.Input)
		}
	}
	switch {
	case out.Shape != in.Shape:
		return bad("shapes %v and %v differ", out.Shape, in.Shape)
	case out.Strides != in.Strides:
		return bad("strides %v and %v differ", out.Strides, in.Strides)
	}
	for _, p := range [...]*loader.Port{out, in} {
		if _, ok := l.lent[portKey{p.Name, p.Direction}]; ok || l.stays(p) {
			return bad("another program has the buffer of %s", p.Name)
		}
		if p.BAR < 0 || l.program.BARs[p.BAR] != p.Address {
			return bad("no buffer of its own holds %s", p.Name)
		}
		for i := range l.program.Ports {
			if q := &l.program.Ports[i]; q != p && q.BAR == p.BAR {
				return bad("%s and %s share a buffer", p.Name, q.Name)
			}
		}
	}
	return l.alias(a, out, in)
}

// alias makes the buffers of two ports readable and writable, and adds the alias if the
// program links with the buffers swapped.
func (l *Loaded) alias(a StateAlias, out, in *loader.Port) error {
	before := slices.Clone(l.program.Segments)
	for i := range l.program.Segments {
		if s := &l.program.Segments[i]; s.Addr <= in.Address && in.Address < s.End() || s.Addr <= out.Address && out.Address < s.End() {
			s.Prot |= loader.ProtRead | loader.ProtWrite
			if i < len(l.own) {
				l.own[i].Prot = s.Prot
			}
		}
	}
	clear(l.linked)
	swap(l.program, out, in)
	_, err := l.link()
	swap(l.program, out, in)
	if err != nil {
		l.program.Segments = before
		return &AliasError{a, err.Error()}
	}
	l.state = append(l.state, a)
	return nil
}

// swap exchanges the buffers of two ports.
func swap(p *loader.Program, a, b *loader.Port) {
	p.BARs[a.BAR], p.BARs[b.BAR] = p.BARs[b.BAR], p.BARs[a.BAR]
	a.Address, b.Address = b.Address, a.Address
	a.Bytes, b.Bytes = b.Bytes, a.Bytes
}

func portNames(ports func(func(*loader.Port) bool)) (names []string) {
	for p := range ports {
		names = append(names, p.Name)
	}
	return names
}

// link returns the program linked with its ports where they are bound. It links once for
// each binding.
func (l *Loaded) link() (*loader.Linked, error) {
	if k, ok := l.linked[l.program.BARs]; ok {
		return k, nil
	}
	p := *l.program // the link keeps it, and bindings change
	p.Ports = slices.Clone(p.Ports)
	k, err := p.LinkStream()
	if err == nil {
		l.linked[p.BARs] = k
	}
	return k, err
}

// Bind gives a run-time parameter of the program a value, from the next call on. An error
// is a *[loader.RelocError], with the field's place, for a value outside the parameter's
// range or its field, or a *[BindError] for a name that the program does not have; the
// parameter then keeps the value it had.
func (l *Loaded) Bind(name string, value uint64) error {
	switch {
	case l.session == nil:
		return ErrUnloaded
	case l.under != nil:
		return ErrOutstanding
	}
	before, linked := *l.program, l.linked
	bound, err := bind(l.program, name, value)
	if err != nil {
		return err
	}
	*l.program, l.linked = *bound, make(map[bindings]*loader.Linked)
	if err := l.fits(); err != nil {
		*l.program, l.linked = before, linked
		return err
	}
	if !slices.EqualFunc(before.Ports, bound.Ports, func(a, b loader.Port) bool { return a.Shape == b.Shape && a.Strides == b.Strides }) {
		l.written = false // what inputs hold is laid out for other shapes
		for port := range l.program.Inputs() {
			if len(l.inputs[port.Name]) != Elements(port) {
				delete(l.inputs, port.Name)
			}
		}
	}
	return nil
}

// fits checks that the program links, that its ports are inside their windows, and that the
// two ports of each alias still have the same shape and strides.
func (l *Loaded) fits() error {
	if _, err := l.link(); err != nil {
		return err
	}
	for i := range l.program.Ports {
		if p := &l.program.Ports[i]; len(l.program.LiveAxes) > 0 {
			if err := checkPort(l.session.mem, p); err != nil {
				return err
			}
			if n := span(p); n > p.Bytes {
				return &PortError{p, fmt.Sprintf("%d bytes do not fit its window of %d", n, p.Bytes), nil}
			}
		}
	}
	for _, a := range l.state {
		out, _ := l.program.Port(a.Output, loader.Output)
		in, _ := l.program.Port(a.Input, loader.Input)
		if out.Shape != in.Shape || out.Strides != in.Strides {
			return &AliasError{a, fmt.Sprintf("shapes %v and %v, strides %v and %v differ", out.Shape, in.Shape, out.Strides, in.Strides)}
		}
	}
	return nil
}

// A BindError is a run-time parameter that a program does not have.
type BindError struct {
	Name string
	Have []string
}

func (e *BindError) Error() string {
	if len(e.Have) == 0 {
		return fmt.Sprintf("no run-time parameter %q: the program has none", e.Name)
	}
	return fmt.Sprintf("no run-time parameter %q; the program has %q", e.Name, e.Have)
}

// bind returns a copy of p with a parameter set to value.
func bind(p *loader.Program, name string, value uint64) (*loader.Program, error) {
	q := *p
	q.Relocations, q.Ports = slices.Clone(p.Relocations), slices.Clone(p.Ports)
	if have := Parameters(p); !slices.Contains(have, name) {
		return nil, &BindError{name, have}
	}
	for i := range q.Relocations {
		if r := &q.Relocations[i]; r.Kind == loader.LiveIn && r.Name == name {
			r.Value = value
			if _, err := r.Resolve(&q.BARs); err != nil {
				return nil, err
			}
		}
	}
	return &q, params.SetShape(&q, name, value)
}

// Unload aborts the call under way and frees the program's memory. Ports of other programs
// that are bound to it get their own buffers again.
func (l *Loaded) Unload() {
	if l.session == nil {
		return
	}
	if l.under != nil {
		l.under.Abort()
	}
	l.session.loaded = slices.DeleteFunc(l.session.loaded, func(x *Loaded) bool { return x == l })
	l.session.takeBack(l.span)
	l.remove(len(l.own))
	l.session.give(l.span)
	l.session.used -= l.bytes
	l.session = nil
}

// remove removes the first n segments from the session's memory.
func (l *Loaded) remove(n int) {
	for i := range l.program.Segments[:n] { // its own come first
		l.session.mem.Remove(l.program.Segments[i].Addr)
	}
}

// Address returns the device address of the program's first segment.
func (l *Loaded) Address() uint64 { return l.span.lo }

// isState reports whether a port is one end of an alias.
func (l *Loaded) isState(p *loader.Port) bool {
	return slices.ContainsFunc(l.state, func(a StateAlias) bool {
		return p.Direction == loader.Input && a.Input == p.Name || p.Direction == loader.Output && a.Output == p.Name
	})
}

// maxKept bounds the elements of outputs that a repeated call with state keeps of every
// dispatch; beyond it only the last dispatch's are kept.
const maxKept = 1 << 24

// maxListed bounds the descriptors that a repeated call lists, and those that a brief call of
// more than maxBrief descriptors lists. maxEvolving bounds the descriptors of a call whose
// dispatches are all executed, because each computes something else.
const (
	maxBrief    = 1 << 16
	maxListed   = 1 << 12
	maxEvolving = 1 << 20
)

// Listed returns how many of repeat dispatches of tasks are worth listing; the rest take as
// long as the last of them and can be counted. The first may find the engine in another state
// than the rest.
func Listed(repeat, tasks int) int {
	return min(repeat, max(2, maxListed/max(1, tasks)))
}

// restore gives the program back the inputs that a call took and did not write. Inputs that
// were set meanwhile stay.
func (l *Loaded) restore(inputs map[string][]float16.Float16) {
	for name, data := range inputs {
		if _, set := l.inputs[name]; !set {
			if l.inputs == nil {
				l.inputs = make(map[string][]float16.Float16)
			}
			l.inputs[name] = data
		}
	}
}

// Parameters returns the names of a program's run-time parameters, in the order of its
// relocations.
func Parameters(p *loader.Program) (names []string) {
	for i := range p.Relocations {
		if r := &p.Relocations[i]; r.Kind == loader.LiveIn && !slices.Contains(names, r.Name) {
			names = append(names, r.Name)
		}
	}
	return names
}

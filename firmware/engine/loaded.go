package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/x448/float16"

	"anesim/hw/execycles"
	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/params"
)

// A Loaded is a program in the memory of a [Session]. It stays there until [Loaded.Unload].
type Loaded struct {
	session *Session
	program *loader.Program // the program at its current addresses and bindings
	span    addressRange
	bytes   uint64
	linked  map[bindings]*loader.Linked
	target  execycles.Target // for which the program was compiled, 0 if that is not known; see [Loaded.CompiledFor]

	inputs  map[string][]float16.Float16 // values to write before the next call
	set     map[string][]float16.Float16 // values that Set gave, also after a call wrote them
	written bool                         // every input has been written at least once
	state   []StateAlias
	calls   int
	current *Call // the call in progress, or nil

	own  []loader.Segment           // segments of the program itself
	lent map[portKey]loader.Segment // segments of ports that are bound to other buffers
	home map[portKey]uint64         // original addresses of ports that were bound

	statistics addressRange // buffer to which calls write their statistics
}

// bindings holds the device addresses of a program's buffers.
type bindings = regs.BARs

// Program returns the program with its current addresses and parameters, which change whenever a
// port is bound or a parameter is set. The caller must not modify the program.
func (l *Loaded) Program() *loader.Program { return l.program }

// Bytes returns the number of bytes of device memory that the program occupies.
func (l *Loaded) Bytes() uint64 { return l.bytes }

// Unloaded reports whether the program was removed from memory.
func (l *Loaded) Unloaded() bool { return l.session == nil }

// UnderWay returns the call of the program that is in progress, or nil if there is none.
func (l *Loaded) UnderWay() *Call { return l.current }

// State returns the pairs of ports that [Loaded.Alias] connected, in the order of the calls.
func (l *Loaded) State() []StateAlias { return slices.Clone(l.state) }

// A StateAlias names an output whose values become an input of the program's next call.
type StateAlias struct{ Output, Input string }

// ErrUnloaded is returned for an operation on a program that was removed from memory.
var ErrUnloaded = errors.New("program has been unloaded")

// An AliasError reports an output that cannot become an input, and why.
type AliasError struct {
	StateAlias
	What string
}

func (e *AliasError) Error() string {
	return fmt.Sprintf("state %s=%s: %s", e.Output, e.Input, e.What)
}

// Set sets the values of an input for the next call and all later ones, in N, C, H, W order. It
// copies data. It returns an *[InputError] if the program has no such input or if len(data) differs
// from the number of elements of the input.
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
	if l.set == nil {
		l.set = make(map[string][]float16.Float16)
	}
	l.set[input] = l.inputs[input]
	return nil
}

// Alias makes an output feed an input: the values that a call writes to the output become the input
// of the next call. No values are copied, because the two ports swap their buffers after each call.
// The input starts at zero unless [Loaded.Set] sets it. Both ports must have the same shape and
// strides, and buffers that no other port uses. Otherwise Alias returns an *[AliasError].
func (l *Loaded) Alias(output, input string) error {
	if l.session == nil {
		return ErrUnloaded
	}
	a := StateAlias{output, input}
	bad := func(format string, args ...any) error { return &AliasError{a, fmt.Sprintf(format, args...)} }
	if l.current != nil {
		return ErrOutstanding
	}
	out, ok := l.program.Port(output, loader.Output)
	if !ok {
		return bad("unknown output %q; the program has outputs %q", output, portNames(l.program.Outputs()))
	}
	in, ok := l.program.Port(input, loader.Input)
	if !ok {
		return bad("unknown input %q; the program has inputs %q", input, portNames(l.program.Inputs()))
	}
	for _, s := range l.state {
		if s.Output == output || s.Input == input {
			return bad("state %s=%s already uses the same port", s.Output, s.Input)
		}
	}
	switch {
	case out.Shape != in.Shape:
		return bad("output shape %v does not match input shape %v", out.Shape, in.Shape)
	case out.Strides != in.Strides:
		return bad("output strides %v do not match input strides %v", out.Strides, in.Strides)
	}
	// The buffers swap by their base registers, so nothing else may use either.
	for _, p := range [...]*loader.Port{out, in} {
		if _, ok := l.lent[portKey{p.Name, p.Direction}]; ok || l.staysOnDevice(p) {
			return bad("port %q shares its buffer with another program", p.Name)
		}
		if p.BAR < 0 || l.program.BARs[p.BAR] != p.Address {
			return bad("no base address register (BAR) points to port %q", p.Name)
		}
		for i := range l.program.Ports {
			if q := &l.program.Ports[i]; q != p && q.BAR == p.BAR {
				return bad("ports %q and %q share a base address register (BAR)", p.Name, q.Name)
			}
		}
	}
	return l.addAlias(a, out, in)
}

// addAlias adds the alias a to the program's state and allows reading and writing in the buffers of
// both of its ports. It returns an *[AliasError] if the program does not link with the two buffers
// swapped.
func (l *Loaded) addAlias(a StateAlias, out, in *loader.Port) error {
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
	swapBuffers(l.program, out, in)
	_, err := l.linkProgram()
	swapBuffers(l.program, out, in)
	if err != nil {
		l.program.Segments = before
		return &AliasError{a, err.Error()}
	}
	l.state = append(l.state, a)
	return nil
}

// swapBuffers exchanges the buffers of ports a and b of program p.
func swapBuffers(p *loader.Program, a, b *loader.Port) {
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

// CompiledFor says for which target the program was compiled. Estimates follow its rules unless the
// session's options name another. Without CompiledFor, the target is that of the program's banner or
// of its estimates, and is unknown if all of these are 0.
func (l *Loaded) CompiledFor(t execycles.Target) { l.target = t }

// linkProgram returns the program linked with its current buffers. It caches one result for each
// set of buffers.
func (l *Loaded) linkProgram() (*loader.Linked, error) {
	if k, ok := l.linked[l.program.BARs]; ok {
		return k, nil
	}
	p := *l.program // the link keeps it, and bindings change
	p.Ports = slices.Clone(p.Ports)
	k, target, err := linkAndFindTarget(&p)
	if err == nil {
		l.target = l.target.Or(target)
		l.linked[p.BARs] = k
	}
	return k, err
}

// Bind sets a run-time parameter of the program for all later calls. It returns a *[BindError] if
// the program has no such parameter, a *[loader.RelocError] if the value is outside the parameter's
// range or does not fit in its registers, or [ErrOutstanding] if a call of the program is in
// progress. Other errors say why a port or a state does not fit the new shape. After an error, the
// parameter keeps its old value.
func (l *Loaded) Bind(name string, value uint64) error {
	return l.bindSetting(Setting{Name: name, Value: value})
}

// bindSetting sets a run-time parameter as Bind does, or a bar.
func (l *Loaded) bindSetting(s Setting) error {
	switch {
	case l.session == nil:
		return ErrUnloaded
	case l.current != nil:
		return ErrOutstanding
	}
	before, linked := *l.program, l.linked
	bound, err := withSetting(l.program, s)
	if err != nil {
		return err
	}
	*l.program, l.linked = *bound, make(map[bindings]*loader.Linked)
	if err := l.checkPortsFit(); err != nil {
		*l.program, l.linked = before, linked
		return err
	}
	if !haveSameLayout(before.Ports, bound.Ports) {
		l.written = false // inputs in memory have the layout of other shapes
		for port := range l.program.Inputs() {
			if len(l.inputs[port.Name]) != Elements(port) {
				delete(l.inputs, port.Name)
			}
		}
	}
	return nil
}

// haveSameLayout reports whether tensors of the ports in two lists have the same shapes and strides.
func haveSameLayout(a, b []loader.Port) bool {
	return slices.EqualFunc(a, b, func(a, b loader.Port) bool { return a.Shape == b.Shape && a.Strides == b.Strides })
}

// setValues returns the values that Set gave an input, unless the input now has another size or holds
// state, whose value is the last call's.
func (l *Loaded) setValues(port *loader.Port) ([]float16.Float16, bool) {
	data, ok := l.set[port.Name]
	return data, ok && len(data) == Elements(port) && !l.isStatePort(port)
}

// checkPortsFit returns an error unless the program links, its ports fit in their memory,
// and the two ports of each state have the same shape and strides.
func (l *Loaded) checkPortsFit() error {
	if _, err := l.linkProgram(); err != nil {
		return err
	}
	for i := range l.program.Ports {
		if p := &l.program.Ports[i]; len(l.program.LiveAxes) > 0 {
			if err := checkPort(l.session.mem, p); err != nil {
				return err
			}
			if n := portSpanBytes(p); n > p.Bytes {
				return &PortError{p, fmt.Sprintf("tensor needs %d bytes, but the port has %d", n, p.Bytes), nil}
			}
		}
	}
	for _, a := range l.state {
		out, _ := l.program.Port(a.Output, loader.Output)
		in, _ := l.program.Port(a.Input, loader.Input)
		if out.Shape != in.Shape || out.Strides != in.Strides {
			return &AliasError{a, fmt.Sprintf("output shape %v and strides %v do not match input shape %v and strides %v", out.Shape, out.Strides, in.Shape, in.Strides)}
		}
	}
	return nil
}

// A BindError reports a run-time parameter, or the number of a bar, that the program does not have.
type BindError struct {
	Name  string
	Have  []string
	IsBar bool
	Bar   int
	Bars  int  // number of bars of the program
	Twice bool // it exists, but has two values
}

func (e *BindError) Error() string {
	switch {
	case e.Twice && e.IsBar:
		return fmt.Sprintf("bar %d has two values", e.Bar)
	case e.Twice:
		return fmt.Sprintf("run-time parameter %q has two values", e.Name)
	case e.IsBar && e.Bars == 0:
		return fmt.Sprintf("unknown bar %d; the program has no bars", e.Bar)
	case e.IsBar:
		return fmt.Sprintf("unknown bar %d; the program has %d", e.Bar, e.Bars)
	}
	if len(e.Have) == 0 {
		return fmt.Sprintf("unknown run-time parameter %q; the program has none", e.Name)
	}
	return fmt.Sprintf("unknown run-time parameter %q; the program has %q", e.Name, e.Have)
}

// withSetting returns a copy of p whose run-time parameter or bar has the value of s, or whose weights
// are at that address.
func withSetting(p *loader.Program, s Setting) (*loader.Program, error) {
	if s.IsWeights {
		return withWeightsAt(p, s.Value), nil
	}
	q := *p
	// Other bindings of the program share p, so the copy gets its own of all that is changed below.
	q.Relocations, q.Ports = slices.Clone(p.Relocations), slices.Clone(p.Ports)
	if s.IsBar {
		if !q.SetBar(s.Bar, s.Value) {
			return nil, &BindError{IsBar: true, Bar: s.Bar, Bars: len(p.Bars())}
		}
		// A field is a part of a word. Resolving each field now reports a value that does not fit where
		// it was set, and not in the call that uses it.
		for i := range q.Relocations {
			if r := &q.Relocations[i]; r.IsBar() {
				if _, err := r.Resolve(&q.BARs); err != nil {
					return nil, err
				}
			}
		}
		return &q, nil
	}
	if have := parameters(p); !slices.Contains(have, s.Name) {
		return nil, &BindError{Name: s.Name, Have: have}
	}
	for i := range q.Relocations {
		if r := &q.Relocations[i]; r.Kind == loader.LiveIn && r.Name == s.Name {
			r.Value = s.Value
			if _, err := r.Resolve(&q.BARs); err != nil {
				return nil, err
			}
		}
	}
	return &q, params.SetShape(&q, s.Name, s.Value)
}

// Unload removes the program from memory and aborts its call in progress. If ports of other
// programs use buffers of this program, the calls of these programs in progress are aborted, too,
// and the ports return to their own buffers.
func (l *Loaded) Unload() {
	if l.session == nil {
		return
	}
	if l.current != nil {
		l.current.Abort()
	}
	l.session.loaded = slices.DeleteFunc(l.session.loaded, func(x *Loaded) bool { return x == l })
	l.session.unbindPortsInRange(l.span)
	l.removeSegments(len(l.own))
	l.session.markRangeFree(l.span)
	l.session.used -= l.bytes
	l.session = nil
}

// removeSegments removes the program's first n segments from the session's memory.
func (l *Loaded) removeSegments(n int) {
	for i := range l.program.Segments[:n] { // its own come first
		l.session.mem.Remove(l.program.Segments[i].Addr)
	}
}

// Address returns the lowest device address of the program.
func (l *Loaded) Address() uint64 { return l.span.lo }

// isStatePort reports whether port p is one of the two ports of a state.
func (l *Loaded) isStatePort(p *loader.Port) bool {
	return slices.ContainsFunc(l.state, func(a StateAlias) bool {
		return p.Direction == loader.Input && a.Input == p.Name || p.Direction == loader.Output && a.Output == p.Name
	})
}

// maxKept is the maximum number of output elements that a repeated call with state keeps
// for each dispatch. If there are more, only the outputs of the last dispatch are kept.
const maxKept = 1 << 24

// maxListed limits the descriptors that a repeated call lists, and those that a brief call
// of more than maxBrief descriptors lists.
const (
	maxBrief  = 1 << 16
	maxListed = 1 << 12
)

// MaxStatefulTasks limits the descriptors of a call with state, whose dispatches are all executed.
const MaxStatefulTasks = 1 << 20

// Listed returns how many dispatches a result should list if a program with the given number of
// tasks is dispatched repeat times. The listed dispatches have at most about 4096 tasks in total.
// However, if repeat is greater than 1, at least two are listed, because the first dispatch may
// differ from the others.
func Listed(repeat, tasks int) int {
	return min(repeat, max(2, maxListed/max(1, tasks)))
}

// restoreInputs makes inputs that a call did not write available to the next call. It keeps inputs
// that were set in the meantime.
func (l *Loaded) restoreInputs(inputs map[string][]float16.Float16) {
	for name, data := range inputs {
		if _, set := l.inputs[name]; !set {
			if l.inputs == nil {
				l.inputs = make(map[string][]float16.Float16)
			}
			l.inputs[name] = data
		}
	}
}

// parameters returns the names of the program's run-time parameters, in the order in which
// its relocations first use them.
func parameters(p *loader.Program) (names []string) {
	for _, r := range p.Parameters() {
		names = append(names, r.Name)
	}
	return names
}

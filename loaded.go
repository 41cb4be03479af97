package anesim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/x448/float16"

	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/params"
)

// A Loaded program stands in a session's memory until it is unloaded.
type Loaded struct {
	session *Session
	model   *Model
	lowered *lowered
	program *loader.Program // where it stands, with its ports where they are bound
	span    addressRange
	bytes   uint64
	linked  map[bindings]*loader.Linked

	inputs  map[string][]float16.Float16 // to be written before the next call
	written bool                         // every input has been written once
	state   []StateAlias
	calls   int
	under   *Call // the one under way
	once    bool  // nothing follows the dispatch under way, whose results may keep its memory

	own  []loader.Segment           // of the program, in memory
	lent map[portKey]loader.Segment // that ports stand in elsewhere
	home map[portKey]uint64         // a port's own buffer

	statistics addressRange // where calls leave theirs
}

// bindings are the buffers of a program's ports.
type bindings = regs.BARs

// A StateAlias makes an output the input of the next call.
type StateAlias struct{ Output, Input string }

// ErrUnloaded is a call of a program that is unloaded.
var ErrUnloaded = errors.New("the program is unloaded")

// An AliasError is an output that cannot become an input.
type AliasError struct {
	StateAlias
	What string
}

func (e *AliasError) Error() string {
	return fmt.Sprintf("state %s=%s: %s", e.Output, e.Input, e.What)
}

// Set gives an input values for the next call and those after it, in N, C, H, W order.
func (l *Loaded) Set(input string, data []float16.Float16) error {
	if l.session == nil {
		return ErrUnloaded
	}
	o := Options{Inputs: map[string][]float16.Float16{input: data}}
	if err := checkInputs(l.program, &o); err != nil {
		return err
	}
	if l.inputs == nil {
		l.inputs = make(map[string][]float16.Float16)
	}
	l.inputs[input] = slices.Clone(data)
	return nil
}

// Alias makes what a call leaves in an output the next call's input, without a copy: the
// two ports change buffers after each call, so that a call never writes what it reads. The
// state starts at zero unless Set gives the input. Port and port must be laid out alike.
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
		return bad("%v", err)
	}
	l.state = append(l.state, a)
	return nil
}

// swap gives two ports each other's buffer.
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

// link links the program with its ports where they are bound, once for each binding.
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
			if len(l.inputs[port.Name]) != elements(port) {
				delete(l.inputs, port.Name)
			}
		}
	}
	return nil
}

// fits makes sure that the program links, that its ports stand in their windows, and that
// state goes on fitting.
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

// bind is a program with a parameter's value.
func bind(p *loader.Program, name string, value uint64) (*loader.Program, error) {
	q := *p
	q.Relocations, q.Ports = slices.Clone(p.Relocations), slices.Clone(p.Ports)
	if have := runTimeParameters(p); !slices.Contains(have, name) {
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
	return &q, params.Shape(&q, name, value)
}

// Unload gives the program's memory back.
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

// remove takes the first n segments out of the session's memory.
func (l *Loaded) remove(n int) {
	for i := range l.program.Segments[:n] { // its own come first
		l.session.mem.Remove(l.program.Segments[i].Addr)
	}
}

// Address is where the program's first segment stands.
func (l *Loaded) Address() uint64 { return l.span.lo }

// Call dispatches the program once, on the inputs that were set. Inputs that nobody sets
// are pseudo-random from the session's seed, but for state, which is zero.
func (l *Loaded) Call(ctx context.Context) (*Result, error) {
	if l.session == nil {
		return nil, ErrUnloaded
	}
	if l.under != nil {
		return nil, ErrOutstanding
	}
	if len(l.session.hazards(l)) > 0 {
		return nil, ErrWaiting
	}
	o := l.session.options
	res, err := l.dispatch(ctx, 1, 1, o.meter(StageRun, l.program.TaskCount))
	if err != nil {
		return nil, err
	}
	return l.result(o, res), nil
}

// isState reports whether a port is one end of an alias.
func (l *Loaded) isState(p *loader.Port) bool {
	return slices.ContainsFunc(l.state, func(a StateAlias) bool {
		return p.Direction == loader.Input && a.Input == p.Name || p.Direction == loader.Output && a.Output == p.Name
	})
}

// write puts the inputs into memory that the next call is to find there.
func (l *Loaded) write(res *ProgramResult) error {
	s := l.session
	for port := range l.program.Inputs() {
		data, given := l.inputs[port.Name]
		if _, lent := l.lent[portKey{port.Name, loader.Input}]; lent && !given {
			continue // what another program or the host left there
		}
		if !given && l.written {
			continue // what the call before found there
		}
		mark := s.mem.Give
		switch {
		case given:
		case l.isState(port):
			data = make([]float16.Float16, elements(port))
		default:
			data = pseudoRandom(port, s.options.Seed)
			if readsBytes(l.program, port) {
				truths(data)
			}
			res.Synthetic = append(res.Synthetic, port.Name)
			mark = s.mem.MakeUp
		}
		if err := mark(port.Address, port.Bytes); err != nil {
			return err
		}
		if lent := l.shares(port) && s.mem.Lend(port.Address, data); !lent {
			if err := transfer(s.mem, port, data, true); err != nil {
				return err
			}
		}
		res.Inputs = append(res.Inputs, Output{Port: clonePort(port), Data: data})
	}
	l.written, l.inputs = true, nil
	return nil
}

// shares reports whether values of a port are those of its window, in the same order and
// with nothing between them, and only one dispatch is to have them there.
func (l *Loaded) shares(p *loader.Port) bool {
	return l.once && len(l.state) == 0 && dense(p)
}

// read takes the outputs out of memory.
func (l *Loaded) read() (list []Output, err error) {
	for port := range l.program.Outputs() {
		var data []float16.Float16
		shared := false
		if l.shares(port) {
			data, shared = l.session.mem.Halves(port.Address, uint64(elements(port)))
		}
		if !shared {
			data = make([]float16.Float16, elements(port))
			if err := transfer(l.session.mem, port, data, false); err != nil {
				return nil, err
			}
		}
		list = append(list, Output{Port: clonePort(port), Data: data})
	}
	return list, nil
}

// clonePort is a port as it is bound now.
func clonePort(p *loader.Port) *loader.Port {
	q := *p
	return &q
}

// maxKept bounds the elements of outputs that a repeated run with state keeps of every
// dispatch; beyond it only the last ones are.
const maxKept = 1 << 24

// maxListed bounds the descriptors that a repeated run lists, and a brief one of more than
// maxBrief; maxListedState those of a run with state, every dispatch of which computes
// something else.
const (
	maxBrief       = 1 << 16
	maxListed      = 1 << 12
	maxListedState = 1 << 20
)

// listed is how many dispatches of tasks a repeated run makes and lists; what follows does
// what the last of them did and is counted. The first may find the engine in another state
// than the rest.
func listed(repeat, tasks int) int {
	return min(repeat, max(2, maxListed/max(1, tasks)))
}

// dispatch dispatches the program a number of times, of which the first ones, list, are
// listed.
func (l *Loaded) dispatch(ctx context.Context, repeat, list int, m *meter) (*ProgramResult, error) {
	s := l.session
	o, ctl := &s.options, s.ctl
	linked, err := l.link()
	if err != nil {
		return nil, err
	}
	if len(l.state) > 0 {
		if list = repeat; repeat > maxListedState/max(1, linked.Count) {
			return nil, &OptionError{"Repeat", fmt.Sprintf("%d dispatches of %d descriptors with state; together at most %d", repeat, linked.Count, maxListedState)}
		}
	}
	res := &ProgramResult{Program: l.program}
	values := o.Values
	if values {
		res.Limits = portLimits(l.program)
		values = len(res.Limits) == 0
	}
	if values {
		if err := settle(s.mem, linked); err != nil {
			return nil, err
		}
		if err := l.write(res); err != nil {
			return nil, err
		}
	}
	budget := o.Budget
	if n := uint64(max(1, repeat)); len(l.state) > 0 && budget > 0 && budget < ^uint64(0)/n {
		budget *= n // every call computes something else
	}
	device := s.deviceOptions(values, budget)
	if o.Brief && repeat == 1 && !values && linked.Count > maxBrief && l.statistics == (addressRange{}) {
		device.List = maxListed
	}
	if o.Each != nil {
		var doc DescriptorDocument
		device.Each = func(d *hw.DescriptorReport) {
			doc = descriptorDocument(d)
			o.Each(&doc)
		}
	}
	if s.each != nil {
		device.Each = s.each
	}
	engine := &engine{Device: hw.New(s.mem, device), ctx: ctx, meter: m}
	res.Report = engine.Report()
	kept := 0
	for n := range list {
		if n > 0 {
			engine.Dispatch()
		}
		rep := engine.Report()
		if device.List == 0 {
			rep.Descriptors = slices.Grow(rep.Descriptors, linked.Count)
		}
		gap := clock.Nanoseconds(o.Idle.Nanoseconds())
		d := Dispatch{Idle: gap, Waiting: ctl.Idle(gap)}
		first := len(res.Report.Descriptors)
		if _, err := ctl.Run(&linked.Stream, engine); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d.Wake = ctl.WakeTime()
		rep = engine.Report() // the chain has ended
		d.Descriptors, d.Rest = rep.Descriptors[first:], rep.Rest
		last := n == list-1 || len(res.Report.Faults) > 0
		if values && res.Report.Complete() && (last || len(l.state) > 0 && kept < maxKept) {
			if res.Outputs, err = l.read(); err != nil {
				return nil, err
			}
			if len(l.state) > 0 && kept < maxKept {
				d.Outputs = res.Outputs
				for _, out := range d.Outputs {
					kept += len(out.Data)
				}
			}
		}
		res.Dispatches = append(res.Dispatches, d)
		l.calls++
		l.save()
		if err := l.complete(d.Descriptors, len(res.Report.Faults)); err != nil {
			return nil, err
		}
		if len(res.Report.Faults) > 0 {
			break
		}
		if linked, err = l.turn(values); err != nil {
			return nil, err
		}
	}
	each := res.Report.Dispatch / clock.Nanojoules(len(res.Dispatches))
	for i := range res.Dispatches {
		res.Dispatches[i].Energy = each
	}
	if again := repeat - list; again > 0 && len(res.Report.Faults) == 0 {
		res.Again = again
		l.calls += again
		res.Report.Repeat(again, linked.Count)
		more := clock.Nanojoules(float64(again) * float64(each))
		res.Report.Dispatch += more
		res.Report.Energy += more
	}
	res.Host = hostTime(&o.Host, res, l.stays)
	return res, nil
}

// turn gives the ports of state each other's buffer, after a call.
func (l *Loaded) turn(values bool) (*loader.Linked, error) {
	for _, a := range l.state {
		out, _ := l.program.Port(a.Output, loader.Output)
		in, _ := l.program.Port(a.Input, loader.Input)
		swap(l.program, out, in)
	}
	linked, err := l.link()
	if err != nil || !values || len(l.state) == 0 {
		return linked, err
	}
	return linked, settle(l.session.mem, linked)
}

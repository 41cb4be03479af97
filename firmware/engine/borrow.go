package engine

import (
	"maps"
	"slices"

	"github.com/x448/float16"

	"anesim/loader"
)

// A Binding makes a port use the buffer at a device address; see [Loaded.BindBuffer].
type Binding struct {
	Port      string
	Direction loader.Direction
	Address   uint64
}

// A Setting is a value for a run-time parameter (see [Loaded.Bind]), or for the bar with a number (see
// [loader.Program.Bars]), or the address of weights to use (see [Session.AddWeights]).
type Setting struct {
	Name      string // of the parameter
	IsBar     bool
	Bar       int // number of the bar
	IsWeights bool
	Value     uint64
}

// CheckSettings returns the error with which [Loaded.Borrow] would refuse one of the settings, without
// looking at the program's memory: a *[BindError] for a parameter or a bar that the program does not
// have or that has two values, or a *[loader.RelocError] for a value out of range or too large for its
// field. A call of the program may be in progress.
func (l *Loaded) CheckSettings(settings []Setting) error {
	p := l.program
	for _, s := range settings {
		var err error
		if p, err = withSetting(p, s); err != nil {
			return err
		}
	}
	for i, s := range settings {
		if slices.ContainsFunc(settings[:i], func(o Setting) bool {
			return o.IsBar == s.IsBar && o.IsWeights == s.IsWeights && o.Bar == s.Bar && o.Name == s.Name
		}) {
			return &BindError{Name: s.Name, IsBar: s.IsBar, Bar: s.Bar, Twice: true}
		}
	}
	return nil
}

// Borrow binds ports to buffers and sets run-time parameters and bars for the next call only. After that
// call, the caller must call giveBack, which returns the ports to their own buffers and restores
// the parameters. An input uses the values in its new buffer unless [Loaded.Set] gave it others.
//
// If Borrow fails, it calls giveBack itself and returns the error of [Loaded.BindBuffer] or
// [Loaded.Bind]. It returns [ErrOutstanding] if a call of the program is in progress, and
// [ErrUnloaded] if the program was unloaded.
func (l *Loaded) Borrow(buffers []Binding, settings []Setting) (giveBack func(), err error) {
	switch {
	case l.session == nil:
		return nil, ErrUnloaded
	case l.current != nil:
		return nil, ErrOutstanding
	}
	program, linked, written := *l.program, l.linked, l.written
	done := false
	giveBack = func() {
		if done {
			return
		}
		done = true
		for _, b := range buffers {
			l.BindBuffer(b.Port, b.Direction, 0) // cannot fail: the program was linked with its own buffer before
		}
		if len(buffers) > 0 {
			l.written = written // the values written meanwhile are in the other buffers
		}
		if len(settings) > 0 && l.session != nil {
			if !haveSameLayout(l.program.Ports, program.Ports) {
				l.written = false // the inputs in memory have the layout of the call's sizes
			}
			*l.program, l.linked = program, linked
		}
	}
	if err := l.bindCallArguments(buffers, settings); err != nil {
		giveBack()
		return nil, err
	}
	return giveBack, nil
}

// bindCallArguments binds the buffers of a call to the ports and the settings to the run-time
// parameters. Values that were set for a port stay set if the port moves to another buffer.
func (l *Loaded) bindCallArguments(buffers []Binding, settings []Setting) error {
	given := maps.Clone(l.inputs) // the values set for a port stay set if it moves to another buffer
	for _, b := range buffers {
		if err := l.BindBuffer(b.Port, b.Direction, b.Address); err != nil {
			return err
		}
	}
	l.inputs = given
	for _, s := range settings {
		if err := l.bindSetting(s); err != nil {
			return err
		}
	}
	if !l.session.options.Values {
		return nil
	}
	for _, b := range buffers {
		if err := l.keepBufferValues(b); err != nil {
			return err
		}
	}
	return nil
}

// keepBufferValues makes the next call read the values that the buffer of b holds, unless other
// values were set for the port. Otherwise the call would overwrite the buffer with generated
// values.
func (l *Loaded) keepBufferValues(b Binding) error {
	if _, given := l.inputs[b.Port]; given || b.Direction != loader.Input {
		return nil
	}
	port, _ := l.program.Port(b.Port, b.Direction)
	data := make([]float16.Float16, Elements(port))
	if err := transferPort(l.session.mem, port, data, false); err != nil {
		return err
	}
	if l.inputs == nil {
		l.inputs = map[string][]float16.Float16{}
	}
	l.inputs[port.Name] = data
	return nil
}

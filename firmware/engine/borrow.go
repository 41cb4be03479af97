package engine

import (
	"maps"

	"github.com/x448/float16"

	"anesim/loader"
)

// A Binding is a port at a buffer; see [Loaded.BindBuffer].
type Binding struct {
	Port      string
	Direction loader.Direction
	Address   uint64
}

// A Setting is a value of a run-time parameter; see [Loaded.Bind].
type Setting struct {
	Name  string
	Value uint64
}

// Borrow binds ports to buffers and sets parameters for the next call alone: giveBack binds
// and sets all as it was before. What inputs' buffers hold are their values, unless others
// were set. After an error nothing is bound. Errors are those of BindBuffer and Bind.
func (l *Loaded) Borrow(buffers []Binding, settings []Setting) (giveBack func(), err error) {
	switch {
	case l.session == nil:
		return nil, ErrUnloaded
	case l.under != nil:
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
			l.BindBuffer(b.Port, b.Direction, 0) // its own has been linked before
		}
		if len(buffers) > 0 {
			l.written = written // what was written went to the buffers
		}
		if len(settings) > 0 && l.session != nil {
			*l.program, l.linked = program, linked
		}
	}
	if err := l.borrow(buffers, settings); err != nil {
		giveBack()
		return nil, err
	}
	return giveBack, nil
}

func (l *Loaded) borrow(buffers []Binding, settings []Setting) error {
	given := maps.Clone(l.inputs) // a port's values go with it to another buffer
	for _, b := range buffers {
		if err := l.BindBuffer(b.Port, b.Direction, b.Address); err != nil {
			return err
		}
	}
	l.inputs = given
	for _, s := range settings {
		if err := l.Bind(s.Name, s.Value); err != nil {
			return err
		}
	}
	if !l.session.options.Values {
		return nil
	}
	for _, b := range buffers {
		if err := l.keep(b); err != nil {
			return err
		}
	}
	return nil
}

// keep takes what stands in an input's buffer as its values, unless others were set: a
// client's buffer is never made up.
func (l *Loaded) keep(b Binding) error {
	if _, given := l.inputs[b.Port]; given || b.Direction != loader.Input {
		return nil
	}
	port, _ := l.program.Port(b.Port, b.Direction)
	data := make([]float16.Float16, Elements(port))
	if err := transfer(l.session.mem, port, data, false); err != nil {
		return err
	}
	if l.inputs == nil {
		l.inputs = map[string][]float16.Float16{}
	}
	l.inputs[port.Name] = data
	return nil
}

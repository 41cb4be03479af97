package anesim

import (
	"context"
	"fmt"

	"anesim/firmware"
	"anesim/hw"
)

// A Timer times one model after another on one engine. It returns the figures of [Model.Run]
// without values, for many models in a fraction of the time: the firmware boots once, and constants
// of layers are never generated, only their sizes.
//
// A Timer must not be used by several goroutines at once.
type Timer struct {
	session *Session
}

// NewTimer starts an engine. It ignores the options about values, Repeat and Idle.
func NewTimer(o Options) (*Timer, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	o.Values, o.Inputs, o.Shapes, o.State, o.Repeat, o.Idle, o.Workers, o.Progress = false, nil, nil, nil, 1, 0, 1, nil
	s, err := NewSession(o)
	if err != nil {
		return nil, err
	}
	return &Timer{s}, nil
}

// Override sets the register values that all later timings use, replacing earlier ones.
func (t *Timer) Override(list []firmware.Override) {
	t.session.options.Overrides = list
	t.session.Override(list)
}

// Chip replaces the engine's chip. The error is an *OptionError.
func (t *Timer) Chip(c hw.Chip) error {
	if err := t.session.SetChip(c); err != nil {
		return err
	}
	t.session.options.Chip = c
	return nil
}

// Time returns the report of one dispatch of a program or a layer. It contains device faults. A
// network is an *OptionError; other errors are those of [Model.Run].
func (t *Timer) Time(ctx context.Context, m *Model) (*hw.Report, error) {
	if m.kind == KindNetwork {
		return nil, &OptionError{Option: "Time", What: fmt.Sprintf("requires a program or a layer; %s is a network", m.name)}
	}
	l, err := t.session.Load(ctx, m)
	if err != nil {
		return nil, err
	}
	defer l.Unload()
	res, err := l.Loaded.Call(ctx)
	if err != nil {
		return nil, err
	}
	return res.Report, nil
}

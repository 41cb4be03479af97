package anesim

import (
	"context"
	"fmt"

	"anesim/firmware"
	"anesim/hw"
)

// A Timer times one model after another on one engine: the figures of [Model.Run] without
// values, of many models in a fraction of the time. The firmware boots once, and what a
// layer's constants are is never made, only how large they are.
//
// A timer is for one goroutine at a time.
type Timer struct {
	session *Session
}

// NewTimer starts an engine. Of the options, those that say what values are made of, Repeat
// and Idle are left aside.
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

// Override makes the models that are timed from now on run with these register values and
// no others.
func (t *Timer) Override(list []firmware.Override) {
	t.session.options.Overrides = list
	t.session.Override(list)
}

// Chip gives the engine another chip. The error is an *OptionError.
func (t *Timer) Chip(c hw.Chip) error {
	if err := t.session.SetChip(c); err != nil {
		return err
	}
	t.session.options.Chip = c
	return nil
}

// Time is the engine's account of one dispatch of a program or a layer. Device faults are
// in it. Errors are those of [Model.Run].
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

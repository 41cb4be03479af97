package anesim

import (
	"context"
	"fmt"

	"anesim/firmware"
	"anesim/hw"
)

// A Timer times many models one after the other on the same engine. It returns the same reports as
// [Model.Run] without values, but is faster because it boots the firmware only once and never
// generates weights. A Timer must not be used by several goroutines at once.
type Timer struct {
	session *Session
}

// NewTimer returns a timer for an engine with the options o. It ignores o.Values, o.Inputs,
// o.Shapes, o.State, o.Repeat, o.Idle, o.Workers and o.Progress.
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

// Override sets the register overrides that later calls of [Timer.Time] apply to every descriptor.
// They replace the overrides of earlier calls. A nil list removes all overrides.
func (t *Timer) Override(list []firmware.Override) {
	t.session.options.Overrides = list
	t.session.Override(list)
}

// Chip replaces the chip of the engine for later calls of [Timer.Time]. It returns an
// *[OptionError] if c is not valid.
func (t *Timer) Chip(c hw.Chip) error {
	if err := t.session.SetChip(c); err != nil {
		return err
	}
	t.session.options.Chip = c
	return nil
}

// Time runs one dispatch of m without computing values and returns its report. Device faults are
// part of the report. The model m must be a compiled program or a single layer; for a network, the
// error is an *[OptionError]. Other errors are those of [Model.Run].
func (t *Timer) Time(ctx context.Context, m *Model) (*hw.Report, error) {
	r, err := t.Call(ctx, m)
	if err != nil {
		return nil, err
	}
	return r.Report, nil
}

// Call does what [Timer.Time] does and returns a result with the model, the options, the report and the
// program, whose [Result.Call] and [Result.CallBounds] include the host. The result has no layers, inputs or
// outputs.
func (t *Timer) Call(ctx context.Context, m *Model) (*Result, error) {
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
	return &Result{Model: m, Options: t.session.options, Report: res.Report, Programs: []ProgramResult{{Result: *res}}}, nil
}

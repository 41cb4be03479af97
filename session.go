package anesim

import (
	"context"
	"fmt"

	"anesim/firmware/engine"
	"anesim/loader"
	"anesim/loader/network/partition"
)

// Types of package [engine] that sessions and results are made of.
type (
	// A StateAlias makes an output the input of the next call.
	StateAlias = engine.StateAlias
	// A Dispatch is one dispatch of a program, with the idle gap before it.
	Dispatch = engine.Dispatch

	// An OptionError is an option that no run can have.
	OptionError = engine.OptionError
	// An InputError is an input that does not fit the model.
	InputError = engine.InputError
	// An AliasError is an output that cannot become an input.
	AliasError = engine.AliasError
	// A BindError is a run-time parameter that a program does not have.
	BindError = engine.BindError
	// A BufferError is a port that cannot have a buffer.
	BufferError = engine.BufferError
	// A PortError is a port that the model cannot fill or read.
	PortError = engine.PortError
	// A NoMemoryError is a program or a buffer that a session's memory has no room for.
	NoMemoryError = engine.NoMemoryError
)

// Errors of calls.
var (
	ErrUnloaded    = engine.ErrUnloaded    // the program is unloaded
	ErrOutstanding = engine.ErrOutstanding // a call of the program is under way
	ErrWaiting     = engine.ErrWaiting     // another call uses a buffer of the call
	ErrAborted     = engine.ErrAborted     // the call was aborted
)

// A Session is an engine with its memory, where models are loaded once and called many
// times: inputs are rewritten from call to call, and outputs become inputs of the next
// without a copy. The firmware boots once and power domains keep their state. See package
// [engine] for the methods of its engine.
//
// A session is for one goroutine at a time.
type Session struct {
	*engine.Session
	options Options
}

// NewSession starts an engine. Of the options, Inputs, Shapes, State and Repeat belong to
// calls and are ignored; Idle is the gap before each call.
func NewSession(o Options) (*Session, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s, err := engine.New(o.engine())
	if err != nil {
		return nil, err
	}
	return &Session{s, o}, nil
}

// Load puts a model's program into memory, at the addresses it was linked for or, where
// those are taken, at the lowest that are free. The model must be one program.
//
// Errors are a *[NoMemoryError], an *[OptionError] for a model of several programs, or
// what is wrong with the program.
func (s *Session) Load(ctx context.Context, m *Model) (*Loaded, error) {
	low, err := m.lower(ctx, &s.options, !s.options.Values)
	if err != nil {
		return nil, err
	}
	if n := len(low.programs); n != 1 {
		return nil, &OptionError{Option: "Load", What: fmt.Sprintf("requires a single program; %s has %d", m.name, n)}
	}
	l, err := s.Session.Load(low.programs[0].Program)
	if err != nil {
		return nil, err
	}
	return &Loaded{Loaded: l, session: s, model: m, lowered: low}, nil
}

// A Loaded model is a program in a session's memory until it is unloaded. See
// [engine.Loaded] for the methods that bind and fill its ports.
type Loaded struct {
	*engine.Loaded
	session *Session
	model   *Model
	lowered *lowered
}

// Connect makes what from's calls leave in an output the input of this model's, in one
// buffer; see [engine.Loaded.Connect].
func (l *Loaded) Connect(input string, from *Loaded, output string) error {
	return l.Loaded.Connect(input, from.Loaded, output)
}

// Start begins a call; see [engine.Loaded.Start].
func (l *Loaded) Start(ctx context.Context) (*Call, error) {
	c, err := l.Loaded.Start(ctx)
	if err != nil {
		return nil, err
	}
	call := &Call{Call: c, loaded: l}
	call.Executed = call.result.executed(&l.session.options, l.Program().TaskCount, l.session.options.meter(StageRun, l.Program().TaskCount))
	return call, nil
}

// Call dispatches the model once, on the inputs that were set: it starts a call and drives
// it to its end. Inputs that nobody sets are pseudo-random from the session's seed, but for
// state, which is zero. The error is ErrWaiting if another call under way shares a buffer.
func (l *Loaded) Call(ctx context.Context) (*Result, error) {
	if l.Blocked() {
		return nil, ErrWaiting
	}
	c, err := l.Start(ctx)
	if err != nil {
		return nil, err
	}
	for more := true; more; {
		_, more = c.Run()
	}
	return c.Result()
}

// A Call is one call of a loaded model, a run of descriptors at a time; see [engine.Call].
type Call struct {
	*engine.Call
	loaded *Loaded
	result ProgramResult
}

// Result returns what the call did, once it is over. Before that the error is
// ErrOutstanding.
func (c *Call) Result() (*Result, error) {
	res, err := c.Call.Result()
	if err != nil {
		return nil, err
	}
	l, p := c.loaded, c.result
	p.Result, p.Runs, p.Why = *res, l.lowered.programs[0].Runs, l.lowered.programs[0].Why
	o := l.session.options
	o.Repeat, o.State = 1, l.State()
	r := &execution{model: l.model, lowered: l.lowered, options: o, programs: []ProgramResult{p}, synthetic: p.Synthetic}
	return r.end(), nil
}

// ofProgram returns what lowering a compiled program comes to.
func ofProgram(p *loader.Program) *lowered {
	return &lowered{programs: []partition.Program{{Program: p}}}
}

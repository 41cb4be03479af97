package anesim

import (
	"context"

	"anesim/firmware/engine"
	"anesim/loader"
	"anesim/loader/network/partition"
)

// Types of package [engine] that sessions and results use.
type (
	// A StateAlias names an output whose values become an input of the next call, such as the state
	// of a recurrent layer.
	StateAlias = engine.StateAlias
	// A Dispatch is one dispatch of a program, with the idle gap before it.
	Dispatch = engine.Dispatch

	// An OptionError reports an invalid option.
	OptionError = engine.OptionError
	// An InputError reports an input that the model does not have, or an input of the wrong
	// size or shape.
	InputError = engine.InputError
	// An AliasError reports an output that cannot become an input of the next call.
	AliasError = engine.AliasError
	// A BindError reports a run-time parameter that the program does not have.
	BindError = engine.BindError
	// A BufferError reports a port that cannot use the given buffer.
	BufferError = engine.BufferError
	// A PortError reports a port that cannot be filled or read.
	PortError = engine.PortError
	// A NoMemoryError reports a program or buffer that does not fit in a session's memory.
	NoMemoryError = engine.NoMemoryError
)

// Errors that [Loaded.Call] and other methods of a loaded model return; see package engine.
var (
	ErrUnloaded    = engine.ErrUnloaded    // the program is unloaded
	ErrOutstanding = engine.ErrOutstanding // a call of the program is in progress
	ErrWaiting     = engine.ErrWaiting     // another call in progress uses a buffer of this call
	ErrAborted     = engine.ErrAborted     // the call was aborted
)

// A Session is an engine with memory in which models stay loaded. A model is loaded once and called
// many times. Inputs can be rewritten between calls, and outputs can become inputs of the next call
// without a copy. The firmware boots once, and power domains keep their state between calls.
//
// A Session must not be used by several goroutines at once.
type Session struct {
	*engine.Session
	options Options
}

// NewSession starts an engine with the options o. It ignores o.Inputs, o.Shapes, o.State and
// o.Repeat, which apply only to [Model.Run]. The engine idles for o.Idle before each call.
func NewSession(o Options) (*Session, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s, err := engine.New(o.toEngineOptions())
	if err != nil {
		return nil, err
	}
	return &Session{s, o}, nil
}

// Load copies the program of m into the session's memory. It uses the addresses for which the
// program was linked if they are free, and otherwise the lowest free ones above them. The error is
// a *[NoMemoryError] if the program does not fit, an *[OptionError] if m has several programs or a layer
// that no program contains (because the engine cannot run it, or the host computes it; see [Model.Run]),
// and a *[StateError] if the session computes values and a state cannot stay in memory. States of a Core
// ML model start at zero and are connected as by [engine.Loaded.Alias].
func (s *Session) Load(ctx context.Context, m *Model) (*Loaded, error) {
	low, err := m.lowerOrReuse(ctx, &s.options, !s.options.Values)
	if err != nil {
		return nil, err
	}
	if err := m.checkSingleProgram(low); err != nil {
		return nil, err
	}
	l, err := s.Session.Load(low.programs[0].Program)
	if err != nil {
		return nil, err
	}
	if m.kind != KindProgram {
		l.CompiledFor(m.target(&s.options))
	}
	loaded := &Loaded{Loaded: l, session: s, model: m, lowered: low}
	if err := loaded.connectStates(ctx); err != nil {
		l.Unload()
		return nil, err
	}
	return loaded, nil
}

// A Loaded is a model in the memory of a session. It is valid until it is unloaded. Methods of the
// embedded [engine.Loaded] bind buffers to its ports and set the values of its inputs.
type Loaded struct {
	*engine.Loaded
	session *Session
	model   *Model
	lowered *loweredModel
}

// Connect makes the named input of l share the buffer of the named output of from, which is another
// model in the same session. Values then pass between the models without a copy. See
// [engine.Loaded.Connect] for the errors.
func (l *Loaded) Connect(input string, from *Loaded, output string) error {
	return l.Loaded.Connect(input, from.Loaded, output)
}

// Start begins a call of the model without executing any descriptors. The methods of [Call] execute
// them. See [engine.Loaded.Start] for the errors.
func (l *Loaded) Start(ctx context.Context) (*Call, error) {
	c, err := l.Loaded.Start(ctx)
	if err != nil {
		return nil, err
	}
	call := &Call{Call: c, loaded: l}
	call.Executed = call.result.newTaskRecorder(&l.session.options, l.Program().TaskCount, l.session.options.newMeter(StageRun, l.Program().TaskCount))
	return call, nil
}

// Call dispatches the model once and returns its result. Inputs that were not set are filled with
// pseudo-random values from the session's seed; inputs that hold state start at zero. Call returns
// [ErrWaiting] if the model shares a buffer with another call in progress.
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

// A Call is one execution of a loaded model. Its methods run it a few descriptors at a time; see
// [engine.Call].
type Call struct {
	*engine.Call
	loaded *Loaded
	result ProgramResult
}

// Result returns the result of the call after it has ended. It returns [ErrOutstanding] if the call
// is still in progress. An output of a network that is one of its inputs, or a view of one, is not
// among the result's outputs: no descriptor writes it.
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
	if l.model.kind == KindNetwork {
		if r.byteWidths = l.model.net.ByteWidths(); len(r.byteWidths) > 0 {
			r.unpackBytes(&r.programs[0].Result)
		}
	}
	return r.newResult(), nil
}

// wrapCompiledProgram returns a compiled program as if it were the result of lowering a model.
func wrapCompiledProgram(p *loader.Program) *loweredModel {
	return &loweredModel{programs: []partition.Program{{Program: p}}}
}

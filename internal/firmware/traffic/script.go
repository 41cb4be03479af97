package traffic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"anesim/firmware"
	"anesim/firmware/engine"
	"anesim/firmware/queue"
	"anesim/hw/chip"
	"anesim/hw/clock"
	"anesim/internal/firmware/broker"
	"anesim/internal/spelling"
)

// A Script describes clients that call programs on one engine, and for how long.
type Script struct {
	Chip     string        // preset; "" means m1
	Host     string        // preset; "" means none
	Duration time.Duration // time during which calls arrive; all of them run to their end
	Seed     uint64        // seed of random arrivals; 0 means 1
	InFlight int           // commands in flight at a time; 0 means one, as macOS allows
	// Preemption says where a more urgent command takes the engine; see Config.Preemption.
	Preemption queue.Preemption
	MaxCalls   int // number of calls at which arrivals stop; 0 means never, and an error for more than 10,000,000
	Clients    []ScriptClient
	Power      firmware.PowerPolicy
	Events     int // number of first events to keep in Outcome.Events
}

// MaxEvents is the largest value of Script.Events.
const MaxEvents = 1 << 20

// A ScriptClient describes a client that calls one program repeatedly.
type ScriptClient struct {
	Name     string
	Model    string  // file of a program or a network, for the function that opens it
	Dim      string  // sizes of a network's dimensions, as in "batch=1,height=640"
	Layer    string  // operation and keys of a single layer, instead of Model, as in "conv cin=64 cout=64"
	Priority uint8   // 0, the most urgent, to 7
	Arrival  string  // "back-to-back", "fixed" or "poisson"; "" means back-to-back
	Rate     float64 // calls per second of fixed and Poisson arrivals
	Threads  int     // number of threads that call back to back; 0 means one
	Streams  int     // overlapping streams in one process; 0 means one

	// After is the name of an earlier client. This client makes a call whenever a call of
	// that one returns. Reads maps inputs of this client to outputs of the earlier one that
	// use the same buffers, so that the host does not copy the values.
	After string
	Reads map[string]string

	// QoS is a class of service (see [broker.ParseQoS]), which determines the priority instead of
	// Priority. A client with QoS, QueueDepth, AdapterOf or KeepWired asks the broker for its calls.
	QoS        string
	QueueDepth int // largest number of calls in flight; 0 means the broker's default
	// AdapterOf is the name of an earlier client whose model this client uses with weights of its
	// own, of AdapterBytes bytes. Model, Dim, Layer and Bind must be those of that client.
	AdapterOf    string
	AdapterBytes uint64
	KeepWired    bool // the memory of the model stays wired while nothing is pending

	// Bind holds values of the program's run-time parameters, which calls take in turn. Each list has
	// one value, or as many as the longest.
	Bind map[string][]uint64
	Line int // line of the script for errors, 0 if unknown
}

// turns returns the values of the run-time parameters of the client's calls, in turn. The only one is
// nil if there are no parameters.
func (c *ScriptClient) turns() []map[string]uint64 {
	turns := make([]map[string]uint64, 1)
	for _, values := range c.Bind {
		if len(values) > len(turns) {
			turns = make([]map[string]uint64, len(values))
		}
	}
	if len(c.Bind) == 0 {
		return turns
	}
	for i := range turns {
		turns[i] = map[string]uint64{}
		for name, values := range c.Bind {
			turns[i][name] = values[i%len(values)]
		}
	}
	return turns
}

// A ScriptError reports a script that is not valid or cannot be simulated, with the client or the
// line.
type ScriptError struct {
	Line   int // from 1, 0 if unknown
	Client string
	What   string
	Err    error
}

func (e *ScriptError) Error() string {
	var b strings.Builder
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", e.Line)
	}
	if e.Client != "" {
		fmt.Fprintf(&b, "client %q: ", e.Client)
	}
	b.WriteString(e.What)
	return b.String()
}

// Unwrap returns the cause of the error, e.Err, which may be nil.
func (e *ScriptError) Unwrap() error { return e.Err }

// An Outcome holds a script together with the results of running and simulating it.
type Outcome struct {
	Script  *Script
	Options engine.Options // chip, host and power policy
	Config  Config
	Result  *Result
	// Alone holds, for each client, the result of its program without other clients. If the client's
	// calls have several sizes in turn, this is that of the first; Turns holds all.
	Alone []*engine.Result
	Turns [][]*engine.Result
	// Saved holds, for each client, the number of bytes that a call does not copy because
	// its buffers are shared with another client.
	Saved []uint64
	// Memory is the memory of the models of brokered clients.
	Memory Memory
	// Events holds the first events of the simulation, at most Script.Events.
	Events []Event
}

// Run runs the program of each client once, without other clients, and then simulates all clients
// with the resulting engine times. It calls the function alone to run the program of client c on an
// engine with options o, once for each of its sizes in turn. That function should return an error for
// unsuitable programs, such as one with a device fault. Clients with the same model, dimensions and
// sizes, or the same layer, share a result.
//
// The error is a *[ScriptError] or the error of ctx.
func (s *Script) Run(ctx context.Context, alone func(ctx context.Context, c *ScriptClient, o engine.Options) (*engine.Result, error)) (*Outcome, error) {
	l := &Outcome{Script: s}
	var err error
	if l.Options.Chip, err = chip.ByName(cmp.Or(s.Chip, chip.Default)); err != nil {
		return nil, &ScriptError{What: err.Error(), Err: err}
	}
	if l.Options.Host, err = engine.HostByName(cmp.Or(s.Host, "none")); err != nil {
		return nil, &ScriptError{What: err.Error(), Err: err}
	}
	l.Options.Power = s.Power
	l.Config = Config{
		Duration: clock.Nanoseconds(s.Duration.Nanoseconds()), Seed: max(1, s.Seed), InFlight: s.InFlight, MaxCalls: s.MaxCalls, Preemption: s.Preemption,
		Power: l.Options.PowerTimes(), Waiting: l.Options.Waiting(), Bins: bins,
	}
	timed := map[[4]string]*engine.Result{}
	for i := range s.Clients {
		c := &s.Clients[i]
		var turns []*engine.Result
		for _, bind := range c.turns() {
			key := [4]string{c.Model, c.Dim, c.Layer, fmt.Sprint(bind)} // fmt sorts the names
			if timed[key] == nil {
				o := l.Options
				o.Bind = bind
				if timed[key], err = alone(ctx, c, o); err != nil {
					if ctx.Err() != nil {
						return nil, ctx.Err()
					}
					return nil, c.wrapError(err)
				}
			}
			turns = append(turns, timed[key])
		}
		if err := l.addClient(i, turns); err != nil {
			return nil, c.wrapError(err)
		}
	}
	if l.Memory, err = l.countMemory(); err != nil {
		return nil, err
	}
	l.Saved = make([]uint64, len(s.Clients))
	if err := l.connectClients(ctx); err != nil {
		return nil, err
	}
	l.keepFirstEvents(min(s.Events, MaxEvents))
	l.Result, err = Simulate(&l.Config)
	l.Config.Observe = nil
	if err != nil {
		return nil, &ScriptError{What: err.Error(), Err: err}
	}
	return l, nil
}

// wrapError returns err as a *ScriptError with the name and the line of the client.
func (c *ScriptClient) wrapError(err error) error {
	return &ScriptError{c.Line, c.Name, err.Error(), err}
}

// addClient adds the i-th client of the script to the simulation. Its program has the results in turns
// when it runs alone.
func (l *Outcome) addClient(i int, turns []*engine.Result) error {
	c := &l.Script.Clients[i]
	x, err := newClient(c, &l.Options, l.Script.InFlight, turns)
	if err != nil {
		return err
	}
	if len(c.Bind) > 0 && len(c.Reads) > 0 {
		return errors.New(`"bind" and "reads" are mutually exclusive: buffers of one size are shared`)
	}
	if c.After != "" {
		if x.After = l.Script.clientIndexBefore(i, c.After); x.After < 0 {
			return fmt.Errorf(`unknown client %q in "after"; want an earlier client%s`, c.After, spelling.Suggest(c.After, l.Script.clientNamesBefore(i)))
		}
	}
	l.Alone, l.Turns = append(l.Alone, turns[0]), append(l.Turns, turns)
	l.Config.Clients = append(l.Config.Clients, x)
	return nil
}

// keepFirstEvents makes the simulation keep its first limit events. It also keeps the ends of runs
// that start among these events.
func (l *Outcome) keepFirstEvents(limit int) {
	if limit <= 0 {
		return
	}
	keep := newEventFilter(limit)
	l.Config.Observe = func(e Event) {
		if keep(&e) {
			l.Events = append(l.Events, e)
		}
	}
}

// FirstEvents returns the first events of list, at most limit, and in addition the ends of all runs
// that begin among them. Ends of runs do not count toward the limit. A simulation with
// Script.Events set to limit keeps the same events.
func FirstEvents(list []Event, limit int) (first []Event) {
	keep := newEventFilter(limit)
	for i := range list {
		if keep(&list[i]) {
			first = append(first, list[i])
		}
	}
	return first
}

// newEventFilter returns a function to call for each event in order. The function reports whether
// [FirstEvents] with the same limit keeps the event.
func newEventFilter(limit int) func(*Event) bool {
	kept, runs := 0, map[int]bool{} // calls with a kept Began event whose run has not ended
	return func(e *Event) bool {
		switch {
		case e.What == Ran || e.What == Stopped: // kept if its Began was kept
			begun := runs[e.Call]
			delete(runs, e.Call)
			return begun
		case kept < limit:
			kept++
			runs[e.Call] = e.What == Began
			return true
		}
		return false
	}
}

// bins is the number of intervals of a timeline.
const bins = 60

// newClient converts client c of the script to a client of a simulation with inFlight commands admitted
// at a time. Its program has the times in turns.
func newClient(c *ScriptClient, o *engine.Options, inFlight int, turns []*engine.Result) (Client, error) {
	x := Client{
		Name: c.Name, Priority: queue.Priority(c.Priority), Arrival: Arrival(cmp.Or(c.Arrival, string(BackToBack))),
		Rate: c.Rate, After: -1, Threads: c.Threads, Streams: c.Streams,
		Brokered: c.isBrokered(), Depth: c.QueueDepth,
		Host: o.Host.Path(0),
	}
	if c.QoS != "" {
		class, ok := broker.ParseQoS(c.QoS)
		if !ok {
			return Client{}, fmt.Errorf("unknown QoS class %q; want %s", c.QoS, strings.Join(broker.QoSNames(), ", "))
		}
		x.Priority = class.Priority()
	}
	var works []Work
	for _, res := range turns {
		w, err := newWork(o, res, inFlight > 1)
		if err != nil {
			return Client{}, err
		}
		works = append(works, w)
	}
	w := &works[0]
	x.Runs, x.Stoppable, x.Stores, x.Resumed, x.Energy, x.Engines, x.Host.Outside = w.Runs, w.Stoppable, w.Stores, w.Resumed, w.Energy, w.Engines, w.Outside
	if len(works) > 1 {
		x.Turns = works
	}
	return x, nil
}

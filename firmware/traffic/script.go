package traffic

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"anesim/firmware"
	"anesim/firmware/engine"
	"anesim/firmware/queue"
	"anesim/hw"
	"anesim/hw/chip"
	"anesim/hw/clock"
	"anesim/hw/spelling"
)

// A Script is clients that share an engine, and for how long they call.
type Script struct {
	Chip     string        // preset; empty is m1
	Host     string        // preset; empty is none
	Duration time.Duration // of arrivals; what has arrived is worked off
	Seed     uint64        // of random arrivals; 0 is 1
	InFlight int           // commands in flight at a time; 0 is one, which macOS allows
	MaxCalls int           // arrivals stop there; 0 is DefaultMaxCalls
	Clients  []ScriptClient
	Power    firmware.PowerPolicy
	Events   int // of the first events, to be kept in Outcome.Events
}

// MaxEvents bounds Script.Events.
const MaxEvents = 1 << 20

// A ScriptClient is one source of calls of a program.
type ScriptClient struct {
	Name     string
	Model    string // file of a program or a network, for the function that opens it
	Dim      string // sizes of a network's dimensions, as in "batch=1,height=640"
	Layer    string // or one layer's operation and keys, as in "conv cin=64 cout=64"
	Priority uint8  // 0 the most urgent, to 7
	Arrival  string // "back-to-back", "fixed" or "poisson"; empty is back-to-back
	Rate     float64
	Threads  int // that call back to back; 0 is one
	Streams  int // overlapped in one process; 0 is one

	// After is a client before it, whose calls' returns are this one's arrivals. Reads are
	// inputs that stand where that one's outputs do, and go through no host: own input to
	// output.
	After string
	Reads map[string]string
	Line  int // of the script, for errors; 0 is none
}

// A ScriptError is a script that no load can be made of.
type ScriptError struct {
	Line   int // from 1; 0 where no line is at fault
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

// Unwrap returns the cause.
func (e *ScriptError) Unwrap() error { return e.Err }

// An Outcome is what a script came to.
type Outcome struct {
	Script  *Script
	Options engine.Options // chip, host and power policy
	Config  Config
	Result  *Result
	// Alone are the clients' programs as they run with the engine to themselves.
	Alone []*engine.Result
	// Saved are the bytes that each call of a client does not copy between host and device,
	// for another client has its buffers.
	Saved []uint64
	// Events are what happened to calls first, as many as the script asks for.
	Events []Event
}

// Run times each program once, with the engine to itself, and then simulates the clients
// with what the runs of descriptors took. Alone runs the program of a client once on an
// engine with options o, and refuses what cannot be a client's, such as a program with a
// device fault; clients of one model or layer share a result.
//
// Errors are a *[ScriptError] or that of ctx.
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
		Duration: clock.Nanoseconds(s.Duration.Nanoseconds()), Seed: max(1, s.Seed), InFlight: s.InFlight, MaxCalls: s.MaxCalls,
		Power: l.Options.PowerTimes(), Waiting: l.Options.Waiting(), Bins: bins,
	}
	timed := map[[2]string]*engine.Result{}
	for i := range s.Clients {
		c := &s.Clients[i]
		key := [2]string{c.Model, c.Layer}
		if timed[key] == nil {
			if timed[key], err = alone(ctx, c, l.Options); err != nil {
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				return nil, c.fail(err)
			}
		}
		if err := l.add(i, timed[key]); err != nil {
			return nil, c.fail(err)
		}
	}
	l.Saved = make([]uint64, len(s.Clients))
	if err := l.join(ctx); err != nil {
		return nil, err
	}
	l.keepEvents(min(s.Events, MaxEvents))
	l.Result, err = Simulate(&l.Config)
	l.Config.Observe = nil
	if err != nil {
		return nil, &ScriptError{What: err.Error(), Err: err}
	}
	return l, nil
}

// fail gives an error its client and line.
func (c *ScriptClient) fail(err error) error { return &ScriptError{c.Line, c.Name, err.Error(), err} }

// add adds the i-th client of the script, whose program does alone what res says.
func (l *Outcome) add(i int, res *engine.Result) error {
	c := &l.Script.Clients[i]
	x, err := simulated(c, &l.Options, res)
	if err != nil {
		return err
	}
	if c.After != "" {
		if x.After = l.Script.before(i, c.After); x.After < 0 {
			return fmt.Errorf("no client %q before it%s", c.After, spelling.Suggest(c.After, l.Script.names(i)))
		}
	}
	l.Alone = append(l.Alone, res)
	l.Config.Clients = append(l.Config.Clients, x)
	return nil
}

// keepEvents makes the simulation keep its first events, and the ends of the runs among them.
func (l *Outcome) keepEvents(most int) {
	if most <= 0 {
		return
	}
	keep := firstEvents(most)
	l.Config.Observe = func(e Event) {
		if keep(&e) {
			l.Events = append(l.Events, e)
		}
	}
}

// FirstEvents returns the first so many of a list of events, and the ends of the runs among
// them: those that a script would have kept that asks for as many.
func FirstEvents(list []Event, most int) (first []Event) {
	keep := firstEvents(most)
	for i := range list {
		if keep(&list[i]) {
			first = append(first, list[i])
		}
	}
	return first
}

// firstEvents returns a function that says of each event whether it is one of the first.
func firstEvents(most int) func(*Event) bool {
	kept, runs := 0, map[int]bool{} // calls whose run has begun among what is kept
	return func(e *Event) bool {
		switch {
		case e.What == Ran: // told with where it began
			begun := runs[e.Call]
			delete(runs, e.Call)
			return begun
		case kept < most:
			kept++
			runs[e.Call] = e.What == Began
			return true
		}
		return false
	}
}

// bins is the intervals of a timeline.
const bins = 60

// simulated returns a client with what its program takes.
func simulated(c *ScriptClient, o *engine.Options, res *engine.Result) (Client, error) {
	runs, err := RunTimes(res)
	if err != nil {
		return Client{}, err
	}
	d := &res.Dispatches[0]
	energy := d.Energy
	for i := range d.Descriptors {
		energy += d.Descriptors[i].Energy
	}
	split := o.Host.Split()
	return Client{
		Name: c.Name, Priority: queue.Priority(c.Priority), Arrival: Arrival(cmp.Or(c.Arrival, string(BackToBack))),
		Rate: c.Rate, After: -1, Threads: c.Threads, Streams: c.Streams,
		Runs: runs, Energy: energy, Engines: hw.Engines(d.Descriptors),
		Host: Host{Outside: outside(o, res.Host), Before: microseconds(split.Before.Value), After: microseconds(split.After.Value)},
	}, nil
}

func microseconds(v float64) clock.Nanoseconds { return clock.Nanoseconds(1e3 * v) }

// outside returns the part of a call's host time that runs while other calls do: what of the
// floor does, and the copies of inputs and outputs, which are the calling thread's own
// (assumed).
func outside(o *engine.Options, host clock.Nanoseconds) clock.Nanoseconds {
	return microseconds(o.Host.Split().Beside.Value) + max(0, host-microseconds(o.Host.Floor.Value))
}

// RunTimes returns the times of the runs of descriptors in a program's first dispatch: where
// one ends another program may have the engine.
func RunTimes(res *engine.Result) ([]clock.Nanoseconds, error) {
	linked, err := res.Program.Link()
	if err != nil {
		return nil, err
	}
	var runs []clock.Nanoseconds
	begun := false
	list := res.Dispatches[0].Descriptors
	for i := range list {
		if !begun {
			runs = append(runs, 0)
		}
		runs[len(runs)-1] += list[i].Time
		begun = i >= len(linked.Tasks) || !firmware.EndsRun(linked.Tasks[i])
	}
	return runs, nil
}

package anesim

import (
	"context"
	"fmt"
	"strings"
	"time"

	"anesim/firmware"
	"anesim/firmware/load"
	"anesim/firmware/queue"
	"anesim/hw"
	"anesim/hw/clock"
)

// A LoadScript is clients that share an engine, and for how long they call.
type LoadScript struct {
	Chip     string        // preset; empty is m1
	Host     string        // preset; empty is none
	Duration time.Duration // of arrivals; what has arrived is worked off
	Seed     uint64        // of random arrivals; 0 is 1
	InFlight int           // commands in flight at a time; 0 is one, which macOS allows
	MaxCalls int           // arrivals stop there; 0 is load.DefaultMaxCalls
	Clients  []LoadClient
	Power    firmware.PowerPolicy
	Events   int // of the first events, to be kept in Load.Events
}

// MaxLoadEvents bounds LoadScript.Events.
const MaxLoadEvents = 1 << 20

// A LoadClient is one source of calls of a program.
type LoadClient struct {
	Name     string
	Model    string // file of a program or a network, for the function that opens it
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

// A LoadError is a script that no load can be made of.
type LoadError struct {
	Line   int // from 1; 0 where no line is at fault
	Client string
	What   string
	Err    error
}

func (e *LoadError) Error() string {
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
func (e *LoadError) Unwrap() error { return e.Err }

// A Load is what a script came to.
type Load struct {
	Script  *LoadScript
	Options Options // chip and host
	Config  load.Config
	Result  *load.Result
	// Alone are the clients' programs as they run by themselves.
	Alone []*Result
	// Saved are the bytes that each call of a client does not copy between host and device,
	// for another client has its buffers.
	Saved []uint64
	// Events are what happened to calls first, as many as the script asks for.
	Events []load.Event
}

// Run times each program once, with the engine to itself, and then simulates the clients
// with what the runs of descriptors took. open opens the file that a client names.
//
// Errors are a *[LoadError] or that of ctx. A device fault of a program is a *[LoadError].
func (s *LoadScript) Run(ctx context.Context, open func(name string) (*Model, error)) (*Load, error) {
	l := &Load{Script: s}
	var err error
	if l.Options.Chip, err = ChipByName(orElse(s.Chip, "m1")); err != nil {
		return nil, &LoadError{What: err.Error(), Err: err}
	}
	if l.Options.Host, err = HostByName(orElse(s.Host, "none")); err != nil {
		return nil, &LoadError{What: err.Error(), Err: err}
	}
	l.Options.Power = s.Power
	l.Config = load.Config{
		Duration: clock.Nanoseconds(s.Duration.Nanoseconds()), Seed: max(1, s.Seed), InFlight: s.InFlight, MaxCalls: s.MaxCalls,
		Power: l.Options.powerTimes(), Waiting: l.Options.waiting(), Bins: loadBins,
	}
	timed := map[string]*Result{}
	for i := range s.Clients {
		c := &s.Clients[i]
		fail := func(err error) error { return &LoadError{c.Line, c.Name, err.Error(), err} }
		key := "file " + c.Model
		if c.Layer != "" {
			key = "layer " + c.Layer
		}
		res := timed[key]
		if res == nil {
			if res, err = c.time(ctx, &l.Options, open); err != nil {
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				return nil, fail(err)
			}
			timed[key] = res
		}
		x, err := loadClient(c, res)
		if err != nil {
			return nil, fail(err)
		}
		if c.After != "" {
			if x.After = s.before(i, c.After); x.After < 0 {
				return nil, fail(fmt.Errorf("no client %q before it%s", c.After, hint(Nearest(c.After, s.names(i)))))
			}
		}
		l.Alone = append(l.Alone, res)
		l.Config.Clients = append(l.Config.Clients, x)
	}
	l.Saved = make([]uint64, len(s.Clients))
	if err := l.join(ctx); err != nil {
		return nil, err
	}
	if most := min(s.Events, MaxLoadEvents); most > 0 {
		kept, runs := 0, map[int]bool{} // calls whose run has begun among what is kept
		l.Config.Observe = func(e load.Event) {
			switch {
			case e.What == load.Ran: // told with where it began
				if runs[e.Call] {
					l.Events = append(l.Events, e)
				}
				delete(runs, e.Call)
			case kept < most:
				kept++
				l.Events = append(l.Events, e)
				runs[e.Call] = e.What == load.Began
			}
		}
	}
	l.Result, err = load.Run(&l.Config)
	l.Config.Observe = nil
	if err != nil {
		return nil, &LoadError{What: err.Error(), Err: err}
	}
	return l, nil
}

// loadBins is the intervals of a load's timeline.
const loadBins = 60

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// time runs a client's program once, with the engine to itself.
func (c *LoadClient) time(ctx context.Context, o *Options, open func(string) (*Model, error)) (*Result, error) {
	var m *Model
	var err error
	switch words := strings.Fields(c.Layer); {
	case (c.Model == "") == (c.Layer == ""):
		return nil, fmt.Errorf("want either model or layer")
	case c.Model != "":
		m, err = open(c.Model)
	case len(words) == 0:
		return nil, fmt.Errorf("layer: want an operation and its keys")
	default:
		m, err = Layer(words[0], words[1:]...)
	}
	if err != nil {
		return nil, err
	}
	res, err := m.Run(ctx, *o)
	if err != nil {
		return nil, err
	}
	switch n := len(res.Programs); {
	case n != 1:
		return nil, fmt.Errorf("a client calls one program; %s has %d", m.Name(), n)
	case res.Stages() > 0:
		return nil, fmt.Errorf("a client calls one program; the host does layers of %s too", m.Name())
	case len(res.Report.Faults) > 0:
		return nil, fmt.Errorf("device fault: %v", res.Report.Faults[0])
	case len(res.Missing()) > 0:
		return nil, fmt.Errorf("layer %s is not modelled: %s", res.Missing()[0].Layer.Name, res.Missing()[0].Reason)
	}
	return res, nil
}

// loadClient is a client with what its program takes.
func loadClient(c *LoadClient, res *Result) (load.Client, error) {
	p := &res.Programs[0]
	runs, err := p.runTimes()
	if err != nil {
		return load.Client{}, err
	}
	d := &p.Dispatches[0]
	energy := d.Energy
	for i := range d.Descriptors {
		energy += d.Descriptors[i].Energy
	}
	split := res.Options.Host.Split()
	us := func(v float64) clock.Nanoseconds { return clock.Nanoseconds(1e3 * v) }
	return load.Client{
		Name: c.Name, Priority: queue.Priority(c.Priority), Arrival: load.Arrival(orElse(c.Arrival, string(load.BackToBack))),
		Rate: c.Rate, After: -1, Threads: c.Threads, Streams: c.Streams,
		Runs: runs, Energy: energy, Engines: hw.Engines(d.Descriptors),
		Host: load.Host{Outside: outside(&res.Options, p.Host), Before: us(split.Before.Value), After: us(split.After.Value)},
	}, nil
}

// outside is the part of a call's host time that runs beside other calls: what of the floor
// does, and the copies of inputs and outputs, which are the calling thread's own (assumed).
func outside(o *Options, host clock.Nanoseconds) clock.Nanoseconds {
	us := func(v float64) clock.Nanoseconds { return clock.Nanoseconds(1e3 * v) }
	return us(o.Host.Split().Beside.Value) + max(0, host-us(o.Host.Floor.Value))
}

// runTimes are the times of the runs of descriptors in the program's first dispatch: where
// one ends another program may have the engine.
func (p *ProgramResult) runTimes() ([]clock.Nanoseconds, error) {
	linked, err := p.Program.Link()
	if err != nil {
		return nil, err
	}
	var runs []clock.Nanoseconds
	begun := false
	for i := range p.Dispatches[0].Descriptors {
		if !begun {
			runs = append(runs, 0)
		}
		runs[len(runs)-1] += p.Dispatches[0].Descriptors[i].Time
		begun = i >= len(linked.Tasks) || !firmware.EndsRun(linked.Tasks[i])
	}
	return runs, nil
}

package traffic

import (
	"fmt"
	"math"
	"slices"

	"anesim/firmware"
	"anesim/firmware/queue"
	"anesim/hw/clock"
	"anesim/hw/host"
)

// An Arrival says when a client makes its calls.
type Arrival string

// Kinds of arrivals.
const (
	BackToBack Arrival = "back-to-back" // each thread calls again when its call returns
	Fixed      Arrival = "fixed"        // at a fixed rate
	Poisson    Arrival = "poisson"      // at random, at a mean rate
	After      Arrival = "after"        // when a call of another client returns
)

// A Client describes one source of calls in a simulation.
type Client struct {
	Name     string
	Priority queue.Priority
	Arrival  Arrival
	Rate     float64 // calls per second of fixed and Poisson arrivals
	Threads  int     // threads of back-to-back calls; 0 means one
	After    int     // index of the earlier client that After arrivals follow
	// Streams is the number of overlapping streams in one process; 0 means 1. The documents
	// say that completions of a second stream never arrive on the M1, so the first call of
	// each further stream counts in ClientResult.Stuck.
	Streams int
	// Brokered clients ask the broker, which takes their calls in the order of their priorities and
	// lets each have Depth calls in flight, or one while another brokered client has a call pending.
	// A Depth of 0 means [broker.DefaultDepth].
	Brokered bool
	Depth    int
	// Runs holds the durations of the program's runs of descriptors, and Energy the energy
	// of one dispatch.
	Runs      []clock.Nanoseconds
	Stoppable []clock.Nanoseconds // see [Work]
	Stores    []clock.Nanoseconds // see [Work]
	Resumed   [][]clock.Nanoseconds
	Energy    clock.Nanojoules
	Engines   int // MAC engines in use, for the energy of the wait after a call
	// Host holds the time that the host needs for each call.
	Host Host
	// Turns holds the work of calls with different sizes, which they take in turn. If it is not empty,
	// it replaces Runs, Stoppable, Stores, Resumed, Energy, Engines and Host.Outside.
	Turns []Work
}

// A Work holds the costs of one call of a client.
type Work struct {
	Runs []clock.Nanoseconds // durations of the program's runs of descriptors
	// Stoppable holds, for each run, how long after its start a more urgent call can stop it if
	// Config.Preemption is [queue.PreemptAbort]. A nil list means always, up to its end.
	Stoppable []clock.Nanoseconds
	// Stores holds, for each run, how long its last results take to reach memory. Another call that
	// takes the engine after it waits for them; the call's own next run does not. A nil list means no
	// time.
	Stores []clock.Nanoseconds
	// Resumed[r] holds the durations of run r and of those after it if another call used the engine
	// before run r, so that nothing of it was fetched early. Later runs are as long as in Runs.
	Resumed [][]clock.Nanoseconds
	Energy  clock.Nanojoules  // of one dispatch
	Engines int               // MAC engines in use
	Outside clock.Nanoseconds // see [Host]
}

// EngineTime returns the engine time of one call, which is the sum of w.Runs.
func (w *Work) EngineTime() (t clock.Nanoseconds) {
	for _, r := range w.Runs {
		t += r
	}
	return t
}

// runTime returns the duration of a run of a call that got the engine back from another call before
// the run with index since, or never if since is 0.
func (w *Work) runTime(run, since int) clock.Nanoseconds {
	if since > 0 && since < len(w.Resumed) && run-since < len(w.Resumed[since]) {
		return w.Resumed[since][run-since]
	}
	return w.Runs[run]
}

// Works returns the work of the client's calls in turn: c.Turns, or the one work of all calls.
func (c *Client) Works() []Work {
	if len(c.Turns) > 0 {
		return c.Turns
	}
	return []Work{{c.Runs, c.Stoppable, c.Stores, c.Resumed, c.Energy, c.Engines, c.Host.Outside}}
}

// A Host holds the time that a call spends outside the engine, in three parts.
type Host = host.Path

// A Config describes the clients and the duration of a simulation.
type Config struct {
	Clients  []Client
	Duration clock.Nanoseconds // time during which calls arrive; all of them run to their end
	Seed     uint64
	InFlight int // commands past the gate at a time; 0 means one, the documents' default
	// Preemption says where a more urgent call takes the engine from another one. With one command
	// in flight there is never another one.
	Preemption queue.Preemption
	Power      firmware.PowerTimes
	// Waiting returns the energy that the engine draws while it waits for time t with its
	// power rails on, after work on a number of MAC engines. A nil function counts as no
	// energy.
	Waiting func(engines int, t clock.Nanoseconds) clock.Nanojoules
	// Bins is the number of equal intervals of Duration for which the result gives energy
	// and engine time, or 0. Work after Duration goes to further intervals, up to MaxBins.
	Bins int
	// Observe is called for each event, if it is not nil. Events are in order of time,
	// except Woke.
	Observe func(Event)
	// MaxCalls is the number of calls of all clients together at which arrivals stop, and
	// Result.Cut is set. 0 means that they do not stop; more than 10,000,000 calls are then an error.
	MaxCalls int
}

// defaultMaxCalls limits the calls of a simulation without Config.MaxCalls. It limits its memory
// to a few hundred megabytes. A script's max_calls may raise it to mostMaxCalls.
const (
	defaultMaxCalls = 10_000_000
	mostMaxCalls    = 100_000_000
)

// MaxBins is the largest number of intervals in a result.
const MaxBins = 1 << 16

// A ConfigError reports a [Config] that cannot be simulated, with the client if there is
// one.
type ConfigError struct{ Client, What string }

func (e *ConfigError) Error() string {
	if e.Client == "" {
		return e.What
	}
	return fmt.Sprintf("client %q: %s", e.Client, e.What)
}

// Check returns a *[ConfigError] if the configuration cannot be simulated, and nil
// otherwise.
func (c *Config) Check() error {
	// Comparisons are written so that NaN is refused.
	if !(c.Duration > 0 && c.Duration <= clock.Longest) {
		return &ConfigError{What: fmt.Sprintf("duration is %v; want more than 0 and at most %v", c.Duration, clock.Longest)}
	}
	if len(c.Clients) == 0 {
		return &ConfigError{What: "missing clients; want at least one"}
	}
	if c.Bins < 0 || c.Bins > MaxBins {
		return &ConfigError{What: fmt.Sprintf("number of intervals is %d; want 0 to %d", c.Bins, MaxBins)}
	}
	for i := range c.Clients {
		x := &c.Clients[i]
		fail := func(format string, a ...any) error { return &ConfigError{x.Name, fmt.Sprintf(format, a...)} }
		switch {
		case x.Priority >= queue.Queues:
			return fail("priority %d is out of range; want 0 to %d", x.Priority, queue.Queues-1)
		case x.Arrival != BackToBack && x.Arrival != Fixed && x.Arrival != Poisson && x.Arrival != After:
			return fail("unknown arrival %q; want %s, %s, %s or %s", x.Arrival, BackToBack, Fixed, Poisson, After)
		// An earlier client only: chains of clients then cannot form a circle, which nothing would start.
		case x.Arrival == After && (x.After < 0 || x.After >= i):
			return fail("After is %d; want the index of an earlier client", x.After)
		case (x.Arrival == Fixed || x.Arrival == Poisson) && !(x.Rate > 0 && x.Rate < 1e9):
			return fail("rate is %g calls per second; want more than 0 and less than 1e9 for %s arrivals", x.Rate, x.Arrival)
		// The depth limits the calls that the broker lets a client have in flight; others have no such
		// limit.
		case x.Depth < 0 || x.Depth > 0 && !x.Brokered:
			return fail("depth is %d; want 0, or more for a brokered client", x.Depth)
		case x.Threads < 0 || x.Threads > 1024 || x.Streams < 0 || x.Streams > 1024:
			return fail("%d threads and %d streams; want 0 to 1024 of each", x.Threads, x.Streams)
		}
		for _, w := range x.Works() {
			if err := x.checkWork(&w); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkWork returns a *[ConfigError] if calls with the work w cannot be simulated.
func (c *Client) checkWork(w *Work) error {
	fail := func(format string, a ...any) error { return &ConfigError{c.Name, fmt.Sprintf(format, a...)} }
	if len(w.Runs) == 0 {
		return fail("program has no descriptors")
	}
	if w.Stoppable != nil && len(w.Stoppable) != len(w.Runs) {
		return fail("%d of %d runs say how long they can be stopped; want all or none", len(w.Stoppable), len(w.Runs))
	}
	if w.Stores != nil && len(w.Stores) != len(w.Runs) {
		return fail("%d of %d runs say how long their results take; want all or none", len(w.Stores), len(w.Runs))
	}
	for _, t := range slices.Concat(w.Stores, slices.Concat(w.Resumed...)) {
		if !(t >= 0) || math.IsInf(float64(t), 0) {
			return fail("run takes %v after another call; want a finite time of 0 or more", t)
		}
	}
	// A back-to-back client starts a call when the one before has ended. Calls without any time would
	// never let the simulation's clock move.
	total := w.Outside + c.Host.Before + c.Host.After
	for _, r := range w.Runs {
		if !(r >= 0) {
			return fail("run duration is %v; want 0 or more", r)
		}
		total += r
	}
	if h := c.Host; !(min(w.Outside, h.Before, h.After) >= 0) {
		return fail("host times are %v, %v and %v; want 0 or more", w.Outside, h.Before, h.After)
	}
	if !(total > 0) {
		return fail("call takes no time; want a positive engine or host time")
	}
	if math.IsInf(float64(total), 0) {
		return fail("call has an infinite duration; want finite engine and host times")
	}
	return nil
}

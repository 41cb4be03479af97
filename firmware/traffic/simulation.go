package traffic

import (
	"fmt"
	"math"
	"math/rand/v2"

	"anesim/firmware"
	"anesim/firmware/broker"
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
	Energy    clock.Nanojoules
	Engines   int // MAC engines in use, for the energy of the wait after a call
	// Host holds the time that the host needs for each call.
	Host Host
	// Turns holds the work of calls with different sizes, which they take in turn. If it is not empty,
	// it replaces Runs, Stoppable, Energy, Engines and Host.Outside.
	Turns []Work
}

// A Work holds the costs of one call of a client.
type Work struct {
	Runs []clock.Nanoseconds // durations of the program's runs of descriptors
	// Stoppable holds, for each run, how long after its start a more urgent call can stop it if
	// Config.Preemption is [queue.PreemptAbort]. A nil list means always, up to its end.
	Stoppable []clock.Nanoseconds
	Energy    clock.Nanojoules  // of one dispatch
	Engines   int               // MAC engines in use
	Outside   clock.Nanoseconds // see [Host]
}

// EngineTime returns the engine time of one call, which is the sum of w.Runs.
func (w *Work) EngineTime() (t clock.Nanoseconds) {
	for _, r := range w.Runs {
		t += r
	}
	return t
}

// Works returns the work of the client's calls in turn: c.Turns, or the one work of all calls.
func (c *Client) Works() []Work {
	if len(c.Turns) > 0 {
		return c.Turns
	}
	return []Work{{c.Runs, c.Stoppable, c.Energy, c.Engines, c.Host.Outside}}
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
	// MaxCalls is the largest number of calls of all clients together; 0 means
	// defaultMaxCalls. When it is reached, no more calls arrive and Result.Cut is set.
	MaxCalls int
}

// defaultMaxCalls is the default of Config.MaxCalls. It limits the memory of a simulation
// to a few hundred megabytes.
const defaultMaxCalls = 10_000_000

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
	if !(c.Duration > 0) || math.IsInf(float64(c.Duration), 0) {
		return &ConfigError{What: fmt.Sprintf("duration is %v; want a positive, finite time", c.Duration)}
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
		case x.Arrival == After && (x.After < 0 || x.After >= i):
			return fail("After is %d; want the index of an earlier client", x.After)
		case (x.Arrival == Fixed || x.Arrival == Poisson) && !(x.Rate > 0 && x.Rate < 1e9):
			return fail("rate is %g calls per second; want more than 0 and less than 1e9 for %s arrivals", x.Rate, x.Arrival)
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

// A call is a client's call from its arrival until it returns. It implements
// queue.interruptible.
type call struct {
	simulation *simulation
	client     int
	arrived    clock.Nanoseconds
	queued     clock.Nanoseconds // time at which it reached the gate
	entered    clock.Nanoseconds // time at which it reached its task queue
	run        int
	number     int
	turn       int // index of its work
	work       *Work
}

// An event is something that the simulation handles at a given simulated time. Events at
// the same time are handled in the order of seq.
type event struct {
	at   clock.Nanoseconds
	seq  uint64 // order of events at the same time
	kind kind
	call *call
	from int // client, for an arrival
}

type kind uint8

const (
	arrives kind = iota // a call arrives
	gates               // a call reaches the gate
	enters              // a call reaches its task queue
	leaves              // a call returns and the gate opens
)

// isBefore reports whether e must be handled before o. It must if it is earlier, or if it has the
// same time and was scheduled first.
func (e *event) isBefore(o *event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

// An events is a heap of scheduled events. Its first element is the one to handle next.
type events []event

func (e *events) push(x event) {
	h := append(*e, x)
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].isBefore(&h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
	*e = h
}

func (e *events) pop() event {
	h := *e
	first, last := h[0], len(h)-1
	h[0] = h[last]
	h[last] = event{}
	h = h[:last]
	for i := 0; ; {
		next := 2*i + 1
		if next >= last {
			break
		}
		if next+1 < last && h[next+1].isBefore(&h[next]) {
			next++
		}
		if !h[next].isBefore(&h[i]) {
			break
		}
		h[i], h[next] = h[next], h[i]
		i = next
	}
	*e = h
	return first
}

// A fifo is a first-in, first-out queue of calls. It advances head instead of moving the
// remaining calls on every pop.
type fifo struct {
	list []*call
	head int
}

func (f *fifo) push(c *call) { f.list = append(f.list, c) }

func (f *fifo) first() *call {
	if f.head == len(f.list) {
		return nil
	}
	return f.list[f.head]
}

func (f *fifo) pop() {
	f.list[f.head] = nil
	f.head++
	if f.head == len(f.list) {
		f.list, f.head = f.list[:0], 0
	} else if f.head > 1024 && f.head > len(f.list)/2 {
		f.list, f.head = append(f.list[:0], f.list[f.head:]...), 0
	}
}

// A simulation holds the state of a running simulation: the scheduled events, the queues of
// calls, and the results so far.
type simulation struct {
	*Config
	now    clock.Nanoseconds
	seq    uint64
	events events
	random []*rand.Rand
	works  [][]Work // of each client, in turn
	// followers[i] lists the clients that make a call when a call of client i returns.
	followers [][]int
	brokered  []fifo             // calls of each client that wait for the broker
	pending   []int              // calls of each client that have not returned
	served    []int              // calls of each client that have passed the broker and not returned
	callers   int                // brokered clients with pending calls
	asking    int                // calls that wait for the broker
	gate      [queue.Queues]fifo // calls that wait for the gate, by priority
	queue     *queue.Scheduler   // calls in the task queues
	inside    int                // calls that have passed the gate and not yet returned
	active    *call              // call that uses the engine
	calls     int
	free      []*call

	power  firmware.Power
	began  clock.Nanoseconds // time at which the run in progress began or begins, after a wake
	idleAt clock.Nanoseconds // time at which the engine became idle
	last   clock.Nanoseconds // time at which the last call ended
	// engines is the number of MAC engines that the last run used.
	engines int
	result  Result
}

// Simulate simulates the calls of all clients and returns the result. It returns any error from
// [Config.Check].
func Simulate(c *Config) (*Result, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	s := &simulation{Config: c, queue: queue.New()}
	s.queue.Preemption, s.queue.Depth = c.Preemption, max(queue.DefaultDepth, c.InFlight)
	if err := s.queue.Start(); err != nil {
		return nil, err
	}
	s.power.Times = c.Power
	s.power.Wake(firmware.AllDomains) // as if an earlier call had just ended
	s.result.Clients = make([]ClientResult, len(c.Clients))
	s.brokered, s.pending, s.served = make([]fifo, len(c.Clients)), make([]int, len(c.Clients)), make([]int, len(c.Clients))
	s.followers = make([][]int, len(c.Clients))
	for i := range c.Clients {
		x := &c.Clients[i]
		s.result.Clients[i].Name = x.Name
		s.result.Clients[i].Priority = x.Priority
		s.works = append(s.works, x.Works())
		s.random = append(s.random, rand.New(rand.NewPCG(c.Seed, uint64(i)+1)))
		if n := max(1, x.Streams) - 1; n > 0 {
			s.result.Clients[i].Stuck = n
		}
		switch x.Arrival {
		case BackToBack:
			for range max(1, x.Threads) {
				s.scheduleEvent(0, event{kind: arrives, from: i})
			}
		case Fixed:
			s.scheduleEvent(0, event{kind: arrives, from: i})
		case After:
			s.followers[x.After] = append(s.followers[x.After], i)
		default:
			s.scheduleEvent(s.nextArrivalGap(i), event{kind: arrives, from: i})
		}
	}
	for {
		// The end of a run comes before other events at the same time.
		end, busy := s.queue.Running()
		switch {
		case busy && (len(s.events) == 0 || end <= s.events[0].at):
			s.now = end
			s.endRun()
		case len(s.events) > 0:
			e := s.events.pop()
			s.now = e.at
			s.queue.Wait(s.now)
			if err := s.handleEvent(&e); err != nil {
				return nil, err
			}
		default:
			s.finishResult()
			return &s.result, nil
		}
		if err := s.startNextRun(); err != nil {
			return nil, err
		}
	}
}

func (s *simulation) scheduleEvent(t clock.Nanoseconds, e event) {
	s.seq++
	e.at, e.seq = t, s.seq
	s.events.push(e)
}

// nextArrivalGap returns how long after now the client with index i makes its next call. The gap is
// random with an exponential distribution unless the client's arrivals are Fixed.
func (s *simulation) nextArrivalGap(i int) clock.Nanoseconds {
	if s.Clients[i].Arrival == Fixed { // computed from the number of calls, because rounded gaps would add up
		return clock.Nanoseconds(1e9*float64(s.result.Clients[i].Started)/s.Clients[i].Rate) - s.now
	}
	return clock.Nanoseconds(1e9 / s.Clients[i].Rate * s.random[i].ExpFloat64())
}

func (s *simulation) maxCalls() int {
	if s.MaxCalls > 0 {
		return s.MaxCalls
	}
	return defaultMaxCalls
}

func (s *simulation) handleEvent(e *event) error {
	switch e.kind {
	case arrives:
		s.startCall(e.from)
	case gates:
		e.call.queued = s.now
		s.reportEvent(Gated, s.now, e.call)
		if s.Clients[e.call.client].Brokered {
			s.brokered[e.call.client].push(e.call)
			s.asking++
			s.serveCalls()
		} else {
			s.gate[s.Clients[e.call.client].Priority].push(e.call)
		}
		s.admitCalls()
	case enters:
		e.call.entered = s.now
		s.reportEvent(Queued, s.now, e.call)
		_, err := s.queue.Submit(queue.Request{Priority: s.Clients[e.call.client].Priority, Network: 1, Work: e.call})
		return err
	case leaves:
		s.inside--
		s.endCall(e.call)
		s.serveCalls()
		s.admitCalls()
	}
	return nil
}

// startCall starts a call of the client with index i. It also schedules the client's next call if
// that does not depend on other calls. After Duration, only clients that follow another client
// still make calls. Once the maximum number of calls is reached, startCall sets Result.Cut instead.
func (s *simulation) startCall(i int) {
	follows := s.Clients[i].Arrival == After
	if s.now >= s.Duration && !follows { // calls that follow another are still made
		return
	}
	if s.calls >= s.maxCalls() {
		s.result.Cut = true
		return
	}
	s.calls++
	var c *call
	if n := len(s.free); n > 0 {
		c, s.free = s.free[n-1], s.free[:n-1]
	} else {
		c = new(call)
	}
	x := &s.Clients[i]
	turn := s.result.Clients[i].Started % len(s.works[i])
	*c = call{simulation: s, client: i, arrived: s.now, number: s.calls - 1, turn: turn, work: &s.works[i][turn]}
	s.result.Clients[i].Started++
	if s.pending[i]++; s.pending[i] == 1 && x.Brokered {
		s.callers++
	}
	s.reportEvent(Arrived, s.now, c)
	s.scheduleEvent(s.now+c.work.Outside, event{kind: gates, call: c})
	if x.Arrival != BackToBack && !follows {
		s.scheduleEvent(s.now+s.nextArrivalGap(i), event{kind: arrives, from: i})
	}
}

// serveCalls makes the broker pass on the calls that wait for it, the most urgent first and then the
// oldest, of the clients that may have another call in flight.
func (s *simulation) serveCalls() {
	for s.asking > 0 {
		var best *call
		for i := range s.brokered {
			c := s.brokered[i].first()
			if c == nil || s.served[i] >= broker.LimitDepth(s.Clients[i].Depth, s.callers > 1) {
				continue
			}
			if best == nil || s.Clients[i].Priority < s.Clients[best.client].Priority ||
				s.Clients[i].Priority == s.Clients[best.client].Priority && c.queued < best.queued {
				best = c
			}
		}
		if best == nil {
			return
		}
		s.brokered[best.client].pop()
		s.asking--
		s.served[best.client]++
		s.gate[s.Clients[best.client].Priority].push(best)
	}
}

// admitCalls lets waiting calls pass the driver's gate, the most urgent first, until InFlight calls
// have passed it and have not yet returned.
func (s *simulation) admitCalls() {
	for s.inside < max(1, s.InFlight) {
		c := takeFirstCall(&s.gate)
		if c == nil {
			return
		}
		s.inside++
		s.result.Clients[c.client].addWait(s.now - c.queued)
		s.reportEvent(Admitted, s.now, c)
		s.scheduleEvent(s.now+s.Clients[c.client].Host.Before, event{kind: enters, call: c})
	}
}

// takeFirstCall removes and returns the first call of the most urgent list that is not empty, or
// nil if all are empty.
func takeFirstCall(lists *[queue.Queues]fifo) *call {
	for p := range lists {
		if c := lists[p].first(); c != nil {
			lists[p].pop()
			return c
		}
	}
	return nil
}

// startNextRun starts the next run of the most urgent queued call. It does nothing if the engine is
// busy or no call is queued.
func (s *simulation) startNextRun() error {
	if _, busy := s.queue.Running(); busy {
		return nil
	}
	_, err := s.queue.Begin()
	return err
}

// Run begins the call's next run, and wakes the engine first if necessary. It returns how long the
// two take, and whether more runs follow.
func (c *call) Run() (took clock.Nanoseconds, more bool) {
	s := c.simulation
	s.active = c
	s.endIdlePeriod(s.now)
	wake := s.power.Wake(firmware.AllDomains)
	s.result.Wake += wake
	s.addWaitEnergy(s.now, wake)
	if wake > 0 {
		s.reportEvent(Woke, s.now, c)
	}
	// A call that takes the engine from one for which it still wakes waits for the rest.
	s.began = max(s.began, s.now+wake)
	s.reportEvent(Began, s.began, c)
	return s.began - s.now + c.work.Runs[c.run], c.run+1 < len(c.work.Runs)
}

// Rewind ends the call's run in vain, at the current time, and reports whether that is possible.
func (c *call) Rewind(clock.Nanoseconds) bool {
	s := c.simulation
	lost := max(0, s.now-s.began) // nothing while the engine wakes
	if c.work.Stoppable != nil && lost >= c.work.Stoppable[c.run] {
		return false
	}
	energy := s.addRun(c, lost)
	r := &s.result.Clients[c.client]
	r.Stops++
	r.Lost += lost
	s.result.Stops++
	s.result.Lost += lost
	s.result.LostEnergy += energy
	s.reportEvent(Stopped, max(s.now, s.began), c)
	return true
}

// Abort implements [queue.Work]. No call of a simulation is aborted.
func (c *call) Abort() {}

// addRun adds the first part of the run of call c that has begun, of the given length, to the
// result, and returns its energy.
func (s *simulation) addRun(c *call, took clock.Nanoseconds) (energy clock.Nanojoules) {
	if total := c.work.EngineTime(); total > 0 {
		energy = clock.Nanojoules(float64(c.work.Energy) * float64(took/total))
	}
	s.result.Busy += took
	s.result.Runs++
	s.engines = c.work.Engines
	s.addToBins(c.client, s.began, took, energy, took)
	s.idleAt = max(s.now, s.began)
	return energy
}

// endIdlePeriod adds the energy that the idle engine drew since the end of its last run to the
// result. The idle period ends at the time until.
func (s *simulation) endIdlePeriod(until clock.Nanoseconds) {
	if on := s.power.Idle(until - s.idleAt); on > 0 {
		s.addWaitEnergy(s.idleAt, on)
	}
}

// addWaitEnergy adds the energy that the engine draws while it waits with its power rails on to the
// result. The wait begins at the time from and lasts for t.
func (s *simulation) addWaitEnergy(from, t clock.Nanoseconds) {
	if s.Waiting == nil || t <= 0 {
		return
	}
	e := s.Waiting(s.engines, t)
	s.result.WaitEnergy += e
	s.addToBins(-1, from, t, e, 0)
}

// addToBins distributes the energy e and the engine time busy over the bins that overlap with a
// period. The period begins at from and has the length t; each bin gets a share in proportion to
// its overlap. If client is not -1, the engine time also counts for the client with that index.
func (s *simulation) addToBins(client int, from, t clock.Nanoseconds, e clock.Nanojoules, busy clock.Nanoseconds) {
	if s.Bins == 0 {
		return
	}
	r := &s.result
	width := s.Duration / clock.Nanoseconds(s.Bins)
	r.BinTime = width
	first := min(int(from/width), MaxBins-1)
	last := min(int((from+t)/width), MaxBins-1)
	for len(r.Bins) <= last {
		r.Bins = append(r.Bins, Bin{})
	}
	for i := first; i <= last; i++ {
		share := 1.0
		if first != last {
			low, high := max(from, clock.Nanoseconds(i)*width), from+t
			if i < MaxBins-1 {
				high = min(high, clock.Nanoseconds(i+1)*width)
			}
			share = float64((high - low) / t)
		}
		r.Bins[i].Energy += clock.Nanojoules(float64(e) * share)
		r.Bins[i].Busy += clock.Nanoseconds(float64(busy) * share)
		if client >= 0 && i < s.Bins {
			x := &r.Clients[client]
			if x.Busy == nil {
				x.Busy = make([]clock.Nanoseconds, s.Bins)
			}
			x.Busy[i] += clock.Nanoseconds(float64(busy) * share)
		}
	}
}

// endRun ends the run on the engine. After its last run, the call leaves its queue and returns once
// the host has finished its part.
func (s *simulation) endRun() {
	c := s.active
	s.queue.End()
	s.addRun(c, c.work.Runs[c.run])
	s.reportEvent(Ran, s.now, c)
	if c.run++; c.run == len(c.work.Runs) {
		s.result.Energy += c.work.Energy
		s.result.Clients[c.client].addQueueWait(s.now - c.entered - c.work.EngineTime())
		s.scheduleEvent(s.now+s.Clients[c.client].Host.After, event{kind: leaves, call: c})
	}
}

func (s *simulation) endCall(c *call) {
	r := &s.result.Clients[c.client]
	r.Latencies = append(r.Latencies, s.now-c.arrived)
	s.pending[c.client]--
	if s.Clients[c.client].Brokered {
		s.served[c.client]--
		if s.pending[c.client] == 0 {
			s.callers--
		}
	}
	s.reportEvent(Left, s.now, c)
	s.last = s.now
	if s.Clients[c.client].Arrival == BackToBack {
		s.scheduleEvent(s.now, event{kind: arrives, from: c.client})
	}
	for _, i := range s.followers[c.client] {
		s.scheduleEvent(s.now, event{kind: arrives, from: i})
	}
	s.free = append(s.free, c)
}

// finishResult sets the length of the simulation, adds the last idle period to the result, and
// sorts the latencies.
func (s *simulation) finishResult() {
	s.result.Time = max(s.last, s.Duration)
	s.endIdlePeriod(s.result.Time)
	for i := range s.result.Clients {
		s.result.Clients[i].sortLatencies()
	}
}

package traffic

import (
	"fmt"
	"math/rand/v2"
	"time"

	"anesim/firmware"
	"anesim/firmware/queue"
	"anesim/hw/clock"
	"anesim/internal/firmware/broker"
)

// A call is a client's call from its arrival until it returns. It implements
// queue.interruptible.
type call struct {
	simulation *simulation
	client     int
	arrived    clock.Nanoseconds
	queued     clock.Nanoseconds // time at which it reached the gate
	entered    clock.Nanoseconds // time at which it reached its task queue
	run        int               // next run
	since      int               // run before which it got the engine back from another call, or 0
	took       clock.Nanoseconds // duration of the run in progress
	worked     clock.Nanoseconds // durations of the runs before
	number     int
	turn       int // index of its work
	work       *Work
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
	holder    *call              // call that used it last, if runs of it remain
	calls     int
	returned  int // calls that have returned
	free      []*call

	power  firmware.Power
	began  clock.Nanoseconds // time at which the run in progress began or begins, after a wake
	idleAt clock.Nanoseconds // time at which the engine became idle
	last   clock.Nanoseconds // time at which the last call ended
	cutAt  clock.Nanoseconds // time at which arrivals stopped at MaxCalls
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
		return s.startCall(e.from)
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
		return s.checkPace()
	}
	return nil
}

// paceCalls is the number of returned calls after which checkPace looks at their pace. They take a tenth of
// a second to simulate.
const paceCalls = 100_000

// checkPace returns an error if calls return at such a pace that their number would be far above the
// default maximum, so that this takes no time in proportion to it. Ten times above, because a pace may change;
// calls that return are counted, because all threads of back-to-back clients arrive at once.
func (s *simulation) checkPace() error {
	if s.returned++; s.returned != paceCalls || s.MaxCalls > 0 {
		return nil
	}
	if s.now < s.Duration && float64(paceCalls)*float64(s.Duration/s.now) > 10*defaultMaxCalls {
		return s.newCallsError(fmt.Sprintf("calls return every %v", time.Duration(s.now/paceCalls)))
	}
	return nil
}

func (s *simulation) newCallsError(found string) error {
	return &ConfigError{What: fmt.Sprintf("too many calls: %s, for %v; want at most %d million: shorten duration, or set max_calls to end it early", found, time.Duration(s.Duration), defaultMaxCalls/1_000_000)}
}

// startCall starts a call of the client with index i. It also schedules the client's next call if
// that does not depend on other calls. After Duration, only clients that follow another client
// still make calls. Once MaxCalls is reached, startCall sets Result.Cut instead; the default maximum is an
// error, because the result would be of another duration than the one that was asked for.
func (s *simulation) startCall(i int) error {
	follows := s.Clients[i].Arrival == After
	if s.now >= s.Duration && !follows { // calls that follow another are still made
		return nil
	}
	if s.calls >= s.maxCalls() {
		if s.MaxCalls == 0 {
			return s.newCallsError(fmt.Sprintf("more than that many arrive in the first %v", time.Duration(s.now)))
		}
		if !s.result.Cut {
			s.result.Cut, s.cutAt = true, s.now
		}
		return nil
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
	return nil
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
	s.began = max(s.began, s.now+wake) + s.switchCalls(c)
	s.reportEvent(Began, s.began, c)
	c.took = c.work.runTime(c.run, c.since)
	return s.began - s.now + c.took, c.run+1 < len(c.work.Runs)
}

// switchCalls notes that call c uses the engine now. It returns how long c waits for the results of
// another call from which it takes the engine.
func (s *simulation) switchCalls(c *call) (wait clock.Nanoseconds) {
	if h := s.holder; h != nil && h != c {
		h.since = h.run
		if h.work.Stores != nil {
			wait = h.work.Stores[h.run-1]
		}
		s.result.Busy += wait
		s.result.Stored += wait
		s.addToBins(h.client, s.now, wait, 0, wait)
	}
	s.holder = c
	return wait
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
	s.holder = nil // a stopped run has no results to wait for
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
	// Work that ends after the last bin that is kept counts in that one, so that the bins' sums are
	// those of the result.
	first := min(int(from/width), MaxBins-1)
	last := min(int((from+t)/width), MaxBins-1)
	for len(r.Bins) <= last {
		r.Bins = append(r.Bins, Bin{})
	}
	for i := first; i <= last; i++ {
		share := 1.0
		// Inside one bin the share is exactly 1, also for t = 0; the division below would give 0/0.
		if first != last {
			low, high := max(from, clock.Nanoseconds(i)*width), from+t
			if i < MaxBins-1 {
				high = min(high, clock.Nanoseconds(i+1)*width)
			}
			share = float64((high - low) / t)
		}
		r.Bins[i].Energy += clock.Nanojoules(float64(e) * share)
		r.Bins[i].Busy += clock.Nanoseconds(float64(busy) * share)
		// Clients are compared over the configured duration, so what is left over after it is not theirs.
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
	s.addRun(c, c.took)
	c.worked += c.took
	s.reportEvent(Ran, s.now, c)
	if c.run++; c.run == len(c.work.Runs) {
		s.holder = nil
		s.result.Energy += c.work.Energy
		s.result.Clients[c.client].addQueueWait(s.now - c.entered - c.worked)
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
// sorts the latencies. Where arrivals stopped early, rates and shares are of the time up to then: nothing is
// known of the rest.
func (s *simulation) finishResult() {
	end := s.Duration
	if s.result.Cut {
		end = s.cutAt
	}
	s.result.Time = max(s.last, end)
	s.endIdlePeriod(s.result.Time)
	for i := range s.result.Clients {
		s.result.Clients[i].sortLatencies()
	}
}

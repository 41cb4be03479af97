package traffic_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/firmware/queue"
	"anesim/hw/clock"
	"anesim/internal/firmware/traffic"
)

// A stepModel is a plain model of clients that share an engine. It advances in steps of one
// nanosecond, and knows nothing of the scheduler.
type stepModel struct {
	config *traffic.Config
	now    int
	due    map[int][]func() // what happens at a time, in the order of its causes
	left   int              // things in due
	waits  []*stepCall      // for the broker
	flying []int            // calls of each client past the broker
	alive  []int            // calls of each client that have not returned
	gate   []*stepCall
	inside int
	queued []*stepCall
	on     *stepCall // on the engine
	ran    int       // nanoseconds of the run in progress
	store  int       // nanoseconds that results of another call still take to memory
	holder *stepCall // call that used the engine last, if runs of it remain
	result stepResult
}

type stepCall struct {
	client, arrived, asked, run int
	since                       int // run before which it got the engine back, or 0
	started                     bool
}

// A stepResult holds the figures that both models must agree on.
type stepResult struct {
	Busy, Lost, Useful, Stops int
	Stored                    int // results that another call waits for
	Started                   []int
	Latencies                 [][]int // in ascending order
	Waits                     []int   // at the gate
	QueueWaits                []int
}

func (m *stepModel) after(ns clock.Nanoseconds, f func()) {
	m.due[m.now+int(ns)] = append(m.due[m.now+int(ns)], f)
	m.left++
}

// take removes the oldest call of the most urgent priority from list.
func (m *stepModel) take(list *[]*stepCall) *stepCall {
	best := -1
	for i, c := range *list {
		if best < 0 || m.priority(c) < m.priority((*list)[best]) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	c := (*list)[best]
	*list = slices.Delete(*list, best, best+1)
	return c
}

func (m *stepModel) priority(c *stepCall) queue.Priority { return m.config.Clients[c.client].Priority }

func (m *stepModel) arrive(client int) {
	x := &m.config.Clients[client]
	if m.now >= int(m.config.Duration) {
		return
	}
	c := &stepCall{client: client, arrived: m.now}
	m.result.Started[client]++
	m.alive[client]++
	m.after(x.Host.Outside, func() {
		m.result.Waits[client] -= m.now
		if x.Brokered {
			c.asked = m.now
			m.waits = append(m.waits, c)
			m.serve()
		} else {
			m.gate = append(m.gate, c)
		}
		m.admit()
	})
	if x.Arrival == traffic.Fixed {
		m.after(clock.Nanoseconds(1e9/x.Rate), func() { m.arrive(client) })
	}
}

// serve moves calls from the broker to the gate: the most urgent first, then those that waited
// longest, then those of the first client.
func (m *stepModel) serve() {
	for {
		best := -1
		for i, c := range m.waits {
			depth := m.config.Clients[c.client].Depth
			if depth == 0 {
				depth = 4
			}
			for k := range m.alive {
				if k != c.client && m.config.Clients[k].Brokered && m.alive[k] > 0 {
					depth = 1
				}
			}
			if m.flying[c.client] >= depth {
				continue
			}
			if best < 0 || m.priority(c) < m.priority(m.waits[best]) ||
				m.priority(c) == m.priority(m.waits[best]) && c.asked == m.waits[best].asked && c.client < m.waits[best].client {
				best = i
			}
		}
		if best < 0 {
			return
		}
		c := m.waits[best]
		m.waits = slices.Delete(m.waits, best, best+1)
		m.flying[c.client]++
		m.gate = append(m.gate, c)
	}
}

func (m *stepModel) admit() {
	for m.inside < m.config.InFlight {
		c := m.take(&m.gate)
		if c == nil {
			return
		}
		m.inside++
		m.result.Waits[c.client] += m.now
		m.after(m.config.Clients[c.client].Host.Before, func() {
			m.result.QueueWaits[c.client] -= m.now
			m.queued = append(m.queued, c)
			if m.on != nil && m.config.Preemption == queue.PreemptAbort && m.priority(c) < m.priority(m.on) &&
				m.ran < int(m.config.Clients[m.on.client].Stoppable[m.on.run]) {
				m.result.Lost += m.ran
				m.result.Stops++
				m.queued = slices.Insert(m.queued, 0, m.on) // it is the oldest of its priority
				m.on, m.holder = nil, nil
			}
			m.begin()
		})
	}
}

// begin gives the idle engine to the next call.
func (m *stepModel) begin() {
	if m.on != nil {
		return
	}
	if m.config.Preemption == queue.PreemptNever {
		for i, c := range m.queued {
			if c.started {
				m.queued = slices.Delete(m.queued, i, i+1)
				m.give(c)
				return
			}
		}
	}
	if c := m.take(&m.queued); c != nil {
		m.give(c)
	}
}

// give gives the engine to call c, which waits until the results of another call are in memory.
func (m *stepModel) give(c *stepCall) {
	if h := m.holder; h != nil && h != c {
		h.since = h.run
		m.store += int(m.config.Clients[h.client].Stores[h.run-1])
	}
	m.on, m.holder, m.ran, c.started = c, c, 0, true
}

// length returns the duration of the run in progress.
func (m *stepModel) length() int {
	x, c := &m.config.Clients[m.on.client], m.on
	if c.since > 0 && c.run < c.since+len(x.Resumed[c.since]) {
		return int(x.Resumed[c.since][c.run-c.since])
	}
	return int(x.Runs[c.run])
}

// end ends the run on the engine.
func (m *stepModel) end() {
	c := m.on
	m.result.Useful += m.ran
	m.result.QueueWaits[c.client] -= m.ran
	m.on = nil
	x := &m.config.Clients[c.client]
	if c.run++; c.run < len(x.Runs) {
		m.queued = slices.Insert(m.queued, 0, c)
	} else {
		m.holder = nil
		m.result.QueueWaits[c.client] += m.now
		m.after(x.Host.After, func() {
			m.inside--
			if m.alive[c.client]--; x.Brokered {
				m.flying[c.client]--
			}
			m.result.Latencies[c.client] = append(m.result.Latencies[c.client], m.now-c.arrived)
			if x.Arrival == traffic.BackToBack {
				m.after(0, func() { m.arrive(c.client) })
			}
			m.serve()
			m.admit()
		})
	}
	m.begin()
}

func stepThrough(c *traffic.Config) stepResult {
	n := len(c.Clients)
	m := &stepModel{config: c, due: map[int][]func(){}, flying: make([]int, n), alive: make([]int, n)}
	m.result = stepResult{Started: make([]int, n), Latencies: make([][]int, n), Waits: make([]int, n), QueueWaits: make([]int, n)}
	for i := range c.Clients {
		threads := 1
		if c.Clients[i].Arrival == traffic.BackToBack {
			threads = max(1, c.Clients[i].Threads)
		}
		for range threads {
			m.after(0, func() { m.arrive(i) })
		}
	}
	for ; m.left > 0 || m.on != nil; m.now++ {
		for m.on != nil && m.ran == m.length() {
			m.end()
		}
		for len(m.due[m.now]) > 0 {
			f := m.due[m.now][0]
			m.due[m.now] = m.due[m.now][1:]
			m.left--
			f()
		}
		switch {
		case m.on == nil:
		case m.store > 0:
			m.store--
			m.result.Stored++
			m.result.Busy++
		default:
			m.ran++
			m.result.Busy++
		}
	}
	for _, l := range m.result.Latencies {
		slices.Sort(l)
	}
	return m.result
}

var seed = flag.Uint64("seed", 53, "of the random mixes of clients")

// randomMix returns clients whose times are whole nanoseconds.
func randomMix(r *rand.Rand) *traffic.Config {
	c := &traffic.Config{
		Duration: clock.Nanoseconds(200 + r.IntN(1000)), InFlight: 1 + r.IntN(4),
		Preemption: []queue.Preemption{queue.PreemptNever, queue.PreemptRuns, queue.PreemptAbort}[r.IntN(3)],
	}
	for i := range 1 + r.IntN(4) {
		x := traffic.Client{
			Name: fmt.Sprint("client ", i), Priority: queue.Priority(r.IntN(queue.Queues)), Arrival: traffic.BackToBack, Threads: 1 + r.IntN(3),
			Host: traffic.Host{Outside: clock.Nanoseconds(r.IntN(20)), Before: clock.Nanoseconds(r.IntN(20)), After: clock.Nanoseconds(1 + r.IntN(20))},
		}
		if r.IntN(2) == 0 { // intervals that a rate gives exactly
			x.Arrival, x.Threads, x.Rate = traffic.Fixed, 0, 1e9/float64(int(32)<<r.IntN(5))
		}
		if x.Brokered = r.IntN(3) == 0; x.Brokered {
			x.Depth = r.IntN(4)
		}
		for range 1 + r.IntN(4) {
			x.Runs = append(x.Runs, clock.Nanoseconds(1+r.IntN(90)))
			x.Stoppable = append(x.Stoppable, clock.Nanoseconds(r.IntN(120)))
			x.Stores = append(x.Stores, clock.Nanoseconds(r.IntN(9)))
		}
		x.Resumed = make([][]clock.Nanoseconds, len(x.Runs))
		for i := 1; i < len(x.Runs); i++ {
			for range r.IntN(len(x.Runs) - i + 1) {
				x.Resumed[i] = append(x.Resumed[i], clock.Nanoseconds(1+r.IntN(90)))
			}
		}
		c.Clients = append(c.Clients, x)
	}
	return c
}

// TestMixesConserveRequestsAndTime compares 1,000 random mixes of clients, under each kind of
// preemption, with a model that advances in steps of 1 ns: every request that arrives ends, with the
// same latency and waits, and the engine's busy time is useful time, time lost in stopped runs and time
// in which results of a call that lost the engine go to memory.
func TestMixesConserveRequestsAndTime(t *testing.T) {
	r := rand.New(rand.NewPCG(5, *seed))
	stops, stored, requests := 0, 0, 0
	for mix := range 1000 {
		c := randomMix(r)
		got := run(t, c)
		has := stepResult{Busy: int(got.Busy), Lost: int(got.Lost), Stored: int(got.Stored), Stops: int(got.Stops)}
		whole := 0 // time of all calls if none loses the engine
		for i := range got.Clients {
			x := &got.Clients[i]
			var list []int
			for _, l := range x.Latencies {
				list = append(list, int(l))
			}
			has.Started = append(has.Started, x.Started)
			has.Latencies = append(has.Latencies, list)
			has.Waits, has.QueueWaits = append(has.Waits, int(x.Wait)), append(has.QueueWaits, int(x.QueueWait))
			if x.Started != len(list) {
				t.Fatalf("mix %d: %d of %d requests ended", mix, len(list), x.Started)
			}
			for _, run := range c.Clients[i].Runs {
				whole += len(list) * int(run)
			}
			requests += len(list)
		}
		has.Useful = has.Busy - has.Lost - has.Stored
		stops, stored = stops+has.Stops, stored+has.Stored
		if diff := cmp.Diff(stepThrough(c), has); diff != "" {
			t.Fatalf("mix %d, preemption %v, %d in flight: %s", mix, c.Preemption, c.InFlight, diff)
		}
		if alone := c.InFlight == 1 || c.Preemption == queue.PreemptNever; alone && has.Busy != whole {
			t.Fatalf("mix %d: busy for %d ns; the calls take %d", mix, has.Busy, whole)
		}
	}
	t.Logf("seed %d: %d requests, %d runs stopped, %d ns of stores", *seed, requests, stops, stored)
	if stops < 1000 || stored < 1000 || requests < 15000 {
		t.Errorf("only %d runs of %d requests are stopped, and others wait %d ns for results", stops, requests, stored)
	}
}

package report

import (
	"container/heap"
	"fmt"
	"io"
	"sort"

	"anesim/bench/scripts"
	"anesim/firmware/queue"
	"anesim/firmware/traffic"
)

// WriteLoadTrace writes the load as a trace that Perfetto opens: the engine with what it runs
// for whom, what waits at the gate and in each queue, and a track for each call of a client
// that is under way at one time, with where it is. It simulates the load once more.
func WriteLoadTrace(w io.Writer, l *scripts.Load) error {
	t := &loadTracer{traceWriter: newTraceWriter(w), load: l, next: trackFirstOfLoad, calls: map[int]int{}, lanes: make([]lanes, len(l.Config.Clients))}
	t.process(trackProcess, "load on "+l.Options.Chip.Name)
	t.engine = t.track("engine", "Runs of descriptors, by client.", "")
	t.power = t.track("power", "Mean of each interval.", "W")
	t.busy = t.track("utilisation", "Mean of each interval.", "%")
	t.gate = t.track("calls at the gate", "", "calls")
	for i := range l.Config.Clients {
		if p := l.Config.Clients[i].Priority; t.queues[p] == 0 {
			t.queues[p] = t.track(fmt.Sprintf("calls in queue %d", p), "Task queue of this priority, 0 the most urgent; the call that the engine runs is one of them.", "calls")
		}
	}
	for _, b := range NewLoad(l).Timeline {
		t.count(t.power, whole(b.AtNs), b.Watts)
		t.count(t.busy, whole(b.AtNs), 100*b.Utilisation)
	}
	c := l.Config
	c.Observe = t.event
	if _, err := traffic.Simulate(&c); err != nil {
		return err
	}
	return t.w.Flush()
}

// A loadTracer draws a load as it is simulated.
type loadTracer struct {
	*traceWriter
	load *scripts.Load
	next track // the first that is not described

	engine, power, busy, gate track
	queues                    [queue.Queues]track
	waiting                   [queue.Queues]int // calls in them
	gated                     int               // calls at the gate

	calls map[int]int // the lanes of calls under way
	lanes []lanes     // of each client
}

// The lanes of a client are tracks with room for one call each at a time.
type lanes struct {
	of   []track
	free intHeap
}

// An intHeap is a heap of numbers, for the lowest.
type intHeap struct{ sort.IntSlice }

func (h *intHeap) Push(x any) { h.IntSlice = append(h.IntSlice, x.(int)) }

func (h *intHeap) Pop() any {
	last := len(h.IntSlice) - 1
	x := h.IntSlice[last]
	h.IntSlice = h.IntSlice[:last]
	return x
}

// track describes a track in the order in which they are shown.
func (t *loadTracer) track(name, description, unit string) track {
	of := t.next
	t.next++
	t.describe(of, trackProcess, int(of), name, description, unit)
	return of
}

// event draws what happens to a call. Within its slice it is always in one of the host, the
// gate, a queue, the wake of the power domains and the engine.
func (t *loadTracer) event(e traffic.Event) {
	at, client := whole(e.At), &t.load.Config.Clients[e.Client]
	if e.What == traffic.Arrived {
		t.arrived(&e, at)
		return
	}
	lanes := &t.lanes[e.Client]
	on := lanes.of[t.calls[e.Call]]
	in := func(where string, args ...argument) {
		t.end(on, at)
		t.begin(on, at, "call", where, nil, nil, args...)
	}
	queued := func(n int) {
		t.waiting[client.Priority] += n
		t.count(t.queues[client.Priority], at, float64(t.waiting[client.Priority]))
	}
	switch e.What {
	case traffic.Gated:
		in("gate")
		t.gated++
		t.count(t.gate, at, float64(t.gated))
	case traffic.Admitted:
		in("host")
		t.gated--
		t.count(t.gate, at, float64(t.gated))
	case traffic.Queued:
		in(fmt.Sprintf("queue %d", client.Priority))
		queued(1)
	case traffic.Woke:
		in("wake")
	case traffic.Began:
		in("engine", argument{"run", uint64(e.Run)})
		t.begin(t.engine, at, "run", client.Name, nil, nil, argument{"call", uint64(e.Call)}, argument{"run", uint64(e.Run)})
	case traffic.Ran:
		t.end(t.engine, at)
		if e.Run+1 < len(client.Runs) {
			in(fmt.Sprintf("queue %d", client.Priority))
			return
		}
		in("host")
		queued(-1)
	case traffic.Left:
		t.end(on, at)
		t.end(on, at)
		heap.Push(&lanes.free, t.calls[e.Call])
		delete(t.calls, e.Call)
	}
}

// arrived begins a call on the first lane of its client that is free.
func (t *loadTracer) arrived(e *traffic.Event, at uint64) {
	client, lanes := &t.load.Config.Clients[e.Client], &t.lanes[e.Client]
	if lanes.free.Len() == 0 {
		k := len(lanes.of)
		name := client.Name
		if k > 0 {
			name = fmt.Sprintf("%s, %d at a time", name, k+1)
		}
		lanes.of = append(lanes.of, t.track(name, fmt.Sprintf("Calls of %s, priority %d, %s.", t.load.Alone[e.Client].Model.Name(), client.Priority, client.Arrival), ""))
		heap.Push(&lanes.free, k)
	}
	k := heap.Pop(&lanes.free).(int)
	t.calls[e.Call] = k
	t.begin(lanes.of[k], at, "call", fmt.Sprintf("call %d", e.Call), nil, nil, argument{"priority", uint64(client.Priority)})
	t.begin(lanes.of[k], at, "call", "host", nil, nil)
}

// WriteLoadProfile writes what the engine did for each client as a profile that go tool pprof
// reads, with what it drew while it waited.
func WriteLoadProfile(w io.Writer, l *scripts.Load, file string) error {
	var parts []ProfilePart
	for i := range l.Config.Clients {
		if n := len(l.Result.Clients[i].Latencies); n > 0 {
			parts = append(parts, ProfilePart{l.Config.Clients[i].Name, l.Alone[i], n})
		}
	}
	return WriteProfiles(w, "load", file, parts, l.Result.WaitEnergy)
}

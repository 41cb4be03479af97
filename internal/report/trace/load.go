package trace

import (
	"container/heap"
	"fmt"
	"io"
	"sort"

	"anesim/firmware/queue"
	"anesim/internal/firmware/traffic"
	"anesim/internal/report"
	"anesim/internal/scripts"
)

// WriteLoad writes a trace of the simulated load l for Perfetto. It has a track for the
// engine, counters of the waiting calls, and tracks for the calls of each client. WriteLoad
// simulates the load again, because l does not hold all events.
func WriteLoad(w io.Writer, l *scripts.Load) error {
	t := &loadTracer{traceWriter: newTraceWriter(w), load: l, next: trackFirstOfLoad, calls: map[int]int{}, lanes: make([]lanes, len(l.Config.Clients))}
	t.describeProcess(trackProcess, "load on "+l.Options.Chip.Name)
	t.engine = t.addTrack("engine", "Runs of descriptors, by client.", "")
	t.power = t.addTrack("power", "Mean of each interval.", "W")
	t.busy = t.addTrack("utilisation", "Mean of each interval.", "%")
	t.gate = t.addTrack("calls at the gate", "", "calls")
	for i := range l.Config.Clients {
		if p := l.Config.Clients[i].Priority; t.queues[p] == 0 {
			t.queues[p] = t.addTrack(fmt.Sprintf("calls in queue %d", p), "Task queue of this priority, 0 the most urgent; the call that the engine runs is one of them.", "calls")
		}
	}
	for _, b := range report.NewLoad(l).Timeline {
		t.setCounter(t.power, roundTime(b.AtNs), b.Watts)
		t.setCounter(t.busy, roundTime(b.AtNs), 100*b.Utilisation)
	}
	c := l.Config
	c.Observe = t.drawEvent
	if _, err := traffic.Simulate(&c); err != nil {
		return err
	}
	return t.w.Flush()
}

// A loadTracer writes the events of a load to a trace while the load is simulated.
type loadTracer struct {
	*traceWriter
	load *scripts.Load
	next track // next free track

	engine, power, busy, gate track
	queues                    [queue.Queues]track
	waiting                   [queue.Queues]int // number of calls in each queue
	gated                     int               // calls at the gate

	calls map[int]int // lane of each call in progress
	lanes []lanes     // lanes of each client
}

// A lanes holds the tracks of one client. A track shows one call at a time, so concurrent calls
// need several.
type lanes struct {
	of   []track
	free intHeap
}

// An intHeap is a heap of integers whose top is the smallest.
type intHeap struct{ sort.IntSlice }

func (h *intHeap) Push(x any) { h.IntSlice = append(h.IntSlice, x.(int)) }

func (h *intHeap) Pop() any {
	last := len(h.IntSlice) - 1
	x := h.IntSlice[last]
	h.IntSlice = h.IntSlice[:last]
	return x
}

// addTrack describes a new track in the trace, which is shown below all earlier ones, and returns
// it.
func (t *loadTracer) addTrack(name, description, unit string) track {
	of := t.next
	t.next++
	t.describeTrack(of, trackProcess, int(of), name, description, unit)
	return of
}

// drawEvent ends the slice of a call's previous place and begins a slice for the place that event e
// names. A call is always in one place: the host, the gate, a queue, the wake-up of the power
// domains, or the engine.
func (t *loadTracer) drawEvent(e traffic.Event) {
	at, client := roundTime(e.At), &t.load.Config.Clients[e.Client]
	if e.What == traffic.Arrived {
		t.drawArrival(&e, at)
		return
	}
	lanes := &t.lanes[e.Client]
	on := lanes.of[t.calls[e.Call]]
	in := func(where string, args ...argument) {
		t.endSlice(on, at)
		t.beginSlice(on, at, "call", where, nil, nil, args...)
	}
	queued := func(n int) {
		t.waiting[client.Priority] += n
		t.setCounter(t.queues[client.Priority], at, float64(t.waiting[client.Priority]))
	}
	switch e.What {
	case traffic.Gated:
		in("gate")
		t.gated++
		t.setCounter(t.gate, at, float64(t.gated))
	case traffic.Admitted:
		in("host")
		t.gated--
		t.setCounter(t.gate, at, float64(t.gated))
	case traffic.Queued:
		in(fmt.Sprintf("queue %d", client.Priority))
		queued(1)
	case traffic.Woke:
		in("wake")
	case traffic.Began:
		in("engine", argument{"run", uint64(e.Run)})
		t.beginSlice(t.engine, at, "run", client.Name, nil, nil, argument{"call", uint64(e.Call)}, argument{"run", uint64(e.Run)})
	case traffic.Ran, traffic.Stopped:
		t.endSlice(t.engine, at)
		// Work that is preempted, or has another run, waits in the queue again; the count of the queue has
		// not gone down for it.
		if e.What == traffic.Stopped || e.Run+1 < len(client.Works()[e.Turn].Runs) {
			in(fmt.Sprintf("queue %d", client.Priority))
			return
		}
		in("host")
		queued(-1)
	case traffic.Left:
		t.endSlice(on, at)
		t.endSlice(on, at)
		heap.Push(&lanes.free, t.calls[e.Call])
		delete(t.calls, e.Call)
	}
}

// drawArrival begins the slice of a call on the first free track of its client. It adds a track if
// none is free.
func (t *loadTracer) drawArrival(e *traffic.Event, at uint64) {
	client, lanes := &t.load.Config.Clients[e.Client], &t.lanes[e.Client]
	if lanes.free.Len() == 0 {
		k := len(lanes.of)
		name := client.Name
		if k > 0 {
			name = fmt.Sprintf("%s, %d at a time", name, k+1)
		}
		lanes.of = append(lanes.of, t.addTrack(name, fmt.Sprintf("Calls of %s, priority %d, %s.", t.load.Alone[e.Client].Model.Name(), client.Priority, client.Arrival), ""))
		heap.Push(&lanes.free, k)
	}
	k := heap.Pop(&lanes.free).(int)
	t.calls[e.Call] = k
	t.beginSlice(lanes.of[k], at, "call", fmt.Sprintf("call %d", e.Call), nil, nil, argument{"priority", uint64(client.Priority)})
	t.beginSlice(lanes.of[k], at, "call", "host", nil, nil)
}

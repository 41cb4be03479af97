package anesim

import (
	"fmt"
	"io"

	"anesim/firmware/load"
)

// WriteTrace writes the load's events as a trace that Perfetto opens (ui.perfetto.dev): the
// engine on a track of its own, and of each client as many tracks as it has calls under way
// at a time. On them a call waits for the gate, then for the host, then for the engine or
// has it, then for the host again. Times are whole ns.
func (l *Load) WriteTrace(w io.Writer) error {
	t := &loadTracer{traceWriter: newTraceWriter(w), load: l, calls: map[loadCall]*callTrack{}, free: make([][]track, len(l.Config.Clients))}
	t.process(trackProcess, fmt.Sprintf("load on %s, host %s", l.Options.Chip.Name, l.Options.Host.Name))
	t.last = trackEngine
	t.describe(trackEngine, trackProcess, 0, "engine", "Whose run of descriptors it has.", "")
	for _, e := range l.Events {
		t.event(&e)
	}
	for _, e := range l.Events { // what the events that were kept leave open
		k := loadCall{e.Client, e.Call}
		if c := t.calls[k]; c != nil {
			t.stage(c, whole(l.Events[len(l.Events)-1].At), "")
			t.end(c.on, whole(l.Events[len(l.Events)-1].At))
			delete(t.calls, k)
		}
	}
	return t.w.Flush()
}

const trackEngine = trackProcess + 1

// A loadCall is a call of a client.
type loadCall struct{ client, call int }

// A callTrack is where a call is drawn.
type callTrack struct {
	on   track
	open bool // a stage is
}

// A loadTracer draws a load.
type loadTracer struct {
	*traceWriter
	load  *Load
	last  track
	calls map[loadCall]*callTrack
	free  [][]track // of each client, without a call
}

// stage ends a call's stage and begins another; "" begins none.
func (t *loadTracer) stage(c *callTrack, at uint64, name string) {
	if c.open {
		t.end(c.on, at)
	}
	if c.open = name != ""; c.open {
		t.begin(c.on, at, "stage", name, nil, nil)
	}
}

func (t *loadTracer) event(e *load.Event) {
	at, name := whole(e.At), t.load.Config.Clients[e.Client].Name
	k := loadCall{e.Client, e.Call}
	c := t.calls[k]
	if e.Kind == load.Arrived {
		c = &callTrack{on: t.take(e.Client)}
		t.calls[k] = c
		t.begin(c.on, at, "call", fmt.Sprintf("%s %d", name, e.Call+1), nil, nil, argument{"priority", uint64(t.load.Config.Clients[e.Client].Priority)})
		t.stage(c, at, "host, beside others, and the gate")
		return
	}
	if c == nil {
		return
	}
	switch e.Kind {
	case load.Admitted:
		t.stage(c, at, "host, ahead of the engine")
	case load.Queued:
		t.stage(c, at, "task queue")
	case load.Waking:
		t.stage(c, at, "engine wakes")
	case load.Running:
		end := whole(e.At + e.Took)
		t.stage(c, at, fmt.Sprintf("run %d", e.Run+1))
		t.stage(c, end, "task queue")
		t.begin(trackEngine, at, "run", fmt.Sprintf("%s %d, run %d", name, e.Call+1, e.Run+1), nil, nil)
		t.end(trackEngine, end)
	case load.Finished:
		t.stage(c, at, "host, behind the engine")
	case load.Returned:
		t.stage(c, at, "")
		t.end(c.on, at)
		delete(t.calls, k)
		t.free[e.Client] = append(t.free[e.Client], c.on)
	}
}

// take is a client's track without a call, a new one where it has none.
func (t *loadTracer) take(client int) track {
	if n := len(t.free[client]); n > 0 {
		k := t.free[client][n-1]
		t.free[client] = t.free[client][:n-1]
		return k
	}
	t.last++
	t.describe(t.last, trackProcess, int(t.last), t.load.Config.Clients[client].Name, "", "")
	return t.last
}

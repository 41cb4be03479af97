package load

import (
	"fmt"

	"anesim/hw/clock"
)

// An EventKind is what happens to a call.
type EventKind uint8

// The kinds, in the order in which a call has them.
const (
	Arrived  EventKind = iota // the client calls
	Admitted                  // the gate lets it in
	Queued                    // the host's part ahead of the engine is done
	Waking                    // the engine's domains come up for it
	Running                   // a run of descriptors begins
	Finished                  // its last run has ended
	Returned                  // the host's part behind the engine is done
)

// String names the kind.
func (k EventKind) String() string {
	if names := [...]string{"arrives", "let in", "queued", "wakes the engine", "runs", "finished", "returns"}; int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("event %d", uint8(k))
}

// An Event is what happens to a call at a time.
type Event struct {
	At     clock.Nanoseconds
	Took   clock.Nanoseconds // of a wake or a run, from At on
	Kind   EventKind
	Client int
	Call   int // of the client, from 0
	Run    int // of a run, from 0
}

// tell tells the observer, if there is one.
func (s *simulation) tell(k EventKind, c *call, at, took clock.Nanoseconds) {
	if s.Observe != nil {
		s.Observe(Event{At: at, Took: took, Kind: k, Client: c.client, Call: c.number, Run: c.run})
	}
}

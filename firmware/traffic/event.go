package traffic

import (
	"fmt"

	"anesim/hw/clock"
)

// An Event is something that happens to a call.
type Event struct {
	What   What
	At     clock.Nanoseconds
	Client int
	Call   int // from 0, in order of arrival
	Run    int // of Began and Ran, the run of descriptors
}

// A What is a kind of event.
type What uint8

// The events of a call, in order; Began and Ran once for each run of its descriptors.
const (
	Arrived  What = iota // it is made
	Gated                // it waits for the gate
	Admitted             // it is behind the gate, with the host
	Queued               // it is in its task queue
	Woke                 // the power domains wake for it
	Began                // the engine runs it
	Ran                  // the engine has run it
	Left                 // it is done
)

// String says what happens to the call.
func (w What) String() string {
	if names := [...]string{"arrives", "at the gate", "let in", "queued", "wakes the engine", "run begins", "run ends", "returns"}; int(w) < len(names) {
		return names[w]
	}
	return fmt.Sprintf("event %d", uint8(w))
}

func (s *simulation) observe(what What, at clock.Nanoseconds, c *call) {
	if s.Observe != nil {
		s.Observe(Event{what, at, c.client, c.number, c.run})
	}
}

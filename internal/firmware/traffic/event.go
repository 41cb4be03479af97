package traffic

import (
	"fmt"

	"anesim/hw/clock"
)

// An Event reports the progress of a call in a simulation.
type Event struct {
	What   What
	At     clock.Nanoseconds
	Client int
	Call   int // number of the call, from 0 in order of arrival
	Run    int // for Began and Ran, the index of the run
	Turn   int // index of the call's work in Client.Works
}

// A What says which step of a call an [Event] reports.
type What uint8

// Steps of a call, in order. Began and Ran occur once for each run of descriptors. A run that a more
// urgent call stops has Began and Stopped, and begins again later.
const (
	Arrived  What = iota // the call is made
	Gated                // the call waits for the gate
	Admitted             // the call has passed the gate
	Queued               // the call is in its task queue
	Woke                 // the power domains wake for the call
	Began                // a run begins
	Ran                  // a run ends
	Left                 // the call returns
	Stopped              // a more urgent call stops the run in progress
)

// String describes the step, such as "run begins".
func (w What) String() string {
	if names := [...]string{"arrives", "at the gate", "let in", "queued", "wakes the engine", "run begins", "run ends", "returns", "run stopped"}; int(w) < len(names) {
		return names[w]
	}
	return fmt.Sprintf("event %d", uint8(w))
}

func (s *simulation) reportEvent(what What, at clock.Nanoseconds, c *call) {
	if s.Observe != nil {
		s.Observe(Event{what, at, c.client, c.number, c.run, c.turn})
	}
}

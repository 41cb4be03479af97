package queue

import "fmt"

// A State is a state of the firmware, which determines which operations are allowed.
type State uint8

// States of the firmware.
const (
	Init State = iota
	Run
	Exec
	ExecSecure
	Pause
)

// String returns the name of the state in capital letters, such as "EXEC-SECURE".
func (s State) String() string {
	if names := [...]string{"INIT", "RUN", "EXEC", "EXEC-SECURE", "PAUSE"}; int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// A StateError reports an operation that is not allowed in the current state of the
// firmware.
type StateError struct {
	State State
	Event string
}

func (e *StateError) Error() string {
	return fmt.Sprintf("cannot %s in state %v", e.Event, e.State)
}

// Start ends the initialization or a pause. It returns a *[StateError] in any other state.
func (s *Scheduler) Start() error {
	if s.state != Init && s.state != Pause {
		return &StateError{s.state, "start"}
	}
	s.state = Run
	return nil
}

// Pause stops the firmware between two runs. It returns a *[StateError] unless the state is Run.
func (s *Scheduler) Pause() error {
	if s.state != Run {
		return &StateError{s.state, "pause"}
	}
	s.state = Pause
	return nil
}

// SecureBoundary enters secure mode if enter is true, and leaves it otherwise. It first empties all
// queues, as [Scheduler.Quiesce] does. It then calls cycle, if it is not nil, to turn the power
// off. SecureBoundary returns the number of aborted requests, or a *[StateError] if the state is
// not Run.
func (s *Scheduler) SecureBoundary(enter bool, cycle func()) (aborted int, err error) {
	if s.state != Run {
		return 0, &StateError{s.state, "change secure mode"}
	}
	for q := Queues - 1; q >= 0; q-- {
		n, err := s.Quiesce(q)
		aborted += n
		if err != nil {
			return aborted, err
		}
	}
	if cycle != nil {
		cycle()
	}
	s.secure = enter
	return aborted, nil
}

// beginRun changes the state to Exec or, in secure mode, to ExecSecure. It returns a *[StateError]
// if the state does not allow work.
func (s *Scheduler) beginRun() error {
	if s.state != Run {
		return &StateError{s.state, "run descriptors"}
	}
	s.state = Exec
	if s.secure {
		s.state = ExecSecure
	}
	return nil
}

// endRun changes the state back to Run, without a run in progress.
func (s *Scheduler) endRun() {
	s.run.queue = -1
	s.state = Run
}

package queue

import "fmt"

// A State is what the firmware is doing.
type State uint8

// The states.
const (
	Init State = iota
	Run
	Exec
	ExecSecure
	Pause
)

// String is the documents' name.
func (s State) String() string {
	if names := [...]string{"INIT", "RUN", "EXEC", "EXEC-SECURE", "PAUSE"}; int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// A StateError is something that must not happen in the state the firmware is in: in
// PAUSE every event is a fault.
type StateError struct {
	State State
	Event string
}

func (e *StateError) Error() string { return fmt.Sprintf("%s in state %v", e.Event, e.State) }

// Start ends initialisation, or a pause.
func (s *Scheduler) Start() error {
	if s.state != Init && s.state != Pause {
		return &StateError{s.state, "start"}
	}
	s.state = Run
	return nil
}

// Pause stops the firmware between two runs.
func (s *Scheduler) Pause() error {
	if s.state != Run {
		return &StateError{s.state, "pause"}
	}
	s.state = Pause
	return nil
}

// SecureBoundary enters or leaves secure mode: every queue quiesces first, and the power
// is cycled, which the caller's power reports as a wake. It returns the requests that had
// to be aborted.
func (s *Scheduler) SecureBoundary(enter bool, cycle func()) (aborted int, err error) {
	if s.state != Run {
		return 0, &StateError{s.state, "secure boundary"}
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

// enter is the change of state when a run begins, leave when it ends.
func (s *Scheduler) enter() error {
	if s.state != Run {
		return &StateError{s.state, "descriptor run"}
	}
	s.state = Exec
	if s.secure {
		s.state = ExecSecure
	}
	return nil
}

func (s *Scheduler) leave() { s.state = Run }

package queue

import "fmt"

// A State is the state of the firmware.
type State uint8

// States.
const (
	Init State = iota
	Run
	Exec
	ExecSecure
	Pause
)

// String returns the state's name as the documents spell it, such as "EXEC-SECURE".
func (s State) String() string {
	if names := [...]string{"INIT", "RUN", "EXEC", "EXEC-SECURE", "PAUSE"}; int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// A StateError reports an event that is not allowed in the current state. In PAUSE, every
// event is a fault.
type StateError struct {
	State State
	Event string
}

func (e *StateError) Error() string {
	return fmt.Sprintf("unexpected %s in state %v", e.Event, e.State)
}

// Start ends initialisation or a pause.
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

// SecureBoundary enters or leaves secure mode. It first quiesces every queue and calls
// cycle, which may be nil, to cycle the power. It returns the number of aborted requests.
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

// beginRun changes to state Exec or ExecSecure.
func (s *Scheduler) beginRun() error {
	if s.state != Run {
		return &StateError{s.state, "descriptor run"}
	}
	s.state = Exec
	if s.secure {
		s.state = ExecSecure
	}
	return nil
}

func (s *Scheduler) endRun() { s.state = Run }

package command

// Events holds the values of events. An event that was never signalled has the value 0. A
// signal can only raise a value.
type Events struct{ values map[uint32]uint64 }

// Value returns the value of an event.
func (e *Events) Value(id uint32) uint64 { return e.values[id] }

// Signal raises an event to at least x.Value.
func (e *Events) Signal(x Event) {
	if e.values == nil {
		e.values = map[uint32]uint64{}
	}
	if x.Value > e.values[x.ID] {
		e.values[x.ID] = x.Value
	}
}

// Reached reports whether every event in list has at least its value.
func (e *Events) Reached(list []Event) bool {
	for _, x := range list {
		if e.values[x.ID] < x.Value {
			return false
		}
	}
	return true
}

// Reset sets every event to 0.
func (e *Events) Reset() { clear(e.values) }

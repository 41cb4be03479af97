package command

// Events holds the values of all events, which are 0 at first. A signal can only increase the value
// of an event.
type Events struct{ values map[uint32]uint64 }

// Value returns the value of the event with the given number.
func (e *Events) Value(id uint32) uint64 { return e.values[id] }

// Signal sets the value of event x.ID to x.Value, unless the event already has a larger value.
func (e *Events) Signal(x Event) {
	if e.values == nil {
		e.values = map[uint32]uint64{}
	}
	if x.Value > e.values[x.ID] {
		e.values[x.ID] = x.Value
	}
}

// Reached reports whether every event in list has at least the value that list gives for it.
func (e *Events) Reached(list []Event) bool {
	for _, x := range list {
		if e.values[x.ID] < x.Value {
			return false
		}
	}
	return true
}

// Reset sets the values of all events to 0.
func (e *Events) Reset() { clear(e.values) }

package command

// Events are the values that events stand at: an event never signalled stands at 0. A
// signal moves an event up and never back.
type Events struct{ values map[uint32]uint64 }

// Value is what an event stands at.
func (e *Events) Value(id uint32) uint64 { return e.values[id] }

// Signal moves an event up to a value.
func (e *Events) Signal(x Event) {
	if e.values == nil {
		e.values = map[uint32]uint64{}
	}
	if x.Value > e.values[x.ID] {
		e.values[x.ID] = x.Value
	}
}

// Reached reports whether every event of a list stands at its value or above.
func (e *Events) Reached(list []Event) bool {
	for _, x := range list {
		if e.values[x.ID] < x.Value {
			return false
		}
	}
	return true
}

// Reset forgets every event.
func (e *Events) Reset() { clear(e.values) }

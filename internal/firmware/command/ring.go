package command

import (
	"errors"
	"fmt"
)

// DefaultDepth is the default capacity of a ring in messages. The value is assumed.
const DefaultDepth = 64

// ErrFull is returned when a ring has no room for another message.
var ErrFull = errors.New("message ring is full")

// A Ring is a queue of encoded messages in one direction between host and controller.
type Ring struct {
	slots      [][]byte
	head, used int
}

// NewRing returns an empty ring with room for depth messages. A depth of 0 means [DefaultDepth].
func NewRing(depth int) *Ring {
	if depth <= 0 {
		depth = DefaultDepth
	}
	return &Ring{slots: make([][]byte, depth)}
}

// Len returns the number of messages in the ring.
func (r *Ring) Len() int { return r.used }

func (r *Ring) isFull() bool { return r.used == len(r.slots) }

// Push appends a message. It returns [ErrFull] if the ring is full, or a *[FormatError] if
// the body is too long.
func (r *Ring) Push(m *Message) error {
	if len(m.Body) > MaxBody {
		return &FormatError{4, fmt.Sprintf("body has %d bytes; want at most %d", len(m.Body), MaxBody)}
	}
	return r.pushBytes(m.Append(nil))
}

// pushBytes appends the bytes b, which need not be a valid message. It does not copy b. It returns
// [ErrFull] if the ring is full.
func (r *Ring) pushBytes(b []byte) error {
	if r.isFull() {
		return ErrFull
	}
	r.slots[(r.head+r.used)%len(r.slots)] = b
	r.used++
	return nil
}

// Pop removes and returns the oldest message, or nil if the ring is empty.
func (r *Ring) Pop() []byte {
	if r.used == 0 {
		return nil
	}
	b := r.slots[r.head]
	r.slots[r.head] = nil
	r.head = (r.head + 1) % len(r.slots)
	r.used--
	return b
}

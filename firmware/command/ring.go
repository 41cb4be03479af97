package command

import (
	"errors"
	"fmt"
)

// Doorbells is how many doorbells the mailbox has: an index is below it.
const Doorbells = 32

// Doorbell is the word that a doorbell of an index writes, one bit.
func Doorbell(index uint32) (word uint32, err error) {
	if index >= Doorbells {
		return 0, fmt.Errorf("doorbell %d: an index is below %d", index, Doorbells)
	}
	return 1 << index, nil
}

// DefaultDepth is the messages a ring holds where nobody says (assumed: the documents give
// no depth).
const DefaultDepth = 64

// ErrFull is a ring with no room for another message.
var ErrFull = errors.New("the ring is full")

// A Ring is the messages on their way in one direction. It holds encoded messages: what is
// pushed is read back from its bytes.
type Ring struct {
	slots      [][]byte
	head, used int
}

// NewRing returns a ring of a depth, DefaultDepth for 0.
func NewRing(depth int) *Ring {
	if depth <= 0 {
		depth = DefaultDepth
	}
	return &Ring{slots: make([][]byte, depth)}
}

// Len is how many messages wait.
func (r *Ring) Len() int { return r.used }

func (r *Ring) full() bool { return r.used == len(r.slots) }

// Push puts a message behind those that wait. The error is ErrFull, or a *FormatError for
// a body that is too long to be read again.
func (r *Ring) Push(m *Message) error {
	if len(m.Body) > MaxBody {
		return &FormatError{4, fmt.Sprintf("a body of %d bytes, at most %d are read", len(m.Body), MaxBody)}
	}
	return r.PushBytes(m.Append(nil))
}

// PushBytes is Push for bytes that need not be a message.
func (r *Ring) PushBytes(b []byte) error {
	if r.full() {
		return ErrFull
	}
	r.slots[(r.head+r.used)%len(r.slots)] = b
	r.used++
	return nil
}

// Pop takes the first message's bytes, nil where none waits.
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

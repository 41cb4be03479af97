package traffic

import "anesim/hw/clock"

// An event is something that the simulation handles at a given simulated time. Events at
// the same time are handled in the order of seq.
type event struct {
	at   clock.Nanoseconds
	seq  uint64 // order of events at the same time
	kind kind
	call *call
	from int // client, for an arrival
}

type kind uint8

const (
	arrives kind = iota // a call arrives
	gates               // a call reaches the gate
	enters              // a call reaches its task queue
	leaves              // a call returns and the gate opens
)

// isBefore reports whether e must be handled before o. It must if it is earlier, or if it has the
// same time and was scheduled first.
func (e *event) isBefore(o *event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

// An events is a heap of scheduled events. Its first element is the one to handle next.
type events []event

func (e *events) push(x event) {
	h := append(*e, x)
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].isBefore(&h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
	*e = h
}

func (e *events) pop() event {
	h := *e
	first, last := h[0], len(h)-1
	h[0] = h[last]
	h[last] = event{}
	h = h[:last]
	for i := 0; ; {
		next := 2*i + 1
		if next >= last {
			break
		}
		if next+1 < last && h[next+1].isBefore(&h[next]) {
			next++
		}
		if !h[next].isBefore(&h[i]) {
			break
		}
		h[i], h[next] = h[next], h[i]
		i = next
	}
	*e = h
	return first
}

// A fifo is a first-in, first-out queue of calls. It advances head instead of moving the
// remaining calls on every pop.
type fifo struct {
	list []*call
	head int
}

func (f *fifo) push(c *call) { f.list = append(f.list, c) }

func (f *fifo) first() *call {
	if f.head == len(f.list) {
		return nil
	}
	return f.list[f.head]
}

func (f *fifo) pop() {
	f.list[f.head] = nil
	f.head++
	if f.head == len(f.list) {
		f.list, f.head = f.list[:0], 0
	} else if f.head > 1024 && f.head > len(f.list)/2 {
		f.list, f.head = append(f.list[:0], f.list[f.head:]...), 0
	}
}

package command

import "fmt"

// notificationBell is the index of the doorbell behind the notifications' ring; a
// channel's is its number (assumed: the documents give the bound of 32 and no map).
const notificationBell = 2

// A Mailbox is the memory that host and controller share: a ring each way for each
// channel, a ring of the controller's own messages, and doorbells.
//
//	host     Submit -> down ring, bell |= 1 << channel        Take <- up ring
//	                        v                                      ^
//	firmware           Serve: Handle -> completion on the same channel, Window.Store
type Mailbox struct {
	down, up [2]*Ring
	notes    *Ring
	bell     uint32 // doorbells that the controller has not taken
	window   *Window
}

// NewMailbox returns a mailbox whose rings have a depth each, DefaultDepth for 0.
func NewMailbox(depth int) *Mailbox {
	b := &Mailbox{notes: NewRing(depth), window: NewWindow()}
	for ch := range b.down {
		b.down[ch], b.up[ch] = NewRing(depth), NewRing(depth)
	}
	return b
}

// Window is what the controller's stores to the host go through.
func (b *Mailbox) Window() *Window { return b.window }

// Submit puts a command on a channel's ring. It is not looked at before its doorbell.
// Errors are those of [Ring.Push].
func (b *Mailbox) Submit(ch Channel, m *Message) error { return b.down[ch&1].Push(m) }

// SubmitBytes is Submit for bytes that need not be a message.
func (b *Mailbox) SubmitBytes(ch Channel, data []byte) error { return b.down[ch&1].PushBytes(data) }

// Ring writes the doorbell of an index, one bit of the register.
func (b *Mailbox) Ring(index uint32) error {
	word, err := Doorbell(index)
	b.bell |= word
	return err
}

// Waiting is how many messages are in the rings: commands, completions, notifications.
func (b *Mailbox) Waiting() (commands, completions, notifications int) {
	return b.down[0].Len() + b.down[1].Len(), b.up[0].Len() + b.up[1].Len(), b.notes.Len()
}

// Attach makes the mailbox's ring that of a controller's notifications.
func (b *Mailbox) Attach(c *Controller) {
	c.Notify = func(m *Message) bool {
		if b.notes.Push(m) != nil {
			return false
		}
		b.window.Store(1 << notificationBell)
		return true
	}
}

// Serve lets the controller take the channels that were rung and answer what is in their
// rings, until those are empty or the ring of completions is full: then the doorbell
// stays, and commands wait. Each answer goes to the same channel, and the host's doorbell
// is stored behind it. The replies of commands that were dropped are in the result alone.
func (b *Mailbox) Serve(c *Controller) (replies []Reply) {
	for ch := range b.down {
		if b.bell&(1<<ch) == 0 {
			continue
		}
		for b.down[ch].Len() > 0 && !b.up[ch].full() {
			r := c.Handle(Channel(ch), b.down[ch].Pop())
			replies = append(replies, r)
			if r.Dropped {
				continue
			}
			m := r.Message()
			if b.up[ch].Push(&m) == nil {
				b.window.Store(1 << ch)
			}
		}
		if b.down[ch].Len() == 0 {
			b.bell &^= 1 << ch
		}
	}
	return replies
}

// Take takes the first completion of a channel; ok is false where there is none. The
// host's doorbell is taken with the last.
func (b *Mailbox) Take(ch Channel) (r Reply, ok bool) {
	up := b.up[ch&1]
	data := up.Pop()
	if up.Len() == 0 {
		b.window.Host &^= 1 << (ch & 1)
	}
	if data == nil {
		return Reply{}, false
	}
	r, err := ReadReply(data)
	if err != nil { // the controller has written it
		return Reply{Status: Malformed, Why: err.Error()}, true
	}
	return r, true
}

// Notification takes the first message of the controller's own.
func (b *Mailbox) Notification() (m Message, ok bool) {
	data := b.notes.Pop()
	if b.notes.Len() == 0 {
		b.window.Host &^= 1 << notificationBell
	}
	if data == nil {
		return Message{}, false
	}
	m, _, err := Read(data)
	return m, err == nil
}

// Message is the completion of a command: its header with the ids that the controller gave
// out, and behind it the status and what the answer holds (ours).
func (r *Reply) Message() Message {
	n := Notice{Status: r.Status, Value: uint32(len(r.Body))}
	return Message{Header: r.Header, Body: append(n.Append(nil), r.Body...)}
}

// ReadReply decodes a completion. The header is that of the command, of one that could not
// be read as far as it could. Errors are a *FormatError.
func ReadReply(data []byte) (Reply, error) {
	const head = 8
	if len(data) < HeaderBytes+head {
		return Reply{}, &FormatError{len(data), fmt.Sprintf("%d bytes, a completion has %d or more", len(data), HeaderBytes+head)}
	}
	r := Reply{Header: header(data)}
	n, err := ReadNotice(data[HeaderBytes : HeaderBytes+head])
	if err != nil {
		return Reply{}, err
	}
	body := data[HeaderBytes+head:]
	if uint64(n.Value) > uint64(len(body)) || len(body)-int(n.Value) > 3 {
		return Reply{}, &FormatError{HeaderBytes + 4, fmt.Sprintf("an answer of %d bytes, %d follow", n.Value, len(body))}
	}
	r.Status, r.Body = n.Status, body[:n.Value]
	return r, nil
}

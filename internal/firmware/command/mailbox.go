package command

import "fmt"

// notificationBell is the doorbell index of the notification ring. A channel's doorbell
// index is its number (assumed: the documents give the limit of 32 but no mapping).
const notificationBell = 2

// doorbells is the number of doorbells of a mailbox.
const doorbells = 32

// Doorbell returns the word that rings the doorbell with the given index when it is written to the
// doorbell register. Only the bit with that index is set. Doorbell returns an error if index is not
// below doorbells.
func Doorbell(index uint32) (word uint32, err error) {
	if index >= doorbells {
		return 0, fmt.Errorf("doorbell index is %d; want 0 to %d", index, doorbells-1)
	}
	return 1 << index, nil
}

// A Mailbox models the memory that host and controller share. It holds a ring in each direction for
// each channel, a ring for the controller's notifications, and the doorbells that announce new
// messages.
//
//	host     Submit -> down ring, bell |= 1 << channel        Take <- up ring
//	                        v                                      ^
//	firmware           Serve: Handle -> completion on the same channel, Window.Store
type Mailbox struct {
	down, up [2]*Ring
	notes    *Ring
	bell     uint32 // doorbells that the controller has not handled
	window   *Window
}

// NewMailbox returns a mailbox whose rings have room for depth messages each. A depth of 0 means
// [DefaultDepth].
func NewMailbox(depth int) *Mailbox {
	b := &Mailbox{notes: NewRing(depth), window: NewWindow()}
	for ch := range b.down {
		b.down[ch], b.up[ch] = NewRing(depth), NewRing(depth)
	}
	return b
}

// Depth returns the capacity of each ring in messages.
func (b *Mailbox) Depth() int { return len(b.notes.slots) }

// Window returns the register window through which the controller rings the host's
// doorbell.
func (b *Mailbox) Window() *Window { return b.window }

// Submit puts a command on the ring of channel ch. The controller does not see the command until
// [Mailbox.Ring] rings the doorbell. Submit returns any error from [Ring.Push].
func (b *Mailbox) Submit(ch Channel, m *Message) error { return b.down[ch&1].Push(m) }

// SubmitBytes puts arbitrary bytes on the ring of channel ch, as [Mailbox.Submit] does with a
// command. The bytes need not be a valid message.
func (b *Mailbox) SubmitBytes(ch Channel, data []byte) error { return b.down[ch&1].pushBytes(data) }

// Ring rings the doorbell with the given index. If the doorbell belongs to a channel, the next
// [Mailbox.Serve] handles the commands on that channel's ring. Ring returns an error if there is no
// such doorbell.
func (b *Mailbox) Ring(index uint32) error {
	word, err := Doorbell(index)
	b.bell |= word
	return err
}

// Waiting returns the numbers of messages in the rings for commands, completions and notifications.
func (b *Mailbox) Waiting() (commands, completions, notifications int) {
	return b.down[0].Len() + b.down[1].Len(), b.up[0].Len() + b.up[1].Len(), b.notes.Len()
}

// Attach makes controller c send its notifications through the mailbox.
func (b *Mailbox) Attach(c *Controller) {
	c.Notify = func(m *Message) bool {
		if b.notes.Push(m) != nil {
			return false
		}
		b.window.Store(1 << notificationBell)
		return true
	}
}

// Serve makes controller c handle the commands on every channel whose doorbell is set. It puts each
// reply on the channel's ring to the host and rings the host's doorbell. If that ring is full, the
// channel's remaining commands wait, and its doorbell stays set. Serve returns all replies,
// including dropped ones, which are not put on a ring.
func (b *Mailbox) Serve(c *Controller) (replies []Reply) {
	for ch := range b.down {
		if b.bell&(1<<ch) == 0 {
			continue
		}
		for b.down[ch].Len() > 0 && !b.up[ch].isFull() {
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

// Take removes and returns the oldest completion on channel ch, and whether there is one. If no
// more completions remain on the channel, Take clears its bit in the host's doorbell register.
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
	if err != nil { // cannot happen: the controller wrote it
		return Reply{Status: Malformed, Why: err.Error()}, true
	}
	return r, true
}

// Notification removes and returns the controller's oldest notification, and whether there is one.
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

// Message returns the reply as a message to the host: the header, the status, and the length and
// bytes of the body. The layout is this project's own, because none is documented.
func (r *Reply) Message() Message {
	n := Notice{Status: r.Status, Value: uint32(len(r.Body))}
	return Message{Header: r.Header, Body: append(n.append(nil), r.Body...)}
}

// ReadReply decodes a message in the form of [Reply.Message]. It returns a *[FormatError] if the
// message is malformed.
func ReadReply(data []byte) (Reply, error) {
	const head = 8
	if len(data) < HeaderBytes+head {
		return Reply{}, &FormatError{len(data), fmt.Sprintf("reply has %d bytes; want at least %d", len(data), HeaderBytes+head)}
	}
	r := Reply{Header: parseHeader(data)}
	n, err := ReadNotice(data[HeaderBytes : HeaderBytes+head])
	if err != nil {
		return Reply{}, err
	}
	body := data[HeaderBytes+head:]
	if uint64(n.Value) > uint64(len(body)) || len(body)-int(n.Value) > 3 {
		return Reply{}, &FormatError{HeaderBytes + 4, fmt.Sprintf("padded reply body has %d bytes; want %d to %d", len(body), n.Value, uint64(n.Value)+3)}
	}
	r.Status, r.Body = n.Status, body[:n.Value]
	return r, nil
}

package driver

import (
	"encoding/binary"
	"math"

	"anesim/internal/firmware/command"
)

// Numbers of the open handshake.
const (
	version     = 32 // at +0x48, followed by versionHigh
	versionHigh = 256
	openTimeout = 10000 // passed by callers at +0x18, in milliseconds
	engines     = 1
	cpuSubtype  = 4
	boardID     = 0x1111222233334444

	usageStandard = 1
	usageOther    = 2
)

// openDevice answers the handshake that opens the device. It copies the caller's struct in
// to out and then stores a new token, the driver's version and the properties of the chip
// there. It returns Busy if the client has opened the device already, and NotPrivileged if the client
// may use only programs that the broker lends to it.
func (c *Client) openDevice(in, out []byte) Return {
	switch in[0] {
	case usageStandard:
	case usageOther:
		return UsageUnsupported
	default:
		return BadArgument
	}
	if c.open {
		return Busy
	}
	if c.lentOnly {
		return NotPrivileged
	}
	le := binary.LittleEndian
	copy(out, in)
	c.token = c.driver.next
	c.driver.next++
	c.open = true
	le.PutUint64(out, c.token)
	le.PutUint32(out[0x48:], version)
	le.PutUint32(out[0x4c:], versionHigh)
	le.PutUint32(out[0x50:], engines)
	le.PutUint32(out[0x60:], cpuSubtype)
	return Success
}

// OpenRequest returns the encoded argument of the selector that opens the device.
func OpenRequest() []byte {
	le := binary.LittleEndian
	b := make([]byte, OpenBytes)
	b[0] = usageStandard
	le.PutUint64(b[8:], boardID)
	le.PutUint32(b[0x18:], openTimeout)
	return b
}

// A Request is the 2376-byte struct with which a client requests a call of a program. It holds only
// the fields whose meaning is known from measurements.
type Request struct {
	Token    uint64   // +0x00, from program create
	Sequence uint64   // +0x08
	Priority uint32   // +0x10; the documents observed 5
	Class    uint32   // +0x14, a class of service of the public header; the documents observed 21, the default
	Category uint32   // +0x1c, always 2 in observed requests
	Surfaces []uint64 // +0x20, up to the first 0
	// Bars, LiveIns and the lists of events follow the 0, each after its number (assumed: no document
	// places them).
	Bars                 []command.Bar
	LiveIns              []command.LiveIn
	Wait, Signal, Shared []command.Event
	cut                  bool // they do not fit in the struct
}

// ioCategory is the category of every observed request.
const ioCategory = 2

const (
	surfacesAt  = 0x20
	maxSurfaces = (RequestBytes - surfacesAt) / 8
)

// Append appends the encoded struct to dst and returns the extended slice. It always writes category
// 2 instead of q.Category, and omits surfaces that do not fit. A request whose other lists do not fit
// is refused when it is sent.
func (q *Request) Append(dst []byte) []byte {
	le := binary.LittleEndian
	b := make([]byte, RequestBytes)
	le.PutUint64(b, q.Token)
	le.PutUint64(b[8:], q.Sequence)
	le.PutUint32(b[0x10:], q.Priority)
	le.PutUint32(b[0x14:], q.Class)
	le.PutUint32(b[0x1c:], ioCategory)
	for i, s := range q.Surfaces[:min(len(q.Surfaces), maxSurfaces)] {
		le.PutUint64(b[surfacesAt+8*i:], s)
	}
	if q.hasLists() {
		var list []byte
		list = le.AppendUint64(list, uint64(len(q.Bars)))
		for _, x := range q.Bars {
			list = le.AppendUint64(le.AppendUint64(list, uint64(x.Number)), x.Value)
		}
		list = le.AppendUint64(list, uint64(len(q.LiveIns)))
		for _, x := range q.LiveIns {
			list = x.Append(list)
		}
		for _, events := range [...][]command.Event{q.Wait, q.Signal, q.Shared} {
			list = le.AppendUint64(list, uint64(len(events)))
			for _, x := range events {
				list = le.AppendUint64(le.AppendUint64(list, uint64(x.ID)), x.Value)
			}
		}
		at := min(surfacesAt+8*len(q.Surfaces)+8, RequestBytes)
		if copy(b[at:], list) < len(list) && at+8 <= RequestBytes {
			le.PutUint64(b[at:], math.MaxUint64) // more than there is room for
		}
	}
	return append(dst, b...)
}

// hasLists reports whether the request has any of the lists that follow the surfaces.
func (q *Request) hasLists() bool { return len(q.Bars)+len(q.LiveIns)+q.events() > 0 }

func (q *Request) events() int { return len(q.Wait) + len(q.Signal) + len(q.Shared) }

// ReadRequest decodes a request struct. It panics if b has fewer than RequestBytes bytes.
func ReadRequest(b []byte) (q Request) {
	le := binary.LittleEndian
	q = Request{
		Token: le.Uint64(b), Sequence: le.Uint64(b[8:]), Priority: le.Uint32(b[0x10:]),
		Class: le.Uint32(b[0x14:]), Category: le.Uint32(b[0x1c:]),
	}
	rest := b[surfacesAt:RequestBytes]
	for ; len(rest) >= 8 && le.Uint64(rest) != 0; rest = rest[8:] {
		q.Surfaces = append(q.Surfaces, le.Uint64(rest))
	}
	if len(rest) >= 8 {
		rest = rest[8:] // the 0
	}
	n := takeCount(&rest, 16)
	for range n {
		q.Bars = append(q.Bars, command.Bar{Number: uint32(min(le.Uint64(rest), math.MaxUint32)), Value: le.Uint64(rest[8:])})
		rest = rest[16:]
	}
	m := takeCount(&rest, command.LiveInBytes)
	for range m {
		q.LiveIns = append(q.LiveIns, command.ReadLiveIn(rest))
		rest = rest[command.LiveInBytes:]
	}
	q.cut = n < 0 || m < 0
	for _, events := range [...]*[]command.Event{&q.Wait, &q.Signal, &q.Shared} {
		n := takeCount(&rest, 16)
		for range n {
			*events = append(*events, command.Event{ID: uint32(min(le.Uint64(rest), math.MaxUint32)), Value: le.Uint64(rest[8:])})
			rest = rest[16:]
		}
		q.cut = q.cut || n < 0
	}
	return q
}

// takeCount reads the number of entries in a list of which each has size bytes, and returns it. It
// returns 0 at the end of the struct, and -1 if the rest of the struct has no room for the list.
func takeCount(rest *[]byte, size int) int {
	if len(*rest) < 8 {
		return 0
	}
	n := binary.LittleEndian.Uint64(*rest)
	if *rest = (*rest)[8:]; n > uint64(len(*rest)/size) {
		*rest = nil
		return -1
	}
	return int(n)
}

// commandPriority returns the priority of the command for request q: that of q, but at most 7
// (assumed). The class of q has no effect: the broker has mapped it to a priority.
func commandPriority(q *Request) uint32 { return min(q.Priority, 7) }

// sendRequest converts a request to a procedure call and sends it. Priorities 0 and 1 require the
// realtime entitlement. For priority 0, the entitlement for system-reserved priorities is enough
// (assumed; the documents do not say which priorities are reserved).
func (c *Client) sendRequest(a *Arguments, out []byte) (ret Return) {
	q := ReadRequest(a.Struct)
	h := c.programs[q.Token]
	priority := commandPriority(&q)
	switch {
	case h == nil || h.program.gone:
		return NotFound
	// Another category is unknown, and a list that did not fit in the struct would run incomplete.
	case q.Category != ioCategory, q.cut:
		return BadArgument
	case priority < 2 && !c.rights.Has(Realtime) && !(priority == 0 && c.rights.Has(Reserved)):
		return Unsupported
	}
	s := Submission{Message: h.newRequestMessage(&q, priority), Process: c.process, Wait: a.Wake == nil, Timeout: a.Timeout}
	reply := make([]byte, ReplyBytes)
	s.Done = func(e End) {
		switch {
		case e.Expired:
			ret = Timeout
		case e.Stuck, e.Closed:
			ret = Aborted
		default:
			ret = translateReply(&e.Reply)
		}
		le := binary.LittleEndian
		le.PutUint64(reply, q.Sequence)
		le.PutUint64(reply[8:], q.Token)
		le.PutUint32(reply[0x20:], uint32(ret))
		if a.Wake != nil {
			a.Wake(Completion{ret, reply})
		}
	}
	if !c.driver.backend.Submit(&s) {
		return NoResources
	}
	// An asynchronous call's reply goes to its port, also if it has ended by now.
	if a.Wake != nil {
		return Success // posted
	}
	copy(out, reply)
	return ret
}

// newRequestMessage returns the command for the request q.
func (h *handle) newRequestMessage(q *Request, priority uint32) *command.Message {
	id := command.ProcedureCall
	switch {
	case len(q.Bars) > 0:
		id = command.ProcedureCallWithCustomBars
	case q.events() > 0:
		id = command.ProcedureCallWithSignalEvents
	}
	m := h.newCallMessage(id, h.active, priority, q.Surfaces)
	if q.hasLists() {
		call := newCall(q.Surfaces)
		call.Bars, call.LiveIns = q.Bars, q.LiveIns
		call.Wait, call.Signal, call.Shared = q.Wait, q.Signal, q.Shared
		m.Body = call.Append(nil)
	}
	return m
}

package driver

import (
	"encoding/binary"

	"anesim/firmware/command"
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
// there. It returns Busy if the client has opened the device already.
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
	QoS      uint32   // +0x10
	Priority uint32   // +0x14
	Category uint32   // +0x1c, always 2 in observed requests
	Surfaces []uint64 // +0x20, up to the first 0
}

// ioCategory is the category of every observed request.
const ioCategory = 2

const (
	surfacesAt  = 0x20
	maxSurfaces = (RequestBytes - surfacesAt) / 8
)

// Append appends the encoded struct to dst and returns the extended slice. It always writes category
// 2 instead of q.Category, and omits surfaces that do not fit.
func (q *Request) Append(dst []byte) []byte {
	le := binary.LittleEndian
	b := make([]byte, RequestBytes)
	le.PutUint64(b, q.Token)
	le.PutUint64(b[8:], q.Sequence)
	le.PutUint32(b[0x10:], q.QoS)
	le.PutUint32(b[0x14:], q.Priority)
	le.PutUint32(b[0x1c:], ioCategory)
	for i, s := range q.Surfaces[:min(len(q.Surfaces), maxSurfaces)] {
		le.PutUint64(b[surfacesAt+8*i:], s)
	}
	return append(dst, b...)
}

// ReadRequest decodes a request struct. It panics if b has fewer than RequestBytes bytes.
func ReadRequest(b []byte) (q Request) {
	le := binary.LittleEndian
	q = Request{
		Token: le.Uint64(b), Sequence: le.Uint64(b[8:]), QoS: le.Uint32(b[0x10:]),
		Priority: le.Uint32(b[0x14:]), Category: le.Uint32(b[0x1c:]),
	}
	for at := surfacesAt; at+8 <= RequestBytes; at += 8 {
		s := le.Uint64(b[at:])
		if s == 0 {
			break
		}
		q.Surfaces = append(q.Surfaces, s)
	}
	return q
}

// commandPriority returns the priority of the command for request q. It is the quality of service
// of q, but at most 7. The mapping is assumed.
func commandPriority(q *Request) uint32 { return min(q.QoS, 7) }

// sendRequest converts a request to a procedure call and sends it. Priorities 0 and 1 require the
// realtime entitlement. For priority 0, the entitlement for system-reserved priorities is enough
// (assumed; the documents do not say which priorities are reserved).
func (c *Client) sendRequest(in, out []byte) Return {
	q := ReadRequest(in)
	h := c.programs[q.Token]
	priority := commandPriority(&q)
	switch {
	case h == nil || h.program.gone:
		return NotFound
	case q.Category != ioCategory:
		return BadArgument
	case priority < 2 && !c.rights.Has(Realtime) && !(priority == 0 && c.rights.Has(Reserved)):
		return Unsupported
	case c.driver.pending:
		return Busy
	}
	r := c.driver.sendMessage(command.Execution, h.newCallMessage(command.ProcedureCall, h.active, priority, q.Surfaces))
	le := binary.LittleEndian
	le.PutUint64(out, q.Sequence)
	le.PutUint64(out[8:], q.Token)
	le.PutUint32(out[0x20:], uint32(r.Status))
	return translateReply(&r)
}

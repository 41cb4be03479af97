package driver

import (
	"encoding/binary"

	"anesim/firmware/command"
)

// The open handshake's numbers.
const (
	version     = 32 // with 256 the pair at +0x48
	versionHigh = 256
	openTimeout = 10000 // what callers pass at +0x18, in milliseconds
	engines     = 1
	cpuSubtype  = 4
	boardID     = 0x1111222233334444

	usageStandard = 1
	usageOther    = 2
)

// deviceOpen answers the handshake: the caller's header is echoed, the device's numbers
// and a token are filled in.
func (c *Client) deviceOpen(in, out []byte) Return {
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

// OpenRequest is the struct of a device open as callers fill it.
func OpenRequest() []byte {
	le := binary.LittleEndian
	b := make([]byte, OpenBytes)
	b[0] = usageStandard
	le.PutUint64(b[8:], boardID)
	le.PutUint32(b[0x18:], openTimeout)
	return b
}

// A Request is the part of the 2376-byte struct whose layout is measured.
type Request struct {
	Token    uint64   // +0x00, from program create
	Sequence uint64   // +0x08
	QoS      uint32   // +0x10
	Priority uint32   // +0x14
	Category uint32   // +0x1c, 2
	Surfaces []uint64 // +0x20, up to the first 0
}

// ioCategory is the category that every observed request has.
const ioCategory = 2

const (
	surfacesAt  = 0x20
	maxSurfaces = (RequestBytes - surfacesAt) / 8
)

// Append encodes the request after dst, its surfaces as far as there is room.
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

// ReadRequest decodes a request; b has RequestBytes.
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

// band is the command's priority for a request's execution priority: the observed pair is
// (5, 21). The documents give no map, so a quality of service up to 7 is taken as the band
// and anything else as the least urgent (assumed).
func band(q *Request) uint32 { return min(q.QoS, 7) }

// sendRequest turns a request into a procedure call. Priorities 0 and 1 take the realtime
// entitlement; 0 may be had with the one for system-reserved priorities too (assumed: the
// documents name the entitlement and not which priorities are reserved).
func (c *Client) sendRequest(in, out []byte) Return {
	q := ReadRequest(in)
	h := c.programs[q.Token]
	priority := band(&q)
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
	r := c.driver.send(command.Execution, h.message(command.ProcedureCall, h.active, priority, q.Surfaces))
	le := binary.LittleEndian
	le.PutUint64(out, q.Sequence)
	le.PutUint64(out[8:], q.Token)
	le.PutUint32(out[0x20:], uint32(r.Status))
	return returnOf(&r)
}

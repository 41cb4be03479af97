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

// create makes a program: the struct's first words are the address and size of its image
// (the documents give the size of the struct and not its fields: the layout is ours,
// assumed). The handle is its slot's number counted from 1, in the order of creation.
func (c *Client) create(in []byte) Return {
	le := binary.LittleEndian
	id := c.driver.send(command.Control, &command.Message{Header: command.Header{ID: command.RequestProgramID, Program: -1, Process: -1}})
	if id.Status != command.OK {
		return returnOf(&id)
	}
	p := command.Program{Address: le.Uint64(in), Bytes: le.Uint32(in[8:]), Procedures: max(1, le.Uint32(in[12:])), Bars: le.Uint32(in[16:])}
	load := c.driver.send(command.Control, &command.Message{Header: command.Header{ID: command.LoadProgram, Program: id.Program, Process: -1}, Body: p.Append(nil)})
	if load.Status != command.OK {
		c.driver.send(command.Control, &command.Message{Header: command.Header{ID: command.ReturnProgramID, Program: id.Program, Process: -1}})
		return returnOf(&load)
	}
	c.programs[uint64(id.Program)+1] = &handle{slot: id.Program}
	return Success
}

// handleOf finds the program that the first word of a struct names.
func (c *Client) handleOf(in []byte) (*handle, uint64) {
	token := binary.LittleEndian.Uint64(in)
	return c.programs[token], token
}

// prepare makes the process that requests run in, or ends it.
func (c *Client) prepare(in []byte, on bool) Return {
	h, _ := c.handleOf(in)
	switch {
	case h == nil:
		return NotFound
	case h.prepared == on && on:
		return Busy
	case h.prepared == on:
		return NotReady
	}
	m := command.Message{Header: command.Header{ID: command.TerminateProcess, Program: h.slot, Process: 0}}
	if on {
		call := command.Call{OutputSets: 1, Partitions: 1, Requests: 1}
		m = command.Message{Header: command.Header{ID: command.CreateProcess, Program: h.slot, Process: 0}, Body: call.Append(nil)}
	}
	r := c.driver.send(command.Control, &m)
	if r.Status == command.OK {
		h.prepared = on
	}
	return returnOf(&r)
}

func (c *Client) destroy(in []byte) Return {
	h, token := c.handleOf(in)
	if h == nil {
		return NotFound
	}
	r := c.driver.send(command.Control, &command.Message{Header: command.Header{ID: command.UnloadProgram, Program: h.slot, Process: -1}})
	c.driver.send(command.Control, &command.Message{Header: command.Header{ID: command.ReturnProgramID, Program: h.slot, Process: -1}})
	delete(c.programs, token)
	return returnOf(&r)
}

// chain prepares or selects a procedure of a resident chain.
func (c *Client) chain(in []byte) Return {
	if !c.chaining {
		return Unsupported
	}
	h, _ := c.handleOf(in)
	if h == nil {
		return NotFound
	}
	h.active = binary.LittleEndian.Uint32(in[8:])
	return Success
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

// sendRequest turns a request into a procedure call.
func (c *Client) sendRequest(in, out []byte) Return {
	q := ReadRequest(in)
	h := c.programs[q.Token]
	switch {
	case h == nil:
		return NotFound
	case q.Category != ioCategory:
		return BadArgument
	case band(&q) < 2 && !c.rights.Has(Realtime):
		return Unsupported
	case c.driver.pending:
		return Busy
	}
	call := command.Call{OutputSets: 1, Partitions: 1, Requests: 1}
	for i, s := range q.Surfaces {
		call.Buffers = append(call.Buffers, command.Buffer{Port: uint32(i), Address: s})
	}
	r := c.driver.send(command.Execution, &command.Message{
		Header: command.Header{ID: command.ProcedureCall, Priority: band(&q), Program: h.slot, Process: 0, Procedure: h.active},
		Body:   call.Append(nil),
	})
	le := binary.LittleEndian
	le.PutUint64(out, q.Sequence)
	le.PutUint64(out[8:], q.Token)
	le.PutUint32(out[0x20:], uint32(r.Status))
	return returnOf(&r)
}

package driver

import (
	"encoding/binary"
	"maps"
	"slices"

	"anesim/internal/firmware/command"
)

// A program is a program in one of the controller's slots. It is unloaded when its owner
// releases it.
type program struct {
	slot         int32
	handles      int
	gone         bool
	owner        Identity
	intermediate uint64 // handle of the buffer for values between descriptors, which instances share
}

// An instance is a process of a program. Instances share weights but have their own buffers
// and state.
type instance struct {
	program  *program
	process  int32
	prepared bool
	active   uint32 // procedure
}

// A handle is a client's reference to an instance. A borrowed handle, which the broker
// passed on, can send requests; releasing it does not end the instance.
type handle struct {
	*instance
	borrowed bool
}

// token returns the number with which clients refer to the instance. Its lower 32 bits hold the
// slot plus one, and its upper 32 bits hold the process.
func (x *instance) token() uint64 { return uint64(x.process)<<32 | uint64(x.program.slot+1) }

// newCallMessage returns a message with command id for a procedure of the instance. If the command
// has a body, the body is a call that binds the address surfaces[i] to port i.
func (x *instance) newCallMessage(id command.ID, procedure, priority uint32, surfaces []uint64) *command.Message {
	m := &command.Message{Header: command.Header{ID: id, Priority: priority, Program: x.program.slot, Process: x.process, Procedure: procedure}}
	switch id {
	case command.ProcedureCallRecycleOutputBuffer, command.SetActiveCacheRequestInGroup, command.TerminateProcess:
		return m // these have no body
	}
	call := newCall(surfaces)
	m.Body = call.Append(nil)
	return m
}

// newCall returns the body of a call that binds the address surfaces[i] to port i.
func newCall(surfaces []uint64) command.Call {
	call := command.Call{OutputSets: 1, Partitions: 1, Requests: 1}
	for i, s := range surfaces {
		call.Buffers = append(call.Buffers, command.Buffer{Port: uint32(i), Address: s})
	}
	return call
}

// sendProgramCommand sends command id, without a body, for the program in the given slot,
// and returns the controller's reply.
func (d *Driver) sendProgramCommand(id command.ID, slot int32) command.Reply {
	return d.backend.Send(command.Control, &command.Message{Header: command.Header{ID: id, Program: slot, Process: -1}})
}

// createProgram loads a program. The struct in starts with the address and the size of the
// image, the number of procedures that can be called (0 for all) and the number of run-time
// parameters. The layout is assumed, because only the size of the struct is documented.
func (c *Client) createProgram(in []byte) Return {
	le := binary.LittleEndian
	id := c.driver.sendProgramCommand(command.RequestProgramID, -1)
	if id.Status != command.OK {
		return translateReply(&id)
	}
	p := command.Program{Address: le.Uint64(in), Bytes: le.Uint32(in[8:]), Procedures: le.Uint32(in[12:]), Bars: le.Uint32(in[16:])}
	load := c.driver.backend.Send(command.Control, &command.Message{Header: command.Header{ID: command.LoadProgram, Program: id.Program, Process: -1}, Body: p.Append(nil)})
	if load.Status != command.OK {
		c.driver.sendProgramCommand(command.ReturnProgramID, id.Program)
		return translateReply(&load)
	}
	c.driver.intermediates++
	made := &program{slot: id.Program, owner: c.Identity, intermediate: c.driver.intermediates}
	if old := c.driver.live[id.Program]; old != nil {
		old.gone = true // another user of the ring has released the slot
	}
	c.driver.live[id.Program] = made
	c.addHandle(&handle{instance: &instance{program: made}})
	return Success
}

// createInstance creates another instance of a program that the client holds, with the next free
// process number. The struct in starts with the token of the program (assumed).
func (c *Client) createInstance(in []byte) Return {
	base, _ := c.findHandle(in)
	switch {
	case base == nil || base.program.gone:
		return NotFound
	case base.borrowed:
		return NotPrivileged
	}
	process := int32(1)
	for c.programs[uint64(process)<<32|uint64(base.program.slot+1)] != nil {
		process++
	}
	if process >= command.MaxProcesses {
		return NoResources
	}
	c.addHandle(&handle{instance: &instance{program: base.program, process: process}})
	return Success
}

// addHandle adds a handle to the client. It replaces an invalid handle with the same token.
func (c *Client) addHandle(h *handle) {
	if c.programs[h.token()] != nil {
		c.releaseHandle(h.token())
	}
	c.programs[h.token()] = h
	c.driver.programs++
	if !h.borrowed {
		h.program.handles++
	}
}

// Lend shares the program for which c holds the given token with another client. The argument to is
// that client. Both clients then use this token and may send requests until either of them releases
// the program. Lend returns [NotFound] if c has no such program of its own, and [NotPrivileged] if the
// identity of to differs from that of the program's owner. A client that may use only what is lent to
// it is open from then on.
func (c *Client) Lend(token uint64, to *Client) Return {
	h := c.programs[token]
	switch {
	case c.closed || to.closed:
		return ExclusiveAccess
	case !c.open || !to.open && !to.lentOnly:
		return NotReady
	case h == nil || h.program.gone || h.borrowed:
		return NotFound
	case h.program.owner != to.Identity:
		return NotPrivileged
	case to.programs[token] != nil && !to.programs[token].program.gone:
		return Busy
	}
	to.addHandle(&handle{instance: h.instance, borrowed: true})
	to.open = true
	return Success
}

// Intermediate returns the handle of the intermediate buffer of the program for which c holds the given
// token, and whether there is one. The documents name such handles, but not their form: here they
// are numbers.
func (c *Client) Intermediate(token uint64) (handle uint64, ok bool) {
	h := c.programs[token]
	if h == nil || h.program.gone {
		return 0, false
	}
	return h.program.intermediate, true
}

// Assign makes the identity id the owner of the program for which c holds the given token, on whose
// behalf c created it. Assign does nothing if there is no such program.
func (c *Client) Assign(token uint64, id Identity) {
	if h := c.programs[token]; h != nil {
		h.program.owner = id
	}
}

// Tokens returns the tokens of the programs that c holds, in ascending order.
func (c *Client) Tokens() []uint64 { return slices.Sorted(maps.Keys(c.programs)) }

// findHandle reads the token in the first word of the struct in. It returns the client's handle
// with that token, or nil if there is none, followed by the token.
func (c *Client) findHandle(in []byte) (*handle, uint64) {
	token := binary.LittleEndian.Uint64(in)
	return c.programs[token], token
}

// setPrepared creates the process in which requests run if on is true, and ends this process
// otherwise.
func (c *Client) setPrepared(in []byte, on bool) Return {
	h, _ := c.findHandle(in)
	switch {
	case h == nil || h.program.gone:
		return NotFound
	case h.borrowed:
		return NotPrivileged
	case h.prepared == on && on:
		return Busy
	case h.prepared == on:
		return NotReady
	}
	id := command.TerminateProcess
	if on {
		id = command.CreateProcess
	}
	r := c.driver.backend.Send(command.Control, h.newCallMessage(id, 0, 0, nil))
	if r.Status == command.OK {
		h.prepared = on
	}
	return translateReply(&r)
}

func (c *Client) destroyProgram(in []byte) Return {
	h, token := c.findHandle(in)
	if h == nil {
		return NotFound
	}
	return c.releaseHandle(token)
}

// releaseHandle releases the handle with the given token. When the owner releases its last
// handle, the program is unloaded.
func (c *Client) releaseHandle(token uint64) Return {
	h := c.programs[token]
	delete(c.programs, token)
	c.driver.programs--
	if h.borrowed || h.program.gone {
		return Success
	}
	if h.program.handles--; h.program.handles > 0 {
		if h.prepared {
			c.driver.backend.Send(command.Control, h.newCallMessage(command.TerminateProcess, 0, 0, nil))
		}
		h.prepared = false
		return Success
	}
	h.program.gone = true
	delete(c.driver.live, h.program.slot)
	r := c.driver.sendProgramCommand(command.UnloadProgram, h.program.slot)
	c.driver.sendProgramCommand(command.ReturnProgramID, h.program.slot)
	return translateReply(&r)
}

// sendChainingCommand sends one of the commands for data chaining: it installs the active procedure
// as a cache request, activates another procedure, or returns the output buffer set. The struct in
// holds the token and the procedure (assumed). sendChainingCommand returns Unsupported if the
// client lacks the entitlement.
func (c *Client) sendChainingCommand(in []byte, id command.ID) Return {
	if !c.chaining {
		return Unsupported
	}
	h, _ := c.findHandle(in)
	if h == nil || h.program.gone {
		return NotFound
	}
	procedure := binary.LittleEndian.Uint32(in[8:])
	r := c.driver.backend.Send(command.Control, h.newCallMessage(id, procedure, 0, nil))
	if r.Status == command.OK && id != command.ProcedureCallRecycleOutputBuffer {
		h.active = procedure
	}
	return translateReply(&r)
}

// signalInputsReady triggers the cache request of the active procedure. The struct in holds the
// token, the number of surfaces, which is at most 16, and their addresses (assumed).
func (c *Client) signalInputsReady(in []byte) Return {
	if !c.chaining {
		return Unsupported
	}
	le := binary.LittleEndian
	h, _ := c.findHandle(in)
	n := le.Uint32(in[8:])
	switch {
	case h == nil || h.program.gone:
		return NotFound
	case n > command.MaxTriggerInputs:
		return BadArgument
	}
	var surfaces []uint64
	for i := range n {
		surfaces = append(surfaces, le.Uint64(in[16+8*i:]))
	}
	r := c.driver.backend.Send(command.Execution, h.newCallMessage(command.ProcedureCallTriggerCacheRequest, h.active, 5, surfaces))
	return translateReply(&r)
}

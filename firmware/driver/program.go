package driver

import (
	"encoding/binary"

	"anesim/firmware/command"
)

// A program stands in one of the controller's slots while handles of its owner are left.
type program struct {
	slot    int32
	handles int
	gone    bool
}

// An instance is a process of a program: bindings and state of its own on shared weights.
type instance struct {
	program  *program
	process  int32
	prepared bool
	active   uint32 // procedure
}

// A handle is what a client holds of an instance. One that was handed over by the broker's
// connection is borrowed: it sends requests, and ends without ending the instance.
type handle struct {
	*instance
	borrowed bool
}

// token is a handle's number: the slot counted from 1, and above it the process. Slots are
// given out in order, so the first program that is created is 1.
func (x *instance) token() uint64 { return uint64(x.process)<<32 | uint64(x.program.slot+1) }

// message is a command that concerns the instance, with surfaces as its buffers.
func (x *instance) message(id command.ID, procedure, priority uint32, surfaces []uint64) *command.Message {
	m := &command.Message{Header: command.Header{ID: id, Priority: priority, Program: x.program.slot, Process: x.process, Procedure: procedure}}
	switch id {
	case command.ProcedureCallRecycleOutputBuffer, command.SetActiveCacheRequestInGroup, command.TerminateProcess:
		return m // nothing follows the header
	}
	call := command.Call{OutputSets: 1, Partitions: 1, Requests: 1}
	for i, s := range surfaces {
		call.Buffers = append(call.Buffers, command.Buffer{Port: uint32(i), Address: s})
	}
	m.Body = call.Append(nil)
	return m
}

// Program messages without a body.
func (d *Driver) of(id command.ID, slot int32) command.Reply {
	return d.send(command.Control, &command.Message{Header: command.Header{ID: id, Program: slot, Process: -1}})
}

// create makes a program: the struct's first words are the address and size of its image,
// then the procedures that may be called, 0 for all, and the custom bars (the documents
// give the size of the struct and not its fields: the layout is ours, assumed).
func (c *Client) create(in []byte) Return {
	le := binary.LittleEndian
	id := c.driver.of(command.RequestProgramID, -1)
	if id.Status != command.OK {
		return returnOf(&id)
	}
	p := command.Program{Address: le.Uint64(in), Bytes: le.Uint32(in[8:]), Procedures: le.Uint32(in[12:]), Bars: le.Uint32(in[16:])}
	load := c.driver.send(command.Control, &command.Message{Header: command.Header{ID: command.LoadProgram, Program: id.Program, Process: -1}, Body: p.Append(nil)})
	if load.Status != command.OK {
		c.driver.of(command.ReturnProgramID, id.Program)
		return returnOf(&load)
	}
	made := &program{slot: id.Program}
	if old := c.driver.live[id.Program]; old != nil {
		old.gone = true // somebody else on the ring has given its slot back
	}
	c.driver.live[id.Program] = made
	c.hold(&handle{instance: &instance{program: made}})
	return Success
}

// instance makes another instance of a program that the client has: the struct's first
// word is its token (ours). The new one's token has the next process above it.
func (c *Client) instance(in []byte) Return {
	base, _ := c.handleOf(in)
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
	c.hold(&handle{instance: &instance{program: base.program, process: process}})
	return Success
}

// hold gives the client a handle. One that leads nowhere may have had its token before.
func (c *Client) hold(h *handle) {
	if c.programs[h.token()] != nil {
		c.drop(h.token())
	}
	c.programs[h.token()] = h
	c.driver.programs++
	if !h.borrowed {
		h.program.handles++
	}
}

// Lend gives another client a handle to one of this client's programs, under the same
// token: what the broker does for a client with a connection of its own. The other may
// send requests until either gives the program back.
func (c *Client) Lend(token uint64, to *Client) Return {
	h := c.programs[token]
	switch {
	case c.closed || to.closed:
		return ExclusiveAccess
	case !c.open || !to.open:
		return NotReady
	case h == nil || h.program.gone || h.borrowed:
		return NotFound
	case to.programs[token] != nil && !to.programs[token].program.gone:
		return Busy
	}
	to.hold(&handle{instance: h.instance, borrowed: true})
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
	r := c.driver.send(command.Control, h.message(id, 0, 0, nil))
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
	return c.drop(token)
}

// drop gives a handle back; the program goes with the last of its owner's.
func (c *Client) drop(token uint64) Return {
	h := c.programs[token]
	delete(c.programs, token)
	c.driver.programs--
	if h.borrowed || h.program.gone {
		return Success
	}
	if h.program.handles--; h.program.handles > 0 {
		if h.prepared {
			c.driver.send(command.Control, h.message(command.TerminateProcess, 0, 0, nil))
		}
		h.prepared = false
		return Success
	}
	h.program.gone = true
	delete(c.driver.live, h.program.slot)
	r := c.driver.of(command.UnloadProgram, h.program.slot)
	c.driver.of(command.ReturnProgramID, h.program.slot)
	return returnOf(&r)
}

// chain does what the resident submission model has of selectors: it installs the active
// procedure as a cache request (chaining prepare), makes another procedure the active one,
// or returns the output set to it (output-set enqueue). The struct is the token, then the
// procedure (ours). Without the entitlement the path is disabled.
func (c *Client) chain(in []byte, id command.ID) Return {
	if !c.chaining {
		return Unsupported
	}
	h, _ := c.handleOf(in)
	if h == nil || h.program.gone {
		return NotFound
	}
	procedure := binary.LittleEndian.Uint32(in[8:])
	r := c.driver.send(command.Control, h.message(id, procedure, 0, nil))
	if r.Status == command.OK && id != command.ProcedureCallRecycleOutputBuffer {
		h.active = procedure
	}
	return returnOf(&r)
}

// inputsReady triggers the active procedure's cache request: the struct is the token, a
// count of surfaces, at most the 16 of a trigger, and their addresses (ours).
func (c *Client) inputsReady(in []byte) Return {
	if !c.chaining {
		return Unsupported
	}
	le := binary.LittleEndian
	h, _ := c.handleOf(in)
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
	r := c.driver.send(command.Execution, h.message(command.ProcedureCallTriggerCacheRequest, h.active, 5, surfaces))
	return returnOf(&r)
}

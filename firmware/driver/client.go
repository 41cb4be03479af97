package driver

import (
	"encoding/binary"
	"maps"
	"slices"

	"anesim/firmware/command"
)

// Arguments are those of one call.
type Arguments struct {
	Scalars               []uint64
	Struct                []byte
	ScalarsOut, StructOut uint32 // room the caller has
}

// Results are what a call gives back.
type Results struct {
	Return  Return
	Scalars []uint64
	Struct  []byte
}

// A Backend is what stands below the driver.
type Backend interface {
	// Send puts a message on a channel of the ring, rings the doorbell and returns the
	// controller's reply.
	Send(ch command.Channel, m *command.Message) command.Reply
	// Map gives a host buffer a device address, Unmap takes it away.
	Map(buffer, size uint64) (address uint64, ok bool)
	Unmap(address uint64) bool
}

// A Driver is the one instance of the engine's driver. At rest it has no client.
type Driver struct {
	backend Backend
	clients int
	next    uint64 // token
	pending bool   // a command is in flight: one at a time (documents)
}

// New returns a driver over a backend.
func New(b Backend) *Driver { return &Driver{backend: b, next: 1} }

// Clients is how many user clients are open.
func (d *Driver) Clients() int { return d.clients }

// A Client is a user client of a caller.
type Client struct {
	driver     *Driver
	kind       Kind
	rights     Entitlements
	privileged bool // privileged virtual-machine access, for the raw methods
	chaining   bool
	open       bool
	closed     bool
	token      uint64
	programs   map[uint64]*handle
}

// A handle is a program that a client has made.
type handle struct {
	slot     int32
	prepared bool
	active   uint32 // procedure
}

// NewUserClient makes a client of a kind. Without the user-access entitlement nothing is
// made and the return is NotPrivileged. Rights are read here and never again.
func (d *Driver) NewUserClient(k Kind, rights Entitlements, privileged bool) (*Client, Return) {
	switch {
	case k > Hints:
		return nil, BadArgument
	case k == Hints && !rights.Has(SetHints):
		return nil, NotPrivileged
	case k != Hints && !rights.Has(UserAccess):
		return nil, NotPrivileged
	}
	d.clients++
	return &Client{
		driver: d, kind: k, rights: append(Entitlements(nil), rights...), privileged: privileged,
		chaining: rights.Has(DataChaining), programs: map[uint64]*handle{},
	}, Success
}

// Close ends the client; calls on it return ExclusiveAccess from then on.
func (c *Client) Close() {
	if !c.closed {
		c.release()
		c.closed = true
		c.driver.clients--
	}
}

// release gives the client's programs back.
func (c *Client) release() {
	for _, token := range slices.Sorted(maps.Keys(c.programs)) {
		h := c.programs[token]
		c.driver.send(command.Control, &command.Message{Header: command.Header{ID: command.UnloadProgram, Program: h.slot, Process: -1}})
		c.driver.send(command.Control, &command.Message{Header: command.Header{ID: command.ReturnProgramID, Program: h.slot, Process: -1}})
	}
	c.programs = map[uint64]*handle{}
	c.open = false
}

// Call makes a call by its selector's number. Sizes are compared before anything else and
// must be exact.
func (c *Client) Call(number uint32, a Arguments) Results {
	table := Selectors(c.kind)
	if int64(number) >= int64(len(table)) {
		return Results{Return: BadArgument}
	}
	s := &table[number]
	if (Sizes{uint32(len(a.Scalars)), uint32(len(a.Struct)), a.ScalarsOut, a.StructOut}) != s.Sizes {
		return Results{Return: BadArgument}
	}
	if c.closed {
		return Results{Return: ExclusiveAccess}
	}
	r := Results{Scalars: make([]uint64, s.ScalarsOut), Struct: make([]byte, s.StructOut)}
	if r.Return = c.perform(s, &a, &r); r.Return != Success {
		return Results{Return: r.Return}
	}
	return r
}

func (c *Client) perform(s *Selector, a *Arguments, r *Results) Return {
	if s.Name == "ANE_DeviceOpen" {
		return c.deviceOpen(a.Struct, r.Struct)
	}
	if s.Name == "ANE_LoadFirmware" {
		return Unsupported // the firmware is loaded when the driver starts
	}
	if !c.open {
		return NotReady
	}
	switch s.Name {
	case "ANE_DeviceClose":
		c.release()
		return Success
	case "ANE_ProgramSendRequest":
		return c.sendRequest(a.Struct, r.Struct)
	case "ANE_ProgramCreate", "ANE_ProgramCreateInstance":
		return c.create(a.Struct)
	case "ANE_ProgramPrepare":
		copy(r.Struct, a.Struct)
		return c.prepare(a.Struct, true)
	case "ANE_ProgramUnprepare":
		return c.prepare(a.Struct, false)
	case "ANE_ProgramDestroy":
		return c.destroy(a.Struct)
	case "ANE_GetStatus":
		binary.LittleEndian.PutUint64(r.Struct, uint64(len(c.programs)))
		return Success
	case "ANE_GetVersion":
		r.Scalars[0] = version
		return Success
	case "ANE_ProgramChainingPrepare", "ANE_ProgramChainingSetActiveProcedure":
		return c.chain(a.Struct)
	case "ANE_MemoryMapRequest":
		le := binary.LittleEndian
		address, ok := c.driver.backend.Map(le.Uint64(a.Struct), le.Uint64(a.Struct[8:]))
		if !ok {
			return NoMemory
		}
		r.Scalars[0] = address
		return Success
	case "ANE_MemoryUnMapRequest":
		if !c.driver.backend.Unmap(binary.LittleEndian.Uint64(a.Struct)) {
			return NotFound
		}
		return Success
	case "ANE_SessionHintRequest":
		if !c.rights.Has(SetHints) {
			return Unsupported // what a gated feature returns without its entitlement
		}
		copy(r.Struct, a.Struct)
		return Success
	}
	return Unsupported
}

// send puts a message on the ring, one at a time.
func (d *Driver) send(ch command.Channel, m *command.Message) command.Reply {
	d.pending = true
	r := d.backend.Send(ch, m)
	d.pending = false
	return r
}

// returnOf is the driver's return for a status of the controller.
func returnOf(r *command.Reply) Return {
	switch {
	case r.Dropped:
		return Aborted
	case r.Status == command.OK:
		return Success
	}
	switch r.Status {
	case command.Malformed, command.OverLimit:
		return BadArgument
	case command.Unsupported:
		return Unsupported
	case command.NotFound:
		return NotFound
	case command.WrongState:
		return NotReady
	case command.NoRoom:
		return NoResources
	}
	return Error
}

// Kind is the client's.
func (c *Client) Kind() Kind { return c.kind }

package driver

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"anesim/internal/firmware/command"
)

// Arguments holds what a client passes to a [Selector]: scalars, a struct, and the sizes of the
// client's buffers for the results.
type Arguments struct {
	Scalars               []uint64
	Struct                []byte
	ScalarsOut, StructOut uint32 // sizes of the caller's output buffers

	// Wake makes the selector that sends a request asynchronous, as a wake port does. The call returns
	// once the request is posted, and Wake is called with its completion.
	Wake func(Completion)
	// Timeout is how long the request may take from the call on; 0 means for ever. The request is
	// then aborted, and the call or its completion returns [Timeout].
	Timeout time.Duration
}

// A Completion is the message that arrives at the wake port of an asynchronous request.
type Completion struct {
	Return Return
	Reply  []byte // ReplyBytes bytes: the sequence at +0x00, the token at +0x08, the Return at +0x20
}

// Results holds the outcome of a call of a [Selector].
type Results struct {
	Return  Return
	Scalars []uint64
	Struct  []byte
}

// A Backend gives a [Driver] access to the layers below it: the controller, device memory, events
// and registers.
type Backend interface {
	// Send puts m on the ring of channel ch, rings its doorbell, and returns the
	// controller's reply.
	Send(ch command.Channel, m *command.Message) command.Reply
	// Submit performs a call of a program, from the start of the host's part in it to the end. It
	// returns false if there is no room for one more.
	Submit(s *Submission) bool
	// Cancel ends all calls of a process that have not ended, with End.Closed.
	Cancel(process uint64)
	// Map allocates a device address for size bytes of a host buffer, and Unmap frees it.
	// Both return false on failure.
	Map(buffer, size uint64) (address uint64, ok bool)
	Unmap(address uint64) bool
	// Signal raises the value of a shared event to e.Value.
	Signal(e command.Event)
	// ReadRegister and WriteRegister access an engine register. They return false if the
	// address is invalid.
	ReadRegister(address uint64) (v uint32, ok bool)
	WriteRegister(address uint64, v uint32) (ok bool)
	// SetPower changes a power setting. It returns false if the value is out of range.
	SetPower(s PowerSetting, value uint64) bool
}

// A PowerSetting is a setting of the engine's power policy.
type PowerSetting uint8

// Power settings, with the values that they take. The documents name the methods that set them, but
// not the values.
const (
	PowerManagement PowerSetting = iota // 1 on, 0 off: the engine never powers down
	PowerGating                         // 1 on, 0 off: all clusters are on while the engine is
	PowerHysteresis                     // milliseconds, 1 or more, for which the engine stays on after work
	PowerThrottling                     // 1 to 100 percent of full power; 100 means no limit
)

// A Submission is a call of a program on its way from a client to the controller and back.
type Submission struct {
	Message *command.Message
	// Process identifies the client's process. A request of a process that has another one under way
	// never completes on the M1; it can only time out.
	Process uint64
	Wait    bool          // the client waits for the end: Backend.Submit returns after Done was called
	Timeout time.Duration // time from the start after which the request is given up; 0 means never
	// Done is called once, when the client learns how the request ended.
	Done func(End)
}

// An End says how a [Submission] ended.
type End struct {
	Reply   command.Reply
	Expired bool // the time is up; there is no reply
	// Stuck is set if nothing can end the request any more, so that a client that waits would wait
	// for ever. The request is given up.
	Stuck bool
	// Closed is set if the client closed the device, or its connection, before. The request is given up.
	Closed bool
}

// A Driver models the kernel driver of the engine, which checks the calls of clients and
// turns them into commands.
type Driver struct {
	backend   Backend
	clients   int
	next      uint64 // token of the next open
	processes uint64 // number of clients so far
	// intermediates is the number of intermediate buffers so far.
	intermediates uint64
	persistent    int // number of clients that keep the device resident
	mapped        int // number of mapped buffers
	bytes         uint64
	programs      int // number of program handles
	live          map[int32]*program
}

// New returns a driver without clients that uses b to perform its work.
func New(b Backend) *Driver { return &Driver{backend: b, next: 1, live: map[int32]*program{}} }

// Reset handles a reset of the controller, which discards all programs. The tokens that clients
// hold for programs become invalid.
func (d *Driver) Reset() {
	for _, p := range d.live {
		p.gone = true
	}
	clear(d.live)
}

// Clients returns the number of open clients.
func (d *Driver) Clients() int { return d.clients }

// Handles returns the number of program tokens that clients hold.
func (d *Driver) Handles() int { return d.programs }

// Buffers returns the number of host buffers that clients have mapped, and their total
// size.
func (d *Driver) Buffers() (n int, bytes uint64) { return d.mapped, d.bytes }

// A Client is a connection of a process to the [Driver].
type Client struct {
	// Identity is the client's code signature. It must be set before the client creates programs.
	Identity Identity

	driver     *Driver
	kind       Kind
	process    uint64 // number of the client
	rights     Entitlements
	privileged bool // privileged virtual-machine access, for the raw methods
	chaining   bool
	persistent bool
	open       bool
	lentOnly   bool // the client may use only what the broker lends to it
	closed     bool
	token      uint64
	programs   map[uint64]*handle
	buffers    map[uint64]uint64 // sizes by device address
}

// NewUserClient returns a new client of kind k with the entitlements in rights. It returns
// [NotPrivileged] if rights lacks the entitlement for this kind: [SetHints] for Hints, and
// [UserAccess] for the others. With [SandboxException], a client of the direct path needs no
// UserAccess, but cannot open the device itself. If privileged is true, the client has privileged access to virtual
// memory, which some methods require.
func (d *Driver) NewUserClient(k Kind, rights Entitlements, privileged bool) (*Client, Return) {
	switch {
	case k > Hints:
		return nil, BadArgument
	case k == Hints && !rights.Has(SetHints):
		return nil, NotPrivileged
	case k != Hints && !rights.Has(UserAccess) && !(k == DirectPath && rights.Has(SandboxException)):
		return nil, NotPrivileged
	}
	d.clients++
	d.processes++
	return &Client{
		driver: d, kind: k, process: d.processes, rights: append(Entitlements(nil), rights...), privileged: privileged,
		chaining: rights.Has(DataChaining), lentOnly: k != Hints && !rights.Has(UserAccess), programs: map[uint64]*handle{}, buffers: map[uint64]uint64{},
	}, Success
}

// Close closes the client. Its calls that are outstanding end with [Aborted] (assumed). Later calls on
// the client return [ExclusiveAccess].
func (c *Client) Close() {
	if !c.closed {
		c.releaseAll()
		c.closed = true
		c.driver.clients--
	}
}

// releaseAll ends the calls of the client, unloads the programs and unmaps the buffers that it holds. The
// calls come first, because those of a lent program would go on without their client, and those that
// overlap with another one would be outstanding for ever.
func (c *Client) releaseAll() {
	c.driver.backend.Cancel(c.process)
	for _, token := range slices.Sorted(maps.Keys(c.programs)) {
		c.releaseHandle(token)
	}
	for _, address := range slices.Sorted(maps.Keys(c.buffers)) {
		c.unmapBuffer(address)
	}
	if c.persistent {
		c.persistent = false
		c.driver.persistent--
	}
	c.open = false
}

// Call calls the selector with the given number. The Return in the results is [BadArgument] if
// clients of this kind have no such selector, or if the sizes of the arguments and results differ
// from those of the selector.
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
	if r.Return = c.performSelector(s, &a, &r); r.Return != Success {
		return Results{Return: r.Return}
	}
	return r
}

func (c *Client) performSelector(s *Selector, a *Arguments, r *Results) Return {
	if s.Name == "ANE_DeviceOpen" {
		return c.openDevice(a.Struct, r.Struct)
	}
	if s.Name == "ANE_LoadFirmware" {
		return Unsupported // the firmware is loaded when the driver starts
	}
	if !c.open {
		return NotReady
	}
	switch s.Name {
	case "ANE_DeviceClose":
		c.releaseAll()
		return Success
	case "ANE_ProgramSendRequest":
		return c.sendRequest(a, r.Struct)
	case "ANE_ProgramCreate":
		return c.createProgram(a.Struct)
	case "ANE_ProgramCreateInstance":
		return c.createInstance(a.Struct)
	case "ANE_ProgramPrepare":
		copy(r.Struct, a.Struct)
		return c.setPrepared(a.Struct, true)
	case "ANE_ProgramUnprepare":
		return c.setPrepared(a.Struct, false)
	case "ANE_ProgramDestroy":
		return c.destroyProgram(a.Struct)
	case "ANE_GetStatus":
		binary.LittleEndian.PutUint64(r.Struct, uint64(len(c.programs)))
		return Success
	case "ANE_GetVersion":
		r.Scalars[0] = version
		return Success
	case "ANE_ProgramChainingPrepare":
		return c.sendChainingCommand(a.Struct, command.ProcedureCallCacheRequest)
	case "ANE_ProgramChainingSetActiveProcedure":
		return c.sendChainingCommand(a.Struct, command.SetActiveCacheRequestInGroup)
	case "ANE_ProgramOutputSetEnqueue":
		return c.sendChainingCommand(a.Struct, command.ProcedureCallRecycleOutputBuffer)
	case "ANE_ProgramInputsReady":
		return c.signalInputsReady(a.Struct)
	case "ANE_MemoryMapRequest":
		le := binary.LittleEndian
		var ret Return
		r.Scalars[0], ret = c.mapBuffer(le.Uint64(a.Struct), le.Uint64(a.Struct[8:]))
		return ret
	case "ANE_MemoryUnMapRequest":
		return c.unmapBuffer(binary.LittleEndian.Uint64(a.Struct))
	case "ANE_SessionHintRequest":
		if !c.rights.Has(SetHints) {
			return Unsupported // as for all features whose entitlement is missing
		}
		copy(r.Struct, a.Struct)
		return Success
	}
	return Unsupported
}

// mapBuffer maps size bytes of a host buffer for the client and returns their device
// address. It returns NoMemory if the backend cannot map them.
func (c *Client) mapBuffer(buffer, size uint64) (address uint64, r Return) {
	address, ok := c.driver.backend.Map(buffer, size)
	if !ok {
		return 0, NoMemory
	}
	c.buffers[address] = size
	c.driver.mapped++
	c.driver.bytes += size
	return address, Success
}

// unmapBuffer frees the buffer of the client at a device address.
func (c *Client) unmapBuffer(address uint64) Return {
	size, ok := c.buffers[address]
	if !ok || !c.driver.backend.Unmap(address) {
		return NotFound
	}
	delete(c.buffers, address)
	c.driver.mapped--
	c.driver.bytes -= size
	return Success
}

// translateReply returns the value that the driver returns to its client for the controller's
// reply.
func translateReply(r *command.Reply) Return {
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
	case command.NoMemory:
		return NoMemory
	}
	return Error
}

// Kind returns the kind of the client.
func (c *Client) Kind() Kind { return c.kind }

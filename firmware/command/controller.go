package command

import (
	"errors"
	"fmt"
	"slices"
)

// A Status is how a command ended. The documents print one and do not list them: the
// numbers are ours (assumed).
type Status uint32

// The statuses.
const (
	OK          Status = iota
	Malformed          // the message cannot be read
	OverLimit          // a documented limit is exceeded
	Unsupported        // known and not done: bodies nobody documents, stubs
	NotFound           // no such program, process, procedure or cache request
	WrongState         // not now: before boot, in a mode that takes no work
	NoRoom             // no slot is free
	Failed             // the engine did not do it
)

// String names the status.
func (s Status) String() string {
	names := [...]string{"ok", "malformed", "over a limit", "unsupported", "not found", "wrong state", "no room", "failed"}
	if int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("status %d", uint32(s))
}

// A Channel is one of the two ways in.
type Channel uint8

// The channels. Execution takes procedure calls, those with bars, those with events and
// the trigger of a cache request; anything else on it is refused.
const (
	Control Channel = iota
	Execution
)

// An Engine does what the commands ask for.
type Engine interface {
	// Load makes a program's procedures callable, and says how many there are.
	Load(slot int32, p Program) (procedures uint32, s Status)
	Unload(slot int32)
	// Call runs a procedure of a program with a process's buffers, or accepts it to run
	// when its turn comes.
	Call(h Header, c Call) Status
	// Terminate drops the calls of a process that have not ended.
	Terminate(slot, process int32)
	// Quiesce runs what is accepted to its end.
	Quiesce() Status
	// Power switches the engine on or off.
	Power(on bool) Status
	// Boot starts the engine; it may have been started before.
	Boot() Status
	// Pause stops the engine between two runs of descriptors, or lets it go on.
	Pause(on bool) Status
	// Secure enters or leaves secure mode: what is accepted quiesces first, and the power
	// is cycled.
	Secure(on bool) Status
}

// Slots of programs, and of processes of each: the documents name requests for both and
// no number (assumed).
const (
	MaxPrograms  = 64
	MaxProcesses = 64
)

type program struct {
	Program
	processes map[int32]Call // the bindings of each
	prefetch  bool           // has an AFPP
}

// A Ledger counts messages: every one that was received is in exactly one of the other
// three.
type Ledger struct {
	Received, Answered, Refused, Dropped uint64
	// Notified and Lost are messages of the controller's own: those the host was sent, and
	// those its ring had no room for.
	Notified, Lost uint64
}

// Balanced reports whether every message is accounted for.
func (l *Ledger) Balanced() bool { return l.Received == l.Answered+l.Refused+l.Dropped }

// A Reply is what became of a message.
type Reply struct {
	Header
	Status  Status
	Dropped bool   // no answer was sent: nobody is there to take it
	Why     string // of a refusal, in words
	Body    []byte // of an answer that has one
}

// A Controller is the firmware's side of the rings.
type Controller struct {
	// Notify, where it is not nil, takes the controller's own messages to the host, and
	// reports whether there was room.
	Notify func(*Message) bool

	engine   Engine
	ledger   Ledger
	booted   bool
	paused   bool
	secure   bool
	claimed  int32 // program that has secure mode to itself, -1 for any
	disabled bool  // cache requests
	programs map[int32]*program
	cache    map[key]*cached
	property map[uint32]uint64
	slots    [MaxPrograms]bool // asked for by the host
}

// NewController returns a controller that has not booted.
func NewController(e Engine) *Controller {
	return &Controller{engine: e, claimed: -1, programs: map[int32]*program{}, cache: map[key]*cached{}, property: map[uint32]uint64{}}
}

// Ledger returns the counts so far.
func (c *Controller) Ledger() Ledger { return c.ledger }

// Booted reports whether the controller takes commands beyond those of its life cycle.
func (c *Controller) Booted() bool { return c.booted }

// Secure reports whether the controller is in secure mode.
func (c *Controller) Secure() bool { return c.secure }

// Programs is how many programs are loaded.
func (c *Controller) Programs() int { return len(c.programs) }

// CacheRequests is how many cache requests are installed.
func (c *Controller) CacheRequests() int { return len(c.cache) }

// Handle does what one message of a channel says. Every message counts once.
func (c *Controller) Handle(ch Channel, b []byte) Reply {
	c.ledger.Received++
	m, rest, err := Read(b)
	if err == nil && len(rest) > 0 {
		err = &FormatError{len(b) - len(rest), fmt.Sprintf("%d bytes follow the message", len(rest))}
	}
	r := Reply{Header: m.Header}
	if err != nil {
		r.Status, r.Why = Malformed, err.Error()
	} else {
		c.handle(ch, &m, &r)
	}
	switch {
	case r.Dropped:
		c.ledger.Dropped++
	case r.Status != OK:
		c.ledger.Refused++
	default:
		c.ledger.Answered++
	}
	return r
}

func (r *Reply) refuse(s Status, format string, args ...any) {
	r.Status, r.Why = s, fmt.Sprintf(format, args...)
}

// executes reports whether the execution channel takes a command.
func executes(id ID) bool {
	switch id {
	case ProcedureCall, ProcedureCallWithCustomBars, ProcedureCallWithSignalEvents, ProcedureCallTriggerCacheRequest:
		return true
	}
	return false
}

func (c *Controller) handle(ch Channel, m *Message, r *Reply) {
	info, _ := m.ID.Info()
	switch {
	case info.Direction == Up:
		r.refuse(Unsupported, "%v is a notification: the controller sends it", m.ID)
	case ch == Execution && !executes(m.ID):
		r.refuse(Unsupported, "the execution channel takes calls, not %v", m.ID)
	case ch == Control && executes(m.ID):
		r.refuse(Unsupported, "%v belongs on the execution channel", m.ID)
	case !c.booted && m.ID != Boot && m.ID != Ping && m.ID != Buildinfo && m.ID != PlatformInfo && m.ID != Reset:
		r.refuse(WrongState, "the controller has not booted")
	case info.Body == BodyNone && m.Size > 0:
		r.refuse(Malformed, "%v has no body, %d bytes came", m.ID, m.Size)
	default:
		c.perform(m, r)
	}
}

func (c *Controller) perform(m *Message, r *Reply) {
	switch m.ID {
	case Ping, Buildinfo, PlatformInfo, ResourceInfoGet:
	case Boot:
		c.boot(r)
	case Reset, Stop, PowerDown:
		c.reset()
		c.notify(CHResetNotification, m.Header, Notice{})
	case PowerDeviceOn, PowerDeviceOff:
		c.power(m.ID == PowerDeviceOn, m, r)
	case Suspend:
		if c.paused {
			r.refuse(WrongState, "the engine is suspended already")
		} else if c.accept(c.engine.Pause(true), r, "suspended") {
			c.paused = true
		}
	case QuiesceState:
		if c.paused {
			r.refuse(WrongState, "the engine is suspended: nothing can run to its end")
		} else {
			c.accept(c.engine.Quiesce(), r, "quiesced")
		}
	case SecureModeStart, SecureModeStop, SecureModeResumeTransition:
		c.secureMode(m, r)
	case ExclaveModeStart, ExclaveModeStop:
		r.refuse(Unsupported, "%v is a stub on H13", m.ID)
	case RequestProgramID:
		c.request(r)
	case ReturnProgramID:
		if !c.slot(m.Program) || !c.slots[m.Program] {
			r.refuse(NotFound, "program slot %d was not asked for", m.Program)
		} else if c.programs[m.Program] != nil {
			r.refuse(WrongState, "program slot %d holds a program", m.Program)
		} else {
			c.slots[m.Program] = false
		}
	case RequestProcessID, ReturnProcessID:
		c.processID(m, r)
	case LoadProgram:
		c.load(m, r)
	case UnloadProgram:
		if p := c.find(m, r); p != nil && c.bare(m, r) {
			c.unload(m.Program)
		}
	case LoadAFPP, UnloadAFPP:
		c.prefetch(m, r)
	case CreateProcess:
		c.create(m, r)
	case TerminateProcess:
		c.terminate(m, r)
	case CHPropertyWrite, CHPropertyRead:
		c.properties(m, r)
	case DebugCommandDataCheck:
		c.dataCheck(m, r)
	case ProcedureCall, ProcedureCallWithCustomBars, ProcedureCallWithSignalEvents:
		c.call(m, r)
	case ProcedureCallTriggerCacheRequest:
		c.trigger(m, r)
	case ProcedureCallCacheRequest, ProcedureCallCacheRequestWithCustomBars, ProcedureCallCacheRequestWithSharedEvents:
		c.install(m, r)
	case ProcedureCallInvalidateCacheRequest, ProcedureCallRecycleOutputBuffer, SetActiveCacheRequestInGroup:
		c.manage(m, r)
	case ForceDisableCacheRequests:
		c.disabled = true
		c.forget(func(key) bool { return true })
	default:
		r.refuse(Unsupported, "no document says what %v does", m.ID)
	}
}

func (c *Controller) slot(n int32) bool { return n >= 0 && n < MaxPrograms }

func (c *Controller) request(r *Reply) {
	for i := range c.slots {
		if !c.slots[i] && c.programs[int32(i)] == nil {
			c.slots[i] = true
			r.Program = int32(i)
			return
		}
	}
	r.refuse(NoRoom, "all %d program slots are taken", MaxPrograms)
}

// processID gives out the lowest process number that a program has free, or takes one
// back: what is free is what has no process, so there is nothing to note of either.
func (c *Controller) processID(m *Message, r *Reply) {
	p := c.find(m, r)
	if p == nil {
		return
	}
	if m.ID == ReturnProcessID {
		if _, ok := p.processes[m.Process]; ok {
			r.refuse(WrongState, "process %d of program %d runs", m.Process, m.Program)
		}
		return
	}
	for n := range int32(MaxProcesses) {
		if _, ok := p.processes[n]; !ok {
			r.Process = n
			return
		}
	}
	r.refuse(NoRoom, "program %d has %d processes", m.Program, MaxProcesses)
}

func (c *Controller) find(m *Message, r *Reply) *program {
	p := c.programs[m.Program]
	if p == nil {
		r.refuse(NotFound, "no program in slot %d", m.Program)
	}
	return p
}

func (c *Controller) load(m *Message, r *Reply) {
	p, err := ReadProgram(m.ID, m.Body)
	switch {
	case err != nil:
		r.fail(err)
	case !c.slot(m.Program):
		r.refuse(NotFound, "program slot %d: slots are 0 to %d", m.Program, MaxPrograms-1)
	case c.programs[m.Program] != nil:
		r.refuse(WrongState, "program slot %d holds a program", m.Program)
	default:
		n, s := c.engine.Load(m.Program, p)
		if s != OK {
			r.refuse(s, "the engine did not load the program")
			return
		}
		p.Procedures = n
		c.programs[m.Program] = &program{Program: p, processes: map[int32]Call{}}
	}
}

func (c *Controller) unload(slot int32) {
	c.engine.Unload(slot)
	if c.claimed == slot {
		c.claimed = -1
	}
	delete(c.programs, slot)
	c.forget(func(k key) bool { return k.program == slot })
}

// forget drops the cache requests that match.
func (c *Controller) forget(match func(key) bool) {
	for k := range c.cache {
		if match(k) {
			delete(c.cache, k)
		}
	}
}

// create makes a process: a set of bindings of a program's ports.
func (c *Controller) create(m *Message, r *Reply) {
	p := c.find(m, r)
	if p == nil {
		return
	}
	bindings, err := ReadCall(m.ID, m.Body)
	if err == nil {
		err = announced(m.ID, &bindings)
	}
	_, there := p.processes[m.Process]
	switch {
	case err != nil:
		r.fail(err)
	case m.Process < 0 || m.Process >= MaxProcesses:
		r.refuse(NoRoom, "process %d: processes are 0 to %d", m.Process, MaxProcesses-1)
	case there:
		r.refuse(WrongState, "program %d has a process %d", m.Program, m.Process)
	default:
		p.processes[m.Process] = bindings
	}
}

// terminate ends a process with what it has under way.
func (c *Controller) terminate(m *Message, r *Reply) {
	p := c.find(m, r)
	if p == nil || !c.bare(m, r) {
		return
	}
	if _, ok := p.processes[m.Process]; !ok {
		r.refuse(NotFound, "program %d has no process %d", m.Program, m.Process)
		return
	}
	c.engine.Terminate(m.Program, m.Process)
	delete(p.processes, m.Process)
	c.forget(func(k key) bool { return k.program == m.Program && k.process == m.Process })
}

// running finds the process of a call. A call to one that is not running is dropped.
func (c *Controller) running(m *Message, r *Reply) (*program, Call, bool) {
	if p := c.programs[m.Program]; p != nil {
		if b, ok := p.processes[m.Process]; ok {
			return p, b, true
		}
	}
	r.Dropped = true
	r.refuse(NotFound, "program %d has no running process %d: the call is dropped", m.Program, m.Process)
	return nil, Call{}, false
}

func (c *Controller) call(m *Message, r *Reply) {
	p, bindings, ok := c.running(m, r)
	if !ok {
		return
	}
	call, err := ReadCall(m.ID, m.Body)
	if err == nil {
		err = announced(m.ID, &call)
	}
	switch {
	case err != nil:
		r.fail(err)
	case m.Procedure >= p.Procedures:
		r.refuse(NotFound, "procedure %d: program %d has %d", m.Procedure, m.Program, p.Procedures)
	case c.blocked(m, r):
	default:
		call.Buffers = bound(bindings.Buffers, call.Buffers)
		c.run(m.Header, call, r)
	}
}

// bound is a process's bindings with those of a call, which stand before them.
func bound(process, call []Buffer) []Buffer {
	list := slices.Clone(call)
	for _, b := range process {
		if !slices.ContainsFunc(call, func(x Buffer) bool { return x.Port == b.Port }) {
			list = append(list, b)
		}
	}
	return list
}

// announced makes an error of lists that a command's name does not announce.
func announced(id ID, c *Call) error {
	bars := id == ProcedureCallWithCustomBars || id == ProcedureCallCacheRequestWithCustomBars
	shared := id == ProcedureCallWithSignalEvents || id == ProcedureCallCacheRequestWithSharedEvents
	switch {
	case !bars && len(c.Bars) > 0:
		return &LimitError{id, "custom bars", uint64(len(c.Bars)), 0}
	case id != ProcedureCallWithSignalEvents && len(c.Wait)+len(c.Signal) > 0:
		return &LimitError{id, "events", uint64(len(c.Wait) + len(c.Signal)), 0}
	case !shared && len(c.Shared) > 0:
		return &LimitError{id, "shared events", uint64(len(c.Shared)), 0}
	}
	return nil
}

// run hands a call to the engine, and tells the host where that fails.
func (c *Controller) run(h Header, call Call, r *Reply) {
	if s := c.engine.Call(h, call); s != OK {
		r.refuse(s, "the engine did not run the procedure")
		c.notify(CHErrorNotification, h, Notice{Status: s})
	}
}

// fail refuses a message for an error of reading it.
func (r *Reply) fail(err error) {
	var limit *LimitError
	if errors.As(err, &limit) {
		r.refuse(OverLimit, "%v", err)
		return
	}
	r.refuse(Malformed, "%v", err)
}

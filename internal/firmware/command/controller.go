package command

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// A Status is the result of a command. The numbers are this project's own, because the
// documents do not list any.
type Status uint32

// Results of commands.
const (
	OK          Status = iota
	Malformed          // the message is malformed
	OverLimit          // a documented limit is exceeded
	Unsupported        // a known command that cannot be performed: undocumented, or not for this channel or program
	NotFound           // unknown program, process, procedure or cache request
	WrongState         // not possible in the current state, such as before boot
	NoRoom             // no slot is free
	Failed             // the engine failed
	NoMemory           // the engine's memory has no room
)

// String returns the name of the status, such as "not found".
func (s Status) String() string {
	names := [...]string{"ok", "malformed", "over a limit", "unsupported", "not found", "wrong state", "no room", "failed", "no memory"}
	if int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("status %d", uint32(s))
}

// A Channel is one of the two rings on which the host sends commands.
type Channel uint8

// Channels for commands. Execution accepts only procedure calls and triggers of cache
// requests, and Control all other commands.
const (
	Control Channel = iota
	Execution
)

// An Engine does the work for a [Controller]: it loads programs, runs calls, and switches power.
type Engine interface {
	// Load loads a program into a slot and returns the number of its procedures. If it fails, why is the
	// reason, or "" if the status says all.
	Load(slot int32, p Program) (procedures uint32, s Status, why string)
	Unload(slot int32)
	// Call runs or queues the procedure that h identifies, with the buffers and values in c. If it does
	// not accept the call, why is the reason, or "" if the status says all.
	Call(h Header, c Call) (s Status, why string)
	// Terminate drops the unfinished calls of a process.
	Terminate(slot, process int32)
	// Quiesce runs all queued calls to completion.
	Quiesce() Status
	// Power turns the engine on or off.
	Power(on bool) Status
	// Boot starts the engine. It does nothing if the engine is running.
	Boot() Status
	// Pause stops the engine between two runs of descriptors if on is true, and resumes it
	// otherwise.
	Pause(on bool) Status
	// Resources describes the engine.
	Resources() Resources
	// Secure enters secure mode if on is true, and leaves it otherwise. It first runs all
	// queued calls and turns the power off and on.
	Secure(on bool) Status
}

// Build is the string with which the controller answers Buildinfo. The documents give no real one; the
// version is that of the driver's device registry.
const Build = "anesim model of the H13 firmware, version 96.17"

// MaxPrograms is the number of slots for programs, and MaxProcesses the number of processes
// per program. Both values are assumed, because the documents give none.
const (
	MaxPrograms  = 64
	MaxProcesses = 64
)

type program struct {
	Program
	processes map[int32]Call // the bindings of each
	prefetch  bool           // has an AFPP
}

// A Ledger counts the messages of a [Controller]. Every message received is either
// answered, refused or dropped.
type Ledger struct {
	Received, Answered, Refused, Dropped uint64
	// Notified is the number of messages that the controller sent without being asked. Lost
	// is the number of such messages that found the ring full.
	Notified, Lost uint64
}

// Balanced reports whether every received message was answered, refused or dropped.
func (l *Ledger) Balanced() bool { return l.Received == l.Answered+l.Refused+l.Dropped }

// A Reply is the controller's answer to a message.
type Reply struct {
	Header
	Status  Status
	Dropped bool   // no answer was sent, because its process is not running
	Why     string // reason of a refusal
	Body    []byte // body of the answer, if any
}

// A Controller models the firmware that receives commands, keeps track of programs and their
// processes, and asks an [Engine] to do the work.
type Controller struct {
	// Notify sends a message to the host without being asked, and returns false if the ring
	// is full. It may be nil.
	Notify func(*Message) bool

	engine   Engine
	ledger   Ledger
	booted   bool
	paused   bool
	secure   bool
	claimed  int32 // program with exclusive use of secure mode, -1 for none
	disabled bool  // cache requests
	programs map[int32]*program
	cache    map[cacheKey]*cacheRequest
	property map[uint32]uint64
	slots    [MaxPrograms]bool // slots requested by the host
}

// NewController returns a controller that uses engine e and has not booted.
func NewController(e Engine) *Controller {
	return &Controller{engine: e, claimed: -1, programs: map[int32]*program{}, cache: map[cacheKey]*cacheRequest{}, property: map[uint32]uint64{}}
}

// Ledger returns the message counts so far.
func (c *Controller) Ledger() Ledger { return c.ledger }

// Booted reports whether the controller has booted. Until then it accepts only a few commands, such
// as Boot and Ping.
func (c *Controller) Booted() bool { return c.booted }

// Secure reports whether the controller is in secure mode.
func (c *Controller) Secure() bool { return c.secure }

// Programs returns the number of loaded programs.
func (c *Controller) Programs() int { return len(c.programs) }

// Handle performs the command in the encoded message b, which arrived on channel ch, and returns
// the reply. If the command cannot be performed, the status of the reply is not [OK].
func (c *Controller) Handle(ch Channel, b []byte) Reply {
	c.ledger.Received++
	m, rest, err := Read(b)
	if err == nil && len(rest) > 0 {
		err = &FormatError{len(b) - len(rest), fmt.Sprintf("message is followed by %d extra bytes", len(rest))}
	}
	r := Reply{Header: m.Header}
	if err != nil {
		r.Status, r.Why = Malformed, err.Error()
	} else {
		c.handleMessage(ch, &m, &r)
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

// refuseWithStatus makes the reply a refusal with status s and a formatted reason.
func (r *Reply) refuseWithStatus(s Status, format string, args ...any) {
	r.Status, r.Why = s, fmt.Sprintf(format, args...)
}

// usesExecutionChannel reports whether a command belongs on the execution channel.
func usesExecutionChannel(id ID) bool {
	switch id {
	case ProcedureCall, ProcedureCallWithCustomBars, ProcedureCallWithSignalEvents, ProcedureCallTriggerCacheRequest, InferenceCall:
		return true
	}
	return false
}

func (c *Controller) handleMessage(ch Channel, m *Message, r *Reply) {
	info, _ := m.ID.Info()
	switch {
	case info.Direction == Up:
		r.refuseWithStatus(Unsupported, "host cannot send %v; only the controller sends notifications", m.ID)
	case ch == Execution && !usesExecutionChannel(m.ID):
		r.refuseWithStatus(Unsupported, "%v must be sent on the control channel", m.ID)
	case ch == Control && usesExecutionChannel(m.ID):
		r.refuseWithStatus(Unsupported, "%v must be sent on the execution channel", m.ID)
	case !c.booted && m.ID != Boot && m.ID != Ping && m.ID != Buildinfo && m.ID != PlatformInfo && m.ID != Reset:
		r.refuseWithStatus(WrongState, "controller has not booted")
	case info.Body == BodyNone && m.Size > 0:
		r.refuseWithStatus(Malformed, "%v must not have a body; body size is %d", m.ID, m.Size)
	default:
		c.performCommand(m, r)
	}
}

func (c *Controller) performCommand(m *Message, r *Reply) {
	switch m.ID {
	case Ping, PlatformInfo:
	case Buildinfo:
		r.Body = []byte(Build)
	case ResourceInfoGet:
		x := c.engine.Resources()
		r.Body = x.append(nil)
	case StatsBufferSizeGet:
		r.Body = binary.LittleEndian.AppendUint64(nil, c.engine.Resources().Statistics)
	// The documents call the profiler gated, which is not the same as unknown.
	case TimeprofileStart, TimeprofileStop, TimeprofileShow:
		r.refuseWithStatus(Unsupported, "%v is not supported: the profiler is gated, and this is no internal build", m.ID)
	case Boot:
		c.boot(r)
	case Reset, Stop, PowerDown:
		c.reset()
		c.notifyHost(CHResetNotification, m.Header, Notice{})
	case PowerDeviceOn, PowerDeviceOff:
		c.setPower(m.ID == PowerDeviceOn, m, r)
	case Suspend:
		c.suspend(r)
	case QuiesceState:
		c.quiesce(r)
	case SecureModeStart, SecureModeStop, SecureModeResumeTransition:
		c.setSecureMode(m, r)
	case ExclaveModeStart, ExclaveModeStop:
		r.refuseWithStatus(Unsupported, "%v is not supported on the M1", m.ID)
	case RequestProgramID:
		c.assignProgramSlot(r)
	case ReturnProgramID:
		c.returnProgramSlot(m, r)
	case RequestProcessID, ReturnProcessID:
		c.handleProcessID(m, r)
	case LoadProgram:
		c.loadProgram(m, r)
	case UnloadProgram:
		if p := c.findProgram(m, r); p != nil && c.requireNoBody(m, r) {
			c.unloadProgram(m.Program)
		}
	case LoadAFPP, UnloadAFPP:
		c.setPrefetchProgram(m, r)
	case CreateProcess:
		c.createProcess(m, r)
	case TerminateProcess:
		c.terminateProcess(m, r)
	case CHPropertyWrite, CHPropertyRead:
		c.handleProperty(m, r)
	case DebugCommandDataCheck:
		c.requireValidChecksum(m, r)
	case ProcedureCall, ProcedureCallWithCustomBars, ProcedureCallWithSignalEvents:
		c.callProcedure(m, r)
	case ProcedureCallTriggerCacheRequest:
		c.triggerCacheRequest(m, r)
	case ProcedureCallCacheRequest, ProcedureCallCacheRequestWithCustomBars, ProcedureCallCacheRequestWithSharedEvents:
		c.storeCacheRequest(m, r)
	case ProcedureCallInvalidateCacheRequest, ProcedureCallRecycleOutputBuffer, SetActiveCacheRequestInGroup:
		c.manageCacheRequest(m, r)
	case ForceDisableCacheRequests:
		c.disabled = true
		c.dropCacheRequests(func(cacheKey) bool { return true })
	// To answer "ok" would claim an effect that nobody knows.
	default:
		r.refuseWithStatus(Unsupported, "%v is not supported: its effect is undocumented", m.ID)
	}
}

func (c *Controller) isProgramSlot(n int32) bool { return n >= 0 && n < MaxPrograms }

func (c *Controller) assignProgramSlot(r *Reply) {
	for i := range c.slots {
		if !c.slots[i] && c.programs[int32(i)] == nil {
			c.slots[i] = true
			r.Program = int32(i)
			return
		}
	}
	r.refuseWithStatus(NoRoom, "all %d program slots are in use", MaxPrograms)
}

func (c *Controller) returnProgramSlot(m *Message, r *Reply) {
	switch {
	case !c.isProgramSlot(m.Program) || !c.slots[m.Program]:
		r.refuseWithStatus(NotFound, "program slot %d was not requested", m.Program)
	case c.programs[m.Program] != nil:
		r.refuseWithStatus(WrongState, "program slot %d still holds a program; unload the program first", m.Program)
	default:
		c.slots[m.Program] = false
	}
}

// handleProcessID assigns a free process number of a program, the lowest one, or frees a number. It
// does not record the change, because a number is in use only while its process runs.
func (c *Controller) handleProcessID(m *Message, r *Reply) {
	p := c.findProgram(m, r)
	if p == nil {
		return
	}
	if m.ID == ReturnProcessID {
		if _, ok := p.processes[m.Process]; ok {
			r.refuseWithStatus(WrongState, "process %d of program %d is still running", m.Process, m.Program)
		}
		return
	}
	for n := range int32(MaxProcesses) {
		if _, ok := p.processes[n]; !ok {
			r.Process = n
			return
		}
	}
	r.refuseWithStatus(NoRoom, "all %d process numbers of program %d are in use", MaxProcesses, m.Program)
}

func (c *Controller) findProgram(m *Message, r *Reply) *program {
	p := c.programs[m.Program]
	if p == nil {
		r.refuseWithStatus(NotFound, "program slot %d is empty", m.Program)
	}
	return p
}

func (c *Controller) loadProgram(m *Message, r *Reply) {
	p, err := ReadProgram(m.ID, m.Body)
	switch {
	case err != nil:
		r.refuseForError(err)
	case !c.isProgramSlot(m.Program):
		r.refuseWithStatus(NotFound, "program slot %d is out of range; want 0 to %d", m.Program, MaxPrograms-1)
	case c.programs[m.Program] != nil:
		r.refuseWithStatus(WrongState, "program slot %d already holds a program", m.Program)
	default:
		n, s, why := c.engine.Load(m.Program, p)
		if s != OK {
			r.refuseWithStatus(s, "%s", cmp.Or(why, "engine failed to load the program"))
			return
		}
		p.Procedures = n
		c.programs[m.Program] = &program{Program: p, processes: map[int32]Call{}}
	}
}

func (c *Controller) unloadProgram(slot int32) {
	c.engine.Unload(slot)
	if c.claimed == slot {
		c.claimed = -1
	}
	delete(c.programs, slot)
	c.dropCacheRequests(func(k cacheKey) bool { return k.program == slot })
}

// dropCacheRequests removes the cache requests whose keys satisfy match.
func (c *Controller) dropCacheRequests(match func(cacheKey) bool) {
	for k := range c.cache {
		if match(k) {
			delete(c.cache, k)
		}
	}
}

// createProcess adds a process to a program. A process is a set of buffers for the program's ports.
func (c *Controller) createProcess(m *Message, r *Reply) {
	p := c.findProgram(m, r)
	if p == nil {
		return
	}
	bindings, err := ReadCall(m.ID, m.Body)
	if err == nil {
		err = checkAllowedLists(m.ID, &bindings)
	}
	_, there := p.processes[m.Process]
	switch {
	case err != nil:
		r.refuseForError(err)
	case m.Process < 0 || m.Process >= MaxProcesses:
		r.refuseWithStatus(NoRoom, "process %d is out of range; want 0 to %d", m.Process, MaxProcesses-1)
	case there:
		r.refuseWithStatus(WrongState, "process %d of program %d already exists", m.Process, m.Program)
	default:
		p.processes[m.Process] = bindings
	}
}

// terminateProcess ends a process of a program and drops its unfinished calls.
func (c *Controller) terminateProcess(m *Message, r *Reply) {
	p := c.findProgram(m, r)
	if p == nil || !c.requireNoBody(m, r) {
		return
	}
	if _, ok := p.processes[m.Process]; !ok {
		r.refuseWithStatus(NotFound, "program %d has no process %d", m.Program, m.Process)
		return
	}
	c.engine.Terminate(m.Program, m.Process)
	delete(p.processes, m.Process)
	c.dropCacheRequests(func(k cacheKey) bool { return k.program == m.Program && k.process == m.Process })
}

// findProcess returns the program of a call and the buffers of its process. It also reports whether
// the process is running, and marks the reply as dropped if it is not.
func (c *Controller) findProcess(m *Message, r *Reply) (*program, Call, bool) {
	if p := c.programs[m.Program]; p != nil {
		if b, ok := p.processes[m.Process]; ok {
			return p, b, true
		}
	}
	r.Dropped = true
	r.refuseWithStatus(NotFound, "program %d has no running process %d", m.Program, m.Process)
	return nil, Call{}, false
}

func (c *Controller) callProcedure(m *Message, r *Reply) {
	p, bindings, ok := c.findProcess(m, r)
	if !ok {
		return
	}
	call, err := ReadCall(m.ID, m.Body)
	if err == nil {
		err = checkAllowedLists(m.ID, &call)
	}
	switch {
	case err != nil:
		r.refuseForError(err)
	case m.Procedure >= p.Procedures:
		r.refuseWithStatus(NotFound, "procedure %d of program %d is out of range; want less than %d", m.Procedure, m.Program, p.Procedures)
	case c.refuseIfBlocked(m, r):
	default:
		call.Buffers = mergeBuffers(bindings.Buffers, call.Buffers)
		c.runCall(m.Header, call, r)
	}
}

// mergeBuffers returns the buffers in call, followed by the buffers in process whose ports call
// does not name.
func mergeBuffers(process, call []Buffer) []Buffer {
	list := slices.Clone(call)
	for _, b := range process {
		if !slices.ContainsFunc(call, func(x Buffer) bool { return x.Port == b.Port }) {
			list = append(list, b)
		}
	}
	return list
}

// checkAllowedLists returns a *[LimitError] if the body c has a list that is not allowed in command
// id.
func checkAllowedLists(id ID, c *Call) error {
	bars := id == ProcedureCallWithCustomBars || id == ProcedureCallCacheRequestWithCustomBars
	shared := id == ProcedureCallWithSignalEvents || id == ProcedureCallCacheRequestWithSharedEvents
	switch {
	case !bars && len(c.Bars) > 0:
		return &LimitError{id, "custom BARs", uint64(len(c.Bars)), 0}
	case len(c.LiveIns) > 0 && (id == CreateProcess || id == ProcedureCallTriggerCacheRequest):
		return &LimitError{id, "live-ins", uint64(len(c.LiveIns)), 0}
	case id != ProcedureCallWithSignalEvents && len(c.Wait)+len(c.Signal) > 0:
		return &LimitError{id, "events", uint64(len(c.Wait) + len(c.Signal)), 0}
	case !shared && len(c.Shared) > 0:
		return &LimitError{id, "shared events", uint64(len(c.Shared)), 0}
	}
	return nil
}

// runCall passes a call to the engine. If the engine does not accept it, runCall refuses
// the command with the engine's status and notifies the host of the error.
func (c *Controller) runCall(h Header, call Call, r *Reply) {
	if s, why := c.engine.Call(h, call); s != OK {
		r.refuseWithStatus(s, "%s", cmp.Or(why, "engine failed to run the procedure"))
		c.notifyHost(CHErrorNotification, h, Notice{Status: s})
	}
}

// refuseForError makes the reply a refusal with the reason err. The status is OverLimit if err is a
// *[LimitError], and Malformed otherwise.
func (r *Reply) refuseForError(err error) {
	var limit *LimitError
	if errors.As(err, &limit) {
		r.refuseWithStatus(OverLimit, "%v", err)
		return
	}
	r.refuseWithStatus(Malformed, "%v", err)
}

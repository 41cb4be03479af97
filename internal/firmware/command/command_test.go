package command_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"anesim/internal/firmware/command"
)

func TestTable(t *testing.T) {
	if command.Commands != 93 {
		t.Errorf("%d commands, the documents have 93", command.Commands)
	}
	up := 0
	for id := range command.ID(command.Commands) {
		info, ok := id.Info()
		if !ok || info.Name == "" {
			t.Fatalf("command %#x has no name", uint32(id))
		}
		if back, ok := command.Parse(info.Name); !ok || back != id {
			t.Errorf("%s parses to %v", info.Name, back)
		}
		if info.Direction == command.Up {
			up++
		}
	}
	if up != 14 {
		t.Errorf("%d notifications", up)
	}
	if _, ok := command.ID(0x5d).Info(); ok {
		t.Error("0x5d is a command")
	}
	if command.NoCommand.String() != "no command" {
		t.Error(command.NoCommand.String())
	}
}

func TestHeaderLayout(t *testing.T) {
	m := command.Message{Header: command.Header{ID: command.ProcedureCall, Priority: 5, Program: 3, Process: -1, Procedure: 2}, Body: []byte{1, 2, 3, 4, 5}}
	b := m.Append(nil)
	le := binary.LittleEndian
	for off, want := range map[int]uint32{0: 0x41, 4: 5, 8: 5, 12: 3, 16: 0xffffffff, 20: 2} {
		if got := le.Uint32(b[off:]); got != want {
			t.Errorf("word at %#x: %#x, want %#x", off, got, want)
		}
	}
	if len(b) != command.HeaderBytes+8 || !bytes.Equal(b[29:], []byte{0, 0, 0}) {
		t.Errorf("padding % x", b[24:])
	}
	got, rest, err := command.Read(append(b, 9))
	m.Size = 5
	if err != nil || !bytes.Equal(rest, []byte{9}) {
		t.Fatalf("rest % x, %v", rest, err)
	}
	if diff := cmp.Diff(m, got); diff != "" {
		t.Error(diff)
	}
}

func TestMalformedMessages(t *testing.T) {
	good := (&command.Message{Header: command.Header{ID: command.Ping, Program: -1, Process: -1}, Body: []byte{1}}).Append(nil)
	set := func(off int, v uint32) []byte {
		b := bytes.Clone(good)
		binary.LittleEndian.PutUint32(b[off:], v)
		return b
	}
	for name, c := range map[string]struct {
		b   []byte
		off int
	}{
		"short":         {good[:23], 23},
		"unknown id":    {set(0, 0x5d), 0},
		"no command":    {set(0, 0xffffffff), 0},
		"priority":      {set(8, 8), 8},
		"program":       {set(12, 0xfffffffe), 12},
		"long body":     {set(4, 100), 4},
		"huge body":     {set(4, 1<<31), 4},
		"dirty padding": {set(24, 0x100), 25},
	} {
		_, _, err := command.Read(c.b)
		var f *command.FormatError
		if !errors.As(err, &f) || f.Off != c.off {
			t.Errorf("%s: %v, want an error at byte %#x", name, err, c.off)
		}
	}
}

// engine counts what it is asked to do, and refuses what it is told to.
type engine struct {
	loads, unloads, calls, quiesced int
	on, paused, secure              bool
	refuse                          command.Status
}

func (e *engine) Resources() command.Resources {
	return command.Resources{Tiles: 32, Queues: 8, Memory: 1 << 33, Free: 1 << 32, Statistics: 168}
}
func (e *engine) Boot() command.Status          { return command.OK }
func (e *engine) Terminate(int32, int32)        {}
func (e *engine) Quiesce() command.Status       { e.quiesced++; return e.refuse }
func (e *engine) Power(on bool) command.Status  { e.on = on; return e.refuse }
func (e *engine) Pause(on bool) command.Status  { e.paused = on; return e.refuse }
func (e *engine) Secure(on bool) command.Status { e.secure = on; return e.refuse }

func (e *engine) Load(_ int32, p command.Program) (uint32, command.Status, string) {
	e.loads++
	return p.Procedures, command.OK, ""
}
func (e *engine) Unload(int32) { e.unloads++ }
func (e *engine) Call(command.Header, command.Call) (command.Status, string) {
	e.calls++
	return command.OK, ""
}

// rig returns a booted controller with a program that has two procedures and one process, and the
// engine of the controller.
func rig(t *testing.T) (*command.Controller, *engine) {
	t.Helper()
	e := &engine{}
	c := command.NewController(e)
	p := command.Program{Address: 0x1000, Bytes: 64, Procedures: 2}
	bind := checkOne()
	for _, m := range []command.Message{
		{Header: command.Header{ID: command.Boot, Program: -1, Process: -1}},
		{Header: command.Header{ID: command.LoadProgram, Program: 4, Process: -1}, Body: p.Append(nil)},
		{Header: command.Header{ID: command.CreateProcess, Program: 4, Process: 1}, Body: bind.Append(nil)},
	} {
		if r := c.Handle(command.Control, m.Append(nil)); r.Status != command.OK {
			t.Fatalf("%v: %v: %s", m.ID, r.Status, r.Why)
		}
	}
	return c, e
}

func checkOne() *command.Call { return &command.Call{OutputSets: 1, Partitions: 1, Requests: 1} }

func send(c *command.Controller, ch command.Channel, id command.ID, body []byte) command.Reply {
	m := command.Message{Header: command.Header{ID: id, Program: 4, Process: 1}, Body: body}
	return c.Handle(ch, m.Append(nil))
}

// bodies returns a valid body of the exact size for each command. A test fails if a command is
// missing.
func bodies() map[command.ID][]byte {
	m := map[command.ID][]byte{}
	none := []command.ID{
		command.Stop, command.Reset, command.Buildinfo, command.PowerDown, command.PlatformInfo, command.Boot, command.Ping,
		command.PowerDeviceOn, command.PowerDeviceOff, command.ResourceInfoGet, command.StatsBufferSizeGet, command.Suspend, command.SecureModeStart,
		command.SecureModeStop, command.ExclaveModeStart, command.ExclaveModeStop, command.QuiesceState,
		command.SecureModeResumeTransition, command.UnloadProgram, command.TerminateProcess, command.UnloadAFPP,
		command.ProcedureCallRecycleOutputBuffer, command.ProcedureCallInvalidateCacheRequest,
		command.SetActiveCacheRequestInGroup, command.ForceDisableCacheRequests, command.RequestProgramID,
		command.ReturnProgramID, command.RequestProcessID, command.ReturnProcessID,
	}
	for _, id := range none {
		m[id] = []byte{}
	}
	for _, id := range []command.ID{
		command.CreateProcess, command.ProcedureCall, command.ProcedureCallWithCustomBars, command.ProcedureCallWithSignalEvents,
		command.ProcedureCallCacheRequest, command.ProcedureCallTriggerCacheRequest,
		command.ProcedureCallCacheRequestWithCustomBars, command.ProcedureCallCacheRequestWithSharedEvents,
	} {
		m[id] = checkOne().Append(nil)
	}
	m[command.LoadProgram] = (&command.Program{Address: 0x1000, Procedures: 1}).Append(nil)
	m[command.LoadAFPP] = (&command.AFPP{Address: 0x1000}).Append(nil)
	m[command.CHPropertyWrite] = (&command.Property{Number: 7, Value: 9}).Append(nil)
	m[command.CHPropertyRead] = []byte{7, 0, 0, 0}
	m[command.DebugCommandDataCheck] = binary.LittleEndian.AppendUint32(nil, command.ChecksumValid)
	return m
}

// TestEveryCommandAtItsSizeAndOneOff sends each of the 93 commands at its exact size and one
// byte off. The exact size is never malformed and another size always is, in any state.
// Notifications and commands with an undocumented body are refused at any size.
func TestEveryCommandAtItsSizeAndOneOff(t *testing.T) {
	sized := bodies()
	counted := map[command.Body]int{}
	for id := range command.ID(command.Commands) {
		info, _ := id.Info()
		ch := command.Control
		switch id {
		case command.ProcedureCall, command.ProcedureCallWithCustomBars, command.ProcedureCallWithSignalEvents, command.ProcedureCallTriggerCacheRequest:
			ch = command.Execution
		}
		body, ok := sized[id]
		switch {
		case ok == (info.Direction == command.Up || info.Body == command.BodyUnknown):
			t.Errorf("%v: a size is known: %t; %v, body %v", id, ok, info.Direction, info.Body)
		case info.Body == command.BodyNone && len(body) > 0:
			t.Errorf("%v has a body of %d bytes", id, len(body))
		case !ok:
			for _, n := range []int{0, 1, 24} {
				c, _ := rig(t)
				if r := send(c, ch, id, make([]byte, n)); r.Status != command.Unsupported {
					t.Errorf("%v with %d bytes: %v", id, n, r.Status)
				}
			}
		}
		counted[info.Body]++
		if !ok {
			continue
		}
		sent := func(b []byte) command.Reply {
			c, _ := rig(t)
			r := send(c, ch, id, b)
			if l := c.Ledger(); !l.Balanced() || l.Received != 4 {
				t.Errorf("%v: %+v", id, l)
			}
			other := send(c, 1-ch, id, b)
			if other.Status == command.OK {
				t.Errorf("%v on the other channel: %v", id, other.Status)
			}
			return r
		}
		if r := sent(body); r.Status == command.Malformed || r.Status == command.OverLimit {
			t.Errorf("%v at its size of %d: %v (%s)", id, len(body), r.Status, r.Why)
		}
		if r := sent(append(bytes.Clone(body), 0)); r.Status != command.Malformed && id != command.ExclaveModeStart && id != command.ExclaveModeStop {
			t.Errorf("%v with %d bytes: %v (%s)", id, len(body)+1, r.Status, r.Why)
		}
		if len(body) > 0 {
			if r := sent(body[:len(body)-1]); r.Status != command.Malformed {
				t.Errorf("%v with %d bytes: %v (%s)", id, len(body)-1, r.Status, r.Why)
			}
		}
	}
	if len(sized) != 29+8+5 {
		t.Errorf("%d commands have a size", len(sized))
	}
	t.Logf("bodies: %d none, %d ours, %d unknown", counted[command.BodyNone], counted[command.BodyOurs], counted[command.BodyUnknown])
}

func events(n int) []command.Event { return make([]command.Event, n) }

func TestLimitsAtAndPast(t *testing.T) {
	bars, signal, trigger := command.ProcedureCallWithCustomBars, command.ProcedureCallWithSignalEvents, command.ProcedureCallTriggerCacheRequest
	for _, l := range []struct {
		what string
		id   command.ID
		at   int
		set  func(c *command.Call, n int)
	}{
		{"signal events", signal, 16, func(c *command.Call, n int) { c.Signal = events(n) }},
		{"active shared events", signal, 1, func(c *command.Call, n int) { c.Shared = events(n) }},
		{"custom bars", bars, 32, func(c *command.Call, n int) { c.Bars = make([]command.Bar, n) }},
		{"execute-order entries", bars, 128, func(c *command.Call, n int) { c.Order = make([]uint32, n) }},
		{"trigger input buffers", trigger, 16, func(c *command.Call, n int) { c.Buffers = make([]command.Buffer, n) }},
		{"output buffer sets", bars, 1, func(c *command.Call, n int) { c.OutputSets = uint32(n) }},
		{"task-descriptor partitions", bars, 1, func(c *command.Call, n int) { c.Partitions = uint32(n) }},
		{"engine requests in a list", bars, 1, func(c *command.Call, n int) { c.Requests = uint32(n) }},
	} {
		for n, want := range map[int]command.Status{l.at: command.OK, l.at + 1: command.OverLimit} {
			c, e := rig(t)
			if l.id == trigger {
				if r := send(c, command.Control, command.ProcedureCallCacheRequest, checkOne().Append(nil)); r.Status != command.OK {
					t.Fatal(r.Why)
				}
			}
			call := checkOne()
			l.set(call, n)
			r := send(c, command.Execution, l.id, call.Append(nil))
			if r.Status != want || (e.calls == 1) != (want == command.OK) {
				t.Errorf("%d %s: %v (%s) and %d calls", n, l.what, r.Status, r.Why, e.calls)
			}
		}
	}
	for n, want := range map[uint32]command.Status{128: command.OK, 129: command.OverLimit} {
		c, _ := rig(t)
		p := command.Program{Procedures: 1, Bars: n}
		m := command.Message{Header: command.Header{ID: command.LoadProgram, Program: 5, Process: -1}, Body: p.Append(nil)}
		if r := c.Handle(command.Control, m.Append(nil)); r.Status != want {
			t.Errorf("a program of %d bars: %v (%s)", n, r.Status, r.Why)
		}
	}
}

func TestExecutionChannel(t *testing.T) {
	c, e := rig(t)
	if r := send(c, command.Execution, command.LoadProgram, nil); r.Status != command.Unsupported {
		t.Errorf("a load on the execution channel: %v", r.Status)
	}
	if r := send(c, command.Control, command.ProcedureCall, checkOne().Append(nil)); r.Status != command.Unsupported {
		t.Errorf("a call on the control channel: %v", r.Status)
	}
	if r := send(c, command.Execution, command.ProcedureCall, checkOne().Append(nil)); r.Status != command.OK || e.calls != 1 {
		t.Errorf("a call: %v", r.Status)
	}
	// A call to a process that is not running is dropped.
	if r := send(c, command.Control, command.TerminateProcess, nil); r.Status != command.OK {
		t.Fatal(r.Why)
	}
	r := send(c, command.Execution, command.ProcedureCall, checkOne().Append(nil))
	if l := c.Ledger(); !r.Dropped || l.Dropped != 1 || e.calls != 1 {
		t.Errorf("a call to a terminated process: %+v, %+v", r, l)
	}
}

func TestCacheRequests(t *testing.T) {
	c, e := rig(t)
	call := checkOne().Append(nil)
	step := func(ch command.Channel, id command.ID, body []byte, want command.Status) {
		t.Helper()
		if r := send(c, ch, id, body); r.Status != want {
			t.Errorf("%v: %v (%s), want %v", id, r.Status, r.Why, want)
		}
	}
	step(command.Execution, command.ProcedureCallTriggerCacheRequest, call, command.NotFound)
	step(command.Control, command.ProcedureCallCacheRequest, call, command.OK)
	step(command.Control, command.ProcedureCallCacheRequest, call, command.WrongState)
	step(command.Execution, command.ProcedureCallTriggerCacheRequest, call, command.OK)
	step(command.Execution, command.ProcedureCallTriggerCacheRequest, call, command.NoRoom) // its output is out
	step(command.Control, command.ProcedureCallRecycleOutputBuffer, nil, command.OK)
	step(command.Control, command.ProcedureCallRecycleOutputBuffer, nil, command.WrongState)
	step(command.Execution, command.ProcedureCallTriggerCacheRequest, call, command.OK)
	step(command.Control, command.SetActiveCacheRequestInGroup, nil, command.OK)
	step(command.Control, command.ProcedureCallInvalidateCacheRequest, nil, command.OK)
	step(command.Control, command.ProcedureCallInvalidateCacheRequest, nil, command.NotFound)
	step(command.Control, command.ForceDisableCacheRequests, nil, command.OK)
	step(command.Control, command.ProcedureCallCacheRequest, call, command.WrongState)
	if e.calls != 2 {
		t.Errorf("%d calls", e.calls)
	}
}

func TestBeforeBootAndStubs(t *testing.T) {
	c := command.NewController(&engine{})
	if r := send(c, command.Control, command.UnloadProgram, nil); r.Status != command.WrongState {
		t.Errorf("before boot: %v", r.Status)
	}
	c, e := rig(t)
	if r := send(c, command.Control, command.ExclaveModeStart, nil); r.Status != command.Unsupported {
		t.Errorf("exclave start on H13: %v", r.Status)
	}
	if r := send(c, command.Control, command.Reset, nil); r.Status != command.OK || c.Programs() != 0 || e.unloads != 1 || c.Booted() {
		t.Errorf("reset left %d programs", c.Programs())
	}
}

func TestRing(t *testing.T) {
	r := command.NewRing(2)
	m := command.Message{Header: command.Header{ID: command.Ping, Program: -1, Process: -1}}
	for range 2 {
		if err := r.Push(&m); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Push(&m); !errors.Is(err, command.ErrFull) {
		t.Errorf("a third message in a ring of two: %v", err)
	}
	for n := 2; n > 0; n-- {
		if r.Len() != n {
			t.Errorf("%d messages, want %d", r.Len(), n)
		}
		if got, _, err := command.Read(r.Pop()); err != nil || got.ID != command.Ping {
			t.Errorf("popped %v, %v", got.ID, err)
		}
	}
	if r.Pop() != nil {
		t.Error("an empty ring gave a message")
	}
	for index, want := range map[uint32]uint32{0: 1, 31: 1 << 31} {
		if w, err := command.Doorbell(index); err != nil || w != want {
			t.Errorf("doorbell %d: %#x, %v", index, w, err)
		}
	}
	if _, err := command.Doorbell(32); err == nil {
		t.Error("doorbell 32")
	}
	for status, want := range map[uint64]bool{0: true, 1 << 1: false, 1 << 7: false, 1 << 39: true} {
		if command.StoreCommitted(status) != want {
			t.Errorf("status %#x: committed %t", status, !want)
		}
	}
}

// FuzzController checks for arbitrary messages that every message is counted once, that the
// engine knows exactly the loaded programs, and that a body which can be read encodes to
// itself.
func FuzzController(f *testing.F) {
	seed := func(ms ...command.Message) {
		var b []byte
		for i := range ms {
			b = append(b, byte(i&1))
			b = ms[i].Append(b)
		}
		f.Add(b)
	}
	p := command.Program{Procedures: 1}
	h := func(id command.ID) command.Header { return command.Header{ID: id, Program: 1, Process: 1} }
	seed(command.Message{Header: h(command.Boot)})
	seed(command.Message{Header: h(command.Boot)}, command.Message{Header: h(command.LoadProgram), Body: p.Append(nil)},
		command.Message{Header: h(command.CreateProcess), Body: checkOne().Append(nil)}, command.Message{Header: h(command.ProcedureCall), Body: checkOne().Append(nil)})
	f.Fuzz(func(t *testing.T, b []byte) {
		e := &engine{}
		c := command.NewController(e)
		n := uint64(0)
		for len(b) > 1 {
			ch := command.Channel(b[0] & 1)
			m, rest, err := command.Read(b[1:])
			msg := b[1 : len(b)-len(rest)]
			if err != nil {
				msg, rest = b[1:], nil
			}
			c.Handle(ch, msg)
			n++
			if err == nil {
				if call, err := command.ReadCall(m.ID, m.Body); err == nil {
					if !bytes.Equal(call.Append(nil), m.Body) {
						t.Errorf("a call of %d bytes encodes to others", len(m.Body))
					}
					again, err := command.ReadCall(m.ID, call.Append(nil))
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(call, again, cmpopts.EquateEmpty()); diff != "" {
						t.Error(diff)
					}
				}
			}
			b = rest
		}
		if l := c.Ledger(); !l.Balanced() || l.Received != n {
			t.Errorf("%+v of %d messages", l, n)
		}
		if c.Programs() != e.loads-e.unloads {
			t.Errorf("%d programs, the engine has %d", c.Programs(), e.loads-e.unloads)
		}
	})
}

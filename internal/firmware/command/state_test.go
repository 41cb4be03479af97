package command_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"anesim/internal/firmware/command"
)

// noted returns a list to which the notifications of a controller are appended.
func noted(c *command.Controller) *[]command.Message {
	var list []command.Message
	c.Notify = func(m *command.Message) bool { list = append(list, *m); return true }
	return &list
}

func expect(t *testing.T, c *command.Controller, ch command.Channel, id command.ID, body []byte, want command.Status) command.Reply {
	t.Helper()
	r := send(c, ch, id, body)
	if r.Status != want {
		t.Errorf("%v: %v (%s), want %v", id, r.Status, r.Why, want)
	}
	return r
}

// Secure mode quiesces and cycles the power by way of the engine, tells the host, and
// keeps the engine for the program that started it.
func TestSecureMode(t *testing.T) {
	c, e := rig(t)
	notes := noted(c)
	load := command.Message{Header: command.Header{ID: command.LoadProgram, Program: 5, Process: -1}, Body: (&command.Program{Procedures: 1}).Append(nil)}
	make := command.Message{Header: command.Header{ID: command.CreateProcess, Program: 5, Process: 0}, Body: checkOne().Append(nil)}
	call := command.Message{Header: command.Header{ID: command.ProcedureCall, Program: 5, Process: 0}, Body: checkOne().Append(nil)}
	c.Handle(command.Control, load.Append(nil))
	c.Handle(command.Control, make.Append(nil))
	expect(t, c, command.Control, command.SecureModeStop, nil, command.WrongState)
	expect(t, c, command.Control, command.SecureModeResumeTransition, nil, command.WrongState)
	expect(t, c, command.Control, command.SecureModeStart, nil, command.OK)
	expect(t, c, command.Control, command.SecureModeStart, nil, command.WrongState)
	if !e.secure || !c.Secure() || len(*notes) != 1 || (*notes)[0].ID != command.SecureModeEvent {
		t.Errorf("engine %t, controller %t, %d notifications", e.secure, c.Secure(), len(*notes))
	}
	expect(t, c, command.Execution, command.ProcedureCall, checkOne().Append(nil), command.OK)
	if r := c.Handle(command.Execution, call.Append(nil)); r.Status != command.WrongState {
		t.Errorf("a call of another program in secure mode: %v", r.Status)
	}
	expect(t, c, command.Control, command.SecureModeStop, nil, command.OK)
	if r := c.Handle(command.Execution, call.Append(nil)); r.Status != command.OK || e.secure {
		t.Errorf("after secure mode: %v", r.Status)
	}
	e.refuse = command.Failed
	expect(t, c, command.Control, command.SecureModeStart, nil, command.Failed)
	if c.Secure() {
		t.Error("secure mode without the engine")
	}
	n, err := command.ReadNotice((*notes)[0].Body)
	if err != nil || n.Value != 1 {
		t.Errorf("%+v, %v", n, err)
	}
}

func TestSuspend(t *testing.T) {
	c, e := rig(t)
	expect(t, c, command.Control, command.Suspend, nil, command.OK)
	expect(t, c, command.Control, command.Suspend, nil, command.WrongState)
	expect(t, c, command.Control, command.QuiesceState, nil, command.WrongState)
	expect(t, c, command.Control, command.SecureModeStart, nil, command.WrongState)
	expect(t, c, command.Execution, command.ProcedureCall, checkOne().Append(nil), command.WrongState)
	expect(t, c, command.Control, command.Boot, nil, command.OK)
	expect(t, c, command.Execution, command.ProcedureCall, checkOne().Append(nil), command.OK)
	expect(t, c, command.Control, command.QuiesceState, nil, command.OK)
	if e.calls != 1 || e.quiesced != 1 || e.paused {
		t.Errorf("%+v", e)
	}
}

func TestPowerForgets(t *testing.T) {
	c, e := rig(t)
	notes := noted(c)
	expect(t, c, command.Control, command.PowerDeviceOn, nil, command.OK)
	if !e.on {
		t.Error("the engine is off")
	}
	expect(t, c, command.Control, command.PowerDeviceOff, nil, command.OK)
	if e.on || c.Programs() != 0 || c.Booted() || len(*notes) != 1 || (*notes)[0].ID != command.CHResetNotification || len((*notes)[0].Body) != 0 {
		t.Errorf("on %t, %d programs, %d notifications", e.on, c.Programs(), len(*notes))
	}
}

// Where the ring has no room for a notification, that is counted as lost.
func TestNotificationsAreCounted(t *testing.T) {
	c, _ := rig(t)
	room := true
	c.Notify = func(*command.Message) bool { return room }
	c.Ended(command.Header{ID: command.ProcedureCall}, command.OK)
	room = false
	c.Ended(command.Header{ID: command.ProcedureCall}, command.OK)
	if l := c.Ledger(); l.Notified != 1 || l.Lost != 1 || !l.Balanced() {
		t.Errorf("%+v", l)
	}
}

func TestProperties(t *testing.T) {
	c, _ := rig(t)
	read := []byte{3, 0, 0, 0}
	expect(t, c, command.Control, command.CHPropertyRead, read, command.NotFound)
	expect(t, c, command.Control, command.CHPropertyWrite, (&command.Property{Number: 3, Value: 0x1234}).Append(nil), command.OK)
	if r := expect(t, c, command.Control, command.CHPropertyRead, read, command.OK); len(r.Body) != 8 || r.Body[0] != 0x34 || r.Body[1] != 0x12 {
		t.Errorf("% x", r.Body)
	}
	for n := range uint32(command.MaxProperties) {
		want := command.OK
		if n == command.MaxProperties-1 {
			want = command.NoRoom // one is there already
		}
		expect(t, c, command.Control, command.CHPropertyWrite, (&command.Property{Number: 100 + n}).Append(nil), want)
	}
}

func TestAFPP(t *testing.T) {
	c, _ := rig(t)
	body := (&command.AFPP{Address: 0x4000, Bytes: 64}).Append(nil)
	expect(t, c, command.Control, command.UnloadAFPP, nil, command.WrongState)
	expect(t, c, command.Control, command.LoadAFPP, body, command.OK)
	expect(t, c, command.Control, command.LoadAFPP, body, command.WrongState)
	expect(t, c, command.Control, command.UnloadAFPP, nil, command.OK)
	body[0]++
	expect(t, c, command.Control, command.LoadAFPP, body, command.Malformed)
	expect(t, c, command.Control, command.DebugCommandDataCheck, []byte{0xff, 0xff, 0xff, 0xff}, command.OK)
	expect(t, c, command.Control, command.DebugCommandDataCheck, []byte{0xff, 0xff, 0xff, 0x7f}, command.Malformed)
}

// TestAnnouncedLists checks that a call has exactly the lists that its command announces.
func TestAnnouncedLists(t *testing.T) {
	c, _ := rig(t)
	with := func(set func(*command.Call)) []byte { x := checkOne(); set(x); return x.Append(nil) }
	bars := with(func(x *command.Call) { x.Bars = make([]command.Bar, 1) })
	wait := with(func(x *command.Call) { x.Wait = make([]command.Event, 1) })
	shared := with(func(x *command.Call) { x.Shared = make([]command.Event, 1) })
	for id, ok := range map[command.ID]map[string]bool{
		command.ProcedureCall:                             {},
		command.ProcedureCallWithCustomBars:               {"bars": true},
		command.ProcedureCallWithSignalEvents:             {"wait": true, "shared": true},
		command.ProcedureCallCacheRequest:                 {},
		command.ProcedureCallCacheRequestWithCustomBars:   {"bars": true},
		command.ProcedureCallCacheRequestWithSharedEvents: {"shared": true},
		command.CreateProcess:                             {},
	} {
		for name, body := range map[string][]byte{"bars": bars, "wait": wait, "shared": shared} {
			ch := command.Control
			if id == command.ProcedureCall || id == command.ProcedureCallWithCustomBars || id == command.ProcedureCallWithSignalEvents {
				ch = command.Execution
			}
			if r := send(c, ch, id, body); (r.Status == command.OverLimit) == ok[name] {
				t.Errorf("%v with %s: %v (%s)", id, name, r.Status, r.Why)
			}
			send(c, command.Control, command.ProcedureCallInvalidateCacheRequest, nil)
		}
	}
}

// A group has one active request, the first until another is chosen.
func TestCacheRequestGroups(t *testing.T) {
	c, e := rig(t)
	install := func(procedure uint32) {
		m := command.Message{Header: command.Header{ID: command.ProcedureCallCacheRequest, Program: 4, Process: 1, Procedure: procedure}, Body: checkOne().Append(nil)}
		if r := c.Handle(command.Control, m.Append(nil)); r.Status != command.OK {
			t.Fatal(r.Why)
		}
	}
	fire := func(procedure uint32, want command.Status) {
		t.Helper()
		m := command.Message{Header: command.Header{ID: command.ProcedureCallTriggerCacheRequest, Program: 4, Process: 1, Procedure: procedure}, Body: checkOne().Append(nil)}
		if r := c.Handle(command.Execution, m.Append(nil)); r.Status != want {
			t.Errorf("procedure %d: %v (%s), want %v", procedure, r.Status, r.Why, want)
		}
	}
	install(0)
	install(1)
	fire(1, command.WrongState)
	fire(0, command.OK)
	m := command.Message{Header: command.Header{ID: command.SetActiveCacheRequestInGroup, Program: 4, Process: 1, Procedure: 1}}
	if r := c.Handle(command.Control, m.Append(nil)); r.Status != command.OK {
		t.Fatal(r.Why)
	}
	fire(1, command.OK)
	fire(0, command.WrongState)
	if e.calls != 2 {
		t.Errorf("%d calls", e.calls)
	}
}

func TestEvents(t *testing.T) {
	var e command.Events
	list := []command.Event{{ID: 1, Value: 2}, {ID: 9, Value: 1}}
	if e.Reached(list) || !e.Reached(nil) || !e.Reached([]command.Event{{ID: 5}}) {
		t.Error("at rest")
	}
	e.Signal(command.Event{ID: 1, Value: 3})
	e.Signal(command.Event{ID: 1, Value: 1}) // never back
	e.Signal(command.Event{ID: 9, Value: 1})
	if !e.Reached(list) || e.Value(1) != 3 {
		t.Errorf("event 1 at %d", e.Value(1))
	}
	e.Reset()
	if e.Reached(list) {
		t.Error("after a reset")
	}
}

// Commands whose purpose is documented answer it: the build string, the resources, the size of the
// statistics. The profiler says that it is gated, and the high-level call belongs to the execution
// channel.
func TestQueries(t *testing.T) {
	c, _ := rig(t)
	if r := expect(t, c, command.Control, command.Buildinfo, nil, command.OK); string(r.Body) != command.Build {
		t.Errorf("build %q", r.Body)
	}
	r := expect(t, c, command.Control, command.ResourceInfoGet, nil, command.OK)
	if x, err := command.ReadResources(r.Body); err != nil || x != (command.Resources{Tiles: 32, Queues: 8, Memory: 1 << 33, Free: 1 << 32}) {
		t.Errorf("%+v: %v", x, err)
	}
	if _, err := command.ReadResources(r.Body[1:]); err == nil {
		t.Error("no error for resources without their first byte")
	}
	if r := expect(t, c, command.Control, command.StatsBufferSizeGet, nil, command.OK); binary.LittleEndian.Uint64(r.Body) != 168 {
		t.Errorf("statistics %x", r.Body)
	}
	for _, id := range []command.ID{command.TimeprofileStart, command.TimeprofileStop, command.TimeprofileShow} {
		if r := expect(t, c, command.Control, id, nil, command.Unsupported); !strings.Contains(r.Why, "the profiler is gated") {
			t.Errorf("%v: %s", id, r.Why)
		}
	}
	if r := expect(t, c, command.Control, command.InferenceCall, nil, command.Unsupported); !strings.Contains(r.Why, "must be sent on the execution channel") {
		t.Error(r.Why)
	}
	if r := expect(t, c, command.Execution, command.InferenceCall, nil, command.Unsupported); !strings.Contains(r.Why, "its effect is undocumented") {
		t.Error(r.Why)
	}
}

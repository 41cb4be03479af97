package command_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"anesim/internal/firmware/command"
)

// An error of a body says at which byte of the message the word stands that is missing, the
// list that is too long, or what nobody asked for.
func TestPlacesOfBodyErrors(t *testing.T) {
	program := (&command.Program{Address: 1, Bytes: 2, Procedures: 3}).Append(nil)
	call := checkOne()
	call.Buffers = []command.Buffer{{Port: 1, Address: 2}}
	list := call.Append(nil)
	long := bytes.Clone(list)
	binary.LittleEndian.PutUint32(long[16:], 6)
	for _, tc := range []struct {
		name    string
		program bool
		body    []byte
		off     int
	}{
		{"a program cut in its address", true, program[:7], command.HeaderBytes},
		{"a program cut in its size", true, program[:10], command.HeaderBytes + 8},
		{"a program with a byte more", true, append(bytes.Clone(program), 0), command.HeaderBytes + 20},
		{"a call cut in its third word", false, list[:11], command.HeaderBytes + 8},
		{"a list of more entries than bytes", false, long, command.HeaderBytes + 16},
		{"a call with three bytes more", false, append(bytes.Clone(list), 0, 0, 0), command.HeaderBytes + len(list)},
	} {
		var err error
		if tc.program {
			_, err = command.ReadProgram(command.LoadProgram, tc.body)
		} else {
			_, err = command.ReadCall(command.ProcedureCall, tc.body)
		}
		var f *command.FormatError
		if !errors.As(err, &f) || f.Off != tc.off {
			t.Errorf("%s: %v, want an error at byte %#x", tc.name, err, tc.off)
		}
	}
	if _, err := command.ReadCall(command.ProcedureCall, list); err != nil {
		t.Error(err)
	}
}

// The largest priority and body, and a message whose padding is cut off or dirty.
func TestMessageBounds(t *testing.T) {
	ping := func(body []byte, priority uint32) []byte {
		m := command.Message{Header: command.Header{ID: command.Ping, Priority: priority, Program: -1, Process: -1}, Body: body}
		return m.Append(nil)
	}
	for name, b := range map[string][]byte{
		"priority 7": ping(nil, 7), "the largest body": ping(make([]byte, command.MaxBody), 0), "no padding": ping([]byte{1}, 0)[:command.HeaderBytes+1],
	} {
		if _, _, err := command.Read(b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	dirty := ping([]byte{1}, 0)
	dirty[command.HeaderBytes+3] = 9
	var f *command.FormatError
	if _, _, err := command.Read(dirty); !errors.As(err, &f) || f.Off != command.HeaderBytes+3 {
		t.Errorf("%v, want an error at the last byte of the padding", err)
	}
	ring := command.NewRing(0)
	for range command.DefaultDepth {
		if err := ring.Push(&command.Message{Body: make([]byte, command.MaxBody)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := ring.Push(&command.Message{}); !errors.Is(err, command.ErrFull) {
		t.Errorf("one more than the default depth: %v", err)
	}
	// What follows a message in its slot makes it malformed, and is told from where on.
	c, _ := rig(t)
	if r := c.Handle(command.Control, append(ping(nil, 0), 0, 0, 0, 0)); r.Status != command.Malformed || !strings.Contains(r.Why, "byte 0x18") {
		t.Errorf("a message and a word: %v (%s)", r.Status, r.Why)
	}
	if r := c.Handle(command.Control, ping(nil, 0)); r.Status != command.OK {
		t.Errorf("a message alone: %v (%s)", r.Status, r.Why)
	}
}

// Slots and processes are given out from the lowest that is free, and taken back only
// where nothing runs.
func TestLowestFreeNumbers(t *testing.T) {
	c, _ := rig(t) // a program in slot 4, with process 1
	to := func(id command.ID, program, process int32, body []byte, want command.Status) command.Reply {
		t.Helper()
		m := command.Message{Header: command.Header{ID: id, Program: program, Process: process}, Body: body}
		r := c.Handle(command.Control, m.Append(nil))
		if r.Status != want {
			t.Errorf("%v of program %d, process %d: %v (%s), want %v", id, program, process, r.Status, r.Why, want)
		}
		return r
	}
	for _, want := range []int32{0, 1, 2, 3, 5} {
		if r := to(command.RequestProgramID, -1, -1, nil, command.OK); r.Program != want {
			t.Errorf("slot %d, want %d", r.Program, want)
		}
	}
	program := (&command.Program{Procedures: 1}).Append(nil)
	to(command.LoadProgram, 0, -1, program, command.OK)
	to(command.LoadProgram, command.MaxPrograms-1, -1, program, command.OK)
	to(command.LoadProgram, command.MaxPrograms, -1, program, command.NotFound)
	to(command.LoadProgram, -1, -1, program, command.NotFound)

	if r := to(command.RequestProcessID, 4, -1, nil, command.OK); r.Process != 0 {
		t.Errorf("process %d, want 0", r.Process)
	}
	to(command.CreateProcess, 4, 0, checkOne().Append(nil), command.OK)
	if r := to(command.RequestProcessID, 4, -1, nil, command.OK); r.Process != 2 {
		t.Errorf("process %d, want 2", r.Process)
	}
	to(command.ReturnProcessID, 4, 1, nil, command.WrongState)
	to(command.ReturnProcessID, 4, 2, nil, command.OK)
	to(command.RequestProcessID, 9, -1, nil, command.NotFound)
}

// The claim of secure mode goes with its program, and nobody has one after a reset.
func TestClaimEnds(t *testing.T) {
	c, _ := rig(t)
	to := func(ch command.Channel, id command.ID, program, process int32, body []byte) {
		t.Helper()
		m := command.Message{Header: command.Header{ID: id, Program: program, Process: process}, Body: body}
		if r := c.Handle(ch, m.Append(nil)); r.Status != command.OK {
			t.Errorf("%v: %v (%s)", id, r.Status, r.Why)
		}
	}
	other := func() {
		to(command.Control, command.LoadProgram, 5, -1, (&command.Program{Procedures: 1}).Append(nil))
		to(command.Control, command.CreateProcess, 5, 0, checkOne().Append(nil))
	}
	other()
	to(command.Control, command.SecureModeStart, 4, -1, nil)
	to(command.Control, command.UnloadProgram, 4, -1, nil)
	to(command.Execution, command.ProcedureCall, 5, 0, checkOne().Append(nil))
	to(command.Control, command.Reset, -1, -1, nil)
	to(command.Control, command.Boot, -1, -1, nil)
	other()
	to(command.Execution, command.ProcedureCall, 5, 0, checkOne().Append(nil))
}

// TestEventsAreCountedTogether checks that a list which a command does not announce is
// counted with the list next to it.
func TestEventsAreCountedTogether(t *testing.T) {
	c, _ := rig(t)
	call := checkOne()
	call.Wait, call.Signal = events(2), events(1)
	var l *command.LimitError
	_, err := command.ReadCall(command.ProcedureCall, call.Append(nil))
	if errors.As(err, &l) {
		t.Fatalf("the lists themselves are within their limits: %v", err)
	}
	if r := send(c, command.Execution, command.ProcedureCall, call.Append(nil)); !strings.Contains(r.Why, "3") {
		t.Errorf("%s, want 3 events", r.Why)
	}
}

// Messages of both channels wait, each way.
func TestWaitingOfBothChannels(t *testing.T) {
	c, _ := rig(t)
	b := command.NewMailbox(4)
	ping := &command.Message{Header: command.Header{ID: command.Ping, Program: -1, Process: -1}}
	for _, ch := range []command.Channel{command.Control, command.Control, command.Execution, command.Execution, command.Execution} {
		if err := b.Submit(ch, ping); err != nil {
			t.Fatal(err)
		}
	}
	if down, up, _ := b.Waiting(); down != 5 || up != 0 {
		t.Errorf("%d commands and %d completions wait", down, up)
	}
	for ch := range uint32(2) {
		if err := b.Ring(ch); err != nil {
			t.Fatal(err)
		}
	}
	b.Serve(c)
	if down, up, _ := b.Waiting(); down != 0 || up != 5 {
		t.Errorf("served: %d commands and %d completions wait", down, up)
	}
}

// Answers of every length come back through their padding; one that is longer than its
// message is refused at the word that says so.
func TestAnswersOfEveryLength(t *testing.T) {
	for n := range 9 {
		r := command.Reply{Header: command.Header{ID: command.Ping}, Body: bytes.Repeat([]byte{7}, n)}
		m := r.Message()
		got, err := command.ReadReply(m.Append(nil))
		if err != nil || !bytes.Equal(got.Body, r.Body) {
			t.Errorf("%d bytes: %v, %v", n, got.Body, err)
		}
	}
	m := (&command.Reply{Header: command.Header{ID: command.Ping}}).Message()
	b := m.Append(nil)
	var f *command.FormatError
	if _, err := command.ReadReply(b[:len(b)-1]); !errors.As(err, &f) || f.Off != len(b)-1 || !strings.HasSuffix(f.What, "want at least 32") {
		t.Errorf("a completion cut short: %v", err)
	}
	b[command.HeaderBytes+4] = 1
	if _, err := command.ReadReply(b); !errors.As(err, &f) || f.Off != command.HeaderBytes+4 {
		t.Errorf("an answer that is not there: %v", err)
	}
}

// A slot that was asked for and returned is the next one to be given out; returning it twice
// is refused.
func TestReturnedSlotIsGivenAgain(t *testing.T) {
	c, _ := rig(t) // a program in slot 4
	send := func(id command.ID, program int32) command.Reply {
		return c.Handle(command.Control, (&command.Message{Header: command.Header{ID: id, Program: program, Process: -1}}).Append(nil))
	}
	for want := range int32(3) {
		if r := send(command.RequestProgramID, -1); r.Program != want {
			t.Fatalf("slot %d, want %d", r.Program, want)
		}
	}
	if r := send(command.ReturnProgramID, 1); r.Status != command.OK {
		t.Fatalf("return of slot 1: %v (%s)", r.Status, r.Why)
	}
	if r := send(command.ReturnProgramID, 1); r.Status != command.NotFound {
		t.Errorf("second return of slot 1: %v, want %v", r.Status, command.NotFound)
	}
	if r := send(command.RequestProgramID, -1); r.Program != 1 {
		t.Errorf("after slot 1 was returned, slot %d was given out, want 1", r.Program)
	}
}

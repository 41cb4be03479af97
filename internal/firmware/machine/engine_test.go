package machine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/firmware/engine"
	"anesim/internal/firmware/command"
	"anesim/internal/samples"
	"anesim/loader"
	"anesim/loader/params"
)

// twoProcedures returns a container with two procedures.
func twoProcedures(t *testing.T) *anesim.Model {
	t.Helper()
	m, err := anesim.Procedures(1, "add c=4 w=8", "relu c=4 w=8")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// script plays a script and returns the transcript. It fails the test if a step fails or an
// expectation is not met.
func script(t *testing.T, text string) string {
	t.Helper()
	out, err := play(text)
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return out
}

// Procedures of a container are selected by number, by the ring and by the driver, and
// each has its own ports and results.
func TestProceduresOfAContainer(t *testing.T) {
	out := script(t, `
model two layers add c=4 w=8 / relu c=4 w=8
client app rights=user-access,data-chaining
call app ANE_DeviceOpen
send control BOOT
call app ANE_ProgramCreate model=two
call app ANE_ProgramPrepare program=1
set 0 add.x 1.5
set 0 add.z 2
set 0:1 relu.x -3
call app ANE_ProgramSendRequest program=1
expect values 0 add.y 3.5
send execution PROCEDURE_CALL program=0 process=0 procedure=1
expect ok
expect values 0:1 relu.y 0
send execution PROCEDURE_CALL program=0 process=0 procedure=2
expect not-found
call app ANE_ProgramChainingPrepare program=1 procedure=1
expect Success
set 0:1 relu.x 5
call app ANE_ProgramSendRequest program=1
expect values 0:1 relu.y 5
send control LOAD_PROGRAM program=7 model=two procedures=1
expect ok
send control CREATE_PROCESS program=7 process=0
send execution PROCEDURE_CALL program=7 process=0 procedure=1
expect not-found
send control LOAD_PROGRAM program=8 model=two procedures=3
expect not-found
`)
	if !strings.Contains(out, "called 3 times") {
		t.Error(out)
	}
}

// TestBindings checks that a process is a set of bindings. Its calls read and write the
// buffers that it was made with, other calls the buffers that they name, and a call sees the
// results of earlier calls.
func TestBindings(t *testing.T) {
	script(t, `
model inc layer add c=4 w=8
client app kind=direct rights=user-access
call app ANE_DeviceOpen
map app a bytes=0x4000
map app b bytes=0x4000
map app c bytes=0x4000
send control BOOT
send control LOAD_PROGRAM program=0 model=inc
send control CREATE_PROCESS program=0 process=0 buffers=0:a,1:b,2:a
send control CREATE_PROCESS program=0 process=1
send control CREATE_PROCESS program=0 process=2 buffers=0:b,2:c
set 0 x 1
set 0 z 1
send execution PROCEDURE_CALL program=0 process=0
expect ok
expect values 0 y 2
send execution PROCEDURE_CALL program=0 process=0
expect values 0 y 3
send execution PROCEDURE_CALL program=0 process=0
expect values 0 y 4
send execution PROCEDURE_CALL program=0 process=0 buffers=2:c
expect values 0 y 5
send execution PROCEDURE_CALL program=0 process=0 buffers=0:c
expect values 0 y 6
set 0 x 10
set 0 z 20
send execution PROCEDURE_CALL program=0 process=1
expect values 0 y 30
send execution PROCEDURE_CALL program=0 process=0
expect values 0 y 7
send execution PROCEDURE_CALL program=0 process=0 buffers=9:a
expect not-found
send execution PROCEDURE_CALL program=0 process=0 buffers=0:12
expect not-found
send execution PROCEDURE_CALL program=0 process=0 buffers=0:b,0:c
expect malformed
call app ANE_MemoryUnMapRequest address=b
expect Success
send execution PROCEDURE_CALL program=0 process=0
expect not-found
map app small bytes=16
send execution PROCEDURE_CALL program=0 process=1 buffers=0:small
expect no-room
`)
}

// A client's buffer that nobody has written is zeros, not made up; surfaces of a request are
// the ports' buffers in order.
func TestSurfaces(t *testing.T) {
	script(t, `
model inc layer add c=4 w=8
client app rights=user-access
client path kind=direct rights=user-access,data-chaining
call app ANE_DeviceOpen
call path ANE_DeviceOpen
map path x bytes=0x4000
map path z bytes=0x4000
map path y bytes=0x4000
send control BOOT
call app ANE_ProgramCreate model=inc
call app ANE_ProgramPrepare program=1
lend app path program=1
expect Success
call path ANE_ProgramSendRequest program=1 surfaces=x,z,y
expect Success
expect values 0 y 0
set 0 x 2
call path ANE_ProgramSendRequest program=1 surfaces=x,z,y
expect values 0 y 2
call path ANE_ProgramSendRequest program=1 surfaces=y,y,z
expect values 0 y 4
close path
expect closed
call app ANE_ProgramSendRequest program=1
expect Success
`)
}

// TestInputsStaySet checks that an input that was set once keeps its values for all later calls, also if
// others of the program's ports use buffers of the call. The sum goes to the buffer of the first input.
func TestInputsStaySet(t *testing.T) {
	script(t, `
option values=on
model sum layer add c=4
client app rights=user-access
client path kind=direct rights=user-access
call app ANE_DeviceOpen
call path ANE_DeviceOpen
map path state bytes=0x4000
send control BOOT
call app ANE_ProgramCreate model=sum
call app ANE_ProgramPrepare program=1
set 0 z 1
`+strings.Join(func() (calls []string) {
		for n := 1; n <= 4; n++ {
			calls = append(calls, fmt.Sprintf("send execution PROCEDURE_CALL program=0 process=0 buffers=0:state,2:state\nexpect ok\nexpect values 0 y %d\n", n))
		}
		return calls
	}(), ""))
}

// TestAddressSpaceIsFull checks that programs of 67 MB fit up to the end of the engine's address space,
// that the next one has no memory by a command and by a selector, and that unloading one makes room.
func TestAddressSpaceIsFull(t *testing.T) {
	var b strings.Builder
	b.WriteString("model big layer linear m=1 k=8192 n=4096\nsend control BOOT\n")
	load := func(slot int, want string) {
		fmt.Fprintf(&b, "send control LOAD_PROGRAM program=%d model=big\nexpect %s\n", slot, want)
	}
	const fit = (0xe0000000 - 0x30000000) / (8192*4096*2 + 0x8c000) // 43, with the text and the ports of each
	for slot := range fit {
		load(slot, "ok")
	}
	load(fit, "no-memory")
	b.WriteString(`client app rights=user-access
client path kind=direct rights=user-access
call app ANE_DeviceOpen
call path ANE_DeviceOpen
send control UNLOAD_PROGRAM program=7
call app ANE_ProgramCreate model=big
expect Success
call app ANE_ProgramCreate model=big
expect NoMemory
map path large bytes=0xb0000000
expect NoMemory
call app ANE_ProgramDestroy program=8
expect Success
`)
	load(7, "ok")
	out := script(t, b.String())
	if want := "no memory: program linear m=1 k=8192 n=4096 needs 67"; !strings.Contains(out, want) {
		t.Errorf("%.2000s\nlacks %q", out, want)
	}
}

// TestLiveIns checks that live-ins are the run-time parameters of one call only. A call with a value out
// of range, a name that the program does not have, or a bar of a program without bars runs nothing.
func TestLiveIns(t *testing.T) {
	m, err := anesim.Layer("relu", "c=4", "h=3", "w=5")
	if err != nil {
		t.Fatal(err)
	}
	list, err := m.Programs(t.Context(), anesim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := samples.LiveRows(list[0], 3)
	if err != nil {
		t.Fatal(err)
	}
	x, err := New(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	at, err := x.Add("rows", anesim.FromProgram(rows))
	if err != nil {
		t.Fatal(err)
	}
	send := func(ch command.Channel, id command.ID, body []byte) command.Status {
		r := x.Send(ch, &command.Message{Header: command.Header{ID: id, Priority: 5}, Body: body})
		return r.Status
	}
	cycles := func(values ...command.LiveIn) uint64 {
		t.Helper()
		c := command.Call{OutputSets: 1, Partitions: 1, Requests: 1, LiveIns: values}
		if s := send(command.Execution, command.ProcedureCall, c.Append(nil)); s != command.OK {
			t.Errorf("%v: %v", values, s)
			return 0
		}
		res, err := x.Result(0)
		if err != nil {
			t.Fatal(err)
		}
		return uint64(res.Report.Cycles)
	}
	send(command.Control, command.Boot, nil)
	send(command.Control, command.LoadProgram, (&command.Program{Address: at}).Append(nil))
	c := command.Call{OutputSets: 1, Partitions: 1, Requests: 1}
	send(command.Control, command.CreateProcess, c.Append(nil))
	whole, one := cycles(), cycles(command.LiveIn{Name: "rows", Value: 1})
	if one >= whole || cycles() != whole {
		t.Errorf("%d cycles of 3 rows, %d of one", whole, one)
	}
	calls := x.Queue().Stats()
	for _, tc := range []struct {
		id   command.ID
		call command.Call
		want command.Status
		why  string
	}{
		{command.ProcedureCall, command.Call{LiveIns: []command.LiveIn{{Name: "rows", Value: 4}}}, command.Malformed, "Common.InDim.Hin: rows is 4; want 1 to 3 in steps of 1"},
		{command.ProcedureCall, command.Call{LiveIns: []command.LiveIn{{Name: "rows", Value: 1}, {Name: "rows", Value: 4}}}, command.Malformed, "rows is 4"},
		{command.ProcedureCall, command.Call{LiveIns: []command.LiveIn{{Name: "rows", Value: 1}, {Name: "rows", Value: 1}}}, command.Malformed, `run-time parameter "rows" has two values`},
		{command.ProcedureCall, command.Call{LiveIns: []command.LiveIn{{Name: "columns", Value: 1}}}, command.Malformed, `unknown run-time parameter "columns"; the program has ["rows"]`},
		{command.ProcedureCall, command.Call{LiveIns: []command.LiveIn{{}}}, command.Malformed, `unknown run-time parameter ""`},
		{command.ProcedureCallWithCustomBars, command.Call{Bars: []command.Bar{{Number: 0, Value: 1}}}, command.Malformed, "unknown bar 0; the program has no bars"},
		{command.ProcedureCall, command.Call{LiveIns: make([]command.LiveIn, 33)}, command.OverLimit, "too many live-ins: 33; want at most 32"},
		{command.CreateProcess, command.Call{LiveIns: make([]command.LiveIn, 1)}, command.OverLimit, "too many live-ins: 1; want none"},
	} {
		tc.call.OutputSets, tc.call.Partitions, tc.call.Requests = 1, 1, 1
		ch := command.Execution
		if tc.id == command.CreateProcess {
			ch = command.Control
		}
		r := x.Send(ch, &command.Message{Header: command.Header{ID: tc.id, Priority: 5}, Body: tc.call.Append(nil)})
		if r.Status != tc.want || !strings.Contains(r.Why, tc.why) {
			t.Errorf("%v %+v: %v: %s; want %v: %s", tc.id, tc.call, r.Status, r.Why, tc.want, tc.why)
		}
		if now := x.Queue().Stats(); now != calls {
			t.Errorf("%+v: a refused call reached a queue: %+v, was %+v", tc.call, now, calls)
		}
	}
	if cycles() != whole {
		t.Error("a refused value stays")
	}
}

// TestCustomBars checks that a bar writes a device address or an offset in a buffer for one call only,
// and that the address counts from the buffer once. The input has a row of 64 bytes in each channel, so
// that 64 bytes more are the next channel.
func TestCustomBars(t *testing.T) {
	m, err := anesim.Layer("relu", "c=8", "h=1", "w=32")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		line    string
		channel int // that the program reads first by itself
	}{
		{"address 0 TileDMASrc.Src1Base.Value b5 >>6", 0},
		{"address 0 TileDMASrc.Src1Base.Value b5+0x40 >>6", 1},
		{"offset 0 TileDMASrc.Src1Base.Value 0x80 >>6", 2},
	} {
		list, err := m.Programs(t.Context(), anesim.Options{})
		if err != nil {
			t.Fatal(err)
		}
		port := slices.Collect(list[0].Inputs())[0]
		for i := range list[0].Segments { // room for what is read after the end of the input
			if s := &list[0].Segments[i]; s.Addr == port.Address {
				s.Size = loader.PageSize
			}
		}
		line := strings.Replace(tc.line, "b5", fmt.Sprintf("b%d", port.BAR), 1)
		set, err := params.Parse([]byte("data-set 0 Common.DPE.Category 0\n" + line))
		if err != nil {
			t.Fatal(err)
		}
		bound, err := anesim.FromProgram(list[0]).WithParameters(set)
		if err != nil {
			t.Fatal(err)
		}
		x, err := New(t.Context(), Options{Engine: engine.Options{Values: true}})
		if err != nil {
			t.Fatal(err)
		}
		at, err := x.Add("m", bound)
		if err != nil {
			t.Fatal(err)
		}
		call := func(bars ...command.Bar) command.Reply {
			c := command.Call{OutputSets: 1, Partitions: 1, Requests: 1, Bars: bars}
			return x.Send(command.Execution, &command.Message{Header: command.Header{ID: command.ProcedureCallWithCustomBars, Priority: 5}, Body: c.Append(nil)})
		}
		c := command.Call{OutputSets: 1, Partitions: 1, Requests: 1}
		x.Send(command.Control, &command.Message{Header: command.Header{ID: command.Boot}})
		x.Send(command.Control, &command.Message{Header: command.Header{ID: command.LoadProgram}, Body: (&command.Program{Address: at}).Append(nil)})
		x.Send(command.Control, &command.Message{Header: command.Header{ID: command.CreateProcess}, Body: c.Append(nil)})
		l := x.Program(0)
		in := slices.Collect(l.Program().Inputs())[0]
		data := make([]float16.Float16, 8*32)
		for i := range data {
			data[i] = float16.Fromfloat32(float32(1 + i/32))
		}
		if err := l.Set(in.Name, data); err != nil {
			t.Fatal(err)
		}
		first := func(bars ...command.Bar) float32 {
			t.Helper()
			if r := call(bars...); r.Status != command.OK {
				_, err := x.Result(0)
				t.Fatalf("%s, %v: %v: %s, %v", tc.line, bars, r.Status, r.Why, err)
			}
			res, err := x.Result(0)
			if err != nil {
				t.Fatal(err)
			}
			return res.Outputs[0].Data[0].Float32() - 1
		}
		if got := first(); got != float32(tc.channel) {
			t.Errorf("%s: the first channel is %v; want %d", tc.line, got, tc.channel)
		}
		for channel := range 8 {
			v := uint64(64 * channel)
			if strings.HasPrefix(tc.line, "address") {
				v += in.Address
			}
			if got := first(command.Bar{Number: 1, Value: v}, command.Bar{Number: 0}); got != float32(channel) {
				t.Errorf("%s with bar %#x: the first channel is %v; want %d", tc.line, v, got, channel)
			}
		}
		if got := first(); got != float32(tc.channel) {
			t.Errorf("%s: a bar outlives its call: channel %v", tc.line, got)
		}
		if r := call(command.Bar{Number: 0}, command.Bar{Number: 0}); r.Status != command.Malformed || r.Why != "bar 0 has two values" {
			t.Errorf("%s: the same bar twice: %v: %s", tc.line, r.Status, r.Why)
		}
		for _, b := range []struct {
			bar command.Bar
			why string
		}{
			{command.Bar{Number: 2}, "unknown bar 2; the program has 2"},
			{command.Bar{Number: 1<<32 - 1}, "the program has 2"},
			{command.Bar{Number: 1, Value: in.Address + 1}, "not a multiple of 64"},
			{command.Bar{Number: 1, Value: 1 << 62}, "TileDMASrc.Src1Base.Value: "},
			{command.Bar{Number: 0, Value: 1 << 4}, "Common.DPE.Category: 0x10 does not fit in 4 bits"},
		} {
			before := x.Queue().Stats()
			if r := call(b.bar); r.Status != command.Malformed || !strings.Contains(r.Why, b.why) || x.Queue().Stats() != before {
				t.Errorf("%s, %+v: %v: %s; want %s", tc.line, b.bar, r.Status, r.Why, b.why)
			}
		}
	}
}

// TestEventsBetweenCalls checks that a call waits for its events before it is queued. The end
// of another call or the host signals an event.
func TestEventsBetweenCalls(t *testing.T) {
	script(t, `
model add layer add c=4
send control BOOT
send control LOAD_PROGRAM program=0 model=add
send control CREATE_PROCESS program=0 process=0
send execution PROCEDURE_CALL_WITH_SIGNAL_EVENTS program=0 process=0 wait=7:2
expect ok
expect finished 0
send execution PROCEDURE_CALL_WITH_SIGNAL_EVENTS program=0 process=0 signal=7:1
expect finished 1
expect event 7 1
signal 7 2
expect signalled
expect finished 2
send execution PROCEDURE_CALL_WITH_SIGNAL_EVENTS program=0 process=0 wait=8:1 signal=9:1
send execution PROCEDURE_CALL_WITH_SIGNAL_EVENTS program=0 process=0 wait=9:1 shared=10:5
expect finished 2
send execution PROCEDURE_CALL_WITH_SIGNAL_EVENTS program=0 process=0 signal=8:1
expect finished 5
expect event 10 5
expect notified PROGRAM_EVENT 5
send execution PROCEDURE_CALL_WITH_SIGNAL_EVENTS program=0 process=0 wait=11:1
send control TERMINATE_PROCESS program=0 process=0
expect ok
signal 11 1
expect finished 5
send control RESET
expect notified CH_RESET_NOTIFICATION 1
expect event 10 0
`)
}

// TestSecureModeOfAMachine checks that secure mode finishes the queued calls, cycles the
// power, runs calls in EXEC-SECURE and reserves the engine for one program. The next call
// pays for the wake after the cycle.
func TestSecureModeOfAMachine(t *testing.T) {
	out := script(t, `
option host=macos-air
model a layer add c=4
model b layer relu c=4
send control BOOT
send control LOAD_PROGRAM program=0 model=a
send control CREATE_PROCESS program=0 process=0
send control LOAD_PROGRAM program=1 model=b
send control CREATE_PROCESS program=1 process=0
hold
send execution PROCEDURE_CALL program=0 process=0
send execution PROCEDURE_CALL program=1 process=0
send control SECURE_MODE_START program=1
expect ok
expect finished 2
expect notified SECURE_MODE_EVENT 1
drain
send execution PROCEDURE_CALL program=0 process=0
expect wrong-state
send execution PROCEDURE_CALL program=1 process=0
expect ok
expect finished 3
send control SECURE_MODE_STOP
expect ok
send execution PROCEDURE_CALL program=0 process=0
expect ok
expect finished 4
send control SUSPEND
expect ok
send execution PROCEDURE_CALL program=0 process=0
expect wrong-state
send control BOOT
send execution PROCEDURE_CALL program=0 process=0
expect finished 5
hold
send execution PROCEDURE_CALL program=0 process=0
send control QUIESCE_STATE
expect ok
expect finished 6
`)
	secure := 0
	for line := range strings.Lines(out) {
		if strings.Contains(line, "EXEC-SECURE") {
			secure++
			if !strings.Contains(line, "request 3") {
				t.Errorf("in secure mode: %s", line)
			}
		}
	}
	if secure != 2 {
		t.Errorf("%d events in EXEC-SECURE:\n%s", secure, out)
	}
}

// Power off ends everything; the registers say so.
func TestPowerOfAMachine(t *testing.T) {
	script(t, `
model a layer add c=4
client app rights=user-access privileged
call app ANE_DeviceOpen
send control BOOT
call app ANE_ProgramCreate model=a
call app ANE_ProgramPrepare program=1
raw app ANE_IsPowered
expect Success
raw app ANE_PowerOff
expect Success
raw app ANE_ReadANERegister 0x26bc0c000
expect Success
call app ANE_ProgramSendRequest program=1
expect NotFound
raw app ANE_PowerOn
send control BOOT
call app ANE_ProgramCreate model=a
call app ANE_ProgramPrepare program=1
call app ANE_ProgramSendRequest program=1
expect Success
raw app ANE_WriteANERegister 0x26bc0c000 7
expect Success
raw app ANE_SendCommand 0 0x10 0 5 0xffffffff 0xffffffff 0
expect Success
`)
}

// Commands wait in their ring for the doorbell, as many as it holds.
func TestDoorbellsFromAScript(t *testing.T) {
	out := script(t, `
option depth=2
model a layer add c=4
post control BOOT
expect posted
post control PING
post control PING
expect refused
doorbell 32
expect refused
doorbell 31
expect 0x80000000
post execution PROCEDURE_CALL program=0 process=0
doorbell 0
expect ok
doorbell 1
expect dropped
`)
	for _, want := range []string{"ring is full", "3 received = 2 answered + 0 refused + 1 dropped"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// The properties, AFPP and checksum commands from a script.
func TestOtherCommandsFromAScript(t *testing.T) {
	script(t, `
model a layer add c=4
send control BOOT
send control LOAD_PROGRAM program=0 model=a
send control CH_PROPERTY_READ property=3
expect not-found
send control CH_PROPERTY_WRITE property=3 value=77
send control CH_PROPERTY_READ property=3
expect 77
send control LOAD_AFPP program=0
expect ok
send control UNLOAD_AFPP program=0
expect ok
send control DEBUG_COMMAND_DATA_CHECK
expect ok
send control DEBUG_COMMAND_DATA_CHECK checksum=1
expect malformed
send control EXCLAVE_MODE_START
expect unsupported
`)
}

// A call that is more urgent than one of its own program under way waits for that one, whose
// buffers it has: both end, and neither fails.
func TestCallsOfOneProgramDoNotMix(t *testing.T) {
	m, err := New(t.Context(), Options{Engine: engine.Options{Values: true, Seed: 1}})
	if err != nil {
		t.Fatal(err)
	}
	at, err := m.Add("net", samples.Read(t, samples.Observed))
	if err != nil {
		t.Fatal(err)
	}
	send := func(ch command.Channel, id command.ID, priority uint32, body []byte) {
		t.Helper()
		if r := m.Send(ch, &command.Message{Header: command.Header{ID: id, Priority: priority}, Body: body}); r.Status != command.OK {
			t.Fatalf("%v: %v (%s)", id, r.Status, r.Why)
		}
	}
	call := command.Call{OutputSets: 1, Partitions: 1, Requests: 1}
	send(command.Control, command.Boot, 5, nil)
	send(command.Control, command.LoadProgram, 5, (&command.Program{Address: at}).Append(nil))
	send(command.Control, command.CreateProcess, 5, call.Append(nil))
	send(command.Execution, command.ProcedureCall, 6, call.Append(nil))
	alone := checksums(m.engine.programs[0].last.Outputs)
	failed := 0
	m.Notified = func(n command.Message) {
		if x, err := command.ReadNotice(n.Body); err != nil || x.Status != command.OK {
			failed++
		}
	}
	m.Hold(true)
	send(command.Execution, command.ProcedureCall, 6, call.Append(nil))
	if more, err := m.Step(); !more || err != nil {
		t.Fatal(err)
	}
	send(command.Execution, command.ProcedureCall, 0, call.Append(nil))
	if err := m.Drain(); err != nil {
		t.Fatal(err)
	}
	if m.engine.finished != 3 || failed != 0 || m.engine.programs[0].calls != 3 || checksums(m.engine.programs[0].last.Outputs) != alone {
		t.Errorf("%d finished, %d calls, %d failed, %s; alone %s", m.engine.finished, m.engine.programs[0].calls, failed, checksums(m.engine.programs[0].last.Outputs), alone)
	}
}

// Handles pass between clients of the broker by identity.
func TestLendingByIdentity(t *testing.T) {
	for _, x := range []struct{ team, rights, want string }{
		{"T", "user-access,broker,model-share", "Success"}, {"T", "user-access,broker", "denied"}, {"U", "user-access,broker,model-share", "denied"},
	} {
		script(t, fmt.Sprintf(`
model a layer add c=4
client owner rights=user-access,broker qos=default team=T hash=h
client other kind=direct rights=%s qos=default team=%s hash=h
call owner ANE_DeviceOpen
call other ANE_DeviceOpen
send control BOOT
call owner ANE_ProgramCreate model=a
call owner ANE_ProgramPrepare program=1
lend owner other program=1
expect %s
`, x.rights, x.team, x.want))
	}
}

// A selector's numbers may be as large as sizes in memory: two megabytes are more than the 2^20
// that numbers of commands are held to.
func TestCallOfALargeSize(t *testing.T) {
	script(t, `
client app kind=direct rights=user-access
call app ANE_DeviceOpen
call app ANE_MemoryMapRequest bytes=0x200000
expect Success
`)
}

// TestSizeOfBuffers holds the rule of docs/firmware.md for the size of a port: N*C*H rows of 2*W bytes, each
// rounded up to a multiple of 64. Buffers of that size are taken, and all that are one byte shorter are named.
func TestSizeOfBuffers(t *testing.T) {
	for layer, shapes := range map[string][][4]int{
		"add c=64":                            {{1, 64, 1, 1}, {1, 64, 1, 1}, {1, 64, 1, 1}},
		"relu n=2 c=3 h=5 w=33":               {{2, 3, 5, 33}, {2, 3, 5, 33}},
		"relu n=3 c=1 h=1 w=100":              {{3, 1, 1, 100}, {3, 1, 1, 100}},
		"conv cin=3 h=8 w=40 cout=5 k=3":      {{1, 3, 8, 40}, {1, 5, 6, 38}},
		"matmul m=5 k=70 n=9 rhs=runtime c=2": {{1, 2, 70, 9}, {1, 2, 5, 70}, {1, 2, 5, 9}},
	} {
		start := "model m layer " + layer + `
client owner rights=user-access
client app kind=direct rights=user-access
call owner ANE_DeviceOpen
call app ANE_DeviceOpen
send control BOOT
call owner ANE_ProgramCreate model=m
call owner ANE_ProgramPrepare program=1
lend owner app program=1
`
		var long, short, refused []string
		for i, s := range shapes {
			bytes := s[0] * s[1] * s[2] * ((2*s[3] + 63) / 64 * 64)
			start += fmt.Sprintf("map app long%d bytes=%d\nmap app short%d bytes=%d\n", i, bytes, i, bytes-1)
			long, short = append(long, fmt.Sprint("long", i)), append(short, fmt.Sprint("short", i))
			refused = append(refused, fmt.Sprintf("needs %d bytes, but the buffer at ", bytes))
		}
		out := script(t, start+"call app ANE_ProgramSendRequest program=1 surfaces="+strings.Join(long, ",")+"\nexpect Success\ncall app ANE_ProgramSendRequest program=1 surfaces="+strings.Join(short, ",")+"\nexpect NoResources\nexpect finished 1\n")
		for i, want := range refused {
			if at := strings.Index(out, fmt.Sprintf("port %d, ", i)); at < 0 || !strings.Contains(out[at:], want) {
				t.Errorf("%s: port %d is not refused with %q:\n%s", layer, i, want, out)
			}
		}
	}
}

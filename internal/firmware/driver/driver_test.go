package driver_test

import (
	"encoding/binary"
	"testing"

	"anesim/internal/firmware/command"
	"anesim/internal/firmware/driver"
)

// A machine is a controller behind a ring, and a map of buffers.
type machine struct {
	ctl    *command.Controller
	calls  []command.Header
	loads  int
	mapped map[uint64]uint64
	next   uint64

	events    command.Events
	registers map[uint64]uint32
	power     []uint64 // settings, each with its value in the lower half
}

func (m *machine) Load(_ int32, p command.Program) (uint32, command.Status, string) {
	m.loads++
	return max(2, p.Procedures), command.OK, ""
}
func (m *machine) Boot() command.Status             { return command.OK }
func (m *machine) Terminate(int32, int32)           {}
func (m *machine) Quiesce() command.Status          { return command.OK }
func (m *machine) Power(bool) command.Status        { return command.OK }
func (m *machine) Pause(bool) command.Status        { return command.OK }
func (m *machine) Secure(bool) command.Status       { return command.OK }
func (m *machine) Resources() (r command.Resources) { return r }
func (m *machine) Signal(e command.Event)           { m.events.Signal(e) }

func (m *machine) ReadRegister(a uint64) (uint32, bool) { return m.registers[a], a&3 == 0 }

func (m *machine) WriteRegister(a uint64, v uint32) bool {
	m.registers[a] = v
	return a&3 == 0
}
func (m *machine) SetPower(s driver.PowerSetting, v uint64) bool {
	m.power = append(m.power, uint64(s)<<32|v)
	return v < 100
}
func (m *machine) Unload(int32) { m.loads-- }
func (m *machine) Call(h command.Header, _ command.Call) (command.Status, string) {
	m.calls = append(m.calls, h)
	return command.OK, ""
}

func (m *machine) Send(ch command.Channel, msg *command.Message) command.Reply {
	ring := command.NewRing(1)
	if err := ring.Push(msg); err != nil {
		return command.Reply{Status: command.Malformed}
	}
	return m.ctl.Handle(ch, ring.Pop())
}

// Submit sends the command, which ends at once.
func (m *machine) Submit(s *driver.Submission) bool {
	s.Done(driver.End{Reply: m.Send(command.Execution, s.Message)})
	return true
}

// Cancel does nothing, as no call is outstanding.
func (m *machine) Cancel(uint64) {}

func (m *machine) Map(buffer, size uint64) (uint64, bool) {
	if size == 0 {
		return 0, false
	}
	m.next += 0x4000
	m.mapped[m.next] = size
	return m.next, true
}

func (m *machine) Unmap(a uint64) bool {
	_, ok := m.mapped[a]
	delete(m.mapped, a)
	return ok
}

func boot(t testing.TB) (*driver.Driver, *machine) {
	m := &machine{mapped: map[uint64]uint64{}, registers: map[uint64]uint32{}}
	m.ctl = command.NewController(m)
	d := driver.New(m)
	m.ctl.Notify = func(n *command.Message) bool {
		if n.ID == command.CHResetNotification {
			d.Reset()
		}
		return true
	}
	b := command.Message{Header: command.Header{ID: command.Boot, Program: -1, Process: -1}}
	if r := m.ctl.Handle(command.Control, b.Append(nil)); r.Status != command.OK {
		t.Fatal(r.Why)
	}
	return d, m
}

var everything = driver.Entitlements(driver.KernelEntitlements())

func client(t testing.TB, d *driver.Driver, k driver.Kind, rights driver.Entitlements) *driver.Client {
	c, r := d.NewUserClient(k, rights, false)
	if r != driver.Success {
		t.Fatalf("new client: %v", r)
	}
	return c
}

// arguments returns arguments with exactly the sizes of a selector.
func arguments(s *driver.Selector) driver.Arguments {
	a := driver.Arguments{Scalars: make([]uint64, s.ScalarsIn), Struct: make([]byte, s.StructIn), ScalarsOut: s.ScalarsOut, StructOut: s.StructOut}
	if s.Number == 0 {
		a.Struct = driver.OpenRequest()
	}
	return a
}

func open(t testing.TB, c *driver.Client, k driver.Kind) {
	s := driver.Selectors(k)[0]
	if r := c.Call(0, arguments(&s)); r.Return != driver.Success {
		t.Fatalf("open: %v", r.Return)
	}
}

func TestTables(t *testing.T) {
	if n := len(driver.Selectors(driver.Control)); n != 17 {
		t.Errorf("%d control selectors", n)
	}
	if n := len(driver.Selectors(driver.DirectPath)); n != 9 {
		t.Errorf("%d direct-path selectors", n)
	}
	for _, k := range []driver.Kind{driver.Control, driver.DirectPath} {
		for i, s := range driver.Selectors(k) {
			if int(s.Number) != i {
				t.Errorf("%v: selector %d at %d", k, s.Number, i)
			}
			b := s.Append(nil)
			le := binary.LittleEndian
			if len(b) != driver.RecordBytes || le.Uint32(b[8:]) != s.ScalarsIn || le.Uint32(b[12:]) != s.StructIn ||
				le.Uint32(b[16:]) != s.ScalarsOut || le.Uint32(b[20:]) != s.StructOut {
				t.Errorf("%s: record % x", s.Name, b)
			}
		}
	}
	for i := range 3 {
		if a, b := driver.Selectors(driver.Control)[i], driver.Selectors(driver.DirectPath)[i]; a != b {
			t.Errorf("selector %d differs: %+v, %+v", i, a, b)
		}
	}
}

// Every selector takes its exact sizes and none that is one off.
func TestSizesAreExact(t *testing.T) {
	for _, k := range []driver.Kind{driver.Control, driver.DirectPath} {
		for _, s := range driver.Selectors(k) {
			d, _ := boot(t)
			c := client(t, d, k, everything)
			if s.Number != 0 {
				open(t, c, k)
			}
			if r := c.Call(s.Number, arguments(&s)); r.Return == driver.BadArgument && s.Name != "ANE_ProgramSendRequest" {
				t.Errorf("%v %s at its sizes: %v", k, s.Name, r.Return)
			}
			for name, change := range map[string]func(*driver.Arguments){
				"a scalar more":     func(a *driver.Arguments) { a.Scalars = append(a.Scalars, 0) },
				"a byte more":       func(a *driver.Arguments) { a.Struct = append(a.Struct, 0) },
				"a scalar out more": func(a *driver.Arguments) { a.ScalarsOut++ },
				"a byte out more":   func(a *driver.Arguments) { a.StructOut++ },
				"a byte less": func(a *driver.Arguments) {
					if len(a.Struct) == 0 {
						a.Struct = []byte{0}
					} else {
						a.Struct = a.Struct[1:]
					}
				},
				"a byte out less": func(a *driver.Arguments) { a.StructOut-- },
			} {
				a := arguments(&s)
				change(&a)
				if r := c.Call(s.Number, a); r.Return != driver.BadArgument {
					t.Errorf("%v %s with %s: %v", k, s.Name, name, r.Return)
				}
			}
		}
		d, _ := boot(t)
		c := client(t, d, k, everything)
		if r := c.Call(uint32(len(driver.Selectors(k))), driver.Arguments{}); r.Return != driver.BadArgument {
			t.Errorf("%v past its last selector: %v", k, r.Return)
		}
	}
}

func TestOpenHandshake(t *testing.T) {
	d, _ := boot(t)
	if d.Clients() != 0 {
		t.Error("clients at rest")
	}
	c := client(t, d, driver.Control, everything)
	s := driver.Selectors(driver.Control)[0]
	a := arguments(&s)
	a.Struct[0] = 2
	if r := c.Call(0, a); r.Return != driver.UsageUnsupported {
		t.Errorf("usage 2: %v", r.Return)
	}
	r := c.Call(0, arguments(&s))
	le := binary.LittleEndian
	if r.Return != driver.Success || le.Uint64(r.Struct) == 0 || le.Uint64(r.Struct[8:]) != 0x1111222233334444 ||
		le.Uint32(r.Struct[0x18:]) != 10000 || le.Uint32(r.Struct[0x48:]) != 32 || le.Uint32(r.Struct[0x4c:]) != 256 ||
		le.Uint32(r.Struct[0x50:]) != 1 || le.Uint32(r.Struct[0x60:]) != 4 {
		t.Errorf("%v: % x", r.Return, r.Struct)
	}
	if r := c.Call(0, arguments(&s)); r.Return != driver.Busy {
		t.Errorf("a second open: %v", r.Return)
	}
	c.Close()
	if r := c.Call(0, arguments(&s)); r.Return != driver.ExclusiveAccess || d.Clients() != 0 {
		t.Errorf("after close: %v, %d clients", r.Return, d.Clients())
	}
}

// Each gate, closed and open.
func TestEntitlements(t *testing.T) {
	d, _ := boot(t)
	for k, right := range map[driver.Kind]string{driver.Control: driver.UserAccess, driver.DirectPath: driver.UserAccess, driver.Hints: driver.SetHints} {
		if _, r := d.NewUserClient(k, nil, false); r != driver.NotPrivileged {
			t.Errorf("%v without rights: %v", k, r)
		}
		if _, r := d.NewUserClient(k, driver.Entitlements{right}, false); r != driver.Success {
			t.Errorf("%v with %s: %v", k, right, r)
		}
	}
	// Data chaining.
	chain := driver.Selectors(driver.Control)[9]
	c := client(t, d, driver.Control, driver.Entitlements{driver.UserAccess})
	open(t, c, driver.Control)
	if r := c.Call(9, arguments(&chain)); r.Return != driver.Unsupported {
		t.Errorf("chaining without its entitlement: %v", r.Return)
	}
	c = client(t, d, driver.Control, driver.Entitlements{driver.UserAccess, driver.DataChaining})
	open(t, c, driver.Control)
	if r := c.Call(9, arguments(&chain)); r.Return != driver.NotFound {
		t.Errorf("chaining of no program: %v", r.Return)
	}
	// Firmware is never loaded this way.
	load := driver.Selectors(driver.Control)[16]
	if r := c.Call(16, arguments(&load)); r.Return != driver.Unsupported {
		t.Errorf("LoadFirmware: %v", r.Return)
	}
}

// A program from create to destroy, as a caller drives it.
func TestProgramLifecycle(t *testing.T) {
	d, m := boot(t)
	c := client(t, d, driver.Control, everything)
	table := driver.Selectors(driver.Control)
	open(t, c, driver.Control)
	call := func(number uint32, token uint64) driver.Results {
		a := arguments(&table[number])
		if len(a.Struct) >= 8 {
			binary.LittleEndian.PutUint64(a.Struct, token)
		}
		return c.Call(number, a)
	}
	send := func(q driver.Request) driver.Results {
		a := arguments(&table[2])
		a.Struct = q.Append(nil)
		return c.Call(2, a)
	}
	want := func(what string, r driver.Results, code driver.Return) driver.Results {
		t.Helper()
		if r.Return != code {
			t.Errorf("%s: %v, want %v", what, r.Return, code)
		}
		return r
	}
	const token = 1
	want("request before create", send(driver.Request{Token: token, Priority: 5}), driver.NotFound)
	want("create", call(3, 0x30000000), driver.Success)
	want("request before prepare", send(driver.Request{Token: token, Priority: 5}), driver.Aborted)
	want("prepare", call(4, token), driver.Success)
	want("prepare again", call(4, token), driver.Busy)
	for sequence := range uint64(2) {
		r := want("request", send(driver.Request{Token: token, Sequence: sequence, Priority: 5, Class: 21, Surfaces: []uint64{7, 8}}), driver.Success)
		le := binary.LittleEndian
		if r.Return == driver.Success && (le.Uint64(r.Struct) != sequence || le.Uint64(r.Struct[8:]) != token || le.Uint32(r.Struct[0x20:]) != 0) {
			t.Errorf("reply % x", r.Struct)
		}
	}
	if len(m.calls) != 2 || m.calls[0].Priority != 5 {
		t.Errorf("calls %+v", m.calls)
	}
	want("unprepare", call(5, token), driver.Success)
	want("unprepare again", call(5, token), driver.NotReady)
	want("destroy", call(6, token), driver.Success)
	want("destroy again", call(6, token), driver.NotFound)
	if l := m.ctl.Ledger(); m.loads != 0 || !l.Balanced() || l.Dropped != 1 {
		t.Errorf("%d programs, %+v", m.loads, l)
	}
}

func TestRealtimeNeedsItsEntitlement(t *testing.T) {
	d, m := boot(t)
	c := client(t, d, driver.Control, driver.Entitlements{driver.UserAccess})
	open(t, c, driver.Control)
	table := driver.Selectors(driver.Control)
	c.Call(3, arguments(&table[3]))
	prepare := arguments(&table[4])
	prepare.Struct[0] = 1
	c.Call(4, prepare)
	a := arguments(&table[2])
	a.Struct = (&driver.Request{Token: 1, Priority: 1}).Append(nil)
	if r := c.Call(2, a); r.Return != driver.Unsupported || len(m.calls) != 0 {
		t.Errorf("realtime without its entitlement: %v", r.Return)
	}
}

func TestRequestLayout(t *testing.T) {
	q := driver.Request{Token: 9, Sequence: 3, Priority: 5, Class: 21, Category: 2, Surfaces: []uint64{11, 12}}
	b := q.Append(nil)
	le := binary.LittleEndian
	if len(b) != 2376 || le.Uint64(b) != 9 || le.Uint64(b[8:]) != 3 || le.Uint32(b[0x10:]) != 5 || le.Uint32(b[0x14:]) != 21 || le.Uint32(b[0x1c:]) != 2 || le.Uint64(b[0x20:]) != 11 {
		t.Errorf("% x", b[:0x40])
	}
	if got := driver.ReadRequest(b); got.Token != 9 || len(got.Surfaces) != 2 || got.Surfaces[1] != 12 {
		t.Errorf("%+v", got)
	}
}

func TestReturnsKeepBothColumns(t *testing.T) {
	for r, public := range map[driver.Return]uint32{
		driver.Error: 0xe00002bc, driver.Busy: 0xe00002d5, driver.NotReady: 0xe00002d8, driver.Timeout: 0xe00002d6, driver.BadArgument: 0xe00002c2,
	} {
		if r.Public() != public {
			t.Errorf("%v: public %#x", r, r.Public())
		}
	}
}

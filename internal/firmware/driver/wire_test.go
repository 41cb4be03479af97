package driver_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"anesim/internal/firmware/command"
	"anesim/internal/firmware/driver"
)

// wire is a machine that keeps the headers that it is sent.
type wire struct {
	*machine
	sent []command.Header
}

func (w *wire) Send(ch command.Channel, m *command.Message) command.Reply {
	w.sent = append(w.sent, m.Header)
	return w.machine.Send(ch, m)
}

// Commands that concern no program, or no process of one, say so by -1.
func TestHeadersNameWhatTheyConcern(t *testing.T) {
	_, m := boot(t)
	w := &wire{machine: m}
	d := driver.New(w)
	c := client(t, d, driver.Control, everything)
	open(t, c, driver.Control)
	table := driver.Selectors(driver.Control)
	create := slices.IndexFunc(table, func(s driver.Selector) bool { return s.Name == "ANE_ProgramCreate" })
	if create < 0 {
		t.Fatal("no selector creates a program")
	}
	if r := c.Call(uint32(create), arguments(&table[create])); r.Return != driver.Success {
		t.Fatal(r.Return)
	}
	power, _ := d.NewUserClient(driver.DirectPath, everything, true)
	open(t, power, driver.DirectPath)
	if _, r := power.Method("ANE_PowerOn"); r != driver.Success {
		t.Fatal(r)
	}
	c.Close()
	want := []command.Header{
		{ID: command.RequestProgramID, Program: -1, Process: -1},
		{ID: command.LoadProgram, Program: 0, Process: -1},
		{ID: command.PowerDeviceOn, Program: -1, Process: -1},
		{ID: command.UnloadProgram, Program: 0, Process: -1},
		{ID: command.ReturnProgramID, Program: 0, Process: -1},
	}
	if !slices.Equal(w.sent, want) {
		t.Errorf("sent %+v,\nwant %+v", w.sent, want)
	}
}

// Values of 32 bits up to the last, and none beyond.
func TestWordsOfMethods(t *testing.T) {
	d, m := boot(t)
	c, _ := d.NewUserClient(driver.DirectPath, everything, true)
	open(t, c, driver.DirectPath)
	for _, tc := range []struct {
		name string
		args []uint64
		want driver.Return
	}{
		{"ANE_WriteANERegister", []uint64{0x40, 1<<32 - 1}, driver.Success},
		{"ANE_WriteANERegister", []uint64{0x44, 1 << 32}, driver.BadArgument},
		{"ANE_FWSharedEventDoorbellRing", []uint64{1<<32 - 1, 3}, driver.Success},
		{"ANE_FWSharedEventDoorbellRing", []uint64{1 << 32, 3}, driver.BadArgument},
	} {
		if _, r := c.Method(tc.name, tc.args...); r != tc.want {
			t.Errorf("%s %#x: %v, want %v", tc.name, tc.args, r, tc.want)
		}
	}
	if m.registers[0x40] != 1<<32-1 || m.events.Value(1<<32-1) != 3 || m.events.Value(0) != 0 {
		t.Errorf("register %#x, event at %d", m.registers[0x40], m.events.Value(1<<32-1))
	}
	// The execution channel is one; the controller and not the driver refuses a ping there.
	if out, _ := c.Method("ANE_SendCommand", 1, uint64(command.Ping), 0, 5, 0xffffffff, 0xffffffff, 0); len(out) != 1 || out[0] != uint64(command.Unsupported) {
		t.Errorf("a ping on the execution channel: %d", out)
	}
	// So it does with a body, of the largest size too.
	args := append([]uint64{0, uint64(command.Ping), command.MaxBody, 5, 0xffffffff, 0xffffffff, 0}, make([]uint64, command.MaxBody/4)...)
	if out, _ := c.Method("ANE_SendCommand", args...); len(out) != 1 || out[0] != uint64(command.Malformed) {
		t.Errorf("a ping with a body: %d", out)
	}
}

// A request holds 293 surfaces, to the end of its struct.
func TestRequestOfAllSurfaces(t *testing.T) {
	var q driver.Request
	for i := range (driver.RequestBytes - 0x20) / 8 {
		q.Surfaces = append(q.Surfaces, uint64(i+1))
	}
	if got := driver.ReadRequest(q.Append(nil)); len(q.Surfaces) != 293 || !slices.Equal(got.Surfaces, q.Surfaces) {
		t.Errorf("%d surfaces of %d", len(got.Surfaces), len(q.Surfaces))
	}
}

// Each open has a token of its own, one above the last.
func TestOpenTokens(t *testing.T) {
	d, _ := boot(t)
	s := driver.Selectors(driver.Control)[0]
	last := uint64(0)
	for range 3 {
		r := client(t, d, driver.Control, everything).Call(0, arguments(&s))
		token := binary.LittleEndian.Uint64(r.Struct)
		if last != 0 && token != last+1 {
			t.Errorf("token %d after %d", token, last)
		}
		last = token
	}
}

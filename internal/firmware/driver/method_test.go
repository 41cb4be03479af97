package driver_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"anesim/internal/firmware/command"
	"anesim/internal/firmware/driver"
)

// without returns every kernel entitlement except the named one.
func without(name string) driver.Entitlements {
	return slices.DeleteFunc(slices.Clone(everything), func(e string) bool { return e == name })
}

// Every method of the catalog with its gate closed and open, on the client that has it.
func TestMethodGates(t *testing.T) {
	args := map[string][]uint64{
		"ANE_ReadANERegister": {0x26bc00000}, "ANE_WriteANERegister": {0x26bc00000, 7}, "ANE_FWSharedEventDoorbellRing": {3, 9},
		"ANE_SetPowerManagement": {1}, "ANE_SetDynamicPowerGating": {0}, "ANE_SetPowerGatingHysteresisTime": {50}, "ANE_SetThrottlingPercentage": {99},
		"ANE_MPMMemoryMapRequest": {1, 64}, "ANE_SendCommand": {0, uint64(command.Ping), 0, 5, 0xffffffff, 0xffffffff, 0},
	}
	gated := map[string]int{}
	for _, m := range driver.Methods() {
		try := func(rights driver.Entitlements, privileged bool) driver.Return {
			d, _ := boot(t)
			kind := driver.DirectPath
			if m.Kind == driver.Hints {
				kind = driver.Hints
			}
			c, r := d.NewUserClient(kind, rights, privileged)
			if r != driver.Success {
				return r
			}
			if kind != driver.Hints {
				open(t, c, kind)
			}
			a := args[m.Name]
			if m.Name == "ANE_MPMMemoryUnmapRequest" {
				mapped, _ := c.Method("ANE_MPMMemoryMapRequest", 1, 64)
				a = append([]uint64{}, mapped...)
				if len(a) == 0 {
					a = []uint64{1}
				}
			}
			if m.Name == "ANE_RemovePersistentClient" {
				c.Method("ANE_AddPersistentClient")
			}
			_, r = c.Method(m.Name, a...)
			return r
		}
		open := try(everything, true)
		if open != driver.Success && open != driver.Unsupported {
			t.Errorf("%s with every right: %v", m.Name, open)
		}
		if m.Privileged {
			gated["privileged"]++
			if r := try(everything, false); r != driver.NotPrivileged {
				t.Errorf("%s without the privileged property: %v", m.Name, r)
			}
		}
		if m.Entitlement != "" {
			gated[m.Entitlement]++
			want := driver.Unsupported
			if m.Entitlement == driver.SetHints {
				want = driver.NotPrivileged // the client itself is not made
			}
			if r := try(without(m.Entitlement), true); r != want {
				t.Errorf("%s without %s: %v", m.Name, m.Entitlement, r)
			}
			if open != driver.Success {
				t.Errorf("%s with %s: %v", m.Name, m.Entitlement, open)
			}
		}
	}
	if n := len(driver.Methods()); n != 31 || gated["privileged"] != 9 {
		t.Errorf("%d methods, %d behind the second check", n, gated["privileged"])
	}
}

// Each of the eight kernel entitlements opens something that is closed without it.
func TestEveryKernelEntitlementIsAGate(t *testing.T) {
	table := driver.Selectors(driver.Control)
	request := func(priority uint32) func(*testing.T, driver.Entitlements) driver.Return {
		return func(t *testing.T, rights driver.Entitlements) driver.Return {
			d, _ := boot(t)
			c, r := d.NewUserClient(driver.Control, rights, false)
			if r != driver.Success {
				return r
			}
			open(t, c, driver.Control)
			c.Call(3, arguments(&table[3]))
			a := arguments(&table[4])
			a.Struct[0] = 1
			c.Call(4, a)
			a = arguments(&table[2])
			a.Struct = (&driver.Request{Token: 1, Priority: priority}).Append(nil)
			return c.Call(2, a).Return
		}
	}
	method := func(k driver.Kind, name string, args ...uint64) func(*testing.T, driver.Entitlements) driver.Return {
		return func(t *testing.T, rights driver.Entitlements) driver.Return {
			d, _ := boot(t)
			c, r := d.NewUserClient(k, rights, false)
			if r != driver.Success {
				return r
			}
			if k != driver.Hints {
				open(t, c, k)
			}
			_, r = c.Method(name, args...)
			return r
		}
	}
	chain := func(t *testing.T, rights driver.Entitlements) driver.Return {
		d, _ := boot(t)
		c, _ := d.NewUserClient(driver.Control, rights, false)
		open(t, c, driver.Control)
		c.Call(3, arguments(&table[3]))
		for _, n := range []uint32{4, 9} {
			a := arguments(&table[n])
			a.Struct[0] = 1
			if r := c.Call(n, a); r.Return != driver.Success {
				return r.Return
			}
		}
		return driver.Success
	}
	gates := map[string]struct {
		closed driver.Return
		rights driver.Entitlements // of the closed case
		try    func(*testing.T, driver.Entitlements) driver.Return
	}{
		driver.UserAccess:   {driver.NotPrivileged, without(driver.UserAccess), request(5)},
		driver.DataChaining: {driver.Unsupported, without(driver.DataChaining), chain},
		driver.Realtime:     {driver.Unsupported, without(driver.Realtime), request(1)},
		driver.Reserved:     {driver.Unsupported, driver.Entitlements{driver.UserAccess}, request(0)},
		driver.Memory:       {driver.Unsupported, without(driver.Memory), method(driver.DirectPath, "ANE_MPMMemoryMapRequest", 1, 64)},
		driver.Data:         {driver.Unsupported, without(driver.Data), method(driver.DirectPath, "ANE_GetClientsInfo")},
		driver.SetHints:     {driver.NotPrivileged, without(driver.SetHints), method(driver.Hints, "setClientHint")},
		driver.ShareHints:   {driver.Unsupported, without(driver.ShareHints), method(driver.Hints, "shareCoalitionHint")},
	}
	for _, e := range driver.KernelEntitlements() {
		g, ok := gates[e]
		if !ok {
			t.Errorf("%s has no test", e)
			continue
		}
		if r := g.try(t, g.rights); r != g.closed {
			t.Errorf("without %s: %v, want %v", e, r, g.closed)
		}
		if r := g.try(t, append(slices.Clone(g.rights), e)); r != driver.Success {
			t.Errorf("with %s: %v", e, r)
		}
	}
	if len(gates) != 8 {
		t.Errorf("%d gates", len(gates))
	}
}

func TestMethods(t *testing.T) {
	d, m := boot(t)
	c, _ := d.NewUserClient(driver.DirectPath, everything, true)
	if _, r := c.Method("ANE_PowerOn"); r != driver.NotReady {
		t.Errorf("before the open: %v", r)
	}
	open(t, c, driver.DirectPath)
	ok := func(name string, args ...uint64) []uint64 {
		t.Helper()
		out, r := c.Method(name, args...)
		if r != driver.Success {
			t.Errorf("%s: %v", name, r)
		}
		return out
	}
	if out := ok("ANE_IsPowered"); out[0] != 0 {
		t.Errorf("powered: %d", out[0])
	}
	ok("ANE_WriteANERegister", 0x26bc0c000, 0xff)
	if out := ok("ANE_ReadANERegister", 0x26bc0c000); out[0] != 0xff {
		t.Errorf("register %#x", out[0])
	}
	if out := ok("ANE_IsPowered"); out[0] != 1 {
		t.Errorf("powered: %d", out[0])
	}
	if _, r := c.Method("ANE_ReadANERegister", 0x26bc0c001); r != driver.BadArgument {
		t.Errorf("an odd address: %v", r)
	}
	ok("ANE_FWSharedEventDoorbellRing", 4, 11)
	if v := m.events.Value(4); v != 11 {
		t.Errorf("event at %d", v)
	}
	at := ok("ANE_MPMMemoryMapRequest", 1, 100)[0]
	if out := ok("ANE_ShowSharedMemoryAllocations"); out[0] != 1 || out[1] != 100 {
		t.Errorf("%d", out)
	}
	ok("ANE_MPMMemoryUnmapRequest", at)
	if _, r := c.Method("ANE_MPMMemoryUnmapRequest", at); r != driver.NotFound {
		t.Errorf("unmapped twice: %v", r)
	}
	ok("ANE_AddPersistentClient")
	if _, r := c.Method("ANE_PowerOff"); r != driver.Busy {
		t.Errorf("power off beside a persistent client: %v", r)
	}
	ok("ANE_RemovePersistentClient")
	if out := ok("ANE_SendCommand", 0, uint64(command.Ping), 0, 5, 0xffffffff, 0xffffffff, 0); out[0] != uint64(command.OK) {
		t.Errorf("ping: status %d", out[0])
	}
	for name, args := range map[string][]uint64{
		"a short message": {0, 0x10, 0}, "a word of 33 bits": {0, 1 << 32, 0, 0, 0, 0, 0}, "channel 2": {2, 0x10, 0, 0, 0, 0, 0},
		"words behind it": {0, 0x10, 0, 0, 0, 0, 0, 1},
	} {
		if _, r := c.Method("ANE_SendCommand", args...); r != driver.BadArgument {
			t.Errorf("%s: %v", name, r)
		}
	}
	ok("ANE_PowerOff")
	if m.ctl.Booted() {
		t.Error("the controller is booted behind a power off")
	}
	c.Close()
	if _, r := c.Method("ANE_PowerOn"); r != driver.ExclusiveAccess {
		t.Errorf("after the close: %v", r)
	}
}

// word returns the arguments of a selector, with token and second as the first two words of the
// struct.
func word(s *driver.Selector, token uint64, second uint32) driver.Arguments {
	a := arguments(s)
	binary.LittleEndian.PutUint64(a.Struct, token)
	if len(a.Struct) >= 12 {
		binary.LittleEndian.PutUint32(a.Struct[8:], second)
	}
	return a
}

// The resident submission model: a chain is prepared, a direct-path client borrows its
// program, enqueues the output set and says that the inputs are ready.
func TestResidentSubmission(t *testing.T) {
	d, m := boot(t)
	owner, direct := client(t, d, driver.Control, everything), client(t, d, driver.DirectPath, everything)
	open(t, owner, driver.Control)
	open(t, direct, driver.DirectPath)
	control, path := driver.Selectors(driver.Control), driver.Selectors(driver.DirectPath)
	step := func(c *driver.Client, s *driver.Selector, second uint32, want driver.Return) {
		t.Helper()
		if r := c.Call(s.Number, word(s, 1, second)); r.Return != want {
			t.Errorf("%s: %v, want %v", s.Name, r.Return, want)
		}
	}
	owner.Call(3, arguments(&control[3]))
	step(owner, &control[9], 0, driver.NotFound) // no process yet
	step(owner, &control[4], 0, driver.Success)
	step(owner, &control[9], 0, driver.Success)
	step(direct, &path[4], 0, driver.NotFound) // nobody has lent it
	if r := owner.Lend(1, direct); r != driver.Success {
		t.Fatal(r)
	}
	if r := direct.Lend(1, owner); r != driver.NotFound {
		t.Errorf("a borrowed handle lent on: %v", r)
	}
	step(direct, &path[4], 0, driver.Success)
	step(direct, &path[4], 0, driver.NoResources) // its output set is out
	step(direct, &path[3], 0, driver.Success)
	step(direct, &path[3], 0, driver.NotReady)
	step(direct, &path[4], 16, driver.Success)
	step(direct, &path[4], 17, driver.BadArgument)
	step(owner, &control[9], 1, driver.Success) // another procedure of the group
	step(direct, &path[8], 1, driver.Success)
	step(direct, &path[4], 0, driver.Success)
	if len(m.calls) != 3 || m.calls[2].Procedure != 1 {
		t.Errorf("%+v", m.calls)
	}
	owner.Close()
	step(direct, &path[4], 0, driver.NotFound)
	direct.Close()
	if d.Handles() != 0 || m.loads != 0 || d.Clients() != 0 {
		t.Errorf("%d handles, %d programs, %d clients", d.Handles(), m.loads, d.Clients())
	}
}

// Instances are processes of one program, which goes with the last of them.
func TestInstances(t *testing.T) {
	d, m := boot(t)
	c := client(t, d, driver.Control, everything)
	open(t, c, driver.Control)
	table := driver.Selectors(driver.Control)
	c.Call(3, arguments(&table[3]))
	for range command.MaxProcesses - 1 {
		if r := c.Call(8, word(&table[8], 1, 0)); r.Return != driver.Success {
			t.Fatal(r.Return)
		}
	}
	if r := c.Call(8, word(&table[8], 1, 0)); r.Return != driver.NoResources {
		t.Errorf("one instance too many: %v", r.Return)
	}
	if m.loads != 1 || d.Handles() != command.MaxProcesses {
		t.Errorf("%d programs for %d handles", m.loads, d.Handles())
	}
	second := uint64(1)<<32 | 1
	if r := c.Call(4, word(&table[4], second, 0)); r.Return != driver.Success {
		t.Errorf("prepare: %v", r.Return)
	}
	a := arguments(&table[2])
	a.Struct = (&driver.Request{Token: second, Priority: 5}).Append(nil)
	if r := c.Call(2, a); r.Return != driver.Success || m.calls[0].Process != 1 {
		t.Errorf("request: %v, %+v", r.Return, m.calls)
	}
	if r := c.Call(6, word(&table[6], 1, 0)); r.Return != driver.Success || m.loads != 1 {
		t.Errorf("destroy of the first: %v, %d programs", r.Return, m.loads)
	}
	c.Close()
	if m.loads != 0 || d.Handles() != 0 {
		t.Errorf("%d programs, %d handles", m.loads, d.Handles())
	}
}

// A reset of the controller leaves handles that lead nowhere, also where a slot is taken
// again.
func TestResetOfTheController(t *testing.T) {
	d, m := boot(t)
	c := client(t, d, driver.Control, everything)
	open(t, c, driver.Control)
	table := driver.Selectors(driver.Control)
	c.Call(3, arguments(&table[3]))
	for _, id := range []command.ID{command.Reset, command.Boot} {
		x := command.Message{Header: command.Header{ID: id, Program: -1, Process: -1}}
		if r := m.ctl.Handle(command.Control, x.Append(nil)); r.Status != command.OK {
			t.Fatal(r.Why)
		}
	}
	if r := c.Call(4, word(&table[4], 1, 0)); r.Return != driver.NotFound {
		t.Errorf("prepare of a program that is gone: %v", r.Return)
	}
	if r := c.Call(3, arguments(&table[3])); r.Return != driver.Success || d.Handles() != 1 {
		t.Errorf("%v, %d handles", r.Return, d.Handles())
	}
	c.Close()
	if d.Handles() != 0 || m.loads != 0 {
		t.Errorf("%d handles, %d programs", d.Handles(), m.loads)
	}
}

// TestBuffersGoWithTheirClient checks that the mappings of a client end with the client.
func TestBuffersGoWithTheirClient(t *testing.T) {
	d, m := boot(t)
	a, b := client(t, d, driver.DirectPath, everything), client(t, d, driver.DirectPath, everything)
	open(t, a, driver.DirectPath)
	open(t, b, driver.DirectPath)
	s := driver.Selectors(driver.DirectPath)
	x := arguments(&s[5])
	binary.LittleEndian.PutUint64(x.Struct[8:], 4096)
	at := a.Call(5, x)
	if at.Return != driver.Success {
		t.Fatal(at.Return)
	}
	if r := b.Call(6, word(&s[6], at.Scalars[0], 0)); r.Return != driver.NotFound {
		t.Errorf("another client's buffer: %v", r.Return)
	}
	if n, bytes := d.Buffers(); n != 1 || bytes != 4096 {
		t.Errorf("%d buffers of %d bytes", n, bytes)
	}
	a.Close()
	if n, bytes := d.Buffers(); n != 0 || bytes != 0 || len(m.mapped) != 0 {
		t.Errorf("%d buffers of %d bytes, %d mapped", n, bytes, len(m.mapped))
	}
}

// A client that holds a program of its own under a token cannot be lent another under it.
func TestLendOfATokenInUse(t *testing.T) {
	d, _ := boot(t)
	owner, other := client(t, d, driver.Control, everything), client(t, d, driver.DirectPath, everything)
	open(t, owner, driver.Control)
	open(t, other, driver.DirectPath)
	owner.Call(3, arguments(&driver.Selectors(driver.Control)[3]))
	if r := owner.Lend(1, other); r != driver.Success {
		t.Fatal(r)
	}
	if r := owner.Lend(1, other); r != driver.Busy {
		t.Errorf("lending token 1 to a client that holds it: %v, want %v", r, driver.Busy)
	}
	if n := d.Handles(); n != 2 {
		t.Errorf("%d handles, want the owner's and the borrowed one", n)
	}
}

// The count of persistent clients follows each client once, and falls when one closes.
func TestPersistentClientsAreCounted(t *testing.T) {
	d, _ := boot(t)
	a, b := client(t, d, driver.DirectPath, everything), client(t, d, driver.DirectPath, everything)
	open(t, a, driver.DirectPath)
	open(t, b, driver.DirectPath)
	count := func(want uint64) {
		t.Helper()
		if out, r := b.Method("ANE_GetClientsInfo"); r != driver.Success || out[1] != want {
			t.Errorf("persistent clients: %d (%v), want %d", out, r, want)
		}
	}
	add := func(c *driver.Client, name string, want driver.Return) {
		t.Helper()
		if _, r := c.Method(name); r != want {
			t.Errorf("%s: %v, want %v", name, r, want)
		}
	}
	count(0)
	add(a, "ANE_AddPersistentClient", driver.Success)
	add(a, "ANE_AddPersistentClient", driver.Busy)
	add(b, "ANE_RemovePersistentClient", driver.Busy)
	count(1)
	add(b, "ANE_AddPersistentClient", driver.Success)
	count(2)
	a.Close()
	count(1)
	add(b, "ANE_PowerOff", driver.Busy)
	add(b, "ANE_RemovePersistentClient", driver.Success)
	count(0)
	add(b, "ANE_PowerOff", driver.Success)
}

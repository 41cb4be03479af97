package paper

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"

	"anesim/firmware/broker"
	"anesim/firmware/command"
	"anesim/firmware/driver"
	"anesim/firmware/machine"
)

// selectorSizes are the documents' selectors with what each takes and gives: scalars in,
// bytes in, scalars out, bytes out.
var selectorSizes = [...]struct {
	kind   driver.Kind
	number uint32
	sizes  [4]uint64
}{
	{driver.Control, 0, [4]uint64{0, 104, 0, 104}}, {driver.Control, 1, [4]uint64{}}, {driver.Control, 2, [4]uint64{1, 2376, 0, 40}},
	{driver.Control, 3, [4]uint64{0, 32, 0, 0}}, {driver.Control, 4, [4]uint64{0, 56, 0, 56}}, {driver.Control, 5, [4]uint64{0, 56, 0, 0}},
	{driver.Control, 6, [4]uint64{0, 16, 0, 0}}, {driver.Control, 7, [4]uint64{0, 0, 0, 32}}, {driver.Control, 8, [4]uint64{0, 32, 0, 0}},
	{driver.Control, 9, [4]uint64{0, 16, 0, 24}}, {driver.Control, 10, [4]uint64{0, 0, 1, 0}}, {driver.Control, 11, [4]uint64{0, 24, 0, 0}},
	{driver.Control, 12, [4]uint64{}}, {driver.Control, 13, [4]uint64{2, 0, 0, 0}}, {driver.Control, 14, [4]uint64{2, 0, 0, 0}},
	{driver.Control, 15, [4]uint64{}}, {driver.Control, 16, [4]uint64{3, 0, 0, 0}},
	{driver.DirectPath, 0, [4]uint64{0, 104, 0, 104}}, {driver.DirectPath, 1, [4]uint64{}}, {driver.DirectPath, 2, [4]uint64{1, 2376, 0, 40}},
	{driver.DirectPath, 3, [4]uint64{0, 40, 0, 0}}, {driver.DirectPath, 4, [4]uint64{0, 3104, 0, 0}}, {driver.DirectPath, 5, [4]uint64{1, 2080, 1, 0}},
	{driver.DirectPath, 6, [4]uint64{0, 2080, 0, 0}}, {driver.DirectPath, 7, [4]uint64{0, 16, 0, 24}}, {driver.DirectPath, 8, [4]uint64{0, 32, 0, 0}},
}

// driverABI calls the driver and reads the layouts of what goes in and out.
func (p *paper) driverABI() error {
	const area, how = "driver", "anesim fw: calls of the selectors"
	m, err := machine.New(p.ctx, machine.Options{})
	if err != nil {
		return err
	}
	exact := func(claim string, document, model uint64, against string) {
		p.exact(area, claim, "", document, model, how, against)
	}
	given := func(claim string, document, model uint64, against string) {
		p.given(area, claim, "", document, model, how, against)
	}
	hex := func(claim string, document, model uint64, against string) {
		p.exact(area, claim, "hex", document, model, how, against)
	}
	refused := uint64(0)
	for _, s := range selectorSizes {
		list := driver.Selectors(s.kind)
		if int(s.number) >= len(list) {
			return fmt.Errorf("paper: no selector %d", s.number)
		}
		x := &list[s.number]
		name := fmt.Sprintf("%v selector %d, %s", s.kind, s.number, x.Name)
		none := true
		for i, got := range [...]uint32{x.ScalarsIn, x.StructIn, x.ScalarsOut, x.StructOut} {
			if s.sizes[i] != 0 || got != 0 {
				none = false
				given(name+": "+[...]string{"scalars in", "bytes in", "scalars out", "bytes out"}[i], s.sizes[i], uint64(got), "")
			}
		}
		if none {
			given(name+": bytes and scalars", 0, uint64(x.ScalarsIn+x.StructIn+x.ScalarsOut+x.StructOut), "")
		}
		c, ret := m.Driver().NewUserClient(s.kind, driver.Entitlements{driver.UserAccess, driver.DataChaining, driver.Realtime}, true)
		if ret != driver.Success {
			return fmt.Errorf("paper: a client is refused: %v", ret)
		}
		r := c.Call(s.number, driver.Arguments{
			Scalars: make([]uint64, x.ScalarsIn), Struct: make([]byte, x.StructIn+1), ScalarsOut: x.ScalarsOut, StructOut: x.StructOut,
		})
		if r.Return == 0xe00002c2 {
			refused++
		}
		c.Close()
	}
	exact("selectors that refuse a struct one byte too long, 0xe00002c2", uint64(len(selectorSizes)), refused, "")
	given("bytes of a dispatch record", 40, uint64(len(driver.Selectors(driver.Control)[0].Append(nil))), "")
	args := driver.ArgumentBlock()
	hex("first offset of the argument block", 0x8, uint64(args[0].Off), "")
	hex("last offset of the argument block", 0x60, uint64(args[len(args)-1].Off), "")
	shim := driver.ShimSelectors()
	given("selectors that the M1's shim calls", 7, uint64(len(shim)), "")
	given("the highest of them", 16, uint64(shim[len(shim)-1]), "")

	if err := p.handshake(m, hex); err != nil {
		return err
	}
	requestLayout(hex)

	most := uint64(0)
	for i := range uint32(64) {
		if w, err := command.Doorbell(i); err == nil && w == 1<<i {
			most = uint64(i) + 1
		}
	}
	exact("doorbells, each a bit of its index", 32, most, "")
	bad := uint64(0)
	for bit := range 64 {
		if !command.StoreCommitted(1 << bit) {
			bad |= 1 << bit
		}
	}
	hex("bits that say a completion store failed: 1 and 7", 0x82, bad, "")
	for _, h := range []struct {
		entitlement string
		holders     uint64
	}{{broker.Allow, 18}, {broker.Access, 14}, {broker.AdapterWeight, 5}, {broker.ModelShare, 4}, {broker.SecondaryCompiler, 1}} {
		p.given(area, "binaries that hold "+h.entitlement, "", h.holders, uint64(broker.Holders(h.entitlement)), "", "")
	}
	given("entitlements that the kernel reads", 8, uint64(len(driver.KernelEntitlements())), "two gates and six more")
	want := map[string]uint64{"version": 96, "minor version": 17, "board type": 96, "board subtype": 0, "number of cores": 16, "number of engines": 1, "CPU subtype": 4}
	for _, x := range driver.Properties() {
		if w, ok := want[x.Name]; ok {
			got, err := strconv.ParseUint(x.Value, 10, 64)
			if err != nil {
				return err
			}
			p.given(area, "device property: "+x.Name, "", w, got, "", "")
		}
	}
	return nil
}

// handshake opens the device and reads the reply.
func (p *paper) handshake(m *machine.Machine, hex func(string, uint64, uint64, string)) error {
	le := binary.LittleEndian
	c, ret := m.Driver().NewUserClient(driver.Control, driver.Entitlements{driver.UserAccess}, false)
	if ret != driver.Success {
		return fmt.Errorf("paper: a client is refused: %v", ret)
	}
	defer c.Close()
	open := driver.OpenRequest()
	hex("open: board id at +8, upper half", 0x11112222, uint64(le.Uint32(open[12:])), "")
	hex("open: board id at +8, lower half", 0x33334444, uint64(le.Uint32(open[8:])), "")
	hex("open: timeout at +0x18", 10000, uint64(le.Uint32(open[0x18:])), "")
	other := bytes.Clone(open)
	other[0] = 2
	r := c.Call(0, driver.Arguments{Struct: other, StructOut: driver.OpenBytes})
	hex("open: code of usage 2", 24, uint64(r.Return), "")
	if r = c.Call(0, driver.Arguments{Struct: open, StructOut: driver.OpenBytes}); r.Return != driver.Success {
		return fmt.Errorf("paper: the device is not opened: %v", r.Return)
	}
	hex("open: version at +0x48", 32, uint64(le.Uint32(r.Struct[0x48:])), "")
	hex("open: version at +0x4c", 256, uint64(le.Uint32(r.Struct[0x4c:])), "")
	hex("open: engines at +0x50", 1, uint64(le.Uint32(r.Struct[0x50:])), "the pair 0, 1 elsewhere")
	hex("open: CPU subtype at +0x60", 4, uint64(le.Uint32(r.Struct[0x60:])), "")
	return nil
}

// requestLayout looks for what a request holds.
func requestLayout(hex func(string, uint64, uint64, string)) {
	le := binary.LittleEndian
	const token, sequence, surface = 0x1122334455667788, 0x99aabbccddeeff01, 0x123456789abcdef0
	q := driver.Request{Token: token, Sequence: sequence, QoS: 5, Priority: 21, Surfaces: []uint64{surface}}
	b := q.Append(nil)
	find := func(v []byte) uint64 { return uint64(bytes.Index(b, v)) }
	hex("request: token at", 0, find(le.AppendUint64(nil, token)), "")
	hex("request: sequence at", 8, find(le.AppendUint64(nil, sequence)), "")
	hex("request: the pair 5, 21 at", 0x10, find(le.AppendUint32(le.AppendUint32(nil, 5), 21)), "")
	hex("request: category at +0x1c", 2, uint64(le.Uint32(b[0x1c:])), "")
	hex("request: surfaces at", 0x20, find(le.AppendUint64(nil, surface)), "")
}

// commands reads the table of commands and sends some.
func (p *paper) commands() error {
	const area, how = "commands", "anesim fw: messages to the controller"
	var cache, family, up uint64
	for id := range command.ID(command.Commands) {
		info, _ := id.Info()
		if info.Direction == command.Up {
			up++
		}
		if id >= 0x45 && id <= 0x4f {
			family++
			if info.Subsystem == "cache" {
				cache++
			}
		}
	}
	p.given(area, "commands from 0x45 to 0x4f, the cache requests", "", 11, family, how, "")
	p.given(area, "of them of the cache's subsystem", "", 9, cache, how, "")
	p.given(area, "notifications of the firmware", "", 14, up, how, "")
	p.given(area, "the number that is no command", "hex", 0xffffffff, uint64(command.NoCommand), how, "")
	highest, realtime := uint64(0), uint64(0)
	for n := range uint32(16) {
		h := command.Header{ID: command.Ping, Priority: n, Program: -1, Process: -1}
		if _, _, err := command.Read((&command.Message{Header: h}).Append(nil)); err == nil {
			highest = uint64(n)
			if h.Realtime() {
				realtime++
			}
		}
	}
	p.exact(area, "highest priority number", "", 7, highest, how, "")
	p.exact(area, "priorities of the realtime band", "", 2, realtime, how, "")
	p.given(area, "words of a command's header", "", 6, command.HeaderBytes/4, how, "")
	p.given(area, "input buffers of a trigger, at most", "", 16, command.MaxTriggerInputs, "", "")
	return nil
}

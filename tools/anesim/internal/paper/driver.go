package paper

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"anesim/internal/firmware/command"
	"anesim/internal/firmware/driver"
	"anesim/internal/firmware/machine"
)

// compareDriverLayouts calls the driver and compares the layouts of its inputs and outputs with the
// documents.
func (p *paper) compareDriverLayouts() error {
	const area, how = "driver", "anesim fw: calls of the selectors"
	m, err := machine.New(p.ctx, machine.Options{})
	if err != nil {
		return err
	}
	exact := func(claim string, document, model uint64, against string) {
		p.addExactClaim(area, claim, "", document, model, how, against)
	}
	hex := func(claim string, document, model uint64, against string) {
		p.addExactClaim(area, claim, "hex", document, model, how, against)
	}
	refused := uint64(0)
	for _, kind := range [...]driver.Kind{driver.Control, driver.DirectPath} {
		for n, x := range driver.Selectors(kind) {
			c, ret := m.Driver().NewUserClient(kind, driver.Entitlements{driver.UserAccess, driver.DataChaining, driver.Realtime}, true)
			if ret != driver.Success {
				return fmt.Errorf("paper: cannot open a driver client: %v", ret)
			}
			r := c.Call(uint32(n), driver.Arguments{
				// One byte too many, which the documents say that these selectors refuse.
				Scalars: make([]uint64, x.ScalarsIn), Struct: make([]byte, x.StructIn+1), ScalarsOut: x.ScalarsOut, StructOut: x.StructOut,
			})
			if r.Return == 0xe00002c2 {
				refused++
			}
			c.Close()
		}
	}
	exact("selectors that refuse a struct one byte too long, 0xe00002c2", 26, refused, "")
	args := driver.ArgumentBlock()
	hex("first offset of the argument block", 0x8, uint64(args[0].Off), "")
	hex("last offset of the argument block", 0x60, uint64(args[len(args)-1].Off), "")

	if err := p.compareDeviceOpening(m, hex); err != nil {
		return err
	}
	compareRequest(hex)

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
	return nil
}

// compareDeviceOpening opens the device and compares the reply with the documents.
func (p *paper) compareDeviceOpening(m *machine.Machine, hex func(string, uint64, uint64, string)) error {
	le := binary.LittleEndian
	c, ret := m.Driver().NewUserClient(driver.Control, driver.Entitlements{driver.UserAccess}, false)
	if ret != driver.Success {
		return fmt.Errorf("paper: cannot open a driver client: %v", ret)
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
		return fmt.Errorf("paper: cannot open the device: %v", r.Return)
	}
	hex("open: version at +0x48", 32, uint64(le.Uint32(r.Struct[0x48:])), "")
	hex("open: version at +0x4c", 256, uint64(le.Uint32(r.Struct[0x4c:])), "")
	hex("open: engines at +0x50", 1, uint64(le.Uint32(r.Struct[0x50:])), "the pair 0, 1 elsewhere")
	hex("open: CPU subtype at +0x60", 4, uint64(le.Uint32(r.Struct[0x60:])), "")
	return nil
}

// compareRequest compares the offsets of a request's fields with the documents.
func compareRequest(hex func(string, uint64, uint64, string)) {
	le := binary.LittleEndian
	const token, sequence, surface = 0x1122334455667788, 0x99aabbccddeeff01, 0x123456789abcdef0
	q := driver.Request{Token: token, Sequence: sequence, Priority: 5, Class: 21, Surfaces: []uint64{surface}}
	b := q.Append(nil)
	find := func(v []byte) uint64 { return uint64(bytes.Index(b, v)) }
	hex("request: token at", 0, find(le.AppendUint64(nil, token)), "")
	hex("request: sequence at", 8, find(le.AppendUint64(nil, sequence)), "")
	hex("request: the pair 5, 21 at", 0x10, find(le.AppendUint32(le.AppendUint32(nil, 5), 21)), "")
	hex("request: category at +0x1c", 2, uint64(le.Uint32(b[0x1c:])), "")
	hex("request: surfaces at", 0x20, find(le.AppendUint64(nil, surface)), "")
}

// compareCommandPriorities sends a command header with each priority from 0 to 15 and compares the
// priorities that the controller accepts with the vendor's documents.
func (p *paper) compareCommandPriorities() error {
	const area, how = "commands", "anesim fw: messages to the controller"
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
	p.addExactClaim(area, "highest priority number", "", 7, highest, how, "")
	p.addExactClaim(area, "priorities of the realtime band", "", 2, realtime, how, "")
	return nil
}

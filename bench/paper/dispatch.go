package paper

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"

	"anesim"
	"anesim/firmware"
	"anesim/loader/e5"
)

// descriptors writes dispatch descriptors of several networks.
func (p *paper) descriptors() error {
	const area, how = "dispatch descriptor", "anesim model --e5"
	write := func(text string) ([]byte, *e5.Program, error) {
		m, err := anesim.Read("net.yaml", strings.NewReader(text), int64(len(text)))
		if err != nil {
			return nil, nil, err
		}
		list, err := m.Programs(p.ctx, anesim.Options{})
		if err != nil {
			return nil, nil, err
		}
		var parts []e5.Part
		for _, q := range list {
			parts = append(parts, e5.Part{Program: q, Container: q.Bytes()})
		}
		var build []e5.Entry
		for i := range 7 {
			build = append(build, e5.Entry{Key: fmt.Sprint("key", i), Value: "value"})
		}
		d, err := e5.New(build, parts...)
		if err != nil {
			return nil, nil, err
		}
		return d.Bytes(), d, nil
	}
	const head = "inputs: {x: {c: 8, h: 16, w: 16}}\nlayers:\n"
	relu := func(n int) string { return head + strings.Repeat("- {op: relu}\n", n-1) + "- {name: y, op: relu}\n" }
	one, chain, err := write(relu(1))
	if err != nil {
		return err
	}
	six, _, err := write(relu(6))
	if err != nil {
		return err
	}
	p.exact(area, "bytes that six operations take more than one", "", 0, uint64(len(six)-len(one)), how, "")
	linear := func(k int) string {
		return fmt.Sprintf("inputs: {x: {w: %d}}\nlayers:\n- {name: y, op: linear, n: 32}\n", k)
	}
	k64, _, err := write(linear(64))
	if err != nil {
		return err
	}
	k256, _, err := write(linear(256))
	if err != nil {
		return err
	}
	p.exact(area, "bytes that K=256 takes more than K=64", "", 0, uint64(len(k256)-len(k64)), how, "")
	p.exact(area, "operations of one network: cast, inference, cast", "", 3, uint64(len(chain.Chain())), how, "")
	p.exact(area, "sections of one network, two an operation", "", 6, uint64(len(chain.Sections)), how, "")
	p.exact(area, "pairs of build information", "", 7, uint64(len(chain.Build)), how, "")
	p.exact(area, "format version", "", 4, uint64(chain.Version), how, "")
	le := binary.LittleEndian
	root := le.Uint32(one)
	vtable := uint32(int32(root) - int32(le.Uint32(one[root:])))
	for i, want := range []uint64{4, 8, 12, 16} {
		at := vtable + 4 + 2*uint32(i)
		p.exact(area, fmt.Sprintf("place of field %d in the root table", i), "", want, uint64(le.Uint16(one[at:])), how, "the writer of the tables chooses the order of the fields")
	}
	p.exact(area, "bytes of the root's table of offsets", "hex", 0xc, uint64(le.Uint16(one[vtable:])), how, "")
	p.exact(area, "bytes of the root table", "hex", 0x14, uint64(le.Uint16(one[vtable+2:])), how, "")
	return nil
}

// booted boots the firmware and reads what its known records leave.
func (p *paper) booted() error {
	const area, how = "register init", "read back after boot"
	c := firmware.New(firmware.Known())
	if err := c.Boot(); err != nil {
		return err
	}
	for _, w := range []struct {
		address    uint64
		mask, want uint32
	}{
		{0x2_6b14_0020, 0xf80000, 0x780000}, {0x2_6b40_080c, 0x6000_0001, 0x6000_0001},
		{0x2_6bc1_400c, 0xffff_ff00, 0x4010_1000}, {0x2_6b8f_4000, 0x1e, 0xc},
	} {
		got, err := c.MMIO().Load(w.address)
		if err != nil {
			return err
		}
		p.given(area, fmt.Sprintf("%#x, bits %#x", w.address, w.mask), "hex", uint64(w.want), uint64(got&w.mask), how, "")
	}
	same := uint64(0)
	for at := uint64(0x2_6b84_0028); at <= 0x2_6b84_0044; at += 4 {
		got, err := c.MMIO().Load(at)
		if err != nil {
			return err
		}
		if got&0x8fff_c000 == 0x8fff_c000 {
			same++
		}
	}
	p.given(area, "words 0x8fffc000 from 0x26b840028 on", "", 8, same, how, "")
	on := uint64(0)
	for e := range uint64(16) {
		for h := range uint64(2) {
			got, err := c.MMIO().Load(0x2_6bc0_d014 + 0x300*e + 0x1b0*h)
			if err != nil {
				return err
			}
			on += uint64(got & 1)
		}
	}
	p.given(area, "tile enables set, 0xd014 to 0xfec4", "", 32, on, how, "")
	if err := c.GateTiles(1 << 7); err != nil {
		return err
	}
	p.given(area, "tiles that are on once one is gated", "", 31, uint64(bits.OnesCount32(c.TileEnables())), how, "")
	c.Wake(firmware.AllDomains)
	status, err := c.MMIO().Load(0x2_6bc0_c000)
	if err != nil {
		return err
	}
	p.given(area, "status byte of a domain that is on", "hex", 0xff, uint64(status&0xff), how, "")
	table := func(records int) ([]byte, error) {
		t := new(firmware.InitTable)
		for i := range records {
			t.Records = append(t.Records, firmware.InitRecord{Block: "ANE", Offset: 4 * uint32(i), Mask: 1})
		}
		return t.AppendBinary(nil)
	}
	one, err := table(1)
	if err != nil {
		return err
	}
	two, err := table(2)
	if err != nil {
		return err
	}
	p.given(area, "bytes of a record", "", 12, uint64(len(two)-len(one)), "a table written with one more", "")
	p.given(area, "bytes of a block's descriptor", "", 32, binary.LittleEndian.Uint64(one)/2, "a table written: names follow a descriptor and an empty one", "")
	p.given(area, "records that no document has", "", 1928, uint64(totalRecords()-len(firmware.Known().Records)), "", "")
	return nil
}

func totalRecords() (n int) {
	for _, b := range firmware.Blocks() {
		n += b.Records
	}
	return n
}

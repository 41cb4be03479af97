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

// compareDescriptors writes dispatch descriptors of several networks and compares their sizes and
// fields with the documents.
func (p *paper) compareDescriptors() error {
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
		// The documents count seven pairs of build information; their contents are unknown.
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
	p.addExactClaim(area, "bytes that six operations take more than one", "", 0, uint64(len(six)-len(one)), how, "")
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
	p.addExactClaim(area, "bytes that K=256 takes more than K=64", "", 0, uint64(len(k256)-len(k64)), how, "")
	p.addExactClaim(area, "operations of one network: cast, inference, cast", "", 3, uint64(len(chain.Chain())), how, "")
	p.addExactClaim(area, "sections of one network, two an operation", "", 6, uint64(len(chain.Sections)), how, "")
	p.addExactClaim(area, "pairs of build information", "", 7, uint64(len(chain.Build)), how, "")
	p.addExactClaim(area, "format version", "", 4, uint64(chain.Version), how, "")
	le := binary.LittleEndian
	root := le.Uint32(one)
	vtable := uint32(int32(root) - int32(le.Uint32(one[root:])))
	for i, want := range []uint64{4, 8, 12, 16} {
		at := vtable + 4 + 2*uint32(i)
		p.addExactClaim(area, fmt.Sprintf("place of field %d in the root table", i), "", want, uint64(le.Uint16(one[at:])), how, "the writer of the tables chooses the order of the fields")
	}
	p.addExactClaim(area, "bytes of the root's table of offsets", "hex", 0xc, uint64(le.Uint16(one[vtable:])), how, "")
	p.addExactClaim(area, "bytes of the root table", "hex", 0x14, uint64(le.Uint16(one[vtable+2:])), how, "")
	return nil
}

// compareTileGating gates a tile after the firmware has booted and compares the effect with the
// documents.
func (p *paper) compareTileGating() error {
	c := firmware.New(firmware.Known())
	if err := c.Boot(); err != nil {
		return err
	}
	if err := c.GateTiles(1 << 7); err != nil {
		return err
	}
	p.addExactClaim("register init", "tiles that are on once one is gated", "", 31, uint64(bits.OnesCount32(c.TileEnables())), "tile enables read back", "")
	return nil
}

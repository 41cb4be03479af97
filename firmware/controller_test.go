package firmware

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"anesim/hw/regs"
)

// A recorder is a device that records its calls.
type recorder struct {
	events []string
	cin    []uint32
	haltAt int // task at which it halts, -1 for none
}

func (r *recorder) SetTileEnables(mask uint32) {
	r.events = append(r.events, fmt.Sprintf("tiles %#x", mask))
}

func (r *recorder) Execute(t *regs.Task) bool {
	r.events = append(r.events, fmt.Sprintf("task %d", t.Index))
	r.cin = append(r.cin, t.Groups.Common.Cin.Cin())
	return t.Index == r.haltAt
}

// chain returns three descriptors at the offsets 0, 0x100 and 0x200. The first sets 64 channels,
// the second does not write this register, and the third sets 32.
func chain() *regs.Stream {
	cin := func(v uint32) []regs.Record { return []regs.Record{{Addr: 0xc, Values: []uint32{v}}} }
	ds := []*regs.Descriptor{
		{Records: cin(64)},
		{Offset: 0x100, Records: []regs.Record{{Addr: 0x10, Values: []uint32{7}}}},
		{Offset: 0x200, Records: cin(32)},
	}
	for i, d := range ds[:2] {
		d.Header.Next = regs.HeaderNext(ds[i+1].Offset)
		d.Header.Timing = d.Header.Timing.WithNextSize(regs.HeaderWords + 2 - 1)
	}
	return &regs.Stream{Text: regs.EncodeChain(ds)}
}

func booted(t *testing.T) *Controller {
	t.Helper()
	c := New(Known())
	if err := c.Boot(); err != nil {
		t.Fatal(err)
	}
	return c
}

// The table is applied before the first task, without being asked for.
func TestRunBootsFirst(t *testing.T) {
	c := New(Known())
	if c.TileEnables() != 0 || c.PowerOn(Base) {
		t.Error("tiles are enabled or powered at reset")
	}
	d := &recorder{haltAt: -1}
	n, err := c.Run(chain(), d)
	if n != 3 || err != nil {
		t.Errorf("ran %d tasks: %v", n, err)
	}
	if want := []string{"tiles 0xffffffff", "task 0", "task 1", "task 2"}; !slices.Equal(d.events, want) {
		t.Errorf("events %q, want %q", d.events, want)
	}
	if want := []uint32{64, 64, 32}; !slices.Equal(d.cin, want) {
		t.Errorf("channels %d, want %d: a word not written keeps its value", d.cin, want)
	}
}

// TestRunWithoutTileEnables checks that the device is called with no tiles enabled if the
// table has no records of the engine's block.
func TestRunWithoutTileEnables(t *testing.T) {
	table := Known()
	table.Records = slices.DeleteFunc(table.Records, func(r InitRecord) bool { return r.Block == "ANE" })
	d := &recorder{haltAt: 0}
	if n, err := New(table).Run(chain(), d); n != 1 || err != nil {
		t.Errorf("ran %d tasks: %v", n, err)
	}
	if want := []string{"tiles 0x0", "task 0"}; !slices.Equal(d.events, want) {
		t.Errorf("events %q, want %q", d.events, want)
	}
}

func TestRunStopsWhenTheDeviceHalts(t *testing.T) {
	d := &recorder{haltAt: 1}
	if n, err := New(Known()).Run(chain(), d); n != 2 || err != nil || len(d.events) != 3 {
		t.Errorf("ran %d tasks, %q: %v", n, d.events, err)
	}
}

func TestBootRefusesTheTable(t *testing.T) {
	c := New(&InitTable{[]InitRecord{{Block: "ANE", Offset: 0xd014, Mask: 1, Value: 1}, {Block: "ANE", Offset: 0xd014, Mask: 1}}})
	d := new(recorder)
	n, err := c.Run(chain(), d)
	var e *InitError
	if !errors.As(err, &e) || e.Index != 1 || n != 0 || len(d.events) != 0 {
		t.Errorf("ran %d tasks, %q: %v", n, d.events, err)
	}
	if err := c.GateTiles(1); !errors.As(err, &e) {
		t.Errorf("gate: %v", err)
	}
	if w, _ := c.MMIO().Load(0x2_6bc0_d014); w != 0 {
		t.Error("a refused table was applied in part")
	}
}

// Records are masked: one leaves the bits of another alone.
func TestBootIsMasked(t *testing.T) {
	c := New(&InitTable{[]InitRecord{
		{Block: "ASCWRAP", Offset: 0x10, Mask: 0x0000_ff00, Value: 0x1200},
		{Block: "ASCWRAP", Offset: 0x10, Mask: 0x0000_00ff, Value: 0x8000_0034}, // value beyond its mask
	}})
	if err := c.Boot(); err != nil {
		t.Fatal(err)
	}
	if w, err := c.MMIO().Load(0x2_6b40_0010); w != 0x8000_1234 || err != nil {
		t.Errorf("word is %#x: %v", w, err)
	}
}

func TestGateTiles(t *testing.T) {
	for _, tc := range []struct {
		list     string
		enables  uint32
		clusters [4]bool
	}{
		{"", 0xffff_ffff, [4]bool{true, true, true, true}},
		{"0", 0xffff_fffe, [4]bool{true, true, true, true}},
		{"1,31", 0x7fff_fffd, [4]bool{true, true, true, true}},
		{"0-7", 0xffff_ff00, [4]bool{false, true, true, true}},
		{"8-30", 0x8000_00ff, [4]bool{true, false, false, true}},
		{"0-31", 0, [4]bool{}},
	} {
		mask, err := ParseTiles(tc.list)
		if err != nil {
			t.Fatal(err)
		}
		c := New(Known()) // gating boots: the table must not undo it
		if err := c.GateTiles(mask); err != nil {
			t.Fatal(err)
		}
		d := &recorder{haltAt: 0}
		if _, err := c.Run(work(4), d); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("tiles %#x", tc.enables); d.events[0] != want {
			t.Errorf("gating %q: %s, want %s", tc.list, d.events[0], want)
		}
		if !c.PowerOn(Base) {
			t.Errorf("gating %q: the base domain is off", tc.list)
		}
		for i, on := range tc.clusters {
			if got := c.PowerOn(Cluster0 + Domain(i)); got != on {
				t.Errorf("gating %q: %v powered %v, want %v", tc.list, Cluster0+Domain(i), got, on)
			}
		}
		if err := c.Boot(); err != nil || c.TileEnables() != allTiles || c.PowerOn(Base) {
			t.Errorf("a boot does not start over: tiles %#x, %v", c.TileEnables(), err)
		}
	}
}

// TestTileEnableWords checks that the word of tile 2e+h is at 0x2_6bc0_d014 + 0x300e +
// 0x1b0h, and that only its bit 0 counts.
func TestTileEnableWords(t *testing.T) {
	c := booted(t)
	for tile := range Tiles {
		addr := 0x2_6bc0_d014 + 0x300*uint64(tile/2) + 0x1b0*uint64(tile%2)
		if err := c.MMIO().MaskedWrite(addr, 0xff, 0xfe); err != nil {
			t.Fatal(err)
		}
		if got := c.TileEnables(); got != allTiles&^(1<<tile) {
			t.Errorf("tile %d cleared at %#x: enables %#x", tile, addr, got)
		}
		if err := c.MMIO().MaskedWrite(addr, 1, 1); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMMIO(t *testing.T) {
	var m MMIO
	if w, err := m.Load(1 << 40); w != 0 || err != nil {
		t.Errorf("a word never written reads %#x, %v", w, err)
	}
	if err := m.MaskedWrite(1<<40, 0xf0, 0xff); err != nil {
		t.Fatal(err)
	}
	if err := m.MaskedWrite(1<<40, 0x3c, 0x14); err != nil {
		t.Fatal(err)
	}
	if w, _ := m.Load(1 << 40); w != 0xd4 {
		t.Errorf("word is %#x, want 0xd4", w)
	}
	var e *AlignmentError
	if _, err := m.Load(0x2_6bc0_d015); !errors.As(err, &e) || e.Addr != 0x2_6bc0_d015 {
		t.Errorf("load: %v", err)
	}
	if err := m.MaskedWrite(2, 1, 1); !errors.As(err, &e) || e.Error() != "MMIO address 0x2 is not a multiple of 4" {
		t.Errorf("write: %v", err)
	}
}

func TestParseTiles(t *testing.T) {
	for _, tc := range []struct {
		list string
		want uint32
	}{
		{"", 0}, {" ", 0}, {"0", 1}, {"31", 1 << 31}, {"0-3,7", 0x8f}, {" 0-3 , 7 ", 0x8f}, {"5-5,5", 0x20}, {"0-31", allTiles},
	} {
		if got, err := ParseTiles(tc.list); got != tc.want || err != nil {
			t.Errorf("%q is %#x (%v), want %#x", tc.list, got, err, tc.want)
		}
	}
	for _, tc := range []struct{ list, part, what string }{
		{"32", "32", "is out of range; want tiles 0 to 31"},
		{"0-3,30-32", "30-32", "is out of range; want tiles 0 to 31"},
		{"99999", "99999", "is neither a tile number nor a range"},
		{"3-0", "3-0", "is a descending range"},
		{"1,,2", "", "is neither a tile number nor a range"},
		{"1,", "", "is neither a tile number nor a range"},
		{"-1", "-1", "is neither a tile number nor a range"},
		{"1-2-3", "1-2-3", "is neither a tile number nor a range"},
		{"all", "all", "is neither a tile number nor a range"},
		{"+1", "+1", "is neither a tile number nor a range"},
		{"0x1", "0x1", "is neither a tile number nor a range"},
	} {
		mask, err := ParseTiles(tc.list)
		var e *TileError
		if !errors.As(err, &e) || mask != 0 || e.List != tc.list || e.Part != tc.part || !strings.Contains(e.Error(), tc.what) {
			t.Errorf("%q: %#x, %v, want %q %s", tc.list, mask, err, tc.part, tc.what)
		}
	}
}

// TestRunChainErrors checks that the error of an invalid chain names the invalid descriptor.
// The descriptors before it have been executed.
func TestRunChainErrors(t *testing.T) {
	put := func(at int, w uint32) func([]byte) []byte {
		return func(b []byte) []byte { binary.LittleEndian.PutUint32(b[at:], w); return b }
	}
	for _, tc := range []struct {
		name   string
		damage func([]byte) []byte
		index  int
		off    uint64
		want   string
	}{
		{"loops", put(0x21c, 0x100), 2, 0x21c, "loops back to descriptor 1"},
		{"points outside", put(0x11c, 0x10_0000), 1, 0x11c, "is outside the text (0x230 bytes)"},
		{"misaligned", put(0x1c, 0x40), 0, 0x1c, "not a multiple of 0x100"},
		{"truncated", func(b []byte) []byte { return b[:0x220] }, 2, 0x200, "header of 40 bytes"},
		{"record outside the windows", put(0x228, 0x40), 2, 0x228, "is not inside a register window"},
		{"overlaps", func(b []byte) []byte {
			// The middle of the chain moves to the end, and the last descriptor reaches it.
			le := binary.LittleEndian
			le.PutUint32(b[0x1c:], 0x200)
			le.PutUint32(b[0x21c:], 0x100)
			le.PutUint32(b[0x204:], 74<<16) // 75 words: 0x100 to 0x22c
			le.PutUint32(b[0x11c:], 0)
			le.PutUint32(b[0x128:], 61<<26|0x1f800)
			return b
		}, 2, 0x100, "overlaps descriptor 1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := chain()
			s.Text = tc.damage(s.Text)
			d := &recorder{haltAt: -1}
			n, err := New(Known()).Run(s, d)
			var e *regs.StreamError
			if !errors.As(err, &e) || e.Index != tc.index || e.Off != tc.off || !strings.Contains(e.What, tc.want) {
				t.Fatalf("%v\nwant descriptor %d at %#x: %s", err, tc.index, tc.off, tc.want)
			}
			if n != tc.index || len(d.events) != 1+n {
				t.Errorf("executed %d tasks, %q", n, d.events)
			}
		})
	}
}

func TestDomainNames(t *testing.T) {
	if Base.String() != "base" || Cluster3.String() != "cluster 3" {
		t.Errorf("%v, %v", Base, Cluster3)
	}
}

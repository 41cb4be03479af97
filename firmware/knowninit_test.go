package firmware

import "testing"

// The documents give these counts and these ends of the tile enables.
func TestKnown(t *testing.T) {
	total := 0
	for _, b := range Blocks() {
		total += b.Records
	}
	if total != 1994 {
		t.Errorf("the blocks hold %d records, the M1 image 1994", total)
	}
	known := Known()
	if err := known.Check(); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		block string
		count int
	}{
		{"ASC_CHINOOK", 1}, {"ASCWRAP", 1}, {"sneCtrl", 8}, {"ANE", 33}, {"aneDpePpt", 2},
		{"aneDpePptAccp0", 1}, {"aneDpePptAccp1", 1}, {"aneDpePptAccp2", 1},
		{"aneDpeSys", 9}, {"aneDpePpt_soc_dpe_lee", 9},
	} {
		if n := known.Count(tc.block); n != tc.count {
			t.Errorf("%s has %d known records, want %d", tc.block, n, tc.count)
		}
	}
	c := New(known)
	if err := c.Boot(); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		addr uint64
		want uint32
	}{
		{0x2_6b14_0020, 0x78_0000},
		{0x2_6b40_080c, 0x6000_0001},
		{0x2_6b84_0028, 0x8fff_c000},
		{0x2_6b84_0044, 0x8fff_c000},
		{0x2_6bc0_d014, 1},
		{0x2_6bc0_d1c4, 1},
		{0x2_6bc0_d314, 1},
		{0x2_6bc0_fec4, 1},
		{0x2_6bc1_400c, 0x4010_1000},
		{0x2_6b8e_c000, 0x267e},
		{0x2_6b8e_d000, 0x0077_3594},
		{0x2_6b8e_f000, 0x0077_3594},
		{0x2_6b8f_0014, 0x23e1},
		{0x2_6b8f_0018, 25},
		{0x2_6b8f_0030, 115},
		{0x2_6b8f_0038, 0x3_2dcc},
		{0x2_6b8f_4000, 0xc},
		{0x2_6b8f_4004, 10},
		{0x2_6b8f_4020, 189},
		{0x2_6b8f_4024, 0},
	} {
		if got, err := c.MMIO().Load(tc.addr); got != tc.want || err != nil {
			t.Errorf("word at %#x is %#x (%v) after boot, want %#x", tc.addr, got, err, tc.want)
		}
	}
}

// TestEvidenceOfKnown counts what no document shows: the addresses of 30 tile enables, of which the
// documents give the ends, and of eight leakage thresholds.
func TestEvidenceOfKnown(t *testing.T) {
	assumed := map[string]int{}
	for _, r := range Known().Records {
		if r.Evidence == "assumed" {
			assumed[r.Block]++
		}
	}
	if len(assumed) != 2 || assumed["ANE"] != 30 || assumed["aneDpePpt_soc_dpe_lee"] != 8 {
		t.Errorf("assumed records by block: %v; want 30 of ANE and 8 of aneDpePpt_soc_dpe_lee", assumed)
	}
}

// Every block ends where the next one above it begins.
func TestBlockExtents(t *testing.T) {
	for _, b := range Blocks() {
		next := uint64(1 << 63)
		for _, o := range Blocks() {
			if o.Base > b.Base {
				next = min(next, o.Base)
			}
		}
		if next == 1<<63 {
			next = b.Base + 4<<20
		}
		if b.End != next {
			t.Errorf("%s ends at %#x, want %#x", b.Name, b.End, next)
		}
	}
}

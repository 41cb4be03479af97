package firmware

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// fullTable returns a table as long as that of the M1 image. It has the known records, and made-up
// records at the offsets between them.
func fullTable() *InitTable {
	t := new(InitTable)
	for _, b := range Blocks() {
		used := make(map[uint32]bool)
		n := 0
		add := func(r InitRecord) {
			used[r.Offset] = true
			r.Evidence, r.Source = "bytes", "init table file"
			t.Records = append(t.Records, r)
			n++
		}
		for _, r := range Known().Records {
			if r.Block == b.Name {
				add(r)
			}
		}
		for offset := uint32(0); n < b.Records; offset += 4 {
			if !used[offset] {
				add(InitRecord{Block: b.Name, Offset: offset, Mask: 0xffff, Value: uint32(n)})
			}
		}
	}
	return t
}

func TestFullTable(t *testing.T) {
	full := fullTable()
	if err := full.Check(); err != nil || len(full.Records) != 1994 {
		t.Fatalf("%d records, %v", len(full.Records), err)
	}
}

func TestCheck(t *testing.T) {
	rec := func(block string, offset, mask, value uint32) InitRecord {
		return InitRecord{Block: block, Offset: offset, Mask: mask, Value: value}
	}
	for _, tc := range []struct {
		name    string
		records []InitRecord
		index   int // of the record refused, -1 for none
		want    string
	}{
		{"empty", nil, -1, ""},
		{"last word of a block", []InitRecord{rec("aneDpePpt", 0xffc, 1, 1)}, -1, ""},
		{"past a block", []InitRecord{rec("ANE", 0, 1, 1), rec("aneDpePpt", 0x1000, 1, 1)}, 1, "outside the block's 0x1000 bytes"},
		{"far past a block", []InitRecord{rec("ANE", 0xffff_fffc, 1, 1)}, 0, "outside the block's 0x400000 bytes"},
		{"unknown block", []InitRecord{rec("ane", 0, 1, 1)}, 0, `unknown block "ane"`},
		{"misaligned", []InitRecord{rec("ANE", 0xd016, 1, 1)}, 0, "not a multiple of 4"},
		{"same record twice", []InitRecord{rec("ANE", 0xd014, 1, 1), rec("ANE", 0xd014, 1, 1)}, -1, ""},
		{"other bits of a word", []InitRecord{rec("ANE", 0x10, 0xff, 0x12), rec("ANE", 0x10, 0xff00, 0x3400)}, -1, ""},
		{"overlap that agrees", []InitRecord{rec("ANE", 0x10, 0xff, 0x12), rec("ANE", 0x10, 0xff0, 0x310)}, -1, ""},
		{"overlap that changes a value", []InitRecord{rec("ANE", 0x10, 0xff, 0x12), rec("ANE", 0x20, 1, 1), rec("ANE", 0x10, 0xff0, 0x320)}, 2,
			"bits 0xf0 of the word at 0x26bc00010 from 0x10 to 0x20"},
		{"change of the first of two", []InitRecord{rec("ANE", 0x10, 0xf, 2), rec("ANE", 0x10, 0xf0, 0x10), rec("ANE", 0x10, 0xf, 3)}, 2, "bits 0xf "},
		{"overlap that clears a bit set outside its mask", []InitRecord{rec("ANE", 0x10, 0, 4), rec("ANE", 0x10, 4, 0)}, 1, "from 0x4 to 0x0"},
		{"more than the image's", slices.Repeat([]InitRecord{rec("ASCWRAP", 0, 1, 1)}, 3), 2, "block has more than 2 records"},
	} {
		err := (&InitTable{tc.records}).Check()
		if tc.index < 0 {
			if err != nil {
				t.Errorf("%s: %v", tc.name, err)
			}
			continue
		}
		var e *InitError
		if !errors.As(err, &e) || e.Index != tc.index || e.Off != -1 || e.Line != 0 || !strings.Contains(e.What, tc.want) {
			t.Errorf("%s: %v, want record %d: %s", tc.name, err, tc.index, tc.want)
		}
	}
}

func TestInitErrorText(t *testing.T) {
	for _, tc := range []struct {
		e    InitError
		want string
	}{
		{InitError{Index: 7, Block: "ANE", Off: 0x1f4, What: "wrong"}, "init table offset 0x1f4 record 7 (ANE): wrong"},
		{InitError{Index: 7, Block: "ANE", Off: -1, Line: 9, What: "wrong"}, "init table line 9 record 7 (ANE): wrong"},
		{InitError{Index: -1, Off: -1, What: "wrong"}, "init table: wrong"},
	} {
		if got := tc.e.Error(); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

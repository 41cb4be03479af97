package firmware

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func read(b []byte) (*InitTable, error) { return ReadInit(bytes.NewReader(b), int64(len(b))) }

func mustBinary(t testing.TB, table *InitTable) []byte {
	t.Helper()
	b, err := table.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBinaryRoundTrip(t *testing.T) {
	want := fullTable()
	file := mustBinary(t, want)
	got, err := read(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if !bytes.Equal(mustBinary(t, got), file) {
		t.Error("the file changes")
	}
}

// Records of blocks that take turns come back block by block.
func TestBinaryGroupsBlocks(t *testing.T) {
	want := fullTable()
	mixed := &InitTable{slices.Clone(want.Records)}
	slices.Reverse(mixed.Records)
	slices.SortStableFunc(mixed.Records, func(a, b InitRecord) int { return int(a.Offset) - int(b.Offset) })
	got, err := read(mustBinary(t, mixed))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Records) != len(want.Records) || got.Records[0].Block != "ASC_CHINOOK" || got.Records[24].Block != "ASCWRAP" {
		t.Errorf("%d records, record 24 of %s", len(got.Records), got.Records[24].Block)
	}
}

func TestAppendBinaryChecks(t *testing.T) {
	bad := &InitTable{[]InitRecord{{Block: "ANE", Offset: 2}}}
	dst, err := bad.AppendBinary([]byte("kept"))
	var e *InitError
	if !errors.As(err, &e) || string(dst) != "kept" {
		t.Errorf("%q, %v", dst, err)
	}
}

func TestReadInitErrors(t *testing.T) {
	le := binary.LittleEndian
	full := mustBinary(t, fullTable())
	field := func(block, field int, v uint64) func([]byte) []byte {
		return func(b []byte) []byte { le.PutUint64(b[32*block+8*field:], v); return b }
	}
	const name, base, records, count = 0, 1, 2, 3
	recordsOf := func(block int) uint64 { return le.Uint64(full[32*block+16:]) }
	word := func(at uint64, v uint32) func([]byte) []byte {
		return func(b []byte) []byte { le.PutUint32(b[at:], v); return b }
	}
	ane := int64(recordsOf(3))
	for _, tc := range []struct {
		name   string
		damage func([]byte) []byte
		index  int
		off    int64
		want   string
	}{
		{"file is empty", func([]byte) []byte { return nil }, -1, 0, "file is empty"},
		{"descriptor cut", func(b []byte) []byte { return b[:8] }, 0, 0, "cannot read block descriptor: 32 bytes at 0x0 extend past the end of the file (0x8 bytes)"},
		{"no end of the descriptors", func(b []byte) []byte { return b[:320] }, 0, 0, "cannot read block name: offset 0x160 is past the end of the file (0x140 bytes)"},
		{"only the end", func([]byte) []byte { return make([]byte, 32) }, 0, -1, "missing block descriptor"},
		{"records cut", func(b []byte) []byte { return b[:len(b)-1] }, 1985, 32*9 + 16, "cannot read records of aneDpePpt_soc_dpe_lee"},
		{"records outside", field(3, records, 1<<40), 41, 32*3 + 16, "cannot read records of ANE: offset 0x10000000000"},
		{"records at the address's end", field(3, records, 1<<64-12), 41, 32*3 + 16, "is past the end of the file"},
		{"name outside", field(3, name, 1<<63), 41, 32 * 3, "cannot read block name: offset 0x8000000000000000"},
		{"name without end", func(b []byte) []byte {
			le.PutUint64(b, uint64(len(b)))
			return append(b, bytes.Repeat([]byte{'A'}, 80)...)
		}, 0, 0, "is not terminated within 64 bytes"},
		{"unknown block", func(b []byte) []byte { b[le.Uint64(b)] = 'a'; return b }, 0, 0, `unknown block "aSC_CHINOOK"`},
		{"block twice", func(b []byte) []byte { copy(b[32:], b[:32]); return b }, 24, 32, "duplicate block descriptor"},
		{"block missing", func(b []byte) []byte { clear(b[32*9 : 32*10]); return b }, 1985, -1, "missing block descriptor"},
		{"base of another block", field(0, base, 0x2_6b40_0000), 0, 8, "MMIO base is 0x26b400000; want 0x26b000000"},
		{"count too small", field(3, count, 46), 24 + 2 + 15 + 46, 32*3 + 24, "record count is 46; want 47"},
		{"count too large", field(0, count, 25), 24, 24, "record count is 25; want 24"},
		{"count beyond every file", field(0, count, 1<<60), 24, 24, "want 24"},
		{"count zero", field(0, count, 0), 0, 24, "record count is 0"},
		{"record outside its block", word(uint64(ane)+12*32, 0x40_0000), 41 + 32, ane + 12*32, "outside the block's 0x400000 bytes"},
		{"record misaligned", word(uint64(ane), 0xd015), 41, ane, "not a multiple of 4"},
		{"record changes an earlier one", func(b []byte) []byte {
			copy(b[ane+12:], b[ane:ane+12]) // the same enable twice,
			b[ane+12+8] = 0                 // the second time cleared
			return b
		}, 42, ane + 12, "from 0x1 to 0x0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := read(tc.damage(slices.Clone(full)))
			var e *InitError
			if !errors.As(err, &e) || e.Index != tc.index || e.Off != tc.off || !strings.Contains(e.What, tc.want) {
				t.Errorf("%v\nwant record %d at %#x: %s", err, tc.index, tc.off, tc.want)
			}
		})
	}
}

// brokenReader fails from an offset on.
type brokenReader struct {
	r    io.ReaderAt
	from int64
}

func (b brokenReader) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > b.from {
		return 0, fs.ErrClosed
	}
	return b.r.ReadAt(p, off)
}

func TestReadInitCannotRead(t *testing.T) {
	full := mustBinary(t, fullTable())
	csv := []byte("ANE,0xd014,1,1 # a line longer than the look at the first bytes\n")
	for _, tc := range []struct {
		file []byte
		from int64
	}{{full, 0}, {full, 100}, {full, int64(len(full)) - 1}, {csv, 40}} {
		_, err := ReadInit(brokenReader{bytes.NewReader(tc.file), tc.from}, int64(len(tc.file)))
		var e *InitError
		if !errors.As(err, &e) || !errors.Is(err, fs.ErrClosed) {
			t.Errorf("broken from %d: %v", tc.from, err)
		}
	}
}

func TestReadCSV(t *testing.T) {
	const text = `block, offset, mask, value, evidence, source
# one tile of the first engine
ANE,        0xd014, 1, 1, decompiled, "table C.14, first"

ASC_CHINOOK, 0x140020, 0xf80000, 7864320
`
	got, err := read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := &InitTable{[]InitRecord{
		{"ANE", 0xd014, 1, 1, "decompiled", "table C.14, first"},
		{"ASC_CHINOOK", 0x14_0020, 0xf8_0000, 0x78_0000, "bytes", "init table file"},
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestReadCSVErrors(t *testing.T) {
	for _, tc := range []struct {
		name, text  string
		index, line int
		want        string
	}{
		{"nothing", "# nothing\n", -1, 0, "no records"},
		{"heading alone", "block,offset,mask,value\n", -1, 0, "no records"},
		{"too few columns", "ANE,0xd014,1,1\nANE,0xd1c4,1\n", 1, 2, "3 columns"},
		{"too many columns", "ANE,0xd014,1,1,bytes,x,y\n", 0, 1, "7 columns"},
		{"no number", "ANE,d014,1,1\n", 0, 1, `offset "d014" is not a 32-bit number`},
		{"number of 33 bits", "ANE,0xd014,0x1ffffffff,1\n", 0, 1, `mask "0x1ffffffff"`},
		{"negative number", "ANE,0xd014,1,-1\n", 0, 1, `value "-1"`},
		{"unknown evidence", "ANE,0xd014,1,1,hearsay\n", 0, 1, `unknown evidence "hearsay"; want one of measured`},
		{"unknown block", "# comment\nANEX,0xd014,1,1\n", 0, 2, `unknown block "ANEX"`},
		{"outside", "ANE,0xd014,1,1\n\nASCWRAP,0x440000,1,1\n", 1, 3, "outside the block's 0x440000 bytes"},
		{"change", "ANE,0xd014,1,1\nANE,0xd014,1,0\n", 1, 2, "which an earlier record set"},
		{"too many", "ASCWRAP,0,1,1\nASCWRAP,4,1,1\nASCWRAP,8,1,1\n", 2, 3, "block has more than 2 records"},
		{"broken quotes", "ANE,0xd014,1,1\nANE,\"0xd014,1,1\n", 1, 2, "quote"},
	} {
		_, err := read([]byte(tc.text))
		var e *InitError
		if !errors.As(err, &e) || e.Index != tc.index || e.Line != tc.line || e.Off != -1 || !strings.Contains(e.What, tc.want) {
			t.Errorf("%s: %v\nwant record %d in line %d: %s", tc.name, err, tc.index, tc.line, tc.want)
		}
	}
}

func TestCSVRoundTrip(t *testing.T) {
	for _, want := range []*InitTable{Known(), fullTable()} {
		var b bytes.Buffer
		if err := want.WriteCSV(&b); err != nil {
			t.Fatal(err)
		}
		got, err := read(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
}

// FuzzReadInit checks that every table which can be read, in either form, passes the check
// and is unchanged after it is written as CSV and read again. A complete table can also be
// written in binary and read again.
func FuzzReadInit(f *testing.F) {
	f.Add(mustBinary(f, fullTable()))
	f.Fuzz(func(t *testing.T, file []byte) {
		table, err := read(file)
		if err != nil {
			if e := (*InitError)(nil); !errors.As(err, &e) {
				t.Errorf("error of type %T: %v", err, err)
			}
			return
		}
		if err := table.Check(); err != nil {
			t.Errorf("what reads does not check: %v", err)
		}
		if len(table.Records) == 1994 {
			again, err := read(mustBinary(t, table))
			if err != nil || len(again.Records) != 1994 {
				t.Errorf("written again: %v", err)
			}
		}
		var b bytes.Buffer
		if err := table.WriteCSV(&b); err != nil {
			t.Fatal(err)
		}
		again, err := read(b.Bytes())
		if err != nil {
			t.Fatalf("written as CSV: %v", err)
		}
		for i, r := range again.Records {
			if w := table.Records[i]; r.Block != w.Block || r.Offset != w.Offset || r.Mask != w.Mask || r.Value != w.Value || r.Evidence != w.Evidence {
				t.Errorf("record %d: %+v is read as %+v", i, w, r)
			}
		}
	})
}

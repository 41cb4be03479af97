package firmware

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"anesim/hw/clock"
)

// lastRead is a reader that gives io.EOF with its last bytes, as io.ReaderAt lets it, or
// before them.
type lastRead struct {
	b     []byte
	early int
}

func (r lastRead) ReadAt(p []byte, off int64) (int, error) {
	n := copy(p, r.b[off:])
	if int(off)+n >= len(r.b)-r.early {
		return n, io.EOF
	}
	return n, nil
}

// The end of the file may come with its last bytes, and not ahead of them.
func TestReadInitToTheEnd(t *testing.T) {
	full := mustBinary(t, fullTable())
	if _, err := ReadInit(lastRead{full, 0}, int64(len(full))); err != nil {
		t.Error(err)
	}
	var e *InitError
	if _, err := ReadInit(lastRead{full, len(full) - 40}, int64(len(full))); !errors.As(err, &e) || !errors.Is(err, io.EOF) {
		t.Errorf("a file that ends early: %v", err)
	}
	if _, err := ReadInit(brokenReader{bytes.NewReader(full), 0}, int64(len(full))); !errors.As(err, &e) || e.Index != -1 || !errors.Is(err, fs.ErrClosed) {
		t.Errorf("a file that cannot be read is at no record: %v", err)
	}
	// A name that the file's end cuts off has no end, and no bytes of it lie outside.
	cut := slices.Clone(full)
	for i := range 8 {
		cut[i] = byte(len(full) >> (8 * i))
	}
	if _, err := ReadInit(bytes.NewReader(append(cut, "ASC_CHIN"...)), int64(len(cut)+8)); !errors.As(err, &e) || !strings.Contains(e.What, "is not terminated within") {
		t.Errorf("a name cut off: %v", err)
	}
}

// Evidence without a source is a whole line: the file is the source.
func TestEvidenceWithoutSource(t *testing.T) {
	table, err := read([]byte("ANE,0xd014,1,1,measured\n"))
	if err != nil || table.Records[0].Evidence != "measured" || table.Records[0].Source != "init table file" {
		t.Errorf("%+v, %v", table, err)
	}
}

// The first record and the first byte are places too.
func TestInitErrorAtTheStart(t *testing.T) {
	e := &InitError{Index: 0, Off: 0, What: "wrong"}
	if got, want := e.Error(), "init table offset 0x0 record 0: wrong"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A buffer of exactly its header, and of exactly its records.
func TestStatisticsWithoutMore(t *testing.T) {
	for n := range 3 {
		s := &Statistics{Calls: 5, Records: make([]StatisticsRecord, n)}
		b := s.Append(nil, 1<<10)
		if got, err := ReadStatistics(b); err != nil || len(got.Records) != n || got.Calls != 5 {
			t.Errorf("%d records: %+v, %v", n, got, err)
		}
		if _, err := ReadStatistics(b[:len(b)-1]); err == nil {
			t.Errorf("%d records and a byte less", n)
		}
	}
}

// A longer hysteresis draws a wake's ramp out with it; where the rails never went off it
// gives the ramp its length.
func TestRampEndsWhereTheRailsGoOff(t *testing.T) {
	longer := PowerPolicy{Hysteresis: 40}
	for _, tc := range []struct{ times, want PowerTimes }{
		{PowerTimes{WakeGap: 10, WakeTime: 3, ColdGap: 100, RailsOff: 20}, PowerTimes{WakeGap: 20, WakeTime: 3, ColdGap: 100, RailsOff: 40}},
		{PowerTimes{WakeGap: 10, WakeTime: 3, ColdGap: 30}, PowerTimes{WakeGap: 40, WakeTime: 3, ColdGap: 40, RailsOff: 40}},
	} {
		if got := tc.times.With(longer); got != tc.want {
			t.Errorf("%+v: %+v, want %+v", tc.times, got, tc.want)
		}
	}
}

// A pass gives the time of its own run.
func TestPassTellsItsTime(t *testing.T) {
	x, err := New(Known()).Pass(marked(t, 0, 2), &timed{recorder{haltAt: -1}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []clock.Nanoseconds{10, 20} {
		if took, more := x.Run(); took != want || more != (i == 0) {
			t.Errorf("run %d took %v, want %v; more %v", i, took, want, more)
		}
	}
}

// TestStatusWords checks that the status words of the domains are next to each other in the
// engine's block.
func TestStatusWords(t *testing.T) {
	ane, ok := blockNamed("ANE")
	if !ok {
		t.Fatal("no block ANE")
	}
	for d := range domains {
		if got, want := Domain(d).statusAddress()-ane.Base, uint64(0xc000+8*d); got != want {
			t.Errorf("%v: status at %#x of the block, want %#x", Domain(d), got, want)
		}
	}
}

package firmware

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStatisticsLayout(t *testing.T) {
	s := &Statistics{Time: 1234, Program: 3, Faults: 1, Calls: 7, Records: []StatisticsRecord{{UnitNE, 10, 20, 30}, {UnitDMA, 0, 5, 6}}}
	b := s.Append(nil, 1<<10)
	if len(b) != 0x28+2*0x20 || b[0] != 1 || b[1] != 1 || b[0x1c] != 7 || b[0x24] != 0x40 || b[0x28+0x20] != byte(UnitDMA) {
		t.Errorf("% x", b)
	}
	got, err := ReadStatistics(append(b, 0xff))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(s, got); d != "" {
		t.Error(d)
	}
	for size, want := range map[uint64]int{0: 0, 0x27: 0, 0x28: 0x28, 0x47: 0x28, 0x48: 0x48, 0x67: 0x48} {
		if n := len(s.Append(nil, size)); n != want {
			t.Errorf("in %#x bytes %#x are written, want %#x", size, n, want)
		}
	}
}

func FuzzReadStatistics(f *testing.F) {
	s := &Statistics{Time: 9, Records: make([]StatisticsRecord, 3)}
	f.Add(s.Append(nil, 1<<10))
	f.Add([]byte{1, 1})
	f.Add(bytes.Repeat([]byte{0xff}, 0x28))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ReadStatistics(b)
		if err != nil {
			var e *StatisticsError
			if !errors.As(err, &e) {
				t.Fatal(err)
			}
			return
		}
		if again, err := ReadStatistics(s.Append(nil, 1<<30)); err != nil || !cmp.Equal(s, again) {
			if s.Time >= 0 && s.Time < 1<<53 { // beyond, nanoseconds are not whole
				t.Errorf("%+v, %+v: %v", s, again, err)
			}
		}
	})
}

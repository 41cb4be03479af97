package anesim_test

import (
	"bytes"
	"testing"

	"anesim/firmware"
	"anesim/firmware/engine"
	"anesim/hw"
)

// A call leaves its statistics in the buffer, from the counters of its descriptors; without
// an address or a size nothing is written.
func TestCallsLeaveStatistics(t *testing.T) {
	s := values(t)
	l := loadLayer(t, s, "conv", "cin=16", "h=8", "w=8", "cout=16", "k=3", "pad=same")
	const size = 0x28 + 4*0x20
	at, err := s.Reserve("statistics", size+8)
	if err != nil || at == 0 {
		t.Fatal(at, err)
	}
	blank := make([]byte, size+8)
	for _, none := range [][2]uint64{{0, size}, {at, 0}, {at, 0x27}} {
		if err := l.Statistics(none[0], none[1]); err != nil {
			t.Fatal(err)
		}
		call(t, l)
		if got, err := s.Read(at, size+8); err != nil || !bytes.Equal(got, blank) {
			t.Errorf("%#x: % x (%v)", none, got, err)
		}
	}
	if err := l.Statistics(at, size+8); err != nil {
		t.Fatal(err)
	}
	res := call(t, l)
	got, err := s.Read(at, size+8)
	if err != nil {
		t.Fatal(err)
	}
	st, err := firmware.ReadStatistics(got)
	if err != nil {
		t.Fatal(err)
	}
	var moved uint64
	for i := range res.Report.Descriptors {
		c := &res.Report.Descriptors[i].Counters
		moved += c[hw.DMAReadBytes] + c[hw.DMAReadWriteBytes] + c[hw.AFToKMBytes]
	}
	if st.Calls != 4 || len(st.Records) != 4 || uint64(st.Time) != uint64(res.Report.Time) || st.Records[3].Bytes != moved || moved == 0 || st.Records[0].Busy == 0 {
		t.Errorf("%+v; the call took %v and moved %d bytes", st, res.Report.Time, moved)
	}
	c, err := l.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for more := true; more; {
		_, more = c.Run()
	}
	got, _ = s.Read(at, size+8)
	if again, err := firmware.ReadStatistics(got); err != nil || again.Calls != 5 || again.Time != st.Time || again.Records[3] != st.Records[3] {
		t.Errorf("run by run: %+v (%v)", again, err)
	}
	if err := l.Statistics(at, 1<<20); err == nil {
		t.Error("a buffer beyond its memory is taken")
	}
	used := s.Used()
	if !s.Release(at) || s.Release(at) || s.Used() != used-size-8 {
		t.Errorf("%d bytes are used after the release, %d before", s.Used(), used)
	}
	if _, err := s.Reserve("all", engine.DefaultMemory); err == nil {
		t.Error("more memory than there is")
	}
}

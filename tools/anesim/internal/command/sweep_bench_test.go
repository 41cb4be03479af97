package command

import (
	"io"
	"strings"
	"testing"
)

// BenchmarkSweepPoint is a convolution's row of sweep, from its keys to its columns.
func BenchmarkSweepPoint(b *testing.B) {
	f := sweepFlags{runFlags: runFlags{chip: "m1", host: "none", seed: 1, repeat: 1}}
	s, err := f.sweep(strings.Fields("conv cin=16..1600+16 cout=16..1600+16 h=14,28 w=7,14,28 k=1,3 pad=same"))
	if err != nil {
		b.Fatal(err)
	}
	t, err := s.timer()
	if err != nil {
		b.Fatal(err)
	}
	n, err := s.grid.points()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := io.Discard.Write(csvLine(t.row(i * 7919 % n))); err != nil {
			b.Fatal(err)
		}
	}
}

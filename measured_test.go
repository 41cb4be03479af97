package anesim

import (
	"context"
	"strings"
	"testing"

	"anesim/hw"
)

// Layers are measured as their descriptors are: what prepares a matmul counts with it, and a
// transpose, pool, softmax or grouped convolution by itself is covered by no row. The interval of
// a layer is the sum of its descriptors', and is as wide as before where all of it is measured.
func TestMeasuredLayers(t *testing.T) {
	for _, tc := range []struct {
		layer string
		share string // of the time that no row covers: none, some or all
	}{
		{"conv cin=64 h=28 w=28 cout=64 k=3 pad=1", "none"},
		{"conv cin=64 h=28 w=28 cout=64 k=1", "none"},
		{"matmul m=64 k=128 n=128", "none"},
		{"matmul m=64 k=128 n=128 rhs=runtime", "none"},
		{"linear m=64 k=128 n=128", "none"},
		{"conv cin=64 h=28 w=28 cout=64 k=3 pad=1 groups=64", "all"},
		{"conv cin=64 h=28 w=28 cout=64 k=3 pad=1 groups=2", "all"},
		{"deconv cin=64 h=28 w=28 cout=64 k=2 stride=2", "some"},
		{"transpose c=16 h=32 w=32 perm=hcw", "all"},
		{"pool c=16 h=32 w=32 k=2 stride=2", "all"},
		{"softmax c=64 h=8 w=8", "all"},
		{"relu c=16 h=32 w=32", "all"},
		{"add c=16 h=32 w=32", "all"},
		{"reduce c=16 h=32 w=32 kind=sum axis=h", "all"},
	} {
		words := strings.Fields(tc.layer)
		m, err := Layer(words[0], words[1:]...)
		if err != nil {
			t.Fatalf("%s: %v", tc.layer, err)
		}
		r, err := m.Run(context.Background(), Options{})
		if err != nil {
			t.Fatalf("%s: %v", tc.layer, err)
		}
		b, got := r.Report.Bounds(), "some"
		switch b.Unmeasured {
		case 0:
			got = "none"
		case r.Report.Time:
			got = "all"
		}
		if got != tc.share {
			t.Errorf("%s: no row covers %v of %v, want %s", tc.layer, b.Unmeasured, r.Report.Time, tc.share)
			for i := range r.Report.Descriptors {
				d := &r.Report.Descriptors[i]
				t.Logf("  %v %v %v prepares %v", d.Op, d.Work(), d.Time, d.Prepares)
			}
		}
		var sum hw.Interval
		for i := range r.Report.Descriptors {
			d := r.Report.Descriptors[i].Bounds()
			sum.Low, sum.High, sum.Unmeasured = sum.Low+d.Low, sum.High+d.High, sum.Unmeasured+d.Unmeasured
		}
		if sum.Low != b.Low || sum.High != b.High || sum.Unmeasured != b.Unmeasured {
			t.Errorf("%s: %+v, the sum of its descriptors is %+v", tc.layer, b, sum)
		}
	}
}

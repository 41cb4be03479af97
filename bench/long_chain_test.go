package bench

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"anesim"
	"anesim/hw"
)

// A chain of more descriptors than there are numbers for has the same totals, to the last
// digit, with most of them off the list.
func TestBriefRun(t *testing.T) {
	const n = 70_000
	p, err := LongChain(n)
	if err != nil {
		t.Fatal(err)
	}
	all := sound(t, p, anesim.Options{})
	var shown []anesim.DescriptorDocument
	brief := sound(t, p, anesim.Options{Brief: true, Each: func(d *anesim.DescriptorDocument) { shown = append(shown, *d) }})
	a, b := all.Report, brief.Report
	if len(a.Descriptors) != n || a.Rest.Count != 0 || len(b.Descriptors) != 1<<12 || b.Count() != n {
		t.Fatalf("%d descriptors, %d of %d in brief", len(a.Descriptors), len(b.Descriptors), b.Count())
	}
	if d := cmp.Diff(a, b, cmpopts.IgnoreFields(hw.Report{}, "Descriptors", "Rest")); d != "" {
		t.Errorf("sums differ:\n%s", d)
	}
	if x, y := a.Bounds(), b.Bounds(); x != y {
		t.Errorf("intervals %v and %v", x, y)
	}
	if x, y := a.Saved(), b.Saved(); x != y {
		t.Errorf("%d and %d cycles saved", x, y)
	}
	x, y := all.RunDocument(), brief.RunDocument()
	if d := cmp.Diff(x.Total, y.Total, cmpopts.IgnoreFields(anesim.WallDocument{}, "WallEnergyNJ", "PeakW")); d != "" {
		t.Errorf("totals differ:\n%s", d)
	}
	if d := cmp.Diff(x.Cycles, y.Cycles); d != "" {
		t.Errorf("causes differ:\n%s", d)
	}
	if d := cmp.Diff(x.Descriptors[:1<<12], y.Descriptors); d != "" {
		t.Errorf("those that are listed differ:\n%s", d)
	}
	if !slices.Equal(x.Descriptors, shown) {
		t.Errorf("%d are shown as the run goes on, or they differ", len(shown))
	}
	if last := y.Power[len(y.Power)-1]; last.What != "65904 descriptors that are not listed" || y.Rest.Descriptors != 65904 {
		t.Errorf("the last span is %q, the rest %+v", last.What, y.Rest)
	}
}

// A chain of a million descriptors is timed in a few seconds, with less memory than the
// chain itself takes.
func TestMillionDescriptors(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a chain of 256 MB takes seconds")
	}
	const n = 1_000_000
	p, err := LongChain(n)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	at := time.Now()
	res, err := anesim.FromProgram(p).Run(context.Background(), anesim.Options{Brief: true})
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(at)
	runtime.ReadMemStats(&after)
	if res.Report.Count() != n || len(res.Report.Faults) > 0 {
		t.Fatalf("%d descriptors, faults %v", res.Report.Count(), res.Report.Faults)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 32*n {
		t.Errorf("%d bytes were allocated for a chain of %d", used, len(p.Text))
	}
	t.Logf("%d descriptors in %v, %d bytes allocated", n, took, after.TotalAlloc-before.TotalAlloc)
}

package bench

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/pprof/profile"

	"anesim"
	"anesim/hw"
	"anesim/internal/report"
	"anesim/internal/report/trace"
	"anesim/loader"
)

// longRunCount is more than the number of descriptors that a report lists in brief.
const longRunCount = 70_000

var longChain = sync.OnceValues(func() (*loader.Program, error) { return LongChain(longRunCount) })

var longResult *anesim.Result

// longRun returns a chain of longRunCount descriptors and a result that lists them all. Tests must
// not change either.
func longRun(t *testing.T) (*loader.Program, *anesim.Result) {
	t.Helper()
	p, err := longChain()
	if err != nil {
		t.Fatal(err)
	}
	if longResult == nil {
		longResult = sound(t, p, anesim.Options{})
	}
	return p, longResult
}

// A chain of more descriptors than there are numbers for has the same totals, to the last
// digit, with most of them off the list.
func TestBriefRun(t *testing.T) {
	const n = longRunCount
	p, all := longRun(t)
	shown := make([]report.Descriptor, 0, n)
	brief := sound(t, p, anesim.Options{Brief: true, Each: func(d *hw.DescriptorReport) { shown = append(shown, report.NewDescriptor(d)) }})
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
	x, y := report.NewRun(all), report.NewRun(brief)
	if d := cmp.Diff(x.Total, y.Total, cmpopts.IgnoreFields(report.Wall{}, "WallEnergyNJ", "PeakW")); d != "" {
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

// The trace of a run that lists few of its descriptors is that of one that lists all, byte
// for byte; its profile has the report's sums in few samples.
func TestBriefProfiles(t *testing.T) {
	p, all := longRun(t)
	brief := sound(t, p, anesim.Options{Brief: true})
	want, size := hashTrace(t, all)
	if got, n := hashTrace(t, brief); got != want {
		t.Errorf("the trace of the brief run has %d bytes and SHA-256 %x, want %d bytes and %x", n, got, size, want)
	}
	full := errors.New("full")
	w := &failing{room: size / 2, err: full}
	if err := trace.Write(w, brief); !errors.Is(err, full) {
		t.Errorf("a disk that is full: %v", err)
	}

	var b bytes.Buffer
	if err := report.WriteProfile(&b, brief, ""); err != nil {
		t.Fatal(err)
	}
	prof, err := profile.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	var sums [4]float64
	for _, s := range prof.Sample {
		for k, v := range s.Value {
			sums[k] += float64(v)
		}
	}
	r := all.Report
	for k, whole := range [...]float64{float64(r.Cycles), math.Round(float64(r.Time)), math.Round(float64(r.Energy)), float64(r.DMA.Total())} {
		if sums[k] != whole {
			t.Errorf("samples of type %d sum to %.0f, the report has %.0f", k, sums[k], whole)
		}
	}
	if len(prof.Sample) > 20<<12 {
		t.Errorf("%d samples of %d descriptors that are listed", len(prof.Sample), len(brief.Report.Descriptors))
	}
	rest := &brief.Report.Rest
	if len(rest.Groups) != 1 || rest.Groups[0].Count != rest.Count || rest.Groups[0].Time != rest.Time {
		t.Errorf("the rest are %+v", rest.Groups)
	}
}

// hashTrace returns the SHA-256 and the size in bytes of the trace of res. The trace itself takes
// tens of megabytes.
func hashTrace(t *testing.T, res *anesim.Result) (sum [sha256.Size]byte, size int) {
	t.Helper()
	h := sha256.New()
	w := &failing{room: math.MaxInt}
	if err := trace.Write(io.MultiWriter(h, w), res); err != nil {
		t.Fatal(err)
	}
	return [sha256.Size]byte(h.Sum(nil)), math.MaxInt - w.room
}

// A failing writer has room for so many bytes.
type failing struct {
	room int
	err  error
}

func (f *failing) Write(b []byte) (int, error) {
	if f.room -= len(b); f.room < 0 {
		return 0, f.err
	}
	return len(b), nil
}

// TestMillionDescriptors: timing a long chain allocates less memory than the chain itself takes.
// LONG=1 uses a million descriptors.
func TestMillionDescriptors(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a chain of 256 MB takes seconds")
	}
	n := 600_000
	if os.Getenv("LONG") != "" {
		n = 1_000_000
	}
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
	if used := after.TotalAlloc - before.TotalAlloc; used > 32*uint64(n) {
		t.Errorf("%d bytes were allocated for a chain of %d", used, len(p.Text))
	}
	t.Logf("%d descriptors in %v, %d bytes allocated", n, took, after.TotalAlloc-before.TotalAlloc)
}

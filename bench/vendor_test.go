package bench

import (
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim"
	"anesim/firmware/engine"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/loader"
)

func TestVendorComparison(t *testing.T) {
	descriptor := func(index int, us, start float64, stored uint16) hw.DescriptorReport {
		return hw.DescriptorReport{
			Index: index, Op: hw.Conv, Time: clock.Nanoseconds(us * 1e3), Exe: hw.ExeCycles{Stored: stored},
			Cycles: hw.Accounting{Overhead: clock.Cycles(start * 1000), Compute: clock.Cycles((us - start) * 1000)},
		}
	}
	chain := []hw.DescriptorReport{
		descriptor(0, 3, 1, 2),
		descriptor(1, 7, 1, 0), // nothing stored
		descriptor(2, 16, 1, 10),
	}
	run := &anesim.Result{
		Programs: []anesim.ProgramResult{{Result: engine.Result{Program: &loader.Program{Name: "p"}}}},
		Report:   &hw.Report{Descriptors: slices.Repeat(chain, 2)}, // as with two dispatches
	}
	got, err := VendorComparison([]*anesim.Result{run})
	if err != nil {
		t.Fatal(err)
	}
	want := &VendorTable{
		Rows: []VendorRow{
			{"p", 0, hw.Conv, 3, 1, 2},
			{"p", 2, hw.Conv, 16, 1, 10},
		},
		All:   Summary{2, 0.55, 0.55, 0.59, 0},
		Work:  Summary{2, 0.25, 0.25, 0.45, 0.5},
		Long:  Summary{1, 0.5, 0.5, 0.5, 0},
		Below: 1,
	}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
	if d := cmp.Diff(want, got, near); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	var b strings.Builder
	if n, err := got.WriteTo(&b); err != nil || n != int64(b.Len()) {
		t.Errorf("%d bytes of %d, %v", n, b.Len(), err)
	}
	for _, want := range []string{"+60 %", "without the start: n 2, median 25.0%", "below 1 us: 1\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if _, err := got.WriteTo(broken{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a broken writer: %v", err)
	}

	run.Report.Descriptors[0].Time = clock.Nanoseconds(math.NaN())
	var e *PairError
	if _, err := VendorComparison([]*anesim.Result{run}); !errors.As(err, &e) {
		t.Errorf("a time that is no number: %v, want a *PairError", err)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// The comparison over the real programs, for the log. There is no bar: the vendor's
// estimate is another model.
func TestVendorComparisonOfRealPrograms(t *testing.T) {
	var runs []*anesim.Result
	for _, p := range realPrograms(t) {
		runs = append(runs, sound(t, p, anesim.Options{}))
	}
	if len(runs) == 0 {
		t.Skip("no real program beside the checkout stores a time to compare with")
	}
	table, err := VendorComparison(runs)
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Rows) == 0 {
		t.Error("no descriptor stores an estimate")
	}
	var b strings.Builder
	if _, err := table.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + b.String())
}

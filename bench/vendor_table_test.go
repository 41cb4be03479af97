package bench

import (
	"bytes"
	"fmt"
	"io"
	"text/tabwriter"

	"anesim"
	"anesim/hw"
)

// A VendorRow is one descriptor that stores Apple's estimate of its time.
type VendorRow struct {
	Program    string
	Descriptor int
	Op         hw.Op
	Model      float64 // our time, microseconds
	Start      float64 // of it, what a descriptor costs whatever it does
	Vendor     float64 // the stored word: whole microseconds, rounded down
}

// A VendorTable compares the model's time for each descriptor with the vendor's. The
// vendor's is the estimate of a compiler, not a measurement: the difference says how
// unlike the two models are, not how good ours is.
type VendorTable struct {
	Rows  []VendorRow
	All   Summary
	Work  Summary // without what a descriptor costs whatever it does, which the vendor leaves out
	Long  Summary // the same, of the rows that rounding down changes by a tenth at most
	Below int     // descriptors that store nothing or less than a microsecond
}

// longMicroseconds is the shortest stored time that rounding down changes by at most a
// tenth.
const longMicroseconds = 10

// VendorComparison takes the descriptors of runs that store an estimate. A descriptor
// counts once however often its program was repeated.
func VendorComparison(runs []*anesim.Result) (*VendorTable, error) {
	t := new(VendorTable)
	var all, work, long []Pair
	for _, r := range runs {
		seen := make(map[int]bool)
		for i := range r.Report.Descriptors {
			d := &r.Report.Descriptors[i]
			if seen[d.Index] {
				continue
			}
			seen[d.Index] = true
			if d.Exe.Stored == 0 {
				t.Below++
				continue
			}
			us := float64(d.Time) / 1e3
			row := VendorRow{r.Programs[0].Program.Name, d.Index, d.Op, us, us * share(d), float64(d.Exe.Stored)}
			t.Rows = append(t.Rows, row)
			all = append(all, Pair{row.Model, row.Vendor})
			work = append(work, Pair{row.Model - row.Start, row.Vendor})
			if row.Vendor >= longMicroseconds {
				long = append(long, Pair{row.Model - row.Start, row.Vendor})
			}
		}
	}
	for _, s := range []struct {
		to   *Summary
		from []Pair
	}{{&t.All, all}, {&t.Work, work}, {&t.Long, long}} {
		var err error
		if *s.to, err = Summarize(s.from); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// share returns the fraction of a descriptor's cycles that is fixed overhead.
func share(d *hw.DescriptorReport) float64 {
	return float64(d.Cycles.Overhead) / float64(max(1, d.Cycles.Total()))
}

// WriteTo writes the rows and the summaries as text.
func (t *VendorTable) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	tab := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tab, "program\tdescriptor\top\tmodel us\tof it start\tvendor us\terror\t")
	for _, r := range t.Rows {
		fmt.Fprintf(tab, "%s\t%d\t%v\t%.1f\t%.1f\t%.0f\t%+.0f %%\t\n",
			r.Program, r.Descriptor, r.Op, r.Model, r.Start, r.Vendor, 100*Pair{r.Model, r.Vendor}.Error())
	}
	tab.Flush()
	fmt.Fprintf(&b, "all: %v\nwithout the start: %v\n%d us or more, without the start: %v\nnot stored, or below 1 us: %d\n",
		t.All, t.Work, longMicroseconds, t.Long, t.Below)
	return b.WriteTo(w)
}

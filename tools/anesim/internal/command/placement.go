package command

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"anesim"
	"anesim/bench/report"
)

// placeFlags are those of placement.
type placeFlags struct {
	compute, backends string
}

func (f *placeFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.compute, "compute", "", "place layers on `engine` (and CPU), all or cpu, and say why")
	c.Flags().StringVar(&f.backends, "backends", "", "rates of CPU, GPU and transfers from `FILE` (YAML), for --compute")
	c.RegisterFlagCompletionFunc("compute", cobra.FixedCompletions(report.Computes(), cobra.ShellCompDirectiveNoFileComp))
}

func (f *placeFlags) check() error {
	switch {
	case f.compute != "" && !slices.Contains(report.Computes(), f.compute):
		return usage("--compute %s: want engine, all or cpu", f.compute)
	case f.compute == "" && f.backends != "":
		return usage("--backends requires --compute")
	}
	return nil
}

// place is the plan that was asked for, nil for none.
func (f *placeFlags) place(res *anesim.Result) (*report.Placement, error) {
	if f.compute == "" {
		return nil, nil
	}
	if f.backends == "" {
		return report.NewPlacement(res, f.compute, "", nil)
	}
	file, err := os.Open(f.backends)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	const most = 1 << 17 // more than is read of rates
	data, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil {
		return nil, err
	}
	return report.NewPlacement(res, f.compute, filepath.Base(f.backends), data)
}

// placement says which layers run where, a line a segment, and what a backend refused.
func (p pager) placement(d *report.Placement) {
	if d == nil {
		return
	}
	p.Printf("placement (--compute %s): %v estimated in %s; rates of CPU, GPU and transfers are assumed",
		d.Compute, d.Runtime, report.Plural(d.Segments, "segment"))
	for i := 0; i < len(d.Operations); {
		first := &d.Operations[i]
		sum, end := first.Runtime, i+1
		for ; end < len(d.Operations) && d.Operations[end].Backend == first.Backend; end++ {
			sum += d.Operations[end].Runtime
		}
		what := report.Printable(first.Path)
		if end > i+1 {
			what += " to " + report.Printable(d.Operations[end-1].Path)
		}
		p.Printf("  %-6s %s, %s: %v, launch %v, transfer %v (%s)", first.Backend, what, report.Plural(end-i, "layer"),
			sum, first.LaunchNs, first.CrossNs, report.Bytes(first.Crossing))
		i = end
	}
	if d.LeaveNs > 0 {
		p.Printf("  results to the host's layout: %v", d.LeaveNs)
	}
	for i := range d.Operations {
		for _, m := range d.Operations[i].Messages {
			p.Printf("  %s: %s", report.Printable(d.Operations[i].Path), report.Printable(m))
		}
	}
	if n := len(d.WithoutACost); n > 0 {
		p.Printf("  in the plan without a cost: %s", report.Printable(strings.Join(d.WithoutACost, ", ")))
	}
}

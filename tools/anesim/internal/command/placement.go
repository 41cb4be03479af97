package command

import (
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"anesim"
	"anesim/bench/report"
	"anesim/tools/anesim/internal/usage"
)

// placeFlags holds the flags of placement.
type placeFlags struct {
	compute, backends string
}

func (f *placeFlags) registerFlags(c *cobra.Command) {
	c.Flags().StringVar(&f.compute, "compute", "", "show which unit each layer would run on, and why; `UNITS` is engine (with the CPU), all or cpu")
	c.Flags().StringVar(&f.backends, "backends", "", "rates of CPU, GPU and transfers from `FILE` (YAML), for --compute")
	c.RegisterFlagCompletionFunc("compute", cobra.FixedCompletions(report.Computes(), cobra.ShellCompDirectiveNoFileComp))
}

func (f *placeFlags) checkFlags() error {
	switch {
	case f.compute != "" && !slices.Contains(report.Computes(), f.compute):
		return usage.Errorf("unknown --compute %q; want engine, all or cpu", f.compute)
	case f.compute == "" && f.backends != "":
		return usage.Errorf("--backends requires --compute")
	}
	return nil
}

// newPlacement returns the placement of the layers for the target of --compute, or nil without that
// flag.
func (f *placeFlags) newPlacement(res *anesim.Result) (*report.Placement, error) {
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
	const most = 1 << 17 // larger than any file of rates
	data, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil {
		return nil, err
	}
	return report.NewPlacement(res, f.compute, filepath.Base(f.backends), data)
}

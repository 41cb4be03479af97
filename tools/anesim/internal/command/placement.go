package command

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"anesim"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/usage"
)

// placeFlags holds the flags of placement.
type placeFlags struct {
	compute, segmenter, backends string
}

func (f *placeFlags) registerFlags(c *cobra.Command) {
	c.Flags().StringVar(&f.compute, "compute", "", "show which unit each layer would run on, and why; `UNITS` is engine (with the CPU), all or cpu")
	c.Flags().StringVar(&f.segmenter, "segmenter", "", "with --compute, choose units by a `SEGMENTER`: coarse (each layer's fastest), graph (one for each connected group of the engine's layers) or shortest-path, the default (the cheapest plan)")
	c.Flags().StringVar(&f.backends, "backends", "", "rates of CPU, GPU and transfers from `FILE` (YAML), for --compute")
	c.RegisterFlagCompletionFunc("compute", cobra.FixedCompletions(report.Computes(), cobra.ShellCompDirectiveNoFileComp))
	c.RegisterFlagCompletionFunc("segmenter", cobra.FixedCompletions(report.Segmenters(), cobra.ShellCompDirectiveNoFileComp))
}

func (f *placeFlags) checkFlags() error {
	switch {
	case f.compute != "" && !slices.Contains(report.Computes(), f.compute):
		return usage.Errorf("unknown --compute %q; want engine, all or cpu", f.compute)
	case f.segmenter != "" && !slices.Contains(report.Segmenters(), f.segmenter):
		return usage.Errorf("unknown --segmenter %q; want coarse, graph or shortest-path", f.segmenter)
	case f.compute == "" && f.backends != "":
		return usage.Errorf("--backends requires --compute")
	case f.compute == "" && f.segmenter != "":
		return usage.Errorf("--segmenter requires --compute")
	}
	return nil
}

// cacheWords returns the part of the flags that belongs to the key of the program cache: the mask of
// units, of which the documents give the engine's bit, 0x4, and the segmenter. The bits of the CPU,
// 0x1, and the GPU, 0x2, are assumed.
func (f *placeFlags) cacheWords() string {
	mask := map[string]int{"engine": 0x5, "all": 0x7, "cpu": 0x1}[f.compute]
	return fmt.Sprintf("compute_device_types_mask=%#x segmenter=%s", cmp.Or(mask, 0x4), cmp.Or(f.segmenter, "shortest-path"))
}

// newPlacement returns the placement of the layers for the target of --compute, or nil without that
// flag.
func (f *placeFlags) newPlacement(res *anesim.Result) (*report.Placement, error) {
	if f.compute == "" {
		return nil, nil
	}
	if f.backends == "" {
		return report.NewPlacement(res, f.compute, f.segmenter, "", nil)
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
	return report.NewPlacement(res, f.compute, f.segmenter, filepath.Base(f.backends), data)
}

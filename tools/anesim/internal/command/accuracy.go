package command

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"anesim/hw"
	"anesim/internal/measured"
	"anesim/internal/outfile"
	"anesim/tools/anesim/internal/accuracy"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/page"
	"anesim/tools/anesim/internal/usage"
)

func accuracyCommand(plan *outfile.Plan) *cobra.Command {
	f := accuracyFlags{plan: plan}
	c := &cobra.Command{
		Use:   "accuracy",
		Short: "Compare the model's times with published measurements",
		Long: `Accuracy compiles every measured row to descriptors, times them, adds the host's part and
compares the result with the measurement. For each tier, operation, session and length of a
call it prints n, the median and the 90th percentile (p90) of the magnitudes of the errors,
the bias (the median of the errors with their signs), and the share of rows with an error of
at most 17% (column ≤17%), for latency and for energy. Tiers are T0 (mostly
engine time), T1 (mixed), T2 (mostly host time) and T3 (no shape known). It does the same for three baselines: a
roofline, the columns of Apple's cost dump, and Apple's estimate.

The rows are the built-in published ones, or those of a CSV file with the columns tier,
id, chip, machine, op, N, Cin, H, W, Cout, Kh, Kw, stride, groups, M, K, Ncols, depth,
weight_format, latency_us, iter_us, gflops, power_w, energy_mj, dram_bytes, source,
notes. For the built-in rows the tables also have the errors of fits that did not see a
row's shape ("unseen shape") or its session ("unseen session").

A row is cold if its fastest call took longer than the mean of its sustained loop. An
interval is made to contain ` + hw.IntervalWords + ` measurements of its kind; the last tables say how
many measurements it contains of rows that it was not computed from.`,
		Example: `  anesim accuracy
  anesim accuracy --csv mine.csv --rows`,
		Args: usage.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.OutOrStdout()) },
	}
	c.Flags().StringVar(&f.csv, "csv", "", "read rows from `FILE` instead of the built-in ones")
	c.Flags().BoolVar(&f.rows, "rows", false, "print every row")
	c.Flags().BoolVar(&f.json, "json", false, "report as JSON")
	c.Flags().BoolVar(&f.networks, "networks", false, "compare whole networks instead of rows, with tensors kept in L2 and in memory; --rows lists layers")
	c.Flags().BoolVar(&f.machines, "machines", false, "compare machines after the M1, which are estimated from an M1's programs; --rows lists the calls")
	c.Flags().StringVar(&f.html, "html", "", "write an HTML page with tables and figures to `FILE`")
	c.Flags().StringVar(&f.md, "md", "", "write tables as Markdown to `FILE`, and figures next to it")
	return c
}

type accuracyFlags struct {
	plan     *outfile.Plan
	csv      string
	rows     bool
	json     bool
	networks bool
	machines bool
	html, md string
}

func (f *accuracyFlags) run(w io.Writer) error {
	switch {
	// Networks are compared with built-in measurements only.
	case f.networks && (f.csv != "" || f.html != "" || f.md != ""):
		return usage.Errorf("--networks has no rows from --csv and no page: use it without --csv, --html and --md")
	case f.json && (f.html != "" || f.md != ""):
		return usage.Errorf("--json is mutually exclusive with --html and --md, which print nothing")
	}
	// The plan refuses to overwrite a file that is read, and does so before the rows are timed.
	if f.md != "" {
		if err := f.plan.Write("--md (its figures)", accuracy.Figures(f.md)...); err != nil {
			return err
		}
	}
	if f.networks {
		return accuracy.WriteNetworks(w, f.json, f.rows)
	}
	if f.machines {
		return accuracy.WriteMachines(w, f.json, f.rows)
	}
	rows, err := f.readRows()
	if err != nil {
		return err
	}
	r, err := accuracy.New(rows, f.csv == "")
	if err != nil {
		return err
	}
	if f.html != "" || f.md != "" {
		return f.writePages(r)
	}
	if f.json {
		return r.WriteJSON(w)
	}
	// A user's rows are of one machine; the table of other machines would say nothing about them.
	if err := r.Write(w, f.rows); err != nil || f.csv != "" {
		return err
	}
	fmt.Fprintln(w)
	return accuracy.WriteMachines(w, false, false)
}

func (f *accuracyFlags) readRows() ([]measured.Row, error) {
	if f.csv == "" {
		return measured.Rows()
	}
	file, err := os.Open(f.csv)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	rows, err := measured.ReadCSV(file)
	if err != nil {
		return nil, input.InFile(f.csv, err)
	}
	return rows, nil
}

// writePages writes the report to the HTML page and the Markdown file that the flags name, if any.
func (f *accuracyFlags) writePages(r *accuracy.Report) error {
	if f.html != "" {
		p, err := r.View()
		if err != nil {
			return err
		}
		if err := page.WriteFile(f.html, p, page.Options{}); err != nil {
			return err
		}
	}
	if f.md == "" {
		return nil
	}
	return r.WriteMarkdown(f.md)
}

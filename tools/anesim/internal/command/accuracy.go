package command

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"anesim/bench/measured"
	"anesim/hw"
	"anesim/tools/anesim/internal/accuracy"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/page"
	"anesim/tools/anesim/internal/usage"
)

func accuracyCommand() *cobra.Command {
	var f accuracyFlags
	c := &cobra.Command{
		Use:   "accuracy",
		Short: "The model against measured rows",
		Long: `Accuracy lowers every measured row to descriptors, times them, adds the host's part
and says how far the model is from the measurement: n, the median and the 90th
percentile of the absolute error and the share within 17 %, by tier, operation and
session, for latency and energy, beside a roofline, the columns of the vendor's cost
dump and the vendor compiler's stored estimate on the same rows.

The rows are the built-in published ones, or those of a CSV file with the columns tier,
id, chip, machine, op, N, Cin, H, W, Cout, Kh, Kw, stride, groups, M, K, Ncols, depth,
weight_format, latency_us, iter_us, gflops, power_w, energy_mj, dram_bytes, source,
notes. For the built-in rows every table has the errors of fits that had not seen a
row's shape, and of fits that had not seen its session, beside those of the fit to all.

A row is cold when its least call took longer than the mean of its sustained loop. An
interval holds ` + hw.IntervalWords + ` measurements of its kind; the coverage says how many it
holds of rows that it does not rest on.`,
		Example: `  anesim accuracy
  anesim accuracy --csv mine.csv --rows`,
		Args: usage.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.OutOrStdout()) },
	}
	c.Flags().StringVar(&f.csv, "csv", "", "rows from `FILE` in place of the built-in ones")
	c.Flags().BoolVar(&f.rows, "rows", false, "print every row")
	c.Flags().BoolVar(&f.json, "json", false, "report as JSON")
	c.Flags().BoolVar(&f.networks, "networks", false, "whole networks in place of rows, with tensors kept in the L2 and in memory; with --rows layer by layer")
	c.Flags().StringVar(&f.html, "html", "", "write the tables with figures as a page to `FILE`")
	c.Flags().StringVar(&f.md, "md", "", "write the tables as Markdown to `FILE`, and figures beside it")
	return c
}

type accuracyFlags struct {
	csv      string
	rows     bool
	json     bool
	networks bool
	html, md string
}

func (f *accuracyFlags) run(w io.Writer) error {
	if f.networks {
		return accuracy.WriteNetworks(w, f.json, f.rows)
	}
	rows, err := f.read()
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
	return r.Write(w, f.rows)
}

func (f *accuracyFlags) read() ([]measured.Row, error) {
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

// writePages writes the report to files.
func (f *accuracyFlags) writePages(r *accuracy.Report) error {
	if f.html != "" {
		p, err := r.View()
		if err != nil {
			return err
		}
		if err := page.WriteFile(f.html, p, page.Options{}, f.csv); err != nil {
			return err
		}
	}
	if f.md == "" {
		return nil
	}
	return r.WriteMarkdown(f.md)
}

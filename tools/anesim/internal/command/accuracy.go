package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"anesim/bench"
	"anesim/bench/measured"
)

func accuracyCommand() *cobra.Command {
	var f accuracyFlags
	c := &cobra.Command{
		Use:   "accuracy",
		Short: "The model against measured rows",
		Long: `Accuracy lowers every measured row to descriptors, times them, adds the host's part
and says how far the model is from the measurement: n, the median and the 90th
percentile of the absolute error and the share within 17 %, by tier and operation, for
latency and energy, beside a roofline, the columns of the vendor's cost dump and the
vendor compiler's stored estimate on the same rows.

The rows are the built-in published ones, or those of a CSV file with the columns tier,
id, chip, machine, op, N, Cin, H, W, Cout, Kh, Kw, stride, groups, M, K, Ncols, depth,
weight_format, latency_us, gflops, power_w, energy_mj, dram_bytes, source, notes. For
the built-in rows a second table has the errors of fits that had not seen a row's shape.`,
		Example: `  anesim accuracy
  anesim accuracy --csv mine.csv --rows`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.OutOrStdout()) },
	}
	c.Flags().StringVar(&f.csv, "csv", "", "rows from `FILE` in place of the built-in ones")
	c.Flags().BoolVar(&f.rows, "rows", false, "print every row")
	c.Flags().BoolVar(&f.json, "json", false, "report as JSON")
	return c
}

type accuracyFlags struct {
	csv  string
	rows bool
	json bool
}

func (f *accuracyFlags) run(w io.Writer) error {
	rows, err := f.read()
	if err != nil {
		return err
	}
	a, err := bench.Compare(rows, bench.DefaultPresets())
	if err != nil {
		return err
	}
	var left *bench.Accuracy
	if f.csv == "" {
		errs, err := bench.LeftOuts()
		if err != nil {
			return err
		}
		if left, err = a.LeftOut(errs); err != nil {
			return err
		}
	}
	if f.json {
		return writeAccuracyJSON(w, a, left)
	}
	return writeAccuracy(w, a, left, f.rows)
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
		return nil, inFile(f.csv, err)
	}
	return rows, nil
}

// writeAccuracy is the report for people.
func writeAccuracy(w io.Writer, a, left *bench.Accuracy, rows bool) error {
	fmt.Fprintf(w, "%s modelled, %d not\n", plural(len(a.Rows), "row"), len(a.Unmodelled))
	if rows {
		writeAccuracyRows(w, a)
	}
	tables := []accuracyTable{
		{"latency by tier", a.Tiers},
		{"latency by operation", a.Ops},
		{"latency by session (host preset)", a.Sessions},
		{"energy", a.Energy},
		{"latency by the roofline", a.Roofline},
		{"latency by the columns of the vendor's cost dump", a.Columns},
		{"latency by the vendor compiler's estimate", a.Vendor},
	}
	if left != nil {
		tables = append(tables,
			accuracyTable{"latency, the row's shape left out of the fit", left.Tiers},
			accuracyTable{"latency by session, the row's shape left out of the fit", left.Sessions},
			accuracyTable{"energy, the row's shape left out of the fit", left.Energy})
	}
	for _, t := range tables {
		if err := t.write(w); err != nil {
			return err
		}
	}
	if len(a.Unmodelled) > 0 {
		fmt.Fprintln(w, "\nnot modelled")
	}
	for _, err := range a.Unmodelled {
		fmt.Fprintf(w, "  %v\n", err)
	}
	return nil
}

// An accuracyTable is groups under a title.
type accuracyTable struct {
	title  string
	groups []bench.Group
}

func (x accuracyTable) write(w io.Writer) error {
	if len(x.groups) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\n%s\n", x.title)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "  \tn\tmedian\tp90\twithin 17 %\t")
	for _, g := range x.groups {
		fmt.Fprintf(t, "  %s\t%d\t%.1f %%\t%.1f %%\t%.0f %%\t\n", g.Name, g.N, 100*g.Median, 100*g.P90, 100*g.Near)
	}
	return t.Flush()
}

func writeAccuracyRows(w io.Writer, a *bench.Accuracy) {
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "row\ttier\top\tchip\thost\tmeasured us\tmodel us\terror\tmeasured mJ\tmodel mJ\terror\t")
	pair := func(p bench.Pair, unit float64) string {
		if p.Reference == 0 {
			return "-\t-\t-"
		}
		return fmt.Sprintf("%.4g\t%.4g\t%+.1f %%", p.Reference/unit, p.Model/unit, 100*p.Error())
	}
	for i := range a.Rows {
		r := &a.Rows[i]
		s := r.Sample
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", s.Row.ID, s.Row.Tier, s.Row.Op, s.Chip, s.Host, pair(r.Time, 1e3), pair(r.Energy, 1e6))
	}
	t.Flush()
}

// unmodelledOf is a row that no chain is built for, for JSON.
func unmodelledOf(err error) jsonUnmodelled {
	var u *bench.UnmodelledError
	if errors.As(err, &u) {
		return jsonUnmodelled{u.Row, u.What}
	}
	row, what, _ := strings.Cut(strings.TrimPrefix(err.Error(), "row "), ": ")
	return jsonUnmodelled{row, what}
}

package command

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"anesim/internal/report"
	"anesim/internal/spelling"
	"anesim/tools/anesim/internal/interrupt"
	"anesim/tools/anesim/internal/paper"
	"anesim/tools/anesim/internal/terminal"
	"anesim/tools/anesim/internal/usage"
)

// selectAreas removes the rows from d that are in none of the given areas. If areas is empty, it
// keeps all rows. It returns an error if an area is unknown.
func selectAreas(d *paper.Document, areas []string) error {
	var known []string
	for _, r := range d.Rows {
		if !slices.Contains(known, r.Area) {
			known = append(known, r.Area)
		}
	}
	for _, a := range areas {
		if !slices.Contains(known, a) {
			return usage.Errorf("unknown area %q; want one of %s%s", a, strings.Join(known, ", "), spelling.Suggest(a, known))
		}
	}
	if len(areas) > 0 {
		d.Rows = slices.DeleteFunc(d.Rows, func(r paper.Row) bool { return !slices.Contains(areas, r.Area) })
	}
	return nil
}

func paperCommand() *cobra.Command {
	var asJSON, differs bool
	c := &cobra.Command{
		Use:   "paper [AREA...]",
		Short: "Compare published figures about the engine with the model's",
		Long: `Paper compares the published descriptions of the engine with the model. It prints a row for
each claim that has a number and that a run can show: the document's figure, the model's,
whether they agree within the row's tolerance, and which other document contradicts the
claim. Figures that the model takes from the documents as data have no row, unless two
documents differ. After the rows it lists conflicts between documents without such a
number. AREA arguments, such as latency or power, select rows; --differs selects the rows
that do not agree.`,
		Example: `  anesim paper
  anesim paper latency sharing state
  anesim paper --differs
  anesim paper --json`,
		RunE: func(c *cobra.Command, areas []string) error {
			ctx, stop := interrupt.Context()
			defer stop()
			d, err := paper.Compare(ctx)
			if err != nil {
				return err
			}
			if err := selectAreas(d, areas); err != nil {
				return err
			}
			// The count is taken before --differs removes rows, so that its report can say "2 of 60".
			all := len(d.Rows)
			if differs {
				d.Rows = slices.DeleteFunc(d.Rows, func(r paper.Row) bool { return r.Verdict == "agrees" })
			}
			if asJSON {
				return report.WriteDocument(c.OutOrStdout(), d)
			}
			return writePaper(c.OutOrStdout(), d, all, differs || len(areas) > 0)
		},
	}
	c.Flags().BoolVar(&differs, "differs", false, "print only rows that do not agree")
	c.Flags().BoolVar(&asJSON, "json", false, "report as JSON (see docs/json.md)")
	return c
}

// writePaper prints a row for each claim of d, and how many of all claims agree: d may have only those that
// do not. It also prints the conflicts between documents unless selected is true.
func writePaper(w io.Writer, d *paper.Document, all int, selected bool) error {
	p := terminal.NewPager(w)
	agree := 0
	t := terminal.NewTable(
		terminal.Word("area", 1), terminal.Word("claim", 0), terminal.Number("document", 0), terminal.Number("model", 0),
		terminal.Word("verdict", 0), terminal.Word("basis", 1), terminal.Word("but", 2),
	)
	for _, r := range d.Rows {
		if r.Verdict == "agrees" {
			agree++
		}
		claim := r.Claim
		if _, host, ok := strings.Cut(r.ShownBy, "--host "); ok {
			claim += ", " + host // two rows differ only by their host
		}
		t.Add(r.Area, claim, formatFigure(r.Document, r.Unit), formatFigure(r.Model, r.Unit), r.Verdict, r.Basis, r.Against)
	}
	p.Table(t, 0)
	p.Printf("")
	p.Printf("%d of %d agree", agree+all-len(d.Rows), all)
	if selected {
		return p.Err
	}
	p.Printf("")
	p.Printf("conflicts between documents:")
	for _, x := range d.Conflicts {
		p.Printf("  %s: %s; %s. Taken: %s", x.What, x.One, x.Other, x.Taken)
	}
	return p.Err
}

// formatFigure formats a figure with its unit. The unit "hex" selects hexadecimal.
func formatFigure(v float64, unit string) string {
	switch unit {
	case "":
		return fmt.Sprintf("%.6g", v)
	case "hex":
		return fmt.Sprintf("%#x", uint64(v))
	}
	if unit == "%" {
		return fmt.Sprintf("%.4g%%", v)
	}
	return fmt.Sprintf("%.4g %s", v, unit)
}

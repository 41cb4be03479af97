package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"anesim/bench/paper"
	"anesim/bench/report"
	"anesim/hw/spelling"
	"anesim/tools/anesim/internal/flags"
	"anesim/tools/anesim/internal/terminal"
	"anesim/tools/anesim/internal/usage"
)

// onlyAreas takes the rows of other areas out. Areas of two words are given as one argument.
func onlyAreas(d *paper.Document, areas []string) error {
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
		Short: "The documents' figures beside the model's",
		Long: `Paper prints a row for each claim of the published descriptions of the engine that
carries a number and that a run can show: the document's figure, what the model comes to,
whether the two agree within the row's tolerance, and what in the documents says otherwise.
Figures that the model has from the documents as data have no row, unless two documents
differ. Places where documents disagree without such a number follow. With AREAs, such as latency or power, it prints their rows
alone; with --differs those alone that do not agree.`,
		Example: `  anesim paper
  anesim paper latency sharing state
  anesim paper --differs
  anesim paper --json`,
		RunE: func(c *cobra.Command, areas []string) error {
			ctx, stop := flags.Interruptible()
			defer stop()
			d, err := paper.Compare(ctx)
			if err != nil {
				return err
			}
			if err := onlyAreas(d, areas); err != nil {
				return err
			}
			if differs {
				d.Rows = slices.DeleteFunc(d.Rows, func(r paper.Row) bool { return r.Verdict == "agrees" })
			}
			if asJSON {
				return report.WriteDocument(c.OutOrStdout(), d)
			}
			p := terminal.NewPager(c.OutOrStdout())
			agree := 0
			t := terminal.NewTable(terminal.Word("area", 1), terminal.Word("claim", 0), terminal.Number("document", 0), terminal.Number("model", 0), terminal.Word("verdict", 0), terminal.Word("basis", 1), terminal.Word("but", 2))
			for _, r := range d.Rows {
				if r.Verdict == "agrees" {
					agree++
				}
				text := func(v float64) string {
					switch r.Unit {
					case "":
						return fmt.Sprintf("%.6g", v)
					case "hex":
						return fmt.Sprintf("%#x", uint64(v))
					}
					return fmt.Sprintf("%.4g %s", v, r.Unit)
				}
				t.Add(r.Area, r.Claim, text(r.Document), text(r.Model), r.Verdict, r.Basis, r.Against)
			}
			p.Table(t, 0)
			p.Printf("")
			if !differs {
				p.Printf("%d of %d agree", agree, len(d.Rows))
			}
			if len(areas) > 0 || differs {
				return p.Err
			}
			p.Printf("")
			p.Printf("where documents disagree:")
			for _, x := range d.Conflicts {
				p.Printf("  %s: %s; %s. Taken: %s", x.What, x.One, x.Other, x.Taken)
			}
			return p.Err
		},
	}
	c.Flags().BoolVar(&differs, "differs", false, "only rows that do not agree")
	c.Flags().BoolVar(&asJSON, "json", false, "report as JSON (see docs/json.md)")
	return c
}

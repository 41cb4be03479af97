package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"anesim"
)

func paperCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "paper",
		Short: "The documents' figures beside the model's",
		Long: `Paper prints a row for each claim of the published descriptions of the engine that
carries a number and that a run can show: the document's figure, what the model comes to,
whether the two agree within the row's tolerance, and what in the documents says otherwise.
Every figure of the model is computed as the command runs. Places where documents disagree
without such a number follow.`,
		Example: `  anesim paper
  anesim paper --json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := interruptible()
			defer stop()
			d, err := anesim.Paper(ctx)
			if err != nil {
				return err
			}
			if asJSON {
				return anesim.WriteDocument(c.OutOrStdout(), d)
			}
			p := newPager(c.OutOrStdout())
			agree := 0
			t := &table{columns: []column{{title: "area", left: true, order: 1}, {title: "claim", left: true}, {title: "document"}, {title: "model"}, {title: "verdict", left: true}, {title: "basis", left: true, order: 1}, {title: "but", left: true, order: 2}}}
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
				t.add(r.Area, r.Claim, text(r.Document), text(r.Model), r.Verdict, r.Basis, r.Against)
			}
			p.table(t, 0)
			p.printf("")
			p.printf("%d of %d agree", agree, len(d.Rows))
			p.printf("")
			p.printf("where documents disagree:")
			for _, x := range d.Conflicts {
				p.printf("  %s: %s; %s. Taken: %s", x.What, x.One, x.Other, x.Taken)
			}
			return p.err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "report as JSON (see docs/json.md)")
	return c
}

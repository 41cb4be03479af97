package sweepcommand

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"anesim/internal/outfile"
	"anesim/internal/report"
	"anesim/internal/sweep"
	"anesim/tools/anesim/internal/flags"
	"anesim/tools/anesim/internal/terminal"
	"anesim/tools/anesim/internal/usage"
)

// optimizeFlags holds the flags of sweep optimize.
type optimizeFlags struct {
	sweepFlags
	least  string
	within string
}

func optimizeCommand(plan *outfile.Plan) *cobra.Command {
	f := optimizeFlags{sweepFlags: sweepFlags{plan: plan}}
	c := &cobra.Command{
		Use:     "optimize FILE|'OP key=value...'... chip.NAME=FROM..TO...",
		Aliases: []string{"optimise"},
		Short:   "Find the chip's constants with the least time or energy within a budget",
		Long: `Optimize searches for values of the chip's constants, each within its range, that minimize
a goal of anesim sweep --pareto (by default time, with --machine that of a call) over all
programs and stay within a budget: --within power=2,area=40 allows at most 2 W on average
and 40 units of --area.

The search uses Nelder and Mead's simplex method from several starts, and then varies each
constant until no neighbor is better, on a logarithmic scale with 4,096 steps over each
range. It may end in a local minimum; a sweep with --pareto shows the whole range. The
result is the same on every machine.

It prints the constants of the first design (the chip's, clamped to their ranges) and of
the best one, with goal and budget for both. --csv prints the rows of the best design.`,
		Example: `  anesim sweep optimize resnet50.yaml chip.ReadRate=10e9..200e9 chip.Clock=0.5e9..2e9 --within power=4
  anesim sweep optimize 'conv cin=64 h=56 w=56 cout=64 k=3' chip.TotalRate=10e9..200e9 chip.ReadRate=10e9..200e9 \
      chip.Clock=0.5e9..2e9 --area '1e-10*TotalRate + 1e-8*Clock' --within area=25`,
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.OutOrStdout(), args) },
	}
	s := c.Flags()
	f.RegisterOnly(s, "chip", "machine", "clock", "seed", "gate-tiles", "init", "csv")
	f.Dims.Register(s)
	s.Lookup("seed").Usage = "seed of the weights"
	s.Lookup("csv").Usage = "print the best design's rows as CSV"
	s.StringVar(&f.area, "area", "", "estimate of the chip's area, an `EXPRESSION` like '2 + 0.003*Engines*MACs'")
	s.StringVar(&f.least, "least", "time", "the `GOAL` to minimize")
	s.StringVar(&f.within, "within", "", "budget, `GOAL=MOST,...`")
	flags.CompleteFlags(c)
	return c
}

func (f *optimizeFlags) run(w io.Writer, args []string) error {
	s, err := f.newSearch(args)
	if err != nil {
		return err
	}
	start, best, err := s.Run()
	if err != nil {
		return err
	}
	if f.CSV {
		out := sweep.NewOutput(w, s.Header())
		for _, row := range best.Rows {
			if err := out.Write(row); err != nil {
				return err
			}
		}
		return out.Finish()
	}
	return printDesigns(w, s, start, best)
}

// newSearch returns the search that the command line describes.
func (f *optimizeFlags) newSearch(args []string) (*sweep.Search, error) {
	o, err := f.newPointOptions()
	if err != nil {
		return nil, err
	}
	s, err := sweep.NewSearch(&sweep.Description{Words: args, Area: f.area, Options: o, Open: f.newModelOpener(args), Dims: f.Dims.Origin()})
	if err != nil {
		return nil, err
	}
	if err := checkGoals(f.least+","+f.within, s.Sweep); err != nil {
		return nil, usage.Of(err)
	}
	if err := s.SetGoal(f.least); err != nil {
		return nil, usage.Errorf("--least: %v", err)
	}
	if err := s.SetBudget(f.within); err != nil {
		return nil, usage.Errorf("--within: %v", err)
	}
	return s, nil
}

// printDesigns prints the constants, the goal and the budget of the first and the best design.
func printDesigns(w io.Writer, s *sweep.Search, start, best *sweep.Candidate) error {
	list, err := s.Compare(start, best)
	if err != nil {
		return err
	}
	t := terminal.Words("", "start", "best", "most")
	for _, l := range list {
		t.Add(l.Name, l.Start, l.Best, l.Most)
	}
	lines := t.Lines(math.MaxInt, 0)
	most := strings.LastIndex(lines[0], "most")
	for _, line := range lines { // pad lines without a bound to the start of its column
		if _, err := fmt.Fprintf(w, "%-*s\n", most, line); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(w, "%s, %s timed\n", s.Name, report.Plural(s.Designs(), "design"))
	return err
}

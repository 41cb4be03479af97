package sweepcommand

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"anesim/internal/report"
	"anesim/internal/sweep"
	"anesim/tools/anesim/internal/terminal"
	"anesim/tools/anesim/internal/usage"
)

// statusFlags holds the flags of sweep status.
type statusFlags struct {
	points int
	shards int
	over   time.Duration
}

func statusCommand() *cobra.Command {
	var f statusFlags
	c := &cobra.Command{
		Use:   "status FILE...",
		Short: "Report the progress of a sweep's shards",
		Long: `Status reads the files of anesim sweep --resume, during or after the sweep, and prints how
many rows each has, whether the last row is complete, the progress and when the sweep will
be done. The rows say how many points the sweep has. --shards gives the number of files if
some have not been started.

The rate of a shard is the number of rows divided by the time between the creation and the
last write of its file, including pauses between two runs. --over 10s reads the files twice,
10 seconds apart, to compute the rate; this is the only way on file systems without creation
times. A shard that has not written for a minute is called stale: it has stopped, or its
points are slow.`,
		Example: `  anesim sweep status shard-*.csv --shards 500
  anesim sweep status shard-*.csv --over 10s`,
		Args: usage.SomeFiles,
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("points") && (f.points < 1 || f.points > sweep.MaxPoints) {
				return usage.Errorf("--points %d: want 1 to %d", f.points, sweep.MaxPoints)
			}
			if c.Flags().Changed("shards") && (f.shards < len(args) || f.shards > sweep.MaxPoints) {
				return usage.Errorf("--shards %d: want at least the %s named and at most %d", f.shards, report.Plural(len(args), "file"), sweep.MaxPoints)
			}
			if f.over < 0 {
				return usage.Errorf("--over %v: want 0 or more", f.over)
			}
			return f.run(c.OutOrStdout(), args)
		},
	}
	c.Flags().IntVar(&f.points, "points", 0, "number of `POINTS` of the sweep; default is what the rows say")
	c.Flags().IntVar(&f.shards, "shards", 0, "number of `FILES` of the sweep; default is the number of arguments")
	c.Flags().DurationVar(&f.over, "over", 0, "measure rates over a `DURATION` from now, like 10s")
	return c
}

func (f *statusFlags) run(w io.Writer, names []string) error {
	shards := max(f.shards, len(names))
	t := terminal.Words("file", "rows", "of", "rows/s", "state")
	rows, rate := 0, 0.0
	var left time.Duration
	failed := 0
	// Now is taken after the files are read, which takes as long as --over says.
	list, now := sweep.ReadStatus(names, f.over), time.Now()
	points := f.points
	for i := range list {
		// All files are of one sweep, so its size is known as soon as one of them has a row.
		if n := list[i].SweepPoints(); list[i].Err == nil && n > 0 {
			if f.points > 0 && n != f.points {
				return fmt.Errorf("%s: sweep has %d points; want %d, as set by --points", names[i], n, f.points)
			}
			points = n
		}
	}
	for i, name := range names {
		s := &list[i]
		if s.Err != nil {
			failed++
			t.Add(report.Printable(name), "-", "-", "-", report.Printable(s.Err.Error()))
			continue
		}
		all := s.Points(shards)
		state, running := s.State(all, now)
		rows += s.Rows
		if running {
			rate += s.Rate
			if s.Rate > 0 && all > 0 {
				// Shards run at the same time: the slowest one decides.
				left = max(left, time.Duration(float64(all-s.Rows)/s.Rate*float64(time.Second)))
			}
		}
		t.Add(report.Printable(name), strconv.Itoa(s.Rows), formatCount(all), report.Rate(s.Rate), state)
	}
	if err := t.Print(w, 0); err != nil {
		return err
	}
	if err := printTotal(w, rows, points, rate, left, shards-len(names)); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("cannot count %s", report.Plural(failed, "file"))
	}
	return nil
}

// printTotal prints the progress of all shards together and an estimate of the end. The argument
// points is the number of points of the sweep, or 0 if it is unknown. printTotal assumes that
// running shards keep their rate, and that the others start after these.
func printTotal(w io.Writer, rows, points int, rate float64, left time.Duration, unnamed int) error {
	if points == 0 {
		_, err := fmt.Fprintf(w, "all: %s rows, %s rows/s\n", report.Thousands(uint64(rows)), report.Rate(rate))
		return err
	}
	text := fmt.Sprintf("all: %s of %s points (%.1f%%)", report.Thousands(uint64(rows)), report.Thousands(uint64(points)), 100*float64(rows)/float64(points))
	if unnamed > 0 {
		text += fmt.Sprintf(", %s not started", report.Plural(unnamed, "shard"))
	}
	if rate > 0 && rows < points {
		rest := time.Duration(float64(points-rows) / rate * float64(time.Second))
		text += fmt.Sprintf(", %s rows/s, done in %v", report.Rate(rate), max(rest, left).Round(time.Second))
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

func formatCount(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

package sweepcommand

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"anesim/bench/report"
	"anesim/bench/sweep"
	"anesim/tools/anesim/internal/terminal"
	"anesim/tools/anesim/internal/usage"
)

// statusFlags are the flags of sweep status.
type statusFlags struct {
	points int
	shards int
	over   time.Duration
}

func statusCommand() *cobra.Command {
	var f statusFlags
	c := &cobra.Command{
		Use:   "status FILE...",
		Short: "Say how far the shards of a sweep are, and when they end",
		Long: `Status reads the files that anesim sweep --resume writes, while they are written or after,
and says of each how many rows it has and whether its last one is complete. --points says
how many points the sweep has, --shards how many files share them, where some have not been
started; then it says how far each and all are, and when they will be there.

The rate of a shard is that of its file: the rows over the time from when the file was made
to when it was last written, which counts what a shard waited between two runs. --over 10s
looks twice instead, so long apart; there is no other rate where a file system does not say
when a file was made. A shard that has not written for a minute is called stale: it has
stopped, or its points are slow.`,
		Example: `  anesim sweep status shard-*.csv --points 10000000 --shards 500
  anesim sweep status shard-*.csv --points 10000000 --over 10s`,
		Args: usage.SomeFiles,
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("points") && (f.points < 1 || f.points > sweep.MaxPoints) {
				return usage.Errorf("--points %d: must be between 1 and %d", f.points, sweep.MaxPoints)
			}
			if c.Flags().Changed("shards") && (f.shards < len(args) || f.shards > sweep.MaxPoints) {
				return usage.Errorf("--shards %d: must be between the %s named and %d", f.shards, report.Plural(len(args), "file"), sweep.MaxPoints)
			}
			if f.over < 0 {
				return usage.Errorf("--over %v: must be 0 or more", f.over)
			}
			return f.run(c.OutOrStdout(), args)
		},
	}
	c.Flags().IntVar(&f.points, "points", 0, "how many `POINTS` the sweep has")
	c.Flags().IntVar(&f.shards, "shards", 0, "how many `FILES` share them; the default is those that are named")
	c.Flags().DurationVar(&f.over, "over", 0, "rates over a `DURATION` from now, like 10s")
	return c
}

func (f *statusFlags) run(w io.Writer, names []string) error {
	shards := max(f.shards, len(names))
	t := terminal.Words("file", "rows", "of", "rows/s", "state")
	rows, rate := 0, 0.0
	var left time.Duration
	failed := 0
	list, now := sweep.ReadStatus(names, f.over), time.Now()
	for i, name := range names {
		s := &list[i]
		if s.Err != nil {
			failed++
			t.Add(report.Printable(name), "-", "-", "-", report.Printable(s.Err.Error()))
			continue
		}
		all := s.Points(f.points, shards)
		state, running := s.State(all, now)
		rows += s.Rows
		if running {
			rate += s.Rate
			if s.Rate > 0 && all > 0 {
				left = max(left, time.Duration(float64(all-s.Rows)/s.Rate*float64(time.Second)))
			}
		}
		t.Add(report.Printable(name), strconv.Itoa(s.Rows), orDash(all), report.Rate(s.Rate), state)
	}
	if err := t.Print(w, 0); err != nil {
		return err
	}
	if err := f.total(w, rows, rate, left, shards-len(names)); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%s cannot be read", report.Plural(failed, "file"))
	}
	return nil
}

// total says how far all are. What runs is taken to go on as it did, and what has not been
// started to be started when the rest is done.
func (f *statusFlags) total(w io.Writer, rows int, rate float64, left time.Duration, unnamed int) error {
	if f.points == 0 {
		_, err := fmt.Fprintf(w, "all: %s rows, %s rows/s\n", report.Thousands(uint64(rows)), report.Rate(rate))
		return err
	}
	text := fmt.Sprintf("all: %s of %s points (%.1f%%)", report.Thousands(uint64(rows)), report.Thousands(uint64(f.points)), 100*float64(rows)/float64(f.points))
	if unnamed > 0 {
		text += fmt.Sprintf(", %s not started", report.Plural(unnamed, "shard"))
	}
	if rate > 0 && rows < f.points {
		rest := time.Duration(float64(f.points-rows) / rate * float64(time.Second))
		text += fmt.Sprintf(", %s rows/s, done in %v", report.Rate(rate), max(rest, left).Round(time.Second))
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

func orDash(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

package command

import (
	"anesim/bench/report"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
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
		Args: someFiles,
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("points") && (f.points < 1 || f.points > maxPoints) {
				return usage("--points %d: must be between 1 and %d", f.points, maxPoints)
			}
			if c.Flags().Changed("shards") && (f.shards < len(args) || f.shards > maxPoints) {
				return usage("--shards %d: must be between the %s named and %d", f.shards, report.Plural(len(args), "file"), maxPoints)
			}
			if f.over < 0 {
				return usage("--over %v: must be 0 or more", f.over)
			}
			return f.run(c.OutOrStdout(), args)
		},
	}
	c.Flags().IntVar(&f.points, "points", 0, "how many `POINTS` the sweep has")
	c.Flags().IntVar(&f.shards, "shards", 0, "how many `FILES` share them; the default is those that are named")
	c.Flags().DurationVar(&f.over, "over", 0, "rates over a `DURATION` from now, like 10s")
	return c
}

// stalePeriod is after how long without a row a shard that is not complete is stale.
const stalePeriod = time.Minute

// maxAge is more seconds than any file is old: a file that says less was made never.
const maxAge = 1e9

// A shardStatus is what a shard's file says of it.
type shardStatus struct {
	rows   int
	first  int     // its first point, -1 where it has none
	cut    bool    // the last row is not complete
	rate   float64 // rows a second, 0 where nobody knows
	wrote  time.Time
	header []byte
	err    error
}

// of is how many points the shard has of all, 0 where nobody knows.
func (s *shardStatus) of(points, shards int) int {
	if points == 0 || s.first < 0 || s.first >= shards {
		return 0
	}
	return shard{s.first + 1, shards}.points(points)
}

// look reads the files, and again after a while where the flags say so.
func (f *statusFlags) look(names []string) []shardStatus {
	list := make([]shardStatus, len(names))
	for i, name := range names {
		list[i] = readShard(name)
	}
	if f.over == 0 {
		return list
	}
	time.Sleep(f.over)
	for i, name := range names {
		again := readShard(name)
		again.rate = max(0, float64(again.rows-list[i].rows)/f.over.Seconds())
		list[i] = again
	}
	return list
}

func (f *statusFlags) run(w io.Writer, names []string) error {
	shards := max(f.shards, len(names))
	t := words("file", "rows", "of", "rows/s", "state")
	rows, rate := 0, 0.0
	var left time.Duration
	var header []byte
	failed := 0
	list, now := f.look(names), time.Now()
	for i, name := range names {
		s := &list[i]
		switch {
		case s.err != nil:
		case header == nil:
			header = s.header
		case s.header != nil && !slices.Equal(header, s.header):
			s.err = errors.New("is of another sweep than " + report.Printable(names[0]))
		}
		if s.err != nil {
			failed++
			t.add(report.Printable(name), "-", "-", "-", report.Printable(s.err.Error()))
			continue
		}
		all := s.of(f.points, shards)
		state, running := s.state(all, now)
		rows += s.rows
		if running {
			rate += s.rate
			if s.rate > 0 && all > 0 {
				left = max(left, time.Duration(float64(all-s.rows)/s.rate*float64(time.Second)))
			}
		}
		t.add(report.Printable(name), strconv.Itoa(s.rows), orDash(all), rateText(s.rate), state)
	}
	if err := t.print(w, 0); err != nil {
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
		_, err := fmt.Fprintf(w, "all: %s rows, %s rows/s\n", report.Thousands(uint64(rows)), rateText(rate))
		return err
	}
	text := fmt.Sprintf("all: %s of %s points (%.1f %%)", report.Thousands(uint64(rows)), report.Thousands(uint64(f.points)), 100*float64(rows)/float64(f.points))
	if unnamed > 0 {
		text += fmt.Sprintf(", %s not started", report.Plural(unnamed, "shard"))
	}
	if rate > 0 && rows < f.points {
		rest := time.Duration(float64(f.points-rows) / rate * float64(time.Second))
		text += fmt.Sprintf(", %s rows/s, done in %v", rateText(rate), max(rest, left).Round(time.Second))
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

// state is a shard's in a word, and whether it is under way.
func (s *shardStatus) state(all int, now time.Time) (string, bool) {
	age := now.Sub(s.wrote).Round(time.Second)
	switch {
	case all > 0 && s.rows == all && !s.cut:
		return "done", false
	case all > 0 && s.rows > all:
		return "more rows than its shard has", false
	case age > stalePeriod:
		return fmt.Sprintf("stale, last row %v ago", age), false
	case s.cut:
		return "under way, inside a row", true
	}
	return "under way", true
}

// readShard looks through a file of rows: all lines are counted, the first two read.
func readShard(name string) (s shardStatus) {
	s.first = -1
	f, err := os.Open(name)
	if err != nil {
		s.err = err
		return s
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		s.err = errors.Join(err, errors.New("is not a regular file"))
		return s
	}
	s.wrote = info.ModTime()
	defer func() {
		if t := s.wrote.Sub(born(f)).Seconds(); t > 0 && t < maxAge {
			s.rate = float64(s.rows) / t
		}
	}()
	m := &mergeFile{name: name, file: f}
	if info.Size() == 0 {
		return s
	}
	if err := m.start(); m.torn {
		s.cut = true
		return s
	} else if err != nil {
		s.err = err
		return s
	}
	s.header = m.header
	for {
		before := m.at
		switch err := m.next(); {
		case m.torn:
			s.cut = true
			return s
		case err != nil:
			s.err = err
			return s
		case m.at < 0:
			return s
		}
		if before < 0 {
			s.first = m.at
		}
		s.rows++
	}
}

func orDash(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

package sweepcommand

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"anesim/internal/sweep"
	"anesim/tools/anesim/internal/usage"
)

func mergeCommand() *cobra.Command {
	points := 0
	c := &cobra.Command{
		Use:   "merge FILE...",
		Short: "Merge the files of a sweep's shards",
		Long: `Merge writes the rows of a sweep's shards in the order of its points. The result is byte for
byte that of the sweep without --shard. The files may be in any order. Nothing is written
unless every point occurs exactly once. The rows say how many points the sweep has;
--points checks that number. Shards of different builds of anesim are refused. A build that
was not made from a commit has no name, so that two of them look alike; a note says so.`,
		Example: `  anesim sweep conv cin=16..256+16 cout=64 --shard 1/2 --resume 1.csv
  anesim sweep conv cin=16..256+16 cout=64 --shard 2/2 --resume 2.csv
  anesim sweep merge 1.csv 2.csv > all.csv`,
		Args: usage.SomeFiles,
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("points") && (points < 1 || points > sweep.MaxPoints) {
				return usage.Errorf("--points %d: want 1 to %d", points, sweep.MaxPoints)
			}
			if err := sweep.Merge(c.OutOrStdout(), args, points); err != nil {
				return err
			}
			return noteUnnamedBuild(c.ErrOrStderr(), args)
		},
	}
	c.Flags().IntVar(&points, "points", 0, "fail unless the sweep has this number of `POINTS`")
	addRefusedParquetFlag(c.Flags())
	return c
}

// noteUnnamedBuild writes a note to w if several shards may be of different builds of anesim, because
// their rows do not name it.
func noteUnnamedBuild(w io.Writer, shards []string) error {
	if len(shards) < 2 {
		return nil
	}
	named, err := sweep.NamesBuild(shards)
	if err != nil || named {
		return err
	}
	_, err = fmt.Fprintln(w, "anesim: note: these rows do not name the build of anesim that computed them; use one build for all shards")
	return err
}

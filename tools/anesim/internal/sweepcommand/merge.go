package sweepcommand

import (
	"github.com/spf13/cobra"

	"anesim/bench/sweep"
	"anesim/tools/anesim/internal/usage"
)

func mergeCommand() *cobra.Command {
	points := 0
	c := &cobra.Command{
		Use:   "merge FILE...",
		Short: "Put the files of a sweep's shards together",
		Long: `Merge writes the rows of a sweep's shards in the order of its points, byte for byte what
the sweep writes without --shard. The files may be in any order; nothing is written unless
every point is there once. --points says how many there are; without it there must be as
many as the values that the rows have make combinations.`,
		Example: `  anesim sweep conv cin=16..256+16 cout=64 --shard 1/2 --resume 1.csv
  anesim sweep conv cin=16..256+16 cout=64 --shard 2/2 --resume 2.csv
  anesim sweep merge 1.csv 2.csv > all.csv`,
		Args: usage.SomeFiles,
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("points") && (points < 1 || points > sweep.MaxPoints) {
				return usage.Errorf("--points %d: must be between 1 and %d", points, sweep.MaxPoints)
			}
			return sweep.Merge(c.OutOrStdout(), args, points)
		},
	}
	c.Flags().IntVar(&points, "points", 0, "how many `POINTS` the sweep has")
	refuseParquet(c.Flags())
	return c
}

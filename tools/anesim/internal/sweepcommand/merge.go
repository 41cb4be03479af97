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
		Short: "Merge the files of a sweep's shards",
		Long: `Merge writes the rows of a sweep's shards in the order of its points. The result is byte for
byte that of the sweep without --shard. The files may be in any order. Nothing is written
unless every point occurs exactly once. --points gives the number of points; without it,
the rows must contain every combination of the values that occur in them.`,
		Example: `  anesim sweep conv cin=16..256+16 cout=64 --shard 1/2 --resume 1.csv
  anesim sweep conv cin=16..256+16 cout=64 --shard 2/2 --resume 2.csv
  anesim sweep merge 1.csv 2.csv > all.csv`,
		Args: usage.SomeFiles,
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("points") && (points < 1 || points > sweep.MaxPoints) {
				return usage.Errorf("--points %d: want 1 to %d", points, sweep.MaxPoints)
			}
			return sweep.Merge(c.OutOrStdout(), args, points)
		},
	}
	c.Flags().IntVar(&points, "points", 0, "number of `POINTS` of the sweep")
	addRefusedParquetFlag(c.Flags())
	return c
}

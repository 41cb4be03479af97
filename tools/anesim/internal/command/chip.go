package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"anesim"
	"anesim/hw/chip"
	"anesim/tools/anesim/internal/flags"
	"anesim/tools/anesim/internal/usage"
)

func chipCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "chip [NAME|FILE]",
		Short: "Print a chip as YAML, as a start for your own",
		Long: `Chip prints a preset as YAML: each constant with its unit, its evidence and source, and the
range of valid values. Edit the file and pass it to --chip of any command. Without an
argument, chip lists the presets. With a FILE, it checks every constant and prints the
chip as read.`,
		Example: `  anesim chip
  anesim chip m1 > my.yaml
  anesim layer conv cin=64 h=56 w=56 cout=64 k=3 --chip my.yaml
  anesim sweep conv cin=64,256 h=28 w=28 cout=64 k=3 chip.Clock=0.8e9,1.2e9 --chip my.yaml`,
		// Without this function, cobra would refuse a second argument with its own message and exit status.
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage.Errorf("%s: found %d arguments; want one chip", c.CommandPath(), len(args))
			}
			return nil
		},
		ValidArgsFunction: cobra.FixedCompletions(chip.Names(), cobra.ShellCompDirectiveDefault),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				_, err := fmt.Fprintln(c.OutOrStdout(), strings.Join(chip.Names(), "\n"))
				return err
			}
			var o anesim.Options
			if err := flags.ReadChip(&o, args[0], 0); err != nil {
				return err
			}
			return chip.Write(c.OutOrStdout(), &o.Chip)
		},
	}
}

package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"anesim"
	"anesim/hw"
	"anesim/hw/chip"
)

func chipCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "chip [NAME|FILE]",
		Short: "Write a chip as a file, for chips of your own",
		Long: `Chip prints a preset as YAML: every constant with its unit, what it rests on, where that
is from, and the bounds that a value must keep. Change what you like and give the file to
--chip of any command. Without an argument it lists the presets. Of a FILE it checks every
constant and prints the chip as it was read.`,
		Example: `  anesim chip
  anesim chip m1 > my.yaml
  anesim layer conv cin=64 h=56 w=56 cout=64 k=3 --chip my.yaml
  anesim sweep conv cin=64,256 h=28 w=28 cout=64 k=3 chip.Clock=0.8e9,1.2e9 --chip my.yaml`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("%s takes one chip, not %d", c.CommandPath(), len(args))
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
			if err := readChip(&o, args[0]); err != nil {
				return err
			}
			return chip.Write(c.OutOrStdout(), &o.Chip)
		},
	}
}

// readChip gives a run the chip that --chip names: a preset, or a file whose name has a dot
// or a slash.
//
// Constants that are to be others stand behind the name: "m1,Clock=1.2e9".
func readChip(o *anesim.Options, name string) (err error) {
	if base, constants, ok := strings.Cut(name, ","); ok {
		if _, err := os.Stat(name); err != nil { // no file of that name
			if err := readChip(o, base); err != nil {
				return err
			}
			return setConstants(&o.Chip, constants)
		}
	}
	if !strings.ContainsAny(name, "./"+string(filepath.Separator)) || slices.Contains(chip.Names(), name) {
		if o.Chip, err = chip.ByName(name); err != nil {
			return &usageError{err}
		}
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return inFile(name, errors.New("is a directory"))
	}
	if o.Chip, err = chip.Read(f); err != nil {
		return inFile(name, err)
	}
	return nil
}

// setConstants reads NAME=VALUE,... into a chip.
func setConstants(c *hw.Chip, list string) error {
	for word := range strings.SplitSeq(list, ",") {
		name, value, _ := strings.Cut(word, "=")
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return usage("--chip: %q: want CONSTANT=NUMBER", word)
		}
		if err := chip.Set(c, name, v); err != nil {
			return &usageError{fmt.Errorf("--chip: %w", err)}
		}
	}
	return nil
}

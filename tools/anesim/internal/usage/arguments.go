package usage

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"anesim/hw/spelling"
)

// NoArgs returns an error if there are arguments. The error reports the first one as an unknown
// command.
func NoArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return UnknownCommand(c, args[0])
}

// UnknownCommand returns an error about the unknown command name that suggests similar commands
// of c.
func UnknownCommand(c *cobra.Command, name string) error {
	var names []string
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	return Errorf("unknown command %q for %s%s", name, c.CommandPath(), spelling.Suggest(name, names))
}

// FlagError adds suggestions of similar flags to an error about an unknown flag. It returns other
// errors unchanged.
func FlagError(c *cobra.Command, err error) error {
	const unknown = "unknown flag: --"
	name, ok := strings.CutPrefix(err.Error(), unknown)
	if !ok {
		return err
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	near := spelling.Nearest(name, names)
	for i := range near {
		near[i] = "--" + near[i]
	}
	return fmt.Errorf("%w%s", err, spelling.Hint(near))
}

// SomeFiles returns an error unless there is at least one argument.
func SomeFiles(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return Errorf("%s: missing FILE argument", c.CommandPath())
	}
	return nil
}

// OneFile returns an error unless there is exactly one argument.
func OneFile(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return Errorf("%s: found %d files, want one", c.CommandPath(), len(args))
	}
	return nil
}

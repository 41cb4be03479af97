package usage

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"anesim/hw/spelling"
)

func NoArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return UnknownCommand(c, args[0])
}

// UnknownCommand says which command may have been meant.
func UnknownCommand(c *cobra.Command, name string) error {
	var names []string
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	return Errorf("unknown command %q for %s%s", name, c.CommandPath(), spelling.Suggest(name, names))
}

// FlagError says which flag may have been meant.
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

// SomeFiles accepts one FILE argument or several.
func SomeFiles(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return Errorf("%s requires a file", c.CommandPath())
	}
	return nil
}

// OneFile accepts a FILE argument.
func OneFile(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return Errorf("%s takes one file, not %d", c.CommandPath(), len(args))
	}
	return nil
}

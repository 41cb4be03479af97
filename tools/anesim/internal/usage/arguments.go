package usage

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"anesim/internal/spelling"
)

// NoArgs returns an error if args is not empty. The error says that args[0] is an unknown command.
func NoArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return UnknownCommand(c, args[0])
}

// UnknownCommand returns an error for a name that is not a subcommand of c. The error suggests
// similar commands.
func UnknownCommand(c *cobra.Command, name string) error {
	var names []string
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	return Errorf("unknown command %q for %s%s", name, c.CommandPath(), spelling.Suggest(name, names))
}

// FlagError returns err with suggestions of similar flags of c if err reports an unknown flag. It
// returns any other error unchanged.
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

// SomeFiles returns an error if args, the names of files, is empty.
func SomeFiles(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return Errorf("%s: missing FILE argument", c.CommandPath())
	}
	return nil
}

// OneFile returns an error unless args, the names of files, has exactly one element.
func OneFile(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return Errorf("%s: found %d files; want one", c.CommandPath(), len(args))
	}
	return nil
}

package usage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"anesim/internal/spelling"
	"anesim/loader/network"
)

// NoArgs returns an error if args is not empty. The error says that args[0] is an unknown command.
func NoArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return UnknownCommand(c, args[0])
}

// UnknownCommand returns an error for a name that is not a subcommand of c. The error suggests
// similar commands, or the command for a file if the name is that of one.
func UnknownCommand(c *cobra.Command, name string) error {
	var names []string
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	if slices.Contains(network.Extensions(), strings.ToLower(filepath.Ext(filepath.Clean(name)))) {
		return Errorf("unknown command %q for %s; try %[2]s model %[1]s", name, c.CommandPath())
	}
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() || err != nil && strings.HasSuffix(name, ".hwx") {
		return Errorf("unknown command %q for %s; try %[2]s run %[1]s", name, c.CommandPath())
	}
	return Errorf("unknown command %q for %s%s", name, c.CommandPath(), spelling.Suggest(name, names))
}

// FlagError returns err, an error of parsing the flags of c, in words for a user: with suggestions if
// it reports an unknown flag, and with the values to choose from if it reports an invalid one. It returns any
// other error unchanged.
func FlagError(c *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		return fmt.Errorf("--%s %q: want %s", invalid.GetFlag().Name, invalid.GetValue(), describeValues(invalid))
	}
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

// describeValues lists the values that the flag of an error accepts. The error of a flag with a type of its
// own says that itself.
func describeValues(e *pflag.InvalidValueError) string {
	switch kind := e.GetFlag().Value.Type(); kind {
	case "int":
		return "a whole number below 2^63"
	case "uint64":
		return "a whole number from 0 to 2^64-1"
	case "float64":
		return "a number, such as 30 or 0.5"
	case "duration":
		return "a time with its unit, such as 33ms or 1.5s, and at most 2500000h"
	case "bool":
		return "true or false"
	}
	return e.Unwrap().Error()
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

// TwoFiles returns an error unless args, the names of files, has exactly two elements.
func TwoFiles(c *cobra.Command, args []string) error {
	if len(args) != 2 {
		return Errorf("%s: want two files to compare, found %d", c.CommandPath(), len(args))
	}
	return nil
}

// CheckNames returns an error if a flag of c with one of the given names has an empty value, such as that of
// a variable that the shell does not know. It would pass as if the flag were left out.
func CheckNames(c *cobra.Command, flags ...string) error {
	for _, name := range flags {
		if f := c.Flags().Lookup(name); f != nil && f.Changed && f.Value.String() == "" {
			return Errorf("--%s: the value is empty; leave the flag out for its default", name)
		}
	}
	return nil
}

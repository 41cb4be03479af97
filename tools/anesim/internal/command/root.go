package command

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// Exit statuses.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// A usageError is a command line that cannot be understood.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// usage makes an error of the command line itself.
func usage(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// Main runs the command line and returns its exit status.
func Main(args []string, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:           "anesim",
		Short:         "A register-level model of the Apple M1 neural engine",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return usage("which command? Try %s -h", c.CommandPath())
		},
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	root.SetHelpCommand(&cobra.Command{Hidden: true, Use: "no-help"})
	root.AddCommand(runCommand(), layerCommand(), modelCommand(), sweepCommand(), dumpCommand(), asmCommand(), patchCommand(), enumCommand(), accuracyCommand())
	err := root.Execute()
	if err == nil {
		return exitDone
	}
	fmt.Fprintln(stderr, "anesim:", err)
	var u *usageError
	if errors.As(err, &u) {
		return exitUsage
	}
	return exitFailed
}

func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("unknown command %q for %s", args[0], c.CommandPath())
	}
	return nil
}

// atMostOneFile accepts an optional FILE argument.
func atMostOneFile(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usage("%s takes one file, not %d", c.CommandPath(), len(args))
	}
	return nil
}

// oneFile accepts a FILE argument.
func oneFile(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("%s takes one file", c.CommandPath())
	}
	return nil
}

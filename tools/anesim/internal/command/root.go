package command

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"anesim"
	"anesim/bench/report"
	"anesim/bench/sweep"
	"anesim/tools/anesim/internal/sweepcommand"
	"anesim/tools/anesim/internal/usage"
)

// Exit statuses.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2

	exitInterrupted = 130 // as shells have it: 128 and the number of the signal
)

// Main runs the command line and returns its exit status.
func Main(args []string, stdout, stderr io.Writer) int {
	root := Root(stdout, args...)
	root.SetArgs(args)
	root.SetErr(stderr)
	// The command library drops what writing help fails with.
	full := new(watchedWriter)
	fitHelp(root, full)
	err := root.Execute()
	if err == nil {
		err = full.err
	}
	return conclude(stderr, err)
}

// conclude prints how a command ended and returns its exit status.
func conclude(stderr io.Writer, err error) int {
	var u *usage.Error
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, context.Canceled):
		printError(stderr, errors.New("interrupted"))
		return exitInterrupted
	}
	printError(stderr, err)
	if errors.As(err, &u) || errors.As(err, new(*sweep.ArgumentError)) {
		return exitUsage
	}
	return exitFailed
}

// Root is the command with all commands below it, which write to stdout. Some are made for
// the arguments that it is to run with.
func Root(stdout io.Writer, args ...string) *cobra.Command {
	root := &cobra.Command{
		Use:   "anesim",
		Short: "A register-level model of the Apple M1 neural engine",
		Long: `Anesim runs compiled programs of the Apple M1 neural engine, single layers and whole
networks on a model of it: the values the engine would compute, the cycles and what they
wait for, the bytes moved and the energy.`,
		Example: `  anesim run model.hwx
  anesim layer conv cin=64 h=56 w=56 cout=64 k=3 pad=1
  anesim model net.onnx --host macos-air
  anesim help run`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		Args:              usage.NoArgs,
		PersistentPreRunE: checkPaths,
		RunE: func(c *cobra.Command, _ []string) error {
			if v, err := c.Flags().GetBool("version"); err == nil && v {
				return printVersion(c.OutOrStdout())
			}
			return usage.Errorf("missing command: try %s help", c.CommandPath())
		},
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.Flags().Bool("version", false, "print the module's version, the revision and the hash of the constants")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usage.Of(usage.FlagError(c, err)) })
	root.AddCommand(
		runCommand(),
		layerCommand(),
		modelCommand(),
		sweepcommand.New(),
		chipCommand(),
		checkCommand(),
		diffCommand(),
		lintCommand(),
		explainCommand(),
		plotCommand(),
		loadCommand(),
		fwCommand(),
		paperCommand(),
		dumpCommand(),
		asmCommand(),
		patchCommand(),
		convertCommand(),
		enumCommand(),
		accuracyCommand(),
		versionCommand(),
	)
	root.SetOut(stdout) // which the completion command takes as it is made
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	for _, c := range root.Commands() {
		if c.Name() == "help" {
			c.Short, c.Long = "Help about a command", "Help prints what a command does, its flags and examples."
			c.Example = "  anesim help run"
			c.RunE, c.Run = helpOn, nil
		}
		if c.Name() == "completion" {
			c.Hidden = false
			c.Short = "Write a shell's completion script"
			c.Example = "  source <(anesim completion bash)"
		}
	}
	return root
}

// A watchedWriter remembers the first error of a writer.
type watchedWriter struct {
	w   io.Writer
	err error
}

func (w *watchedWriter) Write(b []byte) (int, error) {
	n, err := w.w.Write(b)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// printError prints an error on one line, without what a terminal would obey.
func printError(w io.Writer, err error) { fmt.Fprintln(w, "anesim:", report.Printable(err.Error())) }

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "The version, the revision and the hash of the constants",
		Long: `Version prints the module's version, the revision that it was built of and the hash of
the constants. Two versions with one hash give the same figures of the same descriptors
unless the model's code has changed between them.`,
		Example: "  anesim version",
		Args:    usage.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return printVersion(c.OutOrStdout()) },
	}
}

func printVersion(w io.Writer) error {
	t := anesim.ThisTool()
	revision := t.Revision
	if revision == "" {
		revision = "unknown"
	}
	_, err := fmt.Fprintf(w, "anesim %s, revision %s, constants %s\n", t.Version, revision, t.Constants)
	return err
}

// helpOn prints the help of the command that the words name.
func helpOn(c *cobra.Command, args []string) error {
	root := c.Root()
	found, rest, err := root.Find(args)
	if err != nil || found == nil || len(rest) > 0 && found == root {
		return usage.UnknownCommand(root, args[0])
	}
	found.InitDefaultHelpFlag()
	return found.Help()
}

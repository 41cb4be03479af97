package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"anesim"
	"anesim/internal/outfile"
	"anesim/internal/report"
	"anesim/internal/sweep"
	"anesim/tools/anesim/internal/interrupt"
	"anesim/tools/anesim/internal/probecommand"
	"anesim/tools/anesim/internal/sweepcommand"
	"anesim/tools/anesim/internal/usage"
)

// Exit statuses.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
) // and those of package interrupt

// softMemory is the size in bytes from which garbage is collected more often, so that no small
// input takes 2 GB. Values of 53,248 descriptors need 0.8 GB at a time, but take 2.4 GB if the heap
// may grow to twice that before the next collection.
const softMemory = 3 << 29

// Main runs the command line args, without the program's name, and returns the exit status.
func Main(args []string, stdout, stderr io.Writer) int {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 { // the user did not set GOMEMLIMIT
		debug.SetMemoryLimit(softMemory)
	}
	interrupt.Watch(func() {
		printError(stderr, errors.New("interrupted"))
		outfile.RemoveIncomplete()
	})
	root := Root(stdout, args...)
	root.SetArgs(args)
	root.SetErr(stderr)
	// The command library drops errors of writing help.
	full := new(errorWriter)
	wrapHelpToTerminal(root, full)
	err := root.Execute()
	if err == nil {
		err = full.err
	}
	return reportError(stderr, err)
}

// reportError prints the error of a command and returns the exit status, which is 0 if err is nil.
func reportError(stderr io.Writer, err error) int {
	var u *usage.Error
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, context.Canceled):
		printError(stderr, errors.New("interrupted"))
		return interrupt.Status()
	}
	printError(stderr, nameFlags(err))
	if errors.As(err, &u) || errors.As(err, new(*sweep.ArgumentError)) || errors.As(err, new(*outfile.ClashError)) || errors.As(err, new(*outfile.InputError)) {
		return exitUsage
	}
	return exitFailed
}

// optionFlags names the flags that set options of package anesim.
var optionFlags = map[string]string{
	"Repeat": "--repeat", "Idle": "--idle", "PowerBudget": "--power-budget", "State": "--state", "Bind": "--bind", "Record": "--record",
	"Dims": "--dim", "Release": "--release", "Function": "--function", "Reshape": "--reshape", "Regroup": "--merge or --split", "Weights": "--weights",
	"Compute": "--compute", "Segmenter": "--segmenter", "GateTiles": "--gate-tiles", "Overrides": "--set",
}

// nameFlags returns err with the flag in the place of an option of package anesim, if it reports one.
func nameFlags(err error) error {
	var option *anesim.OptionError
	if !errors.As(err, &option) || optionFlags[option.Option] == "" {
		return err
	}
	return errors.New(strings.Replace(err.Error(), "option "+option.Option+": ", optionFlags[option.Option]+": ", 1))
}

// Help lists commands in the order in which they are added: the most used one of a group comes first.
// The order is the same for all commands, so it is set once, before any of them runs.
func init() { cobra.EnableCommandSorting = false }

// addGroup adds commands to root that its help lists together under the title.
func addGroup(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, c := range commands {
		c.GroupID = title
	}
	root.AddCommand(commands...)
}

// Root returns the root command with all subcommands, which write to stdout. The command-line
// arguments args may be omitted; errors name them, and
// [cobra.Command.InitDefaultCompletionCmd] takes them.
func Root(stdout io.Writer, args ...string) *cobra.Command {
	plan := new(outfile.Plan) // files that the command reads and writes
	root := &cobra.Command{
		Use:   "anesim",
		Short: "A register-level model of the Apple M1 neural engine",
		Long: `Anesim runs compiled programs, single layers and whole networks on a model of the Apple
Neural Engine of the A14 and the M1. It reports the values that the engine would compute, the
cycles and what they wait for, the bytes moved and the energy. Times of M2 to M6 are scaled.`,
		Example: `  anesim model net.onnx --machine m1
  anesim layer conv cin=64 h=56 w=56 cout=64 k=3 pad=1
  anesim run model.hwx
  anesim help run`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          usage.NoArgs,
		PersistentPreRunE: func(c *cobra.Command, args []string) error {
			if err := usage.CheckNames(c, "machine", "weights"); err != nil {
				return err
			}
			return planNamedFiles(plan, c, args)
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if v, err := c.Flags().GetBool("version"); err == nil && v {
				return printVersion(c.OutOrStdout())
			}
			if err := c.Help(); err != nil {
				return err
			}
			return usage.Errorf("missing command")
		},
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.Flags().Bool("version", false, "print the module's version, the revision and the hash of the constants")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		// The flags after what is no command are those of the command that was meant.
		if c == root && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
			return usage.UnknownCommand(c, args[0])
		}
		return usage.Of(usage.FlagError(c, err))
	})
	addGroup(root, "Run something:", runCommand(plan), layerCommand(plan), modelCommand(plan), loadCommand(plan), fwCommand(), sweepcommand.New(plan))
	addGroup(root, "Decide:", explainCommand(), checkCommand(plan), diffCommand(), lintCommand(), plotCommand(plan))
	addGroup(root, "Look inside:", dumpCommand(), asmCommand(plan), patchCommand(plan), convertCommand(), enumCommand(), chipCommand())
	addGroup(root, "Judge the model:", accuracyCommand(plan), paperCommand(), probecommand.New())
	root.AddCommand(versionCommand())
	root.SetOut(stdout) // before the completion command is added, which keeps it
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	for _, c := range root.Commands() {
		if c.Name() == "help" {
			c.Short, c.Long = "Help about a command", "Help prints what a command does, its flags and examples."
			c.Example = "  anesim help run"
			c.RunE, c.Run = printHelpOf, nil
		}
		if c.Name() == "completion" {
			c.Hidden = false
			c.Short = "Write a shell's completion script"
			c.Example = "  source <(anesim completion bash)"
		}
	}
	return root
}

// An errorWriter remembers the first error of a writer.
type errorWriter struct {
	w   io.Writer
	err error
}

func (w *errorWriter) Write(b []byte) (int, error) {
	n, err := w.w.Write(b)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// printError prints an error on one line, with terminal escapes quoted and long words shortened.
func printError(w io.Writer, err error) {
	fmt.Fprintln(w, "anesim:", report.Printable(shortenWords(err.Error())))
}

// shortenWords returns text in which each word of more than 1,000 bytes, such as a key of a command
// line that a program wrote, has only its ends. The longest path that a file may have is longer, but
// shows as well where it leads.
func shortenWords(text string) string {
	const longest, end = 1000, 200
	var b strings.Builder
	for i, word := range strings.Split(text, " ") {
		if i > 0 {
			b.WriteByte(' ')
		}
		if len(word) > longest {
			word = strings.ToValidUTF8(word[:end], "") + "..." + strings.ToValidUTF8(word[len(word)-end:], "")
		}
		b.WriteString(word)
	}
	return b.String()
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the revision and the hash of the constants",
		Long: `Version prints the module's version, the revision that it was built from and the hash of
the constants. Two builds with the same hash report the same figures for the same
descriptors unless the code of the model has changed between them.`,
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

// printHelpOf prints the help text of the subcommand of c that args name.
func printHelpOf(c *cobra.Command, args []string) error {
	root := c.Root()
	found, rest, err := root.Find(args)
	if err != nil || found == nil || len(rest) > 0 && found == root {
		return usage.UnknownCommand(root, args[0])
	}
	found.InitDefaultHelpFlag()
	return found.Help()
}

package probecommand

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"anesim"
	"anesim/internal/outfile"
	"anesim/internal/probe"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/flags"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/interrupt"
	"anesim/tools/anesim/internal/usage"
)

// New returns the command probe with its subcommands.
func New() *cobra.Command {
	c := &cobra.Command{
		Use:   "probe",
		Short: "Ask a real engine about its arithmetic",
		Long: `Probe checks the rules of the engine's arithmetic on a real engine. Write makes a small Core
ML model and a script that needs Foundation and Core ML alone; anybody with a Mac with Apple
silicon runs it in a minute. Read compares the results with the model, rule by rule.`,
		Example: `  anesim probe write probe/
  (cd probe && swift probe.swift)
  anesim probe read probe/results.json`,
		Args: usage.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := c.Help(); err != nil {
				return err
			}
			return usage.Errorf("missing command")
		},
	}
	c.AddCommand(writeCommand(), readCommand(), runCommand())
	return c
}

func writeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "write DIR",
		Short: "Write the model, its inputs and the script",
		Long: `Write creates the directory DIR with a Core ML package, its inputs and probe.swift, which
runs the package on the neural engine and writes results.json. README.txt there says what a
user needs to know. The files are the same at every call; a file of DIR with one of their names
and other content is not overwritten. It takes macOS 13 and Apple's
command-line tools to run them.`,
		Example: "  anesim probe write probe/",
		Args:    usage.OneFile,
		RunE:    func(c *cobra.Command, args []string) error { return writeFiles(c.OutOrStdout(), args[0]) },
	}
}

func writeFiles(w io.Writer, dir string) error {
	files := probe.Files()
	names := slices.Sorted(maps.Keys(files))
	var paths []string
	size := 0
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := checkReplaceable(path, files[name]); err != nil {
			return err
		}
		paths, size = append(paths, path), size+len(files[name])
	}
	for _, path := range paths {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
	}
	if err := outfile.WriteAll(paths, func(i int) []byte { return files[names[i]] }); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "wrote %d files to %s, %d kB\non a Mac with Apple silicon: cd there, swift %s\nthen: anesim probe read %s\n",
		len(files), report.Printable(dir), size/1000, probe.ScriptName, probe.ResultsName)
	return err
}

// checkReplaceable returns an error if there is a file of the given name with other content, which a user
// may need.
func checkReplaceable(path string, content []byte) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil // no file, or writing it fails with a reason
	}
	if info.Size() == int64(len(content)) {
		old, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if bytes.Equal(old, content) {
			return nil
		}
	}
	return input.InFile(path, errors.New("exists and is not the probe's; choose another directory, or remove it"))
}

func readCommand() *cobra.Command {
	var f flags.Run
	var asJSON bool
	c := &cobra.Command{
		Use:   "read RESULTS",
		Short: "Compare a machine's results with the model",
		Long: `Read compares RESULTS, a file that probe.swift wrote, with what the model computes, and says
for each rule of the arithmetic whether it holds:

  holds       all results that decide the rule are the model's
  differs     some are not: how many are, how far off the others are, and which other
              rule gives more of them
  unclear     some are not, and no known alternative gives them; if another rule
              differs, that is often the cause
  elsewhere   Core ML computed the layer on a processor or GPU
  missing     the file lacks the layer
  open        no published result confirms the model's rule; what the machine says

Chips differ in two of the rules. --chip m1 expects those of an M1, and
--chip m1,OperandInfinity=0,CoarseSums=0 those of M4 and M6. The exit status is 1 unless all
rules hold that are not open.`,
		Example: `  anesim probe read results.json
  anesim probe read results.json --chip m1,OperandInfinity=0,CoarseSums=0
  anesim probe read results.json --json`,
		Args: usage.OneFile,
		RunE: func(c *cobra.Command, args []string) error {
			var o anesim.Options
			if err := flags.ReadChip(&o, f.Chip, 0); err != nil {
				return err
			}
			data, err := input.ReadFile(args[0], c.InOrStdin(), probe.MaxBytes)
			if err != nil {
				return err
			}
			results, err := probe.ReadResults(data)
			if err != nil {
				return input.InFile(args[0], err)
			}
			ctx, stop := interrupt.Context()
			defer stop()
			d, err := probe.Compare(ctx, results, o.Chip)
			if err != nil {
				return err
			}
			if asJSON {
				err = report.WriteDocument(c.OutOrStdout(), d)
			} else {
				err = writeAnswers(c.OutOrStdout(), d, f.Chip)
			}
			if err != nil {
				return err
			}
			// Rules that are open are not counted among d.Rules, as nothing is known to compare them with.
			if d.Holds < d.Rules {
				n, verb := d.Rules-d.Holds, "are"
				if n == 1 {
					verb = "is"
				}
				return input.InFile(args[0], fmt.Errorf("%d of %s %s not confirmed", n, report.Plural(d.Rules, "rule"), verb))
			}
			return nil
		},
	}
	f.RegisterOnly(c.Flags(), "chip")
	c.Flags().BoolVar(&asJSON, "json", false, "report as JSON (see docs/json.md)")
	flags.CompleteFlags(c)
	return c
}

func runCommand() *cobra.Command {
	var f flags.Run
	var output string
	c := &cobra.Command{
		Use:   "run -o RESULTS",
		Short: "Compute the results of the model itself",
		Long: `Run runs the probe on the model of a chip and writes the results in the form of probe.swift.
They show what read prints for a machine that follows all rules.`,
		Example: `  anesim probe run -o results.json
  anesim probe run -o later.json --chip m1,OperandInfinity=0,CoarseSums=0`,
		Args: usage.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if output == "" {
				return usage.Errorf("missing -o, the file for the results")
			}
			var o anesim.Options
			if err := flags.ReadChip(&o, f.Chip, 0); err != nil {
				return err
			}
			ctx, stop := interrupt.Context()
			defer stop()
			results, err := probe.Expected(ctx, o.Chip)
			if err != nil {
				return err
			}
			data, err := json.MarshalIndent(results, "", " ")
			if err != nil {
				return err
			}
			return outfile.Write(output, append(data, '\n'))
		},
	}
	f.RegisterOnly(c.Flags(), "chip")
	c.Flags().StringVarP(&output, "output", "o", "", "write the results to `FILE`")
	flags.CompleteFlags(c)
	return c
}

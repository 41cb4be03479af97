package command

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"anesim/internal/check"
	"anesim/internal/outfile"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/usage"
)

// A fileUse says what a command does with a file that a flag names.
type fileUse int

const (
	readsFile      fileUse = iota + 1
	writesFile             // writes a file of exactly this name
	fillsDirectory         // writes files in a directory
)

// fileFlags lists the flags whose values are files, with their use.
var fileFlags = map[string]fileUse{
	"in": readsFile, "init": readsFile, "backends": readsFile, "params": readsFile, "weights": readsFile, "chip": readsFile, "baseline": readsFile, "expect": readsFile, "csv": readsFile,
	"output": writesFile, "emit": writesFile, "html": writesFile, "pprof": writesFile, "trace": writesFile, "record": writesFile, "md": writesFile,
	"junit": writesFile, "plot": writesFile, "resume": writesFile,
	"out": fillsDirectory, "cache": fillsDirectory,
}

// A namedFile is a file on the command line.
type namedFile struct {
	flag string // with its dashes, or "" for an argument
	path string
	use  fileUse
}

// planNamedFiles adds the files that a command line names to a plan. It returns an error if one is
// both an input and an output, or an output twice. A command adds the files that its inputs refer to
// and the names that it makes itself. Among these are the files in a directory of outputs.
func planNamedFiles(plan *outfile.Plan, c *cobra.Command, args []string) error {
	files := listNamedFiles(c, args)
	for _, f := range files {
		if f.use != readsFile {
			continue
		}
		if f.path == "-" && f.flag == "" {
			f.path = "/dev/stdin" // which may be a file, by way of the shell
		}
		if err := plan.Read(f.path); err != nil {
			return err
		}
	}
	for _, f := range files {
		if f.use != writesFile {
			continue
		}
		if f.path == "-" { // it would be a file of that name, which nobody means
			return usage.Errorf("%s -: want a file; /dev/stdout is standard output, and ./- a file of that name", f.flag)
		}
		if err := plan.Write(f.flag, f.path); err != nil {
			return err
		}
	}
	return nil
}

// listNamedFiles returns the files that the flags and arguments of a command name.
func listNamedFiles(c *cobra.Command, args []string) (files []namedFile) {
	c.Flags().Visit(func(f *pflag.Flag) {
		use := fileFlags[f.Name]
		if f.Name == "baseline" && c.Flags().Changed("update") {
			use = writesFile
		}
		values := []string{f.Value.String()}
		switch f.Value.Type() {
		case "string":
			if f.Name == "chip" {
				values[0], _, _ = strings.Cut(values[0], ",")
			}
		case "stringArray":
			values, _ = c.Flags().GetStringArray(f.Name)
			for i := range values {
				switch {
				case f.Name != "expect": // NAME=FILE
					_, values[i], _ = strings.Cut(values[i], "=")
				case check.IsInline(values[i]):
					values[i] = ""
				}
			}
		default:
			return
		}
		for _, path := range values {
			if use != 0 && path != "" {
				files = append(files, namedFile{"--" + f.Name, path, use})
			}
		}
	})
	if c.Name() != "layer" && c.Name() != "enum" && c.Name() != "paper" {
		for _, path := range args {
			files = append(files, namedFile{"", path, readsFile})
		}
	}
	return files
}

// printWritten prints the names of the files and directories that a command wrote. It omits names
// that are empty, and prints nothing if no names remain.
func printWritten(w io.Writer, names ...string) error {
	names = slices.DeleteFunc(slices.Clone(names), func(s string) bool { return s == "" })
	if len(names) == 0 {
		return nil
	}
	for i := range names {
		names[i] = report.Printable(names[i])
	}
	last := len(names) - 1
	text := names[last]
	if last > 0 {
		text = strings.Join(names[:last], ", ") + " and " + text
	}
	_, err := fmt.Fprintf(w, "wrote %s\n", text)
	return err
}

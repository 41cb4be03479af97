package command

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"anesim/bench/report"
	"anesim/tools/anesim/internal/outfile"
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
	"in": readsFile, "init": readsFile, "backends": readsFile, "params": readsFile, "weights": readsFile, "chip": readsFile, "baseline": readsFile, "csv": readsFile,
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

// checkPaths returns an error if a command line names a file both as an output and as an input or a
// second output. Links and different spellings of a path count as the same file.
func checkPaths(c *cobra.Command, args []string) error {
	files := listNamedFiles(c, args)
	for i := range files {
		for k := range files {
			a, b := &files[i], &files[k]
			switch {
			case i == k || a.use != writesFile || b.use == fillsDirectory || !outfile.Same(a.path, b.path):
			case b.use == readsFile:
				return fmt.Errorf("%s: %w", a.flag, &outfile.InputError{Output: a.path, Input: b.path})
			case i < k:
				return usage.Errorf("%s and %s both write %s; use different files", a.flag, b.flag, b.path)
			}
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
			for i := range values { // NAME=FILE
				_, values[i], _ = strings.Cut(values[i], "=")
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
// that are empty or mean standard output, and prints nothing if no names remain.
func printWritten(w io.Writer, names ...string) error {
	names = slices.DeleteFunc(slices.Clone(names), func(s string) bool { return s == "" || s == "-" })
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

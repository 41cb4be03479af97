package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"anesim/tools/anesim/internal/outfile"
	"anesim/tools/anesim/internal/usage"
)

// fileUse is what a command does with the file that a flag names.
type fileUse int

const (
	reads  fileUse = iota + 1
	writes         // under this very name
	fills          // a directory
)

// fileFlags are the flags that name files, by name. A flag that is read by one command and
// written by another stands a second time behind the command's name.
var fileFlags = map[string]fileUse{
	"in": reads, "init": reads, "backends": reads, "params": reads, "weights": reads, "chip": reads, "baseline": reads, "csv": reads,
	"output": writes, "emit": writes, "html": writes, "pprof": writes, "trace": writes, "record": writes, "md": writes,
	"junit": writes, "plot": writes, "resume": writes,
	"out": fills, "cache": fills,
}

// A namedFile is a file on the command line.
type namedFile struct {
	flag string // with its dashes, or "" for an argument
	path string
	use  fileUse
}

// checkPaths refuses a command line on which a file that is written is also read, or written
// a second time. Names, links to a file and other spellings of its path count as the file.
func checkPaths(c *cobra.Command, args []string) error {
	files := namedFiles(c, args)
	for i := range files {
		for k := range files {
			a, b := &files[i], &files[k]
			switch {
			case i == k || a.use != writes || b.use == fills || !outfile.Same(a.path, b.path):
			case b.use == reads:
				return fmt.Errorf("%s: %w", a.flag, &outfile.InputError{Output: a.path, Input: b.path})
			case i < k:
				return usage.Errorf("%s and %s both write %s; name two files", a.flag, b.flag, b.path)
			}
		}
	}
	return nil
}

// namedFiles returns the files that a command line names.
func namedFiles(c *cobra.Command, args []string) (files []namedFile) {
	c.Flags().Visit(func(f *pflag.Flag) {
		use := fileFlags[f.Name]
		if f.Name == "baseline" && c.Flags().Changed("update") {
			use = writes
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
			files = append(files, namedFile{"", path, reads})
		}
	}
	return files
}

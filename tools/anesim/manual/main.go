// Command manual writes the manual of anesim: a man page for each command, and completions
// for bash, zsh, fish and PowerShell. It is a separate module, so that the command does not
// depend on the library for man pages.
//
//	go run . -o /usr/local/share
//
//	DIR/man/man1/anesim.1, anesim-run.1, ...
//	DIR/bash-completion/completions/anesim
//	DIR/zsh/site-functions/_anesim
//	DIR/fish/vendor_completions.d/anesim.fish
//	DIR/powershell/anesim.ps1
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"anesim/tools/anesim/internal/command"
)

func main() {
	dir := flag.String("o", "share", "write below `DIR`")
	flag.Parse()
	if err := writeManual(*dir, revisionTime()); err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
}

// revisionTime returns the time of the revision, so that one revision always gives the same
// manual. It returns the current time if the revision is unknown.
func revisionTime() time.Time {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if t, err := time.Parse(time.RFC3339, s.Value); s.Key == "vcs.time" && err == nil {
				return t
			}
		}
	}
	return time.Now()
}

// writeManual writes the manual to a directory.
func writeManual(dir string, date time.Time) error {
	root := command.Root(io.Discard)
	root.DisableAutoGenTag = true
	man := filepath.Join(dir, "man", "man1")
	if err := os.MkdirAll(man, 0o755); err != nil {
		return err
	}
	header := &doc.GenManHeader{Section: "1", Date: &date, Source: "anesim", Manual: "anesim"}
	if err := doc.GenManTree(root, header, man); err != nil {
		return err
	}
	for _, x := range []struct {
		file  string
		write func(*cobra.Command, string) error
	}{
		{"bash-completion/completions/anesim", func(c *cobra.Command, file string) error { return c.GenBashCompletionFileV2(file, true) }},
		{"zsh/site-functions/_anesim", (*cobra.Command).GenZshCompletionFile},
		{"fish/vendor_completions.d/anesim.fish", func(c *cobra.Command, file string) error { return c.GenFishCompletionFile(file, true) }},
		{"powershell/anesim.ps1", (*cobra.Command).GenPowerShellCompletionFileWithDesc},
	} {
		file := filepath.Join(dir, filepath.FromSlash(x.file))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := x.write(root, file); err != nil {
			return err
		}
	}
	return nil
}

package command

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The commands and flags that pages and help name exist: a page once named a flag of another command.
func TestPagesNameCommandsAndFlags(t *testing.T) {
	top := filepath.Join("..", "..", "..", "..")
	pages, err := filepath.Glob(filepath.Join(top, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	root := Root(io.Discard)
	flags := map[string]bool{
		"help": true, // of every command
		// Of other tools: npm, snakemake, a mutation tester, xcode-select, and brew in cobra's help.
		"ignore-scripts": true, "rerun-incomplete": true, "timeout-coefficient": true, "install": true, "prefix": true,
	}
	texts := map[string]string{}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
		texts["help "+c.Name()] = c.Long + "\n" + c.Example
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(root)
	for _, name := range append(pages, filepath.Join(top, "README.md"), filepath.Join(top, "ARCHITECTURE.md"), filepath.Join(top, "CONTRIBUTING.md"), filepath.Join(top, "RATIONALE.md")) {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(name)] = string(b)
	}
	command := regexp.MustCompile("(?m)(?:^  |`|[$|] )(anesim (?:help )?[a-z]+)|^(anesim [a-z]+)")
	flag := regexp.MustCompile("(?:^|[`\\s(])--([a-z][a-z0-9-]*)")
	commands := 0
	for name, text := range texts {
		for _, m := range command.FindAllStringSubmatch(text, -1) {
			words := strings.Fields(m[1] + m[2])
			last := words[len(words)-1]
			if c, _, err := root.Find([]string{last}); (err != nil || c == root) && last != "help" {
				t.Errorf("%s: %q names no command", name, m[0])
			}
			commands++
		}
		for _, m := range flag.FindAllStringSubmatch(text, -1) {
			if !flags[m[1]] {
				t.Errorf("%s: --%s is a flag of no command", name, m[1])
			}
		}
	}
	if commands < 200 {
		t.Errorf("%d commands were checked; pages and help have more", commands)
	}
}

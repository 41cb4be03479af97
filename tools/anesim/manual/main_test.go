package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"anesim/tools/anesim/internal/command"
)

func manual(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := writeManual(dir, time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t *testing.T, words ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(words...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Every command has a page with its flags and examples, and is in the page of the command
// above it.
func TestEveryCommandHasAPage(t *testing.T) {
	dir := manual(t)
	pages := 0
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" {
			return
		}
		name := strings.ReplaceAll(c.CommandPath(), " ", "-")
		page := read(t, dir, "man", "man1", name+".1")
		pages++
		if !strings.Contains(page, ".SH SYNOPSIS") || c.Example != "" && !strings.Contains(page, ".SH EXAMPLE") {
			t.Errorf("%s.1 has no synopsis or no example", name)
		}
		if f := c.Flags().Lookup("json"); f != nil && !strings.Contains(page, `\fB--json\fP`) {
			t.Errorf("%s.1 has no --json", name)
		}
		if c.HasParent() {
			above := strings.ReplaceAll(c.Parent().CommandPath(), " ", "-")
			if !strings.Contains(read(t, dir, "man", "man1", above+".1"), name+"(1)") {
				t.Errorf("%s.1 does not refer to %s", above, name)
			}
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(command.Root(io.Discard))
	if pages < 15 {
		t.Errorf("%d pages", pages)
	}
}

// A revision has one manual.
func TestManualIsDeterministic(t *testing.T) {
	a, b := manual(t), manual(t)
	for _, file := range []string{"man/man1/anesim-run.1", "bash-completion/completions/anesim", "fish/vendor_completions.d/anesim.fish"} {
		if read(t, a, file) != read(t, b, file) {
			t.Errorf("%s differs from one time to the next", file)
		}
	}
}

// What bash completes is what the command answers to it.
func TestBashCompletes(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("completions are tried in bash, which is not installed")
	}
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "anesim"), "anesim/tools/anesim")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c := exec.Command(bash, "--norc", "-c", `
_get_comp_words_by_ref() { cur=${COMP_WORDS[COMP_CWORD]}; prev=${COMP_WORDS[COMP_CWORD-1]}; words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; }
__ltrim_colon_completions() { :; }
compopt() { :; }
source "$1"
COMP_WORDS=(anesim expl) COMP_CWORD=1 COMP_LINE="anesim expl" COMP_POINT=11 COMP_TYPE=9
__start_anesim
printf '%s\n' "${COMPREPLY[@]}"`, "bash", filepath.Join(manual(t), "bash-completion", "completions", "anesim"))
	c.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := c.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "explain") {
		t.Errorf("bash completes %q: %v", out, err)
	}
}

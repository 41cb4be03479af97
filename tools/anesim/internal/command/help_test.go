package command

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// Help fits a terminal of 80 columns and one of 72: no line is wider unless it is one word, and
// no word is lost.
func TestHelpFitsTheTerminal(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		var out strings.Builder
		c.SetOut(&out)
		if err := c.Help(); err != nil {
			t.Fatal(err)
		}
		for _, width := range []int{72, 80} {
			text := wrapHelp(out.String(), width)
			if joined := strings.Fields(strings.ReplaceAll(text, "\\\n", "\n")); !slices.Equal(joined, strings.Fields(strings.ReplaceAll(out.String(), "\\\n", "\n"))) {
				t.Errorf("%s: words differ", c.CommandPath())
			}
			for line := range strings.Lines(text) {
				line = strings.TrimRight(line, "\n")
				if utf8.RuneCountInString(line) > width && strings.Contains(strings.TrimSpace(line), " ") {
					t.Errorf("%s at %d columns: %s", c.CommandPath(), width, line)
				}
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(Root(new(strings.Builder)))
}

func TestWrapHelp(t *testing.T) {
	for text, want := range map[string]string{
		"Terms:\n  one     the first of\n          them\n  a longer term the second\n                one\n": "Terms:\n  one     the first of them\n  a longer term the second\n                one\n",
		"Examples:\n  anesim layer \"conv cin=64 h=28\" k=3 pad=1\n":                                        "Examples:\n  anesim layer \\\n      \"conv cin=64 h=28\" \\\n      k=3 pad=1\n",
	} {
		if got := wrapHelp(text, 27); got != want {
			t.Errorf("%q\nwant %q", got, want)
		}
	}
	const text = "Reads a file and\nprints what it says.\n\nFlags:\n  --all NAME   print zero fields and registers\n  anesim dump a.hwx\n"
	want := "Reads a file and prints\nwhat it says.\n\nFlags:\n  --all NAME   print zero\n               fields and\n               registers\n  anesim dump a.hwx\n"
	if got := wrapHelp(text, 25); got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// Without a command, the help is printed, and the error stays one line.
func TestNoCommand(t *testing.T) {
	out, errs, code := invoke([]string{}...)
	if code != exitUsage || !strings.HasPrefix(out, "Anesim runs compiled programs") || errs != "anesim: missing command\n" {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
}

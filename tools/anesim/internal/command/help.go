package command

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"anesim/tools/anesim/internal/terminal"
)

// wrapHelpToTerminal makes the help texts of root and its subcommands wrap at the width of the
// terminal. Errors in writing are stored in full.
func wrapHelpToTerminal(root *cobra.Command, full *errorWriter) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		full.w = c.OutOrStdout()
		width := terminal.Width(full.w)
		if width == 0 {
			c.SetOut(full)
			help(c, args)
			return
		}
		var text bytes.Buffer
		c.SetOut(&text)
		help(c, args)
		io.WriteString(full, wrapHelp(text.String(), width))
	})
}

// flagLine matches the part of a help line before the description of a flag.
var flagLine = regexp.MustCompile(`^ +(-\w, +)?--\S+( \S+)*  +`)

// wrapHelp wraps the lines of a help text at width characters. It fills paragraphs that are not
// indented. It indents continued lines of a flag to the flag's description, and those of other
// lines to their own indent. It never breaks words.
func wrapHelp(text string, width int) string {
	var b strings.Builder
	var prose []string
	fill := func() {
		if len(prose) > 0 {
			wrapLine(&b, strings.Join(prose, " "), 0, width)
		}
		prose = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if line != "" && indent == 0 {
			prose = append(prose, line)
			continue
		}
		fill()
		if flag := flagLine.FindString(line); flag != "" && 3*utf8.RuneCountInString(flag) < 2*width {
			indent = utf8.RuneCountInString(flag)
		}
		wrapLine(&b, line, indent, width)
	}
	fill()
	return b.String()
}

// wrapLine appends a line to b, wrapped at width characters, with indent spaces before continued
// lines.
func wrapLine(b *strings.Builder, line string, indent, width int) {
	for utf8.RuneCountInString(line) > width {
		runes := []rune(line)
		end := width
		for end > indent && runes[end] != ' ' {
			end--
		}
		if end <= indent { // a word that is wider than the terminal
			break
		}
		b.WriteString(strings.TrimRight(string(runes[:end]), " ") + "\n")
		line = strings.Repeat(" ", indent) + strings.TrimLeft(string(runes[end:]), " ")
	}
	b.WriteString(line + "\n")
}

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
		var text bytes.Buffer
		c.SetOut(&text)
		help(c, args)
		said := omitRepeatedValues(text.String())
		if width := terminal.Width(full.w); width > 0 {
			said = wrapHelp(said, width)
		}
		io.WriteString(full, said)
	})
}

// omitRepeatedValues omits the form of a flag's value from the flag's description where that has it after a
// comma, as in "--bind NAME=VALUE  set a parameter, NAME=VALUE": the line begins with it.
func omitRepeatedValues(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		head := flagLine.FindString(line)
		if _, value, ok := strings.Cut(strings.TrimSpace(head), " "); ok {
			lines[i] = head + strings.Replace(line[len(head):], ", "+value, "", 1)
		}
	}
	return strings.Join(lines, "")
}

// flagLine matches the part of a help line before the description of a flag.
var flagLine = regexp.MustCompile(`^ +(-\w, +)?--\S+( \S+)*  +`)

// gap matches the spaces between a term and its description, as in "  roofline   a picture".
var gap = regexp.MustCompile(`\S {2,}`)

// wrapHelp wraps the lines of a help text at width characters. It fills paragraphs that are not
// indented, and the descriptions of flags and terms. It indents continued lines of a description to
// its first line, and those of other lines to their own indent. It breaks commands among the
// examples outside quotes, after a backslash. It never breaks words.
func wrapHelp(text string, width int) string {
	var b strings.Builder
	var prose []string
	fill := func() {
		if len(prose) > 0 {
			wrapLine(&b, strings.Join(prose, " "), 0, width)
		}
		prose = nil
	}
	examples := false
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if line != "" && countIndent(line) == 0 {
			prose = append(prose, line)
			// Only commands follow this heading; they are not prose, so they keep their lines.
			examples = line == "Examples:"
			continue
		}
		fill()
		if examples {
			wrapCommand(&b, line, width)
			continue
		}
		hang := findDescription(lines[i:])
		for hang > countIndent(line) && i+1 < len(lines) && countIndent(lines[i+1]) == hang {
			i++
			line += " " + strings.TrimLeft(lines[i], " ")
		}
		// On a narrow terminal, descriptions that start this far right would have a word or two a line.
		if 3*hang >= 2*width {
			hang = countIndent(line)
		}
		wrapLine(&b, line, hang, width)
	}
	fill()
	return b.String()
}

// countIndent returns the number of spaces before the first word of line.
func countIndent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// findDescription returns the column in which the description of the flag or the term in the first
// line begins. If that has none, findDescription returns the line's indent.
func findDescription(lines []string) int {
	line := lines[0]
	if flag := flagLine.FindString(line); flag != "" {
		return utf8.RuneCountInString(flag)
	}
	indent := countIndent(line)
	if len(lines) > 1 { // a description may follow its term after a single space
		if c := countIndent(lines[1]); c > indent+2 && c < len(line) && line[c-1] == ' ' && line[c] != ' ' {
			return c
		}
	}
	if g := gap.FindStringIndex(line); g != nil {
		return utf8.RuneCountInString(line[:g[1]])
	}
	return indent
}

// wrapCommand appends a line with a command to b. It breaks the line before a word outside quotes,
// so that a shell still reads one command.
func wrapCommand(b *strings.Builder, line string, width int) {
	indent := strings.Repeat(" ", countIndent(line)+4)
	for utf8.RuneCountInString(line) > width {
		end, quoted := 0, false
		for k, r := range line[:width-1] {
			if r == '"' || r == '\'' {
				quoted = !quoted
			}
			if r == ' ' && !quoted && k > len(indent) {
				end = k
			}
		}
		if end == 0 {
			break
		}
		b.WriteString(line[:end] + " \\\n")
		line = indent + line[end+1:]
	}
	b.WriteString(line + "\n")
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

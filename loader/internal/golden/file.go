package golden

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the current outputs to the golden files")

// A Case is an input from a golden file, with the expected output.
type Case struct {
	File  string
	Line  int      // of the input's first line, from 1
	About []string // comment lines and empty lines before the case
	Input []string
	Want  []string // lines of the expected output
}

// dashes is the line between a case's input and output.
const dashes = "----"

// String identifies the case by its file, its line and its first input line. If that input line is
// a single word or contains " = ", String returns the comment before the case instead of it, if
// there is one.
func (c *Case) String() string {
	name := c.Input[0]
	if n := len(c.About); n > 0 && (strings.Contains(name, " = ") || !strings.Contains(name, " ")) {
		if about, ok := strings.CutPrefix(c.About[n-1], "# "); ok {
			name = strings.TrimSuffix(about, ".")
		}
	}
	return fmt.Sprintf("%s:%d: %s", filepath.ToSlash(c.File), c.Line, name)
}

// Test calls output for every case in the files that match pattern and compares the result with the
// expected output. It reports each difference as an error of t or, with the flag -rewrite, writes
// the results to the files instead. It fails if no file matches.
func Test(t *testing.T, pattern string, output func(t *testing.T, c *Case) string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no file %s: %v", pattern, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		t.Run(name, func(t *testing.T) {
			cases := Read(t, file)
			for i := range cases {
				c := &cases[i]
				got := nonemptyLines(output(t, c))
				if *rewrite {
					c.Want = got
					continue
				}
				for _, change := range Changes(c.Want, got) {
					t.Errorf("%v: %s", c, change)
				}
			}
			if *rewrite {
				if err := os.WriteFile(file, formatCases(cases), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// Read returns the cases of a golden file. It stops the test if the file cannot be read or is
// malformed.
func Read(t *testing.T, file string) []Case {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	cases, err := parseCases(file, string(text))
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// parseCases splits a file's text into cases. file is its name, for errors and Case.File.
func parseCases(file, text string) (cases []Case, err error) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for at := 0; at < len(lines); {
		c := Case{File: file}
		for ; at < len(lines) && (lines[at] == "" || strings.HasPrefix(lines[at], "#")); at++ {
			c.About = append(c.About, lines[at])
		}
		c.Line = at + 1
		for ; at < len(lines) && lines[at] != dashes; at++ {
			c.Input = append(c.Input, lines[at])
		}
		if at == len(lines) || len(c.Input) == 0 {
			return nil, fmt.Errorf("%s:%d: incomplete case; want an input, a %s line and an output", file, c.Line, dashes)
		}
		for at++; at < len(lines) && lines[at] != ""; at++ {
			c.Want = append(c.Want, lines[at])
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// formatCases returns the text of a file of cases.
func formatCases(cases []Case) []byte {
	var b strings.Builder
	for i := range cases {
		c := &cases[i]
		for _, part := range [...][]string{c.About, c.Input, {dashes}, c.Want} {
			for _, line := range part {
				b.WriteString(line)
				b.WriteByte('\n')
			}
		}
	}
	return []byte(b.String())
}

// nonemptyLines returns the lines of text that are not empty.
func nonemptyLines(text string) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimRight(line, " "); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

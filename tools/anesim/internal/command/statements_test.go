package command

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A statement is a line of tools/anesim/internal/paper/statements.txt: a claim of the documents, and the evidence here.
type statement struct {
	line                        int
	chapter, text, state, where string
	command, test               string // one of them, unless state is out
	exit                        int    // status of command
	reason                      string
}

// chapters are the titles of the documents' chapters, in the order of the page.
var chapters = [...]struct{ number, title string }{
	{"23", "Chapter 23: programs and containers"},
	{"27", "Chapter 27: the driver"},
	{"2", "Chapter 2: execution"},
	{"5", "Chapter 5: the software above"},
	{"C", "Appendix C: tables"},
}

// readStatements reads the table of statements.
func readStatements(t *testing.T, text string) []statement {
	t.Helper()
	var list []statement
	for i, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(line, " | ")
		if len(cells) != 5 || slices.Contains(cells, "") {
			t.Fatalf("statements.txt:%d: %d cells; want 5, none empty", i+1, len(cells))
		}
		s := statement{line: i + 1, chapter: cells[0], text: cells[1], state: cells[2], where: cells[3]}
		if s.state == "out" {
			s.reason = cells[4]
		} else {
			shown, reason, _ := strings.Cut(cells[4], " ; ")
			s.reason = reason
			switch {
			case strings.HasPrefix(shown, "anesim "):
				s.command = shown
				if _, status, ok := strings.Cut(shown, " # exit "); ok {
					if _, err := fmt.Sscan(status, &s.exit); err != nil {
						t.Fatalf("statements.txt:%d: %v", i+1, err)
					}
				}
			case strings.HasPrefix(shown, "go test "):
				s.test = shown
			default:
				t.Fatalf("statements.txt:%d: %q is neither a command nor a test", i+1, shown)
			}
		}
		known := slices.ContainsFunc(chapters[:], func(c struct{ number, title string }) bool { return c.number == s.chapter })
		if !known || !slices.Contains([]string{"yes", "partly", "differs", "out"}, s.state) {
			t.Fatalf("statements.txt:%d: chapter %q, state %q", i+1, s.chapter, s.state)
		}
		if (s.state == "partly" || s.state == "differs") && s.reason == "" {
			t.Errorf("statements.txt:%d: %s without a reason", i+1, s.state)
		}
		list = append(list, s)
	}
	return list
}

// statementsPage returns docs/statements.md.
func statementsPage(list []statement) string {
	var b strings.Builder
	count := map[string]int{}
	for _, s := range list {
		count[s.state]++
	}
	fmt.Fprintf(&b, `# What the documents state

A row for each statement of [the documents](sources.md#the-documents), in our words, with the place
of its code and the command or test that shows it: %d are as stated, %d are partly so, %d differ
because real programs or other documents do, and %d are out, as nothing here would follow from them.
[firmware.md](firmware.md#where-the-documents-disagree) and `+"`anesim paper`"+` list contradictions.

Commands use c.hwx, which the first one writes. The page is made of `+"`tools/anesim/internal/paper/statements.txt`"+`; a
test runs the commands and finds the tests.

`+"```sh\nanesim "+strings.Join(statementsLayer, " ")+"\n```\n", count["yes"], count["partly"], count["differs"], count["out"])
	for _, c := range chapters {
		fmt.Fprintf(&b, "\n## %s\n\n| statement | state | where | shown by, or why not |\n|---|---|---|---|\n", c.title)
		for _, s := range list {
			if s.chapter != c.number {
				continue
			}
			var where []string
			for name := range strings.SplitSeq(s.where, ", ") {
				where = append(where, "`"+name+"`")
			}
			shown := s.reason
			if s.state != "out" {
				shown = "`" + s.command + s.test + "`"
				if pkg, name, ok := strings.Cut(strings.TrimPrefix(s.test, "go test "), " "); ok {
					shown = "`go test " + pkg + " -run " + name + "`"
				}
				if s.reason != "" {
					shown += "; " + s.reason
				}
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", s.text, s.state, strings.Join(where, ", "), shown)
		}
	}
	return b.String()
}

// statementsLayer is the command that writes the program of the page's commands.
var statementsLayer = []string{"layer", "conv", "cin=8", "h=16", "w=32", "cout=8", "k=3", "pad=1", "--timing-only", "--emit", "c.hwx"}

// TestStatements runs every command of the table of statements, finds its tests and its places, and
// holds docs/statements.md to it.
func TestStatements(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", "..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "tools", "anesim", "internal", "paper", "statements.txt"))
	if err != nil {
		t.Fatal(err)
	}
	list := readStatements(t, string(text))
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(root, "tools"), filepath.Join(dir, "tools")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if _, stderr, code := invoke(statementsLayer...); code != exitDone {
		t.Fatal(stderr)
	}
	ran := map[string]bool{} // several statements have the same command
	for _, s := range list {
		for name := range strings.SplitSeq(s.where, ", ") {
			if name == "anesim" {
				continue // the package at the root
			}
			if _, err := os.Stat(filepath.Join(root, name)); err != nil {
				t.Errorf("statements.txt:%d: there is no %s", s.line, name)
			}
		}
		switch {
		case s.test != "":
			pkg, name, _ := strings.Cut(strings.TrimPrefix(s.test, "go test "), " ")
			if !hasTest(t, filepath.Join(root, pkg), name) {
				t.Errorf("statements.txt:%d: %s has no test %s", s.line, pkg, name)
			}
		case s.command != "" && !ran[s.command]:
			ran[s.command] = true
			words, err := split(s.command)
			if err != nil {
				t.Fatalf("statements.txt:%d: %v", s.line, err)
			}
			var out, errs bytes.Buffer
			if code := Main(words[1:], &out, &errs); code != s.exit {
				t.Errorf("statements.txt:%d: %s: exit %d, want %d: %s", s.line, s.command, code, s.exit, errs.String())
			}
			if s.exit == 0 && out.Len() == 0 {
				t.Errorf("statements.txt:%d: %s prints nothing", s.line, s.command)
			}
		}
	}
	file, want := filepath.Join(root, "docs", "statements.md"), statementsPage(list)
	if *updateGolden {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("docs/statements.md is not made of the table (-update writes it): %v, %s", err, firstDifference(string(got), want))
	}
}

// hasTest reports whether a test file in dir declares the function name.
func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	declaration := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(name) + `\(t \*testing\.T\)`)
	return slices.ContainsFunc(files, func(file string) bool {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return declaration.Match(b)
	})
}

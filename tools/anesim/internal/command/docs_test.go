package command

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The pages whose commands are run. In them a block fenced as
//
//	sh        is commands that must succeed, anesim's and the few that shell below knows
//	console   is a transcript: "$ " and a command, then what it prints, compared; -update
//	          writes it
//	yaml NAME, json NAME, text NAME is a file that the commands behind it read
var guides = [...]string{"tutorial.md", "ci.md", "how-it-works.md", "extending.md", "glossary.md", "pictures.md", "csv.md", "sharing.md", "explore.md", "cluster.md", "lint.md", "precision.md", "probe.md", "firmware.md"}

// The page on CSV has every column that is written, in order, and no other.
func TestCSVPage(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "csv.md"))
	if err != nil {
		t.Fatal(err)
	}
	for section, line := range map[string][]string{
		"`run`, `layer`": {"layer", "add", "c=4", "--timing-only", "--csv"},
		"`model`":        {"model", exampleNetwork("transformer.yaml"), "--csv"},
		"`sweep`":        {"sweep", "conv", "cin=16,32", "cout=16", "h=8", "w=8", "k=3"},
	} {
		_, text, _ := strings.Cut(string(b), "\n## "+section+"\n")
		text, _, _ = strings.Cut(text, "\n## ")
		var want []string
		for line := range strings.Lines(text) {
			if cells := strings.Split(line, "|"); len(cells) > 3 {
				for _, m := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(cells[1], -1) {
					want = append(want, m[1])
				}
			}
		}
		out, stderr, code := invoke(line...)
		if code != exitDone {
			t.Fatalf("%q: %s", line, stderr)
		}
		head, _, _ := strings.Cut(out, "\n")
		if head != strings.Join(want, ",") {
			t.Errorf("docs/csv.md has for %s\n%s\nwhich prints\n%s", section, strings.Join(want, ","), head)
		}
	}
}

// A shell runs the commands of a page in a directory.
type shell struct{ dir string }

func TestDocs(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", "..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range guides {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(root, "docs", name)
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := os.Symlink(filepath.Join(root, "tools"), filepath.Join(dir, "tools")); err != nil {
				t.Fatal(err)
			}
			t.Chdir(dir)
			s := &shell{dir}
			got, ran := s.page(t, string(b))
			if ran == 0 && name != "extending.md" {
				t.Error("no command of the page has run")
			}
			switch {
			case got == string(b):
			case *updateGolden:
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			default:
				t.Errorf("docs/%s is not what its commands print (-update writes it): %s", name, firstDifference(string(b), got))
			}
		})
	}
}

var (
	fenced = regexp.MustCompile("(?ms)^```.*?^```")
	quoted = regexp.MustCompile(`(?m)^\|.*\((?:table|chapter) .*$`) // what documents say, held by TestConflictsAreOnThePage
	figure = regexp.MustCompile(`([0-9][0-9,]*(?:\.[0-9]+)?)[ \n]?(?:us|ms|ns|uJ|mJ|nJ|cycles|%|kB|MB|GB/s|TFLOP/s|frames)`)
)

// A figure with three digits or more, with a unit, in the prose of a page is one that the page's transcripts
// print: those are compared with the commands, and prose once kept the figures of an older model.
func TestFiguresInProse(t *testing.T) {
	found := 0
	for _, name := range guides {
		b, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		printed := map[string]bool{}
		for _, block := range fenced.FindAllString(string(b), -1) {
			for _, number := range regexp.MustCompile(`[0-9][0-9,.]*`).FindAllString(block, -1) {
				printed[strings.TrimRight(number, ",.")] = true
			}
		}
		for _, m := range figure.FindAllStringSubmatch(quoted.ReplaceAllString(fenced.ReplaceAllString(string(b), ""), ""), -1) {
			digits := strings.Trim(strings.NewReplacer(",", "", ".", "").Replace(m[1]), "0")
			if len(digits) < 3 {
				continue
			}
			if found++; !printed[m[1]] {
				t.Errorf("docs/%s says %q, which none of its transcripts prints", name, m[0])
			}
		}
	}
	if found == 0 {
		t.Error("no page has a figure of three digits")
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("line %d\nhas    %s\nprints %s", i+1, w[i], g[i])
		}
	}
	return "the one ends where the other goes on"
}

// page runs the commands in the code blocks of a page. It returns the page with the actual output
// in its transcripts, and the number of commands.
func (s *shell) page(t *testing.T, text string) (string, int) {
	var out strings.Builder
	var info, block string
	inside, ran := false, 0
	for line := range strings.Lines(text) {
		fence, is := strings.CutPrefix(strings.TrimRight(line, "\n"), "```")
		switch {
		case !is && inside:
			block += line
		case !is:
			out.WriteString(line)
		case !inside:
			inside, info, block = true, fence, ""
			out.WriteString(line)
		default:
			inside = false
			kind, name, _ := strings.Cut(info, " ")
			switch {
			case kind == "sh":
				for c := range strings.Lines(block) {
					if printed, code := s.line(t, c); code != 0 {
						t.Errorf("%sexit %d: %s", c, code, printed)
					}
					ran++
				}
			case kind == "console":
				var n int
				block, n = s.transcript(t, block)
				ran += n
			case name != "":
				if err := os.WriteFile(filepath.Join(s.dir, filepath.FromSlash(name)), []byte(block), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			out.WriteString(block + line)
		}
	}
	return out.String(), ran
}

// transcript runs the commands in a block. It returns the block with the actual output, and the
// number of commands.
func (s *shell) transcript(t *testing.T, block string) (string, int) {
	var out strings.Builder
	n := 0
	for line := range strings.Lines(block) {
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			continue
		}
		printed, _ := s.line(t, command)
		if n > 0 {
			out.WriteString("\n")
		}
		out.WriteString(line)
		for l := range strings.Lines(strings.Trim(printed, "\n") + "\n") {
			if l = strings.TrimRight(l, " \n"); l != "" || printed != "" {
				out.WriteString(l + "\n")
			}
		}
		n++
	}
	return out.String(), n
}

// line runs a line of shell commands, which are joined by |, with an optional > FILE at the end.
func (s *shell) line(t *testing.T, line string) (printed string, code int) {
	words, err := split(line)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	if len(words) == 0 {
		return "", 0
	}
	file := ""
	if n := len(words); n > 2 && words[n-2] == ">" {
		file, words = words[n-1], words[:n-2]
	}
	var errs bytes.Buffer
	for len(words) > 0 {
		end := len(words)
		for i, w := range words {
			if w == "|" {
				end = i
				break
			}
		}
		var failed int
		printed, failed = s.command(t, words[:end], printed, &errs)
		code = max(code, failed) // a failure anywhere is one of the line, as with pipefail
		words = words[min(end+1, len(words)):]
	}
	if file != "" {
		if err := os.WriteFile(filepath.Join(s.dir, file), []byte(printed), 0o644); err != nil {
			t.Fatal(err)
		}
		printed = ""
	}
	return printed + errs.String(), code
}

// command runs a single command: anesim, or one of the few shell commands that the pages use.
func (s *shell) command(t *testing.T, words []string, in string, errs *bytes.Buffer) (string, int) {
	switch words[0] {
	case "anesim":
		var out bytes.Buffer
		code := Main(words[1:], &out, errs)
		return out.String(), code
	case "go":
		c := exec.Command("go", words[1:]...)
		c.Dir, c.Stderr = s.dir, errs
		out, err := c.Output()
		if err != nil {
			return string(out), 1
		}
		errs.Reset() // what it says of its progress
		return string(out), 0
	case "mv":
		if err := os.Rename(words[1], words[2]); err != nil {
			t.Fatal(err)
		}
		return "", 0
	case "cat":
		b, err := os.ReadFile(filepath.Join(s.dir, words[1]))
		if err != nil {
			t.Fatal(err)
		}
		return string(b), 0
	case "grep":
		var b strings.Builder
		for l := range strings.Lines(in) {
			if slices.ContainsFunc(words[1:], func(pattern string) bool {
				start, atStart := strings.CutPrefix(pattern, "^")
				return pattern != "-e" && (atStart && strings.HasPrefix(l, start) || strings.Contains(l, pattern))
			}) {
				b.WriteString(l)
			}
		}
		return b.String(), 0
	case "cut":
		list, ok := strings.CutPrefix(words[2], "-f")
		if words[1] != "-d," || !ok {
			t.Fatalf("%q: want cut -d, -fLIST", words)
		}
		var b strings.Builder
		for l := range strings.Lines(in) {
			var kept []string
			for i, cell := range strings.Split(strings.TrimSuffix(l, "\n"), ",") {
				if slices.Contains(strings.Split(list, ","), fmt.Sprint(i+1)) {
					kept = append(kept, cell)
				}
			}
			b.WriteString(strings.Join(kept, ",") + "\n")
		}
		return b.String(), 0
	case "head":
		n := 0
		if _, err := fmt.Sscanf(words[1], "-%d", &n); err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(in, "\n")
		return strings.Join(lines[:min(n, len(lines))], ""), 0
	}
	t.Fatalf("%v: a page's test knows no such command", words)
	return "", 0
}

// split returns the words of a line. Quotes join words, and # begins a comment.
func split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	begun, quote := false, rune(0)
	end := func() {
		if begun {
			words = append(words, word.String())
		}
		word.Reset()
		begun = false
	}
	for _, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, begun = c, true
		case quote == 0 && (c == ' ' || c == '\n'):
			end()
		case quote == 0 && c == '#' && !begun:
			return words, nil
		default:
			begun = true
			word.WriteRune(c)
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote is open")
	}
	end()
	return words, nil
}

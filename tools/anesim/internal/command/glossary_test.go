package command

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"anesim/internal/report"
)

// The glossary has the heading of every column and the name of every cause that a new user
// meets first, in alphabetical order.
func TestGlossary(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "glossary.md"))
	if err != nil {
		t.Fatal(err)
	}
	terms := map[string]bool{}
	last := ""
	_, list, _ := strings.Cut(string(b), "| term | meaning |\n|---|---|\n")
	for line := range strings.Lines(list) {
		cells := strings.Split(line, " | ")
		entry := strings.TrimPrefix(cells[0], "| ")
		if name := strings.ToLower(entry); name < last {
			t.Errorf("%q comes after %q", entry, last)
		} else {
			last = name
		}
		for name := range strings.SplitSeq(entry, ", ") {
			if terms[name] {
				t.Errorf("%q has two entries", name)
			}
			terms[name] = true
		}
	}
	heading := regexp.MustCompile(`\S+( \S+)*`)
	found := 0
	for _, args := range [][]string{
		{"run"}, {"layer", "conv", "cin=64", "h=56", "w=56", "cout=64", "k=3", "pad=1", "--timing-only"},
		{"model", exampleNetwork("transformer.yaml")}, {"explain", exampleNetwork("transformer.yaml")},
		{"explain", "--layer", "softmax c=64 h=8 w=8"},
	} {
		out, errs, code := invoke(args...)
		if code != exitDone {
			t.Fatalf("%q: %s", args, errs)
		}
		for line := range strings.Lines(out) {
			words := strings.Fields(line)
			if strings.Contains(line, "%") || len(words) < 4 || words[0] != "#" && words[0] != "layer" && words[0] != "operation" {
				continue
			}
			for _, title := range heading.FindAllString(line, -1) {
				found++
				if !terms[title] {
					t.Errorf("%s: the glossary lacks the heading %q", args[0], title)
				}
			}
		}
	}
	if found < 30 {
		t.Errorf("%d headings", found)
	}
	for cause := range new(report.Cycles).All() {
		if name := report.CauseText(cause); !terms[name] {
			t.Errorf("the glossary lacks the cause %q", name)
		}
	}
}

// The first part of the tutorial rests on layers whose lowering is certain.
func TestTutorialIsCertain(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "tutorial.md"))
	if err != nil {
		t.Fatal(err)
	}
	files := regexp.MustCompile("(?s)```yaml (\\S+)\n(.*?)```").FindAllStringSubmatch(string(b), -1)
	if len(files) != 2 {
		t.Fatalf("%d networks in the tutorial", len(files))
	}
	for _, f := range files {
		out, errs, code := invoke("model", writeFile(t, f[1], []byte(f[2])), "--in-memory")
		if code != exitDone || strings.Contains(out, "inferred") || strings.Contains(out, "assumed") {
			t.Errorf("%s: exit %d: %s%s", f[1], code, out, errs)
		}
	}
}

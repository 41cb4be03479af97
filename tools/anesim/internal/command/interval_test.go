package command

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"anesim/hw"
)

// intervalWords and intervalPercent are how texts write an interval's share.
var (
	intervalWords   = regexp.MustCompile(`((?:two|three|four|nine) of (?:three|four|five|ten))\s+(?:measurements|rows)`)
	intervalPercent = regexp.MustCompile(`(\d+%) (?:prediction\s+)?intervals?|[Ii]ntervals? of\s+(\d+%)`)
)

// Pages and help write the interval's share as hw has it.
func TestPagesStateTheIntervalShare(t *testing.T) {
	if want := strconv.Itoa(int(100*hw.IntervalShare)) + "%"; hw.IntervalPercent != want {
		t.Errorf("hw.IntervalPercent is %q, the share is %q", hw.IntervalPercent, want)
	}
	if parts := strings.Split(hw.IntervalWords, " of "); len(parts) != 2 {
		t.Errorf("hw.IntervalWords is %q", hw.IntervalWords)
	} else if number := map[string]float64{"two": 2, "three": 3, "four": 4, "five": 5, "nine": 9, "ten": 10}; number[parts[0]]/number[parts[1]] != hw.IntervalShare {
		t.Errorf("hw.IntervalWords is %q, the share is %v", hw.IntervalWords, hw.IntervalShare)
	}
	texts := map[string]string{}
	root := filepath.Join("..", "..", "..", "..")
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(pages, filepath.Join(root, "README.md")) {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(name)] = string(b)
	}
	for _, name := range []string{"sweep", "accuracy"} {
		texts["help "+name], _, _ = invoke("help", name)
	}
	for _, name := range []string{"README.md", "accuracy.md", "csv.md", "json.md", "how-it-works.md", "glossary.md", "help sweep", "help accuracy"} {
		if text := texts[name]; !intervalWords.MatchString(text) && !intervalPercent.MatchString(text) {
			t.Errorf("%s does not state the interval's share", name)
		}
	}
	for name, text := range texts {
		for _, m := range intervalWords.FindAllStringSubmatch(text, -1) {
			if m[1] != hw.IntervalWords {
				t.Errorf("%s: %q, want %q", name, m[0], hw.IntervalWords)
			}
		}
		for _, m := range intervalPercent.FindAllStringSubmatch(text, -1) {
			if got := m[1] + m[2]; got != hw.IntervalPercent && got != "95%" { // percentiles of loads have 95%
				t.Errorf("%s: %q, want %q", name, m[0], hw.IntervalPercent)
			}
		}
	}
}

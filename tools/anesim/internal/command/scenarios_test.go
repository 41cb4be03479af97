package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestScenarios plays the scripts in examples/documents and holds docs/scenarios.md to them. A script
// begins with its title, the statement of a chapter and the course of events here, in comments;
// its expectations check that.
func TestScenarios(t *testing.T) {
	scripts, err := filepath.Glob(exampleLoad("documents/*.fw"))
	if err != nil || len(scripts) < 10 {
		t.Fatalf("%d scripts, %v; want at least 10", len(scripts), err)
	}
	var page strings.Builder
	fmt.Fprintf(&page, `# Scenarios of the documents

Each script plays what [the documents](sources.md#the-documents) state about the driver or the
execution of programs, with the statement in our words and what happens here. Its expectations check
that: a script that does not go as it says ends with status 1. A test makes this page of the scripts
and plays them. [firmware.md](firmware.md) explains the steps.

`+"```sh\nanesim fw tools/anesim/examples/documents/state.fw\n```\n")
	for _, file := range scripts {
		name := filepath.Base(file)
		out, errs, code := invoke("fw", file)
		if code != exitDone {
			t.Errorf("%s: exit %d: %s%s", name, code, errs, out)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var comments []string
		steps := string(b)
		for strings.HasPrefix(steps, "# ") {
			line, rest, _ := strings.Cut(steps, "\n")
			comments, steps = append(comments, strings.TrimPrefix(line, "# ")), rest
		}
		stated, here, ok := strings.Cut(strings.Join(comments[min(1, len(comments)):], "\n"), "\nHere: ")
		if !ok || !strings.HasPrefix(stated, "Chapter") || strings.Count(steps, "\nexpect ") < 3 {
			t.Errorf("%s: want a title, a statement of a chapter, what happens here, and three expectations", name)
			continue
		}
		fmt.Fprintf(&page, "\n## %s\n\n%s\n\nHere: %s\n\n```\n# %s\n%s```\n", comments[0], stated, here, name, steps)
		// The outcome is the opposite of each expectation in turn: a script that says so fails.
		for i := range strings.Count(steps, "\nexpect ") {
			at := 0
			for range i + 1 {
				at += strings.Index(steps[at:], "\nexpect ") + 1
			}
			line, rest, _ := strings.Cut(steps[at:], "\n")
			words := strings.Fields(line)
			words[len(words)-1] = "987"
			broken := writeFile(t, name, []byte(steps[:at]+strings.Join(words, " ")+"\n"+rest))
			if _, _, code := invoke("fw", broken); code == exitDone {
				t.Errorf("%s: %q holds as well as %q", name, strings.Join(words, " "), line)
			}
		}
	}
	file := filepath.Join("..", "..", "..", "..", "docs", "scenarios.md")
	if *updateGolden {
		if err := os.WriteFile(file, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != page.String() {
		t.Errorf("docs/scenarios.md is not made of the scripts (-update writes it): %v, %s", err, firstDifference(string(got), page.String()))
	}
}

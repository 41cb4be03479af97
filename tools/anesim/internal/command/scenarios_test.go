package command

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anesim/internal/report"
)

// loadClaims hold what the scripts for anesim load say of their outcome. The clients are in the order of
// the script.
var loadClaims = map[string]func(*report.Load) bool{
	"two-threads.yaml": func(d *report.Load) bool {
		c := &d.Clients[0]
		gain := c.CallsPerS * float64(c.Alone.LatencyNs) / 1e9
		return gain > 1.03 && gain < 1.045
	},
	"overlapped-streams.yaml": func(d *report.Load) bool {
		return d.Clients[0].Stuck == 1 && d.Clients[1].Stuck == 0 && d.Clients[1].Calls == 100
	},
	"urgent-client.yaml": func(d *report.Load) bool {
		return d.Utilisation > 0.99 && d.Clients[1].LongestNs < d.Clients[0].Alone.EngineNs/2 && d.Clients[1].LongestNs > 0
	},
}

// TestScenarios plays the scripts in examples/documents and holds docs/scenarios.md to them. A script
// begins with its title, the statement of a chapter and the course of events here, in comments. The
// expectations of a script for anesim fw check that, and the claims above those for anesim load.
func TestScenarios(t *testing.T) {
	scripts, err := filepath.Glob(exampleLoad("documents/*.fw"))
	if err != nil || len(scripts) < 10 {
		t.Fatalf("%d scripts, %v; want at least 10", len(scripts), err)
	}
	var page strings.Builder
	fmt.Fprintf(&page, `# Scenarios of the documents

Each script plays what [the documents](sources.md#the-documents) state about the driver or the
execution of programs, with the statement in our words and what happens here. The expectations of a
script check that: if it does not go as it says, it ends with status 1. The last three are for
`+"`anesim load`"+`, whose report a test compares with what they say. The test makes this page of the
scripts and plays them. [firmware.md](firmware.md) explains the steps.

`+"```sh\nanesim fw tools/anesim/examples/documents/state.fw\nanesim load tools/anesim/examples/documents/two-threads.yaml\n```\n")
	loads, err := filepath.Glob(exampleLoad("documents/*.yaml"))
	if err != nil || len(loads) != len(loadClaims) {
		t.Fatalf("%d scripts for load, %v; want %d", len(loads), err, len(loadClaims))
	}
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
		sc, ok := readScenario(string(b))
		steps := sc.script
		if !ok || strings.Count(steps, "\nexpect ") < 3 {
			t.Errorf("%s: want a title, a statement of a chapter, what happens here, and three expectations", name)
			continue
		}
		sc.print(&page, name)
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
	for _, file := range loads {
		name := filepath.Base(file)
		out, errs, code := invoke("load", file)
		data, _, _ := invoke("load", file, "--json")
		var d report.Load
		if err := json.Unmarshal([]byte(data), &d); code != exitDone || err != nil {
			t.Fatalf("%s: exit %d: %s%v", name, code, errs, err)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sc, ok := readScenario(string(b))
		if !ok || loadClaims[name] == nil || !loadClaims[name](&d) {
			t.Errorf("%s: no title, statement and claim, or it does not go as it says:\n%s", name, out)
			continue
		}
		sc.print(&page, name)
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

// A scenario is a script of examples/documents.
type scenario struct{ title, stated, here, script string }

// readScenario separates the comments at the start of a script from the script. It returns false if
// they are not those of a scenario.
func readScenario(text string) (s scenario, ok bool) {
	var comments []string
	for strings.HasPrefix(text, "# ") {
		line, rest, _ := strings.Cut(text, "\n")
		comments, text = append(comments, strings.TrimPrefix(line, "# ")), rest
	}
	s.title, s.script = strings.Join(comments[:min(1, len(comments))], ""), text
	s.stated, s.here, ok = strings.Cut(strings.Join(comments[min(1, len(comments)):], "\n"), "\nHere: ")
	return s, ok && strings.HasPrefix(s.stated, "Chapter")
}

// print writes the scenario with the given file name as a section of the page.
func (s *scenario) print(w io.Writer, name string) {
	fmt.Fprintf(w, "\n## %s\n\n%s\n\nHere: %s\n\n```\n# %s\n%s```\n", s.title, s.stated, s.here, name, s.script)
}

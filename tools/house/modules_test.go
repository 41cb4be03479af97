package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// RATIONALE.md says of every module that the project requires what it is for, and of no
// other.
func TestModulesHaveReasons(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "RATIONALE.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "## Dependencies")
	if !ok {
		t.Fatal("RATIONALE.md has no section on dependencies")
	}
	required := map[string]bool{}
	for line := range strings.Lines(string(mod)) {
		if f := strings.Fields(line); len(f) == 2 && strings.Contains(f[0], "/") && strings.HasPrefix(f[1], "v") {
			required[f[0]] = true
		}
	}
	if len(required) == 0 {
		t.Fatal("go.mod requires nothing")
	}
	for m := range required {
		if !strings.Contains(table, "| "+m+" |") {
			t.Errorf("RATIONALE.md does not say what %s is for", m)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^\| ([a-z.]+/\S+) \|`).FindAllStringSubmatch(table, -1) {
		if !required[m[1]] {
			t.Errorf("RATIONALE.md explains %s, which go.mod does not require", m[1])
		}
	}
}

// Every link from one of the project's pages to another leads somewhere.
func TestLinksLeadSomewhere(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	docs, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	links := regexp.MustCompile(`\]\(([^)#]+)(?:#[^)]*)?\)`)
	n := 0
	for _, page := range append(pages, docs...) {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range links.FindAllStringSubmatch(string(b), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			n++
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s: no %s", filepath.Base(page), m[1])
			}
		}
	}
	if n == 0 {
		t.Error("no page links to another")
	}
}

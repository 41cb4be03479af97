package house

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	codeSpan = regexp.MustCompile("`([^`\n]+)`")
	// testName matches the name of a test, fuzz target or benchmark, also where a page cuts it short with a star.
	testName = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w*`)
	// filePath matches a path below one of the module's top directories.
	filePath = regexp.MustCompile(`^(?:bench|docs|firmware|hw|loader|tools|vectors|anesimtest|testdata|\.ci)(?:/[\w.-]+)+/?$`)
	funcName = regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?(\w+)`)
)

// Pages name only tests and files that exist. A page once sent its readers to a test that had been
// renamed.
func TestPagesNameWhatExists(t *testing.T) {
	tests := map[string]bool{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		b, err := os.ReadFile(name)
		for _, m := range funcName.FindAllStringSubmatch(string(b), -1) {
			tests[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "RATIONALE.md"} {
		pages = append(pages, filepath.Join(root, name))
	}
	checked := 0
	for _, page := range pages {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range codeSpan.FindAllStringSubmatch(string(b), -1) {
			span := m[1]
			for _, name := range testName.FindAllString(span, -1) {
				if checked++; !tests[name] && !beginsAName(tests, name) {
					t.Errorf("%s: %q names no test", filepath.Base(page), name)
				}
			}
			if path, _, _ := strings.Cut(span, ":"); filePath.MatchString(path) {
				checked++
				if strings.Contains(string(b), "\n+++ b/"+path+"\n") {
					continue // the page has a change that adds it
				}
				if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(path))); err != nil {
					t.Errorf("%s: no file or directory %q", filepath.Base(page), path)
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("%d names and paths were checked; the pages have more", checked)
	}
}

// beginsAName reports whether one of the names begins with prefix, as in the argument of -run.
func beginsAName(names map[string]bool, prefix string) bool {
	for name := range names {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

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

var (
	word = regexp.MustCompile(`\w+`)
	// identifier matches a code span that can only be a name of the code, of a register or of JSON: in mixed
	// case, with an underscore, or behind the name of a package.
	identifier = regexp.MustCompile(`^(?:[a-z]\w*\.)?(?:[A-Z]+[a-z]\w*|[a-z]\w*[A-Z]\w*|[a-z]+(?:_[a-z0-9]+)+)(?:\.\w+)*(?:\(\))?$`)
)

// Identifiers in the code spans of pages are words of the code, of its data or of the examples. A page that
// adds one in a listing of its own has it there.
func TestPagesNameIdentifiers(t *testing.T) {
	words := map[string]bool{}
	addWords := func(name string) {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range word.FindAllString(string(b), -1) {
			words[w] = true
		}
	}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		words[strings.TrimSuffix(d.Name(), filepath.Ext(name))] = true // pages name files, too
		switch filepath.Ext(name) {
		case ".go", ".s", ".js", ".yaml", ".mil", ".fw", ".td", ".txt", ".csv", ".proto", ".py":
			addWords(name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, page := range append(pages, filepath.Join(root, "README.md"), filepath.Join(root, "ARCHITECTURE.md"), filepath.Join(root, "CONTRIBUTING.md"), filepath.Join(root, "RATIONALE.md")) {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		listed := map[string]bool{}
		for _, block := range fencedBlock.FindAllString(string(b), -1) {
			for _, w := range word.FindAllString(block, -1) {
				listed[w] = true
			}
		}
		for _, m := range codeSpan.FindAllStringSubmatch(fencedBlock.ReplaceAllString(string(b), ""), -1) {
			if !identifier.MatchString(m[1]) {
				continue
			}
			for _, w := range word.FindAllString(m[1], -1) {
				if checked++; !words[w] && !listed[w] {
					t.Errorf("%s: `%s`: the code has no %q", filepath.Base(page), m[1], w)
				}
			}
		}
	}
	if checked < 350 {
		t.Errorf("%d identifiers were checked; the pages have more", checked)
	}
}

// fencedBlock matches a listing.
var fencedBlock = regexp.MustCompile("(?ms)^```.*?^```")

// beginsAName reports whether one of the names begins with prefix, as in the argument of -run.
func beginsAName(names map[string]bool, prefix string) bool {
	for name := range names {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// buildsCommand matches a command line that builds the command for a user.
var buildsCommand = regexp.MustCompile(`(?m)^.*go (?:build|install) .*\./tools/anesim`)

// The project's pages build the command without cgo: a dependency imports the standard library's
// package net, which links libc where there is a C compiler.
func TestPagesBuildAStaticCommand(t *testing.T) {
	pages := []string{filepath.Join(root, "README.md")}
	docs, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range append(pages, docs...) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range buildsCommand.FindAllString(string(text), -1) {
			if found++; !strings.Contains(line, "CGO_ENABLED=0 go ") {
				t.Errorf("%s: %q builds a command that may need libc; want CGO_ENABLED=0", filepath.Base(page), line)
			}
		}
	}
	if found < 3 {
		t.Errorf("%d commands that build", found)
	}
}

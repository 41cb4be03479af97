package anesim_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"anesim/loader/lower"
)

// The program that docs/from-go.md shows is a module of its own that imports this one; it
// builds and runs as it stands.
func TestSeparateModule(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: building a module of its own takes seconds")
	}
	dir := filepath.Join("testdata", "program")
	source, err := os.ReadFile(filepath.Join(dir, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(source), "package main\n")
	page, err := os.ReadFile(filepath.Join("docs", "from-go.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "package main\n"+shown) {
		t.Error("docs/from-go.md does not show testdata/program/main.go")
	}
	_, body, _ := strings.Cut(shown, "func main() {\n")
	if n := strings.Count(body, "\n") - 1; n > 15 {
		t.Errorf("the program's body has %d lines", n)
	}
	file := filepath.Join(t.TempDir(), "concat.hwx")
	b, err := lower.Example("concat")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		file string
		want string // regular expression
	}{
		{file, `(?s)^copy \d+ cycles, .*\ncopy \d+ cycles, .*\n[0-9.]+ ns of engine time, \d+ bytes moved\n$`},
		{filepath.Join("..", "..", "tools", "anesim", "examples", "transformer.yaml"), `(?s)^.*us of engine time, \d+ bytes moved\n$`},
	} {
		c := exec.Command("go", "run", ".", tc.file)
		c.Dir = dir
		c.Env = append(os.Environ(), "GOFLAGS=-mod=mod "+os.Getenv("GOFLAGS"), "GOWORK=off")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if !regexp.MustCompile(tc.want).Match(out) {
			t.Errorf("%s: %s", tc.file, out)
		}
	}
}

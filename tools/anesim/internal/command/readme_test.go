package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The README's transcripts are what the command prints. -update writes them.
func TestReadmeTranscripts(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..")
	name := filepath.Join(root, "README.md")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(root) // where a reader stands
	const prompt, fence = "```\n$ go run ./tools/anesim ", "\n```"
	var now strings.Builder
	rest, n := string(b), 0
	for {
		before, after, ok := strings.Cut(rest, prompt)
		now.WriteString(before)
		if !ok {
			break
		}
		block, tail, _ := strings.Cut(after, fence)
		line, want, _ := strings.Cut(block, "\n")
		var out, errs strings.Builder
		if code := Main(strings.Fields(line), &out, &errs); code != exitDone {
			t.Fatalf("%s: exit %d: %s", line, code, errs.String())
		}
		got := strings.TrimRight(out.String(), "\n")
		if got != want && !*updateGolden {
			t.Errorf("the README's transcript is not what %q prints:\n%s\nprinted:\n%s", line, want, got)
		}
		now.WriteString(prompt + line + "\n" + got + fence)
		rest = tail
		n++
	}
	if n < 1 {
		t.Errorf("no transcript in the README")
	}
	if *updateGolden {
		if err := os.WriteFile("README.md", []byte(now.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

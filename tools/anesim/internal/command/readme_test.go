package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The README's transcript is what the command prints.
func TestReadmeTranscript(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(b), "$ go run ./tools/anesim run\n")
	if !ok {
		t.Fatal("the README has no transcript of run")
	}
	want, _, _ := strings.Cut(rest, "\n```")
	var out, errs strings.Builder
	if code := Main([]string{"run"}, &out, &errs); code != exitDone {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	if got := strings.TrimRight(out.String(), "\n"); got != want {
		t.Errorf("the README's transcript is not what run prints:\n%s\nprinted:\n%s", want, got)
	}
}

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

// Each question of the README's table has an answer by its command, here about an example.
func TestReadmeQuestions(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(b), "\n| question | command |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	files := strings.NewReplacer("net-int8.onnx", exampleNetwork("picture.mil"), "net.onnx", exampleNetwork("decoder-step.onnx"),
		"step.onnx", exampleNetwork("decode.yaml"), "OUT=IN", "keys_next=keys")
	asked := 0
	for row := range strings.Lines(table) {
		_, span, ok := strings.Cut(row, "`anesim ")
		if !ok {
			continue
		}
		line, _, _ := strings.Cut(span, "`")
		if out, errs, code := invoke(strings.Fields(files.Replace(line))...); code != exitDone || out == "" {
			t.Errorf("anesim %s: exit %d: %s", line, code, errs)
		}
		asked++
	}
	if asked != 8 {
		t.Errorf("the README answers %d questions, want 8", asked)
	}
}

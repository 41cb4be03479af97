package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/npy"
)

// documentedText returns the first program in docs/assembler.md.
func documentedText(t *testing.T) string {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "assembler.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(doc), "```td\n")
	text, _, ok2 := strings.Cut(text, "```")
	if !ok || !ok2 {
		t.Fatal("docs/assembler.md shows no text")
	}
	return text
}

// TestDocumentedText assembles and runs the chain written by hand in the documentation:
// y = max(0, factor x).
func TestDocumentedText(t *testing.T) {
	dir := t.TempDir()
	source, program := filepath.Join(dir, "relu.td"), filepath.Join(dir, "relu.hwx")
	if err := os.WriteFile(source, []byte(documentedText(t)), 0o666); err != nil {
		t.Fatal(err)
	}
	x := make([]float16.Float16, 64)
	for i := range x {
		x[i] = float16.Fromfloat32(float32(i)/4 - 8)
	}
	var b bytes.Buffer
	if err := npy.Write(&b, []int{1, 4, 1, 16}, x); err != nil {
		t.Fatal(err)
	}
	i_ := filepath.Join(dir, "x.npy")
	if err := os.WriteFile(i_, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		bind   []string
		factor float32
	}{{nil, 2}, {[]string{"--bind", "factor=3"}, 3}} {
		var stdout, stderr bytes.Buffer
		if status := Main(append([]string{"asm", source, "-o", program}, tt.bind...), &stdout, &stderr); status != exitDone {
			t.Fatalf("asm: %s", &stderr)
		}
		if status := Main([]string{"run", program, "--in", "x=" + i_, "--out", dir}, &stdout, &stderr); status != exitDone {
			t.Fatalf("run: %s", &stderr)
		}
		y, _, err := input.ReadTensor(filepath.Join(dir, "y.npy"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range x {
			if want := max(0, tt.factor*x[i].Float32()); y[i].Float32() != want {
				t.Errorf("factor %v: y[%d] = %v, want %v", tt.factor, i, y[i], want)
			}
		}
	}
}

// TestDocumentedDump: the documentation shows what dump says of its chain.
func TestDocumentedDump(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "assembler.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, shown, ok := strings.Cut(string(doc), "```\ndescriptor 0:")
	shown, _, ok2 := strings.Cut(shown, "```")
	if !ok || !ok2 {
		t.Fatal("docs/assembler.md shows no dump")
	}
	source, program := writeFile(t, "relu.td", []byte(documentedText(t))), filepath.Join(t.TempDir(), "relu.hwx")
	if _, stderr, code := invoke("asm", source, "-o", program); code != exitDone {
		t.Fatal(stderr)
	}
	out := dumped(t, program)
	for block := range strings.SplitSeq("descriptor 0:"+shown, "\n\n") {
		if block = strings.TrimSpace(block); !strings.Contains(out, "\n"+block+"\n") {
			t.Errorf("dump does not print\n%s\nbut\n%s", block, out)
		}
	}
}

// TestAsmDump takes a program apart and puts it together again with the commands.
func TestAsmDump(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"identity", "concat"} {
		in := example(t, name)
		file, err := os.ReadFile(in)
		if err != nil {
			t.Fatal(err)
		}
		var text, stderr bytes.Buffer
		if status := Main([]string{"dump", "--text", in}, &text, &stderr); status != exitDone {
			t.Fatalf("dump: %s", &stderr)
		}
		source, out := filepath.Join(dir, name+".td"), filepath.Join(dir, name+".out")
		if err := os.WriteFile(source, text.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		if status := Main([]string{"asm", source, "-o", out}, &text, &stderr); status != exitDone {
			t.Fatalf("asm: %s", &stderr)
		}
		got, err := os.ReadFile(out)
		if err != nil || !bytes.Equal(got, file) {
			t.Errorf("%s: the file differs: %v", name, err)
		}
	}
}

func TestAsmErrors(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "a.td")
	if err := os.WriteFile(source, []byte(".td\nCommon.InDim Wim=1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"asm", source}, exitUsage, "missing -o"},
		{[]string{"asm", source, "-o", filepath.Join(dir, "out")}, exitFailed, `a.td:2:14: unknown field "Wim" of Common.InDim; did you mean Win?`},
		{[]string{"asm", source, "-o", filepath.Join(dir, "out"), "--bind", "x"}, exitUsage, "NAME=VALUE"},
		{[]string{"asm", filepath.Join(dir, "none.td"), "-o", filepath.Join(dir, "out")}, exitFailed, "none.td"},
	} {
		var stdout, stderr bytes.Buffer
		if status := Main(tt.args, &stdout, &stderr); status != tt.status || !strings.Contains(stderr.String(), tt.want) {
			t.Errorf("%q: status %d, %s", tt.args, status, &stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
		t.Error("an output stands although nothing was assembled")
	}
	if err := os.WriteFile(source, []byte(".td\nCommon.Cin 1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if status := Main([]string{"asm", source, "-o", source}, &stdout, &stderr); status != exitUsage || !strings.Contains(stderr.String(), "would overwrite input") {
		t.Errorf("an input was overwritten: %s", &stderr)
	}
}

package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestConvert takes a program through every form that runs and compares its outputs.
func TestConvert(t *testing.T) {
	dir := t.TempDir()
	run := func(file string, in ...string) []byte {
		t.Helper()
		out := filepath.Join(dir, filepath.Base(file)+".out")
		args := []string{"run", file, "--out", out}
		for _, s := range in {
			args = append(args, "--in", s)
		}
		if _, stderr, code := invoke(args...); code != exitDone {
			t.Fatalf("%s: %s", file, stderr)
		}
		found, err := filepath.Glob(filepath.Join(out, "*.npy"))
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: outputs %q", file, found)
		}
		b, err := os.ReadFile(found[0])
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	x := writeNPY(t, []int{1, 5, 1, 1}, ramp(5))
	conv := example(t, "conv")
	want := run(conv, "x="+x)
	for _, tt := range []struct{ extension, port string }{{".anec", "src0"}, {".anefw", "x"}} {
		file := filepath.Join(dir, "conv"+tt.extension)
		if _, stderr, code := invoke("convert", conv, "-o", file); code != exitDone {
			t.Fatal(stderr)
		}
		if got := run(file, tt.port+"="+x); !bytes.Equal(got, want) {
			t.Errorf("%s gives other values", tt.extension)
		}
		if stdout, stderr, code := invoke("dump", file); code != exitDone || !strings.Contains(stdout, "1x1 convolution with bias") {
			t.Errorf("dump of %s: %s%s", tt.extension, stdout, stderr)
		}
		// As a container again.
		hwx := filepath.Join(dir, "again"+tt.extension+".hwx")
		if _, stderr, code := invoke("convert", file, "-o", hwx); code != exitDone {
			t.Fatal(stderr)
		}
		if got := run(hwx, tt.port+"="+x); !bytes.Equal(got, want) {
			t.Errorf("a container of %s gives other values", tt.extension)
		}
		// Through text and back.
		text, back := filepath.Join(dir, "conv.td"), filepath.Join(dir, "back"+tt.extension)
		if _, stderr, code := invoke("convert", file, "-o", text); code != exitDone {
			t.Fatal(stderr)
		}
		if _, stderr, code := invoke("asm", text, "-o", back); code != exitDone {
			t.Fatal(stderr)
		}
		a, _ := os.ReadFile(file)
		b, err := os.ReadFile(back)
		if err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s through text differs: %v", tt.extension, err)
		}
	}
	two := filepath.Join(t.TempDir(), "two.e5")
	if _, stderr, code := invoke("convert", conv, example(t, "relu"), "-o", two); code != exitDone {
		t.Fatal(stderr)
	}
	stdout, stderr, code := invoke("dump", two)
	if code != exitDone || strings.Count(stdout, "AneInference") != 4 || strings.Count(stdout, "SHA-256") != 2 {
		t.Errorf("dump of a dispatch descriptor: %s%s", stdout, stderr)
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{conv}, "missing -o"},
		{[]string{"-o", "x.anec"}, "missing FILE"},
		{[]string{conv, "-o", "x.exe"}, ".anec"},
		{[]string{conv, conv, "-o", "x.anec"}, "one program"},
	} {
		if _, stderr, code := invoke(append([]string{"convert"}, tt.args...)...); code != exitUsage || !strings.Contains(stderr, tt.want) {
			t.Errorf("%q: status %d, %s", tt.args, code, stderr)
		}
	}
}

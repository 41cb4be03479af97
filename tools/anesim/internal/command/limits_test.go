package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"anesim/tools/anesim/internal/usage"
)

// A raw tensor that no register can stride is refused by its size, before it is read.
func TestRawTensorTooLarge(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.f16")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(3 << 30); err != nil {
		t.Skip("a file of 3 GiB without data cannot be made here: ", err)
	}
	f.Close()
	_, errs, code := invoke("layer", "relu", "c=4096", "--in", "x="+file)
	if code != exitFailed || !strings.Contains(errs, "file has 3221225472 bytes; want at most 536870912") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// Help that cannot be written is an error like any output.
func TestHelpToAFullDevice(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("the test writes to /dev/full, a device of Linux: ", err)
	}
	defer full.Close()
	for _, args := range [][]string{{"--help"}, {"layer", "--help"}, {"help", "run"}, {"sweep", "merge", "-h"}} {
		var errs strings.Builder
		if code := Main(args, full, &errs); code != exitFailed || !strings.Contains(errs.String(), "no space left") {
			t.Errorf("%v: exit %d: %s", args, code, errs.String())
		}
		if code := Main(args, io.Discard, &errs); code != exitDone {
			t.Errorf("%v: exit %d", args, code)
		}
	}
}

// A file has one network or one chip. A second YAML document in it is refused, not ignored.
func TestSecondDocument(t *testing.T) {
	chip, _, _ := invoke("chip", "m1")
	for name, tc := range map[string]struct {
		text string
		args []string
		want string
	}{
		"net.yaml":  {"inputs:\n  x: [1, 4, 4, 4]\nlayers:\n  - {op: relu}\n---\nlayers: []\n", []string{"model"}, "more than one document; want one network"},
		"chip.yaml": {chip + "---\n" + chip, []string{"run", "--chip"}, "second YAML document; want one chip per file"},
	} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(tc.text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, errs, code := invoke(append(tc.args, file)...); code == exitDone || !strings.Contains(errs, tc.want) {
			t.Errorf("%s: exit %d: %s", name, code, errs)
		}
	}
}

// A file that is left out is a wrong command line, not a file that cannot be opened.
func TestInputWithoutAFile(t *testing.T) {
	for _, in := range []string{"weights=", "=x.npy", "weights"} {
		_, errs, code := invoke("layer", "conv", "cin=2", "cout=4", "--in", in)
		if code != exitUsage || !strings.Contains(errs, "want NAME=FILE") {
			t.Errorf("--in %q: exit %d: %s", in, code, errs)
		}
	}
}

// An interrupt ends with the exit status of a shell, 130, and a message of its own.
func TestInterrupted(t *testing.T) {
	for err, want := range map[error]struct {
		status int
		text   string
	}{
		nil:              {0, ""},
		context.Canceled: {130, "anesim: interrupted\n"},
		fmt.Errorf("x.hwx: %w", context.Canceled): {130, "anesim: interrupted\n"},
		errors.New("bad"):                         {1, "anesim: bad\n"},
		usage.Errorf("worse"):                     {2, "anesim: worse\n"},
	} {
		var b strings.Builder
		if got := reportError(&b, err); got != want.status || b.String() != want.text {
			t.Errorf("%v: status %d, %q; want %d, %q", err, got, b.String(), want.status, want.text)
		}
	}
}

// The verdict of a check that nobody can read is a failure, and a reader that goes away is none.
func TestCheckToAFullDevice(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("the test writes to /dev/full, a device of Linux: ", err)
	}
	defer full.Close()
	base := filepath.Join(t.TempDir(), "b.json")
	if _, errs, code := invoke("check", "--baseline", base, "--update", "--layer", "relu c=4"); code != exitDone {
		t.Fatal(errs)
	}
	var errs strings.Builder
	if code := Main([]string{"check", "--baseline", base, "--layer", "relu c=4"}, full, &errs); code != exitFailed || !strings.Contains(errs.String(), "no space left") {
		t.Errorf("exit %d: %s", code, errs.String())
	}
	errs.Reset()
	if code := Main([]string{"check", "--baseline", base, "--chip", "m1max", "--layer", "relu c=4"}, full, &errs); code != exitFailed || !strings.Contains(errs.String(), "1 of 1 model differs") {
		t.Errorf("exit %d: %s", code, errs.String())
	}
}

// A program whose name is as long as file systems allow runs, though no file of parameters can have
// a longer name.
func TestLongestProgramName(t *testing.T) {
	file := filepath.Join(t.TempDir(), strings.Repeat("a", 251)+".hwx")
	if _, errs, code := invoke("layer", "relu", "c=4", "--timing-only", "--emit", file); code != exitDone {
		t.Fatal(errs)
	}
	if _, errs, code := invoke("run", file); code != exitDone {
		t.Errorf("exit %d: %s", code, errs)
	}
	// A program without its parameters would be another one.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	_, errs, code := invoke("layer", "matmul", "m=16", "n=32", "rhs=runtime", "--over", "k=32..64+32", "--timing-only", "--emit", file)
	if _, err := os.Stat(file); code != exitFailed || !strings.Contains(errs, "too long") || err == nil {
		t.Errorf("with parameters: exit %d: %s, %v", code, errs, err)
	}
}

// A baseline finds a file again whose name is not UTF-8, which JSON cannot hold.
func TestBaselineOfAnyName(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"\xff\xfe.hwx", "\xff.hwx", "é.hwx"} {
		if _, errs, code := invoke("layer", "relu", "c=4", "--timing-only", "--emit", name); code != exitDone {
			t.Skip("such a name cannot be made here: ", errs)
		}
		if _, errs, code := invoke("check", "--baseline", "b.json", "--update", name); code != exitDone {
			t.Fatal(errs)
		}
	}
	out, errs, code := invoke("check", "--baseline", "b.json", "\xff\xfe.hwx", "\xff.hwx", "é.hwx")
	if code != exitDone || strings.Count(out, "ok    ") != 3 {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
}

// A message names a file once, and shows the ends of a word that is as long as a file.
func TestMessages(t *testing.T) {
	file := writeFile(t, "init.csv", []byte("no table\n"))
	if _, errs, _ := invoke("run", "--init", file); strings.Count(errs, "init.csv") != 1 {
		t.Errorf("--init: %s", errs)
	}
	key := "key" + strings.Repeat("é", 10_000) + "end"
	for _, args := range [][]string{{"layer", "relu", key + "=1"}, {"layer", "relu", "c=" + key}, {key}, {"run", key}, {"run", "--set", key}, {"sweep", "relu", key + "=1..2"}} {
		if _, errs, code := invoke(args...); code == exitDone || len(errs) > 3000 || !strings.Contains(errs, "...") || !utf8.ValidString(errs) {
			t.Errorf("%.20q: exit %d, %d bytes", args, code, len(errs))
		}
	}
}

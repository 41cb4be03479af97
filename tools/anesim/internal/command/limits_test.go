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

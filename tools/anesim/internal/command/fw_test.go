package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The transcripts of docs/firmware.md are what the command prints.
func TestFirmwareTranscripts(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "firmware.md"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, block := range strings.Split(string(b), "```\n$ anesim fw tools/anesim/examples/")[1:] {
		name, rest, _ := strings.Cut(block, "\n")
		want, _, _ := strings.Cut(rest, "```")
		out, errs, code := invoke("fw", exampleLoad(name))
		if code != exitDone {
			t.Errorf("%s: exit %d: %s", name, code, errs)
		}
		if out != want {
			t.Errorf("%s: the page has\n%s\nprinted:\n%s", name, want, out)
		}
		n++
	}
	if n != 2 {
		t.Errorf("%d transcripts", n)
	}
}

// What run records, fw plays.
func TestRecordAndPlay(t *testing.T) {
	for _, words := range [][]string{{"run"}, {"run", example(t, "add"), "--repeat", "2"}, {"layer", "relu", "c=4", "h=3", "w=5"}} {
		file := filepath.Join(t.TempDir(), "run.fw")
		if _, errs, code := invoke(append(words, "--record", file)...); code != exitDone {
			t.Fatalf("%q: exit %d: %s", words, code, errs)
		}
		out, errs, code := invoke("fw", file)
		if code != exitDone || !strings.Contains(out, "expect crc32 0 ") {
			t.Errorf("%q: exit %d: %s\n%s", words, code, errs, out)
		}
	}
	if _, errs, code := invoke("run", "--record", "x", "--idle", "1s"); code != exitUsage {
		t.Errorf("exit %d: %s", code, errs)
	}
}

func TestFirmwareErrors(t *testing.T) {
	bad := writeFile(t, "bad.fw", []byte("send control BOOT\nexpect refused\n"))
	if _, errs, code := invoke("fw", bad); code != exitFailed || !strings.Contains(errs, "bad.fw: line 2: ok, expected refused") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

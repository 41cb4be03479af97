package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A shard's file says how far it is: done, inside a row, without any, stale.
func TestSweepStatus(t *testing.T) {
	dir := t.TempDir()
	args := []string{"sweep", "add", "c=16,32,48", "h=1..3", "w=8"}
	var files []string
	for _, s := range []string{"1/4", "2/4", "3/4"} {
		file := filepath.Join(dir, s[:1]+".csv")
		if _, errs, code := invoke(append(args, "--shard", s, "--resume", file)...); code != exitDone {
			t.Fatal(errs)
		}
		files = append(files, file)
	}
	cut := func(file string, from int) {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, b[:len(b)-from], 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if _, errs, code := invoke(append([]string{"sweep", "status", "--points", "8"}, files...)...); code != exitFailed || !strings.Contains(errs, "sweep has 9 points; want 8") {
		t.Errorf("exit %d: %s", code, errs)
	}
	cut(files[1], 5)
	b, _ := os.ReadFile(files[2])
	cut(files[2], len(b)-10)
	out, errs, code := invoke(append([]string{"sweep", "status", "--shards", "4"}, files...)...)
	if code != exitDone {
		t.Fatal(errs)
	}
	lines := strings.Split(out, "\n")
	for i, want := range []string{"file", "done", "under way, inside a row", "under way, inside a row", "all: 4 of 9 points (44.4%), 1 shard not started"} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("%q, want %s", lines[i], want)
		}
	}
	if f := strings.Fields(lines[1]); f[1] != "3" || f[2] != "3" {
		t.Errorf("%q", lines[1])
	}
	if f := strings.Fields(lines[2]); f[1] != "1" || f[2] != "2" {
		t.Errorf("%q", lines[2])
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(files[1], old, old); err != nil {
		t.Fatal(err)
	}
	if out, _, _ := invoke("sweep", "status", files[1]); !strings.Contains(out, "stale, last row 1h0m0s ago") {
		t.Errorf("%s", out)
	}
	other := filepath.Join(dir, "other.csv")
	if _, errs, code := invoke("sweep", "relu", "c=4", "--resume", other); code != exitDone {
		t.Fatal(errs)
	}
	out, errs, code = invoke("sweep", "status", files[0], other, filepath.Join(dir, "none.csv"))
	if code != exitFailed || !strings.Contains(out, "columns differ") || !strings.Contains(out, "no such file") || !strings.Contains(errs, "cannot count 2 files") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
}

// With --over the rate is that of now.
func TestSweepStatusOver(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "1.csv")
	whole, _, _ := invoke("sweep", "add", "c=16,32,48", "h=1..3", "w=8")
	lines := strings.SplitAfter(whole, "\n")
	if err := os.WriteFile(file, []byte(strings.Join(lines[:3], "")), 0o666); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		time.Sleep(100 * time.Millisecond)
		done <- os.WriteFile(file, []byte(strings.Join(lines[:6], "")), 0o666)
	}()
	out, errs, code := invoke("sweep", "status", file, "--points", "9", "--over", "500ms")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if code != exitDone || !strings.Contains(out, "6.00 rows/s, done in 1s") {
		t.Errorf("exit %d: %s%s", code, errs, out)
	}
}

// Shards that were timed on different chips are not one sweep, though their columns agree.
func TestSweepStatusOfOtherOrigins(t *testing.T) {
	dir := t.TempDir()
	first, other := filepath.Join(dir, "1.csv"), filepath.Join(dir, "2.csv")
	for file, args := range map[string][]string{first: {"c=4,8"}, other: {"c=16,32", "--chip", "m1max"}} {
		if _, errs, code := invoke(append([]string{"sweep", "relu", "--resume", file}, args...)...); code != exitDone {
			t.Fatal(errs)
		}
	}
	if out, _, code := invoke("sweep", "status", first, other); code != exitFailed || !strings.Contains(out, "chip m1max here, m1 there") {
		t.Errorf("exit %d: %s", code, out)
	}
}

// A shard counts once, whatever its file is called.
func TestSweepStatusCountsAShardOnce(t *testing.T) {
	dir := t.TempDir()
	whole := filepath.Join(dir, "1.csv")
	if _, errs, code := invoke("sweep", "relu", "c=4,8", "--resume", whole); code != exitDone {
		t.Fatal(errs)
	}
	copied := filepath.Join(dir, "copy.csv")
	b, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied, b, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, again := range []string{whole, copied} {
		out, errs, code := invoke("sweep", "status", whole, again)
		if code != exitFailed || !strings.Contains(errs, "cannot count 1 file") || !strings.Contains(out, "same shard as "+whole) || !strings.Contains(out, "all: 2 of 2 points (100.0%)") {
			t.Errorf("%s: exit %d: %s%s; want its shard refused", again, code, out, errs)
		}
	}
}

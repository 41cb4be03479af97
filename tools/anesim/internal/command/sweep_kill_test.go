package command

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"anesim/internal/sweep"
)

// A sweep that is killed or interrupted, again and again and at any moment, leaves a file
// whose rows are the sweep's first ones, and the next one goes on behind them.
func TestSweepKilled(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows sends a process no signals")
	}
	t.Parallel()
	file := filepath.Join(t.TempDir(), "rows.csv")
	args := []string{"sweep", "conv", "cin=16..512+16", "cout=16..512+16", "h=14", "w=7,14,28", "k=1,3", "pad=same"}
	whole, errs, code := invoke(args...)
	if code != exitDone {
		t.Fatal(errs)
	}
	before := 0
	for kill := range 4 {
		grown := func() {
			for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(2 * time.Millisecond) {
				if info, err := os.Stat(file); err == nil && int(info.Size()) >= min(before+20_000*(kill+1), len(whole)) {
					break
				}
			}
		}
		signal := [...]os.Signal{syscall.SIGKILL, os.Interrupt}[kill%2]
		stopped(t, grown, signal, append(args, "--resume", file, "--workers", "2")...)
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(whole, string(got)) || len(got) < before {
			t.Fatalf("stopped %d times the file has %d bytes that are not the sweep's first, %d before", kill+1, len(got), before)
		}
		before = len(got)
	}
	if before == 0 || before == len(whole) {
		t.Errorf("%d of %d bytes after all of them", before, len(whole))
	}
	if _, errs, code := invoke(append(args, "--resume", file)...); code != exitDone {
		t.Fatal(errs)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != whole {
		t.Errorf("%d bytes in the end, want %d: %v", len(got), len(whole), err)
	}
}

// Of two processes that write a shard's file, since a node that was taken for dead is not,
// one ends and spoils nothing.
func TestSweepLocked(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files are not locked on Windows")
	}
	file := filepath.Join(t.TempDir(), "rows.csv")
	held, err := sweep.OpenRows(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, errs, code := invoke("sweep", "relu", "c=1..4", "--resume", file); code != exitFailed || !strings.Contains(errs, "file is locked by another process") {
		t.Errorf("exit %d: %s", code, errs)
	}
	held.Close()
	if _, errs, code := invoke("sweep", "relu", "c=1..4", "--resume", file); code != exitDone {
		t.Error(errs)
	}
}

// A shard of which the grid has no point is a header, which merges with the others.
func TestSweepEmptyShard(t *testing.T) {
	dir := t.TempDir()
	args := []string{"sweep", "relu", "c=1..2"}
	whole, _, _ := invoke(args...)
	merge := []string{"sweep", "merge"}
	for _, s := range []string{"1/3", "2/3", "3/3"} {
		file := filepath.Join(dir, s[:1]+".csv")
		for range 2 {
			if _, errs, code := invoke(append(args, "--shard", s, "--resume", file)...); code != exitDone {
				t.Fatal(errs)
			}
		}
		merge = append(merge, file)
	}
	if out, errs, code := invoke(merge...); code != exitDone || out != whole {
		t.Errorf("exit %d: %s%s", code, errs, out)
	}
}

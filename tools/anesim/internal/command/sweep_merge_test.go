package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The shards' files make the whole, in whatever order they are named, and nothing is
// written where a point is missing or there twice.
func TestSweepMerge(t *testing.T) {
	args := []string{"sweep", "add", "c=16,32,48", "h=1..3", "w=8"}
	whole, _, _ := invoke(args...)
	dir := t.TempDir()
	var files []string
	for _, s := range []string{"1/4", "2/4", "3/4", "4/4"} {
		file := filepath.Join(dir, s[:1]+".csv")
		if _, errs, code := invoke(append(args, "--shard", s, "--resume", file)...); code != exitDone {
			t.Fatal(errs)
		}
		files = append([]string{file}, files...)
	}
	merged := func(files ...string) (string, string, int) {
		return invoke(append([]string{"sweep", "merge"}, files...)...)
	}
	if out, errs, code := merged(files...); code != exitDone || out != whole {
		t.Errorf("exit %d: %s\n%s\nwant %s", code, errs, out, whole)
	}
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return file
	}
	last, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(last), "\n")
	for _, tc := range []struct {
		name  string
		files []string
		want  string
	}{
		{"a shard is missing", files[1:], "missing point 3"},
		{"twice", append(files[:len(files):len(files)], files[0]), "duplicate point 3"},
		{"cut", append([]string{write("cut.csv", string(last[:len(last)-3]))}, files[1:]...), "ends in the middle of a row"},
		{"other", append([]string{write("other.csv", "point,program,x\n")}, files...), "not the output of a sweep"},
		{"order", append([]string{write("order.csv", lines[0]+lines[1]+lines[1])}, files[1:]...), "point 3 comes after point 3"},
		{"more points", append([]string{"--points", "10"}, files...), "files have 9 points; want 10, as set by --points"},
		{"fewer points", append([]string{"--points", "8"}, files...), "want 8, as set by --points"},
		{"none", []string{filepath.Join(dir, "none.csv")}, "no such file"},
		{"a device", []string{os.DevNull}, "not a regular file"},
	} {
		out, errs, code := merged(tc.files...)
		if code == exitDone || out != "" || !strings.Contains(errs, tc.want) {
			t.Errorf("%s: exit %d, %q: %s", tc.name, code, out, errs)
		}
	}
}

// Shards that end early lack rows without a gap between the others, as after a kill or on a full
// disk. Neither merge nor front takes them for the whole, however many rows are gone.
func TestSweepShardsThatEndEarly(t *testing.T) {
	args := []string{"sweep", "add", "c=16,32,48", "h=1..2", "w=8"}
	dir := t.TempDir()
	var shards [2][]string // lines
	for i := range shards {
		out, errs, code := invoke(append(args, "--shard", fmt.Sprintf("%d/2", i+1))...)
		if code != exitDone {
			t.Fatal(errs)
		}
		shards[i] = strings.SplitAfter(strings.TrimSuffix(out, "\n"), "\n")
	}
	for first := range len(shards[0]) + 1 {
		for second := range len(shards[1]) + 1 {
			files := []string{filepath.Join(dir, "1.csv"), filepath.Join(dir, "2.csv")}
			for i, n := range []int{first, second} {
				text := strings.Join(shards[i][:n], "")
				if n > 0 {
					text = strings.TrimSuffix(text, "\n") + "\n"
				}
				if err := os.WriteFile(files[i], []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			whole := first == len(shards[0]) && second == len(shards[1])
			for _, command := range [][]string{{"sweep", "merge"}, {"sweep", "front", "time,energy"}} {
				out, errs, code := invoke(append(command, files...)...)
				if (code == exitDone) != whole || !whole && out != "" {
					t.Errorf("%q of %d and %d rows: exit %d: %s%s", command[1], first-1, second-1, code, out, errs)
				}
			}
		}
	}
	// The rows say what status needs to know.
	out, errs, code := invoke("sweep", "status", filepath.Join(dir, "1.csv"), filepath.Join(dir, "2.csv"))
	if code != exitDone || strings.Count(out, " done\n") != 2 || !strings.Contains(out, "all: 6 of 6 points (100.0%)") {
		t.Errorf("status: exit %d: %s%s", code, out, errs)
	}
}

// Shards of two builds are refused, unless the builds have no name: a note says so then, once for all
// shards, and not if there is only one file, which --resume compares with its own build.
func TestSweepNotesUnnamedBuilds(t *testing.T) {
	dir := t.TempDir()
	var shards []string
	for _, s := range []string{"1/2", "2/2"} {
		file := filepath.Join(dir, s[:1]+".csv")
		if _, errs, code := invoke("sweep", "relu", "c=4,8", "--shard", s, "--resume", file); code != exitDone {
			t.Fatal(errs)
		}
		data, err := os.ReadFile(file)
		if err != nil || strings.Count(string(data), "version=(devel)") != 1 {
			t.Fatalf("%v: %s\nwant a row with version=(devel), as tests have", err, data)
		}
		shards = append(shards, string(data))
	}
	whole, _, _ := invoke("sweep", "relu", "c=4,8")
	file := writeFile(t, "whole.csv", []byte(whole))
	if _, errs, code := invoke("sweep", "merge", file); code != exitDone || errs != "" {
		t.Errorf("one file: exit %d: %s; want no note", code, errs)
	}
	for _, c := range []struct {
		first, second string // what the rows of the shards say
		noted         bool
		code          int
	}{
		{"version=(devel)", "version=(devel)", true, exitDone},
		{"version=(devel) revision=0123456789ab+", "version=(devel) revision=0123456789ab+", true, exitDone},
		{"version=v0.0.1-0.20261128-0123456789ab+dirty", "version=v0.0.1-0.20261128-0123456789ab+dirty", true, exitDone},
		{"version=(devel) revision=0123456789ab", "version=(devel) revision=0123456789ab", false, exitDone},
		{"version=v1.2.3", "version=v1.2.3", false, exitDone},
		{"version=(devel) revision=0123456789ab", "version=(devel) revision=ba9876543210", false, exitFailed},
		{"version=v1.2.3", "version=(devel)", false, exitFailed},
	} {
		one := writeFile(t, "1.csv", []byte(strings.ReplaceAll(shards[0], "version=(devel)", c.first)))
		two := writeFile(t, "2.csv", []byte(strings.ReplaceAll(shards[1], "version=(devel)", c.second)))
		for _, command := range []string{"merge", "front time,energy"} {
			out, errs, code := invoke(append(append([]string{"sweep"}, strings.Fields(command)...), one, two)...)
			if noted := strings.Contains(errs, "note: these rows do not name the build"); code != c.code || noted != c.noted || (out == "") != (code == exitFailed) {
				t.Errorf("%s of %s and %s: exit %d: %s%s; want exit %d, a note: %v", command, c.first, c.second, code, out, errs, c.code, c.noted)
			}
		}
	}
}

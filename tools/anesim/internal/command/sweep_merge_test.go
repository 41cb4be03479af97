package command

import (
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
		{"more points", append([]string{"--points", "10"}, files...), "9 of 10 points"},
		{"fewer points", append([]string{"--points", "8"}, files...), "want 8, as set by --points"},
		{"none", []string{filepath.Join(dir, "none.csv")}, "no such file"},
		{"a device", []string{os.DevNull}, "not a regular file"},
	} {
		out, errs, code := merged(tc.files...)
		if code == exitDone || out != "" || !strings.Contains(errs, tc.want) {
			t.Errorf("%s: exit %d, %q: %s", tc.name, code, out, errs)
		}
	}
	// The last points of all shards are gone: no gap says so, the values do.
	short := strings.Join(strings.SplitAfter(whole, "\n")[:6], "")
	if out, errs, code := merged(write("short.csv", short)); code == exitDone || out != "" || !strings.Contains(errs, "5 of 6 points") {
		t.Errorf("exit %d, %q: %s", code, out, errs)
	}
}

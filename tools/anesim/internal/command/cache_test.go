package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anesim/internal/report"
)

// A cache that cannot be written is a warning: the report is that of a run without one.
func TestCacheThatCannotBeWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	file := exampleLoad("observed.yaml")
	plain, _, _ := invoke("model", file)
	out, errs, code := invoke("model", file, "--cache", dir)
	if code != exitDone || !strings.HasPrefix(out, plain) || !strings.Contains(out, "warning: cannot store the program in the cache: cache: ") {
		t.Errorf("exit %d: %s%s", code, out[max(0, len(out)-300):], errs)
	}
	if _, errs, code := invoke("model", file, "--cache", dir, "--force-fetch"); code != exitFailed {
		t.Errorf("a program that has to be fetched: exit %d, %s", code, errs)
	}
}

// The first run makes the programs, the second fetches them and prints the same; damage is
// found, force makes them again, and a forced fetch of nothing fails.
func TestModelCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	file := exampleLoad("observed.yaml")
	run := func(outcome string, flags ...string) string {
		t.Helper()
		out, errs, code := invoke(append([]string{"model", file, "--cache", dir}, flags...)...)
		if code != exitDone {
			t.Fatalf("%q: exit %d: %s", flags, code, errs)
		}
		body, last, _ := strings.Cut(out, "cache: ")
		if !strings.HasPrefix(last, outcome+" "+dir) {
			t.Errorf("%q: %s, want %s", flags, last, outcome)
		}
		return body
	}
	first := run("made")
	if second := run("fetched"); second != first {
		t.Errorf("fetched:\n%s\nmade:\n%s", second, first)
	}
	run("made", "--force-recompilation")
	run("fetched", "--force-fetch")
	if plain, _, _ := invoke("model", file); plain != first {
		t.Errorf("without a cache:\n%s\nwith one:\n%s", plain, first)
	}
	out, errs, code := invoke("model", file, "--cache", dir, "--json")
	var d report.Network
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != exitDone || d.Cache == nil || d.Cache.Outcome != "fetched" {
		t.Fatalf("exit %d, %v, %+v: %s", code, err, d.Cache, errs)
	}
	b, err := os.ReadFile(d.Cache.Path)
	if err != nil || len(b) != d.Cache.Bytes {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(d.Cache.Path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := invoke("model", file, "--cache", dir, "--force-fetch"); code != exitFailed || !strings.Contains(errs, "is damaged") {
		t.Errorf("exit %d: %s", code, errs)
	}
	run("remade")
	run("fetched")
	run("made", "--values") // programs with weights are others
	for _, bad := range [][]string{
		{"--force-fetch"}, {"--force-recompilation"}, {"--cache", dir, "--force-fetch", "--force-recompilation"},
	} {
		if _, errs, code := invoke(append([]string{"model", file}, bad...)...); code != exitUsage {
			t.Errorf("%q: exit %d: %s", bad, code, errs)
		}
	}
	if _, errs, code := invoke("model", file, "--cache", filepath.Join(dir, "none"), "--force-fetch"); code != exitFailed || !strings.Contains(errs, "missing entry") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// TestCacheKnowsMaskAndSegmenter fetches a copy of the file under another name, and makes the programs
// anew for another mask of units or another segmenter (chapter 5 of the documents).
func TestCacheKnowsMaskAndSegmenter(t *testing.T) {
	dir := t.TempDir()
	net, other := writeFile(t, "net.yaml", []byte(smallNet)), writeFile(t, "other.yaml", []byte(smallNet))
	for _, tc := range []struct {
		file    string
		flags   []string
		outcome string
	}{
		{net, nil, "made"},
		{net, nil, "fetched"},
		{other, nil, "fetched"},
		{net, []string{"--compute", "engine"}, "made"},
		{net, []string{"--compute", "all"}, "made"},
		{other, []string{"--compute", "all"}, "fetched"},
		{net, []string{"--compute", "all", "--segmenter", "shortest-path"}, "fetched"},
		{net, []string{"--compute", "all", "--segmenter", "graph"}, "made"},
		{net, []string{"--compute", "all", "--segmenter", "coarse"}, "made"},
		{other, []string{"--compute", "all", "--segmenter", "coarse"}, "fetched"},
	} {
		out, errs, code := invoke(append([]string{"model", tc.file, "--timing-only", "--cache", dir}, tc.flags...)...)
		if _, last, _ := strings.Cut(out, "cache: "); code != exitDone || !strings.HasPrefix(last, tc.outcome) {
			t.Errorf("%s %q: exit %d, %s%s; want %s", filepath.Base(tc.file), tc.flags, code, last, errs, tc.outcome)
		}
	}
}

// The cache has the network's programs and not those of the changes that its report tries.
func TestCacheHasTheNetworkOnly(t *testing.T) {
	net, dir := writeFile(t, "net.yaml", []byte(smallNet)), t.TempDir()
	if out, errs, code := invoke("model", net, "--cache", dir); code != exitDone || !strings.Contains(out, "change tried") {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	entries, err := filepath.Glob(filepath.Join(dir, "*", "*", "*", "*"))
	if err != nil || len(entries) != 1 {
		t.Errorf("%d entries, %v", len(entries), err)
	}
}

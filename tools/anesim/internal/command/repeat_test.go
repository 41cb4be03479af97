package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A repeated run lists as many dispatches as a reader can look at. Its header counts all of
// them, its table says how many it leaves out, and its rows and its script have them all.
func TestRepeatLeavesNoDispatchOut(t *testing.T) {
	t.Parallel()
	file, script := example(t, "add"), filepath.Join(t.TempDir(), "add.txt")
	for _, values := range []string{"--timing-only=false", "--timing-only"} {
		out, errs, code := invoke("run", file, values, "--repeat", "5000", "--record", script)
		if code != 0 || !strings.Contains(out, "container, 5,000 descriptors,") || !strings.Contains(out, "calls not listed: 904, each as long as the last") {
			t.Errorf("%s: status %d, %s: %.200s", values, code, errs, out)
		}
		data, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(data), "PROCEDURE_CALL"); n != 5000 {
			t.Errorf("%s: the script calls %d times, want 5000", values, n)
		}
		out, _, _ = invoke("run", file, values, "--repeat", "5000", "--csv")
		rows := strings.Split(strings.TrimSpace(out), "\n")
		if len(rows) != 1+5000 || rows[5000] != rows[4000] {
			t.Errorf("%s: %d rows, want a header and 5000: %s", values, len(rows), rows[len(rows)-1])
		}
	}
	for _, c := range [][]string{{"--csv", "2000000"}, {"--record=" + script, "70000"}} {
		_, errs, code := invoke("run", file, "--timing-only", c[0], "--repeat", c[1])
		if code == 0 || !strings.Contains(errs, "want at most") {
			t.Errorf("%s of %s dispatches: status %d, %s", c[0], c[1], code, errs)
		}
	}
}

// A summary is of a call, whatever the number of calls. A full report says of how many calls its sums are.
func TestRepeatSaysOfHowManyCalls(t *testing.T) {
	t.Parallel()
	for _, command := range [][]string{
		{"layer", "conv", "cin=64", "h=28", "w=28", "cout=64", "k=3", "--timing-only", "--machine", "m1"},
		{"model", exampleNetwork("picture.mil"), "--machine", "m1"},
		{"model", exampleNetwork("picture.mil"), "--machine", "m1", "--rate", "100"},
	} {
		report := func(flags ...string) string {
			t.Helper()
			out, errs, code := invoke(append(command, flags...)...)
			if code != exitDone {
				t.Fatal(errs)
			}
			return out
		}
		one, five := report("--summary"), report("--summary", "--repeat", "5")
		words := func(s string) string { return strings.Join(strings.Fields(s), " ") } // lines may break elsewhere
		got := strings.NewReplacer(", mean of 5", "", "J a call in ", "J in ").Replace(words(five))
		if got != words(one) {
			t.Errorf("%q: five calls:\n%s\none call:\n%s", command, five, one)
		}
		full := report("--repeat", "5")
		if want := []string{"\ntotal in 5 calls: ", "\nwall in 5 calls: "}; !strings.Contains(full, want[0]) || !strings.Contains(full, want[1]) {
			t.Errorf("%q: no %q in\n%s", command, want, full)
		}
		if single := report(); strings.Contains(single, "in 5 calls") || !strings.Contains(single, "\ntotal: ") {
			t.Errorf("%q: %s", command, single)
		}
	}
}

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

package relations

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The commands that docs/csv.md names as readers of descriptor text read it. The others that read
// programs refuse it, and say that asm assembles it.
func TestReadersOfDescriptorText(t *testing.T) {
	b, err := os.ReadFile("../../../../docs/csv.md")
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for line := range strings.Lines(string(b)) {
		if cells := strings.Split(line, "|"); len(cells) > 3 && strings.HasPrefix(cells[1], " descriptor text") {
			for _, word := range strings.Split(cells[3], ",") {
				named = append(named, strings.Trim(word, " `"))
			}
		}
	}
	t.Chdir(t.TempDir())
	anesimOK(t, "layer", "conv", "cin=8", "h=4", "w=4", "cout=8", "k=1", "--emit", "a.hwx")
	write(t, "a.td", anesimOK(t, "dump", "--text", "a.hwx"))
	commands := map[string][]string{
		"asm": {"asm", "a.td", "-o", "b.hwx"}, "patch": {"patch", "a.td", "--set", "NE.MACCfg.NonlinearMode=none", "-o", "c.hwx"}, "lint": {"lint", "a.td"},
		"run": {"run", "a.td"}, "dump": {"dump", "a.td"}, "diff": {"diff", "a.td", "a.hwx"}, "explain": {"explain", "a.td"},
	}
	for _, name := range named {
		if commands[name] == nil {
			t.Errorf("docs/csv.md names %q, which this test does not run", name)
		}
	}
	for name, args := range commands {
		_, errs, status := anesim(args...)
		if slices.Contains(named, name) {
			if status != 0 {
				t.Errorf("%s reads descriptor text: status %d: %s", name, status, errs)
			}
		} else if status == 0 || !strings.Contains(errs, "anesim asm assembles it") {
			t.Errorf("%s does not read descriptor text: status %d: %s", name, status, errs)
		}
	}
}

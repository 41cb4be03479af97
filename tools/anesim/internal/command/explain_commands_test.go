package command

import (
	"strings"
	"testing"

	"anesim/internal/network/keys"
)

// Every command that explain prints for a layer runs, whatever the operation is.
func TestCommandsOfExplainedLayersRun(t *testing.T) {
	t.Chdir(t.TempDir())
	needed := map[string]string{
		"conv": "cin=4 cout=4", "deconv": "cin=4 cout=4", "matmul": "m=4 k=8 n=4", "linear": "m=4 k=8 n=4", "pool": "h=4 w=4", "concat": "parts=2+3", "tile": "reps=1x2x1x1", "slice": "c=4 size=2",
	}
	layers := []string{"relu c=4 release=2023", "conv cin=4 h=4 w=4 cout=4 k=3 pad=same act=gelu", "pad c=4 h=4 w=4 pad=1,2,3,0 fill=edge"}
	for _, name := range keys.Names() {
		layers = append(layers, strings.TrimSpace(name+" "+needed[name]))
	}
	for _, words := range layers {
		out, errs, code := invoke("explain", "--layer", words)
		if code != 0 {
			t.Errorf("%s: status %d, %s", words, code, errs)
			continue
		}
		commands := 0
		for line := range strings.Lines(out) {
			_, command, ok := strings.Cut(strings.TrimSpace(line), "anesim layer ")
			if !ok {
				continue
			}
			commands++
			if _, errs, code := invoke(append([]string{"layer"}, strings.Fields(command)...)...); code != 0 {
				t.Errorf("%s: anesim layer %s: status %d, %s", words, command, code, errs)
			}
		}
		if commands == 0 {
			t.Errorf("%s: explain prints no command:\n%s", words, out)
		}
	}
}

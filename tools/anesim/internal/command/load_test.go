package command

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"anesim"
)

func exampleLoad(name string) string { return filepath.Join("..", "..", "examples", name) }

// The examples run, their tables have a row a client, and what load prints is determined.
func TestLoadExamples(t *testing.T) {
	for name, clients := range map[string][]string{
		"load.yaml":        {"camera", "speech", "photos"},
		"two-threads.yaml": {"two"},
	} {
		out, errs, code := invoke("load", exampleLoad(name))
		if code != exitDone || !strings.Contains(out, "utilisation") {
			t.Fatalf("%s: exit %d: %s%s", name, code, out, errs)
		}
		for _, c := range clients {
			if !strings.Contains(out, "\n"+c+" ") {
				t.Errorf("%s has no row of %s:\n%s", name, c, out)
			}
		}
		if again, _, _ := invoke("load", exampleLoad(name)); again != out {
			t.Errorf("%s: the second run prints something else", name)
		}
	}
}

// A second stream is reported and does not hang; the intervals' energy is all there is.
func TestLoadDocument(t *testing.T) {
	script := writeFile(t, "s.yaml", []byte("duration: 10ms\nhost: linux\nclients: [{name: a, layer: add c=8, streams: 2}]"))
	out, errs, code := invoke("load", script)
	if code != exitDone || !strings.Contains(out, "client a: 1 call never completed") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	out, _, _ = invoke("load", script, "--json")
	var d anesim.LoadDocument
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, b := range d.Timeline {
		sum += float64(b.EnergyNJ)
	}
	if all := float64(d.EnergyNJ + d.WaitNJ); sum < all*(1-1e-9) || sum > all*(1+1e-9) || all == 0 {
		t.Errorf("the timeline has %v nJ of %v", sum, all)
	}
}

func TestLoadErrors(t *testing.T) {
	bad := writeFile(t, "bad.yaml", []byte("duration: 1s\nclients:\n  - {layer: relu c=1, prio: 3}"))
	missing := writeFile(t, "missing.yaml", []byte("duration: 1s\nclients:\n  - {model: gone.hwx}"))
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"load"}, exitUsage, "takes one file"},
		{[]string{"load", bad}, exitFailed, `bad.yaml: line 3: key "prio"`},
		{[]string{"load", missing}, exitFailed, "gone.hwx"},
	} {
		if _, errs, code := invoke(c.args...); code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%q: exit %d: %s", c.args, code, errs)
		}
	}
}

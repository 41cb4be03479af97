package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anesim/internal/report"
)

// One program is written for every size; the file beside it is read with it, and chooses
// what it says until --bind does.
func TestParametersBesideAProgram(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "mm.hwx")
	words := []string{"layer", "matmul", "m=16", "n=32", "rhs=runtime"}
	if _, errs, code := invoke(append(words, "--over", "k=32..128+32", "--emit", program, "--timing-only")...); code != exitDone {
		t.Fatal(errs)
	}
	output := func(args ...string) string {
		t.Helper()
		out, errs, code := invoke(append(args, "--json")...)
		if code != exitDone {
			t.Fatalf("%q: exit %d: %s", args, code, errs)
		}
		var d report.Run
		if err := json.Unmarshal([]byte(out), &d); err != nil {
			t.Fatal(err)
		}
		return d.Outputs[0].CRC32
	}
	for k, bind := range map[string][]string{"k=128": nil, "k=64": {"--bind", "k=64"}, "k=32": {"--bind", "k=0x20"}} {
		if got, want := output(append([]string{"run", program}, bind...)...), output(append(words, k)...); got != want {
			t.Errorf("%s: %s, the layer of that size %s", k, got, want)
		}
	}
	for k, bind := range map[string][]string{"k=128": nil, "k=64": {"--bind", "k=64"}} {
		out, _, _ := invoke(append([]string{"run", program, "--timing-only"}, bind...)...)
		if want := "\nrun-time parameter " + k + " of 32 to 128 in steps of 32; --bind k=VALUE sets it\n"; !strings.Contains(out, want) {
			t.Errorf("run at %s: want %q in\n%s", k, want, out)
		}
	}
	script := filepath.Join(dir, "load.yaml")
	if err := os.WriteFile(script, []byte("duration: 1ms\nclients: [{model: mm.hwx}]"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := invoke("load", script); code != exitDone {
		t.Errorf("load: exit %d: %s", code, errs)
	}
	params := program + ".params"
	text, err := os.ReadFile(params)
	if err != nil {
		t.Fatal(err)
	}
	for old, new := range map[string][2]string{
		"live-in 0 Common.Cin.Cin k":   {"live-in 0 Comon.Cin.Cin k", `mm.hwx.params: line 34: unknown register "Comon.Cin"; did you mean Common.Cin`},
		"param k 128 32 128 32":        {"param k 120 32 128 32", "mm.hwx.params: line 2: k is 120; want 32 to 128 in steps of 32"},
		"live-in 0 Common.Cin.Cin k\n": {"live-in 7 Common.Cin.Cin k\n", "mm.hwx.params: parameters: unknown descriptor 7; the program has 1"},
	} {
		if err := os.WriteFile(params, []byte(strings.Replace(string(text), old, new[0], 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, errs, code := invoke("run", program); code != exitFailed || !strings.Contains(errs, new[1]) {
			t.Errorf("%q: exit %d: %s", new[0], code, errs)
		}
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{append(words, "--over", "k=32..128+32"), exitUsage, "--over requires --emit"},
		{append(words, "--over", "k=32-128", "--emit", program), exitUsage, "want KEY=FROM..TO"},
		{append(words, "--over", "q=32..128+32", "--emit", program), exitUsage, "q: unknown key"},
		{append(words, "--over", "k=32..120+32", "--emit", program), exitFailed, "the range is invalid"},
		{[]string{"layer", "conv", "h=8", "w=8", "cout=16", "k=1", "--over", "cin=16..64+16", "--emit", program}, exitFailed, "one program for every cin"},
	} {
		if _, errs, code := invoke(c.args...); code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%q: exit %d: %s", c.args, code, errs)
		}
	}
}

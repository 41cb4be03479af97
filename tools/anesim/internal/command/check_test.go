package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A one-register change in a program is caught, named and explained, in words and in JUnit
// XML; the same program passes.
func TestCheckCommand(t *testing.T) {
	dir := t.TempDir()
	base, report := filepath.Join(dir, "base.json"), filepath.Join(dir, "report.xml")
	program := example(t, "identity")
	if out, errs, code := invoke("check", "--baseline", base, "--update", program, "--layer", "relu c=64 h=8 w=8"); code != 0 || !strings.Contains(out, "2 models written") {
		t.Fatalf("%d: %s%s", code, out, errs)
	}
	if out, errs, code := invoke("check", "--baseline", base, program, "--layer", "relu c=64 h=8 w=8"); code != 0 {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	out, errs, code := invoke("check", "--baseline", base, "--max", "2%", "--junit", report, "--set", "Common.Cfg.ActiveNE=2", program)
	if code != 1 || !strings.Contains(errs, "beyond 2 %") {
		t.Errorf("%d: %s", code, errs)
	}
	for _, want := range []string{"the program changed", "Common.Cfg.ActiveNE 0x4 -> 0x2", "compute +"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	xml, err := os.ReadFile(report)
	if err != nil || !strings.Contains(string(xml), `failures="1"`) || !strings.Contains(string(xml), "ActiveNE") {
		t.Errorf("%v: %s", err, xml)
	}
	for _, bad := range [][]string{
		{"check", program}, {"check", "--baseline", base}, {"check", "--baseline", base, "--max", "lots", program},
		{"check", "--baseline", base, program, program},
	} {
		if _, errs, code := invoke(bad...); code != 2 {
			t.Errorf("%q: %d, %s", bad, code, errs)
		}
	}
	if _, errs, code := invoke("check", "--baseline", program, program); code != 1 || !strings.Contains(errs, "not a baseline") {
		t.Errorf("a program for a baseline: %d, %s", code, errs)
	}
}

func TestDiffCommand(t *testing.T) {
	a, b := example(t, "conv"), example(t, "relu")
	out, errs, code := invoke("diff", a, a)
	if code != 0 || !strings.Contains(out, "1 of 1 descriptor the same") {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	out, errs, code = invoke("diff", a, b)
	if code != 0 || !strings.Contains(out, "NE.MACCfg.OpMode 0x0 -> 0xc") || !strings.Contains(out, "cycles") {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	file := filepath.Join(t.TempDir(), "a.json")
	doc, _, _ := invoke("run", a, "--timing-only", "--json")
	if err := os.WriteFile(file, []byte(doc), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, errs, code := invoke("diff", file, a); code != 0 || !strings.Contains(out, "cycles") {
		t.Errorf("%d: %s%s", code, out, errs)
	}
}

package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A one-register change in a program is caught, named and explained, in words and in JUnit
// XML; the same program passes.
func TestCheckCommand(t *testing.T) {
	dir := t.TempDir()
	base, report := filepath.Join(dir, "base.json"), filepath.Join(dir, "report.xml")
	program := example(t, "identity")
	if out, errs, code := invoke("check", "--baseline", base, "--update", program, "--layer", "relu c=64 h=8 w=8"); code != 0 || !strings.Contains(out, "wrote 2 models to ") {
		t.Fatalf("%d: %s%s", code, out, errs)
	}
	if out, errs, code := invoke("check", "--baseline", base, program, "--layer", "relu c=64 h=8 w=8"); code != 0 {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	out, errs, code := invoke("check", "--baseline", base, "--max", "2%", "--junit", report, "--set", "Common.Cfg.ActiveNE=2", program)
	if code != 1 || !strings.Contains(errs, "by more than 2%") {
		t.Errorf("%d: %s", code, errs)
	}
	for _, want := range []string{"the program changed", "Common.Cfg.ActiveNE 0x4 -> 0x2", "compute +"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	xml, err := os.ReadFile(report)
	if err != nil || !strings.Contains(string(xml), `failures="1"`) || !strings.Contains(string(xml), "ActiveNE") || !strings.Contains(string(xml), `message="cycles 439 `) {
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

// A baseline is found, and finds its programs, from any directory. One that has the names of
// an older command line is taken as it is, and an update writes the names from then on.
func TestCheckFromAnotherDirectory(t *testing.T) {
	dir := t.TempDir()
	program, err := os.ReadFile(example(t, "identity"))
	if err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"programs", "perf"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "programs", "a.hwx"), program, 0o666); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	run := func(want string, args ...string) {
		t.Helper()
		out, errs, code := invoke(append([]string{"check"}, args...)...)
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%q: status %d, %s%s, want %s", args, code, out, errs, want)
		}
	}
	run("wrote 1 model to ", "--baseline", "perf/base.json", "--update", "programs/a.hwx")
	run("ok    programs/a.hwx", "--baseline", "perf/base.json", "programs/a.hwx")
	t.Chdir("perf")
	run("ok    ../programs/a.hwx", "--baseline", "base.json", "../programs/a.hwx")
	t.Chdir("../programs")
	run("ok    a.hwx", "--baseline", "../perf/base.json", "a.hwx")
	run("ok    "+filepath.Join(dir, "programs", "a.hwx"), "--baseline", "../perf/base.json", filepath.Join(dir, "programs", "a.hwx"))

	base, err := os.ReadFile("../perf/base.json")
	if err != nil || !strings.Contains(string(base), `"input": "../programs/a.hwx"`) {
		t.Fatalf("%v: %.300s", err, base)
	}
	old := strings.Replace(string(base), "../programs/a.hwx", "a.hwx", 1)
	if err := os.WriteFile("../perf/base.json", []byte(old), 0o666); err != nil {
		t.Fatal(err)
	}
	run("ok    a.hwx", "--baseline", "../perf/base.json", "a.hwx")
	run("wrote 1 model to ", "--baseline", "../perf/base.json", "--update", "a.hwx")
	if now, err := os.ReadFile("../perf/base.json"); err != nil || string(now) != string(base) {
		t.Errorf("%v: the update wrote %.300s", err, now)
	}
}

// An update counts the models that it writes and those that the baseline keeps. A model that the
// baseline lacks is reported as missing, apart from those that differ.
func TestCheckCountsModels(t *testing.T) {
	base := filepath.Join(t.TempDir(), "base.json")
	a, b, c := "relu c=4", "relu c=8", "relu c=16"
	for _, x := range []struct {
		want string
		code int
		args []string
	}{
		{"wrote 2 models to ", 0, []string{"--update", "--layer", a, "--layer", b}},
		{", which has 2 now\n", 0, []string{"--update", "--layer", a}},
		{"FAIL  relu c=16: missing from the baseline\nanesim: 1 of 1 model is missing from the baseline (add with --update)\n", 1, []string{"--layer", c}},
		{"anesim: 1 of 3 models differs from the baseline by more than 0%, 1 of 3 models is missing from the baseline (add with --update)\n", 1,
			[]string{"--layer", a, "--layer", b, "--layer", c, "--set", "Common.Cfg.ActiveNE=2"}},
	} {
		out, errs, code := invoke(append([]string{"check", "--baseline", base}, x.args...)...)
		if code != x.code || !strings.Contains(out+errs, x.want) {
			t.Errorf("%q: status %d, want %d with %q:\n%s%s", x.args, code, x.code, x.want, out, errs)
		}
	}
}

// A reader that closes the pipe early, like head, loses neither the verdict nor the exit status.
func TestCheckWithClosedPipe(t *testing.T) {
	base := filepath.Join(t.TempDir(), "base.json")
	if out, errs, code := invoke("check", "--baseline", base, "--update", "--layer", "relu c=8"); code != 0 {
		t.Fatalf("%d: %s%s", code, out, errs)
	}
	for _, lint := range [][]string{nil, {"--lint"}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		c := process(t, append([]string{"check", "--baseline", base, "--chip", "m1,Clock=1e9", "--layer", "relu c=8"}, lint...)...)
		var errs strings.Builder
		c.Stdout, c.Stderr = w, &errs
		c.Run()
		w.Close()
		if code := c.ProcessState.ExitCode(); code != 1 || !strings.Contains(errs.String(), "1 of 1 model differs") {
			t.Errorf("%q: status %d (%v): %s", lint, code, c.ProcessState, errs.String())
		}
	}
}

// Where a constant of the chip differs, the verdict names it with both values.
func TestCheckNamesConstants(t *testing.T) {
	base := filepath.Join(t.TempDir(), "base.json")
	if out, errs, code := invoke("check", "--baseline", base, "--update", "--layer", "relu c=4"); code != 0 {
		t.Fatalf("%d: %s%s", code, out, errs)
	}
	out, _, code := invoke("check", "--baseline", base, "--chip", "m1,Clock=1e9,DispatchEnergy=1e-6", "--layer", "relu c=4")
	if code != 1 || !strings.Contains(out, "the chip changed, the program did not: Clock 1.464e+09 -> 1e+09, DispatchEnergy") {
		t.Errorf("status %d: %s", code, out)
	}
}

// The failure of a network begins with its totals and then its layers, in readable units, without
// the registers of layers that changed their shape and with no percentages of thousands.
func TestCheckFailureOfANetwork(t *testing.T) {
	dir := t.TempDir()
	base, file := filepath.Join(dir, "base.json"), filepath.Join(dir, "net.yaml")
	net := func(more string) {
		if err := os.WriteFile(file, []byte("inputs: {x: {c: 64, h: 28, w: 28}}\nlayers:\n- {name: a, op: conv, cout: 64, k: 3, pad: 1}\n"+more+"- {name: z, op: conv, cout: 96, k: 3, pad: 1}\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	net("")
	invoke("check", "--baseline", base, "--update", file)
	net("- {name: b, op: conv, cout: 1024, k: 3, pad: 1}\n")
	out, _, code := invoke("check", "--baseline", base, file)
	lines := strings.Split(out, "\n")
	if code != exitFailed || len(lines) > 30 || !strings.HasSuffix(lines[0], "anesim's constants did not change") || !strings.HasPrefix(lines[1], "      total: cycles ") || !strings.HasPrefix(lines[2], "      total: engine time ") ||
		!strings.Contains(lines[2], " us -> ") || !strings.Contains(out, "      new: layer b\n      layer z: engine time ") || !strings.Contains(out, "x), and ") {
		t.Errorf("exit %d:\n%s", code, out)
	}
	for _, bad := range []string{" ns, got", "Common.", "counters", "the model"} {
		if strings.Contains(out, bad) {
			t.Errorf("%q in\n%s", bad, out)
		}
	}
}

// A share of more than one that does not say that it is a percentage is refused: 2 is 200 %.
func TestCheckRefusesBareNumbers(t *testing.T) {
	base := filepath.Join(t.TempDir(), "base.json")
	invoke("check", "--baseline", base, "--update", "--layer", "relu c=4")
	for text, code := range map[string]int{"2": 2, "1.5": 2, "2%": 0, "0.02": 0, "1": 0, "150%": 0} {
		if _, errs, got := invoke("check", "--baseline", base, "--max", text, "--layer", "relu c=4"); got != code {
			t.Errorf("--max %s: status %d, want %d: %s", text, got, code, errs)
		}
	}
}

// A network is the same as its own result, layer by layer, on either side.
func TestDiffOfANetworkWithItsResult(t *testing.T) {
	t.Parallel()
	network := exampleNetwork("transformer.yaml")
	doc, _, _ := invoke("model", network, "--json")
	file := writeFile(t, "result.json", []byte(doc))
	for _, pair := range [][2]string{{network, file}, {file, network}, {file, file}} {
		out, errs, code := invoke("diff", pair[0], pair[1])
		if code != 0 || !strings.Contains(out, "\n16 of 16 layers the same\n") || strings.Contains(out, " new\n") {
			t.Errorf("%v: %d, %s%s", pair, code, out, errs)
		}
	}
	out, _, _ := invoke("diff", file, network, "--chip", "m1max")
	if strings.Contains(out, "16 of 16") {
		t.Errorf("on another chip:\n%s", out)
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

// A diff of networks shows the layers that differ by name, and counts the descriptors that only
// moved. Values of weights of different sizes are not compared.
func TestDiffOfNetworks(t *testing.T) {
	net := func(name string, channels int) string {
		text := "inputs: {x: {c: 32, h: 28, w: 28}}\nlayers:\n"
		text += fmt.Sprintf("- {name: first, op: conv, cout: %d, k: 1}\n- {name: second, op: conv, cout: 64, k: 1}\n", channels)
		for i := range 6 {
			text += fmt.Sprintf("- {name: later%d, op: conv, cout: 64, k: 3, pad: 1}\n", i)
		}
		return writeFile(t, name, []byte(text))
	}
	a, b := net("a.yaml", 128), net("a-changed.yaml", 160)
	out, errs, code := invoke("diff", a, b)
	if code != exitDone {
		t.Fatal(errs)
	}
	for _, want := range []string{"  a.yaml", "\n  first (conv, descriptor 0): ", "\n  second (conv, descriptor 1): ", " bytes, so values are not compared\n", "\n6 of 8 descriptors differ only in addresses\n0 of 8 descriptors the same\n", " us  "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for _, bad := range []string{"later", "CoeffBaseAddr", "+0.00%", filepath.Dir(a)} {
		if strings.Contains(out, bad) {
			t.Errorf("%q in\n%s", bad, out)
		}
	}
}

// A check of values fails where there are none to compare, on whichever side, also in the file for
// CI systems. Without --values it says that the baseline has some.
func TestCheckValuesAreCompared(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, line := range []string{"layer gelu c=4 w=64 --timing-only --emit gelu.hwx", "convert gelu.hwx -o gelu.bin"} {
		if _, errs, code := invoke(strings.Fields(line)...); code != exitDone {
			t.Fatalf("%s: %s", line, errs)
		}
	}
	for _, step := range []struct {
		line string
		code int
		want string
	}{
		{"--update gelu.hwx", exitDone, ""},
		{"--values gelu.hwx", exitFailed, "FAIL  gelu.hwx: no checksums in the baseline"},
		{"--values --junit j.xml gelu.hwx", exitFailed, "1 of 1 model has no values to compare"},
		{"--values --update gelu.hwx", exitDone, ""},
		{"--values gelu.hwx", exitDone, "ok    gelu.hwx\n"},
		{"--values --seed 2 gelu.hwx", exitFailed, "output y: checksum"},
		{"gelu.hwx", exitDone, "ok    gelu.hwx\n      the checksums in the baseline were not compared"},
		// The table of a bare chain is an input, so that its values cannot be computed.
		{"--values --update gelu.bin", exitFailed, "gelu.bin: --values: no values: descriptor 0: activation table"},
		{"--update gelu.bin", exitDone, ""},
		{"--values gelu.bin", exitFailed, "FAIL  gelu.bin: no values: descriptor 0: activation table"},
	} {
		out, errs, code := invoke(strings.Fields("check --baseline b.json " + step.line)...)
		if code != step.code || !strings.Contains(out+errs, step.want) {
			t.Errorf("%s: exit %d, want %d and %q:\n%s%s", step.line, code, step.code, step.want, out, errs)
		}
	}
	if b, err := os.ReadFile("j.xml"); err != nil || !strings.Contains(string(b), `failures="1"`) || !strings.Contains(string(b), "no checksums in the baseline") {
		t.Errorf("%v, %s", err, b)
	}
}

// Updates of one baseline at once are all in it.
func TestCheckUpdatesAtOnce(t *testing.T) {
	base := filepath.Join(t.TempDir(), "b.json")
	const n = 8
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			if _, errs, code := invoke("check", "--baseline", base, "--update", "--layer", fmt.Sprintf("relu c=%d", i+1)); code != exitDone {
				t.Errorf("exit %d: %s", code, errs)
			}
		})
	}
	group.Wait()
	b, err := readBaseline(base, false)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if name := fmt.Sprintf("relu c=%d", i+1); !b.Has(name) {
			t.Errorf("the update of %q is lost", name)
		}
	}
}

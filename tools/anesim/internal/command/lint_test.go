package command

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// lintable returns a chain without findings, after replacing old by new in its text.
func lintable(t *testing.T, old, new string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "internal", "lint", "testdata", "chain.td"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(b, []byte(old)) {
		t.Fatalf("no %q in the chain", old)
	}
	i := bytes.LastIndex(b, []byte(old))
	return writeFile(t, "chain.td", append(append(bytes.Clone(b[:i]), new...), b[i+len(old):]...))
}

// Lint takes descriptor text, containers, networks and layers; the status says whether it
// found anything, and the line where.
func TestLint(t *testing.T) {
	clean := lintable(t, "PE.Cfg ", "PE.Cfg ")
	folded := lintable(t, "TileDMADst.DstDMAConfig  En CacheHint=12 b26\n", "TileDMADst.DstDMAConfig  En CacheHint=12 b26\nTileDMADst.DstPlaneStride 0\n")
	out, errs, code := invoke("lint", clean, example(t, "add"), exampleNetwork("transformer.yaml"), "--layer", "softmax c=64 h=8 w=8")
	if code != exitDone || errs != "" || strings.Count(out, "ok    ") != 4 || !strings.Contains(out, "chain.td: 3 descriptors, 0 findings") {
		t.Errorf("%d: %s%s", code, errs, out)
	}
	out, errs, code = invoke("lint", folded, clean)
	if code != exitFailed || !strings.Contains(errs, "1 finding in 1 of 2 programs") || !strings.Contains(out, "descriptor 2 TileDMADst.DstPlaneStride  fold: 4 parts are 0 bytes apart") {
		t.Errorf("%d: %s%s", code, errs, out)
	}
	for line := range strings.Lines(out) {
		if len(line) > lintWidth+1 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
	out, _, code = invoke("lint", "--json", folded)
	var doc jsonLint
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != exitFailed {
		t.Fatalf("%d: %v", code, err)
	}
	if p := doc.Programs; len(p) != 1 || p[0].Descriptors != 3 || len(p[0].Findings) != 1 || p[0].Findings[0].Register != "TileDMADst.DstPlaneStride" || p[0].Findings[0].Evidence == "" {
		t.Errorf("%+v", doc.Programs)
	}
	for _, bad := range [][]string{{"lint"}, {"lint", "--dim", "x", clean}, {"lint", "--layer", "rely c=4"}} {
		if _, errs, code := invoke(bad...); code != exitUsage {
			t.Errorf("%q: %d, %s", bad, code, errs)
		}
	}
	if _, errs, code := invoke("lint", filepath.Join(t.TempDir(), "none.hwx")); code != exitFailed || errs == "" {
		t.Errorf("%d, %q", code, errs)
	}
	if _, errs, code := invoke("lint", writeFile(t, "bad.td", []byte("Common.Nothing 1\n"))); code != exitFailed || !strings.Contains(errs, "bad.td") {
		t.Errorf("%d, %q", code, errs)
	}
}

// Check with --lint fails over a finding, also where every cost is that of the baseline.
func TestCheckLints(t *testing.T) {
	dir := t.TempDir()
	program, base := filepath.Join(dir, "planes.hwx"), filepath.Join(dir, "base.json")
	folded := lintable(t, "TileDMADst.DstDMAConfig  En CacheHint=12 b26\n", "TileDMADst.DstDMAConfig  En CacheHint=12 b26\nTileDMADst.DstPlaneStride 0\n")
	if _, errs, code := invoke("asm", folded, "-o", program); code != exitDone {
		t.Fatal(errs)
	}
	if _, errs, code := invoke("check", "--baseline", base, "--update", program); code != exitDone {
		t.Fatal(errs)
	}
	if out, errs, code := invoke("check", "--baseline", base, program); code != exitDone || strings.Contains(out, "fold") {
		t.Errorf("%d: %s%s", code, errs, out)
	}
	out, errs, code := invoke("check", "--baseline", base, "--lint", program, "--layer", "relu c=4")
	if code != exitFailed || !strings.Contains(out, "TileDMADst.DstPlaneStride") {
		t.Errorf("%d: %s%s", code, errs, out)
	}
	junit := filepath.Join(dir, "report.xml")
	if out, errs, code := invoke("check", "--baseline", base, "--lint", "--junit", junit, program); code != exitFailed || !strings.Contains(out, "ok    ") || !strings.Contains(errs, "1 finding in 1 of 1 program") {
		t.Errorf("%d: %s%s", code, errs, out)
	}
	xml, err := os.ReadFile(junit)
	if err != nil || !strings.Contains(string(xml), `tests="2" failures="1"`) || !strings.Contains(string(xml), "anesim.lint") || !strings.Contains(string(xml), "DstPlaneStride: fold") {
		t.Errorf("%v: %s", err, xml)
	}
}

// A program has the same finding in every form.
func TestLintOfEveryForm(t *testing.T) {
	dir := t.TempDir()
	container := filepath.Join(dir, "chain.hwx")
	if _, errs, code := invoke("asm", lintable(t, "L2.Src2Base              0x200", "L2.Src2Base 0x240"), "-o", container); code != exitDone {
		t.Fatal(errs)
	}
	for _, form := range []string{".hwx", ".anec", ".anefw", ".bin", ".td"} {
		file := filepath.Join(dir, "as"+form)
		if form == ".hwx" {
			file = container
		} else if _, errs, code := invoke("convert", container, "-o", file); code != exitDone {
			t.Fatal(errs)
		}
		if out, errs, code := invoke("lint", file); code != exitFailed || !strings.Contains(errs, "1 finding in") || !strings.Contains(out, "descriptor 2 L2.Src2Base  unwritten: reads 256 bytes of L2 at 0x240") {
			t.Errorf("%s: %d: %s%s", form, code, errs, out)
		}
	}
}

// Diff names the descriptor whose weights differ, though nothing else does.
func TestDiffComparesWeights(t *testing.T) {
	a := example(t, "identity")
	b, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.LastIndex(b, []byte{0x00, 0x3c, 0, 0, 0, 0, 0, 0})
	if at < 0 {
		t.Fatal("no weight of one")
	}
	b[at+1] = 0x40
	changed := writeFile(t, "changed.hwx", b)
	out, errs, code := invoke("diff", a, changed)
	if code != exitDone || !strings.Contains(out, "weights: 1 of 8,192 bytes differ, 1 of 4,096 values, by at most 1\n") || !strings.Contains(out, "1 of 2 descriptors the same") || !strings.Contains(out, "cycles of L2 write stall ") {
		t.Errorf("%d: %s%s", code, errs, out)
	}
	if out, errs, code := invoke("diff", a, a); code != exitDone || strings.Contains(out, "weights:") {
		t.Errorf("%d: %s%s", code, errs, out)
	}
}

// Register changes of --set are made as a program runs; lint reads the file.
func TestCheckLintRefusesSet(t *testing.T) {
	_, errs, code := invoke("check", "--baseline", filepath.Join(t.TempDir(), "b.json"), "--update", "--lint", "--set", "PE.Cfg.OpMode=1", "--layer", "relu c=4")
	if code != exitUsage || !strings.Contains(errs, "cannot combine --lint with --set") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// A container without the relocations of its weight addresses runs as before, and run, asm, load and fw
// warn of it. It fails a check, unless its baseline has no relocations either, and diff shows what only one
// side has. One with all of them has no warning and passes.
func TestRelocationsAreCompared(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if _, errs, code := invoke("layer", "softmax", "c=64", "h=8", "w=8", "--timing-only", "--emit", "whole.hwx"); code != exitDone {
		t.Fatal(errs)
	}
	data, err := os.ReadFile("whole.hwx")
	if err != nil {
		t.Fatal(err)
	}
	// The header of a section has the count of its relocations 60 bytes after its name.
	name := bytes.Index(data, []byte("__text\x00"))
	if name < 0 || binary.LittleEndian.Uint32(data[name+60:]) != 17 {
		t.Fatal("the section of descriptors does not have 17 relocations")
	}
	binary.LittleEndian.PutUint32(data[name+60:], 0)
	for file, text := range map[string]string{
		"none.hwx":  string(data),
		"none.yaml": "duration: 1us\nclients: [{model: none.hwx}]\n", "whole.yaml": "duration: 1us\nclients: [{model: whole.hwx}]\n",
		"none.fw":  "model m file none.hwx\nclient c rights=user-access\ncall c ANE_DeviceOpen\nsend control BOOT\ncall c ANE_ProgramCreate model=m\nexpect Success\n",
		"whole.fw": "model m file whole.hwx\nsend control BOOT\nsend control LOAD_PROGRAM program=0 model=m\nexpect ok\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"whole", "none"} {
		text, errs, code := invoke("dump", name+".hwx", "--text")
		if code != exitDone {
			t.Fatal(errs)
		}
		if err := os.WriteFile(name+".td", []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	const says = "warning: "
	const what = "weight addresses without a relocation: 17, the first of descriptor 2; they stay where they are if the constants move"
	for _, command := range []string{"run X.hwx", "run X.hwx --timing-only", "run X.hwx --json", "asm X.td -o copy.hwx", "load X.yaml", "load X.yaml --json", "fw X.fw"} {
		for file, want := range map[string]bool{"none": true, "whole": false} {
			out, errs, code := invoke(strings.Fields(strings.ReplaceAll(command, "X", file))...)
			_, warned, _ := strings.Cut(strings.Join(strings.Fields(out+errs), " "), says)
			if strings.Contains(command, "--json") {
				warned = out
			}
			if code != exitDone || strings.Contains(warned, what) != want {
				t.Errorf("%s of %s: exit %d, warning wanted: %v\n%s%s", command, file, code, want, out, errs)
			}
		}
	}
	place := func(file string) { // as the program that is checked
		t.Helper()
		data, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile("p.hwx", data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		program, command string
		code             int
		says             string
	}{
		{"whole.hwx", "check --baseline b.json --update p.hwx", exitDone, "wrote 1 model"},
		{"whole.hwx", "check --baseline b.json p.hwx", exitDone, "ok p.hwx"},
		{"none.hwx", "check --baseline b.json p.hwx", exitFailed, "FAIL p.hwx: " + what},
		{"none.hwx", "check --baseline b.json --set Common.TaskInfo.TaskID=3 p.hwx", exitFailed, what + " anesim: 1 of 1 model"},
		{"none.hwx", "check --expect cycles>=1 p.hwx", exitFailed, what},
		{"whole.hwx", "check --expect cycles>=1 p.hwx", exitDone, "ok p.hwx"},
		{"none.hwx", "check --expect cycles>=1 --junit j.xml p.hwx", exitFailed, "1 of 1 model has wrong relocations (a baseline accepts them with --update)"},
		{"none.hwx", "check --baseline none.json --update p.hwx", exitDone, "p.hwx: warning: " + what},
		{"none.hwx", "check --baseline none.json p.hwx", exitDone, "ok p.hwx"},
		{"whole.hwx", "check --baseline none.json p.hwx", exitDone, "ok p.hwx"},
		{"none.hwx", "lint p.hwx", exitFailed, "weight addresses without a relocation"},
		{"none.hwx", "diff whole.hwx p.hwx", exitDone, "p.hwx: " + what},
		{"none.hwx", "diff none.hwx p.hwx", exitDone, "same"},
	} {
		place(tc.program)
		out, errs, code := invoke(strings.Fields(tc.command)...)
		if text := strings.Join(strings.Fields(out+" "+errs), " "); code != tc.code || !strings.Contains(text, tc.says) || strings.Count(text, what) > 1 {
			t.Errorf("%s of %s: exit %d\n%s%s; want exit %d and %q", tc.command, tc.program, code, out, errs, tc.code, tc.says)
		}
	}
	junit, err := os.ReadFile("j.xml")
	if err != nil || !bytes.Contains(junit, []byte(`failures="1"`)) || !bytes.Contains(junit, []byte(what)) {
		t.Errorf("%v: %s", err, junit)
	}
}

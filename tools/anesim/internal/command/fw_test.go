package command

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"anesim/internal/firmware/driver"
)

// Every example script goes as its expectations say, and docs/firmware.md refers to it. TestDocs holds
// the page to what the scripts print.
func TestFirmwareExamples(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "firmware.md"))
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Glob(exampleLoad("*.fw"))
	if err != nil || len(scripts) < 10 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	for _, script := range scripts {
		name := filepath.Base(script)
		if out, errs, code := invoke("fw", script); code != exitDone {
			t.Errorf("%s: exit %d: %s%s", name, code, errs, out)
		}
		if !strings.Contains(string(page), "tools/anesim/examples/"+name) {
			t.Errorf("docs/firmware.md does not have %s", name)
		}
	}
}

// The page has every conflict of the documents, both readings.
func TestConflictsAreOnThePage(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "firmware.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range driver.Conflicts() {
		if row := fmt.Sprintf("| %s | %s (%s) | %s (%s) | %s |\n", c.What, c.One, c.OneAt, c.Other, c.OtherAt, c.Taken); !strings.Contains(string(b), row) {
			t.Errorf("the page lacks %s", row)
		}
	}
}

// What load records, fw plays: as many calls as the load has.
func TestRecordALoad(t *testing.T) {
	for _, script := range []string{"documents/two-threads.yaml", "load.yaml"} {
		file := filepath.Join(t.TempDir(), "load.fw")
		text, err := os.ReadFile(exampleLoad(script))
		if err != nil {
			t.Fatal(err)
		}
		// Three milliseconds of it, from a copy beside the models.
		short := filepath.Join(t.TempDir(), "short.yaml")
		var b strings.Builder
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "duration:") {
				line = "duration: 3ms\n"
			}
			if before, name, ok := strings.Cut(line, "model: "); ok {
				name, _, _ = strings.Cut(strings.TrimSpace(name), " ")
				path, err := filepath.Abs(exampleLoad(strings.TrimSpace(name)))
				if err != nil {
					t.Fatal(err)
				}
				line = before + "model: " + path + "\n"
			}
			b.WriteString(line)
		}
		if err := os.WriteFile(short, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		plain, _, _ := invoke("load", short, "--json")
		out, errs, code := invoke("load", short, "--record", file, "--json")
		if code != exitDone || out != plain {
			t.Fatalf("%s: exit %d: %s\n%s\nwithout --record:\n%s", script, code, errs, out, plain)
		}
		out, errs, code = invoke("fw", file)
		if code != exitDone || !strings.Contains(out, "expect finished ") || strings.Contains(out, "expect finished 0\n") {
			t.Errorf("%s: exit %d: %s\n%s", script, code, errs, out)
		}
	}
	if _, errs, code := invoke("load", exampleLoad("load.yaml"), "--record", exampleLoad("load.yaml")); code == exitDone {
		t.Errorf("a record over its script: %s", errs)
	}
}

// What run records, fw plays.
func TestRecordAndPlay(t *testing.T) {
	for _, words := range [][]string{{"run"}, {"run", example(t, "add"), "--repeat", "2"}, {"layer", "relu", "c=4", "h=3", "w=5"}} {
		file := filepath.Join(t.TempDir(), "run.fw")
		if _, errs, code := invoke(append(words, "--record", file)...); code != exitDone {
			t.Fatalf("%q: exit %d: %s", words, code, errs)
		}
		out, errs, code := invoke("fw", file)
		if code != exitDone || !strings.Contains(out, "expect crc32 0 ") {
			t.Errorf("%q: exit %d: %s\n%s", words, code, errs, out)
		}
	}
	if _, errs, code := invoke("run", "--record", "x", "--idle", "1s"); code != exitUsage {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// The tables have every command and where its body comes from, every selector with its
// sizes, and every gate.
func TestFirmwareTables(t *testing.T) {
	out, errs, code := invoke("fw", "--tables")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var rows [][]string
	for line := range strings.Lines(out) {
		rows = append(rows, strings.Fields(line))
	}
	for _, want := range []string{
		"0x5c DEBUG_COMMAND_DATA_CHECK H->FW stats layout ours (assumed)", "0x41 PROCEDURE_CALL H->FW execution layout ours (assumed)",
		"0x24 DSID_SET H->FW cache unknown", "0x5b BACK_CHANNEL_RPC FW<->H property unknown", "0x0f BOOT H->FW lifecycle none",
		"2 ANE_ProgramSendRequest 1 2376 0 40", "8 ANE_ProgramChainingSetActiveProcedure 0 32 0 0",
		"ANE_SendCommand raw firmware command privileged virtual-machine access", "Error 0xe0000001 0xe00002bc",
	} {
		if !slices.ContainsFunc(rows, func(r []string) bool { return strings.Join(r, " ") == want }) {
			t.Errorf("no row %q", want)
		}
	}
	n := 0
	for _, r := range rows {
		if len(r) > 0 && len(r[0]) == 4 && strings.HasPrefix(r[0], "0x") {
			n++
		}
	}
	if n != 93 {
		t.Errorf("%d commands", n)
	}
	if _, _, code := invoke("fw", "--tables", "x.fw"); code != exitUsage {
		t.Errorf("tables and a script: exit %d", code)
	}
	if _, _, code := invoke("fw"); code != exitUsage {
		t.Errorf("no script: exit %d", code)
	}
}

func TestFirmwareErrors(t *testing.T) {
	bad := writeFile(t, "bad.fw", []byte("send control BOOT\nexpect refused\n"))
	if _, errs, code := invoke("fw", bad); code != exitFailed || !strings.Contains(errs, `bad.fw: line 2: last outcome is "ok"; want "refused"`) {
		t.Errorf("exit %d: %s", code, errs)
	}
	// A file that a script names but nobody finds is a mistake in that line of the script.
	for command, text := range map[string]string{"fw": "model m file none.hwx\n", "load": "duration: 1ms\nclients:\n- {model: none.hwx}\n"} {
		script := writeFile(t, "names.txt", []byte(text))
		if _, errs, code := invoke(command, script); code != exitFailed || !strings.Contains(errs, "names.txt: line ") || !strings.Contains(errs, "none.hwx: no such file") {
			t.Errorf("%s: exit %d: %s", command, code, errs)
		}
	}
}

// A parameter that the program does not have, or a word that gives none, is refused.
func TestBindFlag(t *testing.T) {
	if _, errs, code := invoke("run", "--bind", "rows=3"); code != exitFailed || !strings.Contains(errs, `unknown run-time parameter "rows"; the program has none`) {
		t.Errorf("exit %d: %s", code, errs)
	}
	if _, errs, code := invoke("run", "--bind", "rows"); code != exitUsage {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// A run and a load of one program with sizes of their own are recorded with these sizes, and the script
// has the cycles and values of the run and the engine time of the load.
func TestRecordedSizes(t *testing.T) {
	dir := t.TempDir()
	program, script, load := filepath.Join(dir, "mm.hwx"), filepath.Join(dir, "r.fw"), filepath.Join(dir, "l.yaml")
	for _, words := range [][]string{
		{"layer", "matmul", "m=16", "n=32", "rhs=runtime", "--over", "k=32..128+32", "--emit", program, "--timing-only"},
		{"run", program, "--bind", "k=64", "--repeat", "2", "--record", script},
	} {
		if _, errs, code := invoke(words...); code != exitDone {
			t.Fatalf("%q: exit %d: %s", words, code, errs)
		}
	}
	text, err := os.ReadFile(script)
	if err != nil || !strings.Contains(string(text), "bind=k:64\nexpect ok\nexpect cycles 0 375\n") {
		t.Errorf("%v:\n%s", err, text)
	}
	if out, errs, code := invoke("fw", script); code != exitDone {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if err := os.WriteFile(load, []byte("duration: 20us\nclients:\n- {name: sizes, model: mm.hwx, bind: {k: [32, 64, 128]}}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	out, errs, code := invoke("load", load, "--record", script)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	played, errs, code := invoke("fw", script)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	busy := regexp.MustCompile(`busy ([0-9.]+ us) of`)
	if a, b := busy.FindStringSubmatch(out), busy.FindStringSubmatch(played); a == nil || b == nil || a[1] != b[1] {
		t.Errorf("the load is %q, its script %q", a, b)
	}
}

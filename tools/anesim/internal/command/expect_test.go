package command

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anesim/internal/material"
)

// jsonCosts holds the numbers of a JSON report that expectations can have.
type jsonCosts struct {
	Descriptors []struct {
		Cycles    map[string]uint64
		TimeNs    float64 `json:"time_ns"`
		EnergyNJ  float64 `json:"energy_nj"`
		MACs      uint64
		ExeCycles struct{ Stored, Model uint64 } `json:"exe_cycles"`
		DMABytes  struct{ Total uint64 }         `json:"dma_bytes"`
	}
	Layers []struct {
		Name  string
		Total jsonTotal
	}
	Cycles map[string]uint64
	Total  jsonTotal
}

type jsonTotal struct {
	Cycles           uint64
	TimeNs           json.Number `json:"time_ns"`
	EnergyNJ         json.Number `json:"energy_nj"`
	DispatchEnergyNJ json.Number `json:"dispatch_energy_nj"`
	DMABytes         uint64      `json:"dma_bytes"`
	MACs             uint64
}

func (t *jsonTotal) rows(input, part string) []string {
	return []string{
		fmt.Sprintf("%s,%s,cycles,%d,", input, part, t.Cycles), fmt.Sprintf("%s,%s,time_ns,%s,", input, part, t.TimeNs),
		fmt.Sprintf("%s,%s,energy_nj,%s,", input, part, t.EnergyNJ), fmt.Sprintf("%s,%s,dma_bytes,%d,", input, part, t.DMABytes),
		fmt.Sprintf("%s,%s,macs,%d,", input, part, t.MACs),
	}
}

func readJSONCosts(t *testing.T, args ...string) *jsonCosts {
	t.Helper()
	out, errs, code := invoke(append(args, "--json")...)
	c := new(jsonCosts)
	if err := json.Unmarshal([]byte(out), c); code != exitDone || err != nil {
		t.Fatalf("%q: status %d, %v: %s", args, code, err, errs)
	}
	return c
}

const expectHeader = "input,descriptor,measure,value,tolerance\n"

// Expectations written from the JSON reports of a program and a network pass in one check. With one
// value changed by one, the check fails and names its input, part and measure, and only that.
func TestExpectAgreesWithReports(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	net := "inputs: {x: {c: 16, h: 14, w: 14}}\nlayers:\n- {name: first, op: conv, cout: 32, k: 3, pad: 1}\n- {name: second, op: conv, cout: 8}\n"
	if err := os.WriteFile("net.yaml", []byte(net), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := invoke("layer", "conv", "cin=8", "h=16", "w=16", "cout=32", "--timing-only", "--emit", "c.hwx"); code != exitDone {
		t.Fatal(errs)
	}
	program, network := readJSONCosts(t, "run", "c.hwx", "--timing-only"), readJSONCosts(t, "model", "net.yaml")
	rows := program.Total.rows("c.hwx", "total")
	rows = append(rows, fmt.Sprintf("c.hwx,,dispatch_energy_nj,%s,", program.Total.DispatchEnergyNJ))
	for cause, n := range program.Cycles {
		if cause != "total" {
			rows = append(rows, fmt.Sprintf("c.hwx,,%s,%d,", cause, n))
		}
	}
	for i, d := range program.Descriptors {
		rows = append(rows, fmt.Sprintf("c.hwx,%d,cycles,%d,", i, d.Cycles["total"]), fmt.Sprintf("c.hwx,%d,exe_cycles,%d,", i, d.ExeCycles.Model),
			fmt.Sprintf("c.hwx,%d,dma_bytes,%d,", i, d.DMABytes.Total), fmt.Sprintf("c.hwx,%d,macs,%d,", i, d.MACs))
	}
	rows = append(rows, network.Total.rows("net.yaml", "")...)
	for i := range network.Layers {
		rows = append(rows, network.Layers[i].Total.rows("net.yaml", network.Layers[i].Name)...)
	}
	check := func(rows []string) (string, string, int) {
		if err := os.WriteFile("e.csv", []byte(expectHeader+strings.Join(rows, "\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		return invoke("check", "--expect", "e.csv", "c.hwx", "net.yaml")
	}
	if out, errs, code := check(rows); code != exitDone || strings.Count(out, "ok    ") != len(rows) {
		t.Fatalf("status %d, want %d lines of ok:\n%s%s", code, len(rows), out, errs)
	}
	for i, row := range rows {
		cells := strings.Split(row, ",")
		whole, rest, _ := strings.Cut(cells[3], ".")
		var n uint64
		if _, err := fmt.Sscan(whole, &n); err != nil {
			t.Fatal(err)
		}
		cells[3] = fmt.Sprint(n + 1)
		if rest != "" {
			cells[3] += "." + rest
		}
		changed := append(append(append([]string(nil), rows[:i]...), strings.Join(cells, ",")), rows[i+1:]...)
		out, errs, code := check(changed)
		line := ""
		for l := range strings.Lines(out) {
			if strings.HasPrefix(l, "FAIL  ") {
				line += l
			}
		}
		if code != exitFailed || strings.Count(line, "\n") != 1 || !strings.HasPrefix(line, "FAIL  "+cells[0]+": ") || !strings.Contains(line, ": "+cells[2]+" ") {
			t.Errorf("%s: status %d, %s%s", strings.Join(cells, ","), code, line, errs)
		}
	}
}

// A miss has the difference and the largest parts of the value, in text and in JUnit. A tolerance
// of 2% accepts what one of 1% does not.
func TestExpectMiss(t *testing.T) {
	t.Chdir(t.TempDir())
	layer := "conv cin=8 h=16 w=16 cout=32"
	total := readJSONCosts(t, append(strings.Fields("layer "+layer), "--timing-only")...).Total
	near := fmt.Sprintf("cycles=%.0f", float64(total.Cycles)/1.015)
	args := []string{"check", "--layer", layer, "--junit", "j.xml", "--expect", near + "+-2%"}
	if out, errs, code := invoke(args...); code != exitDone || !strings.HasPrefix(out, "ok    "+layer+": total: cycles ") {
		t.Errorf("status %d: %s%s", code, out, errs)
	}
	out, errs, code := invoke(append(args, "--expect", near+"+-1%", "--expect", "energy_nj@0<=1000")...)
	if code != exitFailed || errs != "anesim: 2 of 3 expectations missed\n" {
		t.Errorf("status %d: %s", code, errs)
	}
	for _, want := range []string{"+-1% (+1.", "inside anesim's error", "output stall ", "0 (conv): energy_nj ", "expected at most 1.000 uJ (+", "        memory "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	xml, err := os.ReadFile("j.xml")
	if err != nil || !strings.Contains(string(xml), `tests="3" failures="2"`) || !strings.Contains(string(xml), `message="descriptor 0 (conv): energy_nj `) {
		t.Errorf("%v: %s", err, xml)
	}
}

// A file with only the totals of many inputs serves a check of any of them, from any directory. A
// check fails if the file has no row for its inputs.
func TestExpectTotals(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	rows := expectHeader
	args := []string{"check", "--expect", "e.csv"}
	for c := 1; c <= 100; c++ {
		layer := fmt.Sprintf("relu c=%d", c)
		rows += layer + ",total,macs,0,\n"
		args = append(args, "--layer", layer)
	}
	rows += "sub/p.hwx,,cycles,1,>=\n"
	if err := os.WriteFile("e.csv", []byte(rows), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, errs, code := invoke(args...); code != exitDone || strings.Count(out, "ok    ") != 100 || !strings.HasSuffix(out, "e.csv: 1 expectation for other inputs, not compared\n") {
		t.Errorf("status %d: %s%s", code, out, errs)
	}
	if err := os.Mkdir("sub", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(example(t, "identity"), filepath.Join("sub", "p.hwx")); err != nil {
		t.Fatal(err)
	}
	t.Chdir("sub")
	if out, errs, code := invoke("check", "--expect", "../e.csv", "p.hwx"); code != exitDone || !strings.HasPrefix(out, "ok    p.hwx: total: cycles ") {
		t.Errorf("status %d: %s%s", code, out, errs)
	}
	if out, errs, code := invoke("check", "--expect", "../e.csv", "--layer", "relu c=101"); code != exitFailed || !strings.Contains(errs, "no expectation was compared") {
		t.Errorf("status %d: %s%s", code, out, errs)
	}
}

// The estimates that Apple's compiler stored in its programs are expectations that the model
// meets.
func TestExpectStoredEstimates(t *testing.T) {
	for _, program := range material.Files(t, "oracles/eiln_selu_*.text.bin", "oracles/chain_ffn_*.text.bin", "texts/conv_probe_k1_c256_*.text.bin") {
		rows, sum := "descriptor,measure,value\n", uint64(0)
		descriptors := readJSONCosts(t, "run", program, "--timing-only").Descriptors
		for i, d := range descriptors {
			rows += fmt.Sprintf("%d,exe_cycles,%d\n", i, d.ExeCycles.Stored)
			sum += d.ExeCycles.Stored
		}
		rows += fmt.Sprintf("total,exe_cycles,%d\n", sum)
		file := writeFile(t, "e.csv", []byte(rows))
		out, errs, code := invoke("check", "--expect", file, program)
		if code != exitDone || sum == 0 || strings.Count(out, ": exe_cycles ") != len(descriptors)+1 {
			t.Errorf("status %d: %s%s", code, out, errs)
		}
	}
}

// An expectation that does not exist is a mistake in the command line, with its place. A baseline
// and expectations are checked together, and a network without all costs misses its totals.
func TestExpectCommandLine(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"e.csv":     expectHeader + "relu c=4,1,cycles,1,\n",
		"part.yaml": partlyModelled,
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if _, errs, code := invoke("check", "--baseline", "b.json", "--update", "--layer", "relu c=4"); code != exitDone {
		t.Fatal(errs)
	}
	for _, x := range []struct {
		args string
		code int
		want string
	}{
		{"--expect e.csv", exitUsage, "e.csv:2:10: descriptor 1 is not in relu c=4, which has 1 descriptor"},
		{"--expect cycles@x<=1", exitUsage, "column 8: no layer"},
		{"--expect cycels<=1", exitUsage, "column 1: unknown measure"},
		{"--expect cycles<=1 --update --baseline b.json", exitUsage, "mutually exclusive"},
		{"--expect cycles<=1 --values", exitUsage, "need --baseline"},
		{"--expect e.csv --junit e.csv", exitUsage, "e.csv"},
		{"--expect cycles>=1 --junit cycles", exitDone, "ok    "},
		{"--expect missing.csv", exitFailed, "missing.csv"},
		{"--expect cycles>=1 --baseline b.json", exitDone, "ok    relu c=4\nok    relu c=4: total: cycles"},
		{"--expect cycles<=1 --baseline b.json --chip m1,Clock=1e9", exitFailed, "more than 0%, 1 of 1 expectation missed"},
	} {
		out, errs, code := invoke(append([]string{"check", "--layer", "relu c=4"}, strings.Fields(x.args)...)...)
		if code != x.code || !strings.Contains(out+errs, x.want) {
			t.Errorf("%s: status %d, want %d with %q: %s%s", x.args, code, x.code, x.want, out, errs)
		}
	}
	out, _, code := invoke("check", "--expect", "cycles>=1", "--expect", "cycles@wide>=1", "--expect", "cycles@narrow>=1", "part.yaml")
	for _, want := range []string{"FAIL  part.yaml: total: cycles: " + incompleteLine, "FAIL  part.yaml: layer wide: cycles: " + incompleteLine, "ok    part.yaml: layer narrow: cycles "} {
		if code != exitFailed || !strings.Contains(out, want) {
			t.Errorf("status %d, no %q in\n%s", code, want, out)
		}
	}
}

// Apple's estimate is that of the chosen target, as in a run.
func TestCheckUsesTheTarget(t *testing.T) {
	layer := []string{"conv", "cin=64", "h=32", "w=32", "cout=64", "k=3", "pad=1"}
	found := map[uint64]bool{}
	for _, target := range []string{"h13", "h13g"} {
		c := readJSONCosts(t, append(append([]string{"layer"}, layer...), "--timing-only", "--target", target)...)
		n := c.Descriptors[0].ExeCycles.Model
		found[n] = true
		out, errs, code := invoke("check", "--layer", strings.Join(layer, " "), "--target", target, "--expect", fmt.Sprintf("exe_cycles=%d", n))
		if code != exitDone {
			t.Errorf("%s: exit %d: %s%s; want %d, as layer reports", target, code, out, errs, n)
		}
	}
	if len(found) != 2 {
		t.Errorf("estimates %v; want another for each target", found)
	}
	if _, errs, code := invoke("check", "--layer", strings.Join(layer, " "), "--target", "h99", "--expect", "cycles>=1"); code != exitUsage || !strings.Contains(errs, `unknown target "h99"`) {
		t.Errorf("exit %d: %s; want the target refused", code, errs)
	}
}

// An argument of --expect that is neither an expectation nor a file is refused with what to write
// instead, and that works.
func TestExpectNeedsAnArgument(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("e=q.csv", []byte("measure,value\nmacs,0\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ expect, want string }{
		{"", `--expect "": want a FILE or an expectation, such as 'cycles<=600'`},
		{"e=q.csv", "for a file of this name, write ." + string(filepath.Separator) + "e=q.csv"},
		{"none=q.CSV", "for a file of this name"},
		{"cycle=6", "unknown measure \"cycle\""},
	} {
		_, errs, code := invoke("check", "--layer", "relu c=4", "--expect", c.expect)
		if code != exitUsage || !strings.Contains(errs, c.want) || strings.Contains(errs, "of this name") != strings.Contains(c.expect, "q") {
			t.Errorf("%q: exit %d: %s; want %s", c.expect, code, errs, c.want)
		}
	}
	if out, errs, code := invoke("check", "--layer", "relu c=4", "--expect", "./e=q.csv"); code != exitDone {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
}

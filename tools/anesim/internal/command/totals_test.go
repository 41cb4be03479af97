package command

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anesim/internal/network/onnxtest"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/text"
)

// A report of a network ends with what it began with, adds its operations up, and lists as
// many layers as were asked for. What a layer of more than a twentieth of the time rests on
// stands below the table, and the layer's row has its mark.
func TestNetworkTotals(t *testing.T) {
	file := exampleNetwork("resnet50.yaml")
	all, errs, code := invoke("model", file)
	if code != 0 {
		t.Fatal(errs)
	}
	for _, want := range []string{
		"\noperation  layers", "\nconv           53",
		"\nin all: ", "of weights (pseudo-random, shared by layers of equal shape), ", "multiply-accumulates needed", " MACs, ",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	marked, _, _ := invoke("model", pooledNetwork(t))
	for _, want := range []string{"\npool1 [1]", "% of the time is inferred:\n    no program shows a pooling window"} {
		if !strings.Contains(marked, want) {
			t.Errorf("no %q in\n%s", want, marked)
		}
	}
	few, _, _ := invoke("model", file, "--top", "3")
	if !strings.Contains(few, "\nand 69 layers more, counted in the totals") || strings.Count(few, "\nres2") != 3 {
		t.Errorf("--top 3:\n%s", few)
	}
	if i := strings.Index(all, "total: "); i < 0 || !strings.Contains(few, all[i:]) {
		t.Error("--top changes what stands behind the table")
	}
	if _, _, code := invoke("model", file, "--top", "-1"); code != 2 {
		t.Errorf("--top -1: status %d", code)
	}
}

// pooledNetwork writes a network of a pool and a convolution to a file. The pool is inferred and
// is most of the time.
func pooledNetwork(t *testing.T) (file string) {
	file = filepath.Join(t.TempDir(), "pooled.yaml")
	list := "inputs: {x: {c: 64, h: 56, w: 56}}\nlayers:\n  - {name: pool1, op: pool, k: 3, stride: 2, pad: 1}\n  - {op: conv, cout: 64, k: 1}\n"
	if err := os.WriteFile(file, []byte(list), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// Parts of a network are explained with what their descriptors rest on, and a change to one
// layer with what it may gain of all of them.
func TestExplainedLimits(t *testing.T) {
	out, _, _ := invoke("explain", pooledNetwork(t))
	if !strings.Contains(out, "% of the cycles (pool1)") {
		t.Error(out)
	}
	out, _, _ = invoke("explain", exampleNetwork("transformer.yaml"))
	if !strings.Contains(out, "   of the call at most -") {
		t.Error(out)
	}
	out, _, _ = invoke("layer", "pool", "c=64", "h=56", "w=56", "k=3", "stride=2", "--timing-only")
	if !strings.Contains(out, "\ninferred: no program shows a pooling window") {
		t.Error(out)
	}
}

// A network of which the host does everything is not covered by the engine.
func TestHostAloneCoversNothing(t *testing.T) {
	file := writeFile(t, "host.onnx", hostOnly())
	out, errs, _ := invoke("model", file)
	for _, want := range []string{
		"covers: nothing runs on the engine: ", "\ntotal: no program runs on the engine; ", "\nwall: 5.14 us, 5.14 us of it in layers that the host computes\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s%s", want, out, errs)
		}
	}
}

// The wall time says how much of the host's part are layers, with and without the overhead of calls.
func TestWallOfHostLayers(t *testing.T) {
	file := writeFile(t, "mixed.onnx", onnxtest.Model(onnxtest.Input("x", 1, 4, 8, 8), onnxtest.Node("Relu", "r", []string{"x"}), onnxtest.Node("NonZero", "y", []string{"r"}), onnxtest.Output("y")))
	for host, want := range map[string]string{
		"none":      " us of it in layers that the host computes\n",
		"macos-air": " us of it host macos-air, including 5.14 us in layers that the host computes\n",
	} {
		if out, errs, _ := invoke("model", file, "--host", host); !strings.Contains(out, want) {
			t.Errorf("%s: no %q in\n%s%s", host, want, out, errs)
		}
	}
}

// hostOnly returns a network with a single operator that the engine does not support.
func hostOnly() []byte {
	return onnxtest.Model(onnxtest.Input("x", 1, 4, 8, 8), onnxtest.Node("NonZero", "y", []string{"x"}), onnxtest.Output("y"))
}

// The compute cycles of a report say which engine computes.
func TestComputeByEngine(t *testing.T) {
	file := writeFile(t, "both.yaml", []byte("inputs: {x: {c: 64, h: 28, w: 28}}\nlayers:\n- {op: conv, cout: 64, k: 3, pad: 1}\n- {op: pool, k: 2, stride: 2}\n- {op: conv, cout: 64, k: 3, pad: 1}\n"))
	for _, tc := range []struct {
		args []string
		want []string
	}{
		{[]string{"model", file}, []string{"\nwhy: compute ", "% (array ", "planar engine ", "%: array "}},
		{[]string{"layer", "add", "c=64", "h=28", "w=28", "--timing-only"}, []string{": planar engine)"}},
	} {
		out, errs, code := invoke(tc.args...)
		if code != exitDone {
			t.Fatalf("%q: exit %d: %s", tc.args, code, errs)
		}
		for _, want := range tc.want {
			if !strings.Contains(out, want) {
				t.Errorf("%q prints no %q:\n%s", tc.args, want, out)
			}
		}
	}
	if out, _, _ := invoke("layer", "conv", "c=16", "h=8", "w=8", "cout=16", "--timing-only"); strings.Contains(out, "planar engine") {
		t.Errorf("the planar engine in a convolution:\n%s", out)
	}
}

// A row that adds up several layers says so, however long their names are.
func TestRowsOfAlikeLayers(t *testing.T) {
	name := strings.Repeat("a_very_long_name_of_a_layer_", 4)
	text := "inputs: {x: {c: 64, h: 28, w: 28}}\nlayers:\n"
	for i := range 4 {
		text += fmt.Sprintf("- {name: %s%d, op: conv, cout: 64, k: 3, pad: 1}\n", name, i)
	}
	out, errs, code := invoke("model", writeFile(t, "alike.yaml", []byte(text)))
	if code != exitDone {
		t.Fatal(errs)
	}
	head, _, _ := strings.Cut(out, "\nwhy: ")
	if !strings.Contains(head, "  layers  ") || !strings.Contains(head, " alike  ") {
		t.Errorf("the first table does not count layers:\n%s", head)
	}
}

// Calls per second are those of the wall time, which the line names if a host adds to it.
func TestCallsPerSecond(t *testing.T) {
	file := writeFile(t, "net.yaml", []byte("inputs: {x: {c: 64, h: 28, w: 28}}\nlayers:\n- {op: conv, cout: 64, k: 3, pad: 1}\n"))
	r := model(t, file, "--host", "macos-air")
	out, _, _ := invoke("model", file, "--host", "macos-air")
	if want := fmt.Sprintf("\nin all: %s of wall time, %s of engine time (", report.TimeText(r.Total.WallNs), report.TimeText(r.Total.TimeNs)); !strings.Contains(out, want) {
		t.Errorf("no %q in\n%s", want, out)
	}
	// The energy of that line is that of the wall time, as in the summary.
	if want, power := " calls/s, "+report.EnergyText(r.Total.WallEnergyNJ)+";", report.EnergyText(r.Total.WallEnergyNJ)+" in "; !strings.Contains(out, want) || r.Total.WallEnergyNJ <= r.Total.EnergyNJ {
		t.Errorf("no %q in\n%s", want, out)
	} else if out, _, _ := invoke("model", file, "--host", "macos-air", "--summary"); !strings.Contains(out, power) {
		t.Errorf("no %q in\n%s", power, out)
	}
	if out, _, _ := invoke("model", file); !strings.Contains(out, fmt.Sprintf("\nin all: %s of engine time (", report.TimeText(r.Total.TimeNs))) {
		t.Errorf("without a host:\n%s", out)
	}
}

// A run with other registers or gated tiles is marked in text, JSON and pages, and a field that no
// descriptor uses is named.
func TestWhatIfsAreMarked(t *testing.T) {
	dir := t.TempDir()
	file, page := filepath.Join(dir, "conv.hwx"), filepath.Join(dir, "page.html")
	if _, errs, code := invoke("layer", "conv", "cin=64", "h=28", "w=28", "cout=64", "k=3", "pad=1", "--timing-only", "--emit", file); code != exitDone {
		t.Fatal(errs)
	}
	for _, tc := range []struct{ set, want string }{
		{"PE.Cfg.OpMode=1", "PE.Cfg.OpMode=0x1 has no effect: no descriptor uses the planar engine"},
		{"Common.ConvCfg.OCGSize=0", "Common.ConvCfg.OCGSize=0x0 changes 1 descriptor"},
		{"Common.ConvCfg.Kw=3", "Common.ConvCfg.Kw=0x3 has no effect: the descriptors have this value already"},
	} {
		out, errs, code := invoke("run", file, "--timing-only", "--set", tc.set, "--gate-tiles", "0-3,7", "--html", page)
		if code != exitDone || !strings.Contains(out, "\nwhat-if: "+tc.want+"\nwhat-if: gated tiles 0-3,7\n") {
			t.Errorf("%s: exit %d: %s%s", tc.set, code, out, errs)
		}
		b, err := os.ReadFile(page)
		if err != nil || !strings.Contains(string(b), "<strong>what-if</strong>: "+tc.want) {
			t.Errorf("%s: the page has no %q (%v)", tc.set, tc.want, err)
		}
		out, _, _ = invoke("run", file, "--timing-only", "--set", tc.set, "--json")
		var d report.Run
		if err := json.Unmarshal([]byte(out), &d); err != nil || len(d.WhatIfs) != 1 || d.WhatIfs[0].String() != tc.want {
			t.Errorf("%s: what_ifs %+v (%v)", tc.set, d.WhatIfs, err)
		}
	}
	out, _, _ := invoke("model", exampleNetwork("transformer.yaml"), "--gate-tiles", "0-3")
	if !strings.Contains(out, "\nwhat-if: gated tiles 0-3\n") {
		t.Errorf("no what-if in\n%s", out)
	}
}

// The error of a missing baseline names the flag that writes it.
func TestMissingBaseline(t *testing.T) {
	file := filepath.Join(t.TempDir(), "perf.json")
	_, errs, code := invoke("check", "--baseline", file, "--layer", "add c=4")
	if want := file + `: no such baseline; run "anesim check --update" to write it`; code != exitFailed || !strings.Contains(errs, want) {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// What a change is is never cut, however long the names are.
func TestAdviceIsWhole(t *testing.T) {
	name := strings.Repeat("a_long_name_of_a_layer_", 2)
	file := writeFile(t, "net.yaml", fmt.Appendf(nil, `inputs: {x: {c: 192, h: 28, w: 28}}
layers:
  - {name: %[1]sa, op: conv, cout: 32, k: 1, act: relu, from: [x]}
  - {name: %[1]sb, op: conv, cout: 32, k: 1, act: relu, from: [x]}
  - {name: %[1]sc, op: conv, cout: 128, k: 3, pad: 1, act: relu}
  - {name: %[1]sd, op: concat, from: [%[1]sa, %[1]sc]}
`, name))
	out, errs, code := invoke("model", file)
	if code != exitDone {
		t.Fatal(errs)
	}
	head, _, _ := strings.Cut(out, "\n\n")
	if words := strings.Join(strings.Fields(head), " "); !strings.Contains(words, fmt.Sprintf("%sa: merge into one of 64 channels with %[1]sb -", name)) {
		t.Errorf("the advice is cut:\n%s", head)
	}
	for _, line := range strings.Split(head, "\n") {
		if n := len(line); n > text.HeadWidth && !strings.Contains(line, "anesim ") {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// Reports end with the files that were written, and name the inputs of a network with their shapes.
func TestReportsNameFilesAndInputs(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("net.yaml", []byte("inputs: {x: {c: 2, h: 3, w: 4}, y: {c: 2, h: 3, w: 4}}\nlayers:\n- {op: add, from: [x, y]}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	x := writeNPY(t, []int{2, 3, 4}, ramp(24))
	for _, tc := range []struct {
		line string
		want []string
	}{
		{"model net.yaml --values --in x=" + x + " --out res --html p.html --emit net.hwx", []string{
			"\ninput   x [1 2 3 4]  given\ninput   y [1 2 3 4]  pseudo-random (--seed 1)\n", "\nwrote net.hwx, res and p.html\n",
		}},
		{"run net.hwx --timing-only --trace t.pftrace", []string{"\nwrote t.pftrace\n"}},
		{"layer matmul m=16 n=32 rhs=runtime --over k=32..128+32 --emit mm.hwx --timing-only", []string{"\nwrote mm.hwx and mm.hwx.params\n"}},
		{"plot energy net.yaml -o e.svg", []string{"wrote e.svg\n"}},
	} {
		out, errs, code := invoke(strings.Fields(tc.line)...)
		if code != exitDone {
			t.Fatalf("%s: %s", tc.line, errs)
		}
		for _, want := range tc.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%s", tc.line, want, out)
			}
		}
	}
}

// Nodes without a known shape are counted in one sentence.
func TestCoverageOfUnknownShapes(t *testing.T) {
	file := writeFile(t, "net.onnx", onnxtest.Model(
		onnxtest.Input("x", 1, 4), onnxtest.Output("z"),
		onnxtest.Node("Relu", "y", []string{"x"}), onnxtest.Node("Mystery", "m", []string{"y"}), onnxtest.Node("Relu", "z", []string{"m"}),
	))
	out, _, _ := invoke("model", file)
	if want := "\ncovers: 1 of 3 nodes; the others have an unknown shape, so their work is not counted\n"; !strings.Contains(out, want) {
		t.Errorf("no %q in\n%s", want, out)
	}
}

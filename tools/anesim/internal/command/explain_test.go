package command

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"anesim/hw/clock"
	"anesim/internal/explain"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/terminal"
	"anesim/tools/anesim/internal/text"
	"anesim/tools/anesim/internal/view"
)

func explanation(t *testing.T, args ...string) *explain.Explanation {
	t.Helper()
	out, errs, code := invoke(append([]string{"explain", "--json"}, args...)...)
	if code != exitDone {
		t.Fatalf("explain %q: exit %d: %s", args, code, errs)
	}
	d := new(explain.Explanation)
	if err := json.Unmarshal([]byte(out), d); err != nil {
		t.Fatal(err)
	}
	return d
}

// Every printed command gives the numbers that are printed with it.
func TestExplainCommandsReproduce(t *testing.T) {
	edge := writeFile(t, "edge.yaml", []byte("inputs: {x: {c: 160, h: 7, w: 7}}\nlayers:\n- {name: a, op: conv, cout: 960, k: 1}\n"))
	small := writeFile(t, "small.yaml", []byte("inputs: {x: {c: 24, h: 40, w: 12}}\nlayers:\n"+
		"- {name: a, op: conv, cout: 24, k: 1}\n- {name: b, op: softmax, axis: c}\n- {name: c, op: relu}\n"))
	totals := map[string]report.Total{} // by command: that of the state before is the same for most changes
	for _, args := range [][]string{
		{exampleNetwork("resnet50.yaml")}, {exampleNetwork("mobilenetv2.yaml"), "--in-memory"}, {exampleNetwork("transformer.yaml"), "--chip", "m1max"},
		{small, "--top", "9"}, {small, "--in-memory"}, {edge}, {"--layer", "softmax c=64 h=8 w=8"}, {"--layer", "relu c=16 h=512 w=1"},
		{"--layer", "matmul m=128 k=768 n=768"}, {example(t, "add")}, {example(t, "identity")},
		{small, "--machine", "m4"}, {small, "--clock", "804"}, {example(t, "add"), "--machine", "m1max,ReadRate=5e10", "--clock", "1020"},
		{"--layer", "relu c=16 h=512 w=1", "--machine", "m1-linux"},
	} {
		d := explanation(t, args...)
		for i := range d.Machines {
			if c := &d.Machines[i]; i > 0 && c.SavedNs > d.Machines[i-1].SavedNs {
				t.Errorf("%q: machines are not in order", args)
			}
		}
		if len(d.Machines) < 4 {
			t.Errorf("%q: %d machines", args, len(d.Machines))
		}
		for i, c := range slices.Concat(d.Trials, d.Machines) {
			for _, x := range []struct {
				command string
				want    report.Cost
			}{{c.CommandBefore, c.Before}, {c.Command, c.After}} {
				if x.command == "" && c.Kind == "sparsity" { // needs weights of the user's
					continue
				}
				g, ok := totals[x.command]
				if !ok {
					words := strings.Fields(x.command)
					out, errs, code := invoke(append(words[1:], "--json")...)
					if words[0] != "anesim" || code != exitDone {
						t.Fatalf("%s: exit %d: %s", x.command, code, errs)
					}
					var got struct{ Total report.Total }
					if err := json.Unmarshal([]byte(out), &got); err != nil {
						t.Fatal(err)
					}
					g = got.Total
					totals[x.command] = g
				}
				if g.Cycles != x.want.Cycles || g.TimeNs != x.want.TimeNs || g.DMABytes != x.want.DMABytes {
					t.Errorf("%s: %d cycles and %d bytes, explain says %d and %d", x.command, g.Cycles, g.DMABytes, x.want.Cycles, x.want.DMABytes)
				}
			}
			switch {
			case c.Kind == "chip":
			case c.Kind == "gating" && c.After.EnergyNJ < c.Before.EnergyNJ && c.Gain > -0.011:
			case c.After.Cycles >= c.Before.Cycles || c.Gain <= 0 || i > 0 && c.SavedNs > d.Trials[i-1].SavedNs:
				t.Errorf("%q: %s gains %g, saves %g ns", args, c.Change, c.Gain, c.SavedNs)
			}
		}
		if args[0] == edge && (len(d.Trials) == 0 || !strings.HasSuffix(d.Trials[0].Command, " --reshape a=1x49")) {
			t.Errorf("no reshape in %+v", d.Trials)
		}
		n := &d.Tried
		if n.All != n.Faster+n.NotFaster+n.OtherResults+n.Failed || n.Faster != len(d.Trials) {
			t.Errorf("%q: %+v with %d changes", args, *n, len(d.Trials))
		}
		var sum uint64
		for i := range d.Parts {
			sum += d.Parts[i].Cycles.Total
		}
		if sum != d.Now.Cycles {
			t.Errorf("%q: parts of %d cycles, %d in all", args, sum, d.Now.Cycles)
		}
	}
}

// Explain finds layers that are known to be slow, and the changes that help.
func TestExplainFinds(t *testing.T) {
	for _, c := range []struct{ layer, change string }{
		{"softmax c=64 h=8 w=8", "axis=w"},
		{"relu c=64 h=784", "to h=1 w=784"},
		{"conv cin=64 h=784 cout=64 k=1", "to h=1 w=784"},
		{"matmul m=128 k=768 n=768", "1x1 convolution"},
	} {
		d := explanation(t, "--layer", c.layer)
		if len(d.Trials) == 0 || !strings.Contains(d.Trials[0].Change, c.change) {
			t.Errorf("%s: no %q in %+v", c.layer, c.change, d.Trials)
		}
	}
}

// Lines have at most 100 columns, except commands, which are not wrapped, and tables.
func TestExplainFits(t *testing.T) {
	for _, args := range [][]string{{exampleNetwork("resnet50.yaml")}, {"--layer", "softmax c=64 h=8 w=8"}, {example(t, "add")}} {
		out, errs, code := invoke(append([]string{"explain"}, args...)...)
		if code != exitDone {
			t.Fatalf("%q: %s", args, errs)
		}
		most := text.ExplanationWidth
		for line := range strings.Lines(out) {
			line = strings.TrimRight(line, "\n")
			switch {
			case strings.Contains(line, "  bound by  "):
				most = terminal.PipeWidth
			case line == "":
				most = text.ExplanationWidth
			}
			if strings.Contains(line, "left out") {
				t.Errorf("without a terminal: %s", line)
			}
			if n := utf8.RuneCountInString(line); n > most && !strings.Contains(line, ": anesim ") && !strings.Contains(line, ":  anesim ") {
				t.Errorf("%d columns: %s", n, line)
			}
		}
	}
}

func TestExplainRefuses(t *testing.T) {
	for _, line := range [][]string{
		{"explain"}, {"explain", "--layer", "relu c=4", example(t, "add")}, {"explain", "--layer", "rely c=4"},
		{"explain", "--top", "0", example(t, "add")},
	} {
		if _, errs, code := invoke(line...); code != exitUsage || errs == "" {
			t.Errorf("%q: exit %d: %s", line, code, errs)
		}
	}
	if _, errs, code := invoke("explain", filepath.Join(t.TempDir(), "none.hwx")); code != exitFailed || errs == "" {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// TestMoreLayersAreOffered checks that a report offers to try changes on more layers only if the
// network has more kinds of layers than were tried.
func TestMoreLayersAreOffered(t *testing.T) {
	for name, want := range map[string]string{
		"picture.mil":      "faster; to see what limits it:\n  anesim explain ",
		"mobilenetv2.yaml": "faster; to try them on more layers:\n  anesim explain ",
	} {
		out, errs, code := invoke("model", exampleNetwork(name))
		if code != exitDone || !strings.Contains(out, want) {
			t.Errorf("%s: exit %d, no %q in\n%s%s", name, code, want, out, errs)
		}
	}
}

// A network's report begins with how long it takes, where, why and what to change, on lines
// of at most 100 columns but for the command. Layers that are alike are one row, and what is
// said to gain is what explain finds.
func TestModelBeginsWithBottlenecks(t *testing.T) {
	t.Parallel()
	changes := 0
	for _, name := range []string{"resnet50.yaml", "mobilenetv2.yaml", "transformer.yaml", "decode.yaml", "classifier.mlpackage", "decoder-step.onnx", "picture.mil"} {
		file := exampleNetwork(name)
		d := model(t, file)
		out, errs, code := invoke("model", file)
		if code != exitDone {
			t.Fatal(errs)
		}
		head, _, _ := strings.Cut(out, "\n\n")
		lines := strings.Split(head, "\n")
		at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, report.TimeText(d.Total.TimeNs)+" of engine time") })
		what := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "what to change") })
		why := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "why: ") })
		if at != 3 || why < at+3 || why > at+7 || what != why+1 || !strings.HasPrefix(lines[len(lines)-1], "  anesim explain "+file) {
			t.Fatalf("%s begins with\n%s", name, head)
		}
		last, listed := uint64(1<<63), map[string]bool{}
		for _, line := range lines[at+2 : why] {
			f := strings.Fields(line)
			i := slices.IndexFunc(d.Layers, func(l report.Layer) bool { return l.Name == f[0] })
			if i < 0 || !strings.Contains(line, report.CauseText(d.Layers[i].Bound)) {
				t.Errorf("%s: %s", name, line)
				continue
			}
			x, sum, alike := &d.Layers[i], uint64(0), 0
			for k := range d.Layers {
				if y := &d.Layers[k]; y.Total.Cycles > 0 && y.Op == x.Op && y.Activation == x.Activation && y.In == x.In && y.Out == x.Out && y.Kernel == x.Kernel && y.Bound == x.Bound {
					sum += y.Total.Cycles
					listed[y.Name] = true
					alike++
				}
			}
			if share := fmt.Sprintf("%.1f%%", report.Percent(sum, d.Total.Cycles)); sum > last || !slices.Contains(f, share) || !slices.Contains(f, strconv.Itoa(alike)) {
				t.Errorf("%s: %d alike of %s: %s", name, alike, share, line)
			}
			last = sum
		}
		for i := range d.Layers {
			if c := d.Layers[i].Total.Cycles; c > last && !listed[d.Layers[i].Name] {
				t.Errorf("%s: %s takes %d cycles and is not among\n%s", name, d.Layers[i].Name, c, head)
			}
		}
		first, cycles := "", uint64(0)
		for cause, n := range d.Cycles.All() {
			if n > cycles {
				first, cycles = report.CauseText(cause), n
			}
		}
		if want := fmt.Sprintf("why: %s %.0f%%", first, report.Percent(cycles, d.Cycles.Total)); !strings.HasPrefix(lines[why], want) {
			t.Errorf("%s: %q, want %q", name, lines[why], want)
		}
		printed := 0
		x := explanation(t, file)
		for _, c := range x.Trials {
			if c.Kind != "gating" && c.SavedNs < float64(x.Now.TimeNs)/2000 {
				continue // no gain to speak of
			}
			gain := fmt.Sprintf("  -%.1f%%, %s less", 100*c.SavedNs/float64(x.Now.TimeNs), report.TimeText(clock.Nanoseconds(c.SavedNs)))
			if c.Kind == "gating" {
				gain = fmt.Sprintf("  energy -%s (-%.1f%% of the call), time %s", report.EnergyText(c.Before.EnergyNJ-c.After.EnergyNJ), 100*float64((c.Before.EnergyNJ-c.After.EnergyNJ)/d.Total.EnergyNJ), view.Change(float64(c.Before.TimeNs), float64(c.After.TimeNs)))
			}
			if found := slices.ContainsFunc(lines[what:], func(l string) bool { return strings.HasSuffix(l, gain) }); printed < 5 && !found || strings.Contains(gain, "--") {
				t.Errorf("%s: no line ends in %q:\n%s", name, gain, head)
			}
			printed++
			changes++
		}
		for _, line := range lines[:len(lines)-1] {
			if n := utf8.RuneCountInString(line); n > text.HeadWidth {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
	}
	if changes == 0 {
		t.Error("no change gains anywhere")
	}
}

// The command that a merge of convolutions is shown with takes what it says. Each of these has two channels an
// engine, for which the array waits for its source; together they have four.
func TestModelMergesAndSplits(t *testing.T) {
	file := filepath.Join(t.TempDir(), "net.yaml")
	const text = `inputs: {x: {c: 192, h: 28, w: 28}}
layers:
  - {name: a, op: conv, cout: 32, k: 1, act: relu, from: [x]}
  - {name: b, op: conv, cout: 32, k: 1, act: relu, from: [x]}
  - {name: c, op: conv, cout: 128, k: 3, pad: 1, act: relu}
  - {name: d, op: concat, from: [a, c]}
`
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	x := explanation(t, file)
	i := slices.IndexFunc(x.Trials, func(c explain.Change) bool { return strings.HasSuffix(c.Command, " --merge a,b") })
	if i < 0 {
		t.Fatalf("no merge of a and b gains: %+v", x.Trials)
	}
	if d := model(t, file, "--merge", "a,b"); d.Total.Cycles != x.Trials[i].After.Cycles || len(d.Layers) != 5 {
		t.Errorf("%d cycles of %d layers, explain has %d", d.Total.Cycles, len(d.Layers), x.Trials[i].After.Cycles)
	}
	if d := model(t, file, "--split", "c=2"); len(d.Layers) != 6 || d.Layers[2].Name != "c/1" || d.Layers[2].Out[1] != 64 {
		t.Errorf("split in %+v", d.Layers)
	}
	for _, line := range [][]string{{"--merge", "a"}, {"--split", "a"}, {"--split", "a=1"}} {
		if _, errs, code := invoke(append([]string{"model", file}, line...)...); code != exitUsage || errs == "" {
			t.Errorf("%q: exit %d: %s", line, code, errs)
		}
	}
	if _, errs, code := invoke("model", file, "--merge", "a,c"); code != exitFailed || !strings.Contains(errs, "cannot merge a and c") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// Savings of energy are shares of the energy that is shown, with the dispatch, and changes whose
// gain rounds to nothing are not listed.
func TestExplainGainsAreOfWhole(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--layer", "add c=64 h=4 w=4"}, {"--layer", "softmax c=64 h=8 w=8"}, {exampleNetwork("transformer.yaml")}, {exampleNetwork("decoder-step.onnx")},
		{exampleNetwork("resnet50.yaml"), "--top", "20"},
	} {
		d := explanation(t, args...)
		all := float64(d.Now.EnergyNJ + d.DispatchNJ)
		for _, c := range slices.Concat(d.Trials, d.Machines) {
			times := 1
			if c.Alone {
				times = c.Alike
			}
			if saved := float64(times) * float64(c.Before.EnergyNJ-c.After.EnergyNJ); c.SavedNJ != clock.Nanojoules(saved) || c.EnergyGain != saved/all {
				t.Errorf("%q: %s saves %v, %g of the energy; want %g of %g", args, c.Change, c.SavedNJ, c.EnergyGain, saved, all)
			}
			switch c.Kind {
			case "chip":
			case "gating":
				if c.EnergyGain < 0.005 {
					t.Errorf("%q: %s saves %g of the energy", args, c.Change, c.EnergyGain)
				}
			default:
				if c.SavedNs < explain.LeastGain*float64(d.Now.TimeNs) {
					t.Errorf("%q: %s saves %g ns of %v", args, c.Change, c.SavedNs, d.Now.TimeNs)
				}
			}
		}
	}
	d := explanation(t, "--layer", "add c=64 h=4 w=4")
	if want := report.EnergyText(d.Now.EnergyNJ); d.DispatchNJ != 0 {
		t.Errorf("a dispatch costs %v", d.DispatchNJ)
	} else if out, _, _ := invoke("explain", "--layer", "add c=64 h=4 w=4"); !strings.Contains(strings.Join(strings.Fields(out), " "), want) || strings.Contains(out, "gate tiles") {
		t.Errorf("want %q and no gating that saves nothing:\n%s", want, out)
	}
}

// A time of a layer alone is printed with its time in the network.
func TestExplainSaysAlone(t *testing.T) {
	file := writeFile(t, "net.yaml", []byte("inputs: {x: {c: 32, h: 112, w: 112}}\nlayers:\n- {name: a, op: conv, cout: 64, k: 3, stride: 2, pad: 1}\n- {name: b, op: conv, cout: 128, k: 3, stride: 2, pad: 1}\n"))
	d := explanation(t, file)
	out, _, _ := invoke("explain", file)
	found := 0
	for _, c := range d.Trials {
		if !c.Alone {
			continue
		}
		found++
		k := slices.IndexFunc(d.Parts, func(p explain.Part) bool { return p.Name == c.Part })
		if k < 0 || c.NetworkNs != d.Parts[k].TimeNs || c.NetworkNs == 0 {
			t.Errorf("%s takes %v in the network", c.Part, c.NetworkNs)
		}
		text := strings.Join(strings.Fields(out), " ")
		for _, want := range []string{fmt.Sprintf("alone, with its tensors in memory: %s -> %s", report.TimeText(c.Before.TimeNs), report.TimeText(c.After.TimeNs)), report.TimeText(c.NetworkNs) + " in the network", "after: no command, since"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
	}
	if found == 0 {
		t.Errorf("no change to a layer alone gains: %+v", d.Trials)
	}
}

// The table of explain groups and names layers as the first table of model does.
func TestExplainGroupsAsModel(t *testing.T) {
	for _, name := range []string{"resnet50.yaml", "transformer.yaml"} {
		out, _, _ := invoke("explain", exampleNetwork(name))
		_, rows, _ := strings.Cut(out, "\nlayer ")
		lines := strings.Split(rows, "\n")[1:]
		doc := model(t, exampleNetwork(name))
		for i, k := range view.FromNetwork(&doc).Kinds()[:5] {
			f := slices.DeleteFunc(strings.Fields(lines[i]), func(s string) bool { return s == report.UnmeasuredMark })
			if f[0] != doc.Layers[k.First].Name {
				t.Errorf("%s, row %d: layer %s; model calls it %s", name, i, f[0], doc.Layers[k.First].Name)
			}
			if f[2] != strconv.Itoa(k.Count) || f[3] != report.Thousands(k.Cycles) {
				t.Errorf("%s, row %d: %q; model has %d layers of %d cycles", name, i, f, k.Count, k.Cycles)
			}
		}
	}
}

// Every change that explain tries and that does not help is named.
func TestExplainNamesWhatDoesNotHelp(t *testing.T) {
	for _, name := range []string{"resnet50.yaml", "transformer.yaml", "picture.mil"} {
		out, errs, code := invoke("explain", exampleNetwork(name))
		if code != exitDone {
			t.Fatal(errs)
		}
		_, rest, _ := strings.Cut(out, "tried: ")
		tried, rest, _ := strings.Cut(rest, "\n\nWhich parts of the chip")
		_, count, _ := strings.Cut(strings.SplitN(tried, "\n", 2)[0], ", ")
		useless, err := strconv.Atoi(strings.Fields(count)[0])
		if err != nil {
			t.Fatal(err)
		}
		named := strings.Count(tried, "no gain: ") + strings.Count(tried, "; ")
		if named != useless {
			t.Errorf("%s: names %d of %d changes that do not help:\n%s", name, named, useless, tried)
		}
		if rest == "" {
			t.Errorf("%s: no variants of the chip", name)
		}
	}
}

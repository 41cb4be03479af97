package command

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"anesim"
)

func explain(t *testing.T, args ...string) *anesim.Explanation {
	t.Helper()
	out, errs, code := invoke(append([]string{"explain", "--json"}, args...)...)
	if code != exitDone {
		t.Fatalf("explain %q: exit %d: %s", args, code, errs)
	}
	d := new(anesim.Explanation)
	if err := json.Unmarshal([]byte(out), d); err != nil {
		t.Fatal(err)
	}
	return d
}

// Every printed command gives the numbers that stand beside it.
func TestExplainCommandsReproduce(t *testing.T) {
	small := writeFile(t, "small.yaml", []byte("inputs: {x: {c: 24, h: 40, w: 12}}\nlayers:\n"+
		"- {name: a, op: conv, cout: 24, k: 1}\n- {name: b, op: softmax, axis: c}\n- {name: c, op: relu}\n"))
	for _, args := range [][]string{
		{exampleNetwork("resnet50.yaml")}, {exampleNetwork("mobilenetv2.yaml"), "--in-memory"}, {exampleNetwork("transformer.yaml"), "--chip", "m1max"},
		{small, "--top", "9"}, {small, "--in-memory"}, {"--layer", "softmax c=64 h=8 w=8"}, {"--layer", "relu c=16 h=512 w=1"},
		{"--layer", "matmul m=128 k=768 n=768"}, {example(t, "add")}, {example(t, "identity")},
	} {
		d := explain(t, args...)
		for i := range d.Trials {
			c := &d.Trials[i]
			for _, x := range []struct {
				command string
				want    anesim.CostDocument
			}{{c.CommandBefore, c.Before}, {c.Command, c.After}} {
				words := strings.Fields(x.command)
				out, errs, code := invoke(append(words[1:], "--json")...)
				if words[0] != "anesim" || code != exitDone {
					t.Fatalf("%s: exit %d: %s", x.command, code, errs)
				}
				var got struct{ Total anesim.TotalDocument }
				if err := json.Unmarshal([]byte(out), &got); err != nil {
					t.Fatal(err)
				}
				if g := &got.Total; g.Cycles != x.want.Cycles || g.TimeNs != x.want.TimeNs || g.DMABytes != x.want.DMABytes {
					t.Errorf("%s: %d cycles and %d bytes, explain says %d and %d", x.command, g.Cycles, g.DMABytes, x.want.Cycles, x.want.DMABytes)
				}
			}
			if c.After.Cycles >= c.Before.Cycles || c.Gain <= 0 || i > 0 && c.SavedNs > d.Trials[i-1].SavedNs {
				t.Errorf("%q: %s gains %g, saves %g ns", args, c.Change, c.Gain, c.SavedNs)
			}
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

// What is known to be slow is found, and what to do about it.
func TestExplainFinds(t *testing.T) {
	for _, c := range []struct{ layer, change string }{
		{"softmax c=64 h=8 w=8", "axis=w"},
		{"relu c=64 h=784", "to h=1 w=784"},
		{"conv cin=64 h=784 cout=64 k=1", "to h=1 w=784"},
		{"matmul m=128 k=768 n=768", "1x1 convolution"},
	} {
		d := explain(t, "--layer", c.layer)
		if len(d.Trials) == 0 || !strings.Contains(d.Trials[0].Change, c.change) {
			t.Errorf("%s: no %q in %+v", c.layer, c.change, d.Trials)
		}
	}
}

// Text fits 100 columns but for the commands, which are whole.
func TestExplainFits(t *testing.T) {
	for _, args := range [][]string{{exampleNetwork("resnet50.yaml")}, {"--layer", "softmax c=64 h=8 w=8"}, {example(t, "add")}} {
		out, errs, code := invoke(append([]string{"explain"}, args...)...)
		if code != exitDone {
			t.Fatalf("%q: %s", args, errs)
		}
		for line := range strings.Lines(out) {
			line = strings.TrimRight(line, "\n")
			if n := utf8.RuneCountInString(line); n > explainWidth && !strings.Contains(line, ": anesim ") && !strings.Contains(line, ":  anesim ") {
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

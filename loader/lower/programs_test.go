package lower

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"anesim/hw/regs"
	"anesim/internal/datapath/mac"
	"anesim/loader/layer"
)

// The tables of layouts have words of programs whose texts are kept apart. Here the layers
// that their names state are lowered whole, and every word that the tables have compared.

// planarGaps are rows that differ, and why.
var planarGaps = map[string]string{
	"sm_a3_1x12x64x64": "the strides of the fifth task's result are 0 in the table, with which groups would write over each other",
}

// gap checks what differs in a row against the reason on record.
func gap(t *testing.T, gaps map[string]string, open map[string]bool, name, what string) {
	t.Helper()
	open[name] = open[name] || what != ""
	if what != "" && gaps[name] == "" {
		t.Errorf("%s %s", name, what)
	}
}

func closed(t *testing.T, gaps map[string]string, open map[string]bool) {
	t.Helper()
	for name := range gaps {
		if !open[name] {
			t.Errorf("%s: no word differs any more; take it off the list", name)
		}
	}
}

// planarLayer is the layer that a name in the table of planar layouts states.
func planarLayer(name string) (layer.Layer, layer.Weights, bool) {
	shapes := extents(name)
	if shapes == nil {
		if m := regexp.MustCompile(`_1x(\d+)x(\d+)$`).FindStringSubmatch(name); m != nil {
			shapes = []layer.Shape{{N: 1, C: 1, H: numberIn(m[1], 10), W: numberIn(m[2], 10)}}
		} else {
			return layer.Layer{}, layer.Weights{}, false
		}
	}
	in := shapes[0]
	word, _, _ := strings.Cut(name, "_")
	axes := layer.Axes(0)
	if m := regexp.MustCompile(`_ax?(\d+)_`).FindStringSubmatch(name); m != nil {
		for _, a := range m[1] {
			axes |= map[rune]layer.Axes{'1': layer.AxisC, '2': layer.AxisH, '3': layer.AxisW}[a]
		}
	}
	switch word {
	case "max":
		return layer.Reduction(layer.ReduceMax, in, axes), layer.Weights{}, true
	case "mean":
		return layer.Reduction(layer.ReduceMean, in, axes), layer.Weights{}, true
	case "ln":
		l := layer.Reduction(layer.LayerNorm, in, axes)
		l.Epsilon = 1e-5
		return l, layer.Weights{}, true
	case "sm":
		return layer.Reduction(layer.Softmax, in, axes), layer.Weights{Table: fitted(mac.Exp2), Reciprocal: fitted(mac.Reciprocal)}, true
	case "mul":
		return layer.Layer{Op: layer.Mul, In: in, Second: layer.Scalar}, layer.Weights{}, true
	case "sub":
		return layer.Binary(layer.Sub, in, in), layer.Weights{}, true
	}
	return layer.Layer{}, layer.Weights{}, false
}

// layoutWords are a descriptor's words by the names of the planar table's columns, in
// hexadecimal but for the shape.
func layoutWords(t *testing.T, d *regs.Descriptor) map[string]string {
	t.Helper()
	f, g := new(regs.File), new(regs.Groups)
	if err := d.Apply(f); err != nil {
		t.Fatal(err)
	}
	f.Snapshot(g)
	c, l := &g.Common, &g.L2
	m := map[string]string{"eng": "NE"}
	if g.Planar() {
		m["eng"] = "PE"
	}
	for name, v := range map[string]uint32{
		"W": c.InDim.Win(), "H": c.InDim.Hin(), "D": max(1, c.InDepth.Din()), "C": c.Cin.Cin(), "Cout": c.Cout.Cout(),
	} {
		m[name] = fmt.Sprint(v)
	}
	for name, v := range map[string]uint32{
		"G": regs.Raw(c.GroupConvCfg), "th": regs.Raw(c.TileCfg), "pp": regs.Raw(c.PlanarPatch), "b30": regs.Raw(c.PlanarOperands), "cfg": regs.Raw(c.Cfg),
		"S1cfg": regs.Raw(l.SourceCfg), "S1base": regs.Raw(l.Src1Base), "S1c": regs.Raw(l.Src1ChannelStride), "S1r": regs.Raw(l.Src1RowStride),
		"S1d": regs.Raw(l.Src1DepthStride), "S1g": regs.Raw(l.Src1GroupStride),
		"S2base": regs.Raw(l.Src2Base), "S2c": regs.Raw(l.Src2ChannelStride), "S2r": regs.Raw(l.Src2RowStride), "S2d": regs.Raw(l.Src2DepthStride),
		"Rcfg": regs.Raw(l.ResultCfg), "Rbase": regs.Raw(l.ResultBase), "Rc": regs.Raw(l.ResultChannelStride), "Rr": regs.Raw(l.ResultRowStride),
		"Rd": regs.Raw(l.ResultDepthStride), "Rg": regs.Raw(l.ResultGroupStride),
		"pecfg": regs.Raw(g.PE.Cfg), "ne": regs.Raw(g.NE.KernelCfg), "w1": d.Header.Timing.ExeCycles(),
	} {
		m[name] = fmt.Sprintf("%x", v)
	}
	return m
}

// Every task of the planar table's programs has the table's words.
func TestPlanarPrograms(t *testing.T) {
	same, of := 0, 0
	open := map[string]bool{}
	for _, m := range layoutRows(t, "layout_planar.csv") {
		name := m["name"]
		l, w, ok := planarLayer(name)
		if !ok {
			t.Errorf("%s: no such layer", name)
			continue
		}
		c, err := Compile(l, w)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		of++
		task := numberIn(m["td"], 10)
		var diff []string
		if task >= c.Tasks {
			diff = append(diff, fmt.Sprintf("%d tasks", c.Tasks))
		} else {
			got := layoutWords(t, c.Builder.Chain[task])
			for k, v := range m {
				if g, ok := got[k]; ok && v != "-" && v != "" && v != "?" && g != v {
					diff = append(diff, fmt.Sprintf("%s %s for %s", k, g, v))
				}
			}
			slices.Sort(diff)
		}
		same += count(diff == nil)
		what := ""
		if diff != nil {
			what = fmt.Sprintf("task %d: %s", task, strings.Join(diff, ", "))
		}
		gap(t, planarGaps, open, name, what)
	}
	closed(t, planarGaps, open)
	t.Logf("%d of %d tasks have every word of the table", same, of)
}

// Every convolution of the other table that has no text here has the table's words, its
// number of tasks and ExeCycles.
func TestConvolutionPrograms(t *testing.T) {
	same, of := 0, 0
	for _, m := range layoutRows(t, "layout_conv.csv") {
		n := func(key string) int { return numberIn(m[key], 10) }
		name := m["name"]
		if strings.HasPrefix(name, "L_") {
			continue // TestIdentity has its text
		}
		in := layer.Shape{N: 1, C: n("Cin") * n("groups"), H: n("Hin"), W: n("Win")}
		win := layer.Valid(n("k"), n("s"))
		pad := func(out, in int) (before, after int) {
			all := max(0, (out-1)*win.Sy+win.Kh-in)
			return all / 2, all - all/2
		}
		win.Py, win.Qy = pad(n("Hout"), in.H)
		win.Px, win.Qx = pad(n("Wout"), in.W)
		l := layer.Conv(in, n("Cout")*n("groups"), win)
		if n("n") > 1 {
			l.Cout = number(name, "n", l.Cout) // the row has one task's channels
		}
		l.Groups = n("groups")
		if m["depthwise"] == "1" {
			l.Groups = in.C
		}
		c, err := Compile(l, layer.Weights{Filter: blob(l.Cout * in.C / l.Groups * win.Kh * win.Kw)})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		of++
		var diff []string
		if c.Tasks != n("n") {
			diff = append(diff, fmt.Sprintf("%d tasks for %d", c.Tasks, n("n")))
		}
		if task := n("i"); task < c.Tasks {
			got := layoutWords(t, c.Builder.Chain[task])
			for _, column := range [...]struct {
				name, word string
				base       int
			}{
				{"Win", "W", 10}, {"Hin", "H", 10}, {"Cin", "C", 10}, {"Cout", "Cout", 10}, {"TH", "th", 16}, {"cfg", "cfg", 16}, {"cs", "S1c", 16},
				{"row", "S1r", 16}, {"base", "Rbase", 16}, {"w1", "w1", 16}, {"srccfg", "S1cfg", 16}, {"rescs", "Rc", 16}, {"resrow", "Rr", 16},
			} {
				if g := numberIn(got[column.word], column.base); m[column.name] != "" && g != n(column.name) {
					diff = append(diff, fmt.Sprintf("%s %#x for %#x", column.name, g, n(column.name)))
				}
			}
		}
		same += count(diff == nil)
		if diff != nil {
			t.Errorf("%s %s", name, strings.Join(diff, ", "))
		}
	}
	t.Logf("%d of %d tasks have every word of the table", same, of)
}

// statedGaps are words that documents state of a program that is not at hand and whose shape they do not
// say. In all of these shapes the layer has another one here.
//
// The last pass of a mean over H may choose the height of its patches. That of a maximum has it fixed
// (2 of 2 tables of words), and so has a mean here.
var statedGaps = []struct {
	layer layer.Layer
	task  int
	name  string
	word  string
}{
	{layer.Reduction(layer.ReduceMean, layer.Shape{N: 1, C: 32, H: 4, W: 4}, layer.AxisH), 2, "cfg", "101c0001"},
	{layer.Reduction(layer.ReduceMean, layer.Shape{N: 1, C: 64, H: 8, W: 8}, layer.AxisH), 2, "cfg", "101c0001"},
	{layer.Reduction(layer.ReduceMean, layer.Shape{N: 1, C: 128, H: 16, W: 16}, layer.AxisH), 2, "cfg", "101c0001"},
}

// A gap that closes is none any longer.
func TestStatedGaps(t *testing.T) {
	for _, gap := range statedGaps {
		c, err := Compile(gap.layer, layer.Weights{})
		if err != nil {
			t.Fatal(err)
		}
		got := layoutWords(t, c.Builder.Chain[gap.task])[gap.name]
		if got == "" {
			t.Errorf("%v of %v: no word %s", gap.layer.Op, gap.layer.In, gap.name)
		}
		if got == gap.word {
			t.Errorf("%v of %v: %s of task %d is %s: remove the gap here and in docs/accuracy.md", gap.layer.Op, gap.layer.In, gap.name, gap.task, got)
		}
		t.Logf("%v: %s for %s", gap.layer.In, got, gap.word)
	}
}

package lower

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"anesim/hw/mac"
	"anesim/hw/regs"
)

// planarLayer is the layer that a name in the table of planar layouts states.
func planarLayer(name string) (Layer, Weights, bool) {
	shapes := extents(name)
	if shapes == nil {
		if m := regexp.MustCompile(`_1x(\d+)x(\d+)$`).FindStringSubmatch(name); m != nil {
			shapes = []Shape{{1, 1, numberIn(m[1], 10), numberIn(m[2], 10)}}
		} else {
			return Layer{}, Weights{}, false
		}
	}
	in := shapes[0]
	word, _, _ := strings.Cut(name, "_")
	axes := Axes(0)
	if m := regexp.MustCompile(`_ax?(\d+)_`).FindStringSubmatch(name); m != nil {
		for _, a := range m[1] {
			axes |= map[rune]Axes{'1': AxisC, '2': AxisH, '3': AxisW}[a]
		}
	}
	switch word {
	case "max":
		return Reduction(ReduceMax, in, axes), Weights{}, true
	case "mean":
		return Reduction(ReduceMean, in, axes), Weights{}, true
	case "ln":
		l := Reduction(LayerNorm, in, axes)
		l.Epsilon = 1e-5
		return l, Weights{}, true
	case "sm":
		return Reduction(Softmax, in, axes), Weights{Table: fitted(mac.Exp2), Reciprocal: fitted(mac.Reciprocal)}, true
	case "mul":
		return Layer{Op: Mul, In: in, Second: Scalar}, Weights{}, true
	case "sub":
		return Binary(Sub, in, in), Weights{}, true
	}
	return Layer{}, Weights{}, false
}

func layoutWords(d *regs.Descriptor) map[string]string {
	f, g := new(regs.File), new(regs.Groups)
	if err := d.Apply(f); err != nil {
		panic(err)
	}
	f.Snapshot(g)
	h := func(v uint32) string { return fmt.Sprintf("%x", v) }
	eng := "NE"
	if g.Planar() {
		eng = "PE"
	}
	c, l := &g.Common, &g.L2
	m := map[string]string{
		"eng": eng, "W": fmt.Sprint(c.InDim.Win()), "H": fmt.Sprint(c.InDim.Hin()), "D": fmt.Sprint(max(1, c.InDepth.Din())), "C": fmt.Sprint(c.Cin.Cin()), "Cout": fmt.Sprint(c.Cout.Cout()),
		"G": h(uint32(c.GroupConvCfg)), "th": h(uint32(c.TileCfg)), "pp": h(uint32(c.PlanarPatch)), "b30": h(uint32(c.PlanarOperands)), "cfg": h(uint32(c.Cfg)),
		"S1cfg": h(uint32(l.SourceCfg)), "S1base": h(uint32(l.Src1Base)), "S1c": h(uint32(l.Src1ChannelStride)), "S1r": h(uint32(l.Src1RowStride)), "S1d": h(uint32(l.Src1DepthStride)), "S1g": h(uint32(l.Src1GroupStride)),
		"S2base": h(uint32(l.Src2Base)), "S2c": h(uint32(l.Src2ChannelStride)), "S2r": h(uint32(l.Src2RowStride)), "S2d": h(uint32(l.Src2DepthStride)),
		"Rcfg": h(uint32(l.ResultCfg)), "Rbase": h(uint32(l.ResultBase)), "Rc": h(uint32(l.ResultChannelStride)), "Rr": h(uint32(l.ResultRowStride)), "Rd": h(uint32(l.ResultDepthStride)), "Rg": h(uint32(l.ResultGroupStride)),
		"pecfg": h(uint32(g.PE.Cfg)), "ne": h(uint32(g.NE.KernelCfg)),
	}
	return m
}

func TestPlanarPrograms(t *testing.T) {
	for _, m := range layoutRows(t, "layout_planar.csv") {
		name := m["name"]
		l, w, ok := planarLayer(name)
		if !ok {
			t.Errorf("%s?", name)
			continue
		}
		c, err := Compile(l, w)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		td := numberIn(m["td"], 10)
		if td >= c.Tasks {
			t.Errorf("%s: no task %d of %d", name, td, c.Tasks)
			continue
		}
		got := layoutWords(c.Builder.Chain[td])
		var diff []string
		for k, v := range m {
			if k == "name" || k == "td" || v == "-" || v == "" || v == "?" {
				continue
			}
			if got[k] != v {
				diff = append(diff, fmt.Sprintf("%s %s want %s", k, got[k], v))
			}
		}
		if diff != nil {
			t.Errorf("%s task %d of %d: %s", name, td, c.Tasks, strings.Join(diff, ", "))
		}
	}
}

func TestConvPrograms(t *testing.T) {
	for _, m := range layoutRows(t, "layout_conv.csv") {
		n := func(key string) int { return numberIn(m[key], 10) }
		name := m["name"]
		k, err := strconv.Atoi(m["k"])
		if err != nil || strings.HasPrefix(m["name"], "L_matmul") || strings.HasPrefix(m["name"], "L_chain") || strings.HasPrefix(m["name"], "L_env_mm") || strings.HasPrefix(m["name"], "L_") {
			continue
		}
		in := Shape{1, n("Cin") * n("groups"), n("Hin"), n("Win")}
		w := Window{Kh: k, Kw: k, Sy: n("s"), Sx: n("s")}
		pad := func(out, in int) (int, int) {
			p := max(0, (out-1)*w.Sy+k-in)
			return p / 2, p - p/2
		}
		w.Py, w.Qy = pad(n("Hout"), in.H)
		w.Px, w.Qx = pad(n("Wout"), in.W)
		cout := n("Cout")
		if n("n") > 1 {
			if c := number(name, "n", 0); c > 0 {
				cout = c
			}
		}
		if n("groups") > 1 {
			cout *= n("groups")
		}
		l := Conv(in, cout, w)
		l.Groups = n("groups")
		if m["depthwise"] == "1" {
			l.Groups = in.C
		}
		c, err := Compile(l, Weights{Filter: blob(l.Cout * in.C / max(1, l.Groups) * k * k)})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var diff []string
		if c.Tasks != n("n") {
			diff = append(diff, fmt.Sprintf("%d tasks want %d", c.Tasks, n("n")))
		}
		if n("i") < c.Tasks {
			got := layoutWords(c.Builder.Chain[n("i")])
			got["w1"] = fmt.Sprintf("%x", c.Builder.Chain[n("i")].Header.Timing.ExeCycles())
			for col, key := range map[string]string{"Win": "W", "Hin": "H", "Cin": "C", "Cout": "Cout", "TH": "th", "cfg": "cfg", "cs": "S1c", "row": "S1r", "base": "Rbase", "w1": "w1", "srccfg": "S1cfg", "rescs": "Rc", "resrow": "Rr"} {
				if m[col] == "" {
					continue
				}
				base := 16
				switch key {
				case "W", "H", "C", "Cout":
					base = 10
				}
				if want := numberIn(m[col], 10); want != numberIn(got[key], base) {
					diff = append(diff, fmt.Sprintf("%s %#x want %#x", col, numberIn(got[key], base), want))
				}
			}
		}
		if diff != nil {
			t.Errorf("%s task %d of %d: %s", name, n("i"), c.Tasks, strings.Join(diff, ", "))
		}
	}
}

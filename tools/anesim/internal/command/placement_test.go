package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	ox "anesim/internal/network/onnxtest"
	"anesim/internal/report"
)

// A network is placed on what --compute names: what the engine does not take runs
// elsewhere with the reason, dear transfers keep it in one piece, and parts add up.
func TestModelPlacement(t *testing.T) {
	net := writeFile(t, "net.yaml", []byte("inputs: {x: {c: 64, h: 28, w: 28}, y: {w: 20001}}\nlayers:\n"+
		"- {name: a, op: conv, cout: 64, k: 3, pad: 1, from: x}\n- {name: b, op: logical_not, from: y}\n- {name: c, op: conv, cout: 64, k: 3, pad: 1, from: a}\n"))
	for compute, want := range map[string]string{"all": "engine gpu cpu", "engine": "engine cpu", "cpu": "cpu"} {
		p := model(t, net, "--compute", compute).Placement
		if p == nil || len(p.Operations) != 3 || p.Compute != compute {
			t.Fatalf("%s: %+v", compute, p)
		}
		sum := p.LeaveNs
		for _, o := range p.Operations {
			sum += o.Runtime + o.LaunchNs + o.CrossNs
			var names []string
			for _, s := range o.Support {
				names = append(names, s.Backend)
			}
			if strings.Join(names, " ") != want {
				t.Errorf("%s: support %q, want %s", compute, names, want)
			}
		}
		if math.Abs(float64(sum-p.Runtime)) > 1 {
			t.Errorf("%s: parts of %g ns, %g in all", compute, sum, p.Runtime)
		}
		if b := p.Operations[1]; compute != "cpu" && (b.Backend == "engine" || len(b.Messages) != 1 || !strings.HasPrefix(b.Messages[0], "engine: width: found 20001")) {
			t.Errorf("%s: %+v", compute, b)
		}
		for _, r := range p.Rates {
			if strings.HasPrefix(r.Name, "cpu.") && r.Evidence != "assumed" {
				t.Errorf("%+v", r)
			}
		}
	}
	// A slow CPU without a launch on the engine leaves convolutions there; one without cost takes all.
	slow := writeFile(t, "slow.yaml", []byte("cpu: {gflops: 0.1, gb_per_s: 0.1}\nengine: {launch_us: 0}\ntransfer: {gb_per_s: 1000, switch_us: 0}\n"))
	fast := writeFile(t, "fast.yaml", []byte("cpu: {gflops: 1e9, gb_per_s: 1e9, launch_us: 0}\n"))
	places := func(args ...string) (s []string) {
		for _, o := range model(t, append([]string{net, "--compute", "engine"}, args...)...).Placement.Operations {
			s = append(s, o.Backend)
		}
		return s
	}
	if got := strings.Join(places("--backends", slow), " "); got != "engine cpu engine" {
		t.Errorf("slow CPU: %s", got)
	}
	if got := strings.Join(places("--backends", fast), " "); got != "cpu cpu cpu" {
		t.Errorf("fast CPU: %s", got)
	}
	out, _, code := invoke("model", net, "--compute", "engine", "--backends", slow)
	if code != exitDone || !strings.Contains(out, "\nplacement (--compute engine): ") || !strings.Contains(out, "\n  b: engine: width: found 20001") {
		t.Errorf("exit %d:\n%s", code, out)
	}
	for _, args := range [][]string{{"--compute", "tpu"}, {"--backends", slow}} {
		if _, errs, code := invoke(append([]string{"model", net}, args...)...); code != exitUsage {
			t.Errorf("%q: exit %d: %s", args, code, errs)
		}
	}
	var without report.Network
	out, _, _ = invoke("model", net, "--json")
	if err := json.Unmarshal([]byte(out), &without); err != nil || without.Placement != nil {
		t.Errorf("%v, a plan that nobody asked for", err)
	}
}

// TestReasonsOfTheDocuments asks --compute about networks that the documents exclude or that the compiler
// divides: each gets a reason or a remark about the engine, and the layer is timed all the same.
func TestReasonsOfTheDocuments(t *testing.T) {
	yaml := func(layers string) string {
		return writeFile(t, "net.yaml", []byte("inputs: {x: {c: 8, h: 16, w: 16}, wide: {w: 20001}, tall: {c: 16384, h: 1, w: 1}}\nlayers:\n"+layers))
	}
	convs := "- {name: c0, op: conv, cout: 16384, k: 1, from: tall}\n"
	for i := range 5 {
		convs += fmt.Sprintf("- {name: c%d, op: conv, cout: 16384, k: 1, from: c%d}\n", i+1, i)
	}
	state := writeFile(t, "state.mil", []byte(`program(1.3) {
	func main<ios18>(tensor<fp16, [1, 4, 1, 1]> x, state<tensor<fp16, [1, 4, 1, 1]>> s) {
		tensor<fp16, [1, 4, 1, 1]> r = read_state(input = s);
		tensor<fp16, [1, 4, 1, 1]> a = add(x = r, y = x);
		write_state(data = a, input = s);
		tensor<fp16, [1, 4, 1, 1]> y = relu(x = a);
	} -> (y);
}`))
	loop := writeFile(t, "loop.onnx", ox.Model(ox.Input("x", 2, 4), ox.Output("y"), ox.Node("ReduceSum", "n", []string{"x"}, ox.Int("keepdims", 0)),
		ox.Node("Loop", "y", []string{"n", "", "x"}, ox.Graph("body", ox.InputOf(7, "i"), ox.InputOf(9, "go"), ox.Input("h", 2, 4), ox.Node("Relu", "r", []string{"h"}), ox.Output("go"), ox.Output("r")))))
	for _, tc := range []struct {
		name, file, layer, says string
		takes, timed            bool
	}{
		{"a transposed convolution by 2", yaml("- {name: up, op: deconv, cout: 8, k: 2, stride: 2, from: x}\n"), "up", "", true, true},
		{"a transposed convolution by 3", yaml("- {name: up, op: deconv, cout: 8, k: 3, stride: 3, from: x}\n"), "up", "strides of 1 and 2", false, true},
		{"a channel-wise convolution", yaml("- {name: dw, op: conv, cout: 8, k: 3, groups: 8, from: x}\n"), "dw", "", true, true},
		{"a channel-wise convolution to more channels", yaml("- {name: dw, op: conv, cout: 16, k: 3, groups: 8, from: x}\n"), "dw", "as many groups as output channels", false, true},
		{"columns beyond 15 bits", yaml("- {name: n, op: logical_not, from: wide}\n"), "n", "found 20001", false, false},
		{"weights of four sections", yaml("- {name: c0, op: conv, cout: 16384, k: 1, from: tall}\n"), "c0", "4 sections", true, true},
		{"more weights than fit", yaml(convs), "c5", "does not fit in one program", false, true},
		{"a state", state, "a", "native state operations are rejected on the M1", true, true},
		{"a loop whose count is computed", loop, "y", "number of rounds is not constant", false, false},
	} {
		r := model(t, tc.file, "--compute", "engine")
		i := slices.IndexFunc(r.Placement.Operations, func(o report.Placed) bool { return o.Path == tc.layer })
		if i < 0 {
			t.Errorf("%s: no layer %s: %+v", tc.name, tc.layer, r.Placement.Operations)
			continue
		}
		o := r.Placement.Operations[i]
		if s := o.Support[0]; s.Backend != "engine" || s.Supported != tc.takes || !tc.takes && o.Backend == "engine" {
			t.Errorf("%s: %+v on %s; want engine %v", tc.name, s, o.Backend, tc.takes)
		}
		if message := strings.Join(o.Messages, " "); !strings.Contains(message, tc.says) || (message == "") != (tc.says == "") || tc.says != "" && !strings.HasPrefix(message, "engine: ") {
			t.Errorf("%s: message %q; want %q", tc.name, message, tc.says)
		}
		if k := slices.IndexFunc(r.Layers, func(l report.Layer) bool { return l.Name == tc.layer }); k < 0 || (r.Layers[k].Modelled) != tc.timed {
			t.Errorf("%s: timed %v; want %v", tc.name, k >= 0 && r.Layers[k].Modelled, tc.timed)
		}
	}
	for _, command := range [][]string{{"model", yaml("- {name: up, op: deconv, cout: 8, k: 3, stride: 3, from: x}\n")}, {"layer", "deconv", "cin=8", "cout=8", "h=8", "w=8", "k=3", "stride=3", "--timing-only"}} {
		if out, errs, code := invoke(command...); code != exitDone || !strings.Contains(out, "strides of 1 and 2; this one has 3x3 (table C.8)") {
			t.Errorf("%q: exit %d: %s%s", command, code, errs, out)
		}
	}
}

// TestSegmenters compares the three ways to choose on one network: the shortest path is the default
// and never the dearest, and a word that names none is refused.
func TestSegmenters(t *testing.T) {
	net := exampleNetwork("mobilenetv2.yaml")
	cost := map[string]float64{}
	for _, s := range []string{"coarse", "graph", "shortest-path", ""} {
		args := []string{net, "--compute", "all"}
		if s != "" {
			args = append(args, "--segmenter", s)
		}
		p := model(t, args...).Placement
		if p.Segmenter != cmp.Or(s, "shortest-path") {
			t.Errorf("%q: segmenter %q", s, p.Segmenter)
		}
		cost[s] = float64(p.Runtime)
	}
	if cost[""] != cost["shortest-path"] || cost[""] > cost["coarse"] || cost[""] > cost["graph"] {
		t.Errorf("costs %v", cost)
	}
	for _, bad := range [][]string{{"--compute", "all", "--segmenter", "fine"}, {"--segmenter", "graph"}} {
		if _, errs, code := invoke(append([]string{"model", net}, bad...)...); code != exitUsage || !strings.Contains(errs, "--segmenter") {
			t.Errorf("%q: exit %d: %s", bad, code, errs)
		}
	}
}

// The L2 over time has a place for each descriptor and never more than there is; a tensor
// too large for it is named with the reason.
func TestModelOccupancy(t *testing.T) {
	file := exampleNetwork("mobilenetv2.yaml")
	r := model(t, file)
	if len(r.L2) != r.Programs[0].Descriptors {
		t.Fatalf("%d places, %d descriptors", len(r.L2), r.Programs[0].Descriptors)
	}
	most := 0
	for i, x := range r.L2 {
		if x.Descriptor != i || x.Bytes <= 0 || x.Bytes > 2<<20 {
			t.Errorf("%+v", x)
		}
		most = max(most, x.Bytes)
	}
	if most < 1<<20 {
		t.Errorf("at most %d bytes", most)
	}
	if len(r.Spilled) == 0 || r.Spilled[0].Tensor != "block2_expand" || r.Spilled[0].Bytes < 96*112*112*2 || r.Spilled[0].Why == "" {
		t.Errorf("spilled %+v", r.Spilled)
	}
	out, _, _ := invoke("model", file, "--l2")
	if !strings.Contains(out, "\nnot kept in L2: ") || !strings.Contains(out, "\nL2 of 2.10 MB") || !strings.Contains(out, "#####") {
		t.Error(out)
	}
	if r := model(t, file, "--in-memory"); len(r.L2) != 0 || len(r.Spilled) != 0 {
		t.Errorf("in memory: %d places, %d spilled", len(r.L2), len(r.Spilled))
	}
}

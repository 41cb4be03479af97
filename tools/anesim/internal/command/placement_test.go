package command

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"anesim/bench/report"
)

// A network is placed on what --compute names: what the engine does not take runs
// elsewhere with the reason, dear transfers keep it in one piece, and parts add up.
func TestModelPlacement(t *testing.T) {
	net := writeFile(t, "net.yaml", []byte("inputs: {x: {c: 64, h: 28, w: 28}, y: {w: 20000}}\nlayers:\n"+
		"- {name: a, op: conv, cout: 64, k: 3, pad: 1, from: x}\n- {name: b, op: layernorm, axis: w, from: y}\n- {name: c, op: conv, cout: 64, k: 3, pad: 1, from: a}\n"))
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
		if b := p.Operations[1]; compute != "cpu" && (b.Backend == "engine" || len(b.Messages) != 1 || !strings.HasPrefix(b.Messages[0], "engine: width: found 20000")) {
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
	if code != exitDone || !strings.Contains(out, "\nplacement (--compute engine): ") || !strings.Contains(out, "\n  b: engine: width: found 20000") {
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

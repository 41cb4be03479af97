package command

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"anesim"
)

// A network is placed on what --compute names: what the engine does not take runs
// elsewhere with the reason, dear transfers keep it in one piece, and parts add up.
func TestModelPlacement(t *testing.T) {
	net := writeFile(t, "net.yaml", []byte("inputs: {x: {c: 64, h: 28, w: 28}, y: {w: 20000}}\nlayers:\n"+
		"- {name: a, op: conv, cout: 64, k: 3, pad: 1, from: x}\n- {name: b, op: relu, from: y}\n- {name: c, op: conv, cout: 64, k: 3, pad: 1, from: a}\n"))
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
		if b := p.Operations[1]; compute != "cpu" && (b.Backend == "engine" || len(b.Messages) != 1 || !strings.HasPrefix(b.Messages[0], "engine: width is 20000")) {
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
	if code != exitDone || !strings.Contains(out, "\nplacement (--compute engine): ") || !strings.Contains(out, "\n  b: engine: width is 20000") {
		t.Errorf("exit %d:\n%s", code, out)
	}
	for _, args := range [][]string{{"--compute", "tpu"}, {"--backends", slow}} {
		if _, errs, code := invoke(append([]string{"model", net}, args...)...); code != exitUsage {
			t.Errorf("%q: exit %d: %s", args, code, errs)
		}
	}
	var without anesim.NetworkDocument
	out, _, _ = invoke("model", net, "--json")
	if err := json.Unmarshal([]byte(out), &without); err != nil || without.Placement != nil {
		t.Errorf("%v, a plan that nobody asked for", err)
	}
}

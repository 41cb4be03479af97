package placement

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"anesim/hw/evidence"
)

func newConstant(v float64) evidence.Constant { return evidence.Constant{Value: v} }

// newMachine returns a machine whose constants are round numbers.
func newMachine(repack float64) Machine {
	return Machine{
		Backends: []Backend{
			{Name: Engine, Launch: newConstant(1), Interleaved: true},
			{Name: GPU, Rate: newConstant(1000), Bandwidth: newConstant(100), Launch: newConstant(0.5)},
			{Name: CPU, Rate: newConstant(100), Bandwidth: newConstant(50), Launch: newConstant(0.1)},
		},
		Repack: newConstant(repack), Switch: newConstant(0.2),
	}
}

// newChain returns n operations, each of which reads the result of the one before it and moves a
// megabyte. Every second one is 50 us cheaper on the GPU.
func newChain(n int) *Network {
	net := &Network{Inputs: []string{"t0"}, Bytes: map[string]uint64{"t0": 1 << 20}}
	for i := range n {
		in, out := fmt.Sprintf("t%d", i), fmt.Sprintf("t%d", i+1)
		o := Operation{Name: out, Type: "conv", Inputs: []string{in}, Outputs: []string{out}, MACs: 25e6, Bytes: 2 << 20, Sized: true, EngineNs: 10e3}
		if i%2 == 1 {
			o.EngineNs = 100e3
		}
		net.Bytes[out] = 1 << 20
		net.Operations = append(net.Operations, o)
	}
	net.Outputs = []string{fmt.Sprintf("t%d", n)}
	return net
}

func joinBackends(p *Plan) string {
	var s []string
	for _, c := range p.Choices {
		s = append(s, c.Backend)
	}
	return strings.Join(s, " ")
}

// Raising what a transfer costs merges segments.
func TestTransfersMergeSegments(t *testing.T) {
	cheap, err := Solve(newChain(6), newMachine(1e6), ShortestPath)
	if err != nil {
		t.Fatal(err)
	}
	dear, err := Solve(newChain(6), newMachine(10), ShortestPath)
	if err != nil {
		t.Fatal(err)
	}
	if cheap.Segments != 6 || joinBackends(cheap) != "engine gpu engine gpu engine gpu" {
		t.Errorf("cheap transfers: %d segments: %s", cheap.Segments, joinBackends(cheap))
	}
	if dear.Segments != 1 {
		t.Errorf("dear transfers: %d segments: %s", dear.Segments, joinBackends(dear))
	}
}

// What the engine does not take is routed around it, and back where that pays.
func TestRoutesAroundARefusal(t *testing.T) {
	n := newChain(5)
	for i := range n.Operations {
		n.Operations[i].EngineNs = 1e3
		n.Operations[i].MACs = 1e9
	}
	n.Operations[2].Refused, n.Operations[2].MACs = "sorting runs on the host", 0
	p, err := Solve(n, newMachine(50), ShortestPath)
	if err != nil {
		t.Fatal(err)
	}
	if want := "engine engine cpu engine engine"; joinBackends(p) != want && joinBackends(p) != strings.Replace(want, "cpu", "gpu", 1) {
		t.Errorf("%s, want %s", joinBackends(p), want)
	}
	if s := p.Choices[2].Support[0]; s.Taken || s.Message != "sorting runs on the host" || p.Choices[2].Crossing != 1<<20 {
		t.Errorf("%+v", p.Choices[2])
	}
	var refused *RefusedError
	if _, err := Solve(n, newMachine(50).Only(Engine), ShortestPath); !errors.As(err, &refused) || refused.Operation != "t3" {
		t.Errorf("engine alone: %v", err)
	}
}

// sumTimes returns the sum of all times of a plan, which must be the total time.
func (p *Plan) sumTimes() float64 {
	s := p.LeaveNs
	for _, c := range p.Choices {
		s += c.Ns + c.LaunchNs + c.CrossNs
	}
	return s
}

// randomNetwork returns a chain of operations with branches and refusals, and random costs.
func randomNetwork(r *rand.Rand, operations int) *Network {
	n := newChain(operations)
	for i := range n.Operations {
		o := &n.Operations[i]
		o.EngineNs, o.MACs, o.Bytes = r.Float64()*50e3, r.Uint64N(20e6), r.Uint64N(1<<20)
		n.Bytes[o.Outputs[0]] = r.Uint64N(1 << 20)
		if r.IntN(4) == 0 {
			o.Refused = "refused"
		}
		if i > 1 && r.IntN(2) == 0 { // a branch
			o.Inputs = append(o.Inputs, n.Operations[r.IntN(i-1)].Outputs[0])
		}
	}
	return n
}

// TestShortestPathIsTheCheapest compares the segmenters on 1,000 random graphs: no other is cheaper
// than the shortest path, both others are dearer somewhere, and each keeps what it promises.
func TestShortestPathIsTheCheapest(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	dearer := map[Segmenter]int{}
	for trial := range 1000 {
		n, m := randomNetwork(r, 1+r.IntN(30)), newMachine(math.Exp(r.Float64()*8-1))
		plans := map[Segmenter]*Plan{}
		for _, s := range Segmenters() {
			p, err := Solve(n, m, s)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(p.sumTimes()-p.Ns) > 1e-6*p.Ns || len(p.Choices) != len(n.Operations) {
				t.Fatalf("trial %d, %s: %g ns, parts %g", trial, s, p.Ns, p.sumTimes())
			}
			plans[s] = p
		}
		for _, s := range Segmenters() {
			switch best := plans[ShortestPath].Ns; {
			case plans[s].Ns < best*(1-1e-9):
				t.Errorf("trial %d: %s costs %g, less than the shortest path, %g", trial, s, plans[s].Ns, best)
			case plans[s].Ns > best*(1+1e-9):
				dearer[s]++
			}
		}
		maker := map[string]int{}
		for i, c := range plans[Coarse].Choices {
			for _, s := range c.Support {
				if s.Taken && s.Ns < c.Ns {
					t.Errorf("trial %d: coarse gives %s to %s, %s is faster", trial, c.Operation.Name, c.Backend, s.Backend)
				}
			}
			maker[c.Operation.Outputs[0]] = i
		}
		for _, c := range plans[Graph].Choices {
			for _, in := range c.Operation.Inputs {
				from, ok := maker[in]
				if !ok || c.Operation.Refused != "" || n.Operations[from].Refused != "" {
					continue
				}
				if other := plans[Graph].Choices[from].Backend; other != c.Backend {
					t.Errorf("trial %d: graph divides %s and %s, a group of the engine", trial, in, c.Operation.Name)
				}
			}
		}
	}
	if dearer[Coarse] == 0 || dearer[Graph] == 0 || dearer[ShortestPath] != 0 {
		t.Errorf("dearer than the shortest path: %v times", dearer)
	}
}

// The plan is the best of all, and its parts add up to it.
func TestPlanIsTheBestOfAll(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for trial := range 60 {
		n, m := randomNetwork(r, 2+r.IntN(5)), newMachine(math.Exp(r.Float64()*8-1))
		p, err := Solve(n, m, ShortestPath)
		if err != nil {
			t.Fatal(err)
		}
		best := math.Inf(1)
		for k := range int(math.Pow(3, float64(len(n.Operations)))) {
			best = min(best, planCost(n, m, k))
		}
		if math.Abs(p.Ns-best) > 1e-6*best || math.Abs(p.sumTimes()-p.Ns) > 1e-6*best {
			t.Errorf("trial %d: %g ns, parts %g, best of all %g", trial, p.Ns, p.sumTimes(), best)
		}
	}
}

// planCost computes the cost of an assignment from the definition, without the graph. Digit i of k,
// in base 3, is the backend of operation i.
func planCost(n *Network, m Machine, k int) float64 {
	sum, before := 0.0, -1
	repack := func(at int) float64 {
		bytes := 0.0
		for name, size := range n.Bytes {
			made, read := 0, -1
			for i, o := range n.Operations {
				for _, in := range o.Inputs {
					if in == name {
						read = i
					}
				}
				if o.Outputs[0] == name {
					made = i + 1
				}
			}
			if name == n.Outputs[0] {
				read = len(n.Operations)
			}
			if made <= at && at <= read {
				bytes += float64(size)
			}
		}
		return bytes / m.Repack.Value
	}
	engine := func(b int) bool { return b == 0 }
	for i := range n.Operations {
		o, b := &n.Operations[i], k%3
		k /= 3
		switch x := m.Backends[b]; {
		case engine(b) && o.Refused != "":
			return math.Inf(1)
		case engine(b):
			sum += o.EngineNs
		default:
			work := 2 * float64(o.MACs)
			if o.MACs == 0 {
				work = float64(o.Elements)
			}
			sum += max(work/x.Rate.Value, float64(o.Bytes)/x.Bandwidth.Value)
		}
		if b != before {
			sum += m.Backends[b].Launch.Value * 1e3
			if before >= 0 {
				sum += m.Switch.Value * 1e3
			}
			if engine(b) != engine(before) {
				sum += repack(i)
			}
		}
		before = b
	}
	if engine(before) {
		sum += repack(len(n.Operations))
	}
	return sum
}

// A file's rates take the place of the preset's; what is no rate is refused.
func TestRatesOfAFile(t *testing.T) {
	m, err := Preset(newConstant(190), newConstant(100)).With("b.yaml", []byte("gpu: {gflops: 5200}\ntransfer: {gb_per_s: 3}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if g := m.Backends[1]; g.Rate.Value != 5200 || g.Rate.Evidence != evidence.Assumed || g.Rate.Source != "b.yaml" || m.Repack.Value != 3 || m.Backends[0].Launch.Value != 190 {
		t.Errorf("%+v", m)
	}
	if m := Preset(newConstant(190), newConstant(100)); m.Repack.Value != 10 {
		t.Errorf("100 us a megabyte are %g GB/s", m.Repack.Value)
	}
	for _, bad := range []string{"gpu: {gflops: 0}", "gpu: {gflops: .nan}", "tpu: {}", "engine: {gflops: 3}", "cpu: {launch_us: -1}", "[", "gpu: 3"} {
		if _, err := m.With("b.yaml", []byte(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

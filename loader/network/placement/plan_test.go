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

func constant(v float64) evidence.Constant { return evidence.Constant{Value: v} }

// machine has round numbers.
func machine(repack float64) Machine {
	return Machine{
		Backends: []Backend{
			{Name: Engine, Launch: constant(1), Interleaved: true},
			{Name: GPU, Rate: constant(1000), Bandwidth: constant(100), Launch: constant(0.5)},
			{Name: CPU, Rate: constant(100), Bandwidth: constant(50), Launch: constant(0.1)},
		},
		Repack: constant(repack), Switch: constant(0.2),
	}
}

// chain is operations one behind the other, each of a megabyte; those of odd places are
// cheaper on the GPU by 50 us.
func chain(n int) *Network {
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

func places(p *Plan) string {
	var s []string
	for _, c := range p.Choices {
		s = append(s, c.Backend)
	}
	return strings.Join(s, " ")
}

// Raising what a transfer costs merges segments.
func TestTransfersMergeSegments(t *testing.T) {
	cheap, err := Solve(chain(6), machine(1e6))
	if err != nil {
		t.Fatal(err)
	}
	dear, err := Solve(chain(6), machine(10))
	if err != nil {
		t.Fatal(err)
	}
	if cheap.Segments != 6 || places(cheap) != "engine gpu engine gpu engine gpu" {
		t.Errorf("cheap transfers: %d segments: %s", cheap.Segments, places(cheap))
	}
	if dear.Segments != 1 {
		t.Errorf("dear transfers: %d segments: %s", dear.Segments, places(dear))
	}
}

// What the engine does not take is routed around it, and back where that pays.
func TestRoutesAroundARefusal(t *testing.T) {
	n := chain(5)
	for i := range n.Operations {
		n.Operations[i].EngineNs = 1e3
		n.Operations[i].MACs = 1e9
	}
	n.Operations[2].Refused, n.Operations[2].MACs = "sorting runs on the host", 0
	p, err := Solve(n, machine(50))
	if err != nil {
		t.Fatal(err)
	}
	if want := "engine engine cpu engine engine"; places(p) != want && places(p) != strings.Replace(want, "cpu", "gpu", 1) {
		t.Errorf("%s, want %s", places(p), want)
	}
	if s := p.Choices[2].Support[0]; s.Taken || s.Message != "sorting runs on the host" || p.Choices[2].Crossing != 1<<20 {
		t.Errorf("%+v", p.Choices[2])
	}
	var refused *RefusedError
	if _, err := Solve(n, machine(50).Only(Engine)); !errors.As(err, &refused) || refused.Operation != "t3" {
		t.Errorf("engine alone: %v", err)
	}
}

// The parts of a plan add up to the whole.
func (p *Plan) sum() float64 {
	s := p.LeaveNs
	for _, c := range p.Choices {
		s += c.Ns + c.LaunchNs + c.CrossNs
	}
	return s
}

// The plan is the best of all, and its parts add up to it.
func TestPlanIsTheBestOfAll(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for trial := range 60 {
		n := chain(2 + r.IntN(5))
		m := machine(math.Exp(r.Float64()*8 - 1))
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
		p, err := Solve(n, m)
		if err != nil {
			t.Fatal(err)
		}
		best := math.Inf(1)
		for k := range int(math.Pow(3, float64(len(n.Operations)))) {
			best = min(best, tried(n, m, k))
		}
		if math.Abs(p.Ns-best) > 1e-6*best || math.Abs(p.sum()-p.Ns) > 1e-6*best {
			t.Errorf("trial %d: %g ns, parts %g, best of all %g", trial, p.Ns, p.sum(), best)
		}
	}
}

// tried is what a plan costs by the definition, without the graph: k has a digit of three
// for each operation.
func tried(n *Network, m Machine, k int) float64 {
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
	m, err := Preset(constant(190), constant(100)).With("b.yaml", []byte("gpu: {gflops: 5200}\ntransfer: {gb_per_s: 3}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if g := m.Backends[1]; g.Rate.Value != 5200 || g.Rate.Evidence != evidence.Assumed || g.Rate.Source != "b.yaml" || m.Repack.Value != 3 || m.Backends[0].Launch.Value != 190 {
		t.Errorf("%+v", m)
	}
	if m := Preset(constant(190), constant(100)); m.Repack.Value != 10 {
		t.Errorf("100 us a megabyte are %g GB/s", m.Repack.Value)
	}
	for _, bad := range []string{"gpu: {gflops: 0}", "gpu: {gflops: .nan}", "tpu: {}", "engine: {gflops: 3}", "cpu: {launch_us: -1}", "[", "gpu: 3"} {
		if _, err := m.With("b.yaml", []byte(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

package lower_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/hw"
	"anesim/loader/layer"
	"anesim/loader/lower/join"
	"anesim/loader/network/list"
	"anesim/loader/network/weights"
)

// attend joins a matmul of queries and keys, a softmax, and a matmul of its result and values to a
// program, and runs it. The inputs are called q, k and v.
func attend(scores, softmax, values layer.Layer, in map[string][]float16.Float16, inMemory bool) (*join.Joined, *anesim.Result, error) {
	tables, err := weights.Complete(&list.Layer{Lower: softmax}, 1)
	if err != nil {
		return nil, nil, err
	}
	n := &join.Network{InMemory: inMemory, Outputs: []string{"y"}}
	for i, l := range []layer.Layer{scores, softmax, values} {
		w := layer.Weights{}
		if i == 1 {
			w = tables
		}
		part, err := join.NewPart(l, w)
		if err != nil {
			return nil, nil, err
		}
		inputs := [][]string{{"q", "k"}, {"s"}, {"p", "v"}}[i]
		n.Nodes = append(n.Nodes, join.Node{Part: part, Inputs: inputs, Output: []string{"s", "p", "y"}[i]})
		for k, name := range inputs {
			if in[name] != nil {
				n.Inputs = append(n.Inputs, join.Tensor{Name: name, Shape: part.Inputs()[k]})
			}
		}
	}
	j, err := n.Join()
	if err != nil {
		return nil, nil, err
	}
	p, err := j.Builder.Build("net")
	if err != nil {
		return nil, nil, err
	}
	res, err := anesim.Run(p, anesim.Options{Chip: hw.M1(), Values: true, Inputs: in})
	if err == nil && (len(res.Report.Faults) > 0 || len(res.Outputs) != 1) {
		err = fmt.Errorf("%d outputs, %v", len(res.Outputs), res.Limits())
	}
	return j, res, err
}

// TestAttentionValues compares attention by blocks of queries with its definition, for random
// numbers of heads, queries, keys and values. The L2 is small, so that scores do not fit.
func TestAttentionValues(t *testing.T) {
	r := rand.New(rand.NewPCG(*seed, 54))
	merged := 0
	for i := range 24 {
		heads, m, d, n, e := 1+r.IntN(3), 100+r.IntN(200), 1+r.IntN(40), 100+r.IntN(100), 1+r.IntN(70)
		scores := layer.Product(m, d, n, layer.Runtime)
		scores.In.C, scores.TransposeY, scores.Factor = heads, i%2 == 0, float16.Fromfloat32(0.25)
		softmax := layer.Reduction(layer.Softmax, scores.Out(), layer.AxisW)
		values := layer.Product(m, n, e, layer.Runtime)
		values.In.C = heads
		for _, l := range []*layer.Layer{&scores, &softmax, &values} {
			l.Memories.L2 = 96 << 10
		}
		in := map[string][]float16.Float16{"q": halves(r, heads*m*d), "k": halves(r, heads*d*n), "v": halves(r, heads*n*e)}
		j, res, err := attend(scores, softmax, values, in, false)
		if err != nil {
			t.Fatalf("%d heads of %d by %d by %d, %d values: %v", heads, m, d, n, e, err)
		}
		if j.Into[1] == 0 && j.Into[2] == 0 {
			merged++
		}
		q, k, v := floats(in["q"]), floats(in["k"]), floats(in["v"])
		var want []float64
		for h := range heads {
			for y := range m {
				powers, sum := make([]float64, n), 0.0
				for x := range n {
					s := 0.0
					for c := range d {
						at := (h*d+c)*n + x
						if scores.TransposeY {
							at = (h*n+x)*d + c
						}
						s += q[(h*m+y)*d+c] * k[at]
					}
					powers[x] = math.Exp(s / 4)
					sum += powers[x]
				}
				for z := range e {
					out := 0.0
					for x := range n {
						out += powers[x] / sum * v[(h*n+x)*e+z]
					}
					want = append(want, out)
				}
			}
		}
		if err := near(res.Outputs[0].Data, want, 0.01); err != nil {
			t.Errorf("%d heads of %d by %d by %d, %d values: %v", heads, m, d, n, e, err)
		}
	}
	if merged < 8 { // the others do not fit, or their values end between multiples of 64 bytes
		t.Errorf("%d of 24 were lowered by blocks; want at least 8", merged)
	}
}

// TestAttentionKeepsScores compares attention over 1037 positions, as a vision transformer has it,
// with its layers one by one: the scores of all heads do not go through memory.
func TestAttentionKeepsScores(t *testing.T) {
	const heads, n, d = 2, 1037, 64
	scores := layer.Product(n, d, n, layer.Runtime)
	scores.In.C = heads
	softmax := layer.Reduction(layer.Softmax, scores.Out(), layer.AxisW)
	values := layer.Product(n, n, d, layer.Runtime)
	values.In.C = heads
	r := rand.New(rand.NewPCG(1, 55))
	in := map[string][]float16.Float16{"q": halves(r, heads*n*d), "k": halves(r, heads*n*d), "v": halves(r, heads*n*d)}
	_, blocks, err := attend(scores, softmax, values, in, false)
	if err != nil {
		t.Fatal(err)
	}
	_, layers, err := attend(scores, softmax, values, in, true)
	if err != nil {
		t.Fatal(err)
	}
	all := uint64(softmax.In.Elements() * layer.ElementBytes)
	if moved, before := blocks.Report.DMA.Total(), layers.Report.DMA.Total(); moved >= 2*all || before < 6*all {
		t.Errorf("%d bytes move by blocks and %d by layers; want less than twice the %d of the scores, and more than six times", moved, before, all)
	}
	if 2*blocks.Report.Time > 3*layers.Report.Time {
		t.Errorf("%v by blocks, %v by layers", blocks.Report.Time, layers.Report.Time)
	}
	if err := near(blocks.Outputs[0].Data, floats(layers.Outputs[0].Data), 0.005); err != nil {
		t.Error(err)
	}
}

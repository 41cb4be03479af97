package lower_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/hw"
	"anesim/loader/internal/lower/join"
	"anesim/loader/layer"
	"anesim/loader/network/list"
	"anesim/loader/network/weights"
)

// An attentionForm says how the tensors of an attention are stored, and on which sides of its
// matmuls.
type attentionForm struct {
	keysLeft, valuesLeft bool
	// columns lists the inputs that are stored with a column for each position, and turned those
	// between which and the matmul the network has a transpose. "p" is the result of the softmax.
	columns, turned map[string]bool
}

// attend joins a matmul of queries and keys, a softmax, and a matmul of its result and values to a
// program, and runs it. The inputs are called q, k and v.
func attend(scores, softmax, values layer.Layer, in map[string][]float16.Float16, f attentionForm, inMemory bool) (*join.Joined, *anesim.Result, error) {
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
		if i == 0 && f.keysLeft || i == 2 && f.valuesLeft {
			slices.Reverse(inputs)
		}
		for k, name := range inputs {
			s := part.Inputs()[k]
			if f.turned[name] {
				turn := layer.Unary(layer.Transpose, layer.Shape{N: s.N, C: s.C, H: s.W, W: s.H})
				turn.Order = [3]layer.Axes{layer.AxisC, layer.AxisW, layer.AxisH}
				turn.Memories = l.Memories
				turned, err := join.NewPart(turn, layer.Weights{})
				if err != nil {
					return nil, nil, err
				}
				s, inputs[k] = turn.In, name+"/turned"
				n.Nodes = append(n.Nodes, join.Node{Part: turned, Inputs: []string{name}, Output: inputs[k]})
			}
			if in[name] != nil {
				n.Inputs = append(n.Inputs, join.Tensor{Name: name, Shape: s})
			}
		}
		n.Nodes = append(n.Nodes, join.Node{Part: part, Inputs: inputs, Output: []string{"s", "p", "y"}[i]})
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
// numbers of heads, queries, keys and values. Each tensor has a row or a column for each position,
// with or without a transpose before the matmul, and each matmul may compute its transpose. L2
// is small, so that scores do not fit.
func TestAttentionValues(t *testing.T) {
	r := rand.New(rand.NewPCG(*seed, 54))
	merged := map[bool]int{}
	for i := range 32 {
		heads, m, d, n, e := 1+r.IntN(3), 100+r.IntN(400), 1+r.IntN(40), 100+r.IntN(100), 1+r.IntN(70)
		f := attentionForm{keysLeft: r.IntN(2) == 0, valuesLeft: i%2 == 0, columns: map[string]bool{}, turned: map[string]bool{}}
		for _, name := range []string{"q", "k", "v"} {
			f.columns[name], f.turned[name] = r.IntN(2) == 0, r.IntN(2) == 0
		}
		f.turned["p"] = r.IntN(2) == 0
		scores := layer.Product(m, d, n, layer.Runtime)
		// The matmul reads a column for each position if the tensor has one or, after a transpose,
		// if it has not.
		scores.TransposeX, scores.TransposeY = f.columns["q"] != f.turned["q"], f.columns["k"] == f.turned["k"]
		axis := layer.AxisW
		if f.keysLeft {
			scores.In.H, scores.Columns, axis = n, m, layer.AxisH
			scores.TransposeX, scores.TransposeY = !scores.TransposeY, !scores.TransposeX
		}
		scores.In.C, scores.Factor = heads, float16.Fromfloat32(0.25)
		softmax := layer.Reduction(layer.Softmax, scores.Out(), axis)
		values := layer.Product(m, n, e, layer.Runtime)
		values.TransposeX, values.TransposeY = f.keysLeft != f.turned["p"], f.columns["v"] != f.turned["v"]
		if f.valuesLeft {
			values.In.H, values.Columns = e, m
			values.TransposeX, values.TransposeY = !values.TransposeY, !values.TransposeX
		}
		values.In.C = heads
		for _, l := range []*layer.Layer{&scores, &softmax, &values} {
			l.Memories.L2 = 96 << 10
		}
		in := map[string][]float16.Float16{"q": halves(r, heads*m*d), "k": halves(r, heads*d*n), "v": halves(r, heads*n*e)}
		what := fmt.Sprintf("%d heads of %d by %d by %d, %d values, %+v", heads, m, d, n, e, f)
		j, res, err := attend(scores, softmax, values, in, f, false)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if last := len(j.Into) - 1; j.Nodes[j.Into[last]].Tasks > 0 && j.Into[last] != last {
			merged[f.valuesLeft]++
		}
		// rows returns an input with a row for each position.
		rows := func(name string, positions, size int) []float64 {
			v := floats(in[name])
			if !f.columns[name] {
				return v
			}
			turned := make([]float64, len(v))
			for i := range v {
				head, at := i/(positions*size), i%(positions*size)
				turned[(head*positions+at%positions)*size+at/positions] = v[i]
			}
			return turned
		}
		q, k, v := rows("q", m, d), rows("k", n, d), rows("v", n, e)
		want := make([]float64, heads*m*e)
		for h := range heads {
			for y := range m {
				powers, sum := make([]float64, n), 0.0
				for x := range n {
					s := 0.0
					for c := range d {
						s += q[(h*m+y)*d+c] * k[(h*n+x)*d+c]
					}
					powers[x] = math.Exp(s / 4)
					sum += powers[x]
				}
				for z := range e {
					out := 0.0
					for x := range n {
						out += powers[x] / sum * v[(h*n+x)*e+z]
					}
					at := (h*m+y)*e + z
					if f.valuesLeft {
						at = (h*e+z)*m + y
					}
					want[at] = out
				}
			}
		}
		if err := near(res.Outputs[0].Data, want, 0.01); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if merged[false] < 6 || merged[true] < 8 { // the others do not fit, or their values end between multiples of 64 bytes
		t.Errorf("%v of 16 each were lowered by blocks, by whether values are on the left; want at least 6 and 8", merged)
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
	_, blocks, err := attend(scores, softmax, values, in, attentionForm{}, false)
	if err != nil {
		t.Fatal(err)
	}
	_, layers, err := attend(scores, softmax, values, in, attentionForm{}, true)
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

package lower_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/hw"
	"anesim/loader/internal/lower/join"
	"anesim/loader/layer"
)

// A normalisation is x*f + a for each channel, and may have a ReLU.
type normalisation struct {
	shape       layer.Shape
	sub, relu   bool
	factor, add []float16.Float16
	read        bool // the product has a second reader
}

func (n *normalisation) network(t *testing.T) *join.Network {
	t.Helper()
	net := &join.Network{Inputs: []join.Tensor{{Name: "x", Shape: n.shape}}}
	add := func(l layer.Layer, w layer.Weights, in, out string) {
		t.Helper()
		p, err := join.NewPart(l, w)
		if err != nil {
			t.Fatal(err)
		}
		net.Nodes = append(net.Nodes, join.Node{Part: p, Inputs: []string{in}, Output: out})
	}
	op := layer.Add
	if n.sub {
		op = layer.Sub
	}
	add(layer.Layer{Op: layer.Mul, In: n.shape, Second: layer.Constant}, layer.Weights{Second: n.factor}, "x", "p")
	add(layer.Layer{Op: op, In: n.shape, Second: layer.Constant}, layer.Weights{Second: n.add}, "p", "s")
	net.Outputs = []string{"s"}
	if n.relu {
		add(layer.Unary(layer.ReLU, n.shape), layer.Weights{}, "s", "y")
		net.Outputs = []string{"y"}
	}
	if n.read {
		net.Outputs = append(net.Outputs, "p")
	}
	return net
}

// A factor, an addend and a ReLU are two descriptors: one loads the rows of constants, one
// works. Values are within a unit in the last place of the larger of product and addend.
func TestNormalisationIsOneTask(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 9))
	for i := range 40 {
		n := normalisation{
			shape: layer.Shape{N: 1, C: 1 + r.IntN(70), H: 1 + r.IntN(9), W: 1 + r.IntN(40)},
			sub:   r.IntN(3) == 0, relu: r.IntN(2) == 0,
		}
		n.factor, n.add = halves(r, n.shape.C), halves(r, n.shape.C)
		for c := range n.factor {
			if n.factor[c].Float32() == 0 {
				n.factor[c] = 0x3c00
			}
		}
		n.add[r.IntN(n.shape.C)] = 0
		net := n.network(t)
		net.InMemory = i%2 == 0
		j, err := net.Join()
		if err != nil {
			t.Fatal(err)
		}
		if j.Nodes[0].Tasks != 2 || len(j.Builder.Chain) != 2 {
			t.Fatalf("%+v: %d descriptors, want 2", n, len(j.Builder.Chain))
		}
		x := halves(r, n.shape.Elements())
		y := outputsOf(t, j, x)[net.Outputs[0]]
		for k, got := range y {
			c := k / (n.shape.H * n.shape.W)
			product, addend := float64(x[k].Float32())*float64(n.factor[c].Float32()), float64(n.add[c].Float32())
			if n.sub {
				addend = -addend
			}
			want := product + addend
			if n.relu {
				want = max(0, want)
			}
			if d := math.Abs(float64(got.Float32()) - want); d > 0x1p-10*max(math.Abs(product), math.Abs(addend))+0x1p-24 {
				t.Fatalf("%+v: element %d is %v, want %v", n.shape, k, got, want)
			}
		}
	}
}

// What one task cannot do stays several, with the same values: a factor that no addend can
// be divided by, and a product that others read.
func TestNormalisationStaysApart(t *testing.T) {
	one, two := float16.Fromfloat32(1), float16.Fromfloat32(2)
	for name, n := range map[string]normalisation{
		"factor of 0":        {factor: []float16.Float16{one, 0}, add: []float16.Float16{one, two}},
		"quotient too large": {factor: []float16.Float16{one, 1}, add: []float16.Float16{one, two}},
		"quotient too small": {factor: []float16.Float16{one, float16.Fromfloat32(60000)}, add: []float16.Float16{one, float16.Fromfloat32(0x1p-14)}},
		"another reader":     {factor: []float16.Float16{one, two}, add: []float16.Float16{one, two}, read: true},
	} {
		n.shape = layer.Shape{N: 1, C: 2, H: 2, W: 4}
		net := n.network(t)
		j, err := net.Join()
		if err != nil {
			t.Fatal(err)
		}
		if len(j.Builder.Chain) != 4 || j.Into[1] != 1 {
			t.Errorf("%s: %d descriptors, want 4", name, len(j.Builder.Chain))
		}
		x := halves(rand.New(rand.NewPCG(1, 1)), n.shape.Elements())
		for k, got := range outputsOf(t, j, x)["s"] {
			c := k / 8
			product := float16.Fromfloat32(x[k].Float32() * n.factor[c].Float32())
			if want := float16.Fromfloat32(product.Float32() + n.add[c].Float32()); got != want {
				t.Errorf("%s: element %d is %v, want %v", name, k, got, want)
			}
		}
	}
}

// outputsOf builds a joined network and returns its outputs on x.
func outputsOf(t *testing.T, j *join.Joined, x []float16.Float16) map[string][]float16.Float16 {
	t.Helper()
	p, err := j.Builder.Build("net")
	if err != nil {
		t.Fatal(err)
	}
	res, err := anesim.Run(p, anesim.Options{Chip: hw.M1(), Values: true, Inputs: map[string][]float16.Float16{"x": x}})
	if err != nil || len(res.Report.Faults) > 0 {
		t.Fatalf("%v, %+v", err, res)
	}
	out := map[string][]float16.Float16{}
	for _, o := range res.Outputs {
		if len(o.Data) == 0 {
			t.Fatalf("%s has no values: %v", o.Port.Name, res.Limits())
		}
		out[o.Port.Name] = o.Data
	}
	return out
}

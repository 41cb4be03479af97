package lower_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/regs"
	"anesim/internal/datapath/mac"
	"anesim/loader/internal/lower/join"
	"anesim/loader/layer"
	. "anesim/loader/lower"
)

// A netBuilder strings random layers together and runs each by itself as it goes.
type netBuilder struct {
	t       *testing.T
	r       *rand.Rand
	net     join.Network
	values  map[string][]float16.Float16
	fused   map[string][]float16.Float16 // outputs that layers share descriptors for
	shapes  map[string]layer.Shape
	names   []string // tensors of nodes and inputs
	cycles  clock.Cycles
	layers  []layer.Op
	nothing layer.Weights
}

func newNet(t *testing.T, r *rand.Rand) *netBuilder {
	return &netBuilder{t: t, r: r, values: map[string][]float16.Float16{}, fused: map[string][]float16.Float16{}, shapes: map[string]layer.Shape{}}
}

func (b *netBuilder) input(s layer.Shape, constant bool) string {
	in := join.Tensor{Name: fmt.Sprintf("in%d", len(b.net.Inputs)), Shape: s}
	b.values[in.Name], b.shapes[in.Name] = halves(b.r, s.Elements()), s
	if constant {
		in.Values = b.values[in.Name]
	} else {
		b.names = append(b.names, in.Name)
	}
	b.net.Inputs = append(b.net.Inputs, in)
	return in.Name
}

// layer adds a node and computes its result by a program of its own.
func (b *netBuilder) layer(l layer.Layer, w layer.Weights, inputs ...string) string {
	b.t.Helper()
	p, err := Lower(l, w)
	if err != nil {
		b.t.Fatalf("%+v: %v", l, err)
	}
	part, err := join.NewPart(l, w)
	if err != nil {
		b.t.Fatal(err)
	}
	in := map[string][]float16.Float16{}
	for i, name := range inputs {
		port := []string{"x", "z"}[min(i, 1)]
		if l.Op == layer.Concat {
			port = fmt.Sprintf("x%d", i)
		}
		in[port] = b.values[name]
	}
	res, err := anesim.Run(p, anesim.Options{Chip: hw.M1(), Values: true, Inputs: in})
	if err != nil || len(res.Outputs) != 1 {
		b.t.Fatalf("%+v: %v, %+v", l, err, res)
	}
	out := fmt.Sprintf("t%d", len(b.net.Nodes))
	b.net.Nodes = append(b.net.Nodes, join.Node{Part: part, Inputs: inputs, Output: out})
	b.values[out], b.shapes[out] = res.Outputs[0].Data, part.Out()
	b.names = append(b.names, out)
	b.layers = append(b.layers, l.Op)
	b.cycles += res.Report.Cycles + res.Report.Saved()
	return out
}

// join makes the program, with tensors in memory and in L2, and checks both against
// the layers by themselves. It returns the one with tensors in memory.
func (b *netBuilder) join(turned bool) *join.Joined {
	b.t.Helper()
	b.net.InMemory = true
	j, inMemory := b.program(turned)
	b.net.InMemory = false
	if _, resident := b.program(true); resident > inMemory {
		b.t.Errorf("%v: %d bytes move with tensors in the L2, %d without", b.layers, resident, inMemory)
	}
	return j
}

// program makes and checks one program and returns the bytes it moves.
func (b *netBuilder) program(turned bool) (*join.Joined, uint64) {
	b.t.Helper()
	j, err := b.net.Join()
	if err != nil {
		b.t.Fatalf("%v: %v", b.layers, err)
	}
	p, err := j.Builder.Build("net")
	if err != nil {
		b.t.Fatalf("%v: %v", b.layers, err)
	}
	in := map[string][]float16.Float16{}
	for port := range p.Inputs() {
		in[port.Name] = b.values[port.Name]
	}
	res, err := anesim.Run(p, anesim.Options{Chip: hw.M1(), Values: true, Inputs: in})
	if err != nil || len(res.Report.Faults) > 0 || len(res.Outputs) != len(b.net.Outputs) {
		b.t.Fatalf("%v: %v, %+v", b.layers, err, res)
	}
	exact := true
	for i, into := range j.Into {
		turned = turned || i != into // layers that share descriptors take less
		exact = exact && (i == into || b.layers[i] == layer.ReLU)
	}
	for _, o := range res.Outputs {
		want, of := b.values[o.Port.Name], "its layer by itself"
		if !exact { // what rides on a product rounds once
			if want, of = b.fused[o.Port.Name], "the same in memory"; want == nil {
				b.fused[o.Port.Name] = o.Data
				continue
			}
		}
		if !slices.Equal(o.Data, want) {
			b.t.Errorf("%v: %s differs from %s", b.layers, o.Port.Name, of)
		}
	}
	// Layers over rows of features have tasks of their own where they are neighbors.
	rows := b.shapes["in0"].C == 1
	if together := res.Report.Cycles + res.Report.Saved(); !turned && !rows && together != b.cycles {
		b.t.Errorf("%v: %d cycles with what overlap saves, the layers take %d", b.layers, together, b.cycles)
	}
	b.headers(j)
	next := 0
	for i, run := range j.Nodes {
		if j.Into[i] != i {
			if run.Tasks != 0 {
				b.t.Errorf("%v: node %d is folded and has descriptors %+v", b.layers, i, run)
			}
			continue
		}
		if run.First != next || run.Tasks < 1 {
			b.t.Errorf("%v: node %d has descriptors %+v, want the first to be %d", b.layers, i, run, next)
		}
		next += run.Tasks
	}
	if next != p.TaskCount {
		b.t.Errorf("%v: nodes have %d descriptors of %d", b.layers, next, p.TaskCount)
	}
	moved := uint64(0)
	for _, d := range res.Report.Descriptors {
		moved += d.DMA.Total()
	}
	return j, moved
}

// headers checks what a descriptor's header says of its place in the whole chain.
func (b *netBuilder) headers(j *join.Joined) {
	b.t.Helper()
	chain := j.Builder.Chain
	for i, d := range chain {
		h := &d.Header
		first, last := i == 0, i == len(chain)-1
		log, debug := uint32(0x400), uint32(0)
		if first {
			log, debug = log|8, 0x68
		}
		if last {
			log, debug = log|0x22, 0x6a
		}
		next, words := uint32(0), uint32(0)
		if !last {
			next, words = chain[i+1].Offset, uint32(chain[i+1].Words-1)
		}
		if h.Task.TID() != uint32(i) || h.Task.LNID() == first || h.Task.EON() != last || h.Bases.TBE() == last ||
			h.LogEvents.LogEvents() != log || h.DebugLogEvents.DebugLogEvents()&0xff != debug ||
			uint32(h.Next) != next || h.Timing.NextSize() != words || d.Offset%regs.Alignment != 0 {
			b.t.Errorf("%v: descriptor %d of %d: %+v", b.layers, i, len(chain), *h)
		}
	}
}

// random adds a layer of a random kind on a tensor of four axes.
func (b *netBuilder) random() {
	r := b.r
	x := b.names[r.IntN(len(b.names))]
	s := b.shapes[x]
	table := func(a mac.Activation) []byte {
		t := mac.TableOf(a)
		e := t.Encode()
		return e[:]
	}
	switch r.IntN(18) {
	case 0, 1:
		l := layer.Conv(s, 1+r.IntN(40), layer.Same(1+2*r.IntN(2), 1+r.IntN(2), s))
		l.Bias = r.IntN(2) == 0
		w := layer.Weights{Filter: halves(r, l.Cout*s.C*l.Window.Kh*l.Window.Kw)}
		if l.Bias {
			w.Bias = halves(r, l.Cout)
		}
		if r.IntN(3) == 0 {
			l.Activation, w.Table = layer.Sigmoid, table(mac.Sigmoid)
		}
		b.layer(l, w, x)
	case 2:
		l := layer.Depthwise(s, layer.Same(3, 1, s))
		b.layer(l, layer.Weights{Filter: halves(r, s.C*9)}, x)
	case 3:
		b.layer(layer.Binary(layer.Add, s, s), b.nothing, x, x)
	case 4:
		z := b.input(s, r.IntN(2) == 0)
		b.layer(layer.Binary(layer.Mul, s, s), b.nothing, x, z)
	case 5:
		l := layer.Binary(layer.Add, s, s)
		l.Second = layer.Constant
		b.layer(l, layer.Weights{Second: halves(r, s.C)}, x)
	case 6:
		b.layer(layer.Unary(layer.Tanh, s), layer.Weights{Table: table(mac.Tanh)}, x)
	case 7:
		b.layer(layer.Reduction(layer.Softmax, s, layer.AxisC), layer.Weights{Table: table(mac.Exp), Reciprocal: table(mac.Reciprocal)}, x)
	case 8:
		b.layer(layer.Reduction(layer.LayerNorm, s, layer.AxisW), b.nothing, x)
	case 9:
		l := layer.Layer{Op: layer.Concat, In: s, Parts: []int{s.C, s.C}}
		l.In.C *= 2
		b.layer(l, b.nothing, x, x)
	case 11, 12:
		b.layer(layer.Unary(layer.ReLU, s), b.nothing, x)
	case 13:
		b.layer(layer.Reduction([]layer.Op{layer.ReduceMax, layer.ReduceMean, layer.ReduceSum}[r.IntN(3)], s, []layer.Axes{layer.AxisC, layer.AxisW, layer.AxisH | layer.AxisW}[r.IntN(3)]), b.nothing, x)
	case 14:
		l := layer.Layer{Op: layer.Slice, In: s, Size: s}
		l.Begin.C, l.Begin.H = r.IntN(s.C), r.IntN(s.H)
		l.Size.C, l.Size.H = 1+r.IntN(s.C-l.Begin.C), 1+r.IntN(s.H-l.Begin.H)
		b.layer(l, b.nothing, x)
	case 15:
		b.layer(layer.Unary(layer.Transpose, s), b.nothing, x)
	case 16:
		l := layer.Layer{Op: layer.Pool, In: s, Window: layer.Same(3, 1+r.IntN(2), s)}
		b.layer(l, b.nothing, x)
	case 17:
		l := layer.Binary(layer.Mul, s, layer.Shape{N: 1, C: 1, H: 1, W: 1})
		l.Second = layer.Scalar
		b.layer(l, layer.Weights{Second: halves(r, 1)}, x)
	case 10:
		small := s
		small.H, small.W = 1, 1
		z := b.input(small, r.IntN(2) == 0)
		b.layer(layer.Binary(layer.Mul, s, small), b.nothing, x, z)
	}
}

// Random networks come out bit for bit as their layers do one by one, in as many cycles.
func TestNetworkValues(t *testing.T) {
	r := rand.New(rand.NewPCG(*seed, 11))
	for range max(60, *chains) {
		b := newNet(t, r)
		s := layer.Shape{N: 1, C: 1 + r.IntN(20), H: 1 + r.IntN(12), W: 1 + r.IntN(40)}
		switch r.IntN(8) {
		case 0: // wider than a patch of the planar engine
			s = layer.Shape{N: 1, C: 1 + r.IntN(4), H: 1 + r.IntN(3), W: 400 + r.IntN(800)}
		case 1: // of more channels than an engine's lanes take at a time
			s = layer.Shape{N: 1, C: 100 + r.IntN(200), H: 1 + r.IntN(4), W: 1 + r.IntN(6)}
		case 2, 3: // of several elements, which L2 has plane by plane
			s.N = 2 + r.IntN(3)
		}
		b.input(s, false)
		for range 2 + r.IntN(6) {
			b.random()
		}
		for i, n := range b.net.Nodes {
			if i == len(b.net.Nodes)-1 || r.IntN(4) == 0 {
				b.net.Outputs = append(b.net.Outputs, n.Output)
			}
		}
		b.join(false)
	}
}

// A classifier's end: channels become a row by a task that belongs to their reader.
// Matrix products, whose tasks meet in the scratch buffer, share it with the tensors.
func TestNetworkTurnsRows(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	b := newNet(t, r)
	s := layer.Shape{N: 1, C: 96, H: 5, W: 5}
	x := b.input(s, false)
	pool := b.layer(layer.Reduction(layer.ReduceMean, s, layer.AxisH|layer.AxisW), b.nothing, x)
	var last []string
	for range 2 {
		l := layer.Layer{Op: layer.Linear, In: layer.Shape{N: 1, C: 1, H: 1, W: 96}, Columns: 40, Bias: true}
		last = append(last, b.layer(l, layer.Weights{Filter: halves(r, 96*40), Bias: halves(r, 40)}, pool))
	}
	row := layer.Shape{N: 1, C: 1, H: 1, W: 40}
	sum := b.layer(layer.Binary(layer.Add, row, row), b.nothing, last...)
	product := b.layer(layer.Product(40, 1, 40, layer.Runtime), b.nothing, sum, last[1])
	b.net.Outputs = []string{product}
	j := b.join(true)
	// The row is turned once for both readers, and the sum, a row, is turned to a column.
	for i, want := range []int{1, 3, 2, 1, 0} {
		if got := j.Nodes[i].Tasks; want != 0 && got != want {
			t.Errorf("node %d has %d descriptors, want %d", i, got, want)
		}
	}
}

// Channels become a row for a product that ends with a rectifier or a table as well.
func TestNetworkTurnsRowsOfPairs(t *testing.T) {
	for _, after := range []layer.Op{layer.ReLU, layer.Tanh} {
		r := rand.New(rand.NewPCG(3, uint64(after)))
		b := newNet(t, r)
		s := layer.Shape{N: 1, C: 96, H: 5, W: 5}
		pool := b.layer(layer.Reduction(layer.ReduceMean, s, layer.AxisH|layer.AxisW), b.nothing, b.input(s, false))
		l := layer.Layer{Op: layer.Linear, In: layer.Shape{N: 1, C: 1, H: 1, W: 96}, Columns: 40, Bias: true}
		product := b.layer(l, layer.Weights{Filter: halves(r, 96*40), Bias: halves(r, 40)}, pool)
		entries := mac.TableOf(mac.Tanh)
		encoded := entries.Encode()
		w := map[layer.Op]layer.Weights{layer.Tanh: {Table: encoded[:]}}[after]
		b.net.Outputs = []string{b.layer(layer.Unary(after, layer.Shape{N: 1, C: 1, H: 1, W: 40}), w, product)}
		b.join(true)
		// A table that rides rounds once less, so that only its size is told from that of
		// nothing but the bias.
		got, want := b.fused[b.net.Outputs[0]], b.values[b.net.Outputs[0]]
		for i := range got {
			if d := got[i].Float32() - want[i].Float32(); after == layer.Tanh && d*d > 1e-4 {
				t.Errorf("%v: element %d is %v, by itself %v", after, i, got[i], want[i])
			}
		}
	}
}

// A rectifier that a layer of a chain of rows has of its own is not lost in the chain.
func TestNetworkRowsKeepTheirRectifier(t *testing.T) {
	for _, rows := range []int{1, 5, 40} {
		r := rand.New(rand.NewPCG(7, uint64(rows)))
		b := newNet(t, r)
		s := layer.Shape{N: 1, C: 1, H: rows, W: 32}
		product := b.layer(layer.Layer{Op: layer.Linear, In: s, Columns: 32}, layer.Weights{Filter: halves(r, 32*32)}, b.input(s, false))
		for _, l := range []layer.Layer{layer.Binary(layer.Sub, s, s), layer.Binary(layer.Mul, s, layer.Shape{N: 1, C: 1, H: 1, W: 1})} {
			l.Activation = layer.ReLU
			w, in := b.nothing, []string{product, product}
			if l.Op == layer.Mul {
				l.Second, w, in = layer.Scalar, layer.Weights{Second: halves(r, 1)}, in[:1]
			} else {
				in[1] = b.input(s, false)
			}
			product = b.layer(l, w, in...)
		}
		b.net.Outputs = []string{b.layer(layer.Layer{Op: layer.Linear, In: s, Columns: 8}, layer.Weights{Filter: halves(r, 32*8)}, product)}
		b.join(true)
	}
}

// A network of one layer is the layer's program, and two alike share their constants.
func TestNetworkOfOneLayer(t *testing.T) {
	in := layer.Shape{N: 1, C: 32, H: 16, W: 16}
	l := layer.Conv(in, 32, layer.Same(3, 1, in))
	w := layer.Weights{Filter: halves(rand.New(rand.NewPCG(1, 1)), 32*32*9)}
	alone, err := Compile(l, w)
	if err != nil {
		t.Fatal(err)
	}
	part, err := join.NewPart(l, w)
	if err != nil {
		t.Fatal(err)
	}
	x := []join.Tensor{{Name: "x", Shape: in}}
	one, err := (&join.Network{Inputs: x, Outputs: []string{"y"}, Nodes: []join.Node{{Part: part, Inputs: []string{"x"}, Output: "y"}}}).Join()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(one.Builder, alone.Builder) {
		t.Error("a network of one layer is not the layer")
	}
	two, err := (&join.Network{Inputs: x, Outputs: []string{"y"}, Nodes: []join.Node{
		{Part: part, Inputs: []string{"x"}, Output: "t"}, {Part: part, Inputs: []string{"t"}, Output: "y"},
	}}).Join()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(two.Builder.Constants, alone.Constants) || two.Builder.Scratch != 0 {
		t.Errorf("two alike: %d bytes of constants, %d of scratch", len(two.Builder.Constants), two.Builder.Scratch)
	}
}

func TestNetworkErrors(t *testing.T) {
	in := layer.Shape{N: 1, C: 8, H: 4, W: 4}
	relu, err := join.NewPart(layer.Unary(layer.ReLU, in), layer.Weights{})
	if err != nil {
		t.Fatal(err)
	}
	wide, err := join.NewPart(layer.Unary(layer.ReLU, layer.Shape{N: 1, C: 1, H: 8, W: 16}), layer.Weights{})
	if err != nil {
		t.Fatal(err)
	}
	x := []join.Tensor{{Name: "x", Shape: in}}
	var many join.Network
	for i := range 29 {
		name := fmt.Sprint("x", i)
		many.Inputs = append(many.Inputs, join.Tensor{Name: name, Shape: in})
		many.Nodes = append(many.Nodes, join.Node{Part: relu, Inputs: []string{name}, Output: "y" + name})
	}
	many.Outputs = []string{"yx0"}
	for _, tc := range []struct {
		net  join.Network
		node int // -1 for a limit
		want string
	}{
		{join.Network{Inputs: x}, 0, "no layers"},
		{join.Network{Inputs: append(x, x[0])}, 0, `duplicate input name "x"`},
		{join.Network{Inputs: []join.Tensor{{Name: "x", Shape: in, Values: make([]float16.Float16, 3)}}}, 0, "3 values; want 128"},
		{join.Network{Inputs: x, Nodes: []join.Node{{Part: relu, Inputs: []string{"x"}, Output: "y"}, {Part: relu, Inputs: []string{"z"}, Output: "w"}}}, 1, `unknown input "z"`},
		{join.Network{Inputs: x, Nodes: []join.Node{{Part: relu, Inputs: []string{"x", "x"}, Output: "y"}}}, 0, "found 2 inputs; want 1"},
		{join.Network{Inputs: x, Nodes: []join.Node{{Part: relu, Inputs: []string{"x"}, Output: "x"}}}, 0, `duplicate tensor name "x"`},
		{join.Network{Inputs: x, Nodes: []join.Node{{Part: wide, Inputs: []string{"x"}, Output: "y"}}}, 0, "padded to different widths"},
		{join.Network{Inputs: x, Nodes: []join.Node{{Part: relu, Inputs: []string{"x"}, Output: "y"}}, Outputs: []string{"x"}}, 1, `unknown output "x"`},
		{many, -1, "number of inputs and outputs: found 30; want at most 28"},
	} {
		_, err := tc.net.Join()
		var node *join.NodeError
		var limit *layer.LimitError
		if err == nil || !strings.Contains(err.Error(), tc.want) || errors.As(err, &node) == (tc.node < 0) ||
			node != nil && node.Node != tc.node || errors.As(err, &limit) != (tc.node < 0) {
			t.Errorf("%+v: %v, want %q of node %d", tc.net, err, tc.want, tc.node)
		}
	}
}

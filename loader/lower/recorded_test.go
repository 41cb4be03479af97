package lower_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/x448/float16"

	. "anesim/loader/lower"
	"anesim/loader/network"
)

const recordedFile = "testdata/recorded.txt"

// TestRecorded holds the programs of some thousand layers and networks of every operation to
// what they were, a digest each of descriptors, coefficients, ports, and what a network says
// of itself; and refusals to their words. Other tests say whether a program is right: this
// one, that none changes unseen. -update writes the file anew.
func TestRecorded(t *testing.T) {
	var b strings.Builder
	made := func(l Layer, r *rand.Rand) string { return recordedLayer(l, madeUp(&l, r.IntN(3) == 0)) }
	record := func(kind string, count int, one func(r *rand.Rand) string) {
		for i := range count {
			// Each from its own number, so that a new kind of layer moves as few as it can.
			fmt.Fprintf(&b, "%s %d %s\n", kind, i, one(rand.New(rand.NewPCG(uint64(i), 17))))
		}
	}
	record("small", 700, func(r *rand.Rand) string {
		l, _, _, _, _ := aLayer(r)
		return made(varied(r, l), r)
	})
	record("form", 160, func(r *rand.Rand) string {
		l := formLayer(r)
		w := formed(r, &l, Form(1+r.IntN(3)))
		w.Table = lut(1)
		return recordedLayer(l, w)
	})
	record("window", 700, func(r *rand.Rand) string { return made(varied(r, windowAtEdges(r)), r) })
	record("product", 600, func(r *rand.Rand) string { return made(varied(r, productAtEdges(r)), r) })
	record("layer", 1400, func(r *rand.Rand) string { return made(varied(r, layerAtEdges(r)), r) })
	record("cramped", 1200, func(r *rand.Rand) string { return made(cramped(r), r) })
	record("lines", 300, func(r *rand.Rand) string { return made(lineAtRandom(r), r) })
	record("packed", 120, func(r *rand.Rand) string {
		l := formLayer(r)
		if l.Op == Convolution {
			l.Window.Sy, l.Window.Sx, l.Groups = 2, 2, 1
			l.Cout = max(1, l.Cout/16) * 16
		}
		return recordedLayer(l, formed(r, &l, Form(1+r.IntN(3))))
	})
	record("runtime", 150, func(r *rand.Rand) string {
		l := Product(edge(r, 128), edge(r, 16384), edge(r, 512), Runtime)
		l.TransposeX, l.TransposeY = r.IntN(6) == 0, r.IntN(3) == 0
		return made(l, r)
	})
	for _, name := range recordedChains {
		for _, inMemory := range []bool{false, true} {
			c := NewChain(t, nil)
			if !c.Chain(name) {
				t.Fatalf("no chain %s", name)
			}
			c.Net.InMemory = inMemory
			fmt.Fprintf(&b, "chain %s %v: %s\n", name, inMemory, recordedNetwork(&c.Net))
		}
	}
	record("rows", 200, func(r *rand.Rand) string { return recordedNetwork(rowsAtRandom(t, r)) })
	record("pictures", 250, func(r *rand.Rand) string { return recordedNetwork(picturesAtRandom(r)) })

	if *Update {
		if err := os.WriteFile(recordedFile, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(recordedFile)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() == string(want) {
		return
	}
	got, lines := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
	if len(got) != len(lines) {
		t.Fatalf("%d lines, %s has %d", len(got), recordedFile, len(lines))
	}
	differ := 0
	for i := range got {
		if got[i] != lines[i] {
			if differ++; differ <= 10 {
				t.Errorf("got  %s\nwant %s", got[i], lines[i])
			}
		}
	}
	t.Errorf("%d of %d programs are not those of %s; where they should be others, run with -update", differ, len(got), recordedFile)
}

// varied is a layer in the form of another compiler, with its buffers the other way round,
// or for a chip with smaller memories, now and then.
func varied(r *rand.Rand, l Layer) Layer {
	switch r.IntN(8) {
	case 0:
		l.Release = Release2023
	case 1:
		l.OutputFirst = true
	case 2:
		l.Memories = Memories{L2: MaxL2 >> (1 + r.IntN(4)), Lane: MaxLane >> r.IntN(3)}
	}
	return l
}

// cramped is a layer that just fits memories of a few hundred bytes, or just does not: their
// borders are met by layers of any size, and more often by small ones.
func cramped(r *rand.Rand) Layer {
	var l Layer
	switch r.IntN(6) {
	case 0:
		l = windowAtEdges(r)
	case 1:
		l = productAtEdges(r)
	case 2, 3:
		l, _, _, _, _ = aLayer(r)
	default:
		l = layerAtEdges(r)
	}
	l.Memories = Memories{L2: 1 << (8 + r.IntN(8)), Lane: 1 << (7 + r.IntN(8))}
	return l
}

// lineAtRandom is an operation along axes, of small extents one by one.
func lineAtRandom(r *rand.Rand) Layer {
	ops := []Op{Softmax, LayerNorm, ReduceSum, ReduceMean, ReduceMax, ReduceMin, Transpose, Slice}
	s := Shape{1, 1 + r.IntN(40), 1 + r.IntN(20), 1 + r.IntN(40)}
	if r.IntN(4) == 0 {
		s.H = 1
	}
	l := Layer{Op: ops[r.IntN(len(ops))], In: s, Axes: Axes(1 + r.IntN(7)), Epsilon: 0.5}
	switch l.Op {
	case Softmax, LayerNorm:
		l.Axes = []Axes{AxisC, AxisH, AxisW}[r.IntN(3)]
	case Transpose:
		l.Order = [][3]Axes{{AxisC, AxisW, AxisH}, {AxisH, AxisC, AxisW}, {AxisW, AxisH, AxisC}}[r.IntN(3)]
	case Slice:
		l.Size = s
		l.Begin.W = r.IntN(s.W)
		l.Size.W = 1 + r.IntN(s.W-l.Begin.W)
	}
	return l
}

// edge is an extent at which rules change, or beside one.
func edge(r *rand.Rand, most int) int {
	for {
		n := 1 << r.IntN(15)
		switch r.IntN(6) {
		case 0:
			n--
		case 1:
			n++
		case 2:
			n += n / 2
		case 3:
			n = 1 + r.IntN(n)
		}
		if n >= 1 && n <= most {
			return n
		}
	}
}

// edges is a shape of such extents and at most so many elements; axes are 1 now and then.
func edges(r *rand.Rand, most int) Shape {
	s := Shape{1, 1, 1, 1}
	if r.IntN(6) == 0 {
		s.N = 1 + r.IntN(4)
	}
	axes := []*int{&s.C, &s.H, &s.W}
	r.Shuffle(3, func(i, j int) { axes[i], axes[j] = axes[j], axes[i] })
	for _, a := range axes {
		if r.IntN(5) > 0 {
			*a = edge(r, max(1, most/s.Elements()))
		}
	}
	return s
}

func windowAtEdges(r *rand.Rand) Layer {
	in := edges(r, 1<<(8+r.IntN(15)))
	k := []int{1, 1, 2, 3, 3, 3, 5, 7, 11, 31}[r.IntN(10)]
	stride := []int{1, 1, 1, 2, 2, 3, 4, 5, 16}[r.IntN(9)]
	if r.IntN(20) > 0 { // else it may not fit
		in.H, in.W = max(in.H, k), max(in.W, k)
	}
	w := Valid(k, stride)
	switch r.IntN(4) {
	case 0, 1:
		w = Same(k, stride, in)
	case 2:
		w.Kh, w.Kw, w.Sy, w.Sx = 1+r.IntN(k), 1+r.IntN(k), 1+r.IntN(stride), 1+r.IntN(stride)
		w.Py, w.Qy, w.Px, w.Qx = r.IntN(w.Kh), r.IntN(w.Kh), r.IntN(w.Kw), r.IntN(w.Kw)
	}
	l := Conv(in, edge(r, 4096), w)
	switch r.IntN(8) {
	case 0:
		l = Depthwise(in, w)
	case 1:
		l.Groups = 2 + r.IntN(30)
		l.In.C, l.Cout = l.Groups*edge(r, 64), l.Groups*edge(r, 64)
	case 2:
		l.Op = Pool
	case 3:
		l.Op = Deconvolution
	case 4:
		l.Dilation = 2 + r.IntN(3)
		l.Window = w.Dilated(l.Dilation)
	}
	if l.Op != Pool {
		l.Bias = r.IntN(2) == 0
	}
	if l.Op == Convolution && r.IntN(4) == 0 {
		l.Activation = []Op{ReLU, Sigmoid, GELU}[r.IntN(3)]
	}
	return l
}

func productAtEdges(r *rand.Rand) Layer {
	l := Product(edge(r, 4096), edge(r, 4096), edge(r, 4096), SecondKind(r.IntN(2)))
	switch r.IntN(6) {
	case 0:
		l.In.C = 1 + r.IntN(12)
		l.Second = Runtime
	case 1:
		l.Op, l.Second = Linear, Constant
	}
	l.TransposeX = r.IntN(6) == 0
	l.TransposeY = l.Second == Runtime && r.IntN(3) == 0
	if l.Second == Constant {
		l.Bias = r.IntN(2) == 0
		if r.IntN(3) == 0 {
			l.Activation = []Op{ReLU, Tanh, GELU}[r.IntN(3)]
		}
	}
	return l
}

// layerAtEdges is any other operation.
func layerAtEdges(r *rand.Rand) Layer {
	var ops []Op
	for op := Op(1); op.String() != fmt.Sprintf("Op(%d)", uint8(op)); op++ {
		switch op {
		case Convolution, Pool, Deconvolution, MatMul, Linear:
			continue
		case Add, Mul, ReduceSum, ReduceMean, ReduceMax, Softmax, LayerNorm, Transpose, Concat: // more of them: their rules are many
			ops = append(ops, op, op, op)
		}
		ops = append(ops, op)
	}
	s := edges(r, 1<<(6+r.IntN(17)))
	l := Layer{
		Op: ops[r.IntN(len(ops))], In: s, Axes: Axes(1 + r.IntN(7)), Epsilon: 0.5, Alpha: 0.25, Low: -1.5, High: 2.5,
		Reps: Shape{1 + r.IntN(2), 1 + r.IntN(3), 1 + r.IntN(3), 1 + r.IntN(2)},
		Fill: Fill(r.IntN(3)), Value: -2.5,
	}
	switch l.Op {
	case Add, Sub, Mul, Max, Min, RealDiv, Average, Pow:
		l.Second, l.SecondShape = SecondKind(r.IntN(4)), s
		switch l.Second {
		case Constant:
			l.SecondShape = Shape{1, s.C, 1, 1}
		case Runtime:
			for _, a := range []*int{&l.SecondShape.C, &l.SecondShape.H, &l.SecondShape.W} {
				if r.IntN(4) == 0 {
					*a = 1
				}
			}
		}
		l.SecondReLU = r.IntN(6) == 0
		l.Bias = l.Op == Mul && l.Second == Constant && r.IntN(2) == 0
		if l.Op.String() != "pow" && r.IntN(4) == 0 {
			l.Activation = []Op{ReLU, Sigmoid}[r.IntN(2)]
		}
	case Transpose:
		l.Order = [][3]Axes{
			{}, {AxisC, AxisW, AxisH}, {AxisH, AxisC, AxisW},
			{AxisH, AxisW, AxisC}, {AxisW, AxisC, AxisH}, {AxisW, AxisH, AxisC},
		}[r.IntN(6)]
	case Concat:
		l.In.C = 0
		for range 1 + r.IntN(5) {
			l.Parts = append(l.Parts, edge(r, 64))
			l.In.C += l.Parts[len(l.Parts)-1]
		}
	case Slice:
		cut := func(n int) (begin, size int) { begin = r.IntN(n); return begin, 1 + r.IntN(n-begin) }
		l.Begin.N, l.Size.N = cut(s.N)
		l.Begin.C, l.Size.C = cut(s.C)
		l.Begin.H, l.Size.H = cut(s.H)
		l.Begin.W, l.Size.W = cut(s.W)
	case Pad:
		l.Window = Window{Py: r.IntN(33), Qy: r.IntN(33), Px: r.IntN(33), Qx: r.IntN(33)}
	}
	return l
}

// recordedChains are of the kinds of residency.md: blocks of transformers and their parts.
var recordedChains = []string{
	"ffn_d128_s64", "ffn_d256_s128", "ffn_d512_s64", "ffn_d768_s64", "ffn_d512_s64_relu", "ffn_d256_s64_biasbcast", "ffn_d256_s64_biasfull",
	"lnproj_d256_s64", "lnproj_d512_s256", "lnproj_d1024_s128", "lnproj_d768_s192",
	"attn_s64_dh64", "attn_s128_dh32", "attn_s256_dh64", "attn_s128_dh64_h4", "attn_s512_dh64", "attn_s128_dh64_noscale", "attn_s1024_dh64",
	"res_d256_relu", "res_d256_gelu", "resffn_d256_s64", "resffn_d512_s128", "resattn_d64_s128", "resattn_d256_s64",
	"block_d256_s64", "block_d256_s64_proj1", "block_d512_s128_proj1", "stack2_d256_s64_proj1", "stack3_d128_s64", "block_d768_s64_proj1",
	"branch_d256_s64", "serial_d256_s64", "base_d256_s64", "base_d1024_s512", "mm_relu", "mm_gelu", "mm_bias", "mm_mul", "mm_add", "mm_mm", "mm_softmax",
	"gelu_mm", "ln_gelu",
}

// rowsAtRandom is a network over rows of features.
func rowsAtRandom(t *testing.T, r *rand.Rand) *Network {
	b := chainRun{t, NewChain(t, r)}
	rows, width := []int{1, 16, 33, 64, 128, 192, 256}[r.IntN(7)], []int{1, 31, 64, 96, 128, 256, 520}[r.IntN(7)]
	names := []string{b.Input("x", Shape{N: 1, C: 1, H: rows, W: width})}
	for range 1 + r.IntN(8) {
		if out := b.grow(r, names); out != names[len(names)-1] {
			names = append(names, out)
		}
	}
	b.Net.Outputs, b.Net.InMemory = names[len(names)-1:], r.IntN(6) == 0
	if r.IntN(4) == 0 && len(names) > 2 && len(b.Net.Nodes) > 1 {
		b.Net.Outputs = []string{b.Net.Nodes[0].Output, b.Net.Nodes[len(b.Net.Nodes)-1].Output}
	}
	return &b.Net
}

// picturesAtRandom is a network over channels of pictures: convolutions, residual sums,
// pools, concatenations, norms, with constants and second inputs.
func picturesAtRandom(r *rand.Rand) *Network {
	n := &Network{InMemory: r.IntN(8) == 0}
	shapes := map[string]Shape{}
	var names []string
	input := func(s Shape, constant bool) string {
		in := Tensor{Name: fmt.Sprint("in", len(n.Inputs)), Shape: s}
		if constant {
			in.Values = halves(r, s.Elements())
		} else {
			names = append(names, in.Name)
		}
		n.Inputs = append(n.Inputs, in)
		shapes[in.Name] = s
		return in.Name
	}
	side := []int{1, 4, 7, 14, 28, 56}[r.IntN(6)]
	input(Shape{1, []int{3, 16, 24, 64}[r.IntN(4)], side, []int{side, 2 * side, 33}[r.IntN(3)]}, false)
	add := func(l Layer, inputs ...string) {
		part, err := NewPart(l, madeUp(&l, false))
		if err != nil {
			return
		}
		out := fmt.Sprint("t", len(n.Nodes))
		n.Nodes = append(n.Nodes, Node{Part: part, Inputs: inputs, Output: out})
		shapes[out] = part.Out()
		names = append(names, out)
	}
	for range 2 + r.IntN(9) {
		x := names[len(names)-1-min(r.IntN(5)/2, len(names)-1)]
		s := shapes[x]
		like := x // another tensor of the shape
		for _, y := range names {
			if shapes[y] == s {
				like = y
				break
			}
		}
		switch r.IntN(14) {
		case 0, 1, 2:
			l := Conv(s, []int{8, 16, 64, 100}[r.IntN(4)], Same(1+2*r.IntN(2), 1+r.IntN(2), s))
			l.Bias = r.IntN(2) == 0
			add(l, x)
		case 3:
			add(Depthwise(s, Same(3, 1, s)), x)
		case 4, 5:
			add(Unary([]Op{ReLU, Sigmoid, HardSwish, Abs}[r.IntN(4)], s), x)
		case 6, 7:
			add(Binary([]Op{Add, Mul, Max}[r.IntN(3)], s, s), x, like)
		case 8:
			one := s
			if r.IntN(2) == 0 {
				one.H, one.W = 1, 1
			}
			add(Binary([]Op{Add, Mul}[r.IntN(2)], s, one), x, input(one, r.IntN(2) == 0))
		case 9:
			l := Binary([]Op{Add, Mul}[r.IntN(2)], s, s)
			l.Second = []SecondKind{Constant, Scalar}[r.IntN(2)]
			l.SecondShape = Shape{1, s.C, 1, 1}
			l.Bias = l.Op == Mul && l.Second == Constant && r.IntN(2) == 0
			add(l, x)
		case 10:
			l := Layer{Op: Concat, In: s, Parts: []int{s.C, s.C}}
			l.In.C *= 2
			add(l, x, like)
		case 11:
			add(Layer{Op: Pool, In: s, Window: Same(3, 1+r.IntN(2), s)}, x)
		case 12:
			add(Reduction([]Op{ReduceMean, ReduceMax, ReduceSum}[r.IntN(3)], s, []Axes{AxisC, AxisW, AxisH | AxisW}[r.IntN(3)]), x)
		case 13:
			l := Reduction([]Op{Softmax, LayerNorm}[r.IntN(2)], s, []Axes{AxisC, AxisW}[r.IntN(2)])
			l.Epsilon = 1e-3
			add(l, x)
		}
	}
	if len(n.Nodes) == 0 {
		add(Unary(ReLU, shapes["in0"]), "in0")
	}
	n.Outputs = []string{n.Nodes[len(n.Nodes)-1].Output}
	if r.IntN(3) == 0 && len(n.Nodes) > 1 {
		n.Outputs = append(n.Outputs, n.Nodes[0].Output)
	}
	return n
}

// madeUp are weights without a meaning, but each in a place of its own: values are looked at
// by their bits alone. Big ones are left out, as they are of a program that is only timed.
func madeUp(l *Layer, zeros bool) Weights {
	need := network.Needs(l)
	if l.Second == Constant && need.Second > 0 {
		need.Second = l.In.C
	}
	fill := func(n int) []float16.Float16 {
		if n == 0 {
			return nil
		}
		v := make([]float16.Float16, n)
		for i := range v {
			if !zeros || i%3 != 1 {
				v[i] = float16.Float16(0x2c00 | uint32(i+1)*2654435761>>21)
			}
		}
		return v
	}
	w := Weights{SizesOnly: need.Filter > 1<<12, Bias: fill(need.Bias), Second: fill(need.Second)}
	if !w.SizesOnly {
		w.Filter = fill(need.Filter)
	}
	w.Table, w.Reciprocal = lut(1), lut(2)
	further := max(l.Op.Tables(), l.Activation.Tables()) - 1
	if l.Op == Pow {
		further = 1
	}
	for i := range further {
		w.Tables = append(w.Tables, lut(byte(3+i)))
	}
	return w
}

// lut is a table that is told from others.
func lut(b byte) []byte { return bytes.Repeat([]byte{b}, 128) }

// recordedLayer is a layer's operation and shapes, and its program or refusal.
func recordedLayer(l Layer, w Weights) string {
	head := fmt.Sprintf("%v %v: ", l.Op, l.In)
	c, err := Compile(l, w)
	if err != nil {
		return head + err.Error()
	}
	b := c.Builder
	return head + fmt.Sprintf("%d %d %d %s", c.Tasks, b.ConstantBytes, b.Scratch,
		digest(c.Text, c.Constants, fmt.Append(nil, c.FirstWords, b.Procedure, b.Ports)))
}

// recordedNetwork is a network's program, or its refusal.
func recordedNetwork(n *Network) string {
	j, err := n.Join()
	if err != nil {
		return err.Error()
	}
	b := j.Builder
	p, err := b.Layout("recorded")
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %d %d %s", len(b.Chain), b.ConstantBytes, b.Scratch,
		digest(p.Text, b.Constants, fmt.Append(nil, b.Ports, j.Nodes, j.Into, j.L2, j.Spilled)))
}

func digest(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:", len(p))
		h.Write(p)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:4])
}

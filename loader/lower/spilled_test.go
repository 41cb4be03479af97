package lower_test

import (
	"testing"

	"anesim"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/regs"
	"anesim/loader/internal/lower/join"
	"anesim/loader/layer"
	. "anesim/loader/lower"
)

// Addresses of DMA configurations and of the first source's base.
const (
	source1Config = 0x13800
	source1Base   = 0x13808
	resultConfig  = 0x17800
	resultBase    = 0x17804
)

// Addresses of the bases of tiles in L2: two sources and the result.
var tileBases = [...]uint32{0x4808, 0x481c, 0x4834}

// register is a word that a descriptor writes.
func register(t *testing.T, d *regs.Descriptor, addr uint32) *uint32 {
	t.Helper()
	for _, r := range d.Records {
		if addr >= r.Addr && addr < r.Addr+uint32(4*len(r.Values)) {
			return &r.Values[(addr-r.Addr)/4]
		}
	}
	t.Fatalf("descriptor %d does not write %#x", d.Index, addr)
	return nil
}

// cycles are those of every descriptor of a chain.
func cycles(t *testing.T, j *join.Joined) (list []clock.Cycles) {
	t.Helper()
	p, err := j.Builder.Build("net")
	if err != nil {
		t.Fatal(err)
	}
	res, err := anesim.Run(p, anesim.Options{Chip: hw.M1()})
	if err != nil || len(res.Report.Faults) > 0 {
		t.Fatalf("%v, %+v", err, res.Report.Faults)
	}
	for _, d := range res.Report.Descriptors {
		list = append(list, d.Cycles.Total())
	}
	return list
}

// A tensor that goes through the scratch buffer says so in both DMA configurations, and the
// device makes who reads it wait until it is there: the same task with an input in its
// place does not.
func TestSpilledTensorIsWaitedFor(t *testing.T) {
	s := layer.Shape{N: 1, C: 64, H: 16, W: 16}
	b := NewChain(t, nil)
	x, z := b.Input("x", s), b.Input("z", s)
	b.Net.Outputs = []string{b.Sum(b.Apply(layer.GELU, x), z)}
	b.Net.InMemory = true
	j, err := b.Net.Join()
	if err != nil {
		t.Fatal(err)
	}
	if len(j.Builder.Chain) != 2 {
		t.Fatalf("%d descriptors, want 2", len(j.Builder.Chain))
	}
	first, second := j.Builder.Chain[0], j.Builder.Chain[1]
	if got := *register(t, first, resultConfig); got != 0x40003c1 {
		t.Errorf("the result's DMA configuration is %#x", got)
	}
	if got := *register(t, second, source1Config); got != 0x53901 {
		t.Errorf("the source's DMA configuration is %#x", got)
	}
	// Its tiles are away from the first's, so that the L2 makes nobody wait.
	for _, addr := range tileBases {
		*register(t, second, addr) += 0x100000
	}
	after := cycles(t, j)
	second.Header.Bases = second.Header.Bases.WithRBase0(second.Header.Bases.RBase1())
	*register(t, second, source1Base) = 0
	beside := cycles(t, j)
	t.Logf("%v cycles behind the tensor's writer, %v with an input in its place", after, beside)
	if after[0] != beside[0] || after[1] <= beside[1] {
		t.Error("the source does not wait for its writer")
	}
}

// A result over something in the scratch buffer says how far back that was read last, and
// the device does not start to write it on the other engine while that is read.
func TestOverwrittenScratchIsWaitedFor(t *testing.T) {
	s := layer.Shape{N: 1, C: 64, H: 16, W: 16}
	conv := layer.Layer{Op: layer.Convolution, In: s, Cout: 64, Window: layer.Same(3, 1, s), Groups: 1}
	part := func(l layer.Layer) *join.Part {
		p, err := join.NewPart(l, layer.Weights{})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	add := part(layer.Binary(layer.Add, s, s))
	n := join.Network{
		Inputs: []join.Tensor{{Name: "x", Shape: s}, {Name: "z", Shape: s}},
		Nodes: []join.Node{
			{Part: add, Inputs: []string{"x", "z"}, Output: "a"},
			{Part: part(conv), Inputs: []string{"a"}, Output: "y"},
			{Part: add, Inputs: []string{"z", "z"}, Output: "b"},
			{Part: part(layer.Unary(layer.Abs, s)), Inputs: []string{"b"}, Output: "w"},
		},
		Outputs:  []string{"y", "w"},
		InMemory: true,
	}
	j, err := n.Join()
	if err != nil {
		t.Fatal(err)
	}
	if len(j.Builder.Chain) != 4 {
		t.Fatalf("%d descriptors, want 4", len(j.Builder.Chain))
	}
	over := j.Builder.Chain[2]
	if got := *register(t, over, resultConfig); got != 0x40403c1 {
		t.Errorf("the result's DMA configuration is %#x", got)
	}
	for _, addr := range tileBases {
		*register(t, over, addr) += 0x100000
	}
	behind := cycles(t, j)
	*register(t, over, resultBase) = uint32(j.Builder.Scratch)
	j.Builder.Scratch *= 2
	beside := cycles(t, j)
	t.Logf("%v cycles over what the task before reads, %v over nothing", behind, beside)
	if behind[1] != beside[1] || behind[2] <= beside[2] {
		t.Error("the result does not wait for the reader of what it is written over")
	}
}

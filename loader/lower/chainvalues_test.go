package lower_test

import (
	"flag"
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
	. "anesim/loader/lower"
)

// A chainRun is a chain that runs.
type chainRun struct {
	t testing.TB
	*ChainNet
}

// run builds the network and computes its output.
func (b chainRun) run(inMemory bool, in map[string][]float16.Float16) ([]float16.Float16, *join.Joined, uint64) {
	b.t.Helper()
	b.Net.InMemory = inMemory
	j, err := b.Net.Join()
	if err != nil {
		b.t.Fatal(err)
	}
	p, err := j.Builder.Build("net")
	if err != nil {
		b.t.Fatal(err)
	}
	res, err := anesim.Run(p, anesim.Options{Chip: hw.M1(), Values: true, Inputs: in})
	if err != nil || len(res.Report.Faults) > 0 || len(res.Outputs) != 1 {
		b.t.Fatalf("%s: %v, %+v", b.Layers(), err, res.Report.Faults)
	}
	moved := uint64(0)
	for _, d := range res.Report.Descriptors {
		moved += d.DMA.Total()
		if !d.Computed {
			b.t.Fatalf("descriptor %d of %d is not computed: %+v", d.Index, len(j.Builder.Chain), d)
		}
	}
	return res.Outputs[0].Data, j, moved
}

// check runs the network with its tensors in L2 and in memory, bit by bit, and beside
// the definition.
func (b chainRun) check(name string, tolerance float64) {
	b.t.Helper()
	in := map[string][]float16.Float16{}
	for _, t := range b.Net.Inputs {
		if t.Values == nil {
			in[t.Name] = b.Random(t.Shape.Elements(), 1)
		}
	}
	got, _, resident := b.run(false, in)
	apart, _, inMemory := b.run(true, in)
	if !slices.Equal(got, apart) {
		n := 0
		for i := range got {
			if got[i] != apart[i] {
				n++
			}
		}
		b.t.Errorf("%s: %d of %d values differ between tensors in the L2 and in memory", name, n, len(got))
	}
	if resident > inMemory {
		b.t.Errorf("%s: %d bytes move with tensors in the L2, %d without", name, resident, inMemory)
	}
	want := b.Define(in)
	worst, scale := 0.0, 0.0
	for i := range want {
		worst = max(worst, math.Abs(float64(got[i].Float32())-want[i]))
		scale = max(scale, math.Abs(want[i]))
	}
	b.t.Logf("%s: worst %g of %g; %d bytes, %d in memory", name, worst, scale, resident, inMemory)
	if !(worst <= tolerance*max(scale, 1)) {
		b.t.Errorf("%s: off by %g of %g", name, worst, scale)
	}
}

// The chains of the compiler's families come out right, in L2 and in memory alike.
func TestChainValues(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 4))
	for _, name := range []string{
		"ffn_d32_s8", "ffn_d64_s16", "ffn_d96_s64", "ffn_d64_s136_relu", "ffn_d64_s128_biasbcast", "ffn_d96_s24_biasfull",
		"lnproj_d64_s16", "lnproj_d64_s256", "attn_s32_dh48", "attn_s64_dh64_noscale", "attn_s128_dh32_h3", "attn_s256_dh32",
		"resffn_d64_s32", "resffn_d96_s64", "resattn_s32_d64", "block_d64_s32_proj0", "block_d64_s32_proj1", "block_d256_s16_proj1", "stack2_d64_s16_proj1",
		"mm_relu", "mm_gelu", "mm_bias", "mm_mul", "mm_add", "mm_mm", "mm_softmax", "gelu_mm", "ln_gelu",
		"branch_d96_s32", "serial_d96_s32", "res_gelu_d96", "res_relu_d96",
	} {
		b := chainRun{t, NewChain(t, r)}
		if !b.Chain(name) {
			t.Errorf("%s: no such chain", name)
			continue
		}
		b.check(fmt.Sprint(name), 0.05)
	}
}

// grow adds a random layer of rows on one of the tensors made so far.
func (b chainRun) grow(r *rand.Rand, names []string) string {
	x := names[len(names)-1-min(r.IntN(4)/2, len(names)-1)]
	s := b.Shape(x)
	switch r.IntN(10) {
	case 0, 1, 2:
		return b.Linear(x, 1+r.IntN(90))
	case 3:
		return b.Apply([]layer.Op{layer.ReLU, layer.GELU, layer.Tanh, layer.Sigmoid, layer.SiLU}[r.IntN(5)], x)
	case 4:
		if s.W >= 8 { // of two values the norm is the sign of their difference
			return b.Norm(x)
		}
	case 5:
		return b.Softmax(x)
	case 6:
		return b.Scale(x)
	case 7:
		return b.Sum(x, b.Constant(layer.Shape{N: 1, C: 1, H: 1, W: s.W}))
	case 8:
		if s.H%16 == 0 && s.W > 1 {
			return b.Attend(x)
		}
	}
	for _, y := range names {
		if b.Shape(y) == s {
			return b.Sum(x, y)
		}
	}
	return x
}

// Random chains of rows come out the same in L2 and in memory, and near their
// definition; 500 of them with -chains 500.
func TestRandomChains(t *testing.T) {
	r := rand.New(rand.NewPCG(*seed, 19))
	for i := range *chains {
		b := chainRun{t, NewChain(t, r)}
		rows := 1 + r.IntN(40)
		if r.IntN(2) == 0 {
			rows = 16 * (1 + r.IntN(9))
		}
		width := 1 + r.IntN(80)
		if r.IntN(6) == 0 { // wider than a patch of the planar engine
			rows, width = 1+r.IntN(20), 400+r.IntN(800)
		}
		names := []string{b.Input("x", layer.Shape{N: 1, C: 1, H: rows, W: width})}
		for range 1 + r.IntN(7) {
			if out := b.grow(r, names); out != names[len(names)-1] {
				names = append(names, out)
			}
		}
		if len(b.Net.Nodes) == 0 {
			continue
		}
		b.Net.Outputs = names[len(names)-1:]
		b.check(fmt.Sprintf("chain %d: %s", i, b.Layers()), 0.1)
	}
}

var chains = flag.Int("chains", 40, "random chains to try")

package lower

import (
	"testing"

	"anesim/hw/regs"
	"anesim/loader/internal/lower/join"
	"anesim/loader/layer"
)

// kernelWriters checks that every task whose coefficients stand in the scratch buffer names
// the last task that wrote there, and counts them.
func kernelWriters(t *testing.T, name string, text []byte, first int) (count int) {
	t.Helper()
	var named []uint32
	for d, err := range regs.Chain(text, first) {
		if err != nil {
			t.Fatal(err)
		}
		named = append(named, d.Extra)
	}
	var written [][2]int64 // the bytes of the scratch buffer that each task writes
	i := -1
	for s, err := range regs.States(text, first) {
		if err != nil {
			t.Fatal(err)
		}
		i++
		o, kernels := s.Groups.Operands(), s.Header.KernelBases
		var to [2]int64
		if s.Groups.DestinationOn() && s.Header.Bases.WBase() == regs.BARScratch {
			low, high := o.Result.Extent()
			to = [2]int64{int64(o.Result.Base) + low, int64(o.Result.Base) + high}
		}
		written = append(written, to)
		if !o.Kernel.On || !kernels.KBE0() || kernels.KBase0() != regs.BARScratch {
			continue
		}
		count++
		writer := -1
		for k, w := range written[:i] {
			if w[0] < int64(o.Kernel.End) && int64(o.Kernel.Low) < w[1] {
				writer = k
			}
		}
		if int(named[i]) != writer {
			t.Errorf("%s: task %d has its coefficients from task %d by its extra word, from %d by their place", name, i, named[i], writer)
		}
	}
	return count
}

// The extra header word names who wrote the coefficients, in real texts, products and chains.
func TestKernelWriters(t *testing.T) {
	t.Run("texts", func(t *testing.T) {
		count := 0
		for _, e := range examples(t) {
			count += kernelWriters(t, e.name, e.text, e.first)
		}
		if count != 1 {
			t.Errorf("%d tasks with coefficients in the scratch buffer, want 1", count)
		}
	})
	count := 0
	joined := func(name string, n *join.Network) {
		j, err := n.Join()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		count += kernelWriters(t, name, regs.EncodeChain(j.Builder.Chain), j.Builder.Chain[0].Words)
	}
	for _, memory := range []bool{false, true} {
		for _, name := range []string{"attn_s64_dh96", "attn_s256_dh64", "attn_s128_dh64_h4", "resattn_s64_d256", "stack2_d256_s64_proj1"} {
			b := NewChain(t, nil)
			b.Chain(name)
			b.Net.InMemory = memory
			joined(name, &b.Net)
		}
		// Products in pieces, behind each other and behind another task.
		b := NewChain(t, nil)
		x, z, w := b.Input("x", layer.Shape{N: 1, C: 3, H: 130, W: 96}), b.Input("z", layer.Shape{N: 1, C: 3, H: 96, W: 200}), b.Input("w", layer.Shape{N: 1, C: 3, H: 200, W: 70})
		y := b.node(layer.Layer{Op: layer.MatMul, In: b.shapes[x], Columns: 200}, layer.Weights{}, x, z)
		y = b.Apply(layer.ReLU, y)
		b.Net.Outputs = []string{b.node(layer.Layer{Op: layer.MatMul, In: b.shapes[y], Columns: 70}, layer.Weights{}, y, w)}
		b.Net.InMemory = memory
		joined("products in pieces", &b.Net)
	}
	if count < 60 {
		t.Errorf("%d tasks with coefficients in the scratch buffer, want more", count)
	}
	t.Logf("%d tasks", count)
}

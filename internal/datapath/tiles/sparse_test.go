package tiles

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/hw/regs"
)

// packed is the layer's registers with its lanes on and their sizes.
func (l *layer) packed(lanes [Engines][]byte) *regs.Groups {
	g := l.registers()
	k := &g.KernelDMASrc
	for i, b := range lanes {
		k.CoeffDMAConfig[i] = k.CoeffDMAConfig[i].WithEn(len(b) > 0)
		k.CoeffBfrSize[i] = k.CoeffBfrSize[i].WithBytes(uint32(len(b)))
	}
	return g
}

// dense is a plan of the same registers when every step counts.
func dense(g *regs.Groups, open Enables) Work {
	d := *g
	d.NE.KernelCfg = d.NE.KernelCfg.WithSparse(false)
	return Plan(&d, open, m1)
}

// square is a layer of stride 1 or 2 with the form of sparse weights that goes with it:
// 64 input channels, 3x3, and 64 or more output channels over two patches.
func square(cout, stride int) *layer {
	l := inner(cout, 64, 2)
	l.kh, l.kw, l.sy, l.sx, l.hout, l.wout = 3, 3, stride, stride, 16, 32
	l.packing = Masked
	if stride > 1 {
		l.packing = ZeroSkipping
	}
	return l
}

// set gives a layer weights of one, but where zero says that tap k of a channel is zero.
func (l *layer) set(zero func(channel, k int) bool) *layer {
	l.weights = make([][]half, l.groups*l.cout)
	for c := range l.weights {
		l.weights[c] = make([]half, l.taps())
		for k := range l.weights[c] {
			if !zero(c, k) {
				l.weights[c][k] = 0x3c00
			}
		}
	}
	return l
}

// Weights in a sparse form save the steps of their zeros, as far as 64 bytes of padding
// let them be known, and dense ones save none.
func TestPlanOfSparseWeights(t *testing.T) {
	for _, tc := range []struct {
		name   string
		stride int
		zero   func(channel, k int) bool
		steps  int // of 576
	}{
		// A lane has 2304 halves and 288 bytes of masks: 64 bytes are 8 steps of its four
		// channels.
		{"masked, dense", 1, func(int, int) bool { return false }, 576},
		{"masked, one zero", 1, func(c, k int) bool { return c == 0 && k == 0 }, 576},
		{"masked, one zero in four", 1, func(c, k int) bool { return k%4 == 0 }, 436},
		{"masked, half", 1, func(c, k int) bool { return k%2 == 0 }, 292},
		{"masked, three in four", 1, func(c, k int) bool { return k%4 != 0 }, 148},
		{"masked, all", 1, func(int, int) bool { return true }, 4},
		// Two bytes of a count, 64 times 2+2+2+2 of masks.
		{"zero-skipping, dense", 2, func(int, int) bool { return false }, 576},
		{"zero-skipping, one in four", 2, func(c, k int) bool { return k%4 == 0 }, 440},
		{"zero-skipping, half", 2, func(c, k int) bool { return k%2 == 0 }, 296},
		{"zero-skipping, three in four", 2, func(c, k int) bool { return k%4 != 0 }, 152},
		{"zero-skipping, all", 2, func(int, int) bool { return true }, 8},
		// The busiest lane sets the pace.
		{"channel 20 dense", 1, func(c, k int) bool { return c/4 != 5 }, 576},
		{"channels 20 to 23 half", 1, func(c, k int) bool { return c/4 != 5 || k%2 == 0 }, 292},
		{"a channel in four dense", 1, func(c, k int) bool { return c%4 != 0 }, 148},
	} {
		l := square(64, tc.stride).set(tc.zero)
		g := l.packed(l.pack())
		want := dense(g, AllTiles)
		got := Plan(g, AllTiles, m1)
		want.MACCycles, want.Skipped = 4*tc.steps, got.Skipped
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, d)
		}
	}
}

// Zeros are counted in every lane, whichever sets the pace.
func TestSkippedMultiplyAccumulates(t *testing.T) {
	l := square(64, 1).set(func(c, k int) bool { return c >= 32 && k%2 == 0 })
	got := Plan(l.packed(l.pack()), AllTiles, m1)
	const steps, outputs = 576 - 292, 512 * 32
	if got.Skipped != steps*outputs || got.MACs != 576*64*512 || got.MACCycles != 4*576 {
		t.Errorf("%d of %d skipped, %d cycles a unit", got.Skipped, got.MACs, got.MACCycles)
	}
}

// A size proves of a lane what counting its halves would, all but those that could stand
// in its padding.
func TestSizesCountTheLanes(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	exact := 0
	for range 400 {
		l := inner(1+r.IntN(80), 1+r.IntN(20), r.IntN(6))
		if r.IntN(8) == 0 {
			l.cout = 1 + r.IntN(600)
		}
		stride := 1 + r.IntN(3)
		l.kh, l.kw, l.sy, l.sx = 1+r.IntN(4), 1+r.IntN(4), stride, stride
		l.groups, l.hin, l.win, l.hout, l.wout = 1+r.IntN(3), 40, 40, 1+r.IntN(20), 2*(1+r.IntN(20))
		if r.IntN(4) == 0 {
			l.ox, l.sx = 2, 1
		}
		if l.unicast = r.IntN(5) == 0; l.unicast {
			l.cin = l.cout
		}
		l.packing = Masked
		if l.sy > 1 || l.sx*max(1, l.ox) > 1 {
			l.packing = ZeroSkipping
		}
		zeros := r.Float64() // of a lane's weights
		l.set(func(int, int) bool { return r.Float64() < zeros })
		if r.IntN(2) == 0 {
			l.biases = make([]half, l.groups*l.cout)
		}
		lanes := l.pack()
		g := l.packed(lanes)
		kernel, err := NewKernel(g, lanes)
		if err != nil {
			t.Fatal(err)
		}

		var halves, outputs [Engines]int
		weights := make([]half, kernel.taps)
		for n := range l.groups * l.cout {
			for pixel := range max(1, l.ox) {
				lane, _, _ := kernel.locateWeights(n/l.cout, n%l.cout, pixel)
				outputs[lane]++
				kernel.Taps(weights, n/l.cout, n%l.cout, pixel)
				for _, h := range weights {
					if h != 0 {
						halves[lane]++
					}
				}
			}
		}
		counted, steps, skipped := 1, 1, 0
		for i, n := range outputs {
			if n > 0 {
				proven := min(halves[i]+l.padding[i], n*l.taps())
				counted = max(counted, (halves[i]+n-1)/n)
				steps = max(steps, (proven+n-1)/n)
				skipped += n*l.taps() - proven
			}
		}
		if steps == counted {
			exact++
		}

		got, want := Plan(g, AllTiles, m1), dense(g, AllTiles)
		if l.biases != nil {
			steps++
		}
		want.MACCycles, want.ShortMAC = want.PostCycles*steps, want.ShortPost*steps
		want.Skipped = uint64(skipped * l.hout * l.wout / max(1, l.ox))
		if d := cmp.Diff(want, got); d != "" {
			l.weights, l.biases = nil, nil
			t.Fatalf("%+v (-want +got):\n%s", l, d)
		}
	}
	if exact < 60 {
		t.Errorf("padding hides no zeros in %d layers only", exact)
	}
}

// TestSparseFormsWithoutZeros checks that weights without zeros take the time of dense
// weights in every format.
func TestSparseFormsWithoutZeros(t *testing.T) {
	for _, cout := range []int{1, 15, 16, 20, 64, 100, 224} {
		for _, stride := range []int{1, 2, 3} {
			for _, groups := range []int{1, 3} {
				l := square(cout, stride)
				l.cin, l.groups = 5, groups
				l.set(func(int, int) bool { return false })
				g := l.packed(l.pack())
				if d := cmp.Diff(dense(g, AllTiles), Plan(g, AllTiles, m1)); d != "" {
					t.Errorf("%d channels, stride %d, %d groups (-dense +%v):\n%s", cout, stride, groups, l.packing, d)
				}
			}
		}
	}
}

// Apple's convolutions of stride 2 have lanes without a zero, and take as
// long as dense ones.
func TestPlanOfRealSparseWeights(t *testing.T) {
	index, found := sections(t), 0
	for name := range index {
		for _, task := range tasks(t, name) {
			g := &task.Groups
			if g.Planar() || !g.NE.KernelCfg.Sparse() {
				continue
			}
			found++
			want, got := dense(g, AllTiles), Plan(g, AllTiles, m1)
			// The file of the weights starts with a header, most of it zeros.
			if got.Skipped == 0 || got.Skipped > 64*uint64(got.Pixels) {
				t.Errorf("%s: %d of %d multiply-accumulates skipped", name, got.Skipped, got.MACs)
			}
			want.Skipped = got.Skipped
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s (-dense +got):\n%s", name, d)
			}
		}
	}
	if found != 3 {
		t.Errorf("%d tasks with zero-skipping weights, want 3", found)
	}
}

// Nothing is skipped without a size that proves it, and palettes and int8 save bytes
// alone.
func TestPlanWithoutProof(t *testing.T) {
	for name, set := range map[string]func(*regs.Groups){
		"a lane off": func(g *regs.Groups) {
			g.KernelDMASrc.CoeffDMAConfig[7] = g.KernelDMASrc.CoeffDMAConfig[7].WithEn(false)
		},
		"no lanes": func(g *regs.Groups) { g.KernelDMASrc = regs.KernelDMASrc{} },
		"palette":  func(g *regs.Groups) { g.NE.KernelCfg = g.NE.KernelCfg.WithSparse(false).WithPalEn(true).WithPalBits(4) },
		"palette of six bits": func(g *regs.Groups) {
			g.NE.KernelCfg = g.NE.KernelCfg.WithSparse(false).WithPalEn(true).WithPalBits(6)
		},
		"int8": func(g *regs.Groups) {
			g.NE.KernelCfg = g.NE.KernelCfg.WithSparse(false).WithKernelFmt(regs.FormatInt8A)
		},
		"masked palette":   func(g *regs.Groups) { g.NE.KernelCfg = g.NE.KernelCfg.WithPalEn(true).WithPalBits(4) },
		"masked int8":      func(g *regs.Groups) { g.NE.KernelCfg = g.NE.KernelCfg.WithKernelFmt(regs.FormatInt8A) },
		"one lane dense":   func(g *regs.Groups) { size(g, 15, 2304*2+320) },
		"one lane too big": func(g *regs.Groups) { size(g, 15, 1<<32-64) },
	} {
		l := square(64, 1).set(func(c, k int) bool { return k%2 == 0 })
		g := l.packed(l.pack())
		set(g)
		want, got := dense(g, AllTiles), Plan(g, AllTiles, m1)
		want.Skipped = got.Skipped
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-dense +got):\n%s", name, d)
		}
	}
}

func size(g *regs.Groups, lane int, bytes uint32) {
	g.KernelDMASrc.CoeffBfrSize[lane] = g.KernelDMASrc.CoeffBfrSize[lane].WithBytes(bytes)
}

// More bytes in a lane never take fewer steps, none of them takes one, and no more than
// dense ones are ever needed.
func TestStepsGrowWithBytes(t *testing.T) {
	for _, stride := range []int{1, 2} {
		g := square(64, stride).set(func(int, int) bool { return true }).registers()
		for i := range g.KernelDMASrc.CoeffDMAConfig {
			g.KernelDMASrc.CoeffDMAConfig[i] = g.KernelDMASrc.CoeffDMAConfig[i].WithEn(true)
		}
		first, last, all := Plan(g, AllTiles, m1), Work{}, dense(g, AllTiles)
		if first.MACCycles != first.PostCycles {
			t.Errorf("stride %d: %d cycles a unit for empty lanes, want %d", stride, first.MACCycles, first.PostCycles)
		}
		for bytes := uint32(0); bytes < 3*2304; bytes += 64 {
			size(g, int(bytes/64)%Engines, bytes)
			w := Plan(g, AllTiles, m1)
			if w.MACCycles < last.MACCycles || w.MACCycles > all.MACCycles {
				t.Fatalf("stride %d: %d cycles a unit for %d bytes after %d", stride, w.MACCycles, bytes, last.MACCycles)
			}
			last = w
		}
		if last.MACCycles != all.MACCycles {
			t.Errorf("stride %d: %d cycles a unit for more bytes than dense ones, want %d", stride, last.MACCycles, all.MACCycles)
		}
	}
}

// TestPlanOfAnyRegisters checks that a sparse task takes between one step and the steps of a
// dense task for any register values.
func TestPlanOfAnyRegisters(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	fewer := 0
	for range 20000 {
		f := new(regs.File)
		for _, w := range regs.V7Windows() {
			for i := range w.Words {
				v := r.Uint32() >> r.IntN(32) // of every size
				if err := f.Store(w.Base+4*uint32(i), v); err != nil {
					t.Fatal(err)
				}
			}
		}
		var g regs.Groups
		f.Snapshot(&g)
		g.NE.MACCfg = g.NE.MACCfg.WithOpMode(regs.MultiplyAccumulate)
		g.NE.KernelCfg = g.NE.KernelCfg.WithSparse(true).WithPalEn(false).WithKernelFmt(regs.FormatFP16)
		for i, c := range g.KernelDMASrc.CoeffDMAConfig {
			g.KernelDMASrc.CoeffDMAConfig[i] = c.WithEn(true)
		}
		got, all := Plan(&g, AllTiles, m1), dense(&g, AllTiles)
		if Taps(&g) > 0 && got.MACCycles < got.PostCycles || got.MACCycles > all.MACCycles {
			t.Fatalf("%d cycles a unit, %d after them, %d dense: %+v", got.MACCycles, got.PostCycles, all.MACCycles, g)
		}
		if got.MACCycles < all.MACCycles {
			fewer++
		}
	}
	if fewer < 1000 {
		t.Errorf("%d of the tasks skip a step", fewer)
	}
}

func TestPlanOfSparseWeightsAllocatesNothing(t *testing.T) {
	for _, stride := range []int{1, 2} {
		l := square(100, stride).set(func(c, k int) bool { return k%2 == 0 })
		g := l.packed(l.pack())
		if n := testing.AllocsPerRun(100, func() { Plan(g, AllTiles, m1) }); n != 0 {
			t.Errorf("stride %d: %v allocations", stride, n)
		}
	}
}

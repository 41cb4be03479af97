package hw

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/hw/regs"
	"anesim/internal/datapath/planar"
)

type matrix = [][]float32

// wantResult compares rows of memory.
func wantResult(t *testing.T, name string, want, got matrix) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

// (x + 0.5) * 2, the constant form's own addend and factor.
func TestPlanarConstant(t *testing.T) {
	s := shape{2, 2, 3}
	task := newPlanar(regs.FormConstant, regs.PlanarAdd, s, s)
	task.Groups.PE.BiasScale = task.Groups.PE.BiasScale.WithBias(0x3800).WithScale(0x4000)
	m := newMemory(t)
	store(t, m, firstAt, []float32{1, 2, 3}, []float32{-1, -2, -3}, []float32{0, 0.25, 100}, []float32{-0.5, 7, 8})
	execute(t, m, task)
	want := matrix{{3, 5, 7}, {-1, -3, -5}, {1, 1.5, 201}, {0, 15, 17}}
	wantResult(t, "constant", want, load(t, m, resultAt, 4, 3))
}

func TestPlanarTwoSources(t *testing.T) {
	s := shape{2, 1, 2}
	for _, tc := range []struct {
		name string
		op   regs.PlanarOp
		sign uint32 // SecSrc
		want matrix
	}{
		{"add", regs.PlanarAdd, 2, matrix{{5, -4}, {2, 0.5}}},
		{"subtract", regs.PlanarAdd, 3, matrix{{1, 2}, {-6, 0.5}}},
		{"multiply", regs.PlanarMul, 2, matrix{{6, 3}, {-8, 0}}},
		{"maximum", regs.PlanarMax, 2, matrix{{3, -1}, {4, 0.5}}},
		{"minimum", regs.PlanarMin, 2, matrix{{2, -3}, {-2, 0}}},
		{"square of the sum", regs.PlanarSumSquare, 2, matrix{{25, 16}, {4, 0.25}}},
	} {
		task := newPlanar(regs.FormTwoSources, tc.op, s, s)
		secondFromMemory(task)
		task.Groups.PE.Cfg = task.Groups.PE.Cfg.WithSecSrc(tc.sign)
		m := newMemory(t)
		store(t, m, firstAt, []float32{3, -1}, []float32{-2, 0.5})
		store(t, m, secondAt, []float32{2, -3}, []float32{4, 0})
		execute(t, m, task)
		wantResult(t, tc.name, tc.want, load(t, m, resultAt, 2, 2))
	}
}

// ReLU on the second source comes before its sign.
func TestPlanarInputReLU(t *testing.T) {
	s := shape{1, 1, 3}
	task := newPlanar(regs.FormTwoSources, regs.PlanarAdd, s, s)
	secondFromMemory(task)
	task.Groups.PE.Cfg = task.Groups.PE.Cfg.WithSecSrc(3)
	task.Groups.L2.Cfg = task.Groups.L2.Cfg.WithInputReLU2(true)
	m := newMemory(t)
	store(t, m, firstAt, []float32{1, 1, 1})
	store(t, m, secondAt, []float32{-5, 0, 5})
	execute(t, m, task)
	wantResult(t, "1 - relu(y)", matrix{{1, 1, -4}}, load(t, m, resultAt, 1, 3))
}

// toL2 copies source 2's place in memory to L2 at 0x400: a pass-through.
func toL2(s shape) *regs.Task {
	task := newPass(s)
	task.Bases.Source1 = secondAt
	resultToL2(task, 0x400)
	return task
}

// One value a channel meets every pixel, one pixel row every channel.
func TestPlanarBroadcastFromL2(t *testing.T) {
	s := shape{2, 2, 2}
	operands := regs.PlanarOperands{}
	for _, tc := range []struct {
		name     string
		kept     shape
		operands regs.PlanarOperands
		second   matrix
		want     matrix
	}{
		{
			"over height and width", shape{2, 1, 1}, operands.WithSrc2BroadcastW(true).WithSrc2BroadcastH(true),
			matrix{{10}, {20}}, matrix{{11, 12}, {13, 14}, {25, 26}, {27, 28}},
		},
		{
			"over channels", shape{1, 2, 2}, operands.WithSrc2BroadcastC(true),
			matrix{{10, 20}, {30, 40}}, matrix{{11, 22}, {33, 44}, {15, 26}, {37, 48}},
		},
		{
			"over everything", shape{1, 1, 1}, operands.WithSrc2BroadcastC(true).WithSrc2BroadcastH(true).WithSrc2BroadcastW(true),
			matrix{{100}}, matrix{{101, 102}, {103, 104}, {105, 106}, {107, 108}},
		},
		{
			"over nothing", s, operands,
			matrix{{1, 1}, {2, 2}, {3, 3}, {4, 4}}, matrix{{2, 3}, {5, 6}, {8, 9}, {11, 12}},
		},
	} {
		add := newPlanar(regs.FormTwoSources, regs.PlanarAdd, s, s)
		add.Groups.L2.Src2Base = add.Groups.L2.Src2Base.WithBytes(0x400)
		add.Groups.Common.PlanarOperands = tc.operands
		m := newMemory(t)
		store(t, m, firstAt, []float32{1, 2}, []float32{3, 4}, []float32{5, 6}, []float32{7, 8})
		store(t, m, secondAt, tc.second...)
		execute(t, m, toL2(tc.kept), add)
		wantResult(t, tc.name, tc.want, load(t, m, resultAt, 4, 2))
	}
}

// Row 0 of source 2 is added and row 1 multiplies.
func TestPlanarBiasScale(t *testing.T) {
	s := shape{2, 1, 3}
	task := newPlanar(regs.FormBiasScale, regs.PlanarAdd, s, s)
	task.Groups.L2.Src2Base = task.Groups.L2.Src2Base.WithBytes(0x400)
	m := newMemory(t)
	store(t, m, firstAt, []float32{1, 2, 3}, []float32{4, 5, 6})
	store(t, m, secondAt, []float32{1}, []float32{10}, []float32{-4}, []float32{0.5}) // two rows of each channel
	execute(t, m, toL2(shape{2, 2, 1}), task)
	wantResult(t, "bias and scale", matrix{{20, 30, 40}, {0, 0.5, 1}}, load(t, m, resultAt, 2, 3))
}

func TestPlanarReductions(t *testing.T) {
	s := shape{2, 2, 2}
	for _, tc := range []struct {
		name  string
		op    regs.PlanarOp
		final uint32 // fp32
		want  matrix
	}{
		{"mean", regs.PlanarAdd, 0x3e800000, matrix{{2.5}, {-1}}},
		{"sum", regs.PlanarAdd, 0x3f800000, matrix{{10}, {-4}}},
		{"maximum", regs.PlanarMax, 0x3f800000, matrix{{4}, {2}}},
		{"minimum", regs.PlanarMin, 0x3f800000, matrix{{1}, {-8}}},
	} {
		task := newPlanar(regs.FormReduction, tc.op, s, s) // OutDim repeats the input's
		task.Groups.PE.FinalScale = regs.FinalScale{}.WithFinalScale(tc.final)
		task.Groups.TileDMADst.DstPlaneStride = task.Groups.TileDMADst.DstPlaneStride.WithBytes(64)
		m := newMemory(t)
		store(t, m, firstAt, []float32{1, 2}, []float32{3, 4}, []float32{2, 1}, []float32{1, -8})
		execute(t, m, task)
		wantResult(t, tc.name, tc.want, load(t, m, resultAt, 2, 1))
	}
}

// TestReductionOfManyChannels checks a reduction whose channels are processed in batches, the
// last of which is smaller. Nothing is written after its result.
func TestReductionOfManyChannels(t *testing.T) {
	for _, channels := range []int{15, 16, 17, 37} {
		s := shape{uint32(channels), 1, 3}
		task := newPlanar(regs.FormReduction, regs.PlanarAdd, s, s)
		task.Groups.TileDMADst.DstPlaneStride = task.Groups.TileDMADst.DstPlaneStride.WithBytes(64)
		m := newMemory(t)
		var rows, want matrix
		for c := range channels {
			rows = append(rows, []float32{float32(c), 1, -0.5})
			want = append(want, []float32{float32(c) + 0.5})
		}
		store(t, m, firstAt, rows...)
		execute(t, m, task)
		wantResult(t, "sums", append(want, []float32{0}), load(t, m, resultAt, channels+1, 1))
	}
}

// layerNorm is the compiler's three tasks over one channel of four: the mean, the rsqrt
// of the variance, and both put to the source, which the first task keeps in L2.
func layerNorm() []*regs.Task {
	s := shape{1, 1, 4}
	mean := newPlanar(regs.FormReduction, regs.PlanarAdd, s, s)
	mean.Groups.PE.FinalScale = regs.FinalScale{}.WithFinalScale(0x3e800000)
	mean.Groups.L2.SourceCfg = mean.Groups.L2.SourceCfg.WithType(1)
	mean.Groups.L2.Src1Base = mean.Groups.L2.Src1Base.WithBytes(0x400)
	resultToL2(mean, 0)

	rsqrt := newPlanar(regs.FormTwoReduced, regs.PlanarSumSquare, s, s)
	g := &rsqrt.Groups
	g.PE.Cfg = g.PE.Cfg.WithRsqrt(true).WithFirstSrc(true) // (x - mean)^2
	g.PE.FinalScale = regs.FinalScale{}.WithFinalScale(0x3e800000)
	g.Common.PlanarOperands = g.Common.PlanarOperands.WithSrc1BroadcastW(true)
	firstFromL2(rsqrt, 0)
	g.L2.Src2Base = g.L2.Src2Base.WithBytes(0x400)
	resultToL2(rsqrt, 0x100) // a row below the mean

	norm := newPlanar(regs.FormBiasScale, regs.PlanarAdd, s, s)
	norm.Groups.PE.Cfg = norm.Groups.PE.Cfg.WithSecSrc(3) // x - mean
	firstFromL2(norm, 0x400)
	return []*regs.Task{mean, rsqrt, norm}
}

func TestPlanarLayerNorm(t *testing.T) {
	m := newMemory(t)
	store(t, m, firstAt, []float32{2, 2, 6, 6}) // mean 4, variance 4
	d := execute(t, m, layerNorm()...)
	wantResult(t, "layer norm", matrix{{-1, -1, 1, 1}}, load(t, m, resultAt, 1, 4))

	// Tiles that stay in L2 move no bytes.
	var bytes []uint64
	for _, r := range d.Report().Descriptors {
		bytes = append(bytes, r.DMA.Source1, r.DMA.Source2, r.DMA.Destination)
	}
	if diff := cmp.Diff([]uint64{64, 0, 0, 0, 0, 0, 0, 0, 64}, bytes); diff != "" {
		t.Errorf("bytes (-want +got):\n%s", diff)
	}
}

// Channel and x change places as the result is written.
func TestPlanarTransposedResult(t *testing.T) {
	s := shape{2, 1, 3}
	task := newPlanar(regs.FormConstant, regs.PlanarAdd, s, s)
	task.Groups.Common.PlanarOperands = task.Groups.Common.PlanarOperands.WithResultTranspose(true)
	m := newMemory(t)
	store(t, m, firstAt, []float32{1, 2, 3}, []float32{4, 5, 6})
	execute(t, m, task)
	wantResult(t, "transposed", matrix{{1, 4}, {2, 5}, {3, 6}}, load(t, m, resultAt, 3, 2))
}

// A source of type 1 stays in L2 for the next task, a result of type 1 goes both ways.
func TestTilesKeptInL2(t *testing.T) {
	s := shape{2, 2, 2}
	first, second := newPass(s), newPass(s)
	l := &first.Groups.L2
	l.SourceCfg, l.Src1Base = l.SourceCfg.WithType(1), l.Src1Base.WithBytes(0x400)
	l.ResultCfg, l.ResultBase = l.ResultCfg.WithType(1), l.ResultBase.WithBytes(0x800)
	first.Groups.NE.PostScale = first.Groups.NE.PostScale.WithPostScale(0x4000) // twice
	values := matrix{{1, 2}, {3, 4}, {5, 6}, {7, 8}}
	twice := matrix{{2, 4}, {6, 8}, {10, 12}, {14, 16}}
	for at, want := range map[uint32]matrix{0x400: values, 0x800: twice} {
		firstFromL2(second, at)
		m := newMemory(t)
		store(t, m, firstAt, values...)
		second.Bases.Destination = secondAt
		execute(t, m, first, second)
		wantResult(t, "the first task's result", twice, load(t, m, resultAt, 4, 2))
		wantResult(t, "what it left in L2", want, load(t, m, secondAt, 4, 2))
	}
}

// The smallest convolution there is, by hand, and its silicon ceiling.
func TestConvolutionByHand(t *testing.T) {
	task := newConv(shape{3, 1, 2}, shape{2, 1, 2})
	task.Groups.NE.MACCfg = task.Groups.NE.MACCfg.WithBiasMode(true)
	m := newMemory(t)
	store(t, m, firstAt, []float32{1, 16000}, []float32{2, 16000}, []float32{3, 100})
	store(t, m, kernelAt, []float32{1, 3, 3, 3}, []float32{-1, 1, 1, 10}) // a bias, then the taps
	execute(t, m, task)
	got := load(t, m, resultAt, 2, 2)
	inf := half(0x7c00).Float32()
	wantResult(t, "convolution", matrix{{19, inf}, {32, inf}}, got)
}

// The words of the planar engine in real programs mean what the programs compute.
func TestPlanarWordsOfPrograms(t *testing.T) {
	n := planar.Neutral
	bias := n(planar.Add)
	bias.Bias = 0x3800
	mean := n(planar.Add)
	mean.FinalScale = 1. / 64
	spread := n(planar.SumSquare)
	spread.Negate1, spread.Epsilon, spread.Post, spread.FinalScale = true, 0x00a8, planar.PostRsqrt, 1./128
	largest, inverse, absolute, rectified, subtract := n(planar.Add), n(planar.Add), n(planar.Add), n(planar.Add), n(planar.Add)
	largest.Kind, inverse.Post, absolute.Post, rectified.ReLU = planar.ReduceMax, planar.PostReciprocal, planar.PostAbs, true
	subtract.Negate2 = true
	exponent := subtract
	exponent.Scale = 0x3dc5
	for _, c := range []struct {
		program string
		form    regs.PlanarForm
		words   [4]uint32 // Cfg, BiasScale, PreScale, FinalScale
		want    planar.Config
	}{
		{"binary_add", regs.FormTwoSources, [4]uint32{0x80000, 0x3c000000, 0x3c000000, 0x3f800000}, n(planar.Add)},
		{"binary_mul", regs.FormTwoSources, [4]uint32{0x80004, 0x3c000000, 0x3c000000, 0x3f800000}, n(planar.Mul)},
		{"binary_maximum", regs.FormTwoSources, [4]uint32{0x80008, 0x3c000000, 0x3c000000, 0x3f800000}, n(planar.Max)},
		{"minimum", regs.FormTwoSources, [4]uint32{0x8000c, 0x3c000000, 0x3c000000, 0x3f800000}, n(planar.Min)},
		{"binary_sub", regs.FormTwoSources, [4]uint32{0xc0000, 0x3c000000, 0x3c000000, 0x3f800000}, subtract},
		{"env_bcast_add scalar", regs.FormConstant, [4]uint32{0, 0x3c003800, 0x3c000000, 0x3f800000}, bias},
		{"env_bcast_mul blob, 2nd task", regs.FormBiasScale, [4]uint32{0x80000, 0x3c000000, 0x3c000000, 0x3f800000}, n(planar.Add)},
		{"reduce_mean_axes_2_3", regs.FormReduction, [4]uint32{0, 0x3c000000, 0x3c000000, 0x3c800000}, mean},
		{"reduce_sum_axes_1, 2nd task", regs.FormReduction, [4]uint32{0, 0x3c000000, 0x3c000000, 0x3f800000}, n(planar.Add)},
		{"norm_layer_norm 128, 2nd task", regs.FormTwoReduced, [4]uint32{0x92010, 0x3c000000, 0x3c0000a8, 0x3c000000}, spread},
		{"norm_layer_norm, 3rd task", regs.FormBiasScale, [4]uint32{0xc0000, 0x3c000000, 0x3c000000, 0x3f800000}, subtract},
		{"reduce_max_axes_2_3", regs.FormReduction, [4]uint32{2, 0x3c000000, 0x3c000000, 0x3f800000}, largest},
		{"norm_softmax_a3, 4th task", regs.FormReduction, [4]uint32{0x1000, 0x3c000000, 0x3c000000, 0x3f800000}, inverse},
		{"unary_abs_c64", regs.FormConstant, [4]uint32{0x40, 0x3c000000, 0x3c000000, 0x3f800000}, absolute},
		{"chain_add_relu_c512", regs.FormTwoSources, [4]uint32{0x80020, 0x3c000000, 0x3c000000, 0x3f800000}, rectified},
		{"norm_softmax, 2nd task", regs.FormTwoSources, [4]uint32{0xc0000, 0x3dc50000, 0x3c000000, 0x3f800000}, exponent},
	} {
		g := newPlanarGroups(c.form, c.words)
		if got, l := readPlanarConfig(g); l != nil || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", c.program, got, l, c.want)
		}
	}
	add := [4]uint32{0x80000, 0x3c000000, 0x3c000000, 0x3f800000}
	g := newPlanarGroups(regs.FormTwoSources, add)
	g.L2.Cfg = g.L2.Cfg.WithInputReLU2(true)
	if got, _ := readPlanarConfig(g); !got.Relu2 {
		t.Error("env_chain_residual_relu: the ReLU of source 2 is lost")
	}
	if got, l := readPlanarConfig(newPlanarGroups(regs.FormReduction, [4]uint32{8, 0x3c000000, 0x3c000000, 0x3f800000})); l != nil || got.Kind != planar.ReduceMax || got.Op != planar.Add {
		t.Error(got, l)
	}
	for _, c := range []struct {
		form regs.PlanarForm
		cfg  uint32
		want string
	}{
		{regs.FormTwoSources, 0x84000, "planar: PE.Cfg 0x84000: unknown bits 0x4000"},
		{regs.FormTwoSources, 0x80014, "planar: PE.Cfg 0x80014: unknown OpMode; want 0 to 4"},
		{7, 0x80000, "planar: Common.Cfg.PlanarForm 0x7: unknown planar form"},
	} {
		if _, l := readPlanarConfig(newPlanarGroups(c.form, [4]uint32{c.cfg, 0x3c000000, 0x3c000000, 0x3f800000})); l == nil || l.What != c.want {
			t.Errorf("form %d, Cfg %#x: %v, want %s", c.form, c.cfg, l, c.want)
		}
	}
}

// newPlanarGroups returns the registers of a planar task with the four words of the planar engine.
func newPlanarGroups(form regs.PlanarForm, words [4]uint32) *regs.Groups {
	g := new(regs.Groups)
	g.Common.Cfg = g.Common.Cfg.WithPlanarForm(form)
	g.PE = regs.PE{
		Cfg: regs.FromRaw[regs.PECfg](words[0]), BiasScale: regs.FromRaw[regs.BiasScale](words[1]),
		PreScale: regs.FromRaw[regs.PreScale](words[2]), FinalScale: regs.FromRaw[regs.FinalScale](words[3]),
	}
	return g
}

package bench

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"anesim/hw"
	"anesim/hw/clock"
	"anesim/internal/measured"
)

func count(c *Chain) (n int) {
	for count := range distinctDescriptors(c.Steps) {
		n += count
	}
	return n
}

// Chains have as many descriptors as programs of the same layers.
func TestChainLengths(t *testing.T) {
	l := newLowerer()
	for _, tt := range []struct {
		op    string
		shape measured.Shape
		want  int
	}{
		{"bmm", measured.Shape{N: 8, M: 375, K: 128, Cols: 749}, 208},
		{"bmm", measured.Shape{N: 8, M: 375, K: 375, Cols: 128}, 208},
		{"linear", measured.Shape{M: 375, K: 1024, Cols: 1024}, 3},
		{"elementwise", measured.Shape{M: 1, K: 64}, 1},
		{"matmul", measured.Shape{M: 256, K: 1024, Cols: 1024}, 1 + 1024*1024>>19},
		{"conv", measured.Shape{N: 1, Cin: 256, H: 64, W: 64, Cout: 256, Kh: 3, Kw: 3}, 2},
		{"chain_matmul", measured.Shape{M: 1, K: 512, Cols: 512, Depth: 25}, 26},
		{"matmul", measured.Shape{M: 1, K: 64, Cols: 32000}, 4}, // two halves
	} {
		c, err := l.chain(&measured.Row{ID: tt.op, Op: tt.op, Shape: tt.shape})
		if err != nil {
			t.Error(err)
		} else if n := count(c); n != tt.want {
			t.Errorf("%s %+v: %d descriptors, programs have %d", tt.op, tt.shape, n, tt.want)
		}
	}
}

// A stack moves its ends through memory and the tensors between only when L2 is too
// small for it.
func TestStacksStayInTheL2(t *testing.T) {
	l := newLowerer()
	chip := hw.M1()
	moved := func(depth, h int) uint64 {
		c, err := l.chain(&measured.Row{Op: "chain_conv", Shape: measured.Shape{N: 1, Cin: 256, H: h, W: h, Cout: 256, Kh: 1, Kw: 1, Depth: depth}})
		if err != nil {
			t.Fatal(err)
		}
		e := c.estimate(chip, DefaultPresets().Hosts["none"])
		return e.DMA.Source1 + e.DMA.Destination
	}
	if one, four := moved(1, 32), moved(4, 32); one != four {
		t.Errorf("%d bytes for one layer, %d for four in the L2", one, four)
	}
	if one, four := moved(1, 64), moved(4, 64); 4*one != four {
		t.Errorf("%d bytes for one layer, %d for four beyond the L2", one, four)
	}
}

// Narrow weights move fewer bytes; nothing else changes.
func TestNarrowWeights(t *testing.T) {
	l := newLowerer()
	moved := func(op, format string) uint64 {
		c, err := l.chain(&measured.Row{Op: op, Weights: format, Shape: measured.Shape{N: 1, M: 1, K: 4096, Cols: 4096, Depth: 1}})
		if err != nil {
			t.Fatal(err)
		}
		e := c.estimate(hw.M1(), DefaultPresets().Hosts["none"])
		return e.DMA.Kernel
	}
	if full := moved("matmul", "fp16"); moved("matmul", "int8") != full/2 || moved("matmul", "int4") != full/4 || moved("matmul", "lut6") != full*6/16 {
		t.Errorf("%d bytes at 16 bits, %d at 8", full, moved("matmul", "int8"))
	}
	if full, half := moved("bmm", ""), moved("bmm", "int8"); full != half {
		t.Errorf("an operand of %d bytes, %d when weights are narrow", full, half)
	}
	if _, err := l.chain(&measured.Row{Op: "relu", Weights: "mixed", Shape: measured.Shape{M: 1, K: 1}}); err == nil {
		t.Error("mixed weights are modelled")
	}
}

// Timing allocates nothing.
func TestTimerAllocatesNothing(t *testing.T) {
	c, err := newLowerer().chain(&measured.Row{Op: "sdpa", Shape: measured.Shape{N: 12, M: 512, K: 64, Cols: 512}})
	if err != nil {
		t.Fatal(err)
	}
	timer := hw.NewTimer(hw.M1())
	var d hw.DescriptorReport
	if n := testing.AllocsPerRun(10, func() {
		for i := range c.Steps {
			if c.Steps[i].Task != nil {
				timer.Time(&d, c.Steps[i].Task)
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// No row is beyond the code: a row that cannot be built is an error.
func TestAnyRow(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	dim := func() int {
		if rng.IntN(4) == 0 {
			return 0
		}
		return 1 + rng.IntN(1<<rng.IntN(8))
	}
	ops := []string{"conv", "chain_conv", "conv_slope", "matmul", "chain_matmul", "chain_matmul_slope", "bmm", "sdpa", "mha", "relu", "gelu",
		"elementwise", "reduce_sum", "softmax", "layer_norm", "rms_norm", "group_norm", "lm_head", "nonsense"}
	l := newLowerer()
	built := 0
	for i := range 2000 {
		r := measured.Row{ID: fmt.Sprint(i), Op: ops[rng.IntN(len(ops))], Valid: rng.IntN(2) == 0, Bytes: uint64(dim() * dim()), Shape: measured.Shape{
			N: dim(), Cin: dim(), H: dim(), W: dim(), Cout: dim(), Kh: dim() % 8, Kw: dim() % 8, Stride: dim() % 4, Groups: dim() % 4,
			M: dim(), K: dim(), Cols: dim(), Depth: dim() % 5,
		}}
		if c, err := l.chain(&r); err == nil {
			built++
			if e := c.estimate(hw.M1(), DefaultPresets().Hosts["macos-air"]); e.Engine <= 0 || e.Energy <= 0 {
				t.Errorf("%+v: %+v", r, e)
			}
		}
	}
	if built < 500 {
		t.Errorf("%d rows", built)
	}
	for _, r := range []measured.Row{
		{Op: "softmax", Shape: measured.Shape{M: 1 << 24, K: 1 << 24}},
		{Op: "chain_conv", Shape: measured.Shape{N: 1, Cin: 1, H: 1, W: 1, Cout: 1, Kh: 1, Kw: 1, Depth: 1 << 24}},
		{Op: "decode_model", Shape: measured.Shape{N: 1 << 20, Depth: 1}},
		{Op: "lm_head", Shape: measured.Shape{K: 1 << 20, Cols: 4}},
	} {
		var u *UnmodelledError
		if _, err := l.chain(&r); !errors.As(err, &u) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	for _, r := range []measured.Row{
		{Op: "softmax", Shape: measured.Shape{M: 1, K: 1 << 24}},
		{Op: "layer_norm", Shape: measured.Shape{M: 1 << 24, K: 1}},
		{Op: "rms_norm", Shape: measured.Shape{N: 3, Cin: 77777, H: 41, W: 501}},
	} {
		if _, err := l.chain(&r); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

func TestRowHost(t *testing.T) {
	for _, tt := range []struct{ chip, machine, host, model string }{
		{"M1", "MacBookAir10,1 macOS15.6.1", "macos-air", "m1"},
		{"M1", "MacBookPro17,1 macOS26.6.2", "macos-mbp", "m1"},
		{"M1", "Macmini9,1", "macos-air", "m1"},
		{"M1Max", "MacBookPro18,2 macOS26.5.1", "macos-max", "m1max"},
		{"M1Ultra", "Mac13,2", "macos-max", "m1max"},
		{"M1Max", "labelled M1; GPU 32 W => M1 Max", "macos-max-b", "m1max"},
		{"M1-guide", "guide 'M1/H13'", "macos-guide", "m1max"},
		{"M1Max", "jw16 T6001 Linux (DRM ane.ko)", "linux", "m1max"},
		{"M1", "community macOS15+", "none", "m1"},
		{"M1Ultra", "community macOS15+", "macos-max", "m1max"},
		{"M1", "m1-mbp", "macos-mbp", "m1"},
		{"M1", "Linux T8103, cached maps", "linux-m1", "m1"},
		// The machine decides the chip of a row that names none.
		{"", "m1", "macos-air", "m1"},
		{"", "MacBookAir10,1", "macos-air", "m1"},
		{"", "m1max", "macos-max", "m1max"},
		{"", "a14", "iphone12-coreml", "a14"},
		// A part of a name is no name.
		{"M1", "a guide to the GPU under Linux", "none", "m1"},
		{"M1", "MacBookAir10,10", "none", "m1"},
	} {
		r := measured.Row{Chip: tt.chip, Machine: tt.machine}
		if h, c := rowHost(&r), rowChip(&r).Name; h != tt.host || c != tt.model {
			t.Errorf("%s, %s: %s on %s, want %s on %s", tt.chip, tt.machine, h, c, tt.host, tt.model)
		}
	}
	// Under Linux the engine stays in a low state, whether or not the row says so.
	for name, mhz := range map[string]clock.Hertz{"jw16 T6001 Linux (DRM ane.ko)": 300, "m1max": 0} {
		if r := (measured.Row{Chip: "M1Max", Machine: name}); rowClock(&r) != mhz*1e6 {
			t.Errorf("%s: clock %v, want %v MHz", name, rowClock(&r), mhz)
		}
	}
	r := measured.Row{Chip: "M1Max", Machine: "guide", NoHost: true}
	if h := rowHost(&r); h != "none" {
		t.Errorf("a loop without copies: %s", h)
	}
}

// A convolution with a stride has weights without zeros: none are skipped.
func TestStridedWeightsAreDense(t *testing.T) {
	l := newLowerer()
	shape := measured.Shape{N: 1, Cin: 64, H: 32, W: 32, Cout: 128, Kh: 3, Kw: 3, Stride: 2, Groups: 1}
	c, err := l.chain(&measured.Row{Op: "conv", Shape: shape})
	if err != nil {
		t.Fatal(err)
	}
	e := c.estimate(hw.M1(), DefaultPresets().Hosts["none"])
	if least := uint64(2 * 64 * 128 * 9); e.DMA.Kernel < least {
		t.Errorf("%d bytes of coefficients, the weights are %d", e.DMA.Kernel, least)
	}
	var d hw.DescriptorReport
	for _, task := range distinctDescriptors(c.Steps) {
		hw.NewTimer(hw.M1()).Time(&d, task)
		if want := 8 * 9 * 64; d.Units.MACCyclesPerWU != want {
			t.Errorf("%d cycles a work unit, want %d", d.Units.MACCyclesPerWU, want)
		}
	}
	shape.Cin, shape.Cout, shape.Kh, shape.Kw = 1<<12, 1<<12, 3, 3
	if _, err := l.chain(&measured.Row{Op: "conv", Shape: shape}); err == nil {
		t.Error("more weights than are packed")
	}
}

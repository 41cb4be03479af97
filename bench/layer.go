package bench

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/x448/float16"

	"anesim/hw/mac"
	"anesim/hw/regs"
	"anesim/hw/tiles"
	"anesim/loader"
)

// A Layer is a convolution of stride 1 whose output has the extent of its source: K odd,
// with (K-1)/2 zeros around. A matrix multiply is one of K = 1 over a single row.
type Layer struct {
	Cin, Cout int // Cout a multiple of 16
	H, W      int
	K         int
	Depthwise bool // output channel c reads input channel c alone; Cin equals Cout
}

// Conv3x3 is a 3x3 convolution of 256 to 256 channels over 28x28 pixels: 462,422,016
// multiply-accumulates.
func Conv3x3() Layer { return Layer{Cin: 256, Cout: 256, H: 28, W: 28, K: 3} }

// Matmul is an n x n matrix times another.
func Matmul(n int) Layer { return Layer{Cin: n, Cout: n, H: 1, W: n, K: 1} }

// Conv1x1 is a 1x1 convolution of 256 to 256 channels over 28x28 pixels.
func Conv1x1() Layer { return Layer{Cin: 256, Cout: 256, H: 28, W: 28, K: 1} }

// Depthwise3x3 is a depthwise 3x3 convolution of 256 channels over 56x56 pixels.
func Depthwise3x3() Layer { return Layer{Cin: 256, Cout: 256, H: 56, W: 56, K: 3, Depthwise: true} }

// Taps is the length of one output's reduction.
func (l Layer) Taps() int {
	if l.Depthwise {
		return l.K * l.K
	}
	return l.Cin * l.K * l.K
}

// MACs is the multiply-accumulates of the layer, those with padding included.
func (l Layer) MACs() uint64 { return uint64(l.Cout) * uint64(l.H*l.W) * uint64(l.Taps()) }

// A LayerError is a layer that cannot be built.
type LayerError struct {
	Layer Layer
	What  string
}

func (e *LayerError) Error() string { return fmt.Sprintf("layer %+v: %s", e.Layer, e.What) }

func (l Layer) check() error {
	const extent, channels, halves = 1 << 14, 1 << 16, 1 << 28
	switch {
	case min(l.H, l.W) < 1 || max(l.H, l.W) > extent:
		return &LayerError{l, fmt.Sprintf("extents are 1 to %d", extent)}
	case min(l.Cin, l.Cout) < 1 || max(l.Cin, l.Cout) > channels || l.Cout%tiles.Engines != 0:
		return &LayerError{l, fmt.Sprintf("channels are 1 to %d, outputs a multiple of %d", channels, tiles.Engines)}
	case l.K < 1 || l.K > 15 || l.K%2 == 0:
		return &LayerError{l, "kernels are odd and at most 15 wide"}
	case l.Depthwise && l.Cin != l.Cout:
		return &LayerError{l, "a depthwise layer has as many outputs as inputs"}
	case max(l.Cin, l.Cout)*l.H*l.W > halves || l.Cout*l.Taps() > halves:
		return &LayerError{l, fmt.Sprintf("a tensor of more than %d halves", halves)}
	}
	return nil
}

// A Workload is a layer with its operands, ready to run on the array's value code alone.
type Workload struct {
	Layer
	Groups regs.Groups // the shape and the kernel as registers; no addresses

	conv            tiles.Convolution
	source, weights []float16.Float16 // C, H, W order; Cout rows of Taps
	result          []float16.Float16
}

// Build draws inputs and weights from seed and packs the weights into coefficient lanes.
// Inputs are normal; weights are scaled so that outputs are too. Errors are *LayerError,
// or those of the packing.
func (l Layer) Build(seed uint64) (*Workload, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	w := &Workload{
		Layer: l, Groups: l.groups(),
		source:  make([]float16.Float16, l.Cin*l.H*l.W),
		weights: make([]float16.Float16, l.Cout*l.Taps()),
		result:  make([]float16.Float16, l.Cout*l.H*l.W),
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	normal(w.source, rng, 1)
	normal(w.weights, rng, 1/math.Sqrt(float64(l.Taps())))
	lanes, err := w.lanes()
	if err != nil {
		return nil, err
	}
	kernel, err := tiles.NewKernel(&w.Groups, lanes)
	if err != nil {
		return nil, err
	}
	w.conv = tiles.NewConvolution(&w.Groups)
	w.conv.Kernel, w.conv.Post = kernel, mac.Post{Scale: 1, Port: mac.PortCeiling}
	return w, nil
}

func normal(dst []float16.Float16, rng *rand.Rand, deviation float64) {
	for i := range dst {
		dst[i] = float16.Fromfloat32(float32(rng.NormFloat64() * deviation))
	}
}

// planeLog is log2 of the most output channels that a plane of coefficients interleaves.
const planeLog = 4

// groups are the registers that the array's values and its work depend on.
func (l Layer) groups() regs.Groups {
	var g regs.Groups
	c := &g.Common
	c.TaskInfo = c.TaskInfo.WithTaskNID(1) // a task of the multiply-accumulate engines
	c.ChCfg = c.ChCfg.WithInFmt(regs.FormatFP16).WithOutFmt(regs.FormatFP16)
	c.InDim = c.InDim.WithWin(uint32(l.W)).WithHin(uint32(l.H))
	c.OutDim = c.OutDim.WithWout(uint32(l.W)).WithHout(uint32(l.H))
	c.Cin, c.Cout = c.Cin.WithCin(uint32(l.Cin)), c.Cout.WithCout(uint32(l.Cout))
	pad := uint32(l.K-1) / 2
	c.ConvCfg = c.ConvCfg.WithKw(uint32(l.K)).WithKh(uint32(l.K)).
		WithSx(1).WithSy(1).WithPx(pad).WithPy(pad).WithOx(1).WithOy(1)
	c.TileCfg = c.TileCfg.WithTileHeight(uint32(l.H))
	c.Cfg = c.Cfg.WithActiveNE(4)
	c.GroupConvCfg = c.GroupConvCfg.WithNumGroups(1)
	g.NE.KernelCfg = g.NE.KernelCfg.WithKernelFmt(regs.FormatFP16)
	if l.Depthwise {
		c.GroupConvCfg = c.GroupConvCfg.WithUnicastEn(true).WithUnicastCin(1)
	} else {
		c.ConvCfg = c.ConvCfg.WithOCGSize(planeLog)
	}
	return g
}

// lanes are the coefficient buffers of the workload's weights.
func (w *Workload) lanes() (b [tiles.Engines][]byte, err error) {
	k := w.Taps()
	rows := make([][]uint16, w.Cout)
	for n := range rows {
		for _, h := range w.weights[n*k:][:k] {
			rows[n] = append(rows[n], h.Bits())
		}
	}
	packed, err := loader.PackDense(rows, nil, 1<<w.Groups.Common.ConvCfg.OCGSize())
	if err != nil {
		return b, err
	}
	for i, l := range packed.Lanes {
		b[i] = packed.Data[l.Base:][:l.Size]
	}
	return b, nil
}

// Run computes the layer with a number of goroutines, at least one.
func (w *Workload) Run(workers int) {
	w.conv.Run(&plane{w.result, w.H, w.W}, &plane{w.source, w.H, w.W}, max(1, workers))
}

// Output is what the last Run left, in C, H, W order.
func (w *Workload) Output() []float16.Float16 { return w.result }

// A plane is a tensor in C, H, W order as the array reads and writes it.
type plane struct {
	data []float16.Float16
	h, w int
}

func (p *plane) Row(dst []float16.Float16, c, y int) { copy(dst, p.data[(c*p.h+y)*p.w:][:p.w]) }

func (p *plane) SetRow(src []float16.Float16, c, y, x int) {
	copy(p.data[(c*p.h+y)*p.w:][:p.w][x:], src)
}

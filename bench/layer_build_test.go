package bench

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/x448/float16"

	"anesim/hw/dma"
	"anesim/hw/regs"
	"anesim/internal/datapath/mac"
	"anesim/internal/datapath/tiles"
	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower"
)

// A Layer is a convolution of stride 1 whose output has the extent of its source: K odd,
// with (K-1)/2 zeros around. A matrix multiply is one of K = 1.
type Layer struct {
	Cin, Cout int // Cout a multiple of 16
	H, W      int
	K         int
	Depthwise bool // output channel c reads input channel c alone; Cin equals Cout
}

// Conv3x3 returns a 3x3 convolution of 256 to 256 channels over 28x28 pixels: 462,422,016
// multiply-accumulates.
func Conv3x3() Layer { return Layer{Cin: 256, Cout: 256, H: 28, W: 28, K: 3} }

// Matmul returns the matmul of two n x n matrices. Its columns are pixels, in rows of at most 128
// if repeatedly halving n allows.
func Matmul(n int) Layer {
	l := Layer{Cin: n, Cout: n, H: 1, W: n, K: 1}
	for l.W > 128 && l.W%2 == 0 {
		l.H, l.W = 2*l.H, l.W/2
	}
	return l
}

// Conv1x1 returns a 1x1 convolution of 256 to 256 channels over 28x28 pixels.
func Conv1x1() Layer { return Layer{Cin: 256, Cout: 256, H: 28, W: 28, K: 1} }

// Depthwise3x3 returns a depthwise 3x3 convolution of 256 channels over 56x56 pixels.
func Depthwise3x3() Layer { return Layer{Cin: 256, Cout: 256, H: 56, W: 56, K: 3, Depthwise: true} }

// Taps returns the number of products that are summed for one output.
func (l Layer) Taps() int {
	if l.Depthwise {
		return l.K * l.K
	}
	return l.Cin * l.K * l.K
}

// MACs returns the number of multiply-accumulates of the layer, including those with padding.
func (l Layer) MACs() uint64 { return uint64(l.Cout) * uint64(l.H*l.W) * uint64(l.Taps()) }

// A LayerError is a layer that cannot be built.
type LayerError struct {
	Layer Layer
	What  string
}

func (e *LayerError) Error() string { return fmt.Sprintf("layer %+v: %s", e.Layer, e.What) }

func (l Layer) check() error {
	const extent, channels, elements = 1 << 14, 1 << 16, 1 << 28
	switch {
	case min(l.H, l.W) < 1 || max(l.H, l.W) > extent:
		return &LayerError{l, fmt.Sprintf("extents are 1 to %d", extent)}
	case min(l.Cin, l.Cout) < 1 || max(l.Cin, l.Cout) > channels || l.Cout%tiles.Engines != 0:
		return &LayerError{l, fmt.Sprintf("channels are 1 to %d, outputs a multiple of %d", channels, tiles.Engines)}
	case l.K < 1 || l.K > 15 || l.K%2 == 0:
		return &LayerError{l, "kernels are odd and at most 15 wide"}
	case l.Depthwise && l.Cin != l.Cout:
		return &LayerError{l, "a depthwise layer has as many outputs as inputs"}
	case max(l.Cin, l.Cout)*l.H*l.W > elements || l.Cout*l.Taps() > elements:
		return &LayerError{l, fmt.Sprintf("a tensor of more than %d fp16 values", elements)}
	}
	return nil
}

// A Workload is a layer with its operands, ready to run on the array's value code alone:
// the descriptors that package lower makes of it, without a device.
type Workload struct {
	Layer
	tasks []workloadTask

	source, weights []float16.Float16 // C, H, W order; Cout rows of Taps
	result          []float16.Float16
}

// A workloadTask is the share of the output channels that one descriptor has.
type workloadTask struct {
	groups regs.Groups
	conv   tiles.Convolution
	first  int // of the layer's output channels
}

// Build draws inputs and weights from seed and lowers the layer. Inputs are normal; weights
// are scaled so that outputs are too. Errors are *LayerError, or those of lowering.
func (l Layer) Build(seed uint64) (*Workload, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	w := &Workload{
		Layer:   l,
		source:  make([]float16.Float16, l.Cin*l.H*l.W),
		weights: make([]float16.Float16, l.Cout*l.Taps()),
		result:  make([]float16.Float16, l.Cout*l.H*l.W),
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	normal(w.source, rng, 1)
	normal(w.weights, rng, 1/math.Sqrt(float64(l.Taps())))
	in := layer.Shape{N: 1, C: l.Cin, H: l.H, W: l.W}
	x := layer.Conv(in, l.Cout, layer.Same(l.K, 1, in))
	if l.Depthwise {
		x = layer.Depthwise(in, layer.Same(l.K, 1, in))
	}
	p, err := lower.Lower(x, layer.Weights{Filter: w.weights})
	if err != nil {
		return nil, err
	}
	return w, w.take(p)
}

// take adds a task to the workload for each descriptor of p.
func (w *Workload) take(p *loader.Program) error {
	linked, err := p.Link()
	if err != nil {
		return err
	}
	out, ok := p.Port("y", loader.Output)
	if !ok {
		return &LayerError{w.Layer, "the program has no output y"}
	}
	for _, t := range linked.Tasks {
		x := workloadTask{groups: t.Groups, conv: tiles.NewConvolution(&t.Groups)}
		var lanes [tiles.Engines][]byte
		for i, l := range dma.Lanes(&t.Groups, t.Bases.Kernel) {
			if !l.On {
				continue
			}
			s := linked.Segment(l.Addr, uint64(l.Size))
			if s == nil {
				return &LayerError{w.Layer, fmt.Sprintf("descriptor %d: lane %d stands in no segment", t.Index, i)}
			}
			lanes[i] = s.Data[l.Addr-s.Addr:][:l.Size]
		}
		if x.conv.Kernel, err = tiles.NewKernel(&x.groups, lanes); err != nil {
			return err
		}
		x.conv.Arithmetic, x.conv.Post = mac.H13, mac.Post{Scale: 1}
		x.first = int((t.Bases.Destination - out.Address) / out.Strides[1])
		w.tasks = append(w.tasks, x)
	}
	return nil
}

func normal(dst []float16.Float16, rng *rand.Rand, deviation float64) {
	for i := range dst {
		dst[i] = float16.Fromfloat32(float32(rng.NormFloat64() * deviation))
	}
}

// Run computes the layer with a number of goroutines, at least one.
func (w *Workload) Run(workers int) {
	for i := range w.tasks {
		t := &w.tasks[i]
		result := w.result[t.first*w.H*w.W:]
		t.conv.Run(&plane{result, w.H, w.W}, &plane{w.source, w.H, w.W}, max(1, workers))
	}
}

// Output returns the values that the last Run computed, in C, H, W order.
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

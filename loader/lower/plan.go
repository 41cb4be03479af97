package lower

import (
	"anesim/hw/regs"
	"anesim/loader"

	"github.com/x448/float16"
)

// Weights are the values a program carries.
type Weights struct {
	// Filter is a convolution's weights in [Cout][Cin/Groups][Kh][Kw] order, a matrix
	// product's right side in [K][N] order, or, of Linear, in [N][K] order. nil is zeros.
	Filter []float16.Float16
	// Source makes the values of Filter as they are packed, where Filter is nil: the filter
	// of a large layer is then nowhere in memory but in the program's constants.
	Source Source
	Bias   []float16.Float16 // [Cout], of Mul [C]; nil is zeros
	// Form is what the coefficients of a convolution or a product with constants take where
	// it holds the values of Filter bit for bit and takes fewer bytes. Scale is that of the
	// filter in int8: of all output channels, or one of each.
	Form  Form
	Scale []float16.Float16
	// Dense keeps zeros in the coefficients of a convolution with a stride, where the
	// compiler skips them. The model computes values from dense ones only.
	Dense bool
	// SizesOnly lays coefficients out and does not make them, for a program that is only
	// timed: Filter may then be nil and is taken to have no zero. What is lowered has the
	// descriptors and sizes of the program with such a filter, and no constants.
	SizesOnly bool
	// Second is the constant operand of an elementwise operation.
	Second []float16.Float16
	Table  []byte // activation table, 128 bytes; of softmax, the one of 2^x
	// Tables are the further tables of an operation that takes several, see [Op.Tables].
	Tables [][]byte
	// Reciprocal is softmax's table of 1/x.
	Reciprocal []byte
	// Inner is the table of the operation itself where Table is that of the activation behind
	// it, see [Layer.ByTable].
	Inner []byte
}

// A Lowered is a layer as a program's parts.
type Lowered struct {
	Text       []byte // __text, byte for byte what the builder writes
	FirstWords int    // words of the first descriptor
	Tasks      int
	Constants  []byte // nil where no register reads them
	Builder    *loader.Builder
}

// Lower makes a layer a program that runs: a container with ports named x, z (the
// second input; x0, x1, ... of Concat) and y. Errors are a *LimitError, an
// *UnsupportedError or a *LayerError.
func Lower(l Layer, w Weights) (*loader.Program, error) {
	c, err := Compile(l, w)
	if err != nil {
		return nil, err
	}
	return c.Builder.Build(l.Op.String())
}

// Compile lowers a layer to the parts of a program.
func Compile(l Layer, w Weights) (*Lowered, error) {
	p, err := newPlan(&l, &w)
	if err != nil {
		return nil, err
	}
	b := p.builder()
	return &Lowered{
		Text: regs.EncodeChain(b.Chain), FirstWords: b.Chain[0].Words, Tasks: len(b.Chain),
		Constants: p.constants.data, Builder: b,
	}, nil
}

// Sized lowers a layer to a program without contents: descriptors, ports and the sizes of
// everything. It is linked and timed as the program of Lower is, with the same figures.
// Errors are those of Lower.
func Sized(l Layer, w Weights) (*loader.Program, error) {
	w.SizesOnly = true
	p, err := newPlan(&l, &w)
	if err != nil {
		return nil, err
	}
	return p.builder().Layout(l.Op.String())
}

// builder is the plan as a container's parts.
func (p *plan) builder() *loader.Builder {
	chain := p.finish() // which says what scratch there is
	return &loader.Builder{
		Procedure:     "net",
		Chain:         chain,
		Constants:     p.constants.data,
		ConstantBytes: uint64(p.constants.bytes),
		Ports:         p.ports,
		Scratch:       uint64(roundUp(p.scratch, scratchPage)),
	}
}

// newPlan checks a layer and lowers it.
func newPlan(l *Layer, w *Weights) (*plan, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	if err := w.validate(l); err != nil {
		return nil, err
	}
	p := &plan{layer: l, weights: w, constants: section{sizes: w.SizesOnly}}
	if w.Source != nil && len(w.Filter) == 0 && !w.SizesOnly {
		// Weights that are made as they are packed are packed where they stay.
		layer, sizes := *l, *w // lowering may widen the layer's window
		sizes.Source, sizes.SizesOnly = nil, true
		sized, err := newPlan(&layer, &sizes)
		if err != nil {
			return nil, err
		}
		p.constants.data = make([]byte, 0, sized.constants.bytes)
	}
	if err := p.lower(); err != nil {
		return nil, err
	}
	if err := Within("descriptors of a layer", len(p.tasks), maxTasks, "split it into layers of at most %d"); err != nil {
		return nil, err
	}
	return p, p.tasks.err()
}

// finish is the tasks in the form of the layer's compiler.
func (p *plan) finish() []*regs.Descriptor {
	if p.layer.Release == Release2023 {
		spread := passes(p.layer) && len(p.tasks) > 1
		if spread {
			p.scratch = p.tasks.spread()
		}
		return p.tasks.finish2023(spread)
	}
	return p.tasks.finish()
}

// l2 and maxTile are the bytes of the L2 and those of the largest source tile in it.
func (p *plan) l2() int      { return p.layer.l2() }
func (p *plan) maxTile() int { return LargestTile(p.l2()) }

// A plan is a program in the making.
type plan struct {
	layer     *Layer
	weights   *Weights
	tasks     chain
	constants section
	packed    map[packing]attached // coefficients in the constants
	placed    map[string]int       // tables in the constants
	ports     []loader.Port
	scratch   int    // bytes
	held      int    // of them, with tensors between steps
	taps      [2]int // rows and columns of weights in a convolution's window
	// bound are the surfaces of a step's ports, nil of a layer by itself.
	bound ports
	// interleaved is where a runtime product's coefficients stand in the scratch.
	interleaved int
}

// add appends a task. Those beyond what can be numbered only count (newPlan).
func (p *plan) add(t *task) {
	if len(p.tasks) <= maxTasks {
		p.tasks = append(p.tasks, t)
	}
}

func (p *plan) lower() error {
	if p.layer.followed() {
		return p.thenActivation()
	}
	switch p.layer.Op {
	case Convolution:
		return p.convolution()
	case MatMul, Linear:
		if p.layer.TransposeX || p.layer.TransposeY {
			return p.turnedProduct()
		}
		if p.layer.Op == MatMul && p.layer.Second == Runtime {
			return p.runtimeMatmul()
		}
		return p.matmul()
	case ReduceSum, ReduceMean, ReduceMax, ReduceMin:
		return p.reduction()
	case Softmax:
		return p.softmax()
	case LayerNorm:
		return p.layerNorm()
	case Concat:
		return p.concat()
	case Transpose:
		return p.transpose()
	case Slice:
		return p.slice()
	case Pool:
		return p.pool()
	case Deconvolution:
		return p.deconvolution()
	case Tile:
		return p.tile()
	case Pad:
		return p.pad()
	case Pow:
		return p.pow()
	case Add, Sub, Mul, Max, Min, RealDiv, Average:
		return p.elementwise()
	}
	if p.layer.Op.activates() {
		return p.unary()
	}
	return p.layer.unsupported("not lowered")
}

// Buffer indices (bytes): surfaces stand behind the scratch in the order of their
// indices, which differs by operation.
const (
	barScratch = regs.BARScratch
	bar4       = 4
	bar5       = 5
	bar6       = 6
)

// port gives a tensor a window behind a buffer.
func (p *plan) port(name string, d loader.Direction, bar uint32, s Shape, m memory) memory {
	if at, ok := p.bound[name]; ok {
		return at
	}
	m.bar = bar
	p.ports = append(p.ports, m.port(name, d, s))
	return m
}

// port is the surface as a program's port.
func (m memory) port(name string, d loader.Direction, s Shape) loader.Port {
	return loader.Port{
		Name: name, Direction: d, BAR: int(m.bar), Shape: [4]int{s.N, s.C, s.H, s.W},
		Strides: [4]uint64{uint64(m.depth), uint64(m.plane), uint64(m.row), elementBytes},
		Bytes:   uint64(m.depth) * uint64(s.N),
	}
}

// input is buffer 4, output buffer 5: the order of everything but matrix products, and of
// what OutputFirst turns.
func (p *plan) input(name string, s Shape) memory {
	bar := uint32(bar4)
	if p.layer.OutputFirst || p.layer.Release == Release2023 {
		bar = bar5
	}
	return p.port(name, loader.Input, bar, s, surface(bar, s))
}

func (p *plan) output(name string, s Shape) memory {
	bar := uint32(bar5)
	if p.layer.OutputFirst || p.layer.Release == Release2023 {
		bar = bar4
	}
	return p.port(name, loader.Output, bar, s, surface(bar, s))
}

// A Source makes the values of a filter, in its order.
type Source interface {
	// Len is how many there are.
	Len() int
	// Values writes those from first on. It is cheap where first is the value behind the
	// last one written.
	Values(dst []float16.Float16, first int)
}

// filter is element i of the filter, zero without one. Where it is made as it is packed, all
// of it is made at the first call.
func (w *Weights) filter(i int) float16.Float16 {
	if len(w.Filter) == 0 && w.Source != nil {
		w.Filter = make([]float16.Float16, w.Source.Len())
		w.Source.Values(w.Filter, 0)
	}
	return value(w.Filter, i)
}

// run is n elements of the filter from first on, which may stand in buf; nil without a
// filter.
func (w *Weights) run(buf []float16.Float16, first, n int) []float16.Float16 {
	switch {
	case len(w.Filter) > 0:
		return w.Filter[first : first+n]
	case w.Filter != nil || w.Source == nil:
		return nil
	}
	w.Source.Values(buf[:n], first)
	return buf[:n]
}

// value is element i of values, zero where there are none.
func value(values []float16.Float16, i int) float16.Float16 {
	if len(values) == 0 {
		return 0
	}
	return values[i]
}

// half rounds to fp16 bits.
func half(v float32) uint16 { return uint16(float16.Fromfloat32(v)) }

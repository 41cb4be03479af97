package lower

import (
	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower/coeff"
	"anesim/loader/lower/task"
)

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
func Lower(l layer.Layer, w layer.Weights) (*loader.Program, error) {
	c, err := Compile(l, w)
	if err != nil {
		return nil, err
	}
	return c.Builder.Build(l.Op.String())
}

// Compile lowers a layer to the parts of a program.
func Compile(l layer.Layer, w layer.Weights) (*Lowered, error) {
	p, err := newPlan(&l, &w)
	if err != nil {
		return nil, err
	}
	b := p.builder()
	return &Lowered{
		Text: regs.EncodeChain(b.Chain), FirstWords: b.Chain[0].Words, Tasks: len(b.Chain),
		Constants: p.constants.Data, Builder: b,
	}, nil
}

// Sized lowers a layer to a program without contents: descriptors, ports and the sizes of
// everything. It is linked and timed as the program of Lower is, with the same figures.
// Errors are those of Lower.
func Sized(l layer.Layer, w layer.Weights) (*loader.Program, error) {
	w.SizesOnly = true
	p, err := newPlan(&l, &w)
	if err != nil {
		return nil, err
	}
	return p.builder().Layout(l.Op.String())
}

// newPlan checks a layer and lowers it.
func newPlan(l *layer.Layer, w *layer.Weights) (*plan, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	if err := w.Validate(l); err != nil {
		return nil, err
	}
	p := &plan{layer: l, weights: w, constants: coeff.Section{SizesOnly: w.SizesOnly}}
	if w.Source != nil && len(w.Filter) == 0 && !w.SizesOnly {
		// Weights that are made as they are packed are packed where they stay.
		layer, sizes := *l, *w // lowering may widen the layer's window
		sizes.Source, sizes.SizesOnly = nil, true
		sized, err := newPlan(&layer, &sizes)
		if err != nil {
			return nil, err
		}
		p.constants.Data = make([]byte, 0, sized.constants.Bytes)
	}
	if err := p.lower(); err != nil {
		return nil, err
	}
	if err := layer.Within("descriptors of a layer", len(p.tasks), task.MaxTasks, "split it into layers of at most %d"); err != nil {
		return nil, err
	}
	return p, p.tasks.Err()
}

// A plan is a program in the making.
type plan struct {
	layer     *layer.Layer
	weights   *layer.Weights
	tasks     task.Chain
	constants coeff.Section
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
func (p *plan) add(t *task.Task) {
	if len(p.tasks) <= task.MaxTasks {
		p.tasks = append(p.tasks, t)
	}
}

func (p *plan) lower() error {
	if p.layer.Followed() {
		return p.thenActivation()
	}
	switch p.layer.Op {
	case layer.Convolution:
		return p.convolution()
	case layer.MatMul, layer.Linear:
		if p.layer.TransposeX || p.layer.TransposeY {
			return p.turnedProduct()
		}
		if p.layer.Op == layer.MatMul && p.layer.Second == layer.Runtime {
			return p.runtimeMatmul()
		}
		return p.matmul()
	case layer.ReduceSum, layer.ReduceMean, layer.ReduceMax, layer.ReduceMin:
		return p.reduction()
	case layer.Softmax:
		return p.softmax()
	case layer.LayerNorm:
		return p.layerNorm()
	case layer.Concat:
		return p.concat()
	case layer.Transpose:
		return p.transpose()
	case layer.Slice:
		return p.slice()
	case layer.Pool:
		return p.pool()
	case layer.Deconvolution:
		return p.deconvolution()
	case layer.Tile:
		return p.tile()
	case layer.Pad:
		return p.pad()
	case layer.Pow:
		return p.pow()
	case layer.Add, layer.Sub, layer.Mul, layer.Max, layer.Min, layer.RealDiv, layer.Average:
		return p.elementwise()
	}
	if p.layer.Op.Activates() {
		return p.unary()
	}
	return p.layer.Unsupported("not lowered")
}

// port gives a tensor a window behind a buffer.
func (p *plan) port(name string, d loader.Direction, bar uint32, s layer.Shape, m task.Memory) task.Memory {
	if at, ok := p.bound[name]; ok {
		return at
	}
	m.Bar = bar
	p.ports = append(p.ports, m.Port(name, d, s))
	return m
}

// builder is the plan as a container's parts.
func (p *plan) builder() *loader.Builder {
	chain := p.finish() // which says what scratch there is
	return &loader.Builder{
		Procedure:     "net",
		Chain:         chain,
		Constants:     p.constants.Data,
		ConstantBytes: uint64(p.constants.Bytes),
		Ports:         p.ports,
		Scratch:       uint64(layer.RoundUp(p.scratch, task.ScratchPage)),
	}
}

// finish is the tasks in the form of the layer's compiler.
func (p *plan) finish() []*regs.Descriptor {
	if p.layer.Release == layer.Release2023 {
		spread := passes(p.layer) && len(p.tasks) > 1
		if spread {
			p.scratch = p.tasks.Spread()
		}
		return p.tasks.Finish2023(spread)
	}
	return p.tasks.Finish()
}

// l2 and maxTile are the bytes of the L2 and those of the largest source tile in it.
func (p *plan) l2() int { return p.layer.L2Bytes() }

func (p *plan) maxTile() int { return layer.LargestTile(p.l2()) }

// input is buffer 4, output buffer 5: the order of everything but matrix products, and of
// what OutputFirst turns.
func (p *plan) input(name string, s layer.Shape) task.Memory {
	bar := uint32(task.Bar4)
	if p.layer.OutputFirst || p.layer.Release == layer.Release2023 {
		bar = task.Bar5
	}
	return p.port(name, loader.Input, bar, s, task.Surface(bar, s))
}

func (p *plan) output(name string, s layer.Shape) task.Memory {
	bar := uint32(task.Bar5)
	if p.layer.OutputFirst || p.layer.Release == layer.Release2023 {
		bar = task.Bar4
	}
	return p.port(name, loader.Output, bar, s, task.Surface(bar, s))
}

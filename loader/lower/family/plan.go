package family

import (
	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower/coeff"
	"anesim/loader/lower/task"
)

// New checks a layer and lowers it.
func New(l *layer.Layer, w *layer.Weights) (*Plan, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	if err := w.Validate(l); err != nil {
		return nil, err
	}
	p := &Plan{Output: &Output{Constants: coeff.Section{SizesOnly: w.SizesOnly}}, Layer: l, Weights: w}
	if w.Source != nil && len(w.Filter) == 0 && !w.SizesOnly {
		// Weights that are made as they are packed are packed where they stay.
		layer, sizes := *l, *w // lowering may widen the layer's window
		sizes.Source, sizes.SizesOnly = nil, true
		sized, err := New(&layer, &sizes)
		if err != nil {
			return nil, err
		}
		p.Constants.Data = make([]byte, 0, sized.Constants.Bytes)
	}
	if err := p.lower(); err != nil {
		return nil, err
	}
	if err := layer.Within("descriptors of a layer", len(p.Tasks), task.MaxTasks, "split it into layers of at most %d"); err != nil {
		return nil, err
	}
	return p, p.Tasks.Err()
}

// An Output is what a layer is lowered to: a program in the making.
type Output struct {
	Tasks     task.Chain
	Constants coeff.Section
	Ports     []loader.Port
	Scratch   int // bytes
	held      int // of them, with tensors between steps
}

// A Plan is a layer on its way to an output, which the pieces that it is made of share.
type Plan struct {
	*Output
	Layer   *layer.Layer
	Weights *layer.Weights
	bound   ports // the surfaces of a piece's ports, nil of a layer by itself
}

// add appends a task. Those beyond what can be numbered only count (New).
func (p *Plan) add(t *task.Task) {
	if len(p.Tasks) <= task.MaxTasks {
		p.Tasks = append(p.Tasks, t)
	}
}

func (p *Plan) lower() error {
	if p.Layer.Followed() {
		return p.thenActivation()
	}
	switch p.Layer.Op {
	case layer.Convolution:
		return p.convolution()
	case layer.MatMul, layer.Linear:
		if p.Layer.TransposeX || p.Layer.TransposeY {
			return p.turnedProduct()
		}
		if p.Layer.Op == layer.MatMul && p.Layer.Second == layer.Runtime {
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
	if p.Layer.Op.Activates() {
		return p.unary()
	}
	return p.Layer.Unsupported("not lowered")
}

// port gives a tensor a window behind a buffer.
func (p *Plan) port(name string, d loader.Direction, bar uint32, s layer.Shape, m task.Memory) task.Memory {
	if at, ok := p.bound[name]; ok {
		return at
	}
	m.Bar = bar
	p.Ports = append(p.Ports, m.Port(name, d, s))
	return m
}

// Builder is the plan as a container's parts.
func (p *Plan) Builder() *loader.Builder {
	chain := p.finish() // which says what scratch there is
	return &loader.Builder{
		Procedure:     "net",
		Chain:         chain,
		Constants:     p.Constants.Data,
		ConstantBytes: uint64(p.Constants.Bytes),
		Ports:         p.Ports,
		Scratch:       uint64(layer.RoundUp(p.Scratch, task.ScratchPage)),
	}
}

// finish is the tasks in the form of the layer's compiler.
func (p *Plan) finish() []*regs.Descriptor {
	if p.Layer.Release == layer.Release2023 {
		spread := passes(p.Layer) && len(p.Tasks) > 1
		if spread {
			p.Scratch = p.Tasks.Spread()
		}
		return p.Tasks.Finish2023(spread)
	}
	return p.Tasks.Finish()
}

// input is buffer 4, output buffer 5: the order of everything but matrix products, and of
// what OutputFirst turns.
func (p *Plan) input(name string, s layer.Shape) task.Memory {
	bar := uint32(task.Bar4)
	if p.Layer.OutputFirst || p.Layer.Release == layer.Release2023 {
		bar = task.Bar5
	}
	return p.port(name, loader.Input, bar, s, task.Surface(bar, s))
}

func (p *Plan) output(name string, s layer.Shape) task.Memory {
	bar := uint32(task.Bar5)
	if p.Layer.OutputFirst || p.Layer.Release == layer.Release2023 {
		bar = task.Bar4
	}
	return p.port(name, loader.Output, bar, s, task.Surface(bar, s))
}

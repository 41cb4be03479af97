package family

import (
	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower/chain"
	"anesim/loader/lower/coeff"
	"anesim/loader/lower/place"
	"anesim/loader/lower/task"
)

// Lower checks a layer and lowers it.
func Lower(l *layer.Layer, w *layer.Weights) (*Output, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	if err := w.Validate(l); err != nil {
		return nil, err
	}
	o := &Output{Constants: coeff.Section{SizesOnly: w.SizesOnly}, release: l.Release}
	if w.Source != nil && len(w.Filter) == 0 && !w.SizesOnly {
		// Weights that are made as they are packed are packed where they stay.
		layer, sizes := *l, *w // lowering may widen the layer's window
		sizes.Source, sizes.SizesOnly = nil, true
		sized, err := Lower(&layer, &sizes)
		if err != nil {
			return nil, err
		}
		o.Constants.Data = make([]byte, 0, sized.Constants.Bytes)
	}
	if err := lowerLayer(o, job{layer: l, weights: w}); err != nil {
		return nil, err
	}
	if err := layer.CheckLimit("descriptors of a layer", len(o.Tasks), task.MaxTasks, "split it into layers of at most %d"); err != nil {
		return nil, err
	}
	o.spread = passes(l) && len(o.Tasks) > 1
	return o, task.FirstError(o.Tasks)
}

// An Output is what a layer is lowered to: a program in the making.
type Output struct {
	Tasks     []*task.Task
	Constants coeff.Section
	Ports     []loader.Port
	Scratch   int // bytes
	held      int // of them, with tensors between steps

	release layer.Release // the compiler whose form the program has
	spread  bool          // its tasks pass tensors on as the compiler of 2023 does
}

// A job is a layer to lower into an output. The pieces that a layer is made of are jobs of the
// same output.
type job struct {
	layer   *layer.Layer
	weights *layer.Weights
	at      ports // where the surfaces of a piece are; nil for a layer by itself, which gets ports
}

// add appends a task. Those beyond what can be numbered only count (Lower).
func (o *Output) add(t *task.Task) {
	if len(o.Tasks) <= task.MaxTasks {
		o.Tasks = append(o.Tasks, t)
	}
}

// lowerLayer appends the tasks of a layer: the table from operation to family.
func lowerLayer(o *Output, j job) error {
	if j.layer.NeedsActivationTask() {
		return lowerThenActivation(o, j)
	}
	switch j.layer.Op {
	case layer.Convolution:
		return lowerConvolution(o, j)
	case layer.MatMul, layer.Linear:
		if j.layer.TransposeX || j.layer.TransposeY {
			return lowerTransposedProduct(o, j)
		}
		if j.layer.Op == layer.MatMul && j.layer.Second == layer.Runtime {
			return lowerRuntimeMatMul(o, j)
		}
		return lowerMatMul(o, j)
	case layer.ReduceSum, layer.ReduceMean, layer.ReduceMax, layer.ReduceMin:
		return lowerReduction(o, j)
	case layer.Softmax:
		return lowerSoftmax(o, j)
	case layer.LayerNorm:
		return lowerLayerNorm(o, j)
	case layer.Concat:
		return lowerConcat(o, j)
	case layer.Transpose:
		return lowerTranspose(o, j)
	case layer.Slice:
		return lowerSlice(o, j)
	case layer.Pool:
		return lowerPool(o, j)
	case layer.Deconvolution:
		return lowerDeconvolution(o, j)
	case layer.Tile:
		return lowerTile(o, j)
	case layer.Pad:
		return lowerPad(o, j)
	case layer.Pow:
		return lowerPow(o, j)
	case layer.Add, layer.Sub, layer.Mul, layer.Max, layer.Min, layer.RealDiv, layer.Average:
		return lowerElementwise(o, j)
	}
	if j.layer.Op.IsActivation() {
		return lowerUnary(o, j)
	}
	return j.layer.Unsupportedf("not lowered")
}

// port returns where a tensor of the job is: where its piece has it, or in a new port behind a
// buffer.
func (o *Output) port(j job, name string, d loader.Direction, bar uint32, s layer.Shape, m place.Memory) place.Memory {
	if at, ok := j.at[name]; ok {
		return at
	}
	m.Bar = bar
	o.Ports = append(o.Ports, m.ToPort(name, d, s))
	return m
}

// Builder returns the program as a container's parts.
func (o *Output) Builder() *loader.Builder {
	descriptors := o.finish() // which says what scratch there is
	return &loader.Builder{
		Procedure:     "net",
		Chain:         descriptors,
		Constants:     o.Constants.Data,
		ConstantBytes: uint64(o.Constants.Bytes),
		Ports:         o.Ports,
		Scratch:       uint64(layer.RoundUp(o.Scratch, place.ScratchPage)),
	}
}

// finish returns the descriptors in the form of the layer's compiler.
func (o *Output) finish() []*regs.Descriptor {
	if o.release == layer.Release2023 {
		if o.spread {
			o.Scratch = chain.PassThroughScratch(o.Tasks)
		}
		return chain.Finish2023(o.Tasks, o.spread)
	}
	return chain.Finish(o.Tasks)
}

// input returns where an input is: in buffer 4, and the output in buffer 5. Matrix products have
// another order, and OutputFirst swaps the two.
func (o *Output) input(j job, name string, s layer.Shape) place.Memory {
	bar := uint32(place.Bar4)
	if j.layer.OutputFirst || j.layer.Release == layer.Release2023 {
		bar = place.Bar5
	}
	return o.port(j, name, loader.Input, bar, s, place.Surface(bar, s))
}

// output returns where the result goes, see input.
func (o *Output) output(j job, name string, s layer.Shape) place.Memory {
	bar := uint32(place.Bar5)
	if j.layer.OutputFirst || j.layer.Release == layer.Release2023 {
		bar = place.Bar4
	}
	return o.port(j, name, loader.Output, bar, s, place.Surface(bar, s))
}

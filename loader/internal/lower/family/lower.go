package family

import (
	"cmp"
	"errors"

	"anesim/hw/execycles"
	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/internal/lower/chain"
	"anesim/loader/internal/lower/coeff"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// Lower compiles layer l with weights w to tasks, with the constants, ports and scratch memory that
// they need. It checks the layer and the weights first. It may enlarge l.Window with taps of zero
// weight. The error is a *layer.LimitError, a *layer.UnsupportedError or a *layer.LayerError.
func Lower(l *layer.Layer, w *layer.Weights) (*Output, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	if err := w.Validate(l); err != nil {
		return nil, err
	}
	o := &Output{Constants: coeff.Section{SizesOnly: w.SizesOnly}, release: l.Release, target: l.Target}
	if w.Source != nil && len(w.Filter) == 0 && !w.SizesOnly {
		// Generated weights are packed in place, so the section gets its size first.
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
	if err := layer.CheckLimit("number of descriptors in a layer", len(o.Tasks), task.MaxTasks, "split it into layers with at most %d descriptors"); err != nil {
		return nil, err
	}
	o.streamed = streamsBetweenTasks(l) && len(o.Tasks) > 1
	return o, task.FirstError(o.Tasks)
}

// An Output holds everything that a compiled layer contributes to a program.
type Output struct {
	Tasks     []*task.Task
	Constants coeff.Section
	Ports     []loader.Port
	Scratch   int // size of the scratch buffer in bytes
	held      int // bytes of the scratch buffer that hold tensors between sublayers

	release  layer.Release // the compiler release whose form the program has
	target   execycles.Target
	streamed bool // tasks pass tensors through rings and scratch, as the 2023 compiler does
}

// A job is a layer to lower into an Output. Each sublayer of a layer is a job for the same Output.
type job struct {
	layer   *layer.Layer
	weights *layer.Weights
	at      ports // places of a sublayer's surfaces; nil for a whole layer, which gets ports
}

// addTask appends task t. Once there are more than task.MaxTasks tasks, for which Lower returns an
// error, it drops t instead.
func (o *Output) addTask(t *task.Task) {
	if len(o.Tasks) <= task.MaxTasks {
		o.Tasks = append(o.Tasks, t)
	}
}

// lowerLayer appends the tasks of a job's layer. If the layer exceeds a limit and has results that do
// not depend on each other, they are computed in parts.
func lowerLayer(o *Output, j job) error {
	before, l := *o, *j.layer
	err := cmp.Or(lowerWhole(o, j), task.FirstError(o.Tasks[min(len(before.Tasks), len(o.Tasks)):]))
	if limit := (*layer.LimitError)(nil); errors.As(err, &limit) {
		return lowerInParts(o, before, job{&l, j.weights, j.at}, err)
	}
	return err
}

// lowerWhole appends the tasks of a job's layer by calling the function for its operation.
func lowerWhole(o *Output, j job) error {
	// A matmul by constant weights reads its rows by several transposes, so only the number of channels of
	// a task limits its width.
	if !j.layer.HasConstantProduct() || j.layer.In.W > layer.MaxChannels {
		if err := j.layer.ValidateExtents(); err != nil {
			return err
		}
	}
	// Before the switch: this lowers the layer again, without its activation.
	if j.layer.NeedsActivationTask() {
		return lowerWithActivation(o, j)
	}
	switch j.layer.Op {
	case layer.Convolution:
		return lowerConvolution(o, j)
	case layer.MatMul, layer.Linear:
		if j.layer.TransposeX || j.layer.TransposeY {
			return lowerTransposedMatMul(o, j)
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
	return j.layer.Unsupportedf("operation is not supported")
}

// placePort returns the place in memory of the input or output with the given name. If job j is a
// sublayer of a larger layer, that is the place in j.at. Otherwise placePort adds a port of shape
// s, in buffer bar and with the strides of m, to o and returns m in that buffer.
func (o *Output) placePort(j job, name string, d loader.Direction, bar uint32, s layer.Shape, m place.Memory) place.Memory {
	if at, ok := j.at[name]; ok {
		return at
	}
	m.Bar = bar
	o.Ports = append(o.Ports, m.ToPort(name, d, s))
	return m
}

// Builder returns a builder for a container file whose only program computes the layer.
func (o *Output) Builder() *loader.Builder {
	sections := task.SplitConstants(o.Tasks, &o.Constants, loader.MaxKernelSection, loader.PageSize)
	descriptors := o.buildDescriptors() // sets o.Scratch
	return &loader.Builder{
		Procedure:     "net",
		Chain:         descriptors,
		Constants:     o.Constants.Data,
		ConstantBytes: uint64(o.Constants.Bytes),
		Sections:      sections,
		WindowTaps:    task.WindowTaps(o.Tasks),
		Ports:         o.Ports,
		Scratch:       uint64(layer.RoundUp(o.Scratch, place.ScratchPage)),
	}
}

// buildDescriptors returns the linked descriptors of the tasks, in the form of the compiler release
// that the layer asks for. For the 2023 compiler it may set o.Scratch.
func (o *Output) buildDescriptors() []*regs.Descriptor {
	if o.release == layer.Release2023 {
		passed := false
		if o.streamed {
			var scratch int
			if scratch, passed = chain.PassThroughScratch(o.Tasks); passed {
				o.Scratch = scratch
			}
		}
		return chain.Finish2023(o.Tasks, passed, o.target)
	}
	return chain.Finish(o.Tasks, o.target)
}

// placeInput returns the place of the input with the given name. It is in buffer 5 if the layer has
// OutputFirst set or asks for the form of the 2023 compiler, and in buffer 4 otherwise. Matmuls
// choose other buffers.
func (o *Output) placeInput(j job, name string, s layer.Shape) place.Memory {
	return o.placeInBuffer(j, name, loader.Input, place.Bar4, place.Bar5, s)
}

// placeOutput returns the place of the output with the given name. It is in buffer 4 if the layer
// has OutputFirst set or asks for the form of the 2023 compiler, and in buffer 5 otherwise.
func (o *Output) placeOutput(j job, name string, s layer.Shape) place.Memory {
	return o.placeInBuffer(j, name, loader.Output, place.Bar5, place.Bar4, s)
}

// placeInBuffer returns the place of a surface of shape s: in buffer bar, or in buffer swapped if
// the result of the layer comes before its inputs.
func (o *Output) placeInBuffer(j job, name string, d loader.Direction, bar, swapped uint32, s layer.Shape) place.Memory {
	if j.layer.OutputFirst || j.layer.Release == layer.Release2023 {
		bar = swapped
	}
	return o.placePort(j, name, d, bar, s, place.Surface(bar, s))
}

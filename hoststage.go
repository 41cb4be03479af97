package anesim

import (
	"fmt"
	"math"
	"slices"

	"github.com/x448/float16"

	"anesim/firmware/engine"
	"anesim/hw/clock"
	"anesim/hw/evidence"
	"anesim/hw/host"
	"anesim/internal/placement"
	"anesim/loader/network/list"
)

// computeHostStageTime returns how long the host needs for stage s of a network. It is the fixed
// time of a call plus the time to compute the elements or to move the bytes, whichever is longer,
// at the rates of the machine's CPU, or else those in package placement.
func (r *Result) computeHostStageTime(s *list.Stage) clock.Nanoseconds {
	m := r.Machine()
	for i := range m.Backends {
		if b := &m.Backends[i]; b.Name == placement.CPU {
			return clock.Nanoseconds(float64(1e3*b.Launch.Value) + max(float64(s.Elements)/b.Rate.Value, float64(s.Bytes)/b.Bandwidth.Value))
		}
	}
	return 0
}

// Stages returns the time that the host spends on layers that the engine does not support, summed
// over all dispatches. It is 0 if the engine computes every layer. [Result.Host] includes this
// time.
func (r *Result) Stages() (t clock.Nanoseconds) {
	for i := range r.Layers {
		t += r.Layers[i].Host
	}
	return t * clock.Nanoseconds(max(1, r.Options.Repeat))
}

// addHostTimes sets LayerResult.Host of each layer that the host computes. It also adds the time to
// the program that runs next, or to the last program if none follows.
func (r *Result) addHostTimes() {
	k, t := 0, clock.Nanoseconds(0)
	for i := range r.Layers {
		l := &r.Layers[i]
		for k < len(r.Programs) && i >= r.Programs[k].First {
			r.Programs[k].Host += t
			k, t = k+1, 0
		}
		if s := l.Layer.Host; s != nil {
			l.Host = r.computeHostStageTime(s)
			t += l.Host
		}
	}
	if n := len(r.Programs); n > 0 {
		r.Programs[n-1].Host += t
	}
}

// runHostStages computes the values of the layers first to last-1 that run on the host. If the
// values of a layer cannot be computed, it records the reason in r.failed.
func (r *execution) runHostStages(first, last int) {
	if !r.options.Values || r.model.kind != KindNetwork {
		return
	}
	n := r.model.net
	for i := first; i < last; i++ {
		l := &n.Layers[i]
		if l.Host == nil {
			continue
		}
		if err := r.runHostStage(l); err != nil {
			r.failed[i] = err.Error()
		}
		r.dropUnneededValues(i)
	}
}

// dropUnneededValues frees the values that no layer after layer i needs. Of the inputs and outputs
// of layer i, it drops the exact float64 values that no later host layer reads, and the fp16 values
// that the host computed and no later layer reads. It keeps the inputs and results of the network.
func (r *execution) dropUnneededValues(i int) {
	n := r.model.net
	// Networks of thousands of layers make a search through the later ones for each value too slow.
	// Results and inputs of the network get an index past the last layer, which no layer reaches; a
	// value that nothing reads has index 0 and goes at once.
	if r.lastReader == nil {
		r.lastReader, r.lastHostReader = map[string]int{}, map[string]int{}
		for k := range n.Layers {
			for _, name := range n.Layers[k].Inputs {
				r.lastReader[name] = k
				if n.Layers[k].Host != nil {
					r.lastHostReader[name] = k
				}
			}
		}
		for _, out := range n.AllResults() {
			r.lastReader[out.Tensor], r.lastHostReader[out.Tensor] = len(n.Layers), len(n.Layers)
		}
		for _, in := range n.Inputs {
			r.lastReader[in.Name] = len(n.Layers)
		}
	}
	l := &n.Layers[i]
	names := slices.Clone(l.Inputs)
	for _, t := range l.Host.Outputs {
		names = append(names, t.Name)
	}
	for _, name := range names {
		// The two forms are freed separately: exact numbers have four times the size of fp16 values, and the
		// engine reads only the latter.
		if r.lastHostReader[name] <= i {
			delete(r.numbers, name)
		}
		if r.lastReader[name] <= i {
			delete(r.tensors, name)
		}
	}
}

// runHostStage computes the outputs of layer l on the host. It generates missing inputs of the
// network, and returns an error if another operand is missing or an operand is too large.
func (r *execution) runHostStage(l *list.Layer) error {
	var in []list.Array
	for k, name := range l.Inputs {
		// Exact numbers come first: what one host stage gives the next is not rounded to fp16, and
		// integers above 2048, such as indices, may have no exact fp16 value.
		v, ok := r.numbers[name]
		if !ok {
			data, made := r.tensors[name]
			if !made {
				at := slices.IndexFunc(r.model.net.Inputs, func(t list.Tensor) bool { return t.Name == name })
				if at < 0 {
					return fmt.Errorf("missing values for tensor %q", name)
				}
				var err error
				if data, err = r.generateInput(&r.model.net.Inputs[at]); err != nil {
					return err
				}
			}
			if len(data) > mostStaged {
				return fmt.Errorf("tensor %q is too large to compute on the host: %d elements; want at most %d", name, len(data), mostStaged)
			}
			v = make([]float64, len(data))
			for k, h := range data {
				v[k] = float64(h.Float32())
			}
		}
		x, err := r.withActualShape(name, list.Array{Dims: l.Host.Inputs[k], Numbers: v})
		if err != nil {
			return err
		}
		in = append(in, x)
	}
	out, err := l.Host.Run(in)
	if err != nil {
		return err
	}
	for k, t := range l.Host.Outputs {
		r.numbers[t.Name] = out[k].Numbers
		if !slices.Equal(out[k].Dims, t.Dims) {
			r.extents[t.Name] = out[k].Dims
			// A program has fixed shapes. If this run's values made the tensor smaller, the engine
			// reads it filled up to the size that the program was compiled for.
			if r.isEngineInput(t.Name) {
				if out[k], err = out[k].Filled(t.Dims); err != nil {
					return fmt.Errorf("%q: %w", t.Name, err)
				}
			}
		}
		r.tensors[t.Name] = roundToFloat16(out[k].Numbers)
	}
	return nil
}

// withActualShape returns x, the values of the named tensor, cut to the shape that the tensor has
// in this run. The engine writes a tensor whose shape depends on values with its largest possible
// shape.
func (r *execution) withActualShape(name string, x list.Array) (list.Array, error) {
	dims, err := r.actualShape(name, x.Dims)
	switch {
	case err != nil:
		return x, err
	case r.model.net.Cuts[name] != nil:
		return x.Cut(dims)
	}
	x.Dims = dims
	return x, nil
}

// actualShape returns the shape of the named tensor in this run. It returns static, the shape in
// the network's file, if the shape does not depend on values.
func (r *execution) actualShape(name string, static []int) ([]int, error) {
	dims, ok := r.extents[name]
	cut := r.model.net.Cuts[name]
	if ok || cut == nil {
		if !ok {
			dims = static
		}
		return dims, nil
	}
	var in [][]int
	for k, input := range cut.Inputs {
		d, err := r.actualShape(input, cut.Largest[k])
		if err != nil {
			return nil, err
		}
		in = append(in, d)
	}
	dims, err := cut.Shape(in)
	if err == nil {
		r.extents[name] = dims
	}
	return dims, err
}

// isEngineInput reports whether the named tensor is an input of a program of the network.
func (r *execution) isEngineInput(tensor string) bool {
	for k := range r.lowered.programs {
		for port := range r.lowered.programs[k].Inputs() {
			if port.Name == tensor {
				return true
			}
		}
	}
	return false
}

// mostStaged is the largest number of elements that an operand of a layer on the host may have. The
// host converts operands to float64.
const mostStaged = 1 << 25

// generateInput returns values for an input of the network that has none: ones for integers, such
// as table indices and masks, and pseudo-random values for other types. All layers that read the
// input get the same values. It returns an error if the generated inputs exceed engine.MaxMadeUp
// elements in total.
func (r *execution) generateInput(in *list.Tensor) ([]float16.Float16, error) {
	s := in.Shape
	if s.Elements() > engine.MaxMadeUp-r.madeUpElements {
		return nil, fmt.Errorf("missing input %q of shape %s; generated inputs would exceed %d elements in total", in.Name, list.ShapeText(s), engine.MaxMadeUp)
	}
	r.madeUpElements += s.Elements()
	var data []float16.Float16
	if in.Type != "" && in.Type[0] != 'f' {
		data = slices.Repeat([]float16.Float16{float16.Fromfloat32(1)}, s.Elements())
	} else {
		data = engine.PseudoRandom(in.Name, s.Elements(), r.options.Seed)
	}
	r.tensors[in.Name] = data
	r.synthetic = append(r.synthetic, in.Name)
	return data, nil
}

// roundToFloat16 returns the numbers in v rounded to fp16. A number beyond the range of fp16 becomes
// infinite.
func roundToFloat16(v []float64) []float16.Float16 {
	out := make([]float16.Float16, len(v))
	for i, x := range v {
		f := float32(x)
		if math.Abs(x) > math.MaxFloat32 && !math.IsInf(x, 0) {
			f = float32(math.Copysign(math.Inf(1), x))
		}
		out[i] = float16.Fromfloat32(f)
	}
	return out
}

// Machine returns the processors among which package placement can divide the layers of a network:
// the engine, the GPU and the CPU, with their speeds. A call of the engine costs the fixed time of
// r.Options.Host. If there is no host, it costs the measured time of a small call on an M1.
func (r *Result) Machine() placement.Machine {
	h := &r.Options.Host
	launch := h.Floor
	if launch.Value <= 0 {
		launch = evidence.New(host.BudgetSum(), "us", evidence.Measured, "the stages of a small call on an M1 under macOS (package host)")
	}
	m := placement.Preset(launch, h.In)
	if own := r.Options.Machine; own != nil {
		for i := range m.Backends {
			switch b := &m.Backends[i]; b.Name {
			case placement.GPU:
				b.Rate, b.Bandwidth = own.GPU.Rate, own.GPU.Bandwidth
			case placement.CPU:
				b.Rate, b.Bandwidth = own.CPU.Rate, own.CPU.Bandwidth
			}
		}
	}
	return m
}

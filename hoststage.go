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
	"anesim/loader/network/list"
	"anesim/loader/network/placement"
)

// stageTime returns the host's time for a stage of a network: the time of a call plus the longer of
// computing and moving data, at the rates that package placement assumes for a CPU.
func (r *Result) stageTime(s *list.Stage) clock.Nanoseconds {
	m := r.Machine()
	for i := range m.Backends {
		if b := &m.Backends[i]; b.Name == placement.CPU {
			return clock.Nanoseconds(1e3*b.Launch.Value + max(float64(s.Elements)/b.Rate.Value, float64(s.Bytes)/b.Bandwidth.Value))
		}
	}
	return 0
}

// Stages returns the time in which the host computes the layers of a network that the engine does
// not support. The time covers all dispatches and is included in [Result.Host]. It is 0 if the
// engine computes every layer.
func (r *Result) Stages() (t clock.Nanoseconds) {
	for i := range r.Layers {
		t += r.Layers[i].Host
	}
	return t * clock.Nanoseconds(max(1, r.Options.Repeat))
}

// addHostTimes sets the host time of each layer that the host computes, and adds it to the host
// time of the next program. Stages after the last program are added to the last program.
func (r *Result) addHostTimes() {
	k, t := 0, clock.Nanoseconds(0)
	for i := range r.Layers {
		l := &r.Layers[i]
		for k < len(r.Programs) && i >= r.Programs[k].First {
			r.Programs[k].Host += t
			k, t = k+1, 0
		}
		if s := l.Layer.Host; s != nil {
			l.Host = r.stageTime(s)
			t += l.Host
		}
	}
	if n := len(r.Programs); n > 0 {
		r.Programs[n-1].Host += t
	}
}

// runHostStages computes the values of layers first to last-1 that run on the host. Values that
// such a layer needs and that no input provides are made up: ones for whole numbers, which are
// table indices and masks, otherwise the values that programs get for missing inputs.
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
	}
}

// runHostStage computes the outputs of one layer that runs on the host.
func (r *execution) runHostStage(l *list.Layer) error {
	var in []list.Array
	for k, name := range l.Inputs {
		v, ok := r.numbers[name]
		if !ok {
			data, made := r.tensors[name]
			if !made {
				at := slices.IndexFunc(r.model.net.Inputs, func(t list.Tensor) bool { return t.Name == name })
				if at < 0 {
					return fmt.Errorf("%q has no values", name)
				}
				var err error
				if data, err = r.makeUpInput(&r.model.net.Inputs[at]); err != nil {
					return err
				}
			}
			if len(data) > mostStaged {
				return fmt.Errorf("%q has %d elements; the host computes values of at most %d", name, len(data), mostStaged)
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
			if r.engineReads(t.Name) {
				if out[k], err = out[k].Filled(t.Dims); err != nil {
					return fmt.Errorf("%q: %w", t.Name, err)
				}
			}
		}
		r.tensors[t.Name] = toHalves(out[k].Numbers)
	}
	return nil
}

// withActualShape returns the values of a tensor in the shape that it has in this run. A tensor x
// from the engine has the largest shape and is cut.
func (r *execution) withActualShape(name string, x list.Array) (list.Array, error) {
	dims, err := r.shape(name, x.Dims)
	switch {
	case err != nil:
		return x, err
	case r.model.net.Cuts[name] != nil:
		return x.Cut(dims)
	}
	x.Dims = dims
	return x, nil
}

// shape returns the shape of a tensor in this run, which is static if no values affect it.
func (r *execution) shape(name string, static []int) ([]int, error) {
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
		d, err := r.shape(input, cut.Largest[k])
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

// engineReads reports whether a program has the tensor as an input.
func (r *execution) engineReads(tensor string) bool {
	for k := range r.lowered.programs {
		for port := range r.lowered.programs[k].Inputs() {
			if port.Name == tensor {
				return true
			}
		}
	}
	return false
}

// mostStaged is the largest number of elements of an operand that the host converts to float64.
const mostStaged = 1 << 26

// makeUpInput returns made-up values for an input of the network. All layers that read it get the
// same values.
func (r *execution) makeUpInput(in *list.Tensor) ([]float16.Float16, error) {
	s := in.Shape
	if s.Elements() > engine.MaxMadeUp-r.madeUpElements {
		return nil, fmt.Errorf("input %q of shape %s is missing; made-up inputs may have at most %d elements in total", in.Name, list.ShapeText(s), engine.MaxMadeUp)
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

// toHalves rounds numbers to fp16. Magnitudes beyond its range become infinite.
func toHalves(v []float64) []float16.Float16 {
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

// Machine returns the processors on which the layers of a network may be placed, with their speeds.
// A call of the engine costs the fixed time of the run's host, or, if the run has no host, the
// measured time of a small call on an M1. The speeds of the other processors are the defaults of
// package placement.
func (r *Result) Machine() placement.Machine {
	h := &r.Options.Host
	launch := h.Floor
	if launch.Value <= 0 {
		launch = evidence.New(host.BudgetSum(), "us", evidence.Measured, "the stages of a small call on an M1 under macOS (package host)")
	}
	return placement.Preset(launch, h.In)
}

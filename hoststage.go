package anesim

import (
	"fmt"
	"math"
	"slices"

	"github.com/x448/float16"

	"anesim/firmware/engine"
	"anesim/hw/clock"
	"anesim/loader/network/list"
	"anesim/loader/network/placement"
)

// stageTime is what a stage of a network takes the host: a call, and the longer of computing
// and moving, by the rates that package placement assumes of a CPU.
func (r *Result) stageTime(s *list.Stage) clock.Nanoseconds {
	m := r.Machine()
	for i := range m.Backends {
		if b := &m.Backends[i]; b.Name == placement.CPU {
			return clock.Nanoseconds(1e3*b.Launch.Value + max(float64(s.Elements)/b.Rate.Value, float64(s.Bytes)/b.Bandwidth.Value))
		}
	}
	return 0
}

// Stages is the host's time for the network's stages of its own, in all dispatches. It is
// part of [Result.Host].
func (r *Result) Stages() (t clock.Nanoseconds) {
	for i := range r.Layers {
		t += r.Layers[i].Host
	}
	return t * clock.Nanoseconds(max(1, r.Options.Repeat))
}

// hostStages gives the network's stages their time, which is part of the host's ahead of the
// program that follows; those behind the last program are counted with it.
func (r *Result) hostStages() {
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

// stage works out what the host does of the layers from first to last-1. Values that a
// stage needs and nobody gave are made up: ones of whole numbers, which are places of a
// table and masks, else what a program is given in their place.
func (r *execution) stage(first, last int) {
	if !r.options.Values || r.model.kind != KindNetwork {
		return
	}
	n := r.model.net
	for i := first; i < last; i++ {
		l := &n.Layers[i]
		if l.Host == nil {
			continue
		}
		if err := r.work(l); err != nil {
			r.failed[i] = err.Error()
		}
	}
}

func (r *execution) work(l *list.Layer) error {
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
				if data, err = r.madeUp(&r.model.net.Inputs[at]); err != nil {
					return err
				}
			}
			if len(data) > mostStaged {
				return fmt.Errorf("%q has %d elements; the host works out values of at most %d", name, len(data), mostStaged)
			}
			v = make([]float64, len(data))
			for k, h := range data {
				v[k] = float64(h.Float32())
			}
		}
		x, err := r.actual(name, list.Array{Dims: l.Host.Inputs[k], Numbers: v})
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
		r.tensors[t.Name] = rounded(out[k].Numbers)
	}
	return nil
}

// actual returns a tensor's values in the shape that they have in this run. An engine's, x, has
// the largest shape.
func (r *execution) actual(name string, x list.Array) (list.Array, error) {
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

// shape returns the shape that a tensor has in this run, static if no values decide it.
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

// mostStaged is the most elements of an operand that the host takes in float64.
const mostStaged = 1 << 26

// madeUp gives an input of the network values, the same to every layer that reads it.
func (r *execution) madeUp(in *list.Tensor) ([]float16.Float16, error) {
	s := in.Shape
	if s.Elements() > engine.MaxMadeUp-r.madeUpElements {
		return nil, fmt.Errorf("values of %q of shape %s are not made up: inputs that nobody gives have at most %d elements together", in.Name, list.ShapeText(s), engine.MaxMadeUp)
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

// rounded are numbers as fp16: those of a magnitude that it does not have are infinite.
func rounded(v []float64) []float16.Float16 {
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

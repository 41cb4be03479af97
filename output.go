package anesim

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/x448/float16"

	"anesim/firmware/engine"
	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/network/list"
)

// An Output is a tensor that went in or came out: a port and its values. One of a network
// has the rank and the elements' type that the network's file says.
type Output struct {
	Port *loader.Port
	Data []float16.Float16 // N, C, H, W order
	Dims []int             // of a network's file; nil where it has the port's shape
	Type string            // of the file's elements, as numpy spells it; "" for float16
	// Numbers are the values where Type is one of whole numbers or bool: those of Data, or the
	// exact ones of a constant and of what the host worked out, which Data has rounded.
	Numbers []float64
}

// Shape is the tensor's extents.
func (o *Output) Shape() []int {
	if o.Dims != nil {
		return o.Dims
	}
	return o.Port.Shape[:]
}

// outputs returns tensors of ports, which have the port's shape and elements of fp16.
func outputs(tensors []engine.Tensor) []Output {
	var list []Output
	for _, t := range tensors {
		list = append(list, Output{Port: t.Port, Data: t.Data})
	}
	return list
}

// results gives a network's result its outputs: those that rest on nothing that was made up
// in the place of what no program computes. Layers that do have no values to show.
func (r *execution) results(res *Result) {
	if !r.options.Values {
		return
	}
	n := r.model.net
	madeUp := map[string]bool{}
	for _, name := range r.synthetic {
		madeUp[name] = true
	}
	made := map[string]layer.Shape{}
	for _, in := range n.Inputs {
		madeUp[in.Name], made[in.Name] = false, in.Shape
	}
	for i := range n.Layers {
		l := &n.Layers[i]
		lost := !res.Layers[i].Modelled() || r.failed[i] != ""
		if r.failed[i] != "" {
			res.Layers[i].Note = "the host: " + r.failed[i]
		}
		for _, in := range l.Inputs {
			lost = lost || madeUp[in]
		}
		made[l.Output] = l.Out
		if lost {
			for _, out := range l.Others {
				madeUp[out] = true
			}
			madeUp[l.Output] = true
			res.Layers[i].Data = nil
		}
	}
	tensors := maps.Clone(r.tensors)
	if tensors == nil {
		tensors = map[string][]float16.Float16{}
	}
	for k := range res.Programs {
		for _, out := range res.Programs[k].Outputs {
			tensors[out.Port.Name] = out.Data
		}
	}
	for _, out := range n.Given() {
		data := tensors[out.Tensor]
		if madeUp[out.Tensor] || data == nil {
			continue
		}
		port := &loader.Port{Name: out.Name, Direction: loader.Output, Shape: [4]int{1, 1, 1, len(data)}}
		if s, ok := made[out.Tensor]; ok {
			port.Shape = [4]int{s.N, s.C, s.H, s.W}
		}
		if strings.HasPrefix(out.Type, "float") && out.Unit > 1 {
			data = multiplied(data, out.Unit)
		}
		o := Output{Port: port, Data: data, Dims: out.Dims, Type: out.Type}
		if err := r.sized(&o, &out); err != nil {
			continue
		}
		res.Outputs = append(res.Outputs, o)
	}
}

// sized gives an output the shape and the values of the run, if its size depends on values, and
// whole numbers, if it has such.
func (r *execution) sized(o *Output, out *list.Output) error {
	dims, err := r.shape(out.Tensor, out.Dims)
	if err == nil && !slices.Equal(dims, out.Dims) {
		err = r.resize(o, out, dims)
	}
	if !strings.HasPrefix(out.Type, "float") && out.Type != "" && err == nil {
		o.Numbers = r.wholeNumbers(out, o.Data)
	}
	return err
}

// resize gives an output a shape that is not the largest.
func (r *execution) resize(o *Output, out *list.Output, dims []int) (err error) {
	if v, ok := r.numbers[out.Tensor]; ok {
		o.Data = rounded(v)
	} else {
		x := list.Array{Dims: out.Dims}
		for _, h := range o.Data {
			x.Numbers = append(x.Numbers, float64(h.Float32()))
		}
		if x, err = x.Cut(dims); err != nil {
			return err
		}
		o.Data = rounded(x.Numbers)
	}
	o.Dims, o.Port.Shape = dims, [4]int{1, 1, 1, len(o.Data)}
	return nil
}

// multiplied returns the values times a factor.
func multiplied(data []float16.Float16, by float64) []float16.Float16 {
	out := make([]float16.Float16, len(data))
	for i, h := range data {
		out[i] = float16.Fromfloat32(h.Float32() * float32(by))
	}
	return out
}

// wholeNumbers are the values of an output of whole numbers whose fp16 values are data.
func (r *execution) wholeNumbers(out *list.Output, data []float16.Float16) []float64 {
	if out.Numbers != nil {
		return out.Numbers
	}
	v, ok := r.numbers[out.Tensor]
	if ok && out.Unit <= 1 {
		return v
	}
	numbers := make([]float64, len(data))
	for i, h := range data {
		numbers[i] = float64(h.Float32())
		if ok {
			numbers[i] = v[i]
		}
		numbers[i] *= max(1, out.Unit)
	}
	return numbers
}

// Summary is the first elements of the tensor and its range, on one line.
func (o *Output) Summary() string {
	const shown = 4
	if len(o.Data) == 0 {
		return "no elements"
	}
	lo, hi := bounds(o.Data)
	if o.Numbers != nil {
		lo, hi = slices.Min(o.Numbers), slices.Max(o.Numbers)
	}
	var b strings.Builder
	b.WriteByte('[')
	for i, h := range o.Data[:min(shown, len(o.Data))] {
		if i > 0 {
			b.WriteByte(' ')
		}
		if o.Numbers != nil {
			fmt.Fprintf(&b, "%.15g", o.Numbers[i])
		} else {
			fmt.Fprintf(&b, "%g", h.Float32())
		}
	}
	if len(o.Data) > shown {
		b.WriteString(" ...")
	}
	fmt.Fprintf(&b, "] in [%g, %g]", lo, hi)
	return b.String()
}

// bounds are the smallest and the largest of halves, NaN where one is.
func bounds(data []float16.Float16) (lo, hi float64) {
	// The bits of a half, those below zero turned over, are in the order of its values.
	order := func(b uint16) int16 { return int16(b ^ uint16(int16(b)>>15)>>1) }
	least, most := int16(math.MaxInt16), int16(math.MinInt16)
	for _, h := range data {
		k := order(h.Bits())
		least, most = min(least, k), max(most, k)
	}
	value := func(k int16) float16.Float16 { return float16.Frombits(uint16(order(uint16(k)))) }
	if value(least).IsNaN() || value(most).IsNaN() {
		return math.NaN(), math.NaN()
	}
	return float64(value(least).Float32()), float64(value(most).Float32())
}

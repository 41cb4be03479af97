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

// An Output holds the values of an input or output tensor of a run. An output of a network has the
// shape and the element type that the network's file declares.
type Output struct {
	Port *loader.Port
	Data []float16.Float16 // N, C, H, W order
	Dims []int             // from a network's file; nil if the tensor has the port's shape
	Type string            // element type in the file, as numpy spells it; "" for float16
	// Numbers holds the values if Type is an integer type or bool. They are the values of
	// Data, or the exact values of a constant or of a layer that the host computed, which Data
	// has rounded.
	Numbers []float64
}

// Shape returns the sizes of the tensor's dimensions. It returns o.Dims, or N, C, H and W of the
// port if o.Dims is nil.
func (o *Output) Shape() []int {
	if o.Dims != nil {
		return o.Dims
	}
	return o.Port.Shape[:]
}

// toOutputs returns the tensors of ports as outputs with the port's shape and fp16 elements.
func toOutputs(tensors []engine.Tensor) []Output {
	var list []Output
	for _, t := range tensors {
		list = append(list, Output{Port: t.Port, Data: t.Data})
	}
	return list
}

// setOutputs sets the outputs of a network's result. Layers that were not computed have made-up
// values. If an output depends on such values, setOutputs leaves it out. It also removes the values
// of layers that depend on them.
func (r *execution) setOutputs(res *Result) {
	if !r.options.Values {
		return
	}
	n := r.model.net
	madeUp := map[string]bool{}
	for _, name := range r.synthetic {
		madeUp[name] = true
	}
	made := map[string]layer.Shape{}
	// Inputs that the caller left out are generated too, but they are this run's inputs: what is
	// computed from them is computed.
	for _, in := range n.Inputs {
		madeUp[in.Name], made[in.Name] = false, in.Shape
	}
	for i := range n.Layers {
		l := &n.Layers[i]
		// Layers come after the layers that they read, so one pass finds everything that depends on
		// made-up values.
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
	for _, out := range n.AllResults() {
		data := tensors[out.Tensor]
		if madeUp[out.Tensor] || data == nil {
			continue
		}
		port := &loader.Port{Name: out.Name, Direction: loader.Output, Shape: [4]int{1, 1, 1, len(data)}}
		if s, ok := made[out.Tensor]; ok {
			port.Shape = [4]int{s.N, s.C, s.H, s.W}
		}
		// Values beyond fp16's range are stored divided by a power of two, the unit.
		if strings.HasPrefix(out.Type, "float") && out.Unit > 1 {
			data = scaleValues(data, out.Unit)
		}
		o := Output{Port: port, Data: data, Dims: out.Dims, Type: out.Type}
		// The shape of this run is unknown if what it depends on was not computed. An output in the
		// largest possible shape would look complete, so it is left out.
		if err := r.cropOutput(&o, &out); err != nil {
			continue
		}
		res.Outputs = append(res.Outputs, o)
	}
}

// cropOutput cuts o to the shape of this run if the shape of out depends on values. It sets
// o.Numbers if the elements are integers or bools.
func (r *execution) cropOutput(o *Output, out *list.Output) error {
	dims, err := r.actualShape(out.Tensor, out.Dims)
	if err == nil && !slices.Equal(dims, out.Dims) {
		err = r.cropToShape(o, out, dims)
	}
	if !strings.HasPrefix(out.Type, "float") && out.Type != "" && err == nil {
		o.Numbers = r.exactNumbers(out, o.Data)
	}
	return err
}

// cropToShape cuts o, whose shape is the largest possible one in out.Dims, to the shape dims.
func (r *execution) cropToShape(o *Output, out *list.Output, dims []int) (err error) {
	if v, ok := r.numbers[out.Tensor]; ok {
		o.Data = roundToFloat16(v)
	} else {
		x := list.Array{Dims: out.Dims}
		for _, h := range o.Data {
			x.Numbers = append(x.Numbers, float64(h.Float32()))
		}
		if x, err = x.Cut(dims); err != nil {
			return err
		}
		o.Data = roundToFloat16(x.Numbers)
	}
	o.Dims, o.Port.Shape = dims, [4]int{1, 1, 1, len(o.Data)}
	return nil
}

// scaleValues returns a copy of data with each value multiplied by factor and rounded to fp16.
func scaleValues(data []float16.Float16, factor float64) []float16.Float16 {
	out := make([]float16.Float16, len(data))
	for i, h := range data {
		out[i] = float16.Fromfloat32(h.Float32() * float32(factor))
	}
	return out
}

// exactNumbers returns the values of an output whose elements are integers or bools. The values
// from the file or the host are exact. If neither has them, it converts the fp16 values in data.
func (r *execution) exactNumbers(out *list.Output, data []float16.Float16) []float64 {
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

// Summary returns the first four values of the tensor, and its smallest and largest value, on one
// line, such as "[1 2 3 4 ...] in [1, 64]". It returns "no elements" for an empty tensor.
func (o *Output) Summary() string {
	const shown = 4
	if len(o.Data) == 0 {
		return "no elements"
	}
	lo, hi := findValueRange(o.Data)
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

// findValueRange returns the smallest and the largest value of data. Both are NaN if data contains
// a NaN.
func findValueRange(data []float16.Float16) (lo, hi float64) {
	// The bits of a half, inverted for negative values, have the same order as its values.
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

package compression

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/x448/float16"

	"anesim/loader/layer"
	"anesim/loader/network/list"
	"anesim/loader/network/weights"
)

// A Form is a form in which weights have fewer bytes than in fp16. [Compress] stores a network's
// weights so, to see the gain.
type Form struct {
	Name   string // such as "palette4"
	stored layer.Form
	// levels is the number of values that the weights of a layer have: those of a signed byte times a
	// scale, or those of a palette.
	levels int
}

// Forms lists the forms, fewest bytes last. Indices of 6 bits are bytes on the engine, which is
// known to have palettes of 4 and 8.
func Forms() []Form {
	return []Form{
		{"int8", layer.FormInt8, 255}, {"palette8", layer.FormPalette, 256},
		{"palette6", layer.FormPalette, 64}, {"palette4", layer.FormPalette, 16},
	}
}

// ParseForm returns the form with the given name.
func ParseForm(name string) (Form, error) {
	var names []string
	for _, c := range Forms() {
		if c.Name == name {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return Form{}, fmt.Errorf("unknown form of weights %q; want %s", name, strings.Join(names, ", "))
}

// mostMadeUp bounds the weights that are generated for layers without any. Packing them takes some 30 ns
// each, and a list of layers asks for many in a few words.
const mostMadeUp = 1 << 27

// Compress returns a copy of n in which convolutions and products with constant weights store them in form c,
// rounded to the nearest value that it has, and the number of these layers. Weights that a file already stores in
// another form than fp16 stay as they are. Layers without weights in the file get pseudo-random ones.
//
// The rounding is as simple as can be: it says how fast a program with such weights is, not how good. Compress
// returns an error if weights cannot be read, or if the layers need more than mostMadeUp generated ones.
func Compress(n *list.Network, c Form) (*list.Network, int, error) {
	out, count, made := *n, 0, 0
	out.Layers = slices.Clone(n.Layers)
	for i := range out.Layers {
		x := &out.Layers[i]
		need := list.Needs(&x.Lower).Filter
		if x.Reason != "" || x.Average || need == 0 || x.Weights.Form != layer.FormFP16 {
			continue
		}
		of := x.Weights.Stored
		switch {
		case x.Weights.Filter != nil:
			of = inMemory(x.Weights.Filter)
		case of == nil:
			if made += need; need > mostMadeUp || made > mostMadeUp {
				return nil, 0, fmt.Errorf("layer %s: %w", x.Name, &layer.LimitError{Limit: "number of weights that the file does not have", Got: made, Max: mostMadeUp, Nearest: "export a file with its weights"})
			}
			of = madeUp(need)
		}
		w := compressed{of: of, levels: c.levels, channel: channelOf(&x.Lower, need)}
		channels := 1
		if w.channel != nil {
			channels = max(1, x.Lower.Cout+x.Lower.Columns)
		}
		var err error
		if w.largest, err = largestMagnitudes(&w, channels); err != nil {
			return nil, 0, &weights.ReadError{Layer: x.Name, Err: err}
		}
		if c.stored == layer.FormInt8 {
			w.scale = make([]float16.Float16, channels)
			for k, v := range w.largest {
				w.scale[k] = float16.Fromfloat32(v / 127)
			}
			x.Weights.Scale = w.scale
		}
		x.Weights.Filter, x.Weights.Stored, x.Weights.Form = nil, &w, c.stored
		count++
	}
	return &out, count, nil
}

// channelOf returns a function that maps weight i of the n weights of layer l to its output channel. It is
// nil for a deconvolution, whose weights share one scale.
func channelOf(l *layer.Layer, n int) func(i int) int {
	switch l.Op {
	case layer.Convolution:
		of := n / l.Cout
		return func(i int) int { return i / of }
	case layer.Linear:
		return func(i int) int { return i / l.In.W }
	case layer.MatMul:
		return func(i int) int { return i % l.Columns }
	}
	return nil
}

// largestMagnitudes returns the largest magnitude of the weights of each channel. Those of a palette, which a
// layer has one of, are the largest of all.
func largestMagnitudes(w *compressed, channels int) ([]float32, error) {
	values, err := w.of.Read()
	if err != nil {
		return nil, err
	}
	list := make([]float32, channels)
	for i, v := range values {
		if v.IsFinite() {
			k := w.channelOf(i)
			list[k] = max(list[k], float32(math.Abs(float64(v.Float32()))))
		}
	}
	return list, nil
}

// inMemory and madeUp are weights before they are compressed: those of a file that are in memory, and the
// number of pseudo-random ones for a layer that has none.
type (
	inMemory []float16.Float16
	madeUp   int
)

func (w inMemory) Len() int                         { return len(w) }
func (w inMemory) Read() ([]float16.Float16, error) { return slices.Clone(w), nil }
func (n madeUp) Len() int                           { return int(n) }
func (n madeUp) Read() ([]float16.Float16, error)   { return weights.Random(int(n), 1, "weights"), nil }
func (w *compressed) Len() int                      { return w.of.Len() }

// A compressed is the weights of a layer, rounded to few values whenever they are read.
type compressed struct {
	of      layer.StoredWeights
	levels  int
	channel func(i int) int   // nil if all weights share a scale
	largest []float32         // magnitude of each channel
	scale   []float16.Float16 // of each channel; nil for a palette
}

func (w *compressed) channelOf(i int) int {
	if w.channel == nil {
		return 0
	}
	return w.channel(i)
}

// Read returns the weights, rounded to bytes times the scale of their channel, or to the entries of a
// palette, which are equally far from each other. There is no 0 among these: masks and bytes have one, and
// palettes of a trained network may.
func (w *compressed) Read() ([]float16.Float16, error) {
	values, err := w.of.Read()
	if err != nil {
		return nil, err
	}
	if w.scale != nil {
		for i, v := range values {
			s := w.scale[w.channelOf(i)].Float32()
			q := float32(0)
			if v.IsFinite() && s > 0 {
				q = float32(max(-127, min(127, math.RoundToEven(float64(v.Float32())/float64(s)))))
			}
			values[i] = 0 // not the -0 of a small negative weight, which bytes do not have
			if q != 0 {
				values[i] = float16.Fromfloat32(float32(s * q))
			}
		}
		return values, nil
	}
	most := float64(slices.Max(w.largest))
	entries := make([]float16.Float16, w.levels)
	step := 2 * most / float64(w.levels-1)
	for k := range entries {
		entries[k] = float16.Fromfloat32(float32(float64(float64(k)*step) - most))
	}
	for i, v := range values {
		k := 0
		if v.IsFinite() && step > 0 {
			k = int(max(0, min(float64(w.levels-1), math.RoundToEven((float64(v.Float32())+most)/step))))
		}
		values[i] = entries[k]
	}
	return values, nil
}

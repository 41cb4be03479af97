package neural

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/x448/float16"
	"google.golang.org/protobuf/encoding/protowire"

	"anesim/internal/network/graph"
	"anesim/internal/network/wire"
)

// A weightForm says how a file stores the values of weights, by the number of the field in
// WeightParams that holds them.
type weightForm protowire.Number

const (
	floats    weightForm = 1
	halves    weightForm = 2
	quantized weightForm = 30
	dynamic   weightForm = 31 // 8-bit weights for products with activations that are quantized in each call
)

// weights holds the encoded values of a constant. They share memory with the file, and are decoded each
// time that they are read. They implement [graph.Source].
type weights struct {
	n     int // elements
	form  weightForm
	data  []byte
	bits  int       // of a quantized value
	scale []float32 // of a quantized value: one, or one for each of len(scale) equal parts
	bias  []float32 // added after scaling, as many as scale
	table []float32 // instead of scale: the value of each code
}

// External reports whether the file lacks the values, as files do whose weights were removed.
func (w *weights) External() bool { return w.form == 0 }

// Each calls set for every value in order.
func (w *weights) Each(set func(i int, v float64)) error {
	le := binary.LittleEndian
	switch w.form {
	case floats:
		for i := range w.n {
			set(i, float64(math.Float32frombits(le.Uint32(w.data[4*i:]))))
		}
	case halves:
		for i := range w.n {
			set(i, float64(float16.Frombits(le.Uint16(w.data[2*i:])).Float32()))
		}
	case quantized:
		part := max(1, w.n/max(1, len(w.scale)))
		for i := range w.n {
			q := w.code(i)
			if w.table != nil {
				set(i, float64(w.table[q]))
				continue
			}
			set(i, float64(float32(w.scale[i/part]*float32(q))+w.bias[i/part]))
		}
	default:
		return errors.New("the file has no values for these weights")
	}
	return nil
}

// code returns quantized value i. Values follow each other without gaps, and each begins with its most
// significant bit.
func (w *weights) code(i int) int {
	q := 0
	for at := i * w.bits; at < (i+1)*w.bits; at++ {
		q = q<<1 | int(w.data[at/8]>>(7-at%8))&1
	}
	return q
}

// Numbers returns all values.
func (w *weights) Numbers() ([]float64, error) {
	v := make([]float64, w.n)
	err := w.Each(func(i int, x float64) { v[i] = x })
	return v, err
}

// Halves returns all values rounded to fp16.
func (w *weights) Halves() ([]float16.Float16, error) {
	v := make([]float16.Float16, w.n)
	if w.form == floats { // most weights; without float64
		for i := range v {
			v[i] = graph.RoundToHalf(binary.LittleEndian.Uint32(w.data[4*i : 4*i+4]))
		}
		return v, nil
	}
	err := w.Each(func(i int, x float64) { v[i] = float16.Fromfloat32(float32(x)) })
	return v, err
}

// readWeights reads a message WeightParams as a constant of shape dims. parts is the number of parts
// that may have scales of their own. An error of the type *[wire.FormatError] is a malformed message.
func readWeights(body wire.Message, dims []int, parts int) (*graph.Const, error) {
	if err := graph.CheckExtents(dims); err != nil {
		return nil, err
	}
	w := &weights{n: graph.Elements(dims)}
	var quantization *wire.Message
	err := body.Fields(func(f wire.Field) error {
		switch form := weightForm(f.Num); {
		case form == floats:
			if w.form != 0 && w.form != floats {
				return &wire.FormatError{Off: int64(f.Off), What: "weights are stored in two forms; want one"}
			}
			if w.form = form; w.data == nil && f.Wire == protowire.BytesType && len(f.Body.Data)%4 == 0 {
				w.data = f.Body.Data[:len(f.Body.Data):len(f.Body.Data)] // shared with the file
				return nil
			}
			return f.Fixed(4, &w.data)
		case form == halves, form == quantized, form == dynamic:
			if err := f.Want(protowire.BytesType); err != nil || len(f.Body.Data) == 0 {
				return err
			}
			if w.form != 0 {
				return &wire.FormatError{Off: int64(f.Off), What: "weights are stored in two forms; want one"}
			}
			w.form, w.data = form, f.Body.Data
		case f.Num == 40:
			quantization = &f.Body
			return f.Want(protowire.BytesType)
		}
		return nil // field 50, isUpdatable, is for training on the device
	})
	if err != nil {
		return nil, err
	}
	if len(w.data) == 0 { // also of an empty list of floats
		w.form = 0
	}
	c := &graph.Const{Dims: dims, Type: graph.Float, Source: w}
	size := 0
	switch w.form {
	case 0:
		return c, nil
	case floats:
		size = 4 * w.n
	case halves:
		size = 2 * w.n
	case quantized:
		if err := w.readQuantization(quantization, parts); err != nil {
			return nil, err
		}
		if size = (w.n*w.bits + 7) / 8; w.table != nil {
			c.Packing = &graph.Packing{Form: graph.Palette}
		} else if w.bits == 8 {
			c.Packing = &graph.Packing{Form: graph.Bytes}
			for _, s := range w.scale {
				c.Packing.Scale = append(c.Packing.Scale, float16.Fromfloat32(s))
			}
		}
	case dynamic:
		return nil, errors.New("products of quantized activations (int8DynamicQuantize) are not supported")
	}
	if len(w.data) != size {
		return nil, &wire.FormatError{Off: int64(body.Off), What: fmt.Sprintf("weights have %d bytes; want %d for shape %v", len(w.data), size, dims)}
	}
	return c, nil
}

// readQuantization reads how quantized values are to be turned into numbers. parts is the number of
// parts that may have scales of their own.
func (w *weights) readQuantization(body *wire.Message, parts int) error {
	if body == nil {
		return errors.New("quantized weights have no quantization parameters")
	}
	var f failure
	m := newMessage(*body, &f)
	w.bits = m.integer(1, 0)
	floats := func(in *message, num protowire.Number) []float32 {
		var raw []byte
		in.each(num, func(f wire.Field) error { return f.Fixed(4, &raw) })
		list := make([]float32, len(raw)/4)
		for i := range list {
			list[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
		return list
	}
	linear, table := m.part(101), m.part(102)
	w.scale, w.bias = floats(linear, 1), floats(linear, 2)
	if table != nil {
		w.table = floats(table, 1)
	}
	malformed := func(format string, v ...any) error {
		return &wire.FormatError{Off: int64(body.Off), What: fmt.Sprintf(format, v...)}
	}
	switch {
	case f.err != nil:
		return f.err
	case w.bits < 1 || w.bits > 8:
		return malformed("quantized weights have %d bits; want 1 to 8", w.bits)
	case (linear == nil) == (table == nil):
		return malformed("quantized weights need either scales or a table")
	// Every index must select a value, so that looking up cannot fail later.
	case table != nil && len(w.table) != 1<<w.bits:
		return malformed("table has %d values for %d bits; want %d", len(w.table), w.bits, 1<<w.bits)
	case table != nil:
		return nil
	case len(w.scale) != 1 && (len(w.scale) == 0 || len(w.scale) != parts || w.n%parts != 0):
		return malformed("quantized weights have %d scales; want 1 or one for each of %d output channels", len(w.scale), parts)
	}
	switch len(w.bias) {
	case len(w.scale):
	case 0: // no offsets
		w.bias = make([]float32, len(w.scale))
	case 1:
		b := w.bias[0]
		w.bias = make([]float32, len(w.scale))
		for i := range w.bias {
			w.bias[i] = b
		}
	default:
		return malformed("quantized weights have %d biases for %d scales", len(w.bias), len(w.scale))
	}
	return nil
}

// floatList returns the list of floats in the given field as a constant of shape dims.
func (x *layer) floatList(m *message, num protowire.Number, dims ...int) *graph.Value {
	w := &weights{n: graph.Elements(dims), form: floats}
	m.each(num, func(f wire.Field) error {
		if w.data == nil && f.Wire == protowire.BytesType && len(f.Body.Data)%4 == 0 {
			w.data = f.Body.Data[:len(f.Body.Data):len(f.Body.Data)] // shared with the file
			return nil
		}
		return f.Fixed(4, &w.data)
	})
	if len(w.data) != 4*w.n {
		x.refusef("list has %d bytes; want %d for shape %v", len(w.data), 4*w.n, dims)
	}
	return x.constant(&graph.Const{Dims: dims, Type: graph.Float, Source: w})
}

// countWeights returns the number of values that the weights in the given field have, if the file
// stores them as numbers, or 0.
func countWeights(m *message, num protowire.Number) int {
	n := 0
	m.each(num, func(f wire.Field) error {
		return f.Body.Fields(func(f wire.Field) error {
			switch {
			case f.Num == protowire.Number(floats) && f.Wire == protowire.Fixed32Type:
				n++
			case f.Num == protowire.Number(floats):
				n += len(f.Body.Data) / 4
			case f.Num == protowire.Number(halves):
				n += len(f.Body.Data) / 2
			}
			return nil
		})
	})
	return n
}

package layer

import (
	"fmt"

	"github.com/x448/float16"
)

// A Form is an encoding of a layer's weights in a file. The engine has a similar encoding of the
// same name. The compiled program uses it if it reproduces the fp16 values exactly in fewer bytes.
// Otherwise the program may use another encoding, or dense fp16.
type Form uint8

// The forms of weights. The vendor's programs at hand contain dense fp16 only, so the layout of
// codebooks, scales and masks in the other forms is assumed (see internal/datapath/tiles).
const (
	FormFP16    Form = iota
	FormPalette      // indices of 4 or 8 bits, with one codebook per lane
	FormSparse       // a mask and the nonzero values; saves both bytes and compute
	FormInt8         // signed bytes times one scale per channel, Weights.Scale
)

// String returns the name of the form, such as "palette", or Form(number) for an unknown form.
func (f Form) String() string {
	switch f {
	case FormFP16:
		return "fp16"
	case FormPalette:
		return "palette"
	case FormSparse:
		return "sparse"
	case FormInt8:
		return "int8"
	}
	return fmt.Sprintf("Form(%d)", uint8(f))
}

// Weights holds the constant values of a layer. Missing values count as zeros.
type Weights struct {
	// Filter holds the weights: of a convolution in [Cout][Cin/Groups][Kh][Kw] order, of a matmul
	// in [K][N] order, of Linear in [N][K] order. nil means zeros.
	Filter []float16.Float16
	// Source generates the weights while they are packed, if Filter is nil. The weights of a
	// large layer are then stored only once, in the program's constants.
	Source Source
	// Stored is where the weights of a product are, if Filter is nil: in the file of the network,
	// from which Load reads them. A program that is only timed does not need them.
	Stored StoredWeights
	Bias   []float16.Float16 // [Cout], or [C] of Mul; nil means zeros
	// Form is the form of the weights of a convolution or of a matmul with constants. It is used
	// if it reproduces the weights bit for bit in fewer bytes. Scale holds the scales of weights
	// in int8: one for all output channels, or one for each.
	Form  Form
	Scale []float16.Float16
	// Dense keeps zero weights of a convolution with a stride, which the compiler would skip. The
	// model computes values from dense weights only.
	Dense bool
	// SizesOnly computes the sizes of packed weights without packing them, for a program that is
	// only timed. Filter may then be nil, and is assumed to have no zeros. The lowered program
	// has the same descriptors and sizes as with such weights, but no constants.
	SizesOnly bool
	// Zero marks the taps of the window, row by row, that are zero in all channels, if Filter is nil
	// and SizesOnly is set. Taps beyond its end are not zero.
	Zero []bool
	// Second is the constant operand of an elementwise operation.
	Second []float16.Float16
	Table  []byte // activation table, 128 bytes; the table of 2^x for softmax
	// Tables holds the second and later tables of an operation, see [Op.TableCount].
	Tables [][]byte
	// Reciprocal is the table of 1/x for softmax.
	Reciprocal []byte
	// Inner is the table of the operation itself if Table belongs to the activation after it, see
	// [Layer.UsesOpTable].
	Inner []byte
}

// ChannelScale returns the factor by which the int8 weights of output channel n are multiplied. A
// single scale applies to all channels. ok is false if there is no scale for the channel.
func (w *Weights) ChannelScale(n int) (scale float16.Float16, ok bool) {
	switch {
	case len(w.Scale) == 1:
		return w.Scale[0], true
	case n < len(w.Scale):
		return w.Scale[n], true
	}
	return 0, false
}

// A Source generates the weights of a layer, in the order of Weights.Filter.
type Source interface {
	// Len returns the number of weights.
	Len() int
	// Values fills dst with consecutive weights, starting with weight number first. It is fast
	// if it continues where the previous call ended.
	Values(dst []float16.Float16, first int)
}

// A StoredWeights is a matrix of weights in a file.
type StoredWeights interface {
	Len() int                         // returns the number of weights
	Read() ([]float16.Float16, error) // returns new memory with them, in the order of Weights.Filter
}

// FilterLen returns the number of weights that a file has for the layer, in memory or not.
func (w *Weights) FilterLen() int {
	if w.Filter == nil && w.Stored != nil {
		return w.Stored.Len()
	}
	return len(w.Filter)
}

// Load sets Filter to the weights that Stored reads, if it is set and Filter is not. It returns the
// error from reading them.
func (w *Weights) Load() error {
	if w.Filter != nil || w.Stored == nil {
		return nil
	}
	v, err := w.Stored.Read()
	if err != nil {
		return err
	}
	w.Filter, w.Stored = v, nil
	return nil
}

// Weight returns element i of the layer's weights, or 0 if there are no weights. If a Source
// generates them, the first call stores all of them in w, so concurrent calls are not safe.
func (w *Weights) Weight(i int) float16.Float16 {
	if len(w.Filter) == 0 && w.Source != nil {
		w.Filter = make([]float16.Float16, w.Source.Len())
		w.Source.Values(w.Filter, 0)
	}
	return ValueAt(w.Filter, i)
}

// ReadRun returns n consecutive weights, starting with element first. It returns nil if w has no
// weights. The result may share memory with w or with buf, which must have room for n values.
func (w *Weights) ReadRun(buf []float16.Float16, first, n int) []float16.Float16 {
	switch {
	case len(w.Filter) > 0:
		return w.Filter[first : first+n]
	case w.Filter != nil || w.Source == nil:
		return nil
	}
	w.Source.Values(buf[:n], first)
	return buf[:n]
}

// Terms returns the weights of matmul l for n of the terms of its sums, beginning with term first.
func (w *Weights) Terms(l *Layer, first, n int) *Weights {
	part := *w
	k := l.In.W
	switch {
	case w.Filter == nil && w.Source != nil:
		part.Source = terms{w.Source, k, first, n}
		if l.Op == MatMul {
			part.Source = terms{w.Source, k * l.Columns, first * l.Columns, n * l.Columns}
		}
	case w.Filter == nil:
	case l.Op == MatMul:
		part.Filter = w.Filter[first*l.Columns:][:n*l.Columns]
	default:
		part.Filter = make([]float16.Float16, 0, n*l.Columns)
		for c := range l.Columns {
			part.Filter = append(part.Filter, w.Filter[c*k+first:][:n]...)
		}
	}
	return &part
}

// A terms is the source of n weights of each run of k weights of another source, beginning with the
// one at index first.
type terms struct {
	of          Source
	k, first, n int
}

func (t terms) Len() int { return t.of.Len() / t.k * t.n }

func (t terms) Values(dst []float16.Float16, at int) {
	for len(dst) > 0 {
		run, skip := at/t.n, at%t.n
		m := min(len(dst), t.n-skip)
		t.of.Values(dst[:m], run*t.k+t.first+skip)
		dst, at = dst[m:], at+m
	}
}

// ValueAt returns values[i], or 0 if values is empty.
func ValueAt(values []float16.Float16, i int) float16.Float16 {
	if len(values) == 0 {
		return 0
	}
	return values[i]
}

// Scale returns a new slice in which element i is values[i]*factor(i), rounded to fp16. If values
// is nil, it returns nil and true. ok is false if a normal value times a nonzero factor is not a
// normal fp16 number, which has a magnitude from 2^-14 to 65504. The engine reads smaller weights
// as 0.
func Scale(values []float16.Float16, factor func(i int) float32) (scaled []float16.Float16, ok bool) {
	if values == nil {
		return nil, true
	}
	out := make([]float16.Float16, len(values))
	for i, v := range values {
		f := factor(i)
		out[i] = float16.Fromfloat32(v.Float32() * f)
		if v.IsNormal() && f != 0 && !out[i].IsNormal() {
			return nil, false
		}
	}
	return out, true
}

package layer

import (
	"fmt"

	"github.com/x448/float16"
)

// A Form is how a file holds the weights of a layer, and so which of the engine's forms of
// coefficients they take first. A form is used where it gives the very same fp16 values in
// fewer bytes; a share of the channels where none does stays dense.
type Form uint8

// The forms. Where a lane's planes keep the codebook, the scales and the mask is assumed: no
// program shows it (see hw/tiles). Dense fp16 is that of the vendor's programs.
const (
	FormFP16    Form = iota
	FormPalette      // indices of 4 or 8 bits, a codebook a lane
	FormSparse       // a mask and the values that are not zero, in bytes and in compute
	FormInt8         // signed bytes times a scale a channel, Weights.Scale
)

// String names the form.
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

// Weights are the values a program carries.
type Weights struct {
	// Filter is a convolution's weights in [Cout][Cin/Groups][Kh][Kw] order, a matrix
	// product's right side in [K][N] order, or, of Linear, in [N][K] order. nil is zeros.
	Filter []float16.Float16
	// Source makes the values of Filter as they are packed, where Filter is nil: the filter
	// of a large layer is then nowhere in memory but in the program's constants.
	Source Source
	Bias   []float16.Float16 // [Cout], of Mul [C]; nil is zeros
	// Form is what the coefficients of a convolution or a product with constants take where
	// it holds the values of Filter bit for bit and takes fewer bytes. Scale is that of the
	// filter in int8: of all output channels, or one of each.
	Form  Form
	Scale []float16.Float16
	// Dense keeps zeros in the coefficients of a convolution with a stride, where the
	// compiler skips them. The model computes values from dense ones only.
	Dense bool
	// SizesOnly lays coefficients out and does not make them, for a program that is only
	// timed: Filter may then be nil and is taken to have no zero. What is lowered has the
	// descriptors and sizes of the program with such a filter, and no constants.
	SizesOnly bool
	// Second is the constant operand of an elementwise operation.
	Second []float16.Float16
	Table  []byte // activation table, 128 bytes; of softmax, the one of 2^x
	// Tables are the further tables of an operation that takes several, see [Op.Tables].
	Tables [][]byte
	// Reciprocal is softmax's table of 1/x.
	Reciprocal []byte
	// Inner is the table of the operation itself where Table is that of the activation behind
	// it, see [Layer.ByTable].
	Inner []byte
}

// ChannelScale is the scale of output channel n of a layer's weights in int8: there is one for all
// channels, or one each.
func (w *Weights) ChannelScale(n int) (float16.Float16, bool) {
	switch {
	case len(w.Scale) == 1:
		return w.Scale[0], true
	case n < len(w.Scale):
		return w.Scale[n], true
	}
	return 0, false
}

// A Source makes the values of a filter, in its order.
type Source interface {
	// Len is how many there are.
	Len() int
	// Values writes those from first on. It is cheap where first is the value behind the
	// last one written.
	Values(dst []float16.Float16, first int)
}

// Weight is element i of the filter, zero without one. Where it is made as it is packed, all
// of it is made at the first call.
func (w *Weights) Weight(i int) float16.Float16 {
	if len(w.Filter) == 0 && w.Source != nil {
		w.Filter = make([]float16.Float16, w.Source.Len())
		w.Source.Values(w.Filter, 0)
	}
	return ValueAt(w.Filter, i)
}

// Run is n elements of the filter from first on, which may stand in buf; nil without a
// filter.
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

// ValueAt is element i of values, zero where there are none.
func ValueAt(values []float16.Float16, i int) float16.Float16 {
	if len(values) == 0 {
		return 0
	}
	return values[i]
}

// Scaled returns the values, each times its factor, and nil for absent values. It returns false
// if a product loses its precision: the engine reads weights below 2^-14 as 0, and fp16 has no
// number above 65504.
func Scale(values []float16.Float16, factor func(i int) float32) ([]float16.Float16, bool) {
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

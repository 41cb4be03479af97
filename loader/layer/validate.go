package layer

import (
	"cmp"
	"strings"
)

// Validate returns a [*LayerError] if the fields of the layer contradict each other, and a
// [*LimitError] if the layer exceeds a limit of the engine. Otherwise, it returns nil.
func (l *Layer) Validate() error {
	if _, ok := opNames[l.Op]; !ok {
		return l.Errorf("unknown operation %d", uint8(l.Op))
	}
	if min(l.In.N, l.In.C, l.In.H, l.In.W) < 1 {
		return l.Errorf("input %v has an empty axis; want at least one element along every axis", l.In)
	}
	var err error
	switch l.Op {
	case Convolution, Pool, Deconvolution:
		err = l.validateWindow()
	case MatMul, Linear:
		if l.Columns < 1 {
			err = l.Errorf("found %d columns; want at least 1", l.Columns)
		}
	case Add, Sub, Mul, Max, Min, RealDiv, Average, Pow:
		err = l.validateSecondOperand()
	case ReduceSum, ReduceMean, ReduceMax, ReduceMin, Softmax, LayerNorm:
		if l.Axes == 0 || l.Axes > AxisC|AxisH|AxisW {
			err = l.Errorf("invalid axes %#x; want a nonempty set of C, H and W", uint8(l.Axes))
		}
	case Tile:
		if r := l.Reps; min(r.N, r.C, r.H, r.W) < 1 {
			err = l.Errorf("invalid repetitions %v; want at least 1 along every axis", r)
		}
	case Transpose:
		if o := l.Permutation(); o[0]|o[1]|o[2] != AxisC|AxisH|AxisW && o != SwapBatch {
			err = l.Errorf("invalid axis order %v; want each of C, H and W once", o)
		}
	case Clip:
		// Negated, so that a bound that is NaN is refused too.
		if !(l.Low <= l.High) {
			err = l.Errorf("lower bound %v must be at most the upper bound, %v", l.Low, l.High)
		}
	case Concat:
		err = l.validateConcatParts()
	case Slice:
		err = l.validateSlice()
	case Pad:
		err = l.validatePad()
	}
	if err != nil {
		return err
	}
	if l.Op == RealDiv && l.Second == Itself && l.SecondReLU {
		return l.Errorf("cannot divide an input by its own ReLU")
	}
	if a := l.Activation; a != 0 && (!a.IsActivation() || a.TableCount() > 1 || !l.Op.acceptsActivation()) {
		return l.Errorf("activation %v cannot be part of this layer; make it a layer of its own", a)
	}
	if l.Factor != 0 && l.Op > Linear {
		return l.Errorf("found a factor; only convolutions and matmuls can have one")
	}
	if l.Factor != 0 && !l.Factor.IsNormal() {
		return l.Errorf("factor %v is not a normal fp16 value", l.Factor.Float32())
	}
	// Only now, because Out divides by the strides, which are checked above.
	for _, s := range [...]Shape{l.In, l.Out()} {
		if err := s.ValidateSize(); err != nil {
			return err
		}
	}
	// Several tasks can share the rows of such a layer, so its extents may exceed those of a task.
	if l.canDivideRows() {
		return nil
	}
	return l.ValidateExtents()
}

// ValidateExtents returns a [*LimitError] if the input or the result has more rows or columns than
// one task can have. A layer may be valid nevertheless, because several tasks compute it. A slice may
// be part of a larger tensor.
func (l *Layer) ValidateExtents() error {
	in := l.In
	if l.Op == Slice {
		in = l.Size
	}
	for _, s := range [...]Shape{in, l.Out()} {
		if err := cmp.Or(CheckLimit("height", s.H, MaxExtent, split), CheckLimit("width", s.W, MaxExtent, split)); err != nil {
			return err
		}
	}
	return nil
}

// FoldedRows returns into how many rows each row of a softmax or a layer norm over rows is divided if
// it has more than [MaxExtent] columns, the fewest within the engine's limits. Each of them begins at
// a multiple of 64 bytes in memory. FoldedRows returns 1 if the columns are not too many or if there
// is no such number.
func (l *Layer) FoldedRows() int {
	const unit = 64 / ElementBytes
	if l.In.W <= MaxExtent || l.Axes&AxisW == 0 || l.Axes == AxisC|AxisW {
		return 1
	}
	channels, height := l.In.C, l.In.H
	if l.Axes == AxisW { // each row is a channel
		channels, height = channels*height, 1
	}
	for rows := 2; channels <= MaxChannels && rows*height <= MaxExtent && rows*unit <= l.In.W; rows++ {
		if l.In.W%(rows*unit) == 0 && l.In.W/rows <= MaxExtent {
			return rows
		}
	}
	return 1
}

// canDivideRows reports whether several tasks can compute the layer if it has too many rows or
// columns for one.
func (l *Layer) canDivideRows() bool {
	switch l.Op {
	case Convolution:
		return l.Window == Valid(1, 1)
	case MatMul, Linear:
		return l.HasConstantProduct()
	case ReduceSum, ReduceMean, ReduceMax, ReduceMin, Softmax, LayerNorm:
		return true
	case LogicalNot:
		return false
	}
	return l.Op.IsActivation() || l.Op.IsBinary()
}

const split = "split it into parts of at most %d and run them one after the other"

// ValidateSize returns a [*LimitError] if the batch, the channels or the size in bytes of a tensor of
// shape s are larger than the engine's registers allow. Otherwise, it returns nil.
func (s Shape) ValidateSize() error {
	if err := cmp.Or(
		CheckLimit("batch", s.N, MaxGroups, split),
		CheckLimit("channels", s.C, MaxChannels, split),
		CheckLimit("height", s.H, MaxSurface, split),
		CheckLimit("width", s.W, MaxSurface, split),
	); err != nil {
		return err
	}
	rows := s.H * s.C * s.N // less than 2^60
	if err := CheckLimit("rows of a tensor", rows, MaxSurface/rowUnit, split); err != nil {
		return err
	}
	return CheckLimit("bytes of a tensor", max(rowUnit, RoundUp(s.W*ElementBytes, rowUnit))*rows, MaxSurface, split)
}

func (l *Layer) validateWindow() error {
	w := &l.Window
	rows, columns := "use at most %d rows of taps", "use at most %d columns of taps"
	if l.Op == Convolution && l.Dilation > 1 {
		// The readers of these files write such layers themselves, for the pyramids of dilations of segmenters.
		rows = "keep taps within %d rows, or slice the padded input for each tap and convolve the concat with k=1, which files in ONNX and Core ML become"
		columns = strings.Replace(rows, "rows", "columns", 1)
	}
	// The fields of registers come first. They bound the sums and products of the cases below.
	if err := cmp.Or(
		CheckLimit("kernel height", w.Kh, MaxKernel, rows),
		CheckLimit("kernel width", w.Kw, MaxKernel, columns),
		CheckLimit("vertical stride", w.Sy, MaxExtent, "stride by at most %d"),
		CheckLimit("horizontal stride", w.Sx, MaxExtent, "stride by at most %d"),
		CheckLimit("padding above", w.Py, MaxPad, "pad by at most %d"),
		CheckLimit("padding on the left", w.Px, MaxPad, "pad by at most %d"),
	); err != nil {
		return err
	}
	groups := max(1, l.Groups)
	switch {
	case min(w.Kh, w.Kw, w.Sy, w.Sx) < 1 || min(w.Py, w.Px, w.Qy, w.Qx) < 0:
		return l.Errorf("invalid window %+v; want positive extents and strides, and padding of 0 or more", *w)
	case l.Dilation < 0:
		return l.Errorf("dilation is %d; want 0 or more", l.Dilation)
	case l.Dilation > 1 && ((w.Kh-1)%l.RowDilation() != 0 || (w.Kw-1)%l.Dilation != 0):
		return l.Errorf("dilation %d does not divide %d and %d, the extents of the window minus 1", l.Dilation, w.Kh-1, w.Kw-1)
	case l.Op == Deconvolution && (l.Groups > 1 || l.Dilation > 1):
		return l.Errorf("found %d groups and dilation %d; want one group and no dilation", l.Groups, l.Dilation)
	case l.Op != Pool && l.Cout < 1:
		return l.Errorf("found %d output channels; want at least 1", l.Cout)
	case l.Op != Pool && l.Groups < 0:
		return l.Errorf("found %d groups; want 0 or more", l.Groups)
	case l.Op != Pool && (l.In.C%groups != 0 || l.Cout%groups != 0):
		return l.Errorf("%d groups do not divide the %d input and %d output channels", groups, l.In.C, l.Cout)
	// A transposed convolution crops with its padding, so the window need not fit into the input.
	case l.Op == Deconvolution:
		if max(w.Py, w.Qy) >= w.Kh || max(w.Px, w.Qx) >= w.Kw {
			return l.Errorf("padding of %d rows and %d columns is too large for the %dx%d window; want less than the window", max(w.Py, w.Qy), max(w.Px, w.Qx), w.Kh, w.Kw)
		}
		if o := l.Out(); min(o.H, o.W) < 1 {
			return l.Errorf("output has %d rows and %d columns; want at least 1 of each", o.H, o.W)
		}
		return nil
	case l.In.H+w.Py+w.Qy < w.Kh || l.In.W+w.Px+w.Qx < w.Kw:
		return l.Errorf("window of %dx%d taps is larger than the padded input of %dx%d", w.Kh, w.Kw, l.In.H+w.Py+w.Qy, l.In.W+w.Px+w.Qx)
	case l.Op == Pool && (max(w.Py, w.Qy) >= w.Kh || max(w.Px, w.Qx) >= w.Kw):
		return l.Errorf("padding of %d rows and %d columns is too large for the %dx%d window; want less than the window", max(w.Py, w.Qy), max(w.Px, w.Qx), w.Kh, w.Kw)
	// Padding as large as the window is lowered as additional taps of zero weight, and the window with
	// these taps must be legal.
	case l.Op == Convolution && max(w.Kh, w.Kw, w.Py+1, w.Px+1, w.Qy+1, w.Qx+1) > MaxKernel:
		return CheckLimit("window extent needed for the padding", max(w.Py, w.Px, w.Qy, w.Qx)+1, MaxKernel, "pad by less than %d")
	}
	return nil
}

// validateSecondOperand checks the second operand of an elementwise layer. Each axis of a runtime
// operand must have the extent of the first operand, or extent 1.
func (l *Layer) validateSecondOperand() error {
	if l.Second > Itself {
		return l.Errorf("unknown kind %d of second operand; want %d to %d", l.Second, Runtime, Itself)
	}
	if l.Bias && (l.Op != Mul || l.Second != Constant) {
		return l.Errorf("found a bias; only a convolution, a matmul and a mul with one constant per channel can have one")
	}
	if l.Op == Pow && l.Second != Runtime && l.Second != Scalar {
		return l.Errorf("exponent is neither an input nor a number; want one of both")
	}
	if l.Second == Constant {
		return CheckLimit("channels with one constant each", l.In.C, MaxExtent, "split the channels into parts of at most %d")
	}
	if l.Second != Runtime {
		return nil
	}
	s, in := l.SecondShape, l.In
	for _, a := range [...][2]int{{s.N, in.N}, {s.C, in.C}, {s.H, in.H}, {s.W, in.W}} {
		if a[0] != a[1] && a[0] != 1 {
			return l.Errorf("cannot broadcast second input of shape %v to shape %v", s, in)
		}
	}
	return nil
}

func (l *Layer) validateConcatParts() error {
	sum := 0
	for _, c := range l.Parts {
		if c < 1 {
			return l.Errorf("input has %d channels; want at least 1", c)
		}
		sum += c
	}
	if sum != l.In.C {
		return l.Errorf("inputs have %v channels, %d in total; want a total of %d", l.Parts, sum, l.In.C)
	}
	const most = 27 // buffers 4 and 6 to 31; buffer 5 is the result
	return CheckLimit("inputs", len(l.Parts), most, "join at most %d at a time")
}

func (l *Layer) validateSlice() error {
	b, s, in := l.Begin, l.Size, l.In
	for _, a := range [...][3]int{{b.N, s.N, in.N}, {b.C, s.C, in.C}, {b.H, s.H, in.H}, {b.W, s.W, in.W}} {
		if a[0] < 0 || a[1] < 1 || a[0]+a[1] > a[2] {
			return l.Errorf("slice of shape %v at %v is empty or not inside the input of shape %v", s, b, in)
		}
	}
	if l.Skew < 0 || l.Skew > b.W/max(1, s.H-1) {
		return l.Errorf("skew is %d; want 0 to %d, so that the last of %d rows begins inside the input", l.Skew, b.W/max(1, s.H-1), s.H)
	}
	return nil
}

// Validate returns a [*LayerError] if the number of weights, biases or constants in w is not the
// number that layer l needs. Missing values are accepted, because they count as zeros.
func (w *Weights) Validate(l *Layer) error {
	filter, bias, second := 0, 0, 0
	switch l.Op {
	case Convolution, Deconvolution:
		// Each output channel has weights for the input channels of its group alone. The zeros between
		// dilated taps are not stored.
		filter, bias = l.Cout*(l.In.C/max(1, l.Groups))*l.Taps(), l.Cout
	case MatMul, Linear:
		filter, bias = l.In.W*l.Columns, l.Columns
	case PReLU:
		second = l.In.C
	case Add, Sub, Mul, Max, Min, RealDiv, Average, Pow:
		switch l.Second {
		case Scalar:
			second = 1
		case Constant:
			second = l.In.C
		}
		if l.Op == Mul && l.Second == Constant && l.Bias {
			bias = l.In.C
		}
	}
	// A source makes its values while they are packed, so only its length is known here.
	given := w.FilterLen()
	if given == 0 && w.Source != nil {
		given = w.Source.Len()
	}
	for _, v := range [...]struct {
		name      string
		got, want int
	}{{"weights", given, filter}, {"biases", len(w.Bias), bias}, {"constants", len(w.Second), second}} {
		if v.got != 0 && v.got != v.want {
			return l.Errorf("found %d %s; want %d", v.got, v.name, v.want)
		}
	}
	return nil
}

// validatePad checks the fields of a Pad layer. Reflected padding must be smaller than the tensor.
func (l *Layer) validatePad() error {
	w := &l.Window
	if min(w.Py, w.Qy, w.Px, w.Qx) < 0 {
		return l.Errorf("padding is %d and %d rows, %d and %d columns; want 0 or more of each", w.Py, w.Qy, w.Px, w.Qx)
	}
	if l.Fill > FillReflect {
		return l.Errorf("unknown fill %d; want 0 to %d", l.Fill, FillReflect)
	}
	if l.Fill != FillReflect {
		return nil
	}
	return cmp.Or(
		CheckLimit("rows of reflected padding", max(w.Py, w.Qy), l.In.H-1, "pad by at most %d rows"),
		CheckLimit("columns of reflected padding", max(w.Px, w.Qx), l.In.W-1, "pad by at most %d columns"),
	)
}

package neural

import (
	"google.golang.org/protobuf/encoding/protowire"

	"anesim/internal/network/graph"
)

func newInts(v ...int) *graph.Attr   { return graph.ListOf(v...) }
func newInt(v int) *graph.Attr       { return &graph.Attr{Int: int64(v)} }
func newFloat(v float32) *graph.Attr { return &graph.Attr{Float: v} }
func newText(v string) *graph.Attr   { return &graph.Attr{Text: v} }
func newFlag(v bool) *graph.Attr     { return newInt(int(graph.Truth(v))) }

// pairOf returns two numbers, for height and width, in the given field, or fallback for both. It refuses numbers
// that no tensor could need.
func (x *layer) pairOf(num protowire.Number, fallback, least int) []int {
	list := x.integers(num)
	if len(list) == 0 {
		return []int{fallback, fallback}
	}
	if len(list) != 2 {
		x.refusef("parameter %d has %d numbers; want 2, for height and width", num, len(list))
		return []int{fallback, fallback}
	}
	for _, v := range list {
		if v < least || v > graph.MaxExtent {
			x.refusef("parameter %d is %v; want numbers from %d to %d", num, list, least, graph.MaxExtent)
			return []int{fallback, fallback}
		}
	}
	return list
}

// borders returns the amounts in a message BorderAmounts as top, left, bottom and right. A nil message
// has none.
func (x *layer) borders(m *message) []int {
	b := make([]int, 4)
	edges := m.parts(10)
	if len(edges) != 0 && len(edges) != 2 {
		x.refusef("amounts for %d axes; want 2, height and width", len(edges))
		return b
	}
	for i, e := range edges {
		b[i], b[2+i] = e.integer(1, 0), e.integer(2, 0)
	}
	for _, v := range b {
		if v < 0 || v > graph.MaxExtent {
			x.refusef("amount %d at a border; want 0 to %d", v, graph.MaxExtent)
			return make([]int, 4)
		}
	}
	return b
}

// setPadding returns the attribute for the padding of a window: an explicit amount in the message valid, or
// as much as keeps the extents (divided by the strides) in the message same.
func (x *layer) setPadding(valid, same *message, have attrs) {
	switch {
	case (valid == nil) == (same == nil):
		x.refusef("want one kind of padding, valid or same")
	case valid != nil:
		have["pads"] = newInts(x.borders(valid.part(1))...)
	case same.integer(1, 0) == 0: // more at the bottom and at the right
		have["auto_pad"] = newText("SAME_UPPER")
	default:
		have["auto_pad"] = newText("SAME_LOWER")
	}
}

func addConvolution(x *layer) []*graph.Value {
	out, channels, groups := x.integer(1, 0), x.integer(2, 0), max(1, x.integer(10, 1))
	kernel, stride, dilation := x.pairOf(20, 3, 1), x.pairOf(30, 1, 1), x.pairOf(40, 1, 1)
	transposed := x.bool(60)
	a := attrs{"kernel_shape": newInts(kernel...), "strides": newInts(stride...), "dilations": newInts(dilation...), "group": newInt(groups)}
	x.setPadding(x.part(50), x.part(51), a)
	if out < 1 || out > graph.MaxExtent || channels < 1 || channels > graph.MaxExtent || groups > graph.MaxExtent || out%groups != 0 {
		x.refusef("%d output channels, %d kernel channels and %d groups are out of range", out, channels, groups)
		return nil
	}
	// Weights of a transposed convolution have the input channels first.
	shape := []int{out, channels, kernel[0], kernel[1]}
	if transposed {
		shape = []int{channels, out / groups, kernel[0], kernel[1]}
	}
	var w, bias *graph.Value
	if len(x.in) == 2 {
		w = x.in[1]
	} else if w = x.weightsOfParts(x.message, 90, shape[0], shape...); w == nil {
		w = x.absent(shape...)
	}
	if x.bool(70) {
		if bias = x.weights(x.message, 91, out); bias == nil {
			bias = x.absent(out)
		}
	}
	want := x.integers(100)
	y := x.onPlanes(x.in[0], func(v *graph.Value) *graph.Value {
		if !transposed {
			return x.emit("Conv", a, v, w, bias)
		}
		if _, same := a["auto_pad"]; same && !x.padTransposed(a, kernel, stride, dilation) {
			return v
		}
		return x.emit("ConvTranspose", a, v, w, bias)
	})
	// Only a transposed convolution may state its output, to choose among the sizes that a stride leaves
	// open.
	if k := len(y.Dims); x.why == nil && len(want) > 0 && (!transposed || len(want) != 2 || want[0] != y.Dims[k-2] || want[1] != y.Dims[k-1]) {
		x.refusef("output shape %v is not that of the window, %v", want, y.Dims)
	}
	return []*graph.Value{y}
}

// absent returns a constant whose values the file lacks.
func (x *layer) absent(dims ...int) *graph.Value {
	if err := graph.CheckExtents(dims); err != nil {
		x.refusef("%v", err)
		dims = []int{}
	}
	return x.constant(&graph.Const{Dims: dims, Type: graph.Float, Source: &weights{n: graph.Elements(dims)}})
}

// padTransposed replaces the padding "same" of a transposed convolution by the amounts that are cut off
// the result, so that its extents are those of the input times the strides.
func (x *layer) padTransposed(a attrs, kernel, stride, dilation []int) bool {
	pads := make([]int, 4)
	for i := range 2 {
		cut := (kernel[i]-1)*dilation[i] + 1 - stride[i]
		if cut < 0 {
			x.refusef("kernel of %v is smaller than the stride of %v, with padding same", kernel, stride)
			return false
		}
		pads[i], pads[2+i] = cut/2, cut-cut/2
		if a["auto_pad"].Text == "SAME_LOWER" {
			pads[i], pads[2+i] = pads[2+i], pads[i]
		}
	}
	delete(a, "auto_pad")
	a["pads"] = newInts(pads...)
	return true
}

func addPooling(x *layer) []*graph.Value {
	kind := x.integer(1, 0)
	kernel, stride := x.pairOf(10, 3, 1), x.pairOf(20, 1, 1)
	valid, same, last := x.part(30), x.part(31), x.part(32)
	exclude, global := x.bool(50), x.bool(60)
	if kind < 0 || kind > 2 {
		x.refusef("pooling type %d is unknown", kind)
		return nil
	}
	if global { // the window is the plane
		return []*graph.Value{x.onPlanes(x.in[0], func(v *graph.Value) *graph.Value {
			if valid != nil {
				for _, b := range x.borders(valid.part(1)) {
					if b != 0 {
						x.refusef("global pooling of padded planes is not supported")
					}
				}
			}
			if last != nil {
				for _, b := range last.integers(10) {
					if b != 0 {
						x.refusef("global pooling of padded planes is not supported")
					}
				}
			}
			if same != nil {
				// Read and ignored: a window as large as the plane needs no padding to keep its size.
				same.integer(1, 0)
			}
			return x.emit([]string{"GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"}[kind], nil, v)
		})}
	}
	a := attrs{"kernel_shape": newInts(kernel...), "strides": newInts(stride...)}
	return []*graph.Value{x.onPlanes(x.in[0], func(v *graph.Value) *graph.Value {
		if last == nil {
			x.setPadding(valid, same, a)
		} else if valid != nil || same != nil {
			x.refusef("want one kind of padding")
		} else {
			x.padToLastPixel(last.integers(10), a, v.Dims[2:], kernel, stride, kind != 0 && !exclude)
		}
		if kind == 1 {
			a["count_include_pad"] = newFlag(!exclude)
		}
		if kind == 2 && exclude {
			x.refusef("an L2 pool that excludes the padding is not supported")
		}
		return x.emit([]string{"MaxPool", "AveragePool", "LpPool"}[kind], a, v)
	})}
}

// padToLastPixel sets the padding of a pool of the kind includeLastPixel: the same amount before and after
// each axis, and a further window, if it begins within the input or the padding before it, for the
// elements that remain at the end. counts says that the elements beyond the padding would matter.
func (x *layer) padToLastPixel(amounts []int, a attrs, in, kernel, stride []int, counts bool) {
	if len(amounts) == 0 {
		amounts = []int{0, 0}
	}
	if len(amounts) != 2 || min(amounts[0], amounts[1]) < 0 || max(amounts[0], amounts[1]) > graph.MaxExtent {
		x.refusef("padding of %v; want 2 numbers from 0 to %d", amounts, graph.MaxExtent)
		return
	}
	pads := make([]int, 4)
	for i, p := range amounts {
		full := in[i] + 2*p - kernel[i]
		if full < 0 {
			x.refusef("window of %v is larger than the padded plane of %v", kernel, in)
			return
		}
		windows := (full+stride[i]-1)/stride[i] + 1
		if p > 0 && (windows-1)*stride[i] >= in[i]+p {
			windows--
		}
		// The last window may reach beyond the padding, or leave part of it.
		after := (windows-1)*stride[i] + kernel[i] - in[i] - p
		if after > p && counts {
			x.refusef("an average of a window that reaches beyond the padding is not supported")
		}
		pads[i], pads[2+i] = p, max(0, after)
	}
	a["pads"] = newInts(pads...)
}

package ops

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"anesim/internal/network/graph"
)

// Dilation returns the vertical and horizontal distances between neighboring taps of w, a window of
// one or two axes. If w has a single axis, dy is 1.
func (w *Window) Dilation() (dy, dx int) {
	if len(w.Dilations) == 1 {
		return 1, w.Dilations[0]
	}
	return w.Dilations[0], w.Dilations[1]
}

// A Window describes how a convolution or a pool moves over the spatial axes of its input. All
// lists have one number for each spatial axis.
type Window struct {
	Taps, Strides, Dilations []int
	Before, After            []int // padding at both ends; After includes Overhang
	Overhang                 []int // elements that ceil_mode adds to After; they do not count as padding
	Out                      []int // extents of the result
}

// WindowOf returns the window of n, a convolution or a pool. in holds the spatial extents of the
// input. taps holds the spatial extents of the weights; the attribute kernel_shape overrides them.
// WindowOf returns an error if an attribute is invalid or the window is larger than the padded
// input.
func WindowOf(n *graph.Node, in, taps []int) (Window, error) {
	if k, ok, err := n.List("kernel_shape", -1); err != nil {
		return Window{}, err
	} else if ok {
		taps = k
	}
	w := Window{Taps: taps}
	// Kept until all attributes are read, so that each counts as read also if another is wrong.
	var invalid error
	if len(taps) != len(in) || len(in) == 0 {
		return w, fmt.Errorf("kernel shape has %d dimensions; want %d, one per spatial axis", len(taps), len(in))
	}
	ones := slices.Repeat([]int{1}, len(in))
	read := func(name string, missing []int, least int) []int {
		v, ok, err := n.List(name, -1)
		if !ok {
			invalid = cmp.Or(invalid, err)
			return missing
		}
		if len(v) != len(missing) || slices.Min(v) < least || slices.Max(v) > graph.MaxExtent {
			invalid = cmp.Or(invalid, fmt.Errorf("invalid %s %v; want %d numbers from %d to %d", name, v, len(missing), least, graph.MaxExtent))
			return missing
		}
		return v
	}
	w.Strides, w.Dilations = read("strides", ones, 1), read("dilations", ones, 1)
	pads := read("pads", slices.Repeat([]int{0}, 2*len(in)), 0)
	w.Before, w.After = slices.Clone(pads[:len(in)]), slices.Clone(pads[len(in):])
	if slices.Min(taps) < 1 || slices.Max(taps) > graph.MaxExtent {
		invalid = cmp.Or(invalid, fmt.Errorf("kernel shape %v is out of range; want sizes from 1 to %d", taps, graph.MaxExtent))
	}
	if invalid != nil {
		return w, invalid
	}
	w.Out, w.Overhang = make([]int, len(in)), make([]int, len(in))
	for i, e := range in {
		if err := w.applyAutoPad(n.Text("auto_pad", "NOTSET"), i, e); err != nil {
			return w, err
		}
		room := e + w.Before[i] + w.After[i] - w.tapSpan(i)
		if room < 0 {
			return w, fmt.Errorf("kernel %v with dilation is larger than input %v with padding", taps, in)
		}
		w.Out[i] = room/w.Strides[i] + 1
		if n.Int("ceil_mode", 0) != 0 && room%w.Strides[i] != 0 && w.Out[i]*w.Strides[i] < e+w.Before[i] {
			// With ceil_mode, a last window counts if it begins within the input.
			w.Out[i]++
			w.Overhang[i] = w.Strides[i] - room%w.Strides[i]
			w.After[i] += w.Overhang[i]
		}
	}
	return w, nil
}

// tapSpan returns the number of elements along an axis from the first tap to the last.
func (w *Window) tapSpan(axis int) int { return w.Dilations[axis]*(w.Taps[axis]-1) + 1 }

// applyAutoPad sets the padding along an axis of the given extent according to auto, the node's
// attribute auto_pad. It returns an error for an unknown value.
func (w *Window) applyAutoPad(auto string, axis, extent int) error {
	switch step := w.Strides[axis]; auto {
	case "", "NOTSET":
	case "VALID":
		w.Before[axis], w.After[axis] = 0, 0
	case "SAME_UPPER", "SAME_LOWER":
		total := max(0, ((extent+step-1)/step-1)*step+w.tapSpan(axis)-extent)
		w.Before[axis], w.After[axis] = total/2, total-total/2
		if auto == "SAME_LOWER" {
			w.Before[axis], w.After[axis] = w.After[axis], w.Before[axis]
		}
	default:
		return fmt.Errorf("unknown auto_pad %q; want NOTSET, VALID, SAME_UPPER or SAME_LOWER", auto)
	}
	return nil
}

// imageShape returns the shape of the first input, which must have a spatial axis after batch
// and channels.
func imageShape(n *graph.Node) ([]int, error) {
	d, err := n.Dims(0)
	if err == nil && len(d) < 3 {
		err = fmt.Errorf("input has %d dimensions; want at least 3: batch, channels and a spatial axis", len(d))
	}
	return d, err
}

func inferConv(n *graph.Node) ([]graph.Result, error) {
	d, err := imageShape(n)
	if err != nil {
		return nil, err
	}
	f, err := n.Dims(1)
	if err != nil {
		return nil, err
	}
	groups := n.Int("group", 1)
	if len(f) != len(d) || groups < 1 || f[1]*groups != d[1] || f[0]%groups != 0 {
		return nil, fmt.Errorf("input shape %v is incompatible with weight shape %v for %d groups", d, f, groups)
	}
	w, err := WindowOf(n, d[2:], f[2:])
	if err == nil && !slices.Equal(w.Taps, f[2:]) {
		err = fmt.Errorf("weight shape %v does not match kernel_shape %v", f, w.Taps)
	}
	if err != nil {
		return nil, err
	}
	return newSingleResultWithMACs(n, append([]int{d[0], f[0]}, w.Out...), graph.Elements(w.Out)*d[0]*f[0]*graph.Elements(f[1:])), nil
}

// TransposedWindow returns the window of n, a transposed convolution. d is the shape of its input,
// and f the shape of its weights. Before and After of the window say how many elements are cropped
// from the result; a negative After adds zeros. TransposedWindow returns an error if an attribute
// is invalid or the result is empty.
func TransposedWindow(n *graph.Node, d, f []int) (Window, error) {
	in := d[2:]
	w, err := WindowOf(n, slices.Repeat([]int{graph.MaxExtent}, len(in)), f[2:])
	if err != nil {
		return w, err
	}
	extra, given, err := n.List("output_padding", -1)
	if err != nil {
		return w, err
	}
	if !given {
		extra = make([]int, len(in))
	}
	shape, shaped, err := n.List("output_shape", -1)
	if err != nil {
		return w, err
	}
	if shaped && len(shape) == len(d) {
		shape = shape[2:]
	}
	if len(extra) != len(in) {
		return w, fmt.Errorf("invalid output_padding %v; want one number for each of %d spatial axes", extra, len(in))
	}
	if shaped && len(shape) != len(in) {
		return w, fmt.Errorf("invalid output_shape %v; want one size for each of %d spatial axes", shape, len(in))
	}
	pads, padded, err := n.List("pads", -1)
	if err != nil {
		return w, err
	}
	auto := n.Text("auto_pad", "NOTSET")
	for i, e := range in {
		if extra[i] < 0 || extra[i] > graph.MaxExtent {
			return w, fmt.Errorf("output_padding %v is out of range; want 0 to %d", extra, graph.MaxExtent)
		}
		if shaped && (shape[i] < 1 || shape[i] > graph.MaxExtent) {
			return w, fmt.Errorf("output_shape %v is out of range; want sizes from 1 to %d", shape, graph.MaxExtent)
		}
		full := (e-1)*w.Strides[i] + w.Dilations[i]*(w.Taps[i]-1) + 1 + extra[i]
		w.Before[i], w.After[i] = 0, 0
		if padded && len(pads) == 2*len(in) && (auto == "" || auto == "NOTSET") {
			w.Before[i], w.After[i] = pads[i], pads[i+len(in)]
		}
		want := full - w.Before[i] - w.After[i]
		if auto == "SAME_UPPER" || auto == "SAME_LOWER" {
			want = e * w.Strides[i]
		}
		if shaped {
			want = shape[i]
		}
		if shaped || want == e*w.Strides[i] && strings.HasPrefix(auto, "SAME") {
			total := max(0, full-want) // elements that no input reaches follow the others
			w.Before[i], w.After[i] = total/2, total-total/2
			if auto != "SAME_UPPER" {
				w.Before[i], w.After[i] = total-total/2, total/2
			}
			w.After[i] += min(0, full-want)
		}
		w.After[i] -= extra[i] // the extra elements at the end are zeros too
		if want < 1 {
			return w, fmt.Errorf("result has %d elements along spatial axis %d; want at least 1", want, i)
		}
		w.Out[i] = want
	}
	return w, nil
}

func inferConvTranspose(n *graph.Node) ([]graph.Result, error) {
	d, err := imageShape(n)
	if err != nil {
		return nil, err
	}
	f, err := n.Dims(1)
	if err != nil {
		return nil, err
	}
	groups := n.Int("group", 1)
	if len(f) != len(d) || groups < 1 || f[0] != d[1] || f[0]%groups != 0 {
		return nil, fmt.Errorf("input shape %v is incompatible with weight shape %v for %d groups", d, f, groups)
	}
	w, err := TransposedWindow(n, d, f)
	if err != nil {
		return nil, err
	}
	return newSingleResultWithMACs(n, append([]int{d[0], f[1] * groups}, w.Out...), graph.Elements(d)*graph.Elements(f[1:])), nil
}

func inferPool(n *graph.Node) ([]graph.Result, error) {
	d, err := imageShape(n)
	if err != nil {
		return nil, err
	}
	w, err := WindowOf(n, d[2:], nil)
	if err != nil {
		return nil, err
	}
	return newSingleResult(n, append([]int{d[0], d[1]}, w.Out...)), nil
}

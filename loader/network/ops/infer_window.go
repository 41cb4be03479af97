package ops

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"anesim/loader/network/graph"
)

// Dilation returns the vertical and the horizontal distance between neighboring taps. The vertical
// distance is 1 for a window over a single axis.
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
// input, and taps those of the weights; the attribute kernel_shape overrides taps. WindowOf returns
// an error if an attribute has the wrong length or a number out of range.
func WindowOf(n *graph.Node, in, taps []int) (Window, error) {
	if k, ok, _ := n.List("kernel_shape", -1); ok {
		taps = k
	}
	w := Window{Taps: taps}
	if len(taps) != len(in) || len(in) == 0 {
		return w, fmt.Errorf("window has %d dimensions; want one for each of %d spatial axes", len(taps), len(in))
	}
	ones := slices.Repeat([]int{1}, len(in))
	read := func(name string, missing []int, least int) []int {
		v, ok, _ := n.List(name, -1)
		if !ok {
			return missing
		}
		for _, x := range v {
			if x < least || x > graph.MaxExtent {
				v = nil
				break
			}
		}
		if len(v) != len(missing) {
			w.Taps = nil
			return missing
		}
		return v
	}
	w.Strides, w.Dilations = read("strides", ones, 1), read("dilations", ones, 1)
	pads := read("pads", slices.Repeat([]int{0}, 2*len(in)), 0)
	w.Before, w.After = slices.Clone(pads[:len(in)]), slices.Clone(pads[len(in):])
	for _, t := range taps {
		if t < 1 || t > graph.MaxExtent {
			w.Taps = nil
		}
	}
	if w.Taps == nil {
		return w, fmt.Errorf("invalid kernel_shape, strides, dilations or pads for %d spatial axes; want one value per axis, and two for pads", len(in))
	}
	w.Out, w.Overhang = make([]int, len(in)), make([]int, len(in))
	for i, e := range in {
		if err := w.applyAutoPad(n.Text("auto_pad", "NOTSET"), i, e); err != nil {
			return w, err
		}
		room := e + w.Before[i] + w.After[i] - w.tapSpan(i)
		if room < 0 {
			return w, fmt.Errorf("window %v is larger than input %v plus padding", taps, in)
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
		err = fmt.Errorf("input has %d dimensions; want batch, channels and at least one more", len(d))
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

// TransposedWindow returns the window of n, a transposed convolution whose input has shape d and
// whose weights have shape f. Its fields Before and After hold how many elements are cropped from
// the result. TransposedWindow returns an error if an attribute is invalid or the result is empty.
func TransposedWindow(n *graph.Node, d, f []int) (Window, error) {
	in := d[2:]
	w, err := WindowOf(n, slices.Repeat([]int{graph.MaxExtent}, len(in)), f[2:])
	if err != nil {
		return w, err
	}
	extra, given, _ := n.List("output_padding", -1)
	if !given {
		extra = make([]int, len(in))
	}
	shape, shaped, _ := n.List("output_shape", -1)
	if shaped && len(shape) == len(d) {
		shape = shape[2:]
	}
	if len(extra) != len(in) {
		return w, fmt.Errorf("invalid output_padding %v; want one number for each of %d spatial axes", extra, len(in))
	}
	if shaped && len(shape) != len(in) {
		return w, fmt.Errorf("invalid output_shape %v; want one extent for each of %d spatial axes", shape, len(in))
	}
	pads, padded, _ := n.List("pads", -1)
	auto := n.Text("auto_pad", "NOTSET")
	for i, e := range in {
		if extra[i] < 0 || extra[i] > graph.MaxExtent {
			return w, fmt.Errorf("output_padding %v is out of range; want 0 to %d", extra, graph.MaxExtent)
		}
		if shaped && (shape[i] < 1 || shape[i] > graph.MaxExtent) {
			return w, fmt.Errorf("output_shape %v is out of range; want extents from 1 to %d", shape, graph.MaxExtent)
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

func inferGemm(n *graph.Node) ([]graph.Result, error) {
	a, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	b, err := n.Dims(1)
	if err != nil {
		return nil, err
	}
	if len(a) != 2 || len(b) != 2 {
		return nil, fmt.Errorf("cannot multiply shapes %v and %v; want 2 axes each", a, b)
	}
	m, k, j, p := a[0], a[1], b[0], b[1]
	if n.Int("transA", 0) != 0 {
		m, k = k, m
	}
	if n.Int("transB", 0) != 0 {
		j, p = p, j
	}
	if k != j {
		return nil, fmt.Errorf("cannot multiply shapes %v and %v: the summed axes have %d and %d elements", a, b, k, j)
	}
	return newSingleResultWithMACs(n, []int{m, p}, m*k*p), nil
}

func inferLinear(n *graph.Node) ([]graph.Result, error) {
	a, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	w, err := n.Dims(1)
	if err != nil || len(a) == 0 || len(w) != 2 || a[len(a)-1] != w[1] {
		return nil, cmp.Or(err, fmt.Errorf("input shape %v is incompatible with weight shape %v; want weights with 2 axes and equal last extents", a, w))
	}
	out := slices.Clone(a)
	out[len(a)-1] = w[0]
	return newSingleResultWithMACs(n, out, graph.Elements(out)*w[1]), nil
}

func inferMatMul(n *graph.Node) ([]graph.Result, error) {
	a, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	b, err := n.Dims(1)
	if err != nil {
		return nil, err
	}
	out, k, err := matmulShape(a, b)
	if err != nil {
		return nil, err
	}
	return newSingleResultWithMACs(n, out, graph.Elements(out)*k), nil
}

// matmulShape returns the shape of the product of two matrices, or stacks of matrices whose leading
// axes are broadcast, of shapes a and b. The second result is the number of products that are
// summed in each element.
func matmulShape(a, b []int) ([]int, int, error) {
	if len(a) == 0 || len(b) == 0 {
		return nil, 0, fmt.Errorf("cannot multiply shapes %v and %v; want at least 1 axis each", a, b)
	}
	x, y := a, b
	if len(a) == 1 {
		x = []int{1, a[0]}
	}
	if len(b) == 1 {
		y = []int{b[0], 1}
	}
	k := x[len(x)-1]
	if k != y[len(y)-2] {
		return nil, 0, fmt.Errorf("cannot multiply shapes %v and %v: the summed axes have %d and %d elements", a, b, k, y[len(y)-2])
	}
	out, err := graph.Broadcast(x[:len(x)-2], y[:len(y)-2])
	if err != nil {
		return nil, 0, fmt.Errorf("cannot multiply shapes %v and %v: the leading axes do not broadcast", a, b)
	}
	out = slices.Clone(out)
	if len(a) > 1 {
		out = append(out, x[len(x)-2])
	}
	if len(b) > 1 {
		out = append(out, y[len(y)-1])
	}
	return out, k, nil
}

// ellipsisLabels are the labels that EinsumTerms gives to the axes of an ellipsis, the last axis
// first.
const ellipsisLabels = "0123456789"

// EinsumTerms splits the equation of an Einsum node, such as "ij,jk->ik", into one term for each of
// its inputs and the term of the result. It replaces an ellipsis by one digit for each axis without
// a letter. Digits are assigned from the last of these axes, so that the ellipses of all inputs
// share labels. If the equation has no arrow, the result has the axes of the ellipsis and then the
// labels that occur once, in alphabetical order.
func EinsumTerms(n *graph.Node) (terms []string, out string, err error) {
	eq := strings.ReplaceAll(n.Text("equation", ""), " ", "")
	left, right, arrow := strings.Cut(eq, "->")
	terms = strings.Split(left, ",")
	if len(terms) != len(n.In) {
		return nil, "", fmt.Errorf("equation %q has %d terms for %d inputs; want one term per input", eq, len(terms), len(n.In))
	}
	if strings.ContainsAny(eq, ellipsisLabels) {
		return nil, "", fmt.Errorf("equation %q has digits; want letters as labels", eq)
	}
	if !arrow {
		right = "..."
		for l := 'A'; l <= 'z'; l++ {
			if strings.Count(left, string(l)) == 1 {
				right += string(l)
			}
		}
	}
	longest := ""
	for i, t := range terms {
		switch dots := strings.Count(t, "."); {
		case dots == 0:
			continue
		case dots != 3 || !strings.Contains(t, "..."):
			return nil, "", fmt.Errorf("term %q of equation %q has dots other than one ellipsis", t, eq)
		}
		d, err := n.Dims(i)
		if err != nil {
			return nil, "", err
		}
		axes := len(d) - (len(t) - len("..."))
		if axes < 0 || axes > len(ellipsisLabels) {
			return nil, "", fmt.Errorf("term %q leaves %d axes of shape %v to its ellipsis; want 0 to %d", t, axes, d, len(ellipsisLabels))
		}
		labels := []byte(ellipsisLabels[:axes])
		slices.Reverse(labels)
		terms[i] = strings.Replace(t, "...", string(labels), 1)
		if len(labels) > len(longest) {
			longest = string(labels)
		}
	}
	out = strings.Replace(right, "...", longest, 1)
	if strings.Contains(out, ".") {
		return nil, "", fmt.Errorf("term %q of equation %q has dots other than one ellipsis", right, eq)
	}
	return terms, out, nil
}

func inferEinsum(n *graph.Node) ([]graph.Result, error) {
	terms, right, err := EinsumTerms(n)
	if err != nil {
		return nil, err
	}
	sizes := map[rune]int{}
	for i, t := range terms {
		d, err := n.Dims(i)
		if err != nil {
			return nil, err
		}
		if len(t) != len(d) {
			return nil, fmt.Errorf("term %q does not have one label for each axis of shape %v", t, d)
		}
		for k, l := range t {
			old, ok := sizes[l]
			switch broadcasts := strings.ContainsRune(ellipsisLabels, l); {
			case !ok || old == d[k] || broadcasts && old == 1:
				sizes[l] = d[k]
			case broadcasts && d[k] == 1:
			case broadcasts:
				return nil, fmt.Errorf("axes of the ellipsis have sizes %d and %d; want equal sizes, or 1", old, d[k])
			default:
				return nil, fmt.Errorf("label %q has sizes %d and %d; want one size", l, old, d[k])
			}
		}
	}
	out := []int{}
	for _, l := range right {
		if _, ok := sizes[l]; !ok {
			return nil, fmt.Errorf("label %q of the result does not occur in any input", l)
		}
		out = append(out, sizes[l])
	}
	all := 1.0
	for _, s := range sizes {
		all *= float64(s)
	}
	return newSingleResultWithMACs(n, out, int(min(all, 1<<50))), nil
}

// readBlockSize returns the shape of the node's input and its attribute blocksize. The node is a
// DepthToSpace or SpaceToDepth. readBlockSize returns an error unless the input has four axes and
// the block size is in range.
func readBlockSize(n *graph.Node) (dims []int, size int, err error) {
	const most = 1 << 10
	dims, err = n.Dims(0)
	size = n.Int("blocksize", 0)
	switch {
	case err != nil:
		return nil, 0, err
	case len(dims) != 4:
		return nil, 0, fmt.Errorf("input has shape %v; want 4 axes", dims)
	case size < 1 || size > most:
		return nil, 0, fmt.Errorf("blocksize is %d; want 1 to %d", size, most)
	}
	return dims, size, nil
}

func inferDepthToSpace(n *graph.Node) ([]graph.Result, error) {
	d, b, err := readBlockSize(n)
	if err != nil {
		return nil, err
	}
	if d[1]%(b*b) != 0 {
		return nil, fmt.Errorf("square of blocksize %d does not divide the channels of shape %v", b, d)
	}
	return newSingleResult(n, []int{d[0], d[1] / (b * b), d[2] * b, d[3] * b}), nil
}

func inferSpaceToDepth(n *graph.Node) ([]graph.Result, error) {
	d, b, err := readBlockSize(n)
	if err != nil {
		return nil, err
	}
	if d[2]%b != 0 || d[3]%b != 0 {
		return nil, fmt.Errorf("blocksize %d does not divide the height and width of shape %v", b, d)
	}
	return newSingleResult(n, []int{d[0], d[1] * b * b, d[2] / b, d[3] / b}), nil
}

// Padding returns how many elements a Pad node adds before and after each of rank axes. A negative
// number removes elements. Padding returns an error if the numbers are computed or invalid.
func Padding(n *graph.Node, rank int) (before, after []int, err error) {
	pads, ok, err := n.List("pads", 1)
	if !ok && n.Attr["paddings"] != nil { // version 1
		pads, ok, err = n.List("paddings", -1)
	}
	if err != nil || !ok {
		return nil, nil, cmp.Or(err, errors.New("pads are computed; want constants"))
	}
	before, after = make([]int, rank), make([]int, rank)
	axes, given, err := n.List("axes", 3)
	if err != nil {
		return nil, nil, err
	}
	if !given {
		for i := range rank {
			axes = append(axes, i)
		}
	}
	if len(pads) != 2*len(axes) {
		return nil, nil, fmt.Errorf("found pads %v for %d axes; want two per axis", pads, len(axes))
	}
	for i, a := range axes {
		at, err := Axis(rank, a)
		if err != nil {
			return nil, nil, err
		}
		before[at], after[at] = pads[i], pads[i+len(axes)]
		if max(before[at], after[at]) > graph.MaxExtent || min(before[at], after[at]) < -graph.MaxExtent {
			return nil, nil, fmt.Errorf("pads %v are out of range; want at most %d elements per side", pads, graph.MaxExtent)
		}
	}
	return before, after, nil
}

func inferPad(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	if _, err := PaddedElements(n.Text("mode", "constant"), 1, 1, 0); err != nil {
		return nil, err
	}
	before, after, err := Padding(n, len(d))
	if err != nil {
		return nil, err
	}
	out := slices.Clone(d)
	for i := range out {
		out[i] += before[i] + after[i]
	}
	return newSingleResult(n, out), nil
}

// Scales returns the factor by which a Resize or Upsample node enlarges each axis of an input of
// shape d, and the shape of the result. It returns an error if scales and sizes are computed or
// invalid.
func Scales(n *graph.Node, d []int) (scales []float64, out []int, err error) {
	at, sizes := 1, 3
	if n.Op == "Resize" && n.Opset >= 11 {
		at = 2
	}
	if n.Op == "Upsample" && n.Attr["scales"] != nil {
		for _, s := range n.Attr["scales"].Floats {
			scales = append(scales, float64(s))
		}
	} else if c := n.Const(at); c != nil && c.Elements() > 0 {
		if scales, err = c.Values(); err != nil {
			return nil, nil, err
		}
	}
	axes, given, _ := n.List("axes", -1)
	if !given {
		for i := range d {
			axes = append(axes, i)
		}
	}
	whole := slices.Repeat([]float64{1}, len(d))
	out = slices.Clone(d)
	if scales == nil {
		list, ok, err := n.List("", sizes)
		if err != nil || !ok || len(list) != len(axes) {
			return nil, nil, cmp.Or(err, errors.New("scales or sizes are invalid; want one constant per axis"))
		}
		var ratios []float64
		axes = slices.Clone(axes)
		for i, a := range axes {
			if axes[i], err = Axis(len(d), a); err != nil {
				return nil, nil, err
			}
			ratios = append(ratios, float64(list[i])/float64(max(1, d[axes[i]])))
		}
		common, policy := 0.0, n.Text("keep_aspect_ratio_policy", "stretch")
		switch {
		case policy == "stretch" || len(axes) == 0:
		case policy == "not_larger":
			common = slices.Min(ratios)
		case policy == "not_smaller":
			common = slices.Max(ratios)
		default:
			return nil, nil, fmt.Errorf("unknown keep_aspect_ratio_policy %q; want stretch, not_larger or not_smaller", policy)
		}
		for i, k := range axes {
			out[k], whole[k] = list[i], ratios[i]
			if e := math.Round(common * float64(d[k])); policy != "stretch" && e < graph.MaxElements {
				out[k], whole[k] = int(e), common
			}
		}
		return whole, out, nil
	}
	if len(scales) != len(axes) {
		return nil, nil, fmt.Errorf("found %d scales for %d axes; want one per axis", len(scales), len(axes))
	}
	for i, a := range axes {
		k, err := Axis(len(d), a)
		if err != nil {
			return nil, nil, err
		}
		whole[k] = scales[i]
		e := math.Floor(float64(d[k]) * scales[i])
		if !(e >= 0 && e < graph.MaxElements) {
			return nil, nil, fmt.Errorf("scale %g gives axis %d an invalid extent; want 0 to %d elements", scales[i], k, graph.MaxElements)
		}
		out[k] = int(e)
	}
	return whole, out, nil
}

func inferResize(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	_, out, err := Scales(n, d)
	if err != nil {
		return nil, err
	}
	return newSingleResult(n, out), nil
}

// inferRecurrentLayer infers the results of a recurrent operator: the output of every step, the
// last output and, for an LSTM, the last cell state.
func inferRecurrentLayer(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	w, err := n.Dims(1)
	if err != nil || len(d) != 3 || len(w) != 3 {
		return nil, cmp.Or(err, fmt.Errorf("input has shape %v and weights have shape %v; want 3 axes each", d, w))
	}
	r, err := n.Dims(2)
	if err != nil || len(r) != 3 {
		return nil, cmp.Or(err, fmt.Errorf("recurrence weights have shape %v; want 3 axes", r))
	}
	steps, batch, hidden := d[0], d[1], r[2]
	y, last := []int{steps, w[0], batch, hidden}, []int{w[0], batch, hidden}
	if n.Int("layout", 0) != 0 {
		steps, batch = batch, steps
		y, last = []int{batch, steps, w[0], hidden}, []int{batch, w[0], hidden}
	}
	macs := int(min(float64(steps)*float64(batch)*float64(graph.Elements(w)+graph.Elements(r)), 1<<50))
	e := n.Type(0)
	return []graph.Result{{Dims: y, Type: e, MACs: macs}, {Dims: last, Type: e}, {Dims: last, Type: e}}, nil
}

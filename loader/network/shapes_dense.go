package network

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"anesim/loader/network/graph"
)

// A window is how a convolution or a pool walks the axes behind the channels.
type window struct {
	taps, strides, dilations []int
	before, after            []int // padding
	out                      []int
}

// window reads the attributes of a convolution or a pool over axes of extents in.
func (n *nodeReader) window(in, taps []int) (window, error) {
	if k, ok, _ := n.List("kernel_shape", -1); ok {
		taps = k
	}
	w := window{taps: taps}
	if len(taps) != len(in) || len(in) == 0 {
		return w, fmt.Errorf("a window of %d dimensions over %d", len(taps), len(in))
	}
	ones := slices.Repeat([]int{1}, len(in))
	read := func(name string, missing []int, least int) []int {
		v, ok, _ := n.List(name, -1)
		if !ok {
			return missing
		}
		for _, x := range v {
			if x < least || x > maxExtent {
				v = nil
				break
			}
		}
		if len(v) != len(missing) {
			w.taps = nil
			return missing
		}
		return v
	}
	w.strides, w.dilations = read("strides", ones, 1), read("dilations", ones, 1)
	pads := read("pads", slices.Repeat([]int{0}, 2*len(in)), 0)
	w.before, w.after = slices.Clone(pads[:len(in)]), slices.Clone(pads[len(in):])
	for _, t := range taps {
		if t < 1 || t > maxExtent {
			w.taps = nil
		}
	}
	if w.taps == nil {
		return w, errors.New("its kernel, strides, dilations or pads are no window")
	}
	auto := n.Text("auto_pad", "NOTSET")
	w.out = make([]int, len(in))
	for i, e := range in {
		span := w.dilations[i]*(taps[i]-1) + 1
		switch auto {
		case "", "NOTSET":
		case "VALID":
			w.before[i], w.after[i] = 0, 0
		case "SAME_UPPER", "SAME_LOWER":
			total := max(0, ((e+w.strides[i]-1)/w.strides[i]-1)*w.strides[i]+span-e)
			w.before[i], w.after[i] = total/2, total-total/2
			if auto == "SAME_LOWER" {
				w.before[i], w.after[i] = w.after[i], w.before[i]
			}
		default:
			return w, fmt.Errorf("auto_pad %q", auto)
		}
		room := e + w.before[i] + w.after[i] - span
		if room < 0 {
			return w, fmt.Errorf("a window of %v does not fit %v", taps, in)
		}
		w.out[i] = room/w.strides[i] + 1
		if n.Int("ceil_mode", 0) != 0 && room%w.strides[i] != 0 && w.out[i]*w.strides[i] < e+w.before[i] {
			// A last window that begins within the input is one more.
			w.out[i]++
			w.after[i] += w.strides[i] - room%w.strides[i]
		}
	}
	return w, nil
}

// picture are the first input's dimensions, those behind batch and channels at least one.
func (n *nodeReader) picture() ([]int, error) {
	d, err := n.Dims(0)
	if err == nil && len(d) < 3 {
		err = fmt.Errorf("its input has %d dimensions, want batch, channels and at least one more", len(d))
	}
	return d, err
}

func convShapeOf(n *nodeReader) ([]graph.Result, error) {
	d, err := n.picture()
	if err != nil {
		return nil, err
	}
	f, err := n.Dims(1)
	if err != nil {
		return nil, err
	}
	groups := n.Int("group", 1)
	if len(f) != len(d) || groups < 1 || f[1]*groups != d[1] || f[0]%groups != 0 {
		return nil, fmt.Errorf("weights %v for %v in %d groups", f, d, groups)
	}
	w, err := n.window(d[2:], f[2:])
	if err == nil && !slices.Equal(w.taps, f[2:]) {
		err = fmt.Errorf("weights %v for a window of %v", f, w.taps)
	}
	if err != nil {
		return nil, err
	}
	n.macs = graph.Elements(w.out) * d[0] * f[0] * graph.Elements(f[1:])
	return n.of(append([]int{d[0], f[0]}, w.out...)), nil
}

// transposed is the window of a transposed convolution; before and after are what its
// full result is cropped by.
func (n *nodeReader) transposedWindow(d, f []int) (window, error) {
	in := d[2:]
	w, err := n.window(slices.Repeat([]int{maxExtent}, len(in)), f[2:])
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
	if len(extra) != len(in) || shaped && len(shape) != len(in) {
		return w, errors.New("its output_padding or output_shape is no extent an axis")
	}
	pads, padded, _ := n.List("pads", -1)
	auto := n.Text("auto_pad", "NOTSET")
	for i, e := range in {
		if extra[i] < 0 || extra[i] > maxExtent || shaped && (shape[i] < 1 || shape[i] > maxExtent) {
			return w, errors.New("its output_padding or output_shape is no extent an axis")
		}
		full := (e-1)*w.strides[i] + w.dilations[i]*(w.taps[i]-1) + 1 + extra[i]
		w.before[i], w.after[i] = 0, 0
		if padded && len(pads) == 2*len(in) && (auto == "" || auto == "NOTSET") {
			w.before[i], w.after[i] = pads[i], pads[i+len(in)]
		}
		want := full - w.before[i] - w.after[i]
		if auto == "SAME_UPPER" || auto == "SAME_LOWER" {
			want = e * w.strides[i]
		}
		if shaped {
			want = shape[i]
		}
		if shaped || want == e*w.strides[i] && strings.HasPrefix(auto, "SAME") {
			total := full - want
			w.before[i], w.after[i] = total/2, total-total/2
			if auto != "SAME_UPPER" && total > 0 {
				w.before[i], w.after[i] = total-total/2, total/2
			}
		}
		w.after[i] -= extra[i] // what is added behind is zeros of the same kind
		if want < 1 {
			return w, errors.New("an empty result")
		}
		w.out[i] = want
	}
	return w, nil
}

func convTransposeShape(n *nodeReader) ([]graph.Result, error) {
	d, err := n.picture()
	if err != nil {
		return nil, err
	}
	f, err := n.Dims(1)
	if err != nil {
		return nil, err
	}
	groups := n.Int("group", 1)
	if len(f) != len(d) || groups < 1 || f[0] != d[1] || f[0]%groups != 0 {
		return nil, fmt.Errorf("weights %v for %v in %d groups", f, d, groups)
	}
	w, err := n.transposedWindow(d, f)
	if err != nil {
		return nil, err
	}
	n.macs = graph.Elements(d) * graph.Elements(f[1:])
	return n.of(append([]int{d[0], f[1] * groups}, w.out...)), nil
}

func poolShape(n *nodeReader) ([]graph.Result, error) {
	d, err := n.picture()
	if err != nil {
		return nil, err
	}
	w, err := n.window(d[2:], nil)
	if err != nil {
		return nil, err
	}
	return n.of(append([]int{d[0], d[1]}, w.out...)), nil
}

func gemmShape(n *nodeReader) ([]graph.Result, error) {
	a, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	b, err := n.Dims(1)
	if err != nil {
		return nil, err
	}
	if len(a) != 2 || len(b) != 2 {
		return nil, fmt.Errorf("%v times %v", a, b)
	}
	m, k, j, p := a[0], a[1], b[0], b[1]
	if n.Int("transA", 0) != 0 {
		m, k = k, m
	}
	if n.Int("transB", 0) != 0 {
		j, p = p, j
	}
	if k != j {
		return nil, fmt.Errorf("%v times %v", a, b)
	}
	n.macs = m * k * p
	return n.of([]int{m, p}), nil
}

func linearShape(n *nodeReader) ([]graph.Result, error) {
	a, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	w, err := n.Dims(1)
	if err != nil || len(a) == 0 || len(w) != 2 || a[len(a)-1] != w[1] {
		return nil, errors.Join(err, fmt.Errorf("%v times the turned %v", a, w))
	}
	out := slices.Clone(a)
	out[len(a)-1] = w[0]
	n.macs = graph.Elements(out) * w[1]
	return n.of(out), nil
}

func matmulShape(n *nodeReader) ([]graph.Result, error) {
	a, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	b, err := n.Dims(1)
	if err != nil {
		return nil, err
	}
	out, k, err := product2(a, b)
	if err != nil {
		return nil, err
	}
	n.macs = graph.Elements(out) * k
	return n.of(out), nil
}

// product2 is the shape of a matrix product and its reduction.
func product2(a, b []int) ([]int, int, error) {
	if len(a) == 0 || len(b) == 0 {
		return nil, 0, fmt.Errorf("%v times %v", a, b)
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
		return nil, 0, fmt.Errorf("%v times %v", a, b)
	}
	out, err := graph.Broadcast(x[:len(x)-2], y[:len(y)-2])
	if err != nil {
		return nil, 0, fmt.Errorf("%v times %v", a, b)
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

// einsum reads an equation of letters.
func (n *nodeReader) einsum() (terms []string, out string, err error) {
	eq := strings.ReplaceAll(n.Text("equation", ""), " ", "")
	left, right, arrow := strings.Cut(eq, "->")
	terms = strings.Split(left, ",")
	if len(terms) != len(n.In) || strings.Contains(eq, ".") {
		return nil, "", fmt.Errorf("equation %q", eq)
	}
	if !arrow { // letters that stand once, in order
		var letters []string
		for l := 'A'; l <= 'z'; l++ {
			if strings.Count(left, string(l)) == 1 {
				letters = append(letters, string(l))
			}
		}
		right = strings.Join(letters, "")
	}
	return terms, right, nil
}

func einsumShape(n *nodeReader) ([]graph.Result, error) {
	terms, right, err := n.einsum()
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
			return nil, fmt.Errorf("%q for %v", t, d)
		}
		for k, l := range t {
			if old, ok := sizes[l]; ok && old != d[k] {
				return nil, fmt.Errorf("%q has two sizes", l)
			}
			sizes[l] = d[k]
		}
	}
	out := []int{}
	n.macs = 1
	for _, l := range right {
		if _, ok := sizes[l]; !ok {
			return nil, fmt.Errorf("%q of the result is no axis", l)
		}
		out = append(out, sizes[l])
	}
	all := 1.0
	for _, s := range sizes {
		all *= float64(s)
	}
	n.macs = int(min(all, 1<<50))
	return n.of(out), nil
}

func depthToSpaceShape(n *nodeReader) ([]graph.Result, error) {
	d, err := n.Dims(0)
	b := n.Int("blocksize", 0)
	if err != nil || len(d) != 4 || b < 1 || b > 1<<10 || d[1]%(b*b) != 0 {
		return nil, errors.Join(err, fmt.Errorf("blocks of %d of %v", b, d))
	}
	return n.of([]int{d[0], d[1] / (b * b), d[2] * b, d[3] * b}), nil
}

func spaceToDepthShape(n *nodeReader) ([]graph.Result, error) {
	d, err := n.Dims(0)
	b := n.Int("blocksize", 0)
	if err != nil || len(d) != 4 || b < 1 || b > 1<<10 || d[2]%b != 0 || d[3]%b != 0 {
		return nil, errors.Join(err, fmt.Errorf("blocks of %d of %v", b, d))
	}
	return n.of([]int{d[0], d[1] * b * b, d[2] / b, d[3] / b}), nil
}

// padding is what a Pad adds before and behind each axis.
func (n *nodeReader) padding(rank int) (before, after []int, err error) {
	pads, ok, err := n.List("pads", 1)
	if !ok && n.Attr["paddings"] != nil { // version 1
		pads, ok, err = n.List("paddings", -1)
	}
	if err != nil || !ok {
		return nil, nil, errors.Join(err, errors.New("its pads are computed, not constants"))
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
		return nil, nil, fmt.Errorf("pads %v for %d axes", pads, len(axes))
	}
	for i, a := range axes {
		at, err := n.axisOf(rank, a)
		if err != nil {
			return nil, nil, err
		}
		before[at], after[at] = pads[i], pads[i+len(axes)]
		if max(before[at], after[at]) > maxExtent || min(before[at], after[at]) < -maxExtent {
			return nil, nil, fmt.Errorf("pads %v", pads)
		}
	}
	return before, after, nil
}

func padShape(n *nodeReader) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	before, after, err := n.padding(len(d))
	if err != nil {
		return nil, err
	}
	out := slices.Clone(d)
	for i := range out {
		out[i] += before[i] + after[i]
	}
	return n.of(out), nil
}

// scales are what a Resize multiplies each axis by, and the shape it gives.
func (n *nodeReader) scales(d []int) (scales []float64, out []int, err error) {
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
			return nil, nil, errors.Join(err, errors.New("its scales or sizes are computed, not constants"))
		}
		for i, a := range axes {
			k, err := n.axisOf(len(d), a)
			if err != nil {
				return nil, nil, err
			}
			out[k] = list[i]
			whole[k] = float64(list[i]) / float64(max(1, d[k]))
		}
		if p := n.Text("keep_aspect_ratio_policy", "stretch"); p != "stretch" {
			return nil, nil, fmt.Errorf("keep_aspect_ratio_policy %q", p)
		}
		return whole, out, nil
	}
	if len(scales) != len(axes) {
		return nil, nil, fmt.Errorf("%d scales for %d axes", len(scales), len(axes))
	}
	for i, a := range axes {
		k, err := n.axisOf(len(d), a)
		if err != nil {
			return nil, nil, err
		}
		whole[k] = scales[i]
		e := math.Floor(float64(d[k]) * scales[i])
		if !(e >= 0 && e < graph.MaxElements) {
			return nil, nil, fmt.Errorf("scales %v", scales)
		}
		out[k] = int(e)
	}
	return whole, out, nil
}

func resizeShape(n *nodeReader) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	_, out, err := n.scales(d)
	if err != nil {
		return nil, err
	}
	return n.of(out), nil
}

// recurrentShape is every step's result, the last and, of an LSTM, the last cell.
func recurrentShape(n *nodeReader) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	w, err := n.Dims(1)
	if err != nil || len(d) != 3 || len(w) != 3 {
		return nil, errors.Join(err, fmt.Errorf("%v with weights %v", d, w))
	}
	r, err := n.Dims(2)
	if err != nil || len(r) != 3 {
		return nil, errors.Join(err, fmt.Errorf("recurrence weights %v", r))
	}
	steps, batch, hidden := d[0], d[1], r[2]
	y, last := []int{steps, w[0], batch, hidden}, []int{w[0], batch, hidden}
	if n.Int("layout", 0) != 0 {
		steps, batch = batch, steps
		y, last = []int{batch, steps, w[0], hidden}, []int{batch, w[0], hidden}
	}
	n.macs = int(min(float64(steps)*float64(batch)*float64(graph.Elements(w)+graph.Elements(r)), 1<<50))
	e := n.Type(0)
	return []graph.Result{{Dims: y, Type: e}, {Dims: last, Type: e}, {Dims: last, Type: e}}, nil
}

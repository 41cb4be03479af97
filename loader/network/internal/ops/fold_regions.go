package ops

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"anesim/internal/network/graph"
)

// inferPoolIndices infers the indices of a MaxPool: the place of each maximum among all elements of the
// input.
func inferPoolIndices(n *graph.Node) ([]graph.Result, error) {
	r, err := inferPool(n)
	if err == nil {
		r[0].Type = graph.Int64
	}
	return r, err
}

// maxComparisons bounds the elements that the host compares for one node, which takes some seconds.
const maxComparisons = 1 << 31

// checkComparisons returns an error if n results of up to each comparisons need too many.
func checkComparisons(n, each int) error {
	if each > 0 && n > maxComparisons/each {
		return fmt.Errorf("%d results of up to %d comparisons each; want at most %d in all", n, each, maxComparisons)
	}
	return nil
}

func foldPoolIndices(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	x, d, err := readConstantOperand(n, 0)
	if err != nil {
		return nil, err
	}
	w, err := WindowOf(n, d[2:], nil)
	if err != nil {
		return nil, err
	}
	byColumns := n.Int("storage_order", 0) != 0
	n.Accept("ceil_mode", int64(n.Int("ceil_mode", 0))) // the window has it
	if err := checkComparisons(graph.Elements(res[0].Dims), graph.Elements(w.Taps)); err != nil {
		return nil, err
	}
	rank := len(w.Taps)
	plane, columns, rows := graph.Elements(d[2:]), d[len(d)-1], 1
	if rank > 1 {
		rows = d[len(d)-2]
	}
	taps, step := graph.Elements(w.Taps), graph.Strides(d[2:])
	out := make([]float64, graph.Elements(res[0].Dims))
	each := max(1, graph.Elements(w.Out))
	place := make([]int, rank)
	for o := range out {
		for i, rest := rank-1, o%each; i >= 0; i-- {
			place[i], rest = rest%w.Out[i]*w.Strides[i]-w.Before[i], rest/w.Out[i]
		}
		first, best, largest := o/each*plane, -1, math.Inf(-1)
		for t := range taps {
			at, inside := 0, true
			for i, rest := rank-1, t; i >= 0; i-- {
				p := place[i] + rest%w.Taps[i]*w.Dilations[i]
				inside, at, rest = inside && p >= 0 && p < d[2+i], at+p*step[i], rest/w.Taps[i]
			}
			// The first element counts even if it is -Inf or NaN, so that every window has an index.
			if inside && (best < 0 || x[first+at] > largest) {
				best, largest = at, x[first+at]
			}
		}
		if best = max(best, 0); byColumns {
			best += best%columns*rows + best/columns%rows - best%(rows*columns)
		}
		out[o] = float64(first + best)
	}
	return newResultConst(res, out), nil
}

// inferMaxRoiPool infers the result of a MaxRoiPool: for each region, the maxima of as many parts as
// pooled_shape says.
func inferMaxRoiPool(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	r, err := n.Dims(1)
	if err != nil {
		return nil, err
	}
	parts, given, err := n.List("pooled_shape", -1)
	if err != nil {
		return nil, err
	}
	if !given || len(parts) != 2 || min(parts[0], parts[1]) < 1 || max(parts[0], parts[1]) > graph.MaxExtent || len(d) != 4 || len(r) != 2 || r[1] != 5 {
		return nil, fmt.Errorf("pooled_shape %v and region shape %v do not fit input shape %v; want two extents, 5 numbers for each region and 4 input axes", parts, r, d)
	}
	return newSingleResult(n, []int{r[0], d[1], parts[0], parts[1]}), nil
}

// foldMaxRoiPool computes a MaxRoiPool. The bounds of a region are rounded to whole pixels, halves away
// from 0, and both belong to the region. A part without pixels is 0.
func foldMaxRoiPool(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	in, err := readOperands(n, 2)
	if err != nil {
		return nil, err
	}
	x, d, regions, to := in[0].numbers, in[0].dims, in[1].numbers, res[0].Dims
	scale := float64(n.Float("spatial_scale", 1))
	if err := checkComparisons(to[0]*d[1], d[2]*d[3]); err != nil {
		return nil, err
	}
	out := make([]float64, graph.Elements(to))
	c, ph, pw, h, w := d[1], to[2], to[3], d[2], d[3]
	// bounds returns the first pixel of part i of parts, and the one after the last.
	bounds := func(from, to float64, i, parts, limit int) (int, int) {
		begin := math.Round(from * scale)
		size := max(1, math.Round(to*scale)-begin+1) / float64(parts)
		at := func(v float64) int { return int(max(0, min(v+begin, float64(limit)))) }
		return at(math.Floor(float64(i) * size)), at(math.Ceil(float64(i+1) * size))
	}
	for k := range to[0] {
		r := regions[5*k : 5*k+5]
		b, err := resolveIndex(r[0], d[0])
		if err != nil {
			return nil, err
		}
		for p := range c * ph * pw {
			y1, y2 := bounds(r[2], r[4], p/pw%ph, ph, h)
			x1, x2 := bounds(r[1], r[3], p%pw, pw, w)
			plane := x[(b*c+p/(ph*pw))*h*w:]
			if y1 >= y2 || x1 >= x2 {
				continue
			}
			largest := math.Inf(-1)
			for y := y1; y < y2; y++ {
				largest = max(largest, slices.Max(plane[y*w+x1:y*w+x2]))
			}
			out[k*c*ph*pw+p] = largest
		}
	}
	return newResultConst(res, out), nil
}

// readDeformation returns the window of n, a DeformColumns, and the number of offset groups. d is the
// shape of the images.
func readDeformation(n *graph.Node, d []int) (w Window, groups int, err error) {
	if len(d) != 4 {
		return w, 0, fmt.Errorf("input has shape %v; want 4 axes", d)
	}
	if w, err = WindowOf(n, d[2:], nil); err != nil {
		return w, 0, err
	}
	if groups = n.Int("offset_group", 1); groups < 1 || d[1]%groups != 0 {
		return w, 0, fmt.Errorf("offset_group is %d for %d channels; want a divisor", groups, d[1])
	}
	for i, each := range [...]int{0, 2 * groups * w.Taps[0] * w.Taps[1], groups * w.Taps[0] * w.Taps[1]} {
		if i == 0 || !n.Given(i) {
			continue
		}
		got, err := n.Dims(i)
		if err != nil {
			return w, 0, err
		}
		if want := []int{d[0], each, w.Out[0], w.Out[1]}; !slices.Equal(got, want) {
			return w, 0, fmt.Errorf("%s has shape %v; want %v", [...]string{"", "offset", "mask"}[i], got, want)
		}
	}
	if !n.Given(1) {
		err = errors.New(`input "offset" is missing`)
	}
	return w, groups, err
}

// inferDeformColumns infers the matrix of the elements under each tap of a DeformConv: for each image
// and channel, a row for each tap and a column for each place of the window.
func inferDeformColumns(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	w, _, err := readDeformation(n, d)
	if err != nil {
		return nil, err
	}
	return newSingleResult(n, []int{d[0], d[1], graph.Elements(w.Taps), graph.Elements(w.Out)}), nil
}

// foldDeformColumns samples each tap at its place plus an offset in rows and columns, bilinearly, with
// zeros around the image, and multiplies it by its mask.
func foldDeformColumns(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	in, err := readOperands(n, 2)
	if err != nil {
		return nil, err
	}
	x, d, offset := in[0].numbers, in[0].dims, in[1].numbers
	w, groups, err := readDeformation(n, d)
	if err != nil {
		return nil, err
	}
	var mask []float64
	if n.Given(2) {
		if mask, _, err = readConstantOperand(n, 2); err != nil {
			return nil, err
		}
	}
	taps, places := graph.Elements(w.Taps), graph.Elements(w.Out)
	out := make([]float64, graph.Elements(res[0].Dims))
	for b := range d[0] {
		for c := range d[1] {
			image := x[(b*d[1]+c)*d[2]*d[3]:][:d[2]*d[3]]
			// Channels of one group share offsets and masks.
			group := b*groups + c/(d[1]/groups)
			for t := range taps {
				for o := range places {
					y := float64(o/w.Out[1]*w.Strides[0] - w.Before[0] + t/w.Taps[1]*w.Dilations[0])
					x := float64(o%w.Out[1]*w.Strides[1] - w.Before[1] + t%w.Taps[1]*w.Dilations[1])
					at := (group*taps+t)*2*places + o
					v := sampleZeroPadded(image, d[2], d[3], y+offset[at], x+offset[at+places])
					if mask != nil {
						v *= mask[(group*taps+t)*places+o]
					}
					out[((b*d[1]+c)*taps+t)*places+o] = v
				}
			}
		}
	}
	return newResultConst(res, out), nil
}

// sampleZeroPadded returns the image with h rows and w columns at y, x, interpolated bilinearly. Pixels
// outside it are 0.
func sampleZeroPadded(image []float64, h, w int, y, x float64) (sum float64) {
	if !(y > -1 && y < float64(h) && x > -1 && x < float64(w)) {
		return 0
	}
	y0, x0 := math.Floor(y), math.Floor(x)
	for i := range 4 {
		py, px := y0+float64(i/2), x0+float64(i%2)
		if share := (1 - math.Abs(y-py)) * (1 - math.Abs(x-px)); share > 0 && py >= 0 && py < float64(h) && px >= 0 && px < float64(w) {
			sum += float64(share * image[int(py)*w+int(px)])
		}
	}
	return sum
}

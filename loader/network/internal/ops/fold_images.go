package ops

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"anesim/internal/network/graph"
)

// Operators on images at computed positions: box suppression and sampling between pixels.

// foldNonMaxSuppression computes a NonMaxSuppression: it selects boxes by descending score, class
// by class, and drops boxes that overlap a selected one too much. The result has one row for each
// selected box.
func foldNonMaxSuppression(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	in, err := readOperands(n, 2)
	if err != nil {
		return nil, err
	}
	boxes, d, scores, s := in[0].numbers, in[0].dims, in[1].numbers, in[1].dims
	bound := [3]float64{0, 0, math.Inf(-1)} // boxes per class, overlap, score
	for i := range bound {
		if n.Given(2 + i) {
			if bound[i], err = n.Const(2 + i).Scalar(); err != nil {
				return nil, err
			}
		}
	}
	box := func(i int) (y1, x1, y2, x2 float64) {
		b := boxes[4*i : 4*i+4]
		if n.Int("center_point_box", 0) != 0 {
			return b[1] - b[3]/2, b[0] - b[2]/2, b[1] + b[3]/2, b[0] + b[2]/2
		}
		// The two corners may be any of a diagonal.
		return min(b[0], b[2]), min(b[1], b[3]), max(b[0], b[2]), max(b[1], b[3])
	}
	overlap := func(i, j int) float64 {
		a1, b1, a2, b2 := box(i)
		c1, d1, c2, d2 := box(j)
		both := float64(max(0, min(a2, c2)-max(a1, c1)) * max(0, min(b2, d2)-max(b1, d1)))
		if all := float64((a2-a1)*(b2-b1)) + float64((c2-c1)*(d2-d1)) - both; all > 0 {
			return both / all
		}
		return 0
	}
	most := 3 * res[0].Dims[0]
	out := []float64{}
	count := d[1]
	for b := range s[0] {
		for c := range s[1] {
			v := scores[(b*s[1]+c)*count:][:count]
			var order []int
			for i, x := range v {
				if x > bound[2] {
					order = append(order, i)
				}
			}
			// Stable, so that of equal scores the lower index wins.
			slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(v[j], v[i]) })
			var chosen []int
			for _, i := range order {
				if float64(len(chosen)) >= bound[0] || len(out) >= most {
					break
				}
				if slices.ContainsFunc(chosen, func(j int) bool { return overlap(b*count+i, b*count+j) > bound[1] }) {
					continue
				}
				chosen = append(chosen, i)
				out = append(out, float64(b), float64(c), float64(i))
			}
		}
	}
	return newResultConst([]graph.Result{{Dims: []int{len(out) / 3, 3}, Type: res[0].Type}}, out), nil
}

// foldGridSample computes a GridSample, which samples images between pixels, at coordinates from -1
// to 1 that a grid lists.
func foldGridSample(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	in, err := readOperands(n, 2)
	if err != nil {
		return nil, err
	}
	v, d, grid, g := in[0].numbers, in[0].dims, in[1].numbers, in[1].dims
	if err := checkGrid(d, g); err != nil {
		return nil, err
	}
	if d[2]*d[3] == 0 && graph.Elements(g) > 0 {
		return nil, fmt.Errorf("cannot sample empty images of shape %v", d)
	}
	mode := n.Text("mode", "linear")
	from := imageSampler{numbers: v, h: d[2], w: d[3], outside: n.Text("padding_mode", "zeros"), corners: n.Int("align_corners", 0) != 0}
	out := make([]float64, graph.Elements(res[0].Dims))
	places := g[1] * g[2]
	for b := range d[0] {
		for i := range places {
			x, y := from.gridToPixels(grid[2*(b*places+i)], from.w), from.gridToPixels(grid[2*(b*places+i)+1], from.h)
			// A cubic reads pixels on both sides of the point, and pads each of them on its own.
			if mode != "cubic" && mode != "bicubic" {
				x, y = from.reflectOrClamp(x, from.w), from.reflectOrClamp(y, from.h)
			}
			// A coordinate that is NaN or too large for an integer counts as outside of the image.
			if x != x || y != y || math.Abs(x) > 1<<30 || math.Abs(y) > 1<<30 {
				x, y = -2, -2
			}
			for c := range d[1] {
				p := b*d[1] + c
				if out[p*places+i], err = from.interpolatePixel(p, y, x, mode); err != nil {
					return nil, err
				}
			}
		}
	}
	return newResultConst(res, out), nil
}

// An imageSampler samples images at positions between pixels.
type imageSampler struct {
	numbers []float64
	h, w    int
	outside string // values outside an image: zeros, border or reflection
	corners bool   // whether -1 and 1 mean the centers of the outermost pixels, not their edges
}

// gridToPixels converts coordinate x of a grid, from -1 to 1, to a position in pixels along an axis
// with the given extent.
func (s *imageSampler) gridToPixels(x float64, extent int) float64 {
	if s.corners {
		return (x + 1) / 2 * float64(extent-1)
	}
	return (float64((x+1)*float64(extent)) - 1) / 2
}

// reflectOrClamp returns the position along an axis from which the padding mode takes the value for
// position x: x reflected at the edges of the image in mode reflection, x clamped to the image in
// mode border, and x itself in mode zeros.
func (s *imageSampler) reflectOrClamp(x float64, extent int) float64 {
	low, high := -0.5, float64(extent)-0.5
	if s.corners {
		low, high = 0, float64(extent-1)
	}
	switch s.outside {
	case "border":
		return min(max(x, 0), float64(extent-1))
	case "reflection":
		if span := high - low; span > 0 {
			x = math.Mod(math.Abs(x-low), 2*span)
			x = low + min(x, 2*span-x)
		} else {
			x = 0
		}
		return min(max(x, 0), float64(extent-1))
	}
	return x
}

// pixelAt returns the pixel in row y and column x of image p. Outside the image, it returns the
// value that the padding mode defines.
func (s *imageSampler) pixelAt(p, y, x int) float64 {
	if y < 0 || y >= s.h || x < 0 || x >= s.w {
		if s.outside == "zeros" {
			return 0
		}
		y, x = int(s.reflectOrClamp(float64(y), s.h)), int(s.reflectOrClamp(float64(x), s.w))
	}
	return s.numbers[(p*s.h+y)*s.w+x]
}

// interpolatePixel returns the value of image p at a position between pixels. mode is nearest,
// linear, cubic, or an older name of these. interpolatePixel returns an error for any other mode.
func (s *imageSampler) interpolatePixel(p int, y, x float64, mode string) (float64, error) {
	x0, y0, sum := math.Floor(x), math.Floor(y), 0.0
	switch mode {
	case "nearest":
		return s.pixelAt(p, int(math.RoundToEven(y)), int(math.RoundToEven(x))), nil
	case "linear", "bilinear":
		for k := range 4 {
			dy, dx := k/2, k%2
			wy, wx := 1-math.Abs(y-y0-float64(dy)), 1-math.Abs(x-x0-float64(dx))
			if wy*wx != 0 {
				sum += float64(wy * wx * s.pixelAt(p, int(y0)+dy, int(x0)+dx))
			}
		}
		return sum, nil
	case "cubic", "bicubic":
		for k := range 16 {
			dy, dx := k/4-1, k%4-1
			sum += float64(cubicPixelWeight(y-y0-float64(dy)) * cubicPixelWeight(x-x0-float64(dx)) * s.pixelAt(p, int(y0)+dy, int(x0)+dx))
		}
		return sum, nil
	}
	return 0, fmt.Errorf("unknown interpolation mode %q; want nearest, linear or cubic", mode)
}

// cubicPixelWeight returns the cubic interpolation weight of a pixel at distance d, for the
// parameter a = -0.75.
func cubicPixelWeight(d float64) float64 {
	const a = -0.75
	d = math.Abs(d)
	switch {
	case d <= 1:
		return float64((a+2)*d*d*d) - float64((a+3)*d*d) + 1
	case d < 2:
		return float64(a*d*d*d) - float64(5*a*d*d) + float64(8*a*d) - 4*a
	}
	return 0
}

// foldRoiAlign computes a RoiAlign: it divides each box into cells, samples every cell at points
// between pixels, and returns the mean or the maximum of each cell's samples.
func foldRoiAlign(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	in, err := readOperands(n, 3)
	if err != nil {
		return nil, err
	}
	v, d, boxes, r, batch := in[0].numbers, in[0].dims, in[1].numbers, in[1].dims, in[2].numbers
	to := res[0].Dims
	switch {
	case len(d) != 4 || len(r) != 2 || r[1] != 4:
		return nil, fmt.Errorf("box shape %v is incompatible with input shape %v; want [boxes 4] and 4 input axes", r, d)
	case len(batch) != r[0]:
		return nil, fmt.Errorf("%d batch indices for %d boxes; want one per box", len(batch), r[0])
	case d[2]*d[3] == 0 && r[0] > 0:
		return nil, fmt.Errorf("cannot sample empty images of shape %v", d)
	}
	oh, ow, c := to[2], to[3], d[1]
	scale, ratio := float64(n.Float("spatial_scale", 1)), n.Int("sampling_ratio", 0)
	mode, missing := n.Text("mode", "avg"), "half_pixel"
	// Before version 16 of the operator there was no shift by half a pixel.
	if n.Opset < 16 {
		missing = "output_half_pixel"
	}
	half := 0.0
	if n.Text("coordinate_transformation_mode", missing) == "half_pixel" {
		half = 0.5
	}
	h, w := d[2], d[3]
	out := make([]float64, graph.Elements(to))
	for k := range r[0] {
		b, err := resolveIndex(batch[k], d[0])
		if err != nil {
			return nil, err
		}
		x1, y1 := float64(boxes[4*k]*scale)-half, float64(boxes[4*k+1]*scale)-half
		bw, bh := float64(boxes[4*k+2]*scale)-half-x1, float64(boxes[4*k+3]*scale)-half-y1
		// Without the shift, every box is at least one pixel large, as the operator's definition says.
		if half == 0 {
			bw, bh = max(bw, 1), max(bh, 1)
		}
		sy, sx := bh/float64(oh), bw/float64(ow)
		ny, nx := ratio, ratio
		if ratio <= 0 {
			ny, nx = int(math.Ceil(sy)), int(math.Ceil(sx))
		}
		// The number of points follows from box coordinates, which are data: a file of bytes could ask for
		// years of work.
		if ny > 1<<10 || nx > 1<<10 {
			return nil, fmt.Errorf("box needs %d x %d sample points per cell; want at most 1024 x 1024", ny, nx)
		}
		for i := range c * oh * ow {
			p, y, x := i/(oh*ow), i/ow%oh, i%ow
			sum, largest := 0.0, math.Inf(-1)
			for q := range ny * nx {
				y, x := y1+float64(sy*(float64(y)+(float64(q/nx)+0.5)/float64(ny))), x1+float64(sx*(float64(x)+(float64(q%nx)+0.5)/float64(nx)))
				// The maximum is that of the weighted terms of each point, not of the points, as in ONNX's
				// reference implementation.
				for _, part := range bilinearTerms(v[(b*c+p)*h*w:], h, w, y, x) {
					sum += part
					largest = max(largest, part)
				}
			}
			if out[k*c*oh*ow+i] = sum / float64(max(1, ny*nx)); mode == "max" && ny*nx > 0 {
				out[k*c*oh*ow+i] = largest
			}
		}
	}
	return newResultConst(res, out), nil
}

// bilinearTerms returns the four pixels around position y, x of an image with h rows and w columns,
// each multiplied by its weight in a bilinear interpolation. All are 0 if the position is more than
// a pixel outside the image.
func bilinearTerms(image []float64, h, w int, y, x float64) [4]float64 {
	if !(y >= -1 && y <= float64(h) && x >= -1 && x <= float64(w)) {
		return [4]float64{}
	}
	y, x = max(y, 0), max(x, 0)
	y0, x0 := min(int(y), h-1), min(int(x), w-1)
	y1, x1 := min(y0+1, h-1), min(x0+1, w-1)
	if y0 == h-1 {
		y = float64(y0)
	}
	if x0 == w-1 {
		x = float64(x0)
	}
	fy, fx := y-float64(y0), x-float64(x0)
	at := func(y, x int) float64 { return image[y*w+x] }
	return [4]float64{(1 - fy) * (1 - fx) * at(y0, x0), (1 - fy) * fx * at(y0, x1), fy * (1 - fx) * at(y1, x0), fy * fx * at(y1, x1)}
}

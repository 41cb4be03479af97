package choose

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"anesim/internal/network/graph"
	"anesim/loader/layer"
	"anesim/loader/network/internal/ops"
)

// addResizeLayers adds layers that compute a Resize or Upsample: a product with a matrix of
// interpolation weights along each axis whose elements change.
func addResizeLayers(n *Chooser, x Operand) (Operand, error) {
	axes, err := resizedAxes(n, x.Dims)
	if err != nil {
		return Operand{}, err
	}
	for axis, a := range slices.Backward(axes) {
		if a.keepsElements() {
			continue
		}
		weight, err := a.weights()
		if err == nil {
			x, err = n.multiplyAxisByMatrix(x, axis, a.out, weight)
		}
		if err != nil {
			return Operand{}, err
		}
	}
	if v := float64(n.Float("extrapolation_value", 0)); v != 0 {
		return addOutside(n, x, axes, v)
	}
	return x, nil
}

// A resizedAxis describes how a Resize turns an axis of in elements into one of out elements. The
// other fields come from the attributes of the node.
type resizedAxis struct {
	in, out                         int
	scale                           float64 // out / in, before it is rounded to whole elements
	start, end                      float64 // region of tf_crop_and_resize, as shares of the axis
	coordinates, rounding, mode     string
	cubic                           float64 // the cubic coefficient
	excludesOutside, widensOnShrink bool
}

// resizedAxes returns a description of each axis of a Resize or Upsample of a tensor with shape
// dims.
func resizedAxes(n *Chooser, dims []int) ([]resizedAxis, error) {
	scales, out, err := ops.Scales(n.Node, dims)
	if err != nil {
		return nil, err
	}
	if n.Op == "Resize" && n.Opset >= 11 {
		n.Node.Input(1) // roi, which only tf_crop_and_resize uses
	}
	coordinates, rounding := n.Text("coordinate_transformation_mode", "half_pixel"), n.Text("nearest_mode", "round_prefer_floor")
	if n.Op == "Upsample" || n.Opset < 11 {
		coordinates, rounding = "asymmetric", "floor"
	}
	switch coordinates {
	case "half_pixel", "pytorch_half_pixel", "align_corners", "tf_half_pixel_for_nn", "asymmetric", "half_pixel_symmetric", "tf_crop_and_resize":
	default:
		return nil, fmt.Errorf("coordinate_transformation_mode %q is not supported", coordinates)
	}
	list := make([]resizedAxis, len(dims))
	for i := range list {
		list[i] = resizedAxis{
			in: dims[i], out: out[i], scale: scales[i], end: 1, coordinates: coordinates, rounding: rounding, mode: n.Text("mode", "nearest"),
			cubic: float64(n.Float("cubic_coeff_a", -0.75)), excludesOutside: n.Int("exclude_outside", 0) != 0, widensOnShrink: n.Int("antialias", 0) != 0,
		}
		if n.Op == "Resize" && n.Opset < 11 && scales[i] < 1 { // operator set 10 has no nearest_mode, and rounds up in a smaller result
			list[i].rounding = "ceil"
		}
	}
	if coordinates == "tf_crop_and_resize" {
		err = setRegions(n, list)
	}
	return list, err
}

// setRegions sets the fields start and end of the axes in list from input 1 of a Resize node, roi.
// It holds the starts of all axes, and then their ends.
func setRegions(n *Chooser, list []resizedAxis) error {
	axes, given, err := n.List("axes", -1)
	if err != nil {
		return err
	}
	if !given {
		for i := range list {
			axes = append(axes, i)
		}
	}
	c := n.Const(1)
	if c == nil {
		return errors.New(`input "roi" is computed or missing; want a constant`)
	}
	if c.Elements() != 2*len(axes) {
		return fmt.Errorf(`input "roi" has %d values; want %d, two per axis`, c.Elements(), 2*len(axes))
	}
	region, err := c.Values()
	if err != nil {
		return err
	}
	for i, a := range axes {
		k, err := ops.Axis(len(list), a)
		if err != nil {
			return err
		}
		list[k].start, list[k].end = region[i], region[i+len(axes)]
	}
	return nil
}

// keepsElements reports whether the resized axis has the same elements as the original one.
func (a *resizedAxis) keepsElements() bool {
	return a.in == a.out && a.scale == 1 && a.start == 0 && a.end == 1
}

// coordinate returns the position on the original axis from which element o of the resized axis is
// computed. It rounds to float32 as onnxruntime does, which decides where a coordinate is halfway between
// two elements: 8.5/1.7 is 5 in float32, and less in float64 if the factor was rounded before.
func (a *resizedAxis) coordinate(o int) float64 {
	x, scale, in, out := float32(o), float32(a.scale), float32(a.in), float32(a.out)
	half := (x+0.5)/scale - 0.5
	switch a.coordinates {
	case "half_pixel":
		return float64(half)
	case "pytorch_half_pixel":
		if a.out == 1 {
			return 0
		}
		return float64(half)
	case "align_corners":
		// Use the length before it is rounded down.
		if length := float64(a.scale * float64(a.in)); length > 1 {
			return float64(float32(x*(in-1)) / float32(length-1))
		}
		return 0
	case "tf_half_pixel_for_nn":
		return float64((x + 0.5) / scale)
	case "half_pixel_symmetric":
		adjust := out / float32(scale*in)
		return float64(float32(in/2*(1-adjust)) + (x+0.5)/scale - 0.5)
	case "tf_crop_and_resize":
		start, end := float32(a.start), float32(a.end)
		if a.out == 1 {
			return float64(float32(0.5*(start+end)) * (in - 1))
		}
		return float64(float32(start*(in-1)) + float32(float32(x*(end-start))*(in-1))/(out-1))
	}
	return float64(x / scale)
}

// isOutside reports whether element o of the resized axis gets the extrapolation value, because its
// coordinate is outside the original axis.
func (a *resizedAxis) isOutside(o int) bool {
	x := a.coordinate(o)
	return a.coordinates == "tf_crop_and_resize" && (x < 0 || x > float64(a.in-1))
}

// weights returns a function that returns the weight with which element i of the original axis
// contributes to element o of the resized one. All weights are 0 for an element o that is outside.
func (a *resizedAxis) weights() (func(o, i int) float64, error) {
	var inside func(o, i int) float64
	switch a.mode {
	case "nearest":
		inside = func(o, i int) float64 {
			return graph.Truth(a.clamp(roundCoordinate(a.coordinate(o), a.rounding)) == i)
		}
	case "linear", "bilinear":
		inside = func(o, i int) float64 {
			return a.interpolate(o, i, 1, func(d float64) float64 { return max(0, 1-d) })
		}
	case "cubic":
		inside = func(o, i int) float64 {
			return a.interpolate(o, i, 2, func(d float64) float64 { return cubicWeight(d, a.cubic) })
		}
	default:
		return nil, fmt.Errorf("unknown resize mode %q; want nearest, linear or cubic", a.mode)
	}
	return func(o, i int) float64 {
		if a.isOutside(o) {
			return 0
		}
		return inside(o, i)
	}, nil
}

// clamp returns i as an index of the original axis: 0 if i is negative, and the last index if i is
// larger.
func (a *resizedAxis) clamp(i float64) int { return int(max(0, min(float64(a.in-1), i))) }

// interpolate returns the weight of element i of the original axis in element o of the resized one.
// kernel returns the weight of an element at distance d, up to a distance of reach elements. If the
// axis shrinks and the node has the attribute antialias, the kernel is stretched by the same
// factor. With exclude_outside, taps outside the axis have no weight, and the weights of the others
// are scaled to a sum of 1. Otherwise, the first or last element gets their weight.
func (a *resizedAxis) interpolate(o, i int, reach float64, kernel func(d float64) float64) float64 {
	x, stretch := a.coordinate(o), 1.0
	if a.widensOnShrink && a.scale < 1 {
		stretch = 1 / a.scale
	}
	sum, all := 0.0, 0.0
	for k := math.Floor(x-float64(reach*stretch)) + 1; k <= math.Floor(x+float64(reach*stretch)); k++ {
		if a.excludesOutside && (k < 0 || k >= float64(a.in)) {
			continue
		}
		w := kernel(math.Abs(k-x) / stretch)
		all += w
		if a.clamp(k) == i {
			sum += w
		}
	}
	return sum / all
}

// addOutside adds layers that add v to the elements of x that are outside along any axis. Those
// elements must be 0.
func addOutside(n *Chooser, x Operand, axes []resizedAxis, v float64) (Operand, error) {
	dims := slices.Repeat([]int{1}, len(axes))
	for axis, a := range axes {
		for o := range a.out {
			if a.isOutside(o) {
				dims[axis] = a.out
			}
		}
	}
	if graph.Elements(dims) == 1 && !slices.ContainsFunc(axes, func(a resizedAxis) bool { return a.isOutside(0) }) {
		return x, nil
	}
	if err := n.Spend(numberBytes * graph.Elements(dims)); err != nil {
		return x, err
	}
	addend := make([]float64, graph.Elements(dims))
	for k := range addend {
		for axis, rest := len(dims)-1, k; axis >= 0; axis-- {
			if axes[axis].isOutside(rest % dims[axis]) {
				addend[k] = v
			}
			rest /= dims[axis]
		}
	}
	return n.applyConstantOperand(layer.Add, x, &graph.Const{Dims: dims, Type: graph.Float, Numbers: addend})
}

// roundCoordinate rounds a coordinate to an integer. The mode is an ONNX nearest_mode;
// round_prefer_floor is the default.
func roundCoordinate(x float64, mode string) float64 {
	switch mode {
	case "floor":
		return math.Floor(x)
	case "ceil":
		return math.Ceil(x)
	case "round_prefer_ceil":
		return math.Floor(x + 0.5)
	}
	return math.Ceil(x - 0.5)
}

// cubicWeight returns the weight of an element at distance d in a cubic interpolation with
// coefficient a.
func cubicWeight(d, a float64) float64 {
	switch {
	case d <= 1:
		return float64((a+2)*d*d*d) - float64((a+3)*d*d) + 1
	case d < 2:
		return float64(a*d*d*d) - float64(5*a*d*d) + float64(8*a*d) - float64(4*a)
	}
	return 0
}

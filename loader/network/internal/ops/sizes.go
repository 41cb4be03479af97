package ops

import (
	"slices"

	"anesim/internal/network/graph"
)

// Some results have a size that depends on values: the boxes that a NonMaxSuppression keeps,
// the indices that a NonZero finds. The engine's programs have fixed shapes, so the host
// computes such a result and the nodes that read it, each in its size of the current run.
//
// Reading a graph only needs bounds. Dims of such a tensor are the largest extents and Least
// the smallest. Elements computed from these extents, such as the shape for a Reshape, have
// bounds as well: a Span.

// A Spread holds bounds on the extents and elements of a result. They are needed for tensors whose
// size depends on values, and for elements that are computed from such a size.
type Spread struct {
	Least []int       // nil if the extents are always the same
	Span  *graph.Span // nil if the elements have no known bounds
}

// dynamicAxis returns the axis along which the extent of r, the node's result i, depends on the
// values that the node reads. It returns -1 if there is none.
func dynamicAxis(n *graph.Node, i int, r graph.Result) int {
	switch n.Op {
	case "NonMaxSuppression":
		return 0
	case "NonZero":
		return 1
	case "Compress":
		if n.Attribute("axis") == nil {
			return 0
		}
		if axis, err := Axis(len(r.Dims), n.Int("axis", 0)); err == nil {
			return axis
		}
	case "Unique":
		if i == 2 {
			return -1
		}
		if i > 0 || n.Attribute("axis") == nil {
			return 0
		}
		if axis, err := Axis(len(r.Dims), n.Int("axis", 0)); err == nil {
			return axis
		}
	}
	return -1
}

// MakesDynamic reports whether the sizes of the node's results depend on the values of its inputs,
// and not only on their shapes. This is the case for NonZero.
func MakesDynamic(n *graph.Node) bool {
	return Of(n.Op).Has(Sizes) || hasUnboundedPart(n)
}

// hasUnboundedPart reports whether the node keeps only a part of its first input, whose size is
// computed and has no known bounds.
func hasUnboundedPart(n *graph.Node) bool {
	computed := func(i int) bool {
		return n.Given(i) && n.Const(i) == nil && n.In[i].Span == nil
	}
	switch n.Op {
	case "Slice":
		return len(n.In) > 2 && (computed(1) || computed(2)) && !computed(3) && !computed(4)
	case "TopK":
		return computed(1)
	}
	return false
}

// IsDynamic reports whether the node has a result or an input whose size depends on values. It also
// returns true if an input has elements that are computed from such a size.
func IsDynamic(n *graph.Node) bool {
	return MakesDynamic(n) || slices.ContainsFunc(n.In, func(v *graph.Value) bool { return v.Least != nil || v.Span != nil })
}

// forEachBoundCombination calls visit with copies of the node whose inputs are at their bounds. The
// first copy has all inputs at their largest. The others are every combination of least and largest
// inputs or, if there are more than 4 inputs with a span, one copy with all inputs at their least.
func forEachBoundCombination(n *graph.Node, visit func(at *graph.Node)) {
	const most = 4 // inputs whose combinations are tried
	sized := false
	var spans []*graph.Value
	for _, v := range n.In {
		sized = sized || v.Least != nil
		if v.Span != nil && !slices.Contains(spans, v) {
			spans = append(spans, v)
		}
	}
	// Bit 0 is the size of all inputs together, and each span has a bit of its own.
	last := 1<<(1+len(spans)) - 1
	for c := 0; c <= last; c++ {
		if len(spans) > most {
			c = last * min(c, 1)
		}
		if !sized && c&1 != 0 && c != last {
			continue
		}
		at := *n
		at.In = make([]*graph.Value, len(n.In))
		for i, v := range n.In {
			w := *v
			if v.Least != nil && c&1 != 0 {
				w.Dims = v.Least
			}
			if v.Span != nil {
				if w.Const = v.Span.High; c>>(1+slices.Index(spans, v))&1 != 0 {
					w.Const = v.Span.Low
				}
			}
			at.In[i] = &w
		}
		visit(&at)
	}
}

// InferBounds returns the largest shape of each result of a node for which [IsDynamic] returns
// true, and a [Spread] with the bounds of each result. It returns an error if no largest shapes can
// be inferred.
func InferBounds(n *graph.Node) ([]graph.Result, []Spread, error) {
	var least, most []graph.Result
	var failed error // the error of Infer for the largest inputs
	loose := false   // whether the least extents are unknown
	forEachBoundCombination(n, func(at *graph.Node) {
		switch made, err := Infer(at); {
		case err != nil && most == nil && failed == nil && !loose:
			failed = err
		case err != nil:
			loose = true
		case most == nil:
			most, least = cloneResults(made), cloneResults(made)
		default:
			loose = !widenBounds(least, most, made) || loose
		}
	})
	if most == nil && hasUnboundedPart(n) {
		if d, err := n.Dims(0); err == nil {
			most, failed = uncutResults(n, d), nil
			least = cloneResults(most)
		}
	}
	if most == nil {
		return nil, nil, failed
	}
	spreads := make([]Spread, len(most))
	for i := range most {
		switch axis := dynamicAxis(n, i, most[i]); {
		case loose || failed != nil || hasUnboundedPart(n):
			clear(least[i].Dims)
		case axis >= 0:
			least[i].Dims[axis] = 0
		}
		if !slices.Equal(least[i].Dims, most[i].Dims) {
			spreads[i].Least = least[i].Dims
		}
	}
	if len(most) == 1 && spreads[0].Least == nil {
		spreads[0].Span = computeElementBounds(n, most[0])
	}
	return most, spreads, nil
}

// uncutResults returns the results that a Slice or TopK node has if it keeps all of its input,
// whose shape is d.
func uncutResults(n *graph.Node, d []int) []graph.Result {
	r := []graph.Result{{Dims: slices.Clone(d), Type: n.Type(0)}}
	if n.Op == "TopK" {
		r = append(r, graph.Result{Dims: slices.Clone(d), Type: graph.Int64})
	}
	return r
}

func cloneResults(list []graph.Result) []graph.Result {
	out := slices.Clone(list)
	for i := range out {
		out[i].Dims = slices.Clone(out[i].Dims)
	}
	return out
}

// widenBounds lowers the extents in least and raises those in most so that they include the extents
// in more. It returns false if the results in more have another number or rank.
func widenBounds(least, most, more []graph.Result) bool {
	if len(more) != len(most) {
		return false
	}
	for i, r := range more {
		if len(r.Dims) != len(most[i].Dims) {
			return false
		}
		for k, d := range r.Dims {
			least[i].Dims[k], most[i].Dims[k] = min(least[i].Dims[k], d), max(most[i].Dims[k], d)
		}
	}
	return true
}

// mostBounded is the largest number of elements of a tensor whose elements get bounds. Shapes
// and sizes are far smaller.
const mostBounded = 256

// computeElementBounds returns bounds of the elements of r, the node's only result. It returns nil
// unless the elements are computed from sizes by an operator that is monotonic in each operand.
func computeElementBounds(n *graph.Node, r graph.Result) *graph.Span {
	if graph.Elements(r.Dims) > mostBounded || !isMonotonic(n) {
		return nil
	}
	var s *graph.Span
	sound := true
	forEachBoundCombination(n, func(at *graph.Node) {
		made, err := Infer(at)
		// One bound that fails, or another shape, says nothing about the values between the bounds.
		if !sound || err != nil || !slices.Equal(made[0].Dims, r.Dims) {
			sound = false
			return
		}
		var c []*graph.Const
		err = at.Apply(func() (err error) {
			c, err = Of(at.Op).Host()(at, made)
			return err
		})
		if err != nil || len(c) != 1 {
			sound = false
			return
		}
		v, err := c[0].Values()
		switch {
		// NaN, such as of Inf - Inf, has no place between two bounds.
		case err != nil || len(v) != graph.Elements(r.Dims) || slices.ContainsFunc(v, func(x float64) bool { return x != x }):
			sound = false
		case s == nil:
			low, high := *c[0], *c[0]
			low.Numbers, high.Numbers = slices.Clone(v), slices.Clone(v)
			low.Half, low.Source, high.Half, high.Source = nil, nil, nil, nil
			s = &graph.Span{Low: &low, High: &high}
		default:
			for i, x := range v {
				s.Low.Numbers[i], s.High.Numbers[i] = min(s.Low.Numbers[i], x), max(s.High.Numbers[i], x)
			}
		}
	})
	if !sound {
		return nil
	}
	return s
}

// isMonotonic reports whether bounds of the result's elements follow from the bounds of the
// operands: every operand is a constant or has bounds, and the operator is monotonic in each
// bounded operand.
func isMonotonic(n *graph.Node) bool {
	switch n.Op {
	case "Shape", "Size":
		return true
	}
	first := 0 // operands that may have bounds; the others are constants
	switch op := Of(n.Op); {
	case op.Has(RisesAll):
		first = len(n.In)
	case op.Has(Rises):
		first = 1
	default:
		return false
	}
	for i, v := range n.In {
		if v.Given() && v.Const == nil && (i >= first || v.Span == nil) {
			return false
		}
	}
	return true
}

// IsRowwise reports whether the node computes each position independently along the axes whose
// extents depend on values. If so, zeros that are added to the inputs along these axes do not
// change the results at other positions.
func IsRowwise(n *graph.Node) bool {
	for i, v := range n.In {
		least, dims := v.Least, v.Dims
		for axis := range least {
			if least[axis] != dims[axis] && !isIndependentAlong(n, i, axis, len(dims)) {
				return false
			}
		}
	}
	return true
}

// isIndependentAlong reports whether each position along an axis of input i affects only one
// position of the node's result. rank is the number of axes of the input.
func isIndependentAlong(n *graph.Node, i, axis, rank int) bool {
	if Of(n.Op).Has(Elementwise) {
		return true
	}
	switch n.Op {
	case "MatMul":
		return rank > 1 && (i == 0 && axis < rank-1 || i == 1 && axis != rank-2)
	case "Gemm":
		return i == 0 && axis == 0 && n.Int("transA", 0) == 0
	case "Conv", "ConvTranspose", "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "BatchNormalization",
		"InstanceNormalization", "DepthToSpace", "SpaceToDepth":
		return i == 0 && axis == 0
	case "Resize", "Upsample":
		return i == 0 && axis == 0 && keepsFirstAxis(n)
	case "LayerNormalization":
		first, err := Axis(rank, n.Int("axis", -1))
		return err == nil && i == 0 && axis < first
	case "Softmax":
		along, err := Axis(rank, n.Int("axis", -1))
		return err == nil && n.Opset >= 13 && axis != along
	}
	return false
}

// keepsFirstAxis reports whether a Resize or Upsample leaves axis 0 as it is for any size of it.
func keepsFirstAxis(n *graph.Node) bool {
	d := n.In[0].Dims
	scales, _, err := Scales(n, d)
	if err != nil || scales[0] != 1 || n.Text("coordinate_transformation_mode", "") == "tf_crop_and_resize" {
		return false
	}
	axes, given, _ := n.List("axes", -1)
	return !n.Given(3) || given && !slices.Contains(axes, 0) && !slices.Contains(axes, -len(d))
}

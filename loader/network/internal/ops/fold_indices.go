package ops

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"anesim/internal/network/graph"
)

// resolveIndex converts v to an index into an axis of the given extent. A negative v counts from
// the end. resolveIndex returns an error if the index is out of range.
func resolveIndex(v float64, extent int) (int, error) {
	i := int(v)
	if i < 0 {
		i += extent
	}
	if i < 0 || i >= extent || v != v {
		return 0, fmt.Errorf("index %g is out of range for an axis of %d elements", v, extent)
	}
	return i, nil
}

func readConstantOperand(n *graph.Node, i int) ([]float64, []int, error) {
	c := n.Const(i)
	if c == nil {
		return nil, nil, fmt.Errorf("input %d is missing", i)
	}
	v, err := c.Values()
	return v, c.Dims, err
}

// An array holds the values and the shape of a constant input.
type array struct {
	numbers []float64
	dims    []int
}

// readOperands returns the values and shapes of the first k inputs, which must be constants.
func readOperands(n *graph.Node, k int) ([]array, error) {
	list := make([]array, k)
	for i := range list {
		v, d, err := readConstantOperand(n, i)
		if err != nil {
			return nil, err
		}
		list[i] = array{v, d}
	}
	return list, nil
}

func foldGatherElements(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	in, err := readOperands(n, 2)
	if err != nil {
		return nil, err
	}
	v, d, at, to := in[0].numbers, in[0].dims, in[1].numbers, in[1].dims
	axis, err := Axis(len(d), n.Int("axis", 0))
	if err != nil || len(to) != len(d) {
		return nil, cmp.Or(err, fmt.Errorf("index shape %v and data shape %v have different ranks", to, d))
	}
	for i := range d {
		if i != axis && to[i] > d[i] {
			return nil, fmt.Errorf("index shape %v exceeds data shape %v along axis %d", to, d, i)
		}
	}
	out := make([]float64, len(at))
	own := graph.Strides(d)
	own[axis] = 0
	step := graph.Strides(d)[axis]
	graph.Each(to, own, 0, func(k, base int) {
		p, bad := resolveIndex(at[k], d[axis])
		if bad != nil {
			err = bad
			return
		}
		out[k] = v[base+p*step]
	})
	return newResultConst(res, out), err
}

func foldGatherND(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	in, err := readOperands(n, 2)
	if err != nil {
		return nil, err
	}
	v, d, at, to := in[0].numbers, in[0].dims, in[1].numbers, in[1].dims
	batch := n.Int("batch_dims", 0)
	if batch < 0 || batch >= len(to) {
		return nil, fmt.Errorf("batch_dims is %d for index shape %v; want 0 to %d", batch, to, len(to)-1)
	}
	if batch+to[len(to)-1] > len(d) {
		return nil, fmt.Errorf("last dimension of index shape %v is too large for data shape %v; want at most %d", to, d, len(d)-batch)
	}
	k, own := to[len(to)-1], graph.Strides(d)
	size := graph.Elements(d[batch+k:])
	out := []float64{}
	rows := len(at) / max(1, k)
	// Rows of indices that share the batch axes follow each other, so a division finds their batch. Empty
	// axes must not divide by zero.
	shared := max(1, rows/max(1, graph.Elements(to[:batch])))
	for r := range rows {
		base := 0
		if batch > 0 {
			base = r / shared * own[batch-1]
		}
		for j := range k {
			p, err := resolveIndex(at[r*k+j], d[batch+j])
			if err != nil {
				return nil, err
			}
			base += p * own[batch+j]
		}
		out = append(out, v[base:base+size]...)
	}
	return newResultConst(res, out), nil
}

// reductionFunc returns the function that combines an element with an update of it, as the node's
// attribute reduction says. It returns an error for an unknown reduction.
func reductionFunc(n *graph.Node) (func(old, v float64) float64, error) {
	switch r := n.Text("reduction", "none"); r {
	case "none":
		return func(_, v float64) float64 { return v }, nil
	case "add":
		return func(old, v float64) float64 { return old + v }, nil
	case "mul":
		return func(old, v float64) float64 { return old * v }, nil
	case "max":
		return func(old, v float64) float64 { return max(old, v) }, nil
	case "min":
		return func(old, v float64) float64 { return min(old, v) }, nil
	default:
		return nil, fmt.Errorf("unknown reduction %q; want none, add, mul, max or min", r)
	}
}

func foldScatterElements(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	in, err := readOperands(n, 3)
	if err != nil {
		return nil, err
	}
	v, d, at, to, with := in[0].numbers, in[0].dims, in[1].numbers, in[1].dims, in[2].numbers
	axis, err := Axis(len(d), n.Int("axis", 0))
	if err != nil {
		return nil, err
	}
	put, err := reductionFunc(n)
	if err == nil && len(to) != len(d) {
		err = fmt.Errorf("index shape %v and data shape %v have different ranks", to, d)
	}
	if err != nil || len(with) != len(at) {
		return nil, cmp.Or(err, fmt.Errorf("%d updates for %d indices; want one per index", len(with), len(at)))
	}
	out := slices.Clone(v)
	own := graph.Strides(d)
	step := own[axis]
	// The index replaces the position along this axis, so walking does not move along it.
	own[axis] = 0
	graph.Each(to, own, 0, func(k, base int) {
		p, bad := resolveIndex(at[k], d[axis])
		// An index tensor that is larger than the data along another axis would reach beyond its end.
		if bad == nil && base+p*step >= len(out) {
			bad = fmt.Errorf("index shape %v exceeds data shape %v", to, d)
		}
		if bad != nil {
			err = bad
			return
		}
		out[base+p*step] = put(out[base+p*step], with[k])
	})
	return newResultConst(res, out), err
}

func foldScatterND(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	in, err := readOperands(n, 3)
	if err != nil {
		return nil, err
	}
	v, d, at, to, with := in[0].numbers, in[0].dims, in[1].numbers, in[1].dims, in[2].numbers
	put, err := reductionFunc(n)
	if err != nil || len(to) == 0 || to[len(to)-1] > len(d) {
		return nil, cmp.Or(err, fmt.Errorf("index shape %v is invalid for data shape %v; want at least 1 axis and a last dimension of at most %d", to, d, len(d)))
	}
	k := to[len(to)-1]
	size := graph.Elements(d[k:])
	out, own := slices.Clone(v), graph.Strides(d)
	if len(with) != len(at)/max(1, k)*size {
		return nil, fmt.Errorf("%d update values for %d indices; want %d per index", len(with), len(at)/max(1, k), size)
	}
	for r := range len(at) / max(1, k) {
		base := 0
		for j := range k {
			p, err := resolveIndex(at[r*k+j], d[j])
			if err != nil {
				return nil, err
			}
			base += p * own[j]
		}
		for i := range size {
			// In the order of the updates: without a reduction, the last of several for one place wins.
			out[base+i] = put(out[base+i], with[r*size+i])
		}
	}
	return newResultConst(res, out), nil
}

func foldOneHot(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	at, d, err := readConstantOperand(n, 0)
	if err != nil {
		return nil, err
	}
	v, _, err := readConstantOperand(n, 2)
	if err != nil || len(v) != 2 {
		return nil, cmp.Or(err, fmt.Errorf(`input "values" has %d elements; want 2`, len(v)))
	}
	to := res[0].Dims
	axis, err := Axis(len(d)+1, n.Int("axis", -1))
	if err != nil {
		return nil, err
	}
	out := slices.Repeat([]float64{v[0]}, graph.Elements(to))
	forEachLine(to, axis, func(k, first, step int) {
		p := int(at[k])
		if p < 0 {
			p += to[axis]
		}
		if p >= 0 && p < to[axis] {
			out[first+p*step] = v[1]
		}
	})
	return newResultConst(res, out), nil
}

func foldTrilu(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	v, d, err := readConstantOperand(n, 0)
	if err != nil {
		return nil, err
	}
	if len(d) < 2 {
		return nil, fmt.Errorf("input has shape %v; want at least 2 axes", d)
	}
	k := 0.0
	if n.Given(1) {
		if k, err = n.Const(1).Scalar(); err != nil {
			return nil, err
		}
	}
	upper := n.Int("upper", 1) != 0
	rows, columns := d[len(d)-2], d[len(d)-1]
	out := slices.Clone(v)
	for i := range out {
		over := float64(i%columns - i/columns%rows)
		if upper && over < k || !upper && over > k {
			out[i] = 0
		}
	}
	return newResultConst(res, out), nil
}

func foldEye(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	d := res[0].Dims
	out := make([]float64, graph.Elements(d))
	for r := range d[0] {
		if c := r + n.Int("k", 0); c >= 0 && c < d[1] {
			out[r*d[1]+c] = 1
		}
	}
	return newResultConst(res, out), nil
}

func foldIsNaNOrInf(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	positive, negative := n.Int("detect_positive", 1) != 0, n.Int("detect_negative", 1) != 0
	return mapElements(n, res, func(x float64) float64 {
		if n.Op == "IsNaN" {
			return graph.Truth(math.IsNaN(x))
		}
		return graph.Truth(positive && math.IsInf(x, 1) || negative && math.IsInf(x, -1))
	})
}

// foldNonZero computes a NonZero: the indices of all nonzero elements, with one row for each axis.
func foldNonZero(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	v, d, err := readConstantOperand(n, 0)
	if err != nil {
		return nil, err
	}
	to := res[0].Dims
	most := to[1]
	out, own, k := make([]float64, graph.Elements(to)), graph.Strides(d), 0
	for i, x := range v {
		if x == 0 {
			continue
		}
		for a := range d {
			out[a*most+k] = float64(i / own[a] % d[a])
		}
		k++
	}
	return newResultConst(res, out), nil
}

// foldRandomNumbers computes pseudo-random numbers. They are the same in every run, but differ from
// the numbers of other runtimes.
func foldRandomNumbers(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	seed := math.Float32bits(n.Float("seed", 0))
	r := rand.New(rand.NewPCG(uint64(seed), uint64(len(n.Out[0].Name))))
	out := make([]float64, graph.Elements(res[0].Dims))
	mean, scale := float64(n.Float("mean", 0)), float64(n.Float("scale", 1))
	low, high := float64(n.Float("low", 0)), float64(n.Float("high", 1))
	for i := range out {
		if strings.HasPrefix(n.Op, "RandomNormal") {
			out[i] = mean + float64(scale*r.NormFloat64())
		} else {
			out[i] = low + float64((high-low)*r.Float64())
		}
	}
	return newResultConst(res, out), nil
}

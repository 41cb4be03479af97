package network

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"anesim/loader/network/onnx"
)

// placeFolder is a function of values that stand at computed places, are sorted or counted,
// which the engine has no form for: it is worked out on constants, or by the host.
func placeFolder(op string) folder {
	return map[string]folder{
		"GatherElements": foldGatherElements, "GatherND": foldGatherND, "ScatterElements": foldScatterElements, "Scatter": foldScatterElements,
		"ScatterND": foldScatterND, "ArgMax": foldArg, "ArgMin": foldArg, "TopK": foldTopK, "OneHot": foldOneHot, "CumSum": foldCumSum,
		"Hardmax": foldHardmax, "ReverseSequence": foldReverse, "Trilu": foldTrilu, "EyeLike": foldEye, "GridSample": foldGridSample,
		"NonMaxSuppression": foldSuppression, "NonZero": foldNonZero, "Compress": foldCompress, "QuantizeLinear": foldQuantize,
		"IsNaN": foldIs, "IsInf": foldIs, "RoiAlign": foldRoiAlign,
		"RandomNormalLike": foldRandom, "RandomUniformLike": foldRandom, "RandomNormal": foldRandom, "RandomUniform": foldRandom,
	}[op]
}

// line calls visit with every line along an axis: where it begins and its step.
func line(dims []int, axis int, visit func(k, first, step int)) {
	step := elements(dims[axis+1:])
	k := 0
	for b := range elements(dims[:axis]) {
		for i := range step {
			visit(k, b*dims[axis]*step+i, step)
			k++
		}
	}
}

// placeIn is an index that may count from the end.
func placeIn(v float64, extent int) (int, error) {
	i := int(v)
	if i < 0 {
		i += extent
	}
	if i < 0 || i >= extent || v != v {
		return 0, fmt.Errorf("place %g of %d", v, extent)
	}
	return i, nil
}

func (n *nodeReader) operandValues(i int) ([]float64, []int, error) {
	c := n.constant(i)
	if c == nil {
		return nil, nil, fmt.Errorf("input %d is missing", i)
	}
	v, err := c.values()
	return v, c.dims, err
}

func foldGatherElements(n *nodeReader) ([]*constant, error) {
	v, d, err := n.operandValues(0)
	if err != nil {
		return nil, err
	}
	at, to, err := n.operandValues(1)
	if err != nil {
		return nil, err
	}
	axis, err := n.axisOf(len(d), n.int("axis", 0))
	if err != nil || len(to) != len(d) {
		return nil, errors.Join(err, fmt.Errorf("places of %v in %v", to, d))
	}
	for i := range d {
		if i != axis && to[i] > d[i] {
			return nil, fmt.Errorf("places of %v in %v", to, d)
		}
	}
	out := make([]float64, len(at))
	own := strides(d)
	own[axis] = 0
	step := strides(d)[axis]
	each(to, own, 0, func(k, base int) {
		p, bad := placeIn(at[k], d[axis])
		if bad != nil {
			err = bad
			return
		}
		out[k] = v[base+p*step]
	})
	return n.made(out), err
}

func foldGatherND(n *nodeReader) ([]*constant, error) {
	v, d, err := n.operandValues(0)
	if err != nil {
		return nil, err
	}
	at, to, err := n.operandValues(1)
	if err != nil {
		return nil, err
	}
	batch, k := n.int("batch_dims", 0), to[len(to)-1]
	own := strides(d)
	size := elements(d[batch+k:])
	var out []float64
	rows := len(at) / max(1, k)
	shared := max(1, rows/elements(to[:batch]))
	for r := range rows {
		base := 0
		if batch > 0 {
			base = r / shared * own[batch-1]
		}
		for j := range k {
			p, err := placeIn(at[r*k+j], d[batch+j])
			if err != nil {
				return nil, err
			}
			base += p * own[batch+j]
		}
		out = append(out, v[base:base+size]...)
	}
	return n.made(out), nil
}

// reduction is what becomes of a value that something is put on.
func (n *nodeReader) reduction() (func(old, v float64) float64, error) {
	switch r := n.text("reduction", "none"); r {
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
		return nil, fmt.Errorf("a reduction %q", r)
	}
}

func foldScatterElements(n *nodeReader) ([]*constant, error) {
	v, d, err := n.operandValues(0)
	if err != nil {
		return nil, err
	}
	at, to, err := n.operandValues(1)
	if err != nil {
		return nil, err
	}
	with, _, err := n.operandValues(2)
	if err != nil {
		return nil, err
	}
	axis, err := n.axisOf(len(d), n.int("axis", 0))
	if err != nil {
		return nil, err
	}
	put, err := n.reduction()
	if err == nil && len(to) != len(d) {
		err = fmt.Errorf("places of %v in %v", to, d)
	}
	if err != nil || len(with) != len(at) {
		return nil, errors.Join(err, fmt.Errorf("%d values for %d places", len(with), len(at)))
	}
	out := slices.Clone(v)
	own := strides(d)
	step := own[axis]
	own[axis] = 0
	each(to, own, 0, func(k, base int) {
		p, bad := placeIn(at[k], d[axis])
		if bad != nil || base+p*step >= len(out) {
			err = errors.Join(err, bad)
			return
		}
		out[base+p*step] = put(out[base+p*step], with[k])
	})
	return n.made(out), err
}

func foldScatterND(n *nodeReader) ([]*constant, error) {
	v, d, err := n.operandValues(0)
	if err != nil {
		return nil, err
	}
	at, to, err := n.operandValues(1)
	if err != nil {
		return nil, err
	}
	with, _, err := n.operandValues(2)
	if err != nil {
		return nil, err
	}
	put, err := n.reduction()
	if err != nil || len(to) == 0 || to[len(to)-1] > len(d) {
		return nil, errors.Join(err, fmt.Errorf("places of %v in %v", to, d))
	}
	k := to[len(to)-1]
	size := elements(d[k:])
	out, own := slices.Clone(v), strides(d)
	if len(with) != len(at)/max(1, k)*size {
		return nil, fmt.Errorf("%d values for %d places", len(with), len(at)/max(1, k))
	}
	for r := range len(at) / max(1, k) {
		base := 0
		for j := range k {
			p, err := placeIn(at[r*k+j], d[j])
			if err != nil {
				return nil, err
			}
			base += p * own[j]
		}
		for i := range size {
			out[base+i] = put(out[base+i], with[r*size+i])
		}
	}
	return n.made(out), nil
}

func foldArg(n *nodeReader) ([]*constant, error) {
	v, d, err := n.operandValues(0)
	if err != nil {
		return nil, err
	}
	axis, err := n.axisOf(len(d), n.int("axis", 0))
	if err != nil {
		return nil, err
	}
	if len(v) == 0 {
		return nil, fmt.Errorf("none of %v is the largest", d)
	}
	out := make([]float64, len(v)/d[axis])
	last, least := n.int("select_last_index", 0) != 0, n.Op == "ArgMin"
	line(d, axis, func(k, first, step int) {
		best := 0
		for i := range d[axis] {
			a, b := v[first+i*step], v[first+best*step]
			if least {
				a, b = b, a
			}
			if a > b || last && a == b {
				best = i
			}
		}
		out[k] = float64(best)
	})
	return n.made(out), nil
}

func foldTopK(n *nodeReader) ([]*constant, error) {
	v, d, err := n.operandValues(0)
	if err != nil {
		return nil, err
	}
	axis, err := n.axisOf(len(d), n.int("axis", -1))
	if err != nil {
		return nil, err
	}
	to := n.results[0].dims
	k := to[axis]
	if k > d[axis] {
		return nil, fmt.Errorf("the first %d of %d", k, d[axis])
	}
	values, places := make([]float64, elements(to)), make([]float64, elements(to))
	sign := 1.0
	if n.int("largest", 1) == 0 {
		sign = -1
	}
	var from []int
	line(d, axis, func(_, first, _ int) { from = append(from, first) })
	line(to, axis, func(l, first, step int) {
		order := make([]int, d[axis])
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sign*v[from[l]+b*step], sign*v[from[l]+a*step]) })
		for i, o := range order[:k] {
			values[first+i*step], places[first+i*step] = v[from[l]+o*step], float64(o)
		}
	})
	return []*constant{{dims: to, elem: n.results[0].elem, numbers: values}, {dims: to, elem: onnx.Int64, numbers: places}}, nil
}

func foldOneHot(n *nodeReader) ([]*constant, error) {
	at, d, err := n.operandValues(0)
	if err != nil {
		return nil, err
	}
	v, _, err := n.operandValues(2)
	if err != nil || len(v) != 2 {
		return nil, errors.Join(err, errors.New("its values are not two"))
	}
	to := n.results[0].dims
	axis, err := n.axisOf(len(d)+1, n.int("axis", -1))
	if err != nil {
		return nil, err
	}
	out := slices.Repeat([]float64{v[0]}, elements(to))
	line(to, axis, func(k, first, step int) {
		p := int(at[k])
		if p < 0 {
			p += to[axis]
		}
		if p >= 0 && p < to[axis] {
			out[first+p*step] = v[1]
		}
	})
	return n.made(out), nil
}

func foldCumSum(n *nodeReader) ([]*constant, error) {
	v, d, err := n.operandValues(0)
	if err != nil {
		return nil, err
	}
	which, _, err := n.operandValues(1)
	if err != nil || len(which) != 1 {
		return nil, errors.Join(err, errors.New("its axis is no single number"))
	}
	axis, err := n.axisOf(len(d), int(max(-maxRank, min(maxRank, which[0]))))
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(v))
	line(d, axis, func(_, first, step int) {
		sum := 0.0
		for i := range d[axis] {
			if n.int("reverse", 0) != 0 {
				i = d[axis] - 1 - i
			}
			at := first + i*step
			if n.int("exclusive", 0) != 0 {
				out[at] = sum
				sum += v[at]
			} else {
				sum += v[at]
				out[at] = sum
			}
		}
	})
	return n.made(out), nil
}

// foldHardmax is one at the first of the largest. Before version 13 all axes from one on are
// one.
func foldHardmax(n *nodeReader) ([]*constant, error) {
	v, d, err := n.operandValues(0)
	if err != nil {
		return nil, err
	}
	if len(v) == 0 {
		return nil, fmt.Errorf("none of %v is the largest", d)
	}
	missing := -1
	if n.opset < 13 {
		missing = 1
	}
	axis, err := n.axisOf(len(d), n.int("axis", missing))
	if err != nil {
		return nil, err
	}
	if n.opset < 13 {
		d = []int{elements(d[:axis]), elements(d[axis:])}
		axis = 1
	}
	out := make([]float64, len(v))
	line(d, axis, func(_, first, step int) {
		best := first
		for i := range d[axis] {
			if v[first+i*step] > v[best] {
				best = first + i*step
			}
		}
		out[best] = 1
	})
	return n.made(out), nil
}

func foldReverse(n *nodeReader) ([]*constant, error) {
	v, d, err := n.operandValues(0)
	if err != nil {
		return nil, err
	}
	lengths, _, err := n.operandValues(1)
	if err != nil {
		return nil, err
	}
	time, batch := n.int("time_axis", 0), n.int("batch_axis", 1)
	if len(d) < 2 || time+batch != 1 || time*batch != 0 || len(lengths) != d[batch] {
		return nil, fmt.Errorf("lengths %v of %v along axis %d", lengths, d, time)
	}
	out, own := make([]float64, len(v)), strides(d)
	size := elements(d[2:])
	for b := range d[batch] {
		for t := range d[time] {
			from := t
			if l := int(lengths[b]); t < l && l <= d[time] {
				from = l - 1 - t
			}
			to := b*own[batch] + t*own[time]
			copy(out[to:to+size], v[b*own[batch]+from*own[time]:][:size])
		}
	}
	return n.made(out), nil
}

func foldTrilu(n *nodeReader) ([]*constant, error) {
	v, d, err := n.operandValues(0)
	if err != nil {
		return nil, err
	}
	if len(d) < 2 {
		return nil, fmt.Errorf("a triangle of %v", d)
	}
	k := 0.0
	if n.given(1) {
		if k, err = n.constant(1).scalar(); err != nil {
			return nil, err
		}
	}
	upper := n.int("upper", 1) != 0
	rows, columns := d[len(d)-2], d[len(d)-1]
	out := slices.Clone(v)
	for i := range out {
		over := float64(i%columns - i/columns%rows)
		if upper && over < k || !upper && over > k {
			out[i] = 0
		}
	}
	return n.made(out), nil
}

func foldEye(n *nodeReader) ([]*constant, error) {
	d := n.results[0].dims
	out := make([]float64, elements(d))
	for r := range d[0] {
		if c := r + n.int("k", 0); c >= 0 && c < d[1] {
			out[r*d[1]+c] = 1
		}
	}
	return n.made(out), nil
}

func foldIs(n *nodeReader) ([]*constant, error) {
	positive, negative := n.int("detect_positive", 1) != 0, n.int("detect_negative", 1) != 0
	return n.map1(func(x float64) float64 {
		if n.Op == "IsNaN" {
			return truth(math.IsNaN(x))
		}
		return truth(positive && math.IsInf(x, 1) || negative && math.IsInf(x, -1))
	})
}

// foldQuantize rounds halves to the even number.
func foldQuantize(n *nodeReader) ([]*constant, error) {
	v, d, err := n.operandValues(0)
	if err != nil {
		return nil, err
	}
	scale, _, err := n.operandValues(1)
	if err != nil || n.int("block_size", 0) != 0 {
		return nil, err
	}
	zero := make([]float64, len(scale))
	if n.given(2) {
		if zero, _, err = n.operandValues(2); err != nil {
			return nil, err
		}
	}
	inner, extent := len(v), 1
	if len(scale) > 1 {
		axis, err := n.axisOf(len(d), n.int("axis", 1))
		if err != nil {
			return nil, err
		}
		inner, extent = elements(d[axis+1:]), d[axis]
	}
	if len(scale) != extent || len(zero) != extent {
		return nil, fmt.Errorf("%d scales of %d channels", len(scale), extent)
	}
	low, high := math.Inf(-1), math.Inf(1)
	switch n.results[0].elem {
	case onnx.Uint8:
		low, high = 0, 255
	case onnx.Int8:
		low, high = -128, 127
	case onnx.Uint16:
		low, high = 0, 65535
	case onnx.Int16:
		low, high = -32768, 32767
	}
	out := make([]float64, len(v))
	for i, x := range v {
		k := i / max(1, inner) % extent
		out[i] = min(max(math.RoundToEven(x/scale[k])+zero[k], low), high)
	}
	return n.made(out), nil
}

// foldNonZero lists the places of what is not zero, a row for each axis. What is left of
// the most that there may be are zeros.
func foldNonZero(n *nodeReader) ([]*constant, error) {
	v, d, err := n.operandValues(0)
	if err != nil {
		return nil, err
	}
	most := n.results[0].dims[1]
	out, own, k := make([]float64, len(d)*most), strides(d), 0
	for i, x := range v {
		if x == 0 {
			continue
		}
		for a := range d {
			out[a*most+k] = float64(i / own[a] % d[a])
		}
		k++
	}
	return n.made(out), nil
}

// foldCompress keeps what a condition is true of; what is left are zeros.
func foldCompress(n *nodeReader) ([]*constant, error) {
	v, d, err := n.operandValues(0)
	if err != nil {
		return nil, err
	}
	keep, _, err := n.operandValues(1)
	if err != nil {
		return nil, err
	}
	axis := 0
	if n.Attributes["axis"] == nil {
		d = []int{len(v)}
	} else if axis, err = n.axisOf(len(d), n.int("axis", 0)); err != nil {
		return nil, err
	}
	to := n.results[0].dims
	out := make([]float64, elements(to))
	var from []int
	line(d, axis, func(_, first, _ int) { from = append(from, first) })
	line(to, axis, func(l, first, step int) {
		k := 0
		for i := range d[axis] {
			if i < len(keep) && keep[i] != 0 && k < to[axis] {
				out[first+k*step] = v[from[l]+i*step]
				k++
			}
		}
	})
	return n.made(out), nil
}

// foldRandom draws numbers, the same in every run: other ones than another runtime draws.
func foldRandom(n *nodeReader) ([]*constant, error) {
	seed := math.Float32bits(n.float("seed", 0))
	r := rand.New(rand.NewPCG(uint64(seed), uint64(len(n.Outputs[0]))))
	out := make([]float64, elements(n.results[0].dims))
	mean, scale := float64(n.float("mean", 0)), float64(n.float("scale", 1))
	low, high := float64(n.float("low", 0)), float64(n.float("high", 1))
	for i := range out {
		if strings.HasPrefix(n.Op, "RandomNormal") {
			out[i] = mean + float64(scale*r.NormFloat64())
		} else {
			out[i] = low + float64((high-low)*r.Float64())
		}
	}
	return n.made(out), nil
}

// foldBlocks gives weights of whole numbers a scale a block along an axis.
func foldBlocks(n *nodeReader) ([]*constant, error) {
	v, d, err := n.operandValues(0)
	if err != nil {
		return nil, err
	}
	scale, to, err := n.operandValues(1)
	if err != nil {
		return nil, err
	}
	zero := make([]float64, len(scale))
	if n.given(2) {
		if zero, _, err = n.operandValues(2); err != nil {
			return nil, err
		}
	}
	axis, err := n.axisOf(len(d), n.int("axis", 1))
	block := n.int("block_size", 1)
	if err != nil || len(to) != len(d) || block < 1 || to[axis] != (d[axis]+block-1)/block || len(zero) != len(scale) {
		return nil, errors.Join(err, fmt.Errorf("scales of %v in blocks of %d for %v", to, block, d))
	}
	for i := range d {
		if i != axis && to[i] != d[i] {
			return nil, fmt.Errorf("scales of %v for %v", to, d)
		}
	}
	out, own, of := make([]float64, len(v)), strides(d), strides(to)
	for i, x := range v {
		at := 0
		for a := range d {
			k := i / own[a] % d[a]
			if a == axis {
				k /= block
			}
			at += k * of[a]
		}
		out[i] = (x - zero[at]) * scale[at]
	}
	return n.made(out), nil
}

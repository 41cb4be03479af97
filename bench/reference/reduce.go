package reference

import (
	"fmt"
	"math"
	"slices"

	"anesim/loader/network/onnx"
)

// reductions has the operators that work along axes: those that reduce them to one
// element, and those that compute a line from a line.
var reductions = map[string]operator{
	"ReduceSum":  {1, single(reduce(sum))},
	"ReduceMean": {1, single(reduce(func(x []float64) float64 { return sum(x) / float64(len(x)) }))},
	"ReduceMax":  {1, single(reduce(greatest))},
	"ReduceMin":  {1, single(reduce(least))},
	"ReduceProd": {1, single(reduce(multiply))},
	"ReduceL1":   {1, single(reduce(sumAbs))},
	"ReduceL2": {1, single(reduceBy(func(c *call) func([]float64) float64 {
		root := c.function("Sqrt")
		return func(x []float64) float64 { return root(sumSquares(x)) }
	}))},
	"ReduceSumSquare": {1, single(reduce(sumSquares))},
	"ReduceLogSum": {1, single(reduceBy(func(c *call) func([]float64) float64 {
		log := c.function("Log")
		return func(x []float64) float64 { return log(sum(x)) }
	}))},
	"ReduceLogSumExp": {1, single(reduceBy(func(c *call) func([]float64) float64 { return c.logSumExp }))},

	"ArgMax": {1, single(arg(func(a, b float64) bool { return a > b }))},
	"ArgMin": {1, single(arg(func(a, b float64) bool { return a < b }))},

	"Softmax":         {1, single(softmaxOf((*call).softmax))},
	"LogSoftmax":      {1, single(softmaxOf((*call).logSoftmax))},
	"Hardmax":         {1, single(softmaxOf((*call).hardmax))},
	"CumSum":          {2, single(cumSum)},
	"LpNormalization": {1, single(lpNormalization)},
}

// lines returns t with the given axes moved to its end, and the number of elements that
// they have: the values of each index of the other axes are one run of that length.
func (t *Tensor) lines(axes []int) (moved *Tensor, length int, err error) {
	length = 1
	for _, a := range axes {
		length *= t.Dims[a]
	}
	moved, err = t.transpose(moveToEnd(len(t.Dims), axes...)...)
	return moved, length, err
}

// alongAxis returns t with f applied to each line of an axis. f changes the line in place.
func (t *Tensor) alongAxis(axis int, f func(line []float64)) (*Tensor, error) {
	moved, length, err := t.lines([]int{axis})
	if err != nil || length == 0 {
		return moved, err
	}
	for line := range slices.Chunk(moved.Data, length) {
		f(line)
	}
	return moved.transpose(invert(moveToEnd(len(t.Dims), axis))...)
}

// reduceAxes returns f of the lines of some axes, which become 1.
func (t *Tensor) reduceAxes(axes []int, f func(line []float64) float64) (*Tensor, error) {
	dims := slices.Clone(t.Dims)
	for _, a := range axes {
		dims[a] = 1
	}
	out, err := newTensor(t.Type, dims...)
	if err != nil {
		return nil, err
	}
	moved, length, err := t.lines(axes)
	if err != nil {
		return nil, err
	}
	for i := range out.Data {
		out.Data[i] = f(moved.Data[i*length : (i+1)*length])
	}
	return out, nil
}

// dropAxes returns t without axes of size 1.
func (t *Tensor) dropAxes(axes []int) (*Tensor, error) {
	dims := []int{}
	for i, d := range t.Dims {
		if !slices.Contains(axes, i) {
			dims = append(dims, d)
		}
	}
	return t.reshape(dims...)
}

// reduce returns the operator that reduces axes with f. The axes are an attribute or, in
// newer operator sets, an input; without any, all axes are reduced.
func reduce(f func(line []float64) float64) func(*call) (*Tensor, error) {
	return reduceBy(func(*call) func([]float64) float64 { return f })
}

// reduceBy is reduce with a function that depends on the call.
func reduceBy(function func(*call) func(line []float64) float64) func(*call) (*Tensor, error) {
	return func(c *call) (*Tensor, error) {
		x, f := c.in[0], function(c)
		list, _ := c.list(1, "axes")
		axes, err := axesOf(list, len(x.Dims))
		if err != nil {
			return nil, err
		}
		if len(axes) == 0 {
			if c.flag("noop_with_empty_axes") {
				// No axis is reduced: f is applied to each element alone.
				return x.reduceAxes(nil, f)
			}
			for i := range x.Dims {
				axes = append(axes, i)
			}
		}
		out, err := x.reduceAxes(axes, f)
		if err != nil || c.int("keepdims", 1) != 0 {
			return out, err
		}
		return out.dropAxes(axes)
	}
}

func sum(x []float64) float64 {
	total := 0.0
	for _, v := range x {
		total += v
	}
	return total
}

func multiply(x []float64) float64 {
	total := 1.0
	for _, v := range x {
		total *= v
	}
	return total
}

func greatest(x []float64) float64 {
	most := math.Inf(-1)
	for _, v := range x {
		most = max(most, v)
	}
	return most
}

func least(x []float64) float64 {
	least := math.Inf(1)
	for _, v := range x {
		least = min(least, v)
	}
	return least
}

func sumAbs(x []float64) float64 {
	total := 0.0
	for _, v := range x {
		total += math.Abs(v)
	}
	return total
}

func sumSquares(x []float64) float64 {
	total := 0.0
	for _, v := range x {
		total += v * v
	}
	return total
}

// logSumExp is log(sum(exp(x))), without overflow.
func (c *call) logSumExp(x []float64) float64 {
	most := greatest(x)
	if math.IsInf(most, 0) {
		return most
	}
	exp, total := c.function("Exp"), 0.0
	for _, v := range x {
		total += exp(v - most)
	}
	return most + c.function("Log")(total)
}

// arg returns the operator for the index of the first element along an axis, or the last,
// that no other one is better than.
func arg(better func(a, b float64) bool) func(*call) (*Tensor, error) {
	return func(c *call) (*Tensor, error) {
		x := c.in[0]
		axis, err := axisOf(c.int("axis", 0), len(x.Dims))
		if err != nil {
			return nil, err
		}
		if x.Dims[axis] == 0 {
			return nil, fmt.Errorf("axis %d of %v has no elements", axis, x.Dims)
		}
		last := c.flag("select_last_index")
		out, err := x.reduceAxes([]int{axis}, func(line []float64) float64 {
			best := 0
			for i, v := range line {
				if better(v, line[best]) || last && v == line[best] {
					best = i
				}
			}
			return float64(best)
		})
		if err == nil && c.int("keepdims", 1) == 0 {
			out, err = out.dropAxes([]int{axis})
		}
		if err != nil {
			return nil, err
		}
		return out.as(onnx.Int64), nil
	}
}

// softmaxOf returns an operator that applies f to lines: of one axis, or before version 13
// of all axes from one on.
func softmaxOf(function func(*call, []float64)) func(*call) (*Tensor, error) {
	return func(c *call) (*Tensor, error) {
		x, f := c.in[0], func(line []float64) { function(c, line) }
		missing := -1
		if c.opset < 13 {
			missing = 1
		}
		axis := c.int("axis", missing)
		if c.opset < 13 && axis == len(x.Dims) {
			return c.in[0].apply(func(v float64) float64 { line := []float64{v}; f(line); return line[0] }), nil
		}
		axis, err := axisOf(axis, len(x.Dims))
		if err != nil {
			return nil, err
		}
		if c.opset >= 13 {
			return x.alongAxis(axis, f)
		}
		rows := product(x.Dims[:axis])
		flat, err := x.reshape(rows, product(x.Dims[axis:]))
		if err != nil {
			return nil, err
		}
		if flat, err = flat.alongAxis(1, f); err != nil {
			return nil, err
		}
		return flat.reshape(x.Dims...)
	}
}

func (c *call) softmax(line []float64) {
	most, total := greatest(line), 0.0
	exp, quotient := c.function("Exp"), c.quotient()
	for i, v := range line {
		line[i] = exp(v - most)
		total += line[i]
	}
	for i, v := range line {
		line[i] = quotient(v, total)
	}
}

func (c *call) logSoftmax(line []float64) {
	most, total := greatest(line), 0.0
	exp, log := c.function("Exp"), c.function("Log")
	for _, v := range line {
		total += exp(v - most)
	}
	norm := log(total)
	for i, v := range line {
		line[i] = v - most - norm
	}
}

func (*call) hardmax(line []float64) {
	best := 0
	for i, v := range line {
		if v > line[best] {
			best = i
		}
	}
	clear(line)
	line[best] = 1
}

func cumSum(c *call) (*Tensor, error) {
	if len(c.in[1].Data) != 1 {
		return nil, fmt.Errorf("axis of shape %v; want a scalar", c.in[1].Dims)
	}
	axis, err := axisOf(c.in[1].ints()[0], len(c.in[0].Dims))
	if err != nil {
		return nil, err
	}
	exclusive, reverse := c.flag("exclusive"), c.flag("reverse")
	return c.in[0].alongAxis(axis, func(line []float64) {
		if reverse {
			slices.Reverse(line)
		}
		total := 0.0
		for i, v := range line {
			before := total
			total += v
			line[i] = total
			if exclusive {
				line[i] = before
			}
		}
		if reverse {
			slices.Reverse(line)
		}
	})
}

func lpNormalization(c *call) (*Tensor, error) {
	axis, err := axisOf(c.int("axis", -1), len(c.in[0].Dims))
	if err != nil {
		return nil, err
	}
	p := c.int("p", 2)
	if p != 1 && p != 2 {
		return nil, fmt.Errorf("p is %d; want 1 or 2", p)
	}
	root, quotient := c.function("Sqrt"), c.quotient()
	return c.in[0].alongAxis(axis, func(line []float64) {
		norm := sumAbs(line)
		if p == 2 {
			norm = root(sumSquares(line))
		}
		for i := range line {
			if norm != 0 { // onnxruntime leaves zeros as they are
				line[i] = quotient(line[i], norm)
			}
		}
	})
}

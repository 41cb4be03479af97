package reference

import (
	"fmt"
	"math"
	"slices"

	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
)

// reductionOperators has the operators that work along axes. Some reduce the axes to one element,
// others compute a line from a line.
var reductionOperators = map[string]operator{
	"ReduceSum":  {1, wrapSingleResult(newReduceOperator(tensor.Sum))},
	"ReduceMean": {1, wrapSingleResult(newReduceOperator(func(x []float64) float64 { return tensor.Sum(x) / float64(len(x)) }))},
	"ReduceMax":  {1, wrapSingleResult(newReduceOperator(maxOfElements))},
	"ReduceMin":  {1, wrapSingleResult(newReduceOperator(minOfElements))},
	"ReduceProd": {1, wrapSingleResult(newReduceOperator(multiplyAll))},
	"ReduceL1":   {1, wrapSingleResult(newReduceOperator(sumAbs))},
	"ReduceL2": {1, wrapSingleResult(newReduceOperatorPerCall(func(c *call) func([]float64) float64 {
		root := c.findElementaryFunction("Sqrt")
		return func(x []float64) float64 { return root(sumSquares(x)) }
	}))},
	"ReduceSumSquare": {1, wrapSingleResult(newReduceOperator(sumSquares))},
	"ReduceLogSum": {1, wrapSingleResult(newReduceOperatorPerCall(func(c *call) func([]float64) float64 {
		log := c.findElementaryFunction("Log")
		return func(x []float64) float64 { return log(tensor.Sum(x)) }
	}))},
	"ReduceLogSumExp": {1, wrapSingleResult(newReduceOperatorPerCall(func(c *call) func([]float64) float64 { return c.logSumExp }))},

	"ArgMax": {1, wrapSingleResult(newArgMinMaxOperator(func(a, b float64) bool { return a > b }))},
	"ArgMin": {1, wrapSingleResult(newArgMinMaxOperator(func(a, b float64) bool { return a < b }))},

	"Softmax":         {1, wrapSingleResult(newNormalizeOperator((*call).softmax))},
	"LogSoftmax":      {1, wrapSingleResult(newNormalizeOperator((*call).logSoftmax))},
	"Hardmax":         {1, wrapSingleResult(newNormalizeOperator((*call).hardmax))},
	"CumSum":          {2, wrapSingleResult(computeCumSum)},
	"LpNormalization": {1, wrapSingleResult(computeLpNormalization)},
}

// newReduceOperator returns an operator that replaces the elements along some axes by f(elements).
// The axes are an attribute or, in newer operator sets, an input. If none are listed, the operator
// reduces all axes.
func newReduceOperator(f func(line []float64) float64) func(*call) (*tensor.Tensor, error) {
	return newReduceOperatorPerCall(func(*call) func([]float64) float64 { return f })
}

// newReduceOperatorPerCall is like newReduceOperator, but calls function for each node to get the
// reduction. It serves reductions that depend on attributes of the node or on the options.
func newReduceOperatorPerCall(function func(*call) func(line []float64) float64) func(*call) (*tensor.Tensor, error) {
	return func(c *call) (*tensor.Tensor, error) {
		x, f := c.in[0], function(c)
		list, _ := c.intsFromInputOrAttribute(1, "axes")
		axes, err := tensor.ResolveAxes(list, len(x.Dims))
		if err != nil {
			return nil, err
		}
		if len(axes) == 0 {
			if c.flagAttribute("noop_with_empty_axes") {
				// Reduce no axis: apply f to each element.
				return x.ReduceAxes(nil, f)
			}
			for i := range x.Dims {
				axes = append(axes, i)
			}
		}
		out, err := x.ReduceAxes(axes, f)
		if err != nil || c.intAttribute("keepdims", 1) != 0 {
			return out, err
		}
		return out.DropAxes(axes)
	}
}

func multiplyAll(x []float64) float64 {
	total := 1.0
	for _, v := range x {
		total *= v
	}
	return total
}

func maxOfElements(x []float64) float64 {
	most := math.Inf(-1)
	for _, v := range x {
		most = max(most, v)
	}
	return most
}

func minOfElements(x []float64) float64 {
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

// logSumExp returns log(sum(exp(x))) without overflow.
func (r *interpreter) logSumExp(x []float64) float64 {
	most := maxOfElements(x)
	if math.IsInf(most, 0) {
		return most
	}
	exp, total := r.findElementaryFunction("Exp"), 0.0
	for _, v := range x {
		total += exp(v - most)
	}
	return most + r.findElementaryFunction("Log")(total)
}

// newArgMinMaxOperator returns an operator that finds the index of the best element along an axis.
// The function better reports whether a is better than b. Among equal elements, the operator
// chooses the first, or the last if select_last_index is set.
func newArgMinMaxOperator(better func(a, b float64) bool) func(*call) (*tensor.Tensor, error) {
	return func(c *call) (*tensor.Tensor, error) {
		x := c.in[0]
		axis, err := tensor.ResolveAxis(c.intAttribute("axis", 0), len(x.Dims))
		if err != nil {
			return nil, err
		}
		if x.Dims[axis] == 0 {
			return nil, fmt.Errorf("axis %d of shape %v has no elements", axis, x.Dims)
		}
		last := c.flagAttribute("select_last_index")
		out, err := x.ReduceAxes([]int{axis}, func(line []float64) float64 {
			best := 0
			for i, v := range line {
				if better(v, line[best]) || last && v == line[best] {
					best = i
				}
			}
			return float64(best)
		})
		if err == nil && c.intAttribute("keepdims", 1) == 0 {
			out, err = out.DropAxes([]int{axis})
		}
		if err != nil {
			return nil, err
		}
		return out.WithType(onnx.Int64), nil
	}
}

// newNormalizeOperator returns an operator that calls function to change each line of elements
// along the attribute axis in place. In operator sets before 13, a line extends over that axis and
// all later ones.
func newNormalizeOperator(function func(*call, []float64)) func(*call) (*tensor.Tensor, error) {
	return func(c *call) (*tensor.Tensor, error) {
		x, f := c.in[0], func(line []float64) { function(c, line) }
		missing := -1
		if c.opset < 13 {
			missing = 1
		}
		axis := c.intAttribute("axis", missing)
		if c.opset < 13 && axis == len(x.Dims) {
			return c.in[0].MapElements(func(v float64) float64 { line := []float64{v}; f(line); return line[0] }), nil
		}
		axis, err := tensor.ResolveAxis(axis, len(x.Dims))
		if err != nil {
			return nil, err
		}
		if c.opset >= 13 {
			return x.MapLines(axis, f)
		}
		rows := tensor.CountValidElements(x.Dims[:axis])
		flat, err := x.Reshape(rows, tensor.CountValidElements(x.Dims[axis:]))
		if err != nil {
			return nil, err
		}
		if flat, err = flat.MapLines(1, f); err != nil {
			return nil, err
		}
		return flat.Reshape(x.Dims...)
	}
}

func (r *interpreter) softmax(line []float64) {
	most, total := maxOfElements(line), 0.0
	exp, quotient := r.findElementaryFunction("Exp"), r.newDivideFunction()
	for i, v := range line {
		line[i] = exp(v - most)
		total += line[i]
	}
	for i, v := range line {
		line[i] = quotient(v, total)
	}
}

func (r *interpreter) logSoftmax(line []float64) {
	most, total := maxOfElements(line), 0.0
	exp, log := r.findElementaryFunction("Exp"), r.findElementaryFunction("Log")
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

func computeCumSum(c *call) (*tensor.Tensor, error) {
	if len(c.in[1].Data) != 1 {
		return nil, fmt.Errorf("input \"axis\" has shape %v; want a scalar", c.in[1].Dims)
	}
	axis, err := tensor.ResolveAxis(c.in[1].ToInts()[0], len(c.in[0].Dims))
	if err != nil {
		return nil, err
	}
	exclusive, reverse := c.flagAttribute("exclusive"), c.flagAttribute("reverse")
	return c.in[0].MapLines(axis, func(line []float64) {
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

func computeLpNormalization(c *call) (*tensor.Tensor, error) {
	axis, err := tensor.ResolveAxis(c.intAttribute("axis", -1), len(c.in[0].Dims))
	if err != nil {
		return nil, err
	}
	p := c.intAttribute("p", 2)
	if p != 1 && p != 2 {
		return nil, fmt.Errorf("attribute \"p\" is %d; want 1 or 2", p)
	}
	root, quotient := c.findElementaryFunction("Sqrt"), c.newDivideFunction()
	return c.in[0].MapLines(axis, func(line []float64) {
		norm := sumAbs(line)
		if p == 2 {
			norm = root(sumSquares(line))
		}
		for i := range line {
			if norm != 0 { // onnxruntime keeps zeros
				line[i] = quotient(line[i], norm)
			}
		}
	})
}

package reference

import (
	"anesim/bench/internal/reference/tensor"
	"fmt"
	"slices"
	"strings"
)

// productOperators has the operators that sum products of elements of several tensors, and Det.
var productOperators = map[string]operator{
	"MatMul": {2, wrapSingleResult(computeMatMul)}, "Gemm": {2, wrapSingleResult(computeGemm)}, "Einsum": {1, wrapSingleResult(computeEinsum)}, "Det": {1, wrapSingleResult(computeDet)},
}

func computeMatMul(c *call) (*tensor.Tensor, error) { return c.matMul(c.in[0], c.in[1]) }

// matMul returns the matrix products of a and b, as multiplyMatrices does. It uses Options.Reduce
// for the sums if that is set.
func (r *interpreter) matMul(a, b *tensor.Tensor) (*tensor.Tensor, error) {
	if r.Reduce == nil {
		return multiplyMatrices(a, b)
	}
	return multiplyMatricesWith(a, b, func(out, a, b []float64, m, k, n int) {
		for i := range m {
			r.Reduce(out[i*n:(i+1)*n], b, a[i*k:(i+1)*k])
		}
	})
}

// multiplyMatrices returns the products of the matrices in the last two axes of a and b. It
// broadcasts the axes before them. A vector acts as a row on the left side and as a column on the
// right.
func multiplyMatrices(a, b *tensor.Tensor) (*tensor.Tensor, error) {
	return multiplyMatricesWith(a, b, multiplyMatrix)
}

// multiplyMatricesWith is like multiplyMatrices, but uses multiplyMatrix for the product of two
// matrices. That function must add the product of a [m][k] and b [k][n] to out [m][n].
func multiplyMatricesWith(a, b *tensor.Tensor, multiplyMatrix func(out, a, b []float64, m, k, n int)) (*tensor.Tensor, error) {
	// As in numpy.matmul: a vector becomes a matrix, and its axis is dropped from the result.
	row, column := len(a.Dims) == 1, len(b.Dims) == 1
	var err error
	if row {
		if a, err = a.Reshape(1, a.Dims[0]); err != nil {
			return nil, err
		}
	}
	if column {
		if b, err = b.Reshape(b.Dims[0], 1); err != nil {
			return nil, err
		}
	}
	ra, rb := len(a.Dims), len(b.Dims)
	if ra < 2 || rb < 2 || a.Dims[ra-1] != b.Dims[rb-2] {
		return nil, fmt.Errorf("cannot multiply matrices of shapes %v and %v", a.Dims, b.Dims)
	}
	batch, err := tensor.BroadcastDims(a.Dims[:ra-2], b.Dims[:rb-2])
	if err != nil {
		return nil, err
	}
	m, k, n := a.Dims[ra-2], a.Dims[ra-1], b.Dims[rb-1]
	if a, err = a.BroadcastTo(slices.Concat(batch, []int{m, k})); err != nil {
		return nil, err
	}
	if b, err = b.BroadcastTo(slices.Concat(batch, []int{k, n})); err != nil {
		return nil, err
	}
	out, err := tensor.New(a.Type, slices.Concat(batch, []int{m, n})...)
	if err != nil {
		return nil, err
	}
	for i := range tensor.CountValidElements(batch) {
		multiplyMatrix(out.Data[i*m*n:(i+1)*m*n], a.Data[i*m*k:(i+1)*m*k], b.Data[i*k*n:(i+1)*k*n], m, k, n)
	}
	dims := slices.Clone(out.Dims)
	if column {
		dims = dims[:len(dims)-1]
	}
	if row {
		dims = slices.Delete(dims, len(batch), len(batch)+1)
	}
	return out.Reshape(dims...)
}

// multiplyMatrix adds the product of the matrices a [m][k] and b [k][n] to out [m][n].
func multiplyMatrix(out, a, b []float64, m, k, n int) {
	for i := range m {
		for j := range k {
			addScaledVector(out[i*n:(i+1)*n], b[j*n:(j+1)*n], a[i*k+j])
		}
	}
}

// addScaledVector adds factor*x[i] to out[i] for each i.
func addScaledVector(out, x []float64, factor float64) {
	x = x[:len(out)]
	for i := range out {
		out[i] += x[i] * factor
	}
}

// computeGemm computes Gemm: alpha*A*B + beta*C.
func computeGemm(c *call) (*tensor.Tensor, error) {
	a, b, err := c.readMatrices("transA", "transB")
	if err != nil {
		return nil, err
	}
	y, err := c.matMul(a, b)
	if err != nil {
		return nil, err
	}
	alpha, beta := c.floatAttribute("alpha", 1), c.floatAttribute("beta", 1)
	y = y.MapElements(func(v float64) float64 { return alpha * v })
	bias := c.inputTensor(2)
	if bias == nil {
		return y, nil
	}
	if bias, err = bias.BroadcastTo(y.Dims); err != nil {
		return nil, err
	}
	return tensor.Combine(y.Type, y, bias, func(v, w float64) float64 { return v + beta*w })
}

// readMatrices returns the first two inputs of the node. It transposes the first if the attribute
// transA is set, and the second if transB is set.
func (c *call) readMatrices(transA, transB string) (a, b *tensor.Tensor, err error) {
	in := [2]*tensor.Tensor{c.in[0], c.in[1]}
	for i, name := range [...]string{transA, transB} {
		if len(in[i].Dims) != 2 {
			return nil, nil, fmt.Errorf("input %d has shape %v; want a matrix", i, in[i].Dims)
		}
		if c.flagAttribute(name) {
			if in[i], err = in[i].Transpose(1, 0); err != nil {
				return nil, nil, err
			}
		}
	}
	return in[0], in[1], nil
}

// computeEinsum computes Einsum: it multiplies elements of all inputs at matching indices, and sums
// the products over the labels that the result does not have.
func computeEinsum(c *call) (*tensor.Tensor, error) {
	if i := slices.Index(c.in, nil); i >= 0 {
		return nil, fmt.Errorf("missing input %d", i)
	}
	terms, result, err := parseEinsum(c.textAttribute("equation", ""), c.in)
	if err != nil {
		return nil, err
	}
	var labels []rune // of the result, then those that are summed over
	labels = append(labels, result...)
	extent := map[rune]int{}
	for i, term := range terms {
		for axis, label := range term {
			d := c.in[i].Dims[axis]
			if old, ok := extent[label]; !ok || old == 1 {
				extent[label] = d
			} else if d != old && d != 1 {
				return nil, fmt.Errorf("label %q has dimensions %d and %d; want equal dimensions or 1", label, old, d)
			}
			if !slices.Contains(labels, label) {
				labels = append(labels, label)
			}
		}
	}
	dims, steps := make([]int, len(labels)), make([][]int, len(terms))
	for k, label := range labels {
		d, ok := extent[label]
		if !ok {
			return nil, fmt.Errorf("output label %q does not appear in any input", label)
		}
		dims[k] = d
	}
	for i, term := range terms {
		steps[i] = make([]int, len(labels))
		for axis, s := range tensor.RowMajorStrides(c.in[i].Dims) {
			if c.in[i].Dims[axis] != 1 {
				steps[i][slices.Index(labels, term[axis])] += s // a repeated label selects a diagonal
			}
		}
	}
	out, err := tensor.New(c.in[0].Type, dims[:len(result)]...)
	if err != nil {
		return nil, err
	}
	sumProducts(out, c.in, dims, steps)
	return out, nil
}

// sumProducts visits each index of the shape dims. It multiplies the elements of all inputs there
// and adds the product to out, at the leading axes of the index. The stride of input i along each
// axis of dims is in steps[i].
func sumProducts(out *tensor.Tensor, in []*tensor.Tensor, dims []int, steps [][]int) {
	if slices.Contains(dims, 0) {
		return
	}
	kept := len(out.Dims)
	index, summed := make([]int, len(dims)), tensor.CountValidElements(dims[kept:])
	for i := range out.Data {
		for range summed {
			p := 1.0
			for k, t := range in {
				at := 0
				for axis, step := range steps[k] {
					at += index[axis] * step
				}
				p *= t.Data[at]
			}
			out.Data[i] += p
			tensor.AdvanceIndex(index, dims)
		}
	}
}

// parseEinsum parses an Einsum equation and returns the labels of each input and of the result. An
// ellipsis becomes one label for each axis that it represents.
func parseEinsum(equation string, in []*tensor.Tensor) (terms [][]rune, result []rune, err error) {
	left, right, explicit := strings.Cut(strings.ReplaceAll(equation, " ", ""), "->")
	parts := strings.Split(left, ",")
	if len(parts) != len(in) {
		return nil, nil, fmt.Errorf("equation %q has %d input terms; want one for each of %d inputs", equation, len(parts), len(in))
	}
	const ellipsis = '0' // the labels of an ellipsis are the runes before this one
	widest := 0
	for i, part := range parts {
		if strings.Contains(part, "...") {
			widest = max(widest, len(in[i].Dims)-len(part)+3)
		}
	}
	expandEllipsis := func(part string, width int) []rune {
		before, after, found := strings.Cut(part, "...")
		labels := []rune(before)
		for k := range width {
			if found {
				labels = append(labels, rune(ellipsis-width+k))
			}
		}
		return append(labels, []rune(after)...)
	}
	uses := map[rune]int{}
	for i, part := range parts {
		width := max(0, len(in[i].Dims)-len(part)+3)
		term := expandEllipsis(part, width)
		if len(term) != len(in[i].Dims) {
			return nil, nil, fmt.Errorf("term %q of equation %q has %d labels; want one for each axis of shape %v", part, equation, len(term), in[i].Dims)
		}
		for _, label := range term {
			uses[label]++
		}
		terms = append(terms, term)
	}
	if explicit {
		return terms, expandEllipsis(right, widest), nil
	}
	for label, n := range uses { // the ellipsis and labels that occur once, sorted
		if n == 1 || label < ellipsis {
			result = append(result, label)
		}
	}
	slices.Sort(result)
	return terms, result, nil
}

// computeDet computes Det, the determinant of each matrix, by Gaussian elimination with partial
// pivoting.
func computeDet(c *call) (*tensor.Tensor, error) {
	x := c.in[0]
	rank := len(x.Dims)
	if rank < 2 || x.Dims[rank-1] != x.Dims[rank-2] {
		return nil, fmt.Errorf("input has shape %v; want square matrices in the last two axes", x.Dims)
	}
	n := x.Dims[rank-1]
	return reduceMatrices(x, func(matrix []float64) float64 {
		a, det := slices.Clone(matrix), 1.0
		for k := range n {
			pivot := k
			for i := k; i < n; i++ {
				if abs(a[i*n+k]) > abs(a[pivot*n+k]) {
					pivot = i
				}
			}
			// The largest element is 0, so the matrix is singular.
			if a[pivot*n+k] == 0 {
				return 0
			}
			if pivot != k {
				det = -det
				for j := range n {
					a[k*n+j], a[pivot*n+j] = a[pivot*n+j], a[k*n+j]
				}
			}
			det *= a[k*n+k]
			for i := k + 1; i < n; i++ {
				addScaledVector(a[i*n:(i+1)*n], a[k*n:(k+1)*n], -a[i*n+k]/a[k*n+k])
			}
		}
		return det
	})
}

// reduceMatrices returns a tensor of f(matrix) for each matrix in the last two axes of x.
func reduceMatrices(x *tensor.Tensor, f func(matrix []float64) float64) (*tensor.Tensor, error) {
	axes := []int{len(x.Dims) - 2, len(x.Dims) - 1}
	out, err := x.ReduceAxes(axes, f)
	if err != nil {
		return nil, err
	}
	rank := len(x.Dims) - 2
	return out.Reshape(x.Dims[:rank]...)
}

func abs(x float64) float64 { return max(x, -x) }

package choose

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/x448/float16"

	"anesim/internal/network/graph"
	"anesim/loader/layer"
	"anesim/loader/network/internal/ops"
)

// addGemmLayers adds layers that compute alpha*A*B + beta*C, where A and B may be transposed.
func addGemmLayers(n *Chooser) (Operand, error) {
	x, err := n.inputOperand(0)
	if err == nil && n.Int("transA", 0) != 0 {
		x, err = n.permute(x, []int{1, 0})
	}
	if err != nil {
		return Operand{}, err
	}
	alpha, beta := float64(n.Float("alpha", 1)), float64(n.Float("beta", 1))
	var y Operand
	added := false
	if c := n.Const(1); c != nil {
		y, added, err = multiplyByGemmConstant(n, x, c, alpha, beta)
	} else {
		y, err = multiplyByGemmTensor(n, x, alpha)
	}
	if err != nil {
		return Operand{}, err
	}
	if n.Given(2) && !added && beta != 0 {
		return addGemmAddend(n, y, beta)
	}
	n.Node.Input(2) // the bias of the layer, or times 0
	return y, nil
}

// multiplyByGemmConstant adds layers that compute alpha*x*B, where B is the constant c. If the
// third input of the node, C, is a constant with one value per column, or a single value, beta*C is
// added as the layer's bias, and added is true. The factors alpha and beta are multiplied into the
// weights and the bias if fp16 keeps their precision; otherwise alpha is a layer of its own, and C
// is not added.
func multiplyByGemmConstant(n *Chooser, x Operand, c *graph.Const, alpha, beta float64) (y Operand, added bool, err error) {
	out := n.Results[0].Dims
	columns := out[1]
	l := layer.Layer{Op: layer.MatMul, In: x.shape(), Second: layer.Constant, Columns: columns}
	if n.Int("transB", 0) != 0 {
		l.Op = layer.Linear
	}
	w, err := productWeights(c)
	if err != nil {
		return x, false, err
	}
	exact := true
	if alpha != 1 {
		if err := w.Load(); err != nil {
			return x, false, err
		}
		var scaled []float16.Float16
		// A factor such as 1e-5 would make weights subnormal. It is then applied to the sums, which keep
		// their precision.
		if scaled, exact = scaleFP16Values(w.Filter, alpha); exact {
			w.Filter = scaled
		}
	}
	// A bias inside the layer is added before a factor after it, so it can be there only if alpha is in
	// the weights.
	if b := n.Const(2); exact && b != nil && (b.Elements() == 1 || b.Elements() == columns && b.Dims[len(b.Dims)-1] == columns) {
		v, err := b.Halves()
		if err != nil {
			return x, false, err
		}
		if len(v) == 1 && columns > 1 {
			v = slices.Repeat(v, columns)
		}
		if v, ok := scaleFP16Values(v, beta); ok {
			l.Bias, w.Bias, added = true, v, true
		}
	}
	if y, err = n.addLayer(l, w, out, x); err == nil && !exact {
		y, err = n.multiplyByNumber(y, alpha)
	}
	return y, added, err
}

// multiplyByGemmTensor adds layers that compute alpha*x*B, where B is an input that is computed
// when the network runs.
func multiplyByGemmTensor(n *Chooser, x Operand, alpha float64) (Operand, error) {
	z, err := n.inputOperand(1)
	if err == nil && n.Int("transB", 0) != 0 {
		z, err = n.permute(z, []int{1, 0})
	}
	if err != nil {
		return x, err
	}
	y, err := multiplyMatrices(n, x, z)
	if err != nil {
		return x, err
	}
	return n.multiplyByNumber(y, alpha)
}

// addGemmAddend adds layers that compute y + beta*C, where C is the third input of the node. The
// node must have a third input.
func addGemmAddend(n *Chooser, y Operand, beta float64) (Operand, error) {
	if c := n.Const(2); c != nil {
		v, err := c.Values()
		if err != nil {
			return y, err
		}
		scaled := &graph.Const{Dims: c.Dims, Type: c.Type, Numbers: make([]float64, len(v))}
		for i := range v {
			scaled.Numbers[i] = v[i] * beta
		}
		return n.applyConstantOperand(layer.Add, y, scaled)
	}
	z, err := n.inputOperand(2)
	if err == nil {
		z, err = n.multiplyByNumber(z, beta)
	}
	if err != nil {
		return y, err
	}
	return n.ApplyBinary(layer.Add, y, z)
}

// scaleFP16Values returns the values v multiplied by factor. The second result is false if a
// product loses precision, as [layer.Scale] defines it.
func scaleFP16Values(v []float16.Float16, factor float64) ([]float16.Float16, bool) {
	if factor == 1 {
		return v, true
	}
	return layer.Scale(v, func(int) float32 { return float32(factor) })
}

func addMatMulLayers(n *Chooser) (Operand, error) {
	out := n.Results[0].Dims
	x, err := n.inputOperand(0)
	if err != nil {
		return Operand{}, err
	}
	if len(x.Dims) == 1 {
		x = x.As(1, x.Dims[0])
	}
	if c := n.Const(1); c != nil {
		d := c.Dims
		if len(d) == 1 {
			d = []int{d[0], 1}
		}
		// Only one matrix for all of the batch can be weights. Several are a product of two tensors.
		if graph.Elements(d[:len(d)-2]) == 1 {
			columns := d[len(d)-1]
			w, err := productWeights(c)
			if err != nil {
				return Operand{}, err
			}
			l := layer.Layer{Op: layer.MatMul, In: x.shape(), Second: layer.Constant, Columns: columns}
			return n.addLayer(l, w, out, x)
		}
	}
	z, err := n.inputOperand(1)
	if err != nil {
		return Operand{}, err
	}
	if len(z.Dims) == 1 {
		z = z.As(z.Dims[0], 1)
	}
	y, err := multiplyMatrices(n, x, z)
	return y.As(out...), err
}

// addLinearLayers adds layers that multiply x by constant weights of shape [columns][k] and add the
// bias, if the node has one.
func addLinearLayers(n *Chooser, x Operand) (Operand, error) {
	c := n.Const(1)
	if c == nil {
		return Operand{}, errors.New("weights are computed; want constants")
	}
	l := layer.Layer{Op: layer.Linear, In: x.shape(), Second: layer.Constant, Columns: c.Dims[0]}
	b, err := readConvBias(n, 2, c.Dims[0])
	if err != nil {
		return Operand{}, err
	}
	w, err := productWeights(c)
	if err != nil {
		return Operand{}, err
	}
	l.Bias, w.Bias = b.given, b.v
	return n.addLayer(l, w, n.Results[0].Dims, x)
}

// multiplyMatrices adds layers that multiply the matrices in the last two axes of x and z. The
// leading axes broadcast. If z is a single matrix, all rows of x form one matrix; otherwise both
// operands are broadcast to the same number of matrices.
func multiplyMatrices(n *Chooser, x, z Operand) (Operand, error) {
	rows, k, columns := x.Dims[len(x.Dims)-2], x.Dims[len(x.Dims)-1], z.Dims[len(z.Dims)-1]
	batch, err := graph.Broadcast(x.Dims[:len(x.Dims)-2], z.Dims[:len(z.Dims)-2])
	if err != nil {
		return x, err
	}
	out := append(slices.Clone(batch), rows, columns)
	if graph.Elements(z.Dims[:len(z.Dims)-2]) == 1 {
		x, z = x.As(graph.Elements(batch)*rows, k), z.As(k, columns)
	} else {
		if x, err = n.broadcastTo(x, append(slices.Clone(batch), rows, k)); err != nil {
			return x, err
		}
		if z, err = n.broadcastTo(z, append(slices.Clone(batch), k, columns)); err != nil {
			return x, err
		}
	}
	s := x.shape()
	l := layer.Layer{Op: layer.MatMul, In: s, Second: layer.Runtime, Columns: columns}
	return n.addLayer(l, layer.Weights{}, out, x, z)
}

// addOneInputEinsumLayers adds layers that compute an einsum of a single input. term and out hold
// the labels of the input and of the result. Axes whose labels are not in out are summed, and the
// others are put in the order of out.
func addOneInputEinsumLayers(n *Chooser, term, out string) (Operand, error) {
	x, err := n.inputOperand(0)
	if err != nil {
		return Operand{}, err
	}
	axes, left, dims := make([]bool, len(term)), "", []int{}
	for i, l := range term {
		if strings.IndexRune(term, l) != i {
			return Operand{}, fmt.Errorf("equation %q repeats a label in one term; diagonals are not supported", n.Text("equation", ""))
		}
		if axes[i] = !strings.ContainsRune(out, l); !axes[i] {
			left += string(l)
			dims = append(dims, x.Dims[i])
		}
	}
	if x, err = n.reduceAxes(layer.ReduceSum, x, axes); err != nil {
		return Operand{}, err
	}
	var perm []int
	for _, l := range out {
		perm = append(perm, strings.IndexRune(left, l))
	}
	return n.permute(x.As(dims...), perm)
}

// addEinsumLayers adds layers that compute an einsum of two inputs as a batched matmul. Labels in
// both inputs and the result are batch axes; labels in both inputs only are summed over. For one
// input, see [addOneInputEinsumLayers].
func addEinsumLayers(n *Chooser) (Operand, error) {
	terms, right, err := ops.EinsumTerms(n.Node)
	if err != nil {
		return Operand{}, err
	}
	if len(terms) == 1 {
		return addOneInputEinsumLayers(n, terms[0], right)
	}
	if len(terms) != 2 {
		return Operand{}, fmt.Errorf("equation %q has %d inputs; want 1 or 2", n.Text("equation", ""), len(terms))
	}
	var side [2]Operand
	sizes := map[rune]int{}
	for i := range side {
		if side[i], err = n.inputOperand(i); err != nil {
			return Operand{}, err
		}
		for k, l := range terms[i] {
			if strings.IndexRune(terms[i], l) != k {
				return Operand{}, fmt.Errorf("equation %q repeats a label in one term; diagonals are not supported", n.Text("equation", ""))
			}
			sizes[l] = max(sizes[l], side[i].Dims[k])
		}
	}
	for i := range side {
		// Labels of extent 1 that the other term enlarges go first, and sums over labels of one term
		// second: all labels that remain are those of a matmul.
		side[i], terms[i] = dropBroadcastLabels(side[i], terms[i], sizes)
	}
	for i := range side {
		if side[i], terms[i], err = sumLoneLabels(n, side[i], terms[i], right+terms[1-i]); err != nil {
			return Operand{}, err
		}
	}
	batch, sum, rows, columns := classifyLabels(terms, right)
	count := func(letters []rune) int {
		e := 1
		for _, l := range letters {
			e *= sizes[l]
		}
		return e
	}
	for i, order := range [...][]rune{slices.Concat(batch, rows, sum), slices.Concat(batch, sum, columns)} {
		var perm []int
		for _, l := range order {
			perm = append(perm, strings.IndexRune(terms[i], l))
		}
		if side[i], err = n.permute(side[i], perm); err != nil {
			return Operand{}, err
		}
	}
	x := side[0].As(count(batch), count(rows), count(sum))
	z := side[1].As(count(batch), count(sum), count(columns))
	y, err := multiplyMatrices(n, x, z)
	if err != nil {
		return Operand{}, err
	}
	// The matmul gives its axes in this order; a last permutation brings them into that of the equation.
	labels := slices.Concat(batch, rows, columns)
	var dims, perm []int
	for _, l := range labels {
		dims = append(dims, sizes[l])
	}
	for _, l := range right {
		perm = append(perm, slices.Index(labels, l))
	}
	return n.permute(y.As(dims...), perm)
}

// dropBroadcastLabels returns x without the axes of extent 1 whose labels have larger sizes, which the
// other input has, and the labels in term that are left.
func dropBroadcastLabels(x Operand, term string, sizes map[rune]int) (Operand, string) {
	left, dims := "", []int{}
	for k, l := range []rune(term) {
		if x.Dims[k] == sizes[l] {
			left, dims = left+string(l), append(dims, x.Dims[k])
		}
	}
	return x.As(dims...), left
}

// sumLoneLabels sums x over the axes whose labels in term are not in others, and returns the sum
// without these axes and their labels.
func sumLoneLabels(n *Chooser, x Operand, term, others string) (Operand, string, error) {
	axes, left := make([]bool, len(x.Dims)), ""
	var dims []int
	for k, l := range []rune(term) {
		if axes[k] = !strings.ContainsRune(others, l); !axes[k] {
			dims, left = append(dims, x.Dims[k]), left+string(l)
		}
	}
	if left == term {
		return x, term, nil
	}
	x, err := n.reduceAxes(layer.ReduceSum, x, axes)
	return x.As(dims...), left, err
}

// classifyLabels sorts the labels of the two terms of an einsum into four groups: those in both
// terms and in out, the labels of the result (batch), in both terms but not in out (sum), in the
// first term only (rows), and in the second term only (columns).
func classifyLabels(terms []string, out string) (batch, sum, rows, columns []rune) {
	for i, t := range terms {
		for _, l := range t {
			both, kept := strings.ContainsRune(terms[1-i], l), strings.ContainsRune(out, l)
			switch {
			case both && kept && i == 0:
				batch = append(batch, l)
			case both && !kept && i == 0:
				sum = append(sum, l)
			case !both && i == 0:
				rows = append(rows, l)
			case !both:
				columns = append(columns, l)
			}
		}
	}
	return batch, sum, rows, columns
}

package choose

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/x448/float16"

	"anesim/loader/layer"
	"anesim/loader/network/graph"
	"anesim/loader/network/ops"
)

// gemm is alpha times a product, and beta times an addend.
func gemm(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err == nil && n.Int("transA", 0) != 0 {
		x, err = n.permuted(x, []int{1, 0})
	}
	if err != nil {
		return Operand{}, err
	}
	alpha, beta := float64(n.Float("alpha", 1)), float64(n.Float("beta", 1))
	var y Operand
	added := false
	if c := n.Const(1); c != nil {
		y, added, err = gemmByConstant(n, x, c, alpha, beta)
	} else {
		y, err = gemmByTensor(n, x, alpha)
	}
	if err != nil {
		return Operand{}, err
	}
	if n.Given(2) && !added && beta != 0 {
		return gemmAddend(n, y, beta)
	}
	return y, nil
}

// gemmByConstant is alpha*x times a constant. An addend that is a bias is added, too, which
// added reports; the factors go into the weights and the bias where fp16 has the products.
func gemmByConstant(n *Chooser, x Operand, c *graph.Const, alpha, beta float64) (y Operand, added bool, err error) {
	out := n.Results[0].Dims
	columns := out[1]
	l := layer.Layer{Op: layer.MatMul, In: x.shape(), Second: layer.Constant, Columns: columns}
	if n.Int("transB", 0) != 0 {
		l.Op = layer.Linear
	}
	h, err := c.Halves()
	if err != nil {
		return x, false, err
	}
	w := layer.Weights{Filter: h}
	scaled, fits := times(h, alpha)
	if fits {
		w.Filter = scaled
	}
	if b := n.Const(2); fits && b != nil && (b.Elements() == 1 || b.Elements() == columns && b.Dims[len(b.Dims)-1] == columns) {
		v, err := b.Halves()
		if err != nil {
			return x, false, err
		}
		if len(v) == 1 && columns > 1 {
			v = slices.Repeat(v, columns)
		}
		if v, ok := times(v, beta); ok {
			l.Bias, w.Bias, added = true, v, true
		}
	}
	if y, err = n.layer(l, w, out, x); err == nil && !fits {
		y, err = n.scaled(y, alpha)
	}
	return y, added, err
}

// gemmByTensor is alpha*x times a computed tensor.
func gemmByTensor(n *Chooser, x Operand, alpha float64) (Operand, error) {
	z, err := n.in(1)
	if err == nil && n.Int("transB", 0) != 0 {
		z, err = n.permuted(z, []int{1, 0})
	}
	if err != nil {
		return x, err
	}
	y, err := multiplied(n, x, z)
	if err != nil {
		return x, err
	}
	return n.scaled(y, alpha)
}

// gemmAddend is y and beta times the addend.
func gemmAddend(n *Chooser, y Operand, beta float64) (Operand, error) {
	if c := n.Const(2); c != nil {
		v, err := c.Values()
		if err != nil {
			return y, err
		}
		scaled := &graph.Const{Dims: c.Dims, Type: c.Type, Numbers: make([]float64, len(v))}
		for i := range v {
			scaled.Numbers[i] = v[i] * beta
		}
		return n.withConstant(layer.Add, y, scaled)
	}
	z, err := n.in(2)
	if err == nil {
		z, err = n.scaled(z, beta)
	}
	if err != nil {
		return y, err
	}
	return n.Binary(layer.Add, y, z)
}

// times returns the values times a factor, and false if they lose their precision, see [layer.Scaled].
func times(v []float16.Float16, by float64) ([]float16.Float16, bool) {
	if by == 1 {
		return v, true
	}
	return layer.Scale(v, func(int) float32 { return float32(by) })
}

func matmul(n *Chooser) (Operand, error) {
	out := n.Results[0].Dims
	x, err := n.in(0)
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
		if graph.Elements(d[:len(d)-2]) == 1 {
			columns := d[len(d)-1]
			h, err := c.Halves()
			if err != nil {
				return Operand{}, err
			}
			l := layer.Layer{Op: layer.MatMul, In: x.shape(), Second: layer.Constant, Columns: columns}
			return n.layer(l, layer.Weights{Filter: h}, out, x)
		}
	}
	z, err := n.in(1)
	if err != nil {
		return Operand{}, err
	}
	if len(z.Dims) == 1 {
		z = z.As(z.Dims[0], 1)
	}
	y, err := multiplied(n, x, z)
	return y.As(out...), err
}

// linear is a product with weights [columns][k], and its bias.
func linear(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	c := n.Const(1)
	if c == nil {
		return Operand{}, errors.New("its weights are computed, not constants")
	}
	l := layer.Layer{Op: layer.Linear, In: x.shape(), Second: layer.Constant, Columns: c.Dims[0]}
	b, err := bias(n, 2, c.Dims[0])
	if err != nil {
		return Operand{}, err
	}
	w := layer.Weights{Bias: b.v}
	l.Bias = b.given
	if w.Filter, err = c.Halves(); err != nil {
		return Operand{}, err
	}
	return n.layer(l, w, n.Results[0].Dims, x)
}

// multiplied is the product of two tensors of matrices. Where the right side is one
// matrix the left's rows are all of one; else the one of fewer matrices repeats.
func multiplied(n *Chooser, x, z Operand) (Operand, error) {
	rows, k, columns := x.Dims[len(x.Dims)-2], x.Dims[len(x.Dims)-1], z.Dims[len(z.Dims)-1]
	batch, err := graph.Broadcast(x.Dims[:len(x.Dims)-2], z.Dims[:len(z.Dims)-2])
	if err != nil {
		return x, err
	}
	out := append(slices.Clone(batch), rows, columns)
	if graph.Elements(z.Dims[:len(z.Dims)-2]) == 1 {
		x, z = x.As(graph.Elements(batch)*rows, k), z.As(k, columns)
	} else {
		if x, err = n.expanded(x, append(slices.Clone(batch), rows, k)); err != nil {
			return x, err
		}
		if z, err = n.expanded(z, append(slices.Clone(batch), k, columns)); err != nil {
			return x, err
		}
	}
	s := x.shape()
	l := layer.Layer{Op: layer.MatMul, In: s, Second: layer.Runtime, Columns: columns}
	return n.layer(l, layer.Weights{}, out, x, z)
}

// einsumOf sums axes of one tensor and puts those that are left in another order.
func einsumOf(n *Chooser, term, right string) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	axes, left, dims := make([]bool, len(term)), "", []int{}
	for i, l := range term {
		if strings.IndexRune(term, l) != i {
			return Operand{}, fmt.Errorf("equation %q takes a diagonal", n.Text("equation", ""))
		}
		if axes[i] = !strings.ContainsRune(right, l); !axes[i] {
			left += string(l)
			dims = append(dims, x.Dims[i])
		}
	}
	if x, err = n.reduced(layer.ReduceSum, x, axes); err != nil {
		return Operand{}, err
	}
	var perm []int
	for _, l := range right {
		perm = append(perm, strings.IndexRune(left, l))
	}
	return n.permuted(x.As(dims...), perm)
}

// einsums are products of two tensors of matrices: letters of both and the result are
// batch, of both alone summed.
func einsums(n *Chooser) (Operand, error) {
	terms, right, err := ops.EinsumTerms(n.Node)
	if err != nil {
		return Operand{}, err
	}
	if len(terms) == 1 {
		return einsumOf(n, terms[0], right)
	}
	if len(terms) != 2 {
		return Operand{}, fmt.Errorf("equation %q; a product of two tensors, or an order of one's axes, is a layer", n.Text("equation", ""))
	}
	var side [2]Operand
	sizes := map[rune]int{}
	for i := range side {
		if side[i], err = n.in(i); err != nil {
			return Operand{}, err
		}
		for k, l := range terms[i] {
			if strings.IndexRune(terms[i], l) != k || !strings.ContainsRune(right+terms[1-i], l) {
				return Operand{}, fmt.Errorf("equation %q takes a diagonal or a sum of one side", n.Text("equation", ""))
			}
			sizes[l] = side[i].Dims[k]
		}
	}
	batch, sum, rows, columns := einsumAxes(terms, right)
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
		if side[i], err = n.permuted(side[i], perm); err != nil {
			return Operand{}, err
		}
	}
	x := side[0].As(count(batch), count(rows), count(sum))
	z := side[1].As(count(batch), count(sum), count(columns))
	y, err := multiplied(n, x, z)
	if err != nil {
		return Operand{}, err
	}
	made := slices.Concat(batch, rows, columns)
	var dims, perm []int
	for _, l := range made {
		dims = append(dims, sizes[l])
	}
	for _, l := range right {
		perm = append(perm, slices.Index(made, l))
	}
	return n.permuted(y.As(dims...), perm)
}

// einsumAxes are the axes of a product of two tensors: of both and the result, of both alone,
// of the first and of the second.
func einsumAxes(terms []string, right string) (batch, sum, rows, columns []rune) {
	for i, t := range terms {
		for _, l := range t {
			both, kept := strings.ContainsRune(terms[1-i], l), strings.ContainsRune(right, l)
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

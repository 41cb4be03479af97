package settle

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"anesim/internal/network/graph"
	"anesim/loader/network/internal/ops"
)

// expandFusedMatMul rewrites a FusedMatMul, alpha times the product of two operands, as a MatMul, a
// Mul if alpha is not 1, and a Transpose of each operand for which transA or transB is set.
func expandFusedMatMul(e *expansion) error {
	side := [2]*graph.Value{e.inputTensor(0), e.inputTensor(1)}
	for i, name := range [...]string{"transA", "transB"} {
		if e.Int("transBatchA", 0)+e.Int("transBatchB", 0) != 0 {
			return fmt.Errorf(`attributes "transBatchA" and "transBatchB" are not supported`)
		}
		if e.Int(name, 0) == 0 {
			continue
		}
		rank := len(side[i].Dims)
		if rank < 2 {
			return fmt.Errorf("cannot transpose shape %v; want at least 2 axes", side[i].Dims)
		}
		perm := make([]int, rank)
		for k := range perm {
			perm[k] = k
		}
		perm[rank-1], perm[rank-2] = rank-2, rank-1
		var err error
		if side[i], err = e.emitTranspose(nil, side[i], perm...); err != nil {
			return err
		}
	}
	if alpha := float64(e.Float("alpha", 1)); alpha != 1 {
		_, err := e.emitNodeChain(e.outputTensor(0), side[0], step{"MatMul", nil, side[:]}, step{"Mul", nil, []*graph.Value{nil, e.newScalarConstant(alpha)}})
		return err
	}
	_, err := e.emitNode(e.outputTensor(0), "MatMul", nil, side[:]...)
	return err
}

// emitActivation emits the activation function that the node's attribute activation names, with the
// parameters that the node's other attributes give it. The function reads x and produces out.
func (e *expansion) emitActivation(out, x *graph.Value) error {
	op := e.Text("activation", "")
	a := attributes{}
	var parameters []float32
	if p := e.Attribute("activation_params"); p != nil {
		parameters = p.Floats
	}
	names := map[string][]string{"LeakyRelu": {"alpha"}, "HardSigmoid": {"alpha", "beta"}, "Elu": {"alpha"}, "Clip": {"min", "max"}}[op]
	for i, name := range names {
		if i < len(parameters) {
			a[name] = newFloatAttr(float64(parameters[i]))
		} else if v := e.Attribute("activation_" + name); v != nil {
			a[name] = v
		}
	}
	_, err := e.emitNode(out, op, a, x)
	return err
}

// expandFusedConv rewrites a FusedConv as a Conv, an Add if the node has a fourth input, and the
// activation function that the node names, if any.
func expandFusedConv(e *expansion) error {
	activated := e.Text("activation", "") != ""
	in := []*graph.Value{e.inputTensor(0), e.inputTensor(1)}
	if b := e.inputTensor(2); b.Given() {
		in = append(in, b)
	}
	var name *graph.Value
	if !activated && !e.inputTensor(3).Given() {
		name = e.outputTensor(0)
	}
	x, err := e.emitNode(name, "Conv", e.attributesWithout("activation", "activation_params"), in...)
	if err != nil {
		return err
	}
	if z := e.inputTensor(3); z.Given() {
		if !activated {
			name = e.outputTensor(0)
		}
		if x, err = e.emitNode(name, "Add", nil, x, z); err != nil {
			return err
		}
	}
	if activated {
		err = e.emitActivation(e.outputTensor(0), x)
	}
	return err
}

func expandFusedGemm(e *expansion) error {
	if e.Text("activation", "") == "" {
		_, err := e.emitNode(e.outputTensor(0), "Gemm", e.AllAttributes(), e.AllInputs()...)
		return err
	}
	x, err := e.emitNode(nil, "Gemm", e.attributesWithout("activation", "activation_alpha", "activation_beta", "activation_gamma"), e.AllInputs()...)
	if err != nil {
		return err
	}
	return e.emitActivation(e.outputTensor(0), x)
}

// expandMatMulNBits rewrites a MatMulNBits as a MatMul with unpacked weights and, if the node has a
// bias, an Add. The weights are constants of 2, 4 or 8 bits, with one scale for each block of a
// column.
func expandMatMulNBits(e *expansion) error {
	k, columns, bits, block := e.Int("K", 0), e.Int("N", 0), e.Int("bits", 4), e.Int("block_size", 32)
	w, s := e.Const(1), e.Const(2)
	switch {
	case w == nil || s == nil:
		return errors.New("weights or scales are missing or computed; want constants")
	case bits != 2 && bits != 4 && bits != 8:
		return fmt.Errorf("weights have %d bits; want 2, 4 or 8", bits)
	case block < 1 || k < 1 || columns < 1 || k > graph.MaxExtent || columns > graph.MaxExtent || k*columns > 1<<31:
		return fmt.Errorf("size K %d, N %d or block_size %d is out of range; want K and N from 1 to %d, K*N at most 2^31 and block_size at least 1", k, columns, block, graph.MaxExtent)
	}
	// Unpacked weights are up to 32 times as large as those of the file.
	if err := e.budget.Spend(2 * graph.NumberBytes * k * columns); err != nil {
		return err
	}
	packed, err := w.Values()
	if err != nil {
		return err
	}
	scales, err := s.Values()
	if err != nil {
		return err
	}
	blocks := (k + block - 1) / block
	row := (block*bits + 7) / 8
	if len(packed) != columns*blocks*row {
		return fmt.Errorf("packed weights have %d bytes; want %d for %d columns of %d blocks", len(packed), columns*blocks*row, columns, blocks)
	}
	if len(scales) < columns*blocks {
		return fmt.Errorf("%d scales for %d columns of %d blocks; want at least %d", len(scales), columns, blocks, columns*blocks)
	}
	if e.Given(4) {
		return fmt.Errorf("group indices (g_idx) are not supported")
	}
	field := func(v []float64, at int) float64 { // value at an index; the lowest bits of a byte come first
		each := 8 / bits
		return float64(int(v[at/each]) >> (at % each * bits) & (1<<bits - 1))
	}
	zero, err := newZeroPointFunc(e, bits, columns, blocks, field)
	if err != nil {
		return err
	}
	out := make([]float64, k*columns)
	for o := range columns {
		for i := range k {
			b := i / block
			q := field(packed[(o*blocks+b)*row:], i%block)
			out[i*columns+o] = (q - zero(o, b)) * scales[o*blocks+b]
		}
	}
	if bias := e.inputTensor(5); bias.Given() {
		_, err = e.emitNodeChain(e.outputTensor(0), e.inputTensor(0), step{"MatMul", nil, []*graph.Value{nil, e.newFloatConstant([]int{k, columns}, out)}}, step{"Add", nil, []*graph.Value{nil, bias}})
		return err
	}
	_, err = e.emitNode(e.outputTensor(0), "MatMul", nil, e.inputTensor(0), e.newFloatConstant([]int{k, columns}, out))
	return err
}

// newZeroPointFunc returns a function that gives the zero point of block b of column o. Zero points
// are floats or packed integers, which field unpacks. If the node has none, the function returns
// the middle of the range, 1<<(bits-1).
func newZeroPointFunc(e *expansion, bits, columns, blocks int, field func(v []float64, at int) float64) (func(o, b int) float64, error) {
	z := e.Const(3)
	switch {
	case z == nil && e.Given(3):
		return nil, fmt.Errorf("zero points are computed; want constants")
	case z == nil:
		return func(o, b int) float64 { return float64(int(1) << (bits - 1)) }, nil
	}
	v, err := z.Values()
	if err != nil {
		return nil, err
	}
	each, packed := blocks, !z.Type.IsFloat() // elements of v for a column
	if packed {
		each = (blocks*bits + 7) / 8
	}
	switch {
	case len(v) < columns*each:
		return nil, fmt.Errorf("zero points have %d elements; want at least %d for %d columns", len(v), columns*each, columns)
	case packed:
		return func(o, b int) float64 { return field(v[o*each:], b) }, nil
	}
	return func(o, b int) float64 { return v[o*each+b] }, nil
}

// isComposedEinsum reports whether n is an einsum of more than two inputs, or one in which a term
// repeats a label. The engine computes it as several nodes.
func isComposedEinsum(n *graph.Node) bool {
	if n.Op != "Einsum" {
		return false
	}
	terms, _, err := ops.EinsumTerms(n)
	return err == nil && (len(terms) > 2 || slices.ContainsFunc(terms, func(t string) bool { return repeatedLabel(t) >= 0 }))
}

// repeatedLabel returns the index of the first label in term that is the same as an earlier one, or
// -1 if there is none.
func repeatedLabel(term string) int {
	for i := range term {
		if strings.IndexByte(term, term[i]) < i {
			return i
		}
	}
	return -1
}

// expandEinsum rewrites an einsum for which isComposedEinsum is true. It first emits the diagonals of
// inputs whose terms repeat a label, and then multiplies the inputs two at a time.
func expandEinsum(e *expansion) error {
	terms, right, err := ops.EinsumTerms(e.Node)
	if err != nil {
		return err
	}
	if _, err := ops.Infer(e.Node); err != nil {
		return err
	}
	if right, err = e.nameEllipsis(terms, right); err != nil {
		return err
	}
	in := slices.Clone(e.AllInputs())
	for i := range terms {
		for k := repeatedLabel(terms[i]); k >= 0; k = repeatedLabel(terms[i]) {
			if in[i], err = e.emitDiagonal(in[i], strings.IndexByte(terms[i], terms[i][k]), k); err != nil {
				return err
			}
			terms[i] = terms[i][:k] + terms[i][k+1:]
		}
	}
	for len(terms) > 2 {
		// A label that no later term and not the result has is summed over now, while the intermediate
		// tensor is small.
		needed, kept := right+strings.Join(terms[2:], ""), ""
		for _, l := range terms[0] + terms[1] {
			if strings.ContainsRune(needed, l) && !strings.ContainsRune(kept, l) {
				kept += string(l)
			}
		}
		y, err := e.emitNode(nil, "Einsum", einsumAttributes(kept, terms[:2]...), in[0], in[1])
		if err != nil {
			return err
		}
		terms, in = append([]string{kept}, terms[2:]...), append([]*graph.Value{y}, in[2:]...)
	}
	_, err = e.emitNode(e.outputTensor(0), "Einsum", einsumAttributes(right, terms...), in...)
	return err
}

// nameEllipsis replaces the labels of the axes of an ellipsis in the terms of the node by letters that the
// equation does not use, and returns its right side with the same. It returns an error if one of these
// axes is broadcast, which a letter would not be.
func (e *expansion) nameEllipsis(terms []string, right string) (string, error) {
	used := strings.Join(terms, "") + right
	letters := map[rune]rune{}
	next := 'A'
	for _, l := range used {
		if unicode.IsLetter(l) || letters[l] != 0 {
			continue
		}
		for ; strings.ContainsRune(used, next); next++ {
			if next == 'Z' {
				next = 'a' - 1
			}
		}
		letters[l] = next
		next++
	}
	named := func(r rune) rune { return cmp.Or(letters[r], r) }
	sizes := map[rune]int{}
	for i := range terms {
		d, err := e.Dims(i)
		if err != nil {
			return "", err
		}
		for k, l := range terms[i] {
			// Digits broadcast an axis of extent 1, and letters do not.
			if old, ok := sizes[l]; ok && old != d[k] {
				return "", fmt.Errorf("equation %q broadcasts an ellipsis, which is not supported with repeated labels or more than two inputs", e.Text("equation", ""))
			}
			sizes[l] = d[k]
		}
		terms[i] = strings.Map(named, terms[i])
	}
	return strings.Map(named, right), nil
}

// einsumAttributes returns the attributes of an Einsum with the given terms.
func einsumAttributes(right string, terms ...string) attributes {
	return attributes{"equation": {Text: strings.Join(terms, ",") + "->" + right}}
}

// emitDiagonal emits nodes that keep the elements of x whose indices on the axes first and second are
// equal, and returns their result, which lacks the second axis.
func (e *expansion) emitDiagonal(x *graph.Value, first, second int) (*graph.Value, error) {
	size := x.Dims[first]
	if err := e.budget.Spend(8, size, size); err != nil {
		return nil, err
	}
	dims, mask := slices.Repeat([]int{1}, len(x.Dims)), make([]float64, size*size)
	dims[first], dims[second] = size, size
	for i := range size {
		mask[i*size+i] = 1
	}
	y, err := e.emitNode(nil, "Mul", nil, x, e.newFloatConstant(dims, mask))
	if err != nil {
		return nil, err
	}
	return e.emitNode(nil, "ReduceSum", attributes{"axes": newIntsAttr(second), "keepdims": newIntAttr(0)}, y)
}

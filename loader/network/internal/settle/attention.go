package settle

import (
	"errors"
	"fmt"
	"slices"

	"anesim/internal/network/graph"
)

// There are four attention operators: one with the projections, one with three tensors, one with
// fewer heads of keys than of queries, and ONNX's own. All of them compute
//
//	softmax(scale * q k^T + mask) v
//
// for each head. They differ in the layout of heads, of past keys and values, and of the mask.

// An attentionArgs holds the operands of an attention. Queries, keys and values have shape
// [batch][heads][length][size].
type attentionArgs struct {
	q, k, v      *graph.Value
	pastK, pastV *graph.Value // past keys and values before k and v, or nil
	presentK     *graph.Value // results for the joined keys and values
	presentV     *graph.Value
	present      int          // positions in these results, of which the last may be unused; at least the keys
	mask         *graph.Value // added to the scores, or nil
	sink         *graph.Value // scores of no key, of shape [batch][heads][length][1], or nil
	causal       bool
	window       int // the number of keys up to its own that a query of a causal attention sees; all unless positive
	scale        float64
	softcap      float64
	groups       int // heads of q for each head of k
}

const maskedScore = -65504 // the least finite fp16 number

// emitAttention emits nodes that compute the attention with operands a. It returns the result,
// whose shape is [batch][heads][length][size].
func (e *expansion) emitAttention(a attentionArgs) (*graph.Value, error) {
	fresh := a.k.Dims // without past keys
	err := prependPastKeys(e, &a)
	if err != nil {
		return nil, err
	}
	q, k := a.q.Dims, a.k.Dims
	if len(q) != 4 || len(k) != 4 || len(fresh) != 4 {
		return nil, fmt.Errorf("queries have shape %v and keys have shape %v; want 4 axes each", q, k)
	}
	if a.groups > 1 {
		for _, x := range [...]**graph.Value{&a.k, &a.v} {
			if *x, err = e.repeatHeads(*x, a.groups); err != nil {
				return nil, err
			}
		}
	}
	turned, err := e.emitTranspose(nil, a.k, 0, 1, 3, 2)
	if err != nil {
		return nil, err
	}
	// The queries are scaled, not the scores, of which there are more and which may overflow fp16 before.
	s, err := e.emitNodeChain(nil, a.q, step{"Mul", nil, []*graph.Value{nil, e.newScalarConstant(a.scale)}}, step{"MatMul", nil, []*graph.Value{nil, turned}})
	if err == nil && a.softcap != 0 {
		s, err = e.emitNodeChain(nil, s, step{"Mul", nil, []*graph.Value{nil, e.newScalarConstant(1 / a.softcap)}}, step{"Tanh", nil, nil}, step{"Mul", nil, []*graph.Value{nil, e.newScalarConstant(a.softcap)}})
	}
	if err == nil && a.mask.Given() {
		s, err = e.emitNode(nil, "Add", nil, s, a.mask)
	}
	if err == nil && a.causal {
		var mask *graph.Value
		if mask, err = newCausalMask(e, q[2], k[2], k[2]-fresh[2], a.window); err == nil {
			s, err = e.emitNode(nil, "Add", nil, s, mask)
		}
	}
	if err != nil {
		return nil, err
	}
	if want := []int{q[0], q[1], q[2], k[2]}; !slices.Equal(s.Dims, want) {
		return nil, fmt.Errorf("masked scores have shape %v; want %v", s.Dims, want)
	}
	if a.sink != nil {
		s, err = e.emitNode(nil, "Concat", attributes{"axis": newIntAttr(3)}, s, a.sink)
	}
	if err == nil {
		s, err = e.emitNode(nil, "Softmax", attributes{"axis": newIntAttr(3)}, s)
	}
	if err == nil && a.sink != nil {
		s, err = e.emitNode(nil, "Slice", nil, s, e.newIntConstant(0), e.newIntConstant(k[2]), e.newIntConstant(3))
	}
	if err != nil {
		return nil, err
	}
	return e.emitNode(nil, "MatMul", nil, s, a.v)
}

// prependPastKeys concatenates the past keys and values with the new ones in a, along the axis of
// positions, and names the joined tensors as the outputs presentK and presentV. Without past keys,
// the new tensors become these outputs. Zeros fill these outputs up to a.present positions.
func prependPastKeys(e *expansion, a *attentionArgs) (err error) {
	keys := a.k.Dims[2]
	if a.pastK.Given() && len(a.pastK.Dims) == 4 {
		keys += a.pastK.Dims[2]
	}
	// A cache of fixed size is larger than its contents. Attention works without the zeros; only the
	// outputs have them.
	if unused := a.present - keys; unused > 0 {
		joined := *a
		joined.presentK, joined.presentV, joined.present = nil, nil, 0
		if err := prependPastKeys(e, &joined); err != nil {
			return err
		}
		a.k, a.v = joined.k, joined.v
		for _, x := range [...]struct{ out, of *graph.Value }{{a.presentK, a.k}, {a.presentV, a.v}} {
			if !x.out.Given() {
				continue
			}
			if _, err := e.emitNode(x.out, "Pad", attributes{"pads": newIntsAttr(0, 0, 0, 0, 0, 0, unused, 0)}, x.of); err != nil {
				return err
			}
		}
		return nil
	}
	if a.pastK.Given() && a.pastK.Dims != nil && graph.Elements(a.pastK.Dims) > 0 {
		if a.k, err = e.emitNode(a.presentK, "Concat", attributes{"axis": newIntAttr(2)}, a.pastK, a.k); err == nil {
			a.v, err = e.emitNode(a.presentV, "Concat", attributes{"axis": newIntAttr(2)}, a.pastV, a.v)
		}
		return err
	}
	for _, x := range [...]struct{ out, of *graph.Value }{{a.presentK, a.k}, {a.presentV, a.v}} {
		if !x.out.Given() {
			continue
		}
		if _, err := e.emitNode(x.out, "Identity", nil, x.of); err != nil {
			return err
		}
	}
	return nil
}

// newCausalMask returns a constant of shape [1][1][rows][columns] to be added to attention scores.
// Row i is 0 in columns up to i+past, which query i may attend to, and maskedScore in later
// columns. If window is positive, only the last window of the columns up to i+past are 0.
func newCausalMask(e *expansion, rows, columns, past, window int) (*graph.Value, error) {
	if err := e.budget.Spend(2 * graph.NumberBytes * rows * columns); err != nil {
		return nil, err
	}
	v := make([]float64, rows*columns)
	for i := range v {
		last := i/columns + past
		if at := i % columns; at > last || window > 0 && at <= last-window {
			v[i] = maskedScore
		}
	}
	return e.newFloatConstant([]int{1, 1, rows, columns}, v), nil
}

// repeatHeads emits nodes that repeat each head of x, whose shape is [batch][heads][length][size],
// the given number of times. The copies of a head follow each other.
func (e *expansion) repeatHeads(x *graph.Value, times int) (*graph.Value, error) {
	d := x.Dims
	x, err := e.emitReshape(nil, x, d[0], d[1], 1, d[2], d[3])
	if err == nil {
		x, err = e.emitNode(nil, "Expand", nil, x, e.newIntConstant(d[0], d[1], times, d[2], d[3]))
	}
	if err == nil {
		x, err = e.emitReshape(nil, x, d[0], d[1]*times, d[2], d[3])
	}
	return x, err
}

// splitHeads splits the last axis into n heads: [batch][length][n*size] becomes
// [batch][n][length][size]. A tensor with 4 axes is returned unchanged.
func (e *expansion) splitHeads(x *graph.Value, n int) (*graph.Value, error) {
	d := x.Dims
	if len(d) == 4 {
		return x, nil
	}
	if len(d) != 3 || n < 1 || d[2]%n != 0 {
		return nil, fmt.Errorf("cannot split shape %v into %d heads; want 3 axes and a positive divisor of the last dimension", d, n)
	}
	x, err := e.emitReshape(nil, x, d[0], d[1], n, d[2]/n)
	if err != nil {
		return nil, err
	}
	return e.emitTranspose(nil, x, 0, 2, 1, 3)
}

// joinHeads emits nodes that turn x, of shape [batch][heads][length][size], into out, of shape
// [batch][length][heads*size]. It is the inverse of splitHeads.
func (e *expansion) joinHeads(out, x *graph.Value) error {
	d := x.Dims
	x, err := e.emitTranspose(nil, x, 0, 2, 1, 3)
	if err == nil {
		_, err = e.emitReshape(out, x, d[0], d[2], d[1]*d[3])
	}
	return err
}

// emitScoreMask emits nodes that turn a mask of ones and zeros into a tensor to be added to
// attention scores of shape [batch][heads][rows][columns]: 0 for a one, and the larger of filter
// and maskedScore for a zero. A mask with one axis gives the number of leading columns that are
// ones for each batch element. Other masks have shape [batch][columns], [batch][rows][columns], or
// four axes.
func (e *expansion) emitScoreMask(mask *graph.Value, rows, columns int, filter float64) (*graph.Value, error) {
	d := mask.Dims
	if t := mask.Type; t.IsFloat() {
		return nil, fmt.Errorf("mask has element type %v; want an integer or bool type", t)
	}
	switch {
	case len(d) == 1: // the number of columns
		var err error
		if mask, err = e.emitLengthMask(mask, 1, columns); err != nil {
			return nil, err
		}
	case len(d) == 2 && d[1] == columns:
		var err error
		if mask, err = e.emitReshape(nil, mask, d[0], 1, 1, columns); err != nil {
			return nil, err
		}
	case len(d) == 3 && d[1] == rows && d[2] == columns:
		var err error
		if mask, err = e.emitReshape(nil, mask, d[0], 1, rows, columns); err != nil {
			return nil, err
		}
	case len(d) == 4:
	default:
		return nil, fmt.Errorf("mask shape %v is incompatible with scores of %d rows and %d columns", d, rows, columns)
	}
	return e.emitHiddenScores(mask, filter)
}

// emitLengthMask emits nodes that compute a mask of shape [batch][1][rows][columns] from the number
// of visible columns of each batch element. The last row sees that many leading columns, and each
// row before it one less than the next.
func (e *expansion) emitLengthMask(lengths *graph.Value, rows, columns int) (*graph.Value, error) {
	if err := e.budget.Spend(2 * graph.NumberBytes * rows * columns); err != nil {
		return nil, err
	}
	places := make([]float64, rows*columns)
	for i := range places {
		places[i] = float64(i%columns + rows - 1 - i/columns)
	}
	count, err := e.emitReshape(nil, lengths, lengths.Dims[0], 1, 1, 1)
	if err != nil {
		return nil, err
	}
	return e.emitNode(nil, "Less", nil, e.newFloatConstant([]int{1, 1, rows, columns}, places), e.emitFloatAlias(count))
}

// emitHiddenScores emits nodes that turn a mask of ones and zeros into a tensor to be added to
// attention scores: 0 for a one, and the larger of filter and maskedScore for a zero.
func (e *expansion) emitHiddenScores(mask *graph.Value, filter float64) (*graph.Value, error) {
	seen, err := e.emitNode(nil, "Cast", attributes{"to": newIntAttr(int(graph.Float))}, mask)
	if err != nil {
		return nil, err
	}
	return e.emitNodeChain(nil, seen, step{"Sub", nil, []*graph.Value{e.newScalarConstant(1), nil}}, step{"Mul", nil, []*graph.Value{nil, e.newScalarConstant(max(maskedScore, filter))}})
}

// expandAttention rewrites an Attention as matmuls and a softmax. Microsoft's operator of that name
// includes the projections of its input, and ONNX's does not.
func expandAttention(e *expansion) error {
	if e.Domain == "com.microsoft" {
		return expandProjectedAttention(e)
	}
	return expandONNXAttention(e)
}

// expandProjectedAttention rewrites Microsoft's Attention: one matmul projects the input to
// queries, keys and values, which are split into heads for [expansion.emitAttention].
func expandProjectedAttention(e *expansion) error {
	n := e.Int("num_heads", 0)
	x, err := e.emitNode(nil, "MatMul", nil, e.inputTensor(0), e.inputTensor(1))
	if err != nil {
		return err
	}
	if b := e.inputTensor(2); b.Given() {
		if x, err = e.emitNode(nil, "Add", nil, x, b); err != nil {
			return err
		}
	}
	d := x.Dims
	if e.Int("do_rotary", 0) != 0 {
		return errors.New(`attribute "do_rotary" is not supported`)
	}
	e.Accept("past_present_share_buffer", 0) // without a past
	e.Ignore("rotary_embedding_dim")         // of do_rotary
	if len(d) != 3 || n < 1 {
		return fmt.Errorf("cannot split shape %v into %d heads; want 3 axes and at least 1 head", d, n)
	}
	sizes, given, err := e.List("qkv_hidden_sizes", -1)
	if err != nil {
		return err
	}
	// Without sizes the three parts are equal.
	if !given || len(sizes) != 3 {
		sizes = []int{d[2] / 3, d[2] / 3, d[2] - 2*(d[2]/3)}
	}
	parts, err := e.emitMultiResultNode([]*graph.Value{nil, nil, nil}, "", "Split", attributes{"axis": newIntAttr(2)}, x, e.newIntConstant(sizes...))
	if err != nil {
		return err
	}
	for i := range parts {
		if parts[i], err = e.splitHeads(parts[i], n); err != nil {
			return err
		}
	}
	a := attentionArgs{q: parts[0], k: parts[1], v: parts[2], causal: e.Int("unidirectional", 0) != 0, scale: e.readScoreScale(sizes[0] / n), mask: e.inputTensor(5)}
	if e.inputTensor(4).Given() || e.outputTensor(1).Given() {
		return errors.New(`input "past" and output "present" are not supported`)
	}
	if err := e.addMaskInput(&a, 3, d[1], d[1]); err != nil {
		return err
	}
	y, err := e.emitAttention(a)
	if err != nil {
		return err
	}
	return e.joinHeads(e.outputTensor(0), y)
}

// addMaskInput adds the mask in the given input of the node to a.mask, the tensor that is added to
// the attention scores. Without that input, a does not change.
func (e *expansion) addMaskInput(a *attentionArgs, input, rows, columns int) error {
	m, filter := e.inputTensor(input), float64(e.Float("mask_filter_value", -10000))
	if !m.Given() {
		return nil
	}
	mask, err := e.emitScoreMask(m, rows, columns, filter)
	if err == nil && a.mask.Given() {
		mask, err = e.emitNode(nil, "Add", nil, a.mask, mask)
	}
	a.mask = mask
	return err
}

// expandMultiHeadAttention rewrites a MultiHeadAttention. Its queries, keys and values are separate
// inputs, or two or all three of them are packed in one tensor with five axes.
func expandMultiHeadAttention(e *expansion) error {
	n := e.Int("num_heads", 0)
	in := [3]*graph.Value{e.inputTensor(0), e.inputTensor(1), e.inputTensor(2)}
	var err error
	if d := in[0].Dims; len(d) == 5 { // [batch][length][heads][3][size]
		if err := e.unpackHeads(in[:], in[0], 3); err != nil {
			return err
		}
	} else if d := in[1].Dims; len(d) == 5 {
		if err := e.unpackHeads(in[1:], in[1], 2); err != nil {
			return err
		}
	}
	if b := e.inputTensor(3); b.Given() {
		c := e.Const(3)
		if c == nil {
			return errors.New("bias is computed; want a constant")
		}
		v, err := c.Values()
		if err != nil {
			return err
		}
		for i, x := range in {
			d := x.Dims
			if len(d) != 3 {
				return fmt.Errorf("input %d has shape %v; want 3 axes to add a bias", i, d)
			}
			if len(v) < d[2] {
				return fmt.Errorf("bias has %d elements left for input %d; want at least %d", len(v), i, d[2])
			}
			if in[i], err = e.emitNode(nil, "Add", nil, x, e.newFloatConstant([]int{d[2]}, v[:d[2]])); err != nil {
				return err
			}
			// One bias holds those of queries, keys and values one after the other.
			v = v[d[2]:]
		}
	}
	for i := range in {
		if in[i], err = e.splitHeads(in[i], n); err != nil {
			return err
		}
	}
	q := in[0].Dims
	a := attentionArgs{
		q: in[0], k: in[1], v: in[2], pastK: e.inputTensor(6), pastV: e.inputTensor(7), presentK: e.outputTensor(1), presentV: e.outputTensor(2),
		mask: e.inputTensor(5), causal: e.Int("unidirectional", 0) != 0, scale: e.readScoreScale(q[3]),
	}
	columns := in[1].Dims[2]
	if p := a.pastK.Dims; len(p) == 4 {
		columns += p[2]
	}
	if err := e.addMaskInput(&a, 4, q[2], columns); err != nil {
		return err
	}
	y, err := e.emitAttention(a)
	if err != nil {
		return err
	}
	return e.joinHeads(e.outputTensor(0), y)
}

// unpackHeads emits nodes that split x, of shape [batch][length][heads][n][size], along its fourth
// axis. It stores the first len(to) parts in to, each with shape [batch][heads][length][size].
func (e *expansion) unpackHeads(to []*graph.Value, x *graph.Value, n int) error {
	d := x.Dims
	if d[3] != n {
		return fmt.Errorf("packed tensor has shape %v; want %d elements along axis 3", d, n)
	}
	for i := range to {
		y, err := e.emitNode(nil, "Slice", nil, x, e.newIntConstant(i), e.newIntConstant(i+1), e.newIntConstant(3))
		if err == nil {
			y, err = e.emitReshape(nil, y, d[0], d[1], d[2], d[4])
		}
		if err == nil {
			y, err = e.emitTranspose(nil, y, 0, 2, 1, 3)
		}
		if err != nil {
			return err
		}
		to[i] = y
	}
	return nil
}

// expandONNXAttention rewrites ONNX's own Attention operator, which exists since version 23. Its
// inputs have shape [batch][heads][length][size] or [batch][length][heads*size]; the result has the
// layout of the queries.
func expandONNXAttention(e *expansion) error {
	in := [3]*graph.Value{e.inputTensor(0), e.inputTensor(1), e.inputTensor(2)}
	apart := len(in[0].Dims) == 4
	n, kv := e.Int("q_num_heads", 0), e.Int("kv_num_heads", 0)
	var err error
	for i, heads := range [...]int{n, kv, kv} {
		if in[i], err = e.splitHeads(in[i], heads); err != nil {
			return err
		}
	}
	q, k := in[0].Dims, in[1].Dims
	if e.outputTensor(3).Given() {
		return errors.New(`output "qk_matmul_output" is not supported`)
	}
	if len(q) != 4 || len(k) != 4 || k[1] == 0 || q[1]%k[1] != 0 {
		return fmt.Errorf("queries have shape %v and keys have shape %v; want 4 axes each, with query heads a multiple of key heads", q, k)
	}
	a := attentionArgs{
		q: in[0], k: in[1], v: in[2], pastK: e.inputTensor(4), pastV: e.inputTensor(5), presentK: e.outputTensor(1), presentV: e.outputTensor(2),
		causal: e.Int("is_causal", 0) != 0, scale: e.readScoreScale(q[3]), groups: q[1] / k[1], softcap: float64(e.Float("softcap", 0)),
	}
	e.Ignore("qk_matmul_output_mode", "softmax_precision") // of an output that is refused, and of a softmax in more than fp16
	if m := e.inputTensor(3); m.Given() {
		a.mask = m
		if !m.Type.IsFloat() {
			seen, err := e.emitNode(nil, "Cast", attributes{"to": newIntAttr(int(graph.Float))}, m)
			if err == nil {
				a.mask, err = e.emitNodeChain(nil, seen, step{"Sub", nil, []*graph.Value{e.newScalarConstant(1), nil}}, step{"Mul", nil, []*graph.Value{nil, e.newScalarConstant(maskedScore)}})
			}
			if err != nil {
				return err
			}
		}
	}
	if lengths := e.inputTensor(6); lengths.Given() {
		// Keys and values are whole caches of which the first ones are filled. The last query of a
		// causal attention has the position of the last filled key, as in onnxruntime.
		if a.pastK.Given() || len(lengths.Dims) != 1 {
			return errors.New(`input "nonpad_kv_seqlen" is not supported with past keys; want one length for each sequence`)
		}
		rows := 1
		if a.causal {
			rows, a.causal = q[2], false
		}
		filled, err := e.emitLengthMask(lengths, rows, k[2])
		if err == nil {
			filled, err = e.emitHiddenScores(filled, maskedScore)
		}
		if err == nil && a.mask.Given() {
			filled, err = e.emitNode(nil, "Add", nil, a.mask, filled)
		}
		if err != nil {
			return err
		}
		a.mask = filled
	}
	y, err := e.emitAttention(a)
	if err != nil {
		return err
	}
	if apart {
		_, err = e.emitNode(e.outputTensor(0), "Identity", nil, y)
		return err
	}
	return e.joinHeads(e.outputTensor(0), y)
}

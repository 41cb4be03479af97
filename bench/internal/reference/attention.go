package reference

import (
	"fmt"
	"math"
	"slices"

	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
)

// attentionOperators has the operators that compute softmax(scale * q * k^T + mask) * v for each
// head, and those that rotate q and k.
var attentionOperators = map[string]operator{
	"Attention": {1, computeAttention}, "MultiHeadAttention": {1, computeMultiHeadAttention}, "GroupQueryAttention": {1, computeGroupQueryAttention},
	"RotaryEmbedding": {3, wrapSingleResult(computeRotaryEmbedding)},
}

// attentionArgs are the operands of one attention. Its tensors have the shape
// [batch][heads][length][size].
type attentionArgs struct {
	q, k, v      *tensor.Tensor
	pastK, pastV *tensor.Tensor // come before k and v; may be nil
	masks        []*tensor.Tensor
	sink         *tensor.Tensor // a score for no key of each head, or nil
	causal       bool
	window       int // the number of keys up to its own that a query of a causal attention sees; 0 for all
	scale        float64
	softcap      float64 // unless 0, a score s becomes softcap * tanh(s/softcap)
}

// computeOutput returns the result y of the attention. It also returns the keys k and the values v,
// which begin with the past keys and values. If there are fewer heads of keys and values than of
// queries, several heads of queries share one.
func (a attentionArgs) computeOutput(c *call) (y, k, v *tensor.Tensor, err error) {
	k, v = a.k, a.v
	for _, x := range [][2]*tensor.Tensor{{a.q, k}, {k, v}, {a.pastK, k}, {a.pastV, v}} {
		if x[0] != nil && (len(x[0].Dims) != 4 || len(x[1].Dims) != 4 || x[0].Dims[0] != x[1].Dims[0]) {
			return nil, nil, nil, fmt.Errorf("attention inputs have shapes %v and %v; want rank 4 and equal batch sizes", x[0].Dims, x[1].Dims)
		}
	}
	past := 0
	if a.pastK != nil && a.pastV != nil {
		past = a.pastK.Dims[2]
		if k, err = tensor.Concatenate([]*tensor.Tensor{a.pastK, k}, 2); err != nil {
			return nil, nil, nil, err
		}
		if v, err = tensor.Concatenate([]*tensor.Tensor{a.pastV, v}, 2); err != nil {
			return nil, nil, nil, err
		}
	}
	heads, groups := a.q.Dims[1], k.Dims[1]
	if v.Dims[1] != groups {
		return nil, nil, nil, fmt.Errorf("keys have %d heads and values have %d; want equal numbers", groups, v.Dims[1])
	}
	if groups == 0 || heads%groups != 0 {
		return nil, nil, nil, fmt.Errorf("queries have %d heads; want a multiple of %d, the number of key heads", heads, groups)
	}
	keyHeads := make([]int, heads) // the head of the keys for each head of the queries
	for i := range keyHeads {
		// Consecutive heads of queries share a head of keys, as ONNX defines grouped queries.
		keyHeads[i] = i / (heads / groups)
	}
	keys, err := k.SelectSlices(1, keyHeads)
	if err != nil {
		return nil, nil, nil, err
	}
	values, err := v.SelectSlices(1, keyHeads)
	if err != nil {
		return nil, nil, nil, err
	}
	scores, err := a.computeWeights(c, keys, past)
	if err != nil {
		return nil, nil, nil, err
	}
	y, err = c.matMul(scores, values)
	return y, k, v, err
}

// computeWeights returns the attention weights: the softmax of the scores of all queries and keys,
// with the masks added. In causal attention, a query ignores the keys after its own position; past
// is the number of keys that precede the first query.
func (a attentionArgs) computeWeights(c *call, keys *tensor.Tensor, past int) (*tensor.Tensor, error) {
	transposed, err := keys.Transpose(0, 1, 3, 2)
	if err != nil {
		return nil, err
	}
	s, err := c.matMul(a.q, transposed)
	if err != nil {
		return nil, err
	}
	tanh := c.findElementaryFunction("Tanh")
	s = s.MapElements(func(v float64) float64 {
		if v *= a.scale; a.softcap != 0 {
			v = a.softcap * tanh(v/a.softcap)
		}
		return v
	})
	for _, m := range a.masks {
		m, err := m.BroadcastTo(s.Dims)
		if err != nil {
			return nil, err
		}
		if s, err = tensor.Add(s, m); err != nil {
			return nil, err
		}
	}
	rows, columns := s.Dims[2], s.Dims[3]
	for i := range s.Data {
		last := i/columns%rows + past
		if at := i % columns; a.causal && (at > last || a.window > 0 && at <= last-a.window) {
			s.Data[i] = math.Inf(-1)
		}
	}
	// A sink is a score to which no key belongs: it takes part in the sum of the softmax and is then cut
	// off.
	if a.sink == nil {
		return s.MapLines(3, c.softmax)
	}
	sink, err := a.sink.Reshape(1, s.Dims[1], 1, 1)
	if err == nil {
		sink, err = sink.BroadcastTo([]int{s.Dims[0], s.Dims[1], rows, 1})
	}
	if err != nil {
		return nil, err
	}
	if s, err = tensor.Concatenate([]*tensor.Tensor{s, sink}, 3); err != nil {
		return nil, err
	}
	if s, err = s.MapLines(3, c.softmax); err != nil {
		return nil, err
	}
	return s.SliceRange(3, 0, columns)
}

// splitHeads reshapes x from [batch][length][heads*size] to [batch][heads][length][size]. It
// returns tensors of rank 4 unchanged, and an error if x is nil.
func splitHeads(x *tensor.Tensor, heads int) (*tensor.Tensor, error) {
	if x == nil {
		return nil, fmt.Errorf("missing queries, keys or values")
	}
	d := x.Dims
	if len(d) == 4 {
		return x, nil
	}
	if len(d) != 3 {
		return nil, fmt.Errorf("input has shape %v; want rank 3 or 4", d)
	}
	if heads < 1 || d[2]%heads != 0 {
		return nil, fmt.Errorf("cannot divide the last axis of shape %v into %d heads", d, heads)
	}
	return x.SplitTransposeJoin([]int{d[0], d[1], heads, d[2] / heads}, []int{0, 2, 1, 3}, []int{d[0], heads, d[1], d[2] / heads})
}

// joinHeads reshapes x from [batch][heads][length][size] to [batch][length][heads*size]. It undoes
// splitHeads.
func joinHeads(x *tensor.Tensor) (*tensor.Tensor, error) {
	d := x.Dims
	return x.SplitTransposeJoin(d, []int{0, 2, 1, 3}, []int{d[0], d[2], d[1] * d[3]})
}

// splitQKV splits the queries, keys and values, which are in[0], in[1] and in[2], into heads. The
// queries have the given number of heads. The keys and the values have one head per group.
func splitQKV(in [3]*tensor.Tensor, heads, groups int) (out [3]*tensor.Tensor, err error) {
	for i, n := range [...]int{heads, groups, groups} {
		if out[i], err = splitHeads(in[i], n); err != nil {
			return out, err
		}
	}
	return out, nil
}

// scoreScale returns the factor by which scores are multiplied if heads have size elements. It is
// the attribute scale, or 1/sqrt(size) if the attribute is 0 or missing.
func (c *call) scoreScale(size int) float64 {
	if s := c.floatAttribute("scale", 0); s != 0 {
		return s
	}
	return 1 / math.Sqrt(float64(size))
}

// computeAttention computes the operator Attention, either ONNX's or the one of com.microsoft, as
// the node says.
func computeAttention(c *call) ([]*tensor.Tensor, error) {
	if isMicrosoft(c.node) {
		return computeProjectedAttention(c)
	}
	in, err := splitQKV([3]*tensor.Tensor{c.in[0], c.inputTensor(1), c.inputTensor(2)}, c.intAttribute("q_num_heads", 0), c.intAttribute("kv_num_heads", 0))
	if err != nil {
		return nil, err
	}
	lengths := c.inputTensor(6) // filled positions of the keys, for each element of the batch
	if c.hasOutput(3) || lengths != nil && (c.inputTensor(4) != nil || len(lengths.Dims) != 1) {
		return nil, c.newUnsupportedError(`output "qk_matmul_output", or "nonpad_kv_seqlen" with past keys`)
	}
	a := attentionArgs{
		q: in[0], k: in[1], v: in[2], pastK: c.inputTensor(4), pastV: c.inputTensor(5), causal: c.flagAttribute("is_causal"),
		scale: c.scoreScale(in[0].Dims[3]), softcap: c.floatAttribute("softcap", 0),
	}
	if m := c.inputTensor(3); m != nil {
		if m.Type == onnx.Bool {
			m = m.MapElements(func(visible float64) float64 {
				if visible == 0 {
					return math.Inf(-1)
				}
				return 0
			}).WithType(in[0].Type)
		}
		a.masks = append(a.masks, m)
	}
	if lengths != nil {
		rows, columns := in[0].Dims[2], in[1].Dims[2]
		filled, err := tensor.New(onnx.Float, len(lengths.Data), 1, rows, columns)
		if err != nil {
			return nil, err
		}
		for i := range filled.Data {
			row, last := i/columns%rows, lengths.Data[i/columns/rows]
			if a.causal { // the last query is at the last filled key
				last -= float64(rows - 1 - row)
			}
			if float64(i%columns) >= last {
				filled.Data[i] = math.Inf(-1)
			}
		}
		a.causal, a.masks = false, append(a.masks, filled)
	}
	y, k, v, err := a.computeOutput(c)
	if err == nil && len(c.in[0].Dims) == 3 {
		y, err = joinHeads(y)
	}
	return []*tensor.Tensor{y, k, v}, err
}

// maskToBias converts a mask of ones and zeros to a tensor to add to scores
// [batch][heads][rows][columns]. The tensor is 0 where the mask is 1, and hidden where the mask is
// 0. A mask has one element per column, per row and column, or per score. A mask of rank 1 instead
// holds the number of visible columns for each element of the batch.
func maskToBias(mask *tensor.Tensor, rows, columns int, hidden float64) (*tensor.Tensor, error) {
	d := mask.Dims
	visible := mask
	var err error
	switch {
	case len(d) == 1:
		if visible, err = tensor.New(onnx.Bool, d[0], 1, 1, columns); err != nil {
			return nil, err
		}
		for i := range visible.Data {
			visible.Data[i] = tensor.BoolToFloat(float64(i%columns) < mask.Data[i/columns])
		}
	case len(d) == 2 && d[1] == columns:
		visible, err = mask.Reshape(d[0], 1, 1, columns)
	case len(d) == 3 && d[1] == rows && d[2] == columns:
		visible, err = mask.Reshape(d[0], 1, rows, columns)
	case len(d) != 4:
		return nil, fmt.Errorf("mask shape %v does not match %d queries and %d keys", d, rows, columns)
	}
	if err != nil {
		return nil, err
	}
	return visible.MapElements(func(v float64) float64 {
		if v == 1 {
			return 0 // also where hidden is infinite
		}
		return (1 - v) * hidden
	}).WithType(onnx.Float), nil
}

// listScoreBiases returns the tensors to add to scores with the given rows and columns: the mask,
// converted by maskToBias with the attribute mask_filter_value for hidden columns, and the bias. It
// omits a mask or bias that is nil.
func (c *call) listScoreBiases(mask, bias *tensor.Tensor, rows, columns int) (list []*tensor.Tensor, err error) {
	if mask != nil {
		if mask, err = maskToBias(mask, rows, columns, c.floatAttribute("mask_filter_value", -10000)); err != nil {
			return nil, err
		}
		list = append(list, mask)
	}
	if bias != nil {
		list = append(list, bias)
	}
	return list, nil
}

// computeProjectedAttention computes com.microsoft's Attention, which multiplies one input by one
// matrix to get the queries, keys and values. Past and present keys and values are tensors
// [2][batch][heads][length][size].
func computeProjectedAttention(c *call) ([]*tensor.Tensor, error) {
	if c.flagAttribute("do_rotary") || c.inputTensor(1) == nil {
		return nil, c.newUnsupportedError(`attribute "do_rotary", or missing weights`)
	}
	x, err := multiplyMatrices(c.in[0], c.in[1])
	if err == nil {
		x, err = addNonNilTensors(x, c.inputTensor(2))
	}
	if err != nil {
		return nil, err
	}
	if len(x.Dims) != 3 {
		return nil, fmt.Errorf("input has shape %v; want rank 3", c.in[0].Dims)
	}
	in, err := splitProjection(x, c.intsAttribute("qkv_hidden_sizes"))
	if err != nil {
		return nil, err
	}
	heads := c.intAttribute("num_heads", 0)
	if in, err = splitQKV(in, heads, heads); err != nil {
		return nil, err
	}
	a := attentionArgs{q: in[0], k: in[1], v: in[2], causal: c.flagAttribute("unidirectional"), scale: c.scoreScale(in[0].Dims[3])}
	columns := in[1].Dims[2]
	// One tensor holds past keys and values, because both have one shape.
	if past := c.inputTensor(4); past != nil {
		if len(past.Dims) != 5 || past.Dims[0] != 2 {
			return nil, fmt.Errorf("input \"past\" has shape %v; want [2][batch][heads][length][size]", past.Dims)
		}
		for i, to := range []**tensor.Tensor{&a.pastK, &a.pastV} {
			if *to, err = past.SliceRange(0, i, i+1); err == nil {
				*to, err = (*to).DropAxes([]int{0})
			}
			if err != nil {
				return nil, err
			}
		}
		columns += past.Dims[3]
	}
	if a.masks, err = c.listScoreBiases(c.inputTensor(3), c.inputTensor(5), in[0].Dims[2], columns); err != nil {
		return nil, err
	}
	y, k, v, err := a.computeOutput(c)
	if err != nil {
		return nil, err
	}
	var present *tensor.Tensor
	if c.hasOutput(1) {
		if present, err = stackIterations([][]*tensor.Tensor{{k}, {v}}, 0, 0, false); err != nil {
			return nil, err
		}
	}
	y, err = joinHeads(y)
	return []*tensor.Tensor{y, present}, err
}

// splitProjection splits the last axis of x into queries, keys and values of the given sizes. They
// have equal sizes if sizes does not have three elements.
func splitProjection(x *tensor.Tensor, sizes []int) (in [3]*tensor.Tensor, err error) {
	if len(sizes) != 3 {
		sizes = []int{x.Dims[2] / 3, x.Dims[2] / 3, x.Dims[2] / 3}
	}
	if least := slices.Min(sizes); least < 0 || sizes[0]+sizes[1]+sizes[2] != x.Dims[2] {
		return in, fmt.Errorf("cannot split the last axis of shape %v into queries, keys and values of sizes %v", x.Dims, sizes)
	}
	from := 0
	for i, n := range sizes {
		if in[i], err = x.SliceRange(2, from, from+n); err != nil {
			return in, err
		}
		from += n
	}
	return in, nil
}

// computeMultiHeadAttention computes com.microsoft's MultiHeadAttention. The queries, keys and
// values are separate inputs, or are packed into tensors [batch][length][heads][3 or 2][size].
func computeMultiHeadAttention(c *call) ([]*tensor.Tensor, error) {
	heads := c.intAttribute("num_heads", 0)
	in := [3]*tensor.Tensor{c.in[0], c.inputTensor(1), c.inputTensor(2)}
	for first, n := range map[int]int{0: 3, 1: 2} {
		if t := c.inputTensor(first); t != nil && len(t.Dims) == 5 {
			if t.Dims[3] != n {
				return nil, fmt.Errorf("packed input has shape %v; want size %d for axis 3", t.Dims, n)
			}
			for i := range n {
				part, err := t.SliceRange(3, i, i+1)
				if err == nil {
					part, err = part.Reshape(t.Dims[0], t.Dims[1], t.Dims[2]*t.Dims[4])
				}
				if err != nil {
					return nil, err
				}
				in[first+i] = part
			}
		}
	}
	if bias := c.inputTensor(3); bias != nil {
		from := 0
		for i, x := range in {
			if x == nil || len(x.Dims) != 3 || len(bias.Dims) != 1 || from+x.Dims[2] > len(bias.Data) {
				return nil, c.newUnsupportedError("bias not matching queries, keys and values of rank 3")
			}
			part, err := bias.SliceRange(0, from, from+x.Dims[2])
			if err == nil {
				in[i], err = tensor.Add(x, part)
			}
			if err != nil {
				return nil, err
			}
			from += x.Dims[2]
		}
	}
	in, err := splitQKV(in, heads, heads)
	if err != nil {
		return nil, err
	}
	a := attentionArgs{q: in[0], k: in[1], v: in[2], pastK: c.inputTensor(6), pastV: c.inputTensor(7), causal: c.flagAttribute("unidirectional"), scale: c.scoreScale(in[0].Dims[3])}
	columns := in[1].Dims[2]
	if a.causal && columns != in[0].Dims[2] {
		// The result of onnxruntime matches neither masks aligned at the first element nor
		// masks aligned at the last.
		return nil, c.newUnsupportedError("unidirectional attention with different numbers of queries and keys")
	}
	if p := a.pastK; p != nil && len(p.Dims) == 4 {
		columns += p.Dims[2]
	}
	if a.masks, err = c.listScoreBiases(c.inputTensor(4), c.inputTensor(5), in[0].Dims[2], columns); err != nil {
		return nil, err
	}
	y, k, v, err := a.computeOutput(c)
	if err == nil {
		y, err = joinHeads(y)
	}
	return []*tensor.Tensor{y, k, v}, err
}

// computeGroupQueryAttention computes GroupQueryAttention, a causal attention in which several
// heads of queries may share a head of keys and values. Of the past keys and values, only the first
// ones may be filled. It returns an error unless as many are filled in all sequences of the batch.
func computeGroupQueryAttention(c *call) ([]*tensor.Tensor, error) {
	heads, groups := c.intAttribute("num_heads", 0), c.intAttribute("kv_num_heads", 0)
	in := [3]*tensor.Tensor{c.in[0], c.inputTensor(1), c.inputTensor(2)}
	if d := in[0].Dims; in[1] == nil { // all three are packed in one input
		if len(d) != 3 || heads < 1 || groups < 1 || d[2]%(heads+2*groups) != 0 {
			return nil, fmt.Errorf("cannot divide the last axis of shape %[3]v into %[1]d query heads, %[2]d key heads and %[2]d value heads", heads, groups, d)
		}
		size, from := d[2]/(heads+2*groups), 0
		all := in[0]
		for i, n := range [...]int{heads, groups, groups} {
			var err error
			if in[i], err = all.SliceRange(2, from, from+n*size); err != nil {
				return nil, err
			}
			from += n * size
		}
	}
	in, err := splitQKV(in, heads, groups)
	if err != nil {
		return nil, err
	}
	a := attentionArgs{causal: true, window: max(0, c.intAttribute("local_window_size", -1)), scale: c.scoreScale(in[0].Dims[3]), softcap: c.floatAttribute("softcap", 0)}
	if a.sink = c.inputTensor(11); a.sink == nil && c.intAttribute("smooth_softmax", -1) > 0 {
		a.sink = tensor.NewVector(make([]int, heads)...).WithType(in[0].Type)
	}
	past, room := 0, 0
	if p := c.inputTensor(3); p != nil && len(p.Dims) == 4 {
		past, room = p.Dims[2], p.Dims[2]
	}
	if lengths := c.inputTensor(5); lengths != nil {
		for i, last := range lengths.ToInts() {
			// The input has the last index of each sequence with the new elements, not the number of the
			// past ones.
			filled := last + 1 - in[0].Dims[2]
			if filled < 0 || filled > room || i > 0 && filled != past {
				return nil, c.newUnsupportedError("sequences of different lengths")
			}
			past = filled
		}
	}
	if past > 0 {
		for i, to := range []**tensor.Tensor{&a.pastK, &a.pastV} {
			if *to, err = c.inputTensor(3+i).SliceRange(2, 0, past); err != nil {
				return nil, err
			}
		}
	}
	if c.flagAttribute("do_rotary") {
		positions := c.inputTensor(9)
		if positions == nil {
			positions = tensor.NewVector(past)
		}
		size := 0
		if cos := c.inputTensor(7); cos != nil && len(cos.Dims) == 2 {
			size = 2 * cos.Dims[1]
		}
		for i := range in[:2] {
			if in[i], err = rotatePairs(in[i], c.inputTensor(7), c.inputTensor(8), positions, c.flagAttribute("rotary_interleaved"), size); err != nil {
				return nil, err
			}
		}
	}
	bias, keys := c.inputTensor(10), past+in[0].Dims[2]
	if bias != nil && len(bias.Dims) == 4 && bias.Dims[3] > keys {
		if bias, err = bias.SliceRange(3, 0, keys); err != nil {
			return nil, err
		}
	}
	if a.masks, err = c.listScoreBiases(nil, bias, 0, 0); err != nil {
		return nil, err
	}
	a.q, a.k, a.v = in[0], in[1], in[2]
	y, k, v, err := a.computeOutput(c)
	if err == nil {
		y, err = joinHeads(y)
	}
	if total := c.inputTensor(6); err == nil && total != nil && len(total.Data) == 1 {
		room = max(room, total.ToInts()[0])
	}
	for _, x := range []**tensor.Tensor{&k, &v} { // zeros fill the rest of the cache
		if err != nil || room <= keys {
			break
		}
		d := slices.Clone((*x).Dims)
		d[2] = room - keys
		unused, e := tensor.New((*x).Type, d...)
		if err = e; err == nil {
			*x, err = tensor.Concatenate([]*tensor.Tensor{*x, unused}, 2)
		}
	}
	return []*tensor.Tensor{y, k, v}, err
}

// computeRotaryEmbedding computes RotaryEmbedding. The inputs are x, cosines, sines and
// positions in ONNX's operator, and x, positions, cosines and sines in com.microsoft's.
func computeRotaryEmbedding(c *call) (*tensor.Tensor, error) {
	x, positions, cos, sin := c.in[0], c.inputTensor(1), c.inputTensor(2), c.inputTensor(3)
	if !isMicrosoft(c.node) {
		cos, sin, positions = c.inputTensor(1), c.inputTensor(2), c.inputTensor(3)
	}
	heads := c.intAttribute("num_heads", 0)
	if heads == 0 && len(x.Dims) == 3 && cos != nil && len(cos.Dims) > 0 && cos.Dims[len(cos.Dims)-1] > 0 {
		heads = x.Dims[2] / (2 * cos.Dims[len(cos.Dims)-1])
	}
	split, err := splitHeads(x, heads)
	if err != nil {
		return nil, err
	}
	y, err := rotatePairs(split, cos, sin, positions, c.flagAttribute("interleaved"), c.intAttribute("rotary_embedding_dim", 0))
	if err != nil || len(x.Dims) == 4 {
		return y, err
	}
	return joinHeads(y)
}

// rotatePairs rotates pairs of elements of x [batch][heads][length][size] by angles whose cosines
// and sines are in tables [position][pair]. The positions are [batch][length], or a single
// position for the first element of each sequence. If positions is nil, the tables are
// [batch][length][pair]. A pair is two adjacent elements if neighbors is set, and otherwise an
// element of each half. Only the first size elements are rotated, or all if size is 0.
func rotatePairs(x, cos, sin, positions *tensor.Tensor, neighbors bool, size int) (*tensor.Tensor, error) {
	if cos == nil || sin == nil {
		return nil, fmt.Errorf("missing cosine or sine table for rotary embedding")
	}
	if len(x.Dims) != 4 {
		return nil, fmt.Errorf("input has shape %v; want rank 4", x.Dims)
	}
	batch, heads, length, all := x.Dims[0], x.Dims[1], x.Dims[2], x.Dims[3]
	if size == 0 {
		size = all
	}
	pairs := size / 2
	if size < 2 || size%2 != 0 || size > all {
		return nil, fmt.Errorf("cannot rotate %d of %d elements per head; want an even number from 2 to %[2]d", size, all)
	}
	if len(cos.Data)%pairs != 0 || len(cos.Data) != len(sin.Data) {
		return nil, fmt.Errorf("cosine and sine tables have shapes %v and %v; want equal element counts, divisible by %d", cos.Dims, sin.Dims, pairs)
	}
	row := make([]int, batch*length) // of the tables
	var list []int
	if positions != nil {
		list = positions.ToInts()
	}
	for i := range row {
		switch {
		case positions == nil:
			row[i] = i
		case len(list) == batch*length:
			row[i] = list[i]
		case len(list) == 1:
			row[i] = list[0] + i%length
		default:
			return nil, fmt.Errorf("positions have shape %v; want 1 or %d elements", positions.Dims, batch*length)
		}
		if row[i] < 0 || row[i] >= len(cos.Data)/pairs {
			return nil, fmt.Errorf("position %d is out of range for a cosine table of %d rows", row[i], len(cos.Data)/pairs)
		}
	}
	y := x.MapElements(func(v float64) float64 { return v })
	for i := range batch * heads * length {
		table := row[i/length/heads*length+i%length] * pairs
		for p := range pairs {
			first, second := i*all+p, i*all+p+pairs
			if neighbors {
				first, second = i*all+2*p, i*all+2*p+1
			}
			a, b, c, s := x.Data[first], x.Data[second], cos.Data[table+p], sin.Data[table+p]
			y.Data[first], y.Data[second] = a*c-b*s, a*s+b*c
		}
	}
	return y, nil
}

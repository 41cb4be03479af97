package settle

import (
	"fmt"

	"anesim/internal/network/graph"
)

// expandGroupQueryAttention rewrites a GroupQueryAttention, in which several heads of queries share
// one head of keys and values. If do_rotary is set, queries and keys are first rotated by angles
// that depend on their positions. Positions start at the number of past keys.
func expandGroupQueryAttention(e *expansion) error {
	n, kv := e.Int("num_heads", 0), e.Int("kv_num_heads", 0)
	if n < 1 || kv < 1 || n%kv != 0 {
		return fmt.Errorf("num_heads %d is not a positive multiple of kv_num_heads %d", n, kv)
	}
	e.Accept("qk_output", 0)
	e.Accept("kv_cache_bit_width", 0)
	for _, name := range [...]string{"k_quant_type", "v_quant_type"} {
		if form := e.Text(name, "NONE"); form != "NONE" {
			return fmt.Errorf("%s %q is not supported", name, form)
		}
	}
	in := [3]*graph.Value{e.inputTensor(0), e.inputTensor(1), e.inputTensor(2)}
	var err error
	if !in[1].Given() {
		d := in[0].Dims
		if len(d) != 3 || d[2]%(n+2*kv) != 0 {
			return fmt.Errorf("cannot split shape %v into %d query, %d key and %[3]d value heads of equal size", d, n, kv)
		}
		size := d[2] / (n + 2*kv)
		parts, err := e.emitMultiResultNode([]*graph.Value{nil, nil, nil}, "", "Split", attributes{"axis": newIntAttr(2)}, in[0], e.newIntConstant(n*size, kv*size, kv*size))
		if err != nil {
			return err
		}
		copy(in[:], parts)
	}
	for i, heads := range [...]int{n, kv, kv} {
		if in[i], err = e.splitHeads(in[i], heads); err != nil {
			return err
		}
	}
	q := in[0].Dims
	cache, err := readCacheLengths(e, q[2])
	if err != nil {
		return err
	}
	if neighbors := e.Int("rotary_interleaved", 0) != 0; e.Int("do_rotary", 0) != 0 {
		places := make([]int, q[2])
		for i := range places {
			places[i] = cache.filled + i
		}
		at := e.inputTensor(9)
		if !at.Given() {
			at = e.newIntConstant(places...)
		}
		cos, sin, part := e.inputTensor(7), e.inputTensor(8), 0
		if d := cos.Dims; len(d) == 2 {
			part = 2 * d[1] // the other elements of a head stay as they are
		}
		for i := range in[:2] {
			if in[i], err = e.rotatePairs(nil, in[i], cos, sin, at, neighbors, part); err != nil {
				return err
			}
		}
	} else {
		e.inputTensor(7) // tables that nothing reads
		e.inputTensor(8)
		e.inputTensor(9)
	}
	a := attentionArgs{
		q: in[0], k: in[1], v: in[2], presentK: e.outputTensor(1), presentV: e.outputTensor(2), causal: true, window: e.Int("local_window_size", -1),
		scale: e.readScoreScale(q[3]), groups: n / kv, softcap: float64(e.Float("softcap", 0)), present: cache.present,
	}
	if err := cache.prepend(e, &a); err != nil {
		return err
	}
	if b, keys := e.inputTensor(10), cache.filled+q[2]; b.Given() {
		d := b.Dims
		if len(d) != 4 || d[3] < keys {
			return fmt.Errorf("attention_bias has shape %v; want 4 axes and at least %d columns", d, keys)
		}
		if a.mask = b; d[3] > keys {
			if a.mask, err = e.emitNode(nil, "Slice", nil, b, e.newIntConstant(0), e.newIntConstant(keys), e.newIntConstant(3)); err != nil {
				return err
			}
		}
	}
	if err := addSink(e, &a, n, q); err != nil {
		return err
	}
	y, err := e.emitAttention(a)
	if err != nil {
		return err
	}
	return e.joinHeads(e.outputTensor(0), y)
}

// addSink sets a.sink to the score that each of n heads gives to no key: that in the input
// head_sink or, if only smooth_softmax is set, 0. q is the shape of the queries.
func addSink(e *expansion, a *attentionArgs, n int, q []int) error {
	sink, smooth := e.inputTensor(11), e.Int("smooth_softmax", -1) > 0
	if !sink.Given() {
		if !smooth {
			return nil
		}
		sink = e.newFloatConstant([]int{n}, make([]float64, n))
	}
	if graph.Elements(sink.Dims) != n {
		return fmt.Errorf("head_sink has shape %v; want one score for each of %d heads", sink.Dims, n)
	}
	sink, err := e.emitReshape(nil, sink, 1, n, 1, 1)
	if err == nil {
		a.sink, err = e.emitNode(nil, "Expand", nil, sink, e.newIntConstant(q[0], n, q[2], 1))
	}
	return err
}

// A cacheLengths says how much of the past keys and values of a GroupQueryAttention is filled.
type cacheLengths struct {
	filled, past int // keys before the new ones, and positions in the tensor of past keys
	present      int // positions in the results for keys and values, or 0 for filled and new ones
}

// readCacheLengths returns the lengths of the past keys from their shape and from the node's
// inputs, for length new keys. The filled part is the same for all sequences of the batch. Lengths that are
// computed while the network runs are known where only one is valid: without past keys, or for a single
// sequence whose total length is constant, or whose cache grows by the new keys according to the file. It
// returns an error where any length may come, because the new keys then have no fixed place.
func readCacheLengths(e *expansion, length int) (c cacheLengths, err error) {
	batch := 1
	if p := e.inputTensor(3).Dims; len(p) == 4 {
		batch, c.past = p[0], p[2]
	}
	c.filled = c.past
	last, total := e.Const(5), e.Const(6)
	if total != nil {
		v, err := total.Scalar()
		if err != nil {
			return c, err
		}
		// A cache never shrinks, and a file may name any number.
		c.present = int(max(float64(c.past), min(v, graph.MaxExtent)))
		if last == nil { // the total is that of the longest sequence
			c.filled = int(max(-1, min(v-float64(length), graph.MaxExtent)))
		}
	}
	if last == nil || total == nil {
		e.inputTensor(5)
		e.inputTensor(6)
	}
	if last == nil {
		stated := -1
		if r := e.outputTensor(1).Stated; r != nil && len(r.Dims) == 4 {
			stated = r.Dims[2]
		}
		switch {
		case c.past == 0:
			c.filled = 0 // later keys than its own are hidden from each query, whatever the lengths are
		case batch > 1:
			return c, fmt.Errorf("seqlens_k is computed for %d sequences with past keys; want constants, or 1 sequence", batch)
		case total == nil && stated == c.past:
			return c, fmt.Errorf("seqlens_k and total_sequence_length are computed, and the cache keeps its %d positions; want constants (of inputs: --dim %s=%d,%s=%d)", c.past, e.In[5].Name, c.past+length-1, e.In[6].Name, c.past+length)
		case total == nil && stated != c.past+length:
			return c, fmt.Errorf("seqlens_k and total_sequence_length are computed, and no shape says how many of %d past positions are filled; want constants (of inputs: --dim %s=%d,%s=%d)", c.past, e.In[5].Name, c.past+length-1, e.In[6].Name, c.past+length)
		case c.filled < 0 || c.filled > c.past:
			return c, fmt.Errorf("total_sequence_length is %d for %d new and %d past keys; want %[2]d to %[4]d", c.filled+length, length, c.past, length+c.past)
		}
		return c, nil
	}
	v, err := last.Ints()
	if err != nil {
		return c, err
	}
	for i, at := range v { // the index of the last key
		switch filled := at + 1 - length; {
		case filled != v[0]+1-length:
			return c, fmt.Errorf("sequence %d ends at %d and the first one at %d; want equal lengths", i, at, v[0])
		case filled < 0 || filled > c.past:
			return c, fmt.Errorf("seqlens_k is %d for %d new and %d past keys; want %d to %d", at, length, c.past, length-1, length-1+c.past)
		default:
			c.filled = filled
		}
	}
	return c, nil
}

// prepend sets the past keys and values of a to the filled part of the node's.
func (c cacheLengths) prepend(e *expansion, a *attentionArgs) error {
	past := [2]*graph.Value{e.inputTensor(3), e.inputTensor(4)}
	if c.filled == 0 {
		return nil
	}
	for i, to := range [...]**graph.Value{&a.pastK, &a.pastV} {
		*to = past[i]
		if c.filled < c.past {
			var err error
			if *to, err = e.emitNode(nil, "Slice", nil, past[i], e.newIntConstant(0), e.newIntConstant(c.filled), e.newIntConstant(2)); err != nil {
				return err
			}
		}
	}
	return nil
}

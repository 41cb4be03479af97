package reference

import (
	"fmt"
	"math"
	"slices"

	"anesim/loader/network/onnx"
)

// attentions has the operators that compute softmax(scale * q * k^T + mask) * v for each
// head, and those that rotate q and k.
var attentions = map[string]operator{
	"Attention": {1, attention}, "MultiHeadAttention": {1, multiHeadAttention}, "GroupQueryAttention": {1, groupQueryAttention},
	"RotaryEmbedding": {3, single(rotaryEmbedding)},
}

// An attended is one attention, its tensors [batch][heads][length][size].
type attended struct {
	q, k, v      *Tensor
	pastK, pastV *Tensor // joined in front of k and v, or nil
	masks        []*Tensor
	causal       bool
	scale        float64
	softcap      float64 // scores s become softcap * tanh(s/softcap), unless it is 0
}

// attend returns the result, and the keys and values with those of the past.
func (a attended) attend(c *call) (y, k, v *Tensor, err error) {
	k, v = a.k, a.v
	for _, x := range [][2]*Tensor{{a.q, k}, {k, v}, {a.pastK, k}, {a.pastV, v}} {
		if x[0] != nil && (len(x[0].Dims) != 4 || len(x[1].Dims) != 4 || x[0].Dims[0] != x[1].Dims[0]) {
			return nil, nil, nil, fmt.Errorf("heads of shapes %v and %v", x[0].Dims, x[1].Dims)
		}
	}
	past := 0
	if a.pastK != nil && a.pastV != nil {
		past = a.pastK.Dims[2]
		if k, err = concatenate([]*Tensor{a.pastK, k}, 2); err != nil {
			return nil, nil, nil, err
		}
		if v, err = concatenate([]*Tensor{a.pastV, v}, 2); err != nil {
			return nil, nil, nil, err
		}
	}
	heads, groups := a.q.Dims[1], k.Dims[1]
	if groups == 0 || heads%groups != 0 || v.Dims[1] != groups {
		return nil, nil, nil, fmt.Errorf("%d heads of queries for %d of keys and %d of values", heads, groups, v.Dims[1])
	}
	ofHead := make([]int, heads) // the keys' head for each of the queries'
	for i := range ofHead {
		ofHead[i] = i / (heads / groups)
	}
	keys, err := k.pick(1, ofHead)
	if err != nil {
		return nil, nil, nil, err
	}
	values, err := v.pick(1, ofHead)
	if err != nil {
		return nil, nil, nil, err
	}
	scores, err := a.scores(c, keys, past)
	if err != nil {
		return nil, nil, nil, err
	}
	y, err = c.multiply(scores, values)
	return y, k, v, err
}

// scores returns the softmax of the masked scores. A causal query sees the keys of the
// past and those up to its own place.
func (a attended) scores(c *call, keys *Tensor, past int) (*Tensor, error) {
	turned, err := keys.transpose(0, 1, 3, 2)
	if err != nil {
		return nil, err
	}
	s, err := c.multiply(a.q, turned)
	if err != nil {
		return nil, err
	}
	tanh := c.function("Tanh")
	s = s.apply(func(v float64) float64 {
		if v *= a.scale; a.softcap != 0 {
			v = a.softcap * tanh(v/a.softcap)
		}
		return v
	})
	for _, m := range a.masks {
		m, err := m.broadcast(s.Dims)
		if err != nil {
			return nil, err
		}
		if s, err = add(s, m); err != nil {
			return nil, err
		}
	}
	rows, columns := s.Dims[2], s.Dims[3]
	for i := range s.Data {
		if a.causal && i%columns > i/columns%rows+past {
			s.Data[i] = math.Inf(-1)
		}
	}
	return s.alongAxis(3, c.softmax)
}

// splitHeads returns [batch][heads][length][size] for [batch][length][heads*size], and
// tensors of rank 4 as they are.
func splitHeads(x *Tensor, heads int) (*Tensor, error) {
	if x == nil {
		return nil, fmt.Errorf("queries, keys or values are missing")
	}
	d := x.Dims
	if len(d) == 4 {
		return x, nil
	}
	if len(d) != 3 || heads < 1 || d[2]%heads != 0 {
		return nil, fmt.Errorf("%d heads in shape %v", heads, d)
	}
	return x.rearrange([]int{d[0], d[1], heads, d[2] / heads}, []int{0, 2, 1, 3}, []int{d[0], heads, d[1], d[2] / heads})
}

// joinHeads undoes splitHeads.
func joinHeads(x *Tensor) (*Tensor, error) {
	d := x.Dims
	return x.rearrange(d, []int{0, 2, 1, 3}, []int{d[0], d[2], d[1] * d[3]})
}

// splitAll splits three tensors into heads.
func splitAll(in [3]*Tensor, heads, groups int) (out [3]*Tensor, err error) {
	for i, n := range [...]int{heads, groups, groups} {
		if out[i], err = splitHeads(in[i], n); err != nil {
			return out, err
		}
	}
	return out, nil
}

// scale returns the attribute, or one over the root of a head's size.
func (c *call) scale(size int) float64 {
	if s := c.float("scale", 0); s != 0 {
		return s
	}
	return 1 / math.Sqrt(float64(size))
}

// attention is ONNX's, whose inputs are q, k, v, a mask and the past, or that of
// com.microsoft.
func attention(c *call) ([]*Tensor, error) {
	if c.microsoft() {
		return projectedAttention(c)
	}
	in, err := splitAll([3]*Tensor{c.in[0], c.input(1), c.input(2)}, c.int("q_num_heads", 0), c.int("kv_num_heads", 0))
	if err != nil {
		return nil, err
	}
	if c.wants(3) || c.input(6) != nil {
		return nil, c.unsupported("scores as a result, or lengths of keys")
	}
	a := attended{
		q: in[0], k: in[1], v: in[2], pastK: c.input(4), pastV: c.input(5), causal: c.flag("is_causal"),
		scale: c.scale(in[0].Dims[3]), softcap: c.float("softcap", 0),
	}
	if m := c.input(3); m != nil {
		if m.Type == onnx.Bool {
			m = m.apply(func(seen float64) float64 {
				if seen == 0 {
					return math.Inf(-1)
				}
				return 0
			}).as(in[0].Type)
		}
		a.masks = append(a.masks, m)
	}
	y, k, v, err := a.attend(c)
	if err == nil && len(c.in[0].Dims) == 3 {
		y, err = joinHeads(y)
	}
	return []*Tensor{y, k, v}, err
}

// hide returns what a mask of ones and zeros adds to scores [batch][heads][rows][columns].
// It lists the columns to see, rows and columns, or how many columns there are.
func (c *call) hide(mask *Tensor, rows, columns int) (*Tensor, error) {
	filter := c.float("mask_filter_value", -10000)
	d := mask.Dims
	seen := mask
	var err error
	switch {
	case len(d) == 1:
		if seen, err = newTensor(onnx.Bool, d[0], 1, 1, columns); err != nil {
			return nil, err
		}
		for i := range seen.Data {
			seen.Data[i] = truth(float64(i%columns) < mask.Data[i/columns])
		}
	case len(d) == 2 && d[1] == columns:
		seen, err = mask.reshape(d[0], 1, 1, columns)
	case len(d) == 3 && d[1] == rows && d[2] == columns:
		seen, err = mask.reshape(d[0], 1, rows, columns)
	case len(d) != 4:
		return nil, fmt.Errorf("mask of shape %v for %d by %d scores", d, rows, columns)
	}
	if err != nil {
		return nil, err
	}
	return seen.apply(func(v float64) float64 { return (1 - v) * filter }).as(onnx.Float), nil
}

// masks returns what a padding mask and a bias, both of which may be nil, add to scores.
func (c *call) masks(mask, bias *Tensor, rows, columns int) (list []*Tensor, err error) {
	if mask != nil {
		if mask, err = c.hide(mask, rows, columns); err != nil {
			return nil, err
		}
		list = append(list, mask)
	}
	if bias != nil {
		list = append(list, bias)
	}
	return list, nil
}

// projectedAttention computes q, k and v from one input with one matrix. The past and the
// present have the keys and values in one tensor [2][batch][heads][length][size].
func projectedAttention(c *call) ([]*Tensor, error) {
	if c.flag("do_rotary") || c.input(1) == nil {
		return nil, c.unsupported("rotation, or no weights")
	}
	x, err := multiplyMatrices(c.in[0], c.in[1])
	if err == nil {
		x, err = c.addAll(x, c.input(2))
	}
	if err != nil {
		return nil, err
	}
	if len(x.Dims) != 3 {
		return nil, fmt.Errorf("input of shape %v; want rank 3", c.in[0].Dims)
	}
	in, err := c.splitProjection(x)
	if err != nil {
		return nil, err
	}
	heads := c.int("num_heads", 0)
	if in, err = splitAll(in, heads, heads); err != nil {
		return nil, err
	}
	a := attended{q: in[0], k: in[1], v: in[2], causal: c.flag("unidirectional"), scale: c.scale(in[0].Dims[3])}
	columns := in[1].Dims[2]
	if past := c.input(4); past != nil {
		if len(past.Dims) != 5 || past.Dims[0] != 2 {
			return nil, fmt.Errorf("past of shape %v", past.Dims)
		}
		for i, to := range []**Tensor{&a.pastK, &a.pastV} {
			if *to, err = past.cut(0, i, i+1); err == nil {
				*to, err = (*to).dropAxes([]int{0})
			}
			if err != nil {
				return nil, err
			}
		}
		columns += past.Dims[3]
	}
	if a.masks, err = c.masks(c.input(3), c.input(5), in[0].Dims[2], columns); err != nil {
		return nil, err
	}
	y, k, v, err := a.attend(c)
	if err != nil {
		return nil, err
	}
	var present *Tensor
	if c.wants(1) {
		if present, err = stack([][]*Tensor{{k}, {v}}, 0, 0, false); err != nil {
			return nil, err
		}
	}
	y, err = joinHeads(y)
	return []*Tensor{y, present}, err
}

// splitProjection splits the last axis of x into queries, keys and values.
func (c *call) splitProjection(x *Tensor) (in [3]*Tensor, err error) {
	sizes := c.ints("qkv_hidden_sizes")
	if len(sizes) != 3 {
		sizes = []int{x.Dims[2] / 3, x.Dims[2] / 3, x.Dims[2] / 3}
	}
	if least := slices.Min(sizes); least < 0 || sizes[0]+sizes[1]+sizes[2] != x.Dims[2] {
		return in, fmt.Errorf("sizes %v in shape %v", sizes, x.Dims)
	}
	from := 0
	for i, n := range sizes {
		if in[i], err = x.cut(2, from, from+n); err != nil {
			return in, err
		}
		from += n
	}
	return in, nil
}

// multiHeadAttention has q, k and v in three inputs, or packed: [batch][length][heads][3 or
// 2][size].
func multiHeadAttention(c *call) ([]*Tensor, error) {
	heads := c.int("num_heads", 0)
	in := [3]*Tensor{c.in[0], c.input(1), c.input(2)}
	for first, n := range map[int]int{0: 3, 1: 2} {
		if t := c.input(first); t != nil && len(t.Dims) == 5 {
			if t.Dims[3] != n {
				return nil, fmt.Errorf("packed shape %v; want %d in the fourth axis", t.Dims, n)
			}
			for i := range n {
				part, err := t.cut(3, i, i+1)
				if err == nil {
					part, err = part.reshape(t.Dims[0], t.Dims[1], t.Dims[2]*t.Dims[4])
				}
				if err != nil {
					return nil, err
				}
				in[first+i] = part
			}
		}
	}
	if bias := c.input(3); bias != nil {
		from := 0
		for i, x := range in {
			if x == nil || len(x.Dims) != 3 || len(bias.Dims) != 1 || from+x.Dims[2] > len(bias.Data) {
				return nil, c.unsupported("a bias for keys or values that are split into heads")
			}
			part, err := bias.cut(0, from, from+x.Dims[2])
			if err == nil {
				in[i], err = add(x, part)
			}
			if err != nil {
				return nil, err
			}
			from += x.Dims[2]
		}
	}
	in, err := splitAll(in, heads, heads)
	if err != nil {
		return nil, err
	}
	a := attended{q: in[0], k: in[1], v: in[2], pastK: c.input(6), pastV: c.input(7), causal: c.flag("unidirectional"), scale: c.scale(in[0].Dims[3])}
	columns := in[1].Dims[2]
	if a.causal && columns != in[0].Dims[2] {
		// onnxruntime's result is neither that of masks aligned at the first element nor
		// of those aligned at the last.
		return nil, c.unsupported("unidirectional with fewer or more keys than queries")
	}
	if p := a.pastK; p != nil && len(p.Dims) == 4 {
		columns += p.Dims[2]
	}
	if a.masks, err = c.masks(c.input(4), c.input(5), in[0].Dims[2], columns); err != nil {
		return nil, err
	}
	y, k, v, err := a.attend(c)
	if err == nil {
		y, err = joinHeads(y)
	}
	return []*Tensor{y, k, v}, err
}

// groupQueryAttention is causal and may have fewer heads of keys than of queries. All
// sequences of the batch must be as long as the tensors.
func groupQueryAttention(c *call) ([]*Tensor, error) {
	heads, groups := c.int("num_heads", 0), c.int("kv_num_heads", 0)
	if c.int("local_window_size", -1) > 0 || c.flag("smooth_softmax") || c.input(11) != nil {
		return nil, c.unsupported("a local window or a smooth softmax")
	}
	in := [3]*Tensor{c.in[0], c.input(1), c.input(2)}
	if d := in[0].Dims; in[1] == nil { // all in one
		if len(d) != 3 || heads < 1 || groups < 1 || d[2]%(heads+2*groups) != 0 {
			return nil, fmt.Errorf("%d and twice %d heads in shape %v", heads, groups, d)
		}
		size, from := d[2]/(heads+2*groups), 0
		all := in[0]
		for i, n := range [...]int{heads, groups, groups} {
			var err error
			if in[i], err = all.cut(2, from, from+n*size); err != nil {
				return nil, err
			}
			from += n * size
		}
	}
	in, err := splitAll(in, heads, groups)
	if err != nil {
		return nil, err
	}
	a := attended{causal: true, scale: c.scale(in[0].Dims[3]), softcap: c.float("softcap", 0)}
	past := 0
	if p := c.input(3); p != nil && len(p.Dims) == 4 && p.Dims[2] > 0 {
		past, a.pastK, a.pastV = p.Dims[2], p, c.input(4)
	}
	if lengths := c.input(5); lengths != nil {
		for _, last := range lengths.ints() {
			if last+1 != past+in[0].Dims[2] {
				return nil, c.unsupported("sequences of different lengths, or room for more in the past")
			}
		}
	}
	if c.flag("do_rotary") {
		spots := c.input(9)
		if spots == nil {
			spots = vector(past)
		}
		for i := range in[:2] {
			if in[i], err = rotate(in[i], c.input(7), c.input(8), spots, c.flag("rotary_interleaved"), 0); err != nil {
				return nil, err
			}
		}
	}
	if a.masks, err = c.masks(nil, c.input(10), 0, 0); err != nil {
		return nil, err
	}
	a.q, a.k, a.v = in[0], in[1], in[2]
	y, k, v, err := a.attend(c)
	if err == nil {
		y, err = joinHeads(y)
	}
	return []*Tensor{y, k, v}, err
}

// rotaryEmbedding has inputs x, positions, cosines and sines, or as ONNX's own operator x,
// cosines, sines and positions.
func rotaryEmbedding(c *call) (*Tensor, error) {
	x, spots, cos, sin := c.in[0], c.input(1), c.input(2), c.input(3)
	if !c.microsoft() {
		cos, sin, spots = c.input(1), c.input(2), c.input(3)
	}
	heads := c.int("num_heads", 0)
	if heads == 0 && len(x.Dims) == 3 && cos != nil && len(cos.Dims) > 0 && cos.Dims[len(cos.Dims)-1] > 0 {
		heads = x.Dims[2] / (2 * cos.Dims[len(cos.Dims)-1])
	}
	split, err := splitHeads(x, heads)
	if err != nil {
		return nil, err
	}
	y, err := rotate(split, cos, sin, spots, c.flag("interleaved"), c.int("rotary_embedding_dim", 0))
	if err != nil || len(x.Dims) == 4 {
		return y, err
	}
	return joinHeads(y)
}

// rotate rotates pairs of the first elements of x [batch][heads][length][size] by the
// angles whose cosines and sines are in tables [place][pair]. The places are [batch][length],
// or that of the first element of each sequence. Without places the tables are
// [batch][length][pair]. Pairs are neighbours, or one of each half. A size of 0 rotates all.
func rotate(x, cos, sin, spots *Tensor, neighbours bool, size int) (*Tensor, error) {
	if len(x.Dims) != 4 || cos == nil || sin == nil {
		return nil, fmt.Errorf("shape %v, or tables are missing", x.Dims)
	}
	batch, heads, length, all := x.Dims[0], x.Dims[1], x.Dims[2], x.Dims[3]
	if size == 0 {
		size = all
	}
	pairs := size / 2
	if size < 2 || size%2 != 0 || size > all || len(cos.Data)%pairs != 0 || len(cos.Data) != len(sin.Data) {
		return nil, fmt.Errorf("cannot rotate %d elements of %v with tables of shape %v and %v", size, x.Dims, cos.Dims, sin.Dims)
	}
	row := make([]int, batch*length) // of the tables
	var list []int
	if spots != nil {
		list = spots.ints()
	}
	for i := range row {
		switch {
		case spots == nil:
			row[i] = i
		case len(list) == batch*length:
			row[i] = list[i]
		case len(list) == 1:
			row[i] = list[0] + i%length
		default:
			return nil, fmt.Errorf("places of shape %v for shape %v", spots.Dims, x.Dims)
		}
		if row[i] < 0 || row[i] >= len(cos.Data)/pairs {
			return nil, fmt.Errorf("place %d is not in tables of shape %v", row[i], cos.Dims)
		}
	}
	y := x.apply(func(v float64) float64 { return v })
	for i := range batch * heads * length {
		at := row[i/length/heads*length+i%length] * pairs
		for p := range pairs {
			first, second := i*all+p, i*all+p+pairs
			if neighbours {
				first, second = i*all+2*p, i*all+2*p+1
			}
			a, b, c, s := x.Data[first], x.Data[second], cos.Data[at+p], sin.Data[at+p]
			y.Data[first], y.Data[second] = a*c-b*s, a*s+b*c
		}
	}
	return y, nil
}

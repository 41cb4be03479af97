package planar

import "github.com/x448/float16"

// Apply computes dst[i] = c(a[i], b[i]) and returns how many elements it
// wrote, the length of the shortest of the three. dst may be a or b itself.
//
// Source: the two-source form, Common.Cfg 0x33 and 0x31.
func (c *Config) Apply(dst, a, b []float16.Float16) int {
	n := min(len(dst), len(a), len(b))
	p := c.plan()
	p.apply(dst[:n], a[:n], b[:n])
	return n
}

// ApplyConst is [Config.Apply] with k standing for every element of source 2.
func (c *Config) ApplyConst(dst, a []float16.Float16, k float16.Float16) int {
	n := min(len(dst), len(a))
	p := c.plan()
	p.applyConst(dst[:n], a[:n], k)
	return n
}

// apply needs three slices of one length.
func (p *plan) apply(dst, a, b []float16.Float16) {
	if p.neutral {
		plain(dst, a, b, &p.masks, p.op)
		return
	}
	scaled(dst, a, b, p)
}

func (p *plan) applyConst(dst, a []float16.Float16, k float16.Float16) {
	var repeated [128]float16.Float16
	fill := repeated[:min(len(dst), len(repeated))]
	for i := range fill {
		fill[i] = k
	}
	for len(dst) > 0 {
		n := min(len(dst), len(fill))
		p.apply(dst[:n], a[:n], fill[:n])
		dst, a = dst[n:], a[n:]
	}
}

// ApplyOne is the one-source form, Common.Cfg 0x21: dst[i] is
// (±a[i] + Bias) * Scale and what follows. The constant of a scalar addition
// stands in Bias (env_bcast_add scalar: 0x3800, one half). Of the operations
// only SumSquare, the square of a[i], means anything with one source; the
// others leave it alone.
func (c *Config) ApplyOne(dst, a []float16.Float16) int {
	n := min(len(dst), len(a))
	dst, a = dst[:n], a[:n]
	p := c.plan()
	if op, k, ok := c.scalar(&p); ok && !(op == Mul && p.direct()) {
		p.neutral, p.op = true, op
		p.masks.flip2, p.masks.relu2 = 0, 0
		p.applyConst(dst, a, k)
		return n
	}
	single(dst, a, &p)
	return n
}

// scalar is the operation and the constant that a task with one source comes
// down to, if it does: a sum with Bias or a product with Scale. The zero the
// other one adds is added by every operation.
func (c *Config) scalar(p *plan) (op Op, k float16.Float16, ok bool) {
	switch {
	case !p.tailless || c.Op == SumSquare:
		return 0, 0, false
	case p.scale == 1:
		return Add, c.Bias, true
	case p.bias == 0:
		return Mul, c.Scale, true
	}
	return 0, 0, false
}

// masks are the sign and ReLU switches of a task as masks of float32 bits.
type masks struct {
	flip1, flip2 uint32 // 1<<31 turns the sign
	relu2, relu  uint32 // all ones clears what is negative
}

func (c *Config) masks() masks {
	var m masks
	if c.Negate1 {
		m.flip1 = 1 << 31
	}
	if c.Negate2 {
		m.flip2 = 1 << 31
	}
	if c.Relu2 {
		m.relu2 = ^uint32(0)
	}
	if c.ReLU {
		m.relu = ^uint32(0)
	}
	return m
}

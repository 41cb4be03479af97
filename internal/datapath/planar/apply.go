package planar

import "github.com/x448/float16"

// Apply sets dst[i] to the result of c for a[i] and b[i], for each i below the smallest of the
// three lengths. It returns that number of elements. The slice dst may be a or b. Apply computes
// planar tasks with two sources (Common.Cfg 0x33 and 0x31).
func (c *Config) Apply(dst, a, b []float16.Float16) int {
	n := min(len(dst), len(a), len(b))
	p := c.newPlan()
	p.applyToPairs(dst[:n], a[:n], b[:n])
	return n
}

// ApplyConst does the same as [Config.Apply] with k as every element of source 2.
func (c *Config) ApplyConst(dst, a []float16.Float16, k float16.Float16) int {
	n := min(len(dst), len(a))
	p := c.newPlan()
	p.applyToConst(dst[:n], a[:n], k)
	return n
}

// applyToPairs sets dst[i] to the result of the task for a[i] and b[i]. The slices must have equal
// lengths.
func (p *plan) applyToPairs(dst, a, b []float16.Float16) {
	if p.neutral {
		applyPlain(dst, a, b, &p.masks, p.op)
		return
	}
	applyScaled(dst, a, b, p)
}

// applyToConst sets dst[i] to the result of the task for a[i] and the constant k. The slices must
// have equal lengths.
func (p *plan) applyToConst(dst, a []float16.Float16, k float16.Float16) {
	var repeated [128]float16.Float16
	fill := repeated[:min(len(dst), len(repeated))]
	for i := range fill {
		fill[i] = k
	}
	for len(dst) > 0 {
		n := min(len(dst), len(fill))
		p.applyToPairs(dst[:n], a[:n], fill[:n])
		dst, a = dst[n:], a[n:]
	}
}

// ApplyOne sets dst[i] to (±a[i] + Bias) * Scale, followed by the later stages of c, for each i
// below the smaller of the two lengths. It returns that number of elements. The only operation that
// has an effect on a single source is SumSquare, which squares a[i]. ApplyOne computes planar tasks
// with one source (Common.Cfg 0x21).
func (c *Config) ApplyOne(dst, a []float16.Float16) int {
	n := min(len(dst), len(a))
	dst, a = dst[:n], a[:n]
	p := c.newPlan()
	if op, k, ok := c.toScalarOperation(&p); ok && !(op == Mul && p.isSingleLoopFast()) {
		p.neutral, p.op = true, op
		p.masks.flip2, p.masks.relu2 = 0, 0
		p.applyToConst(dst, a, k)
		return n
	}
	applySingle(dst, a, &p)
	return n
}

// toScalarOperation converts a task c with one source to an operation on the source and a constant
// k that gives the same results: a sum with Bias or a product with Scale. It returns ok = false if
// there is no such operation.
func (c *Config) toScalarOperation(p *plan) (op Op, k float16.Float16, ok bool) {
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

// masks holds bit masks that negate or apply ReLU to float32 values, as a task's switches require.
type masks struct {
	flip1, flip2 uint32 // 1<<31 to flip the sign, 0 to keep it
	relu2, relu  uint32 // all ones to clear negative values, 0 to keep them
}

// newMasks returns the bit masks that carry out the switches of c, which flip signs and clear
// negative values.
func (c *Config) newMasks() masks {
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

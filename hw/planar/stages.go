package planar

import (
	"math"

	"github.com/x448/float16"
)

// The choices silicon has not settled, all in this file and in [Config]:
//
//   - Stages carry float64 and only the end rounds to half (assumed; the
//     measured part is that an operation rounds once, half to even). For the
//     five operations at neutral scales, and for (x + Bias) * Scale, the
//     float64 value is exact but for the square of a sum.
//   - The bias adder is never bypassed. That is why x + 0 turns -0 into +0
//     (measured) and, in this model, why x * 1 and max do too: a scalar 0 added
//     and a scalar 1 multiplied leave the same words in the descriptor.
//   - Each operation by itself turns what would be a NaN into +0, so a later
//     stage still adds to it: (inf - inf) + 1 is 1 (assumed).
//   - A NaN reads as +Inf before its source is negated (assumed).
//   - A reduction takes each term to float32, adds in float32 in row-major
//     order of the reduced elements and leaves the accumulator to the later
//     stages (assumed; FinalScale is a float32 register).
//   - rsqrt is the exact value rounded with the result (assumed; no table is
//     loaded in the layer norm programs that use it).
//   - The port takes the whole range of fp16: the ceiling of 32768 belongs to
//     the multiply-accumulate engines (measured).

// plan is a Config with its registers widened once per call.
type plan struct {
	op                Op
	flip1, flip2      float64
	relu2, relu       bool
	post              Post
	bias, scale       float64
	final             float64
	epsilon, preScale float64
	tailless          bool // back only rounds
	neutral           bool // and front is only the operation
	finite            bool // tailless, and Bias and Scale make no NaN of anything else
	unbiased          bool // finite, and Bias is 0
	straight          bool // sources are taken as they are
	short             bool // finite, and Scale is a normal fp16 value
	masks             masks
}

func (c *Config) plan() plan {
	p := plan{
		op: c.Op, flip1: 1, flip2: 1, relu2: c.Relu2, relu: c.ReLU, post: c.Post,
		final:   float64(c.FinalScale),
		epsilon: float64(wide[c.Epsilon]), preScale: float64(wide[c.PreScale]),
	}
	if c.Negate1 {
		p.flip1 = -1
	}
	if c.Negate2 {
		p.flip2 = -1
	}
	if p.final != p.final {
		p.final = math.Inf(1)
	}
	p.tailless = p.final == 1 && c.Epsilon == 0 && p.preScale == 1 && p.post == PostNone
	p.straight = !c.Negate1 && !c.Negate2 && !c.Relu2
	p.masks = c.masks()
	p.rescale(float64(wide[c.Bias]), float64(wide[c.Scale]))
	return p
}

// rescale gives the plan another Bias and Scale.
func (p *plan) rescale(bias, scale float64) {
	p.bias, p.scale = bias, scale
	p.finite = p.tailless && !math.IsInf(bias, 0) && !math.IsInf(scale, 0) && scale != 0
	p.unbiased = p.finite && bias == 0
	p.short = p.finite && math.Abs(scale) >= leastNormal
	p.neutral = p.tailless && bias == 0 && scale == 1 && p.op <= Min
}

// leastNormal is the least magnitude of an fp16 value with all its bits.
const leastNormal = 1.0 / (1 << 14)

// settle replaces the NaN an operation would have given.
func settle(v float64) float64 {
	if v != v {
		return 0
	}
	return v
}

func (p *plan) first(a float16.Float16) float64 { return p.flip1 * float64(wide[a]) }

func (p *plan) second(b float16.Float16) float64 {
	y := float64(wide[b])
	if p.relu2 && y < 0 {
		y = 0
	}
	return p.flip2 * y
}

// front is everything before a reduction.
func (p *plan) front(x, y float64) float64 {
	var v float64
	switch p.op {
	case Add:
		v = settle(x + y)
	case Mul:
		v = settle(float64(x * y))
	case Max:
		v = x
		if y > x {
			v = y
		}
	case Min:
		v = x
		if y < x {
			v = y
		}
	case SumSquare:
		v = settle(x + y)
		v = float64(v * v)
	}
	return p.scaled(v, p.bias, p.scale)
}

// single is front for a task with one source.
func (p *plan) single(x float64) float64 {
	if p.op == SumSquare {
		x = float64(x * x)
	}
	return p.scaled(x, p.bias, p.scale)
}

func (p *plan) scaled(v, bias, scale float64) float64 {
	v = settle(v + bias)
	return settle(float64(v * scale))
}

// back is everything after a reduction, the rounding included.
func (p *plan) back(v float64) float16.Float16 {
	if p.tailless {
		v += 0 // what adding Epsilon still does to -0
	} else {
		v = p.tail(v)
	}
	if p.relu && !(v > 0) {
		v = 0
	}
	return narrow64(v)
}

func (p *plan) tail(v float64) float64 {
	v = settle(float64(v * p.final))
	v = settle(v + p.epsilon)
	v = settle(float64(v * p.preScale))
	switch p.post {
	case PostRsqrt:
		v = rsqrt(v)
	case PostReciprocal:
		v = reciprocal(v)
	case PostAbs:
		v = math.Abs(v)
	}
	return v
}

func reciprocal(v float64) float64 {
	if v == 0 {
		return math.Inf(1) // measured: 1/-0 is +Inf
	}
	return 1 / v
}

func rsqrt(v float64) float64 {
	switch {
	case v == 0:
		return math.Inf(1)
	case v < 0:
		return 0
	}
	return 1 / math.Sqrt(v)
}

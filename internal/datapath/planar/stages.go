package planar

import (
	"math"

	"github.com/x448/float16"
)

// Silicon does not confirm the following choices, which are all in this file and in [Config]:
//
//   - Stages use float64 and only the end rounds to half, as narrowToHalf describes. This is
//     assumed; it is measured for sums and products of two sources, and that the product with gamma
//     and the sum with beta in a layer norm are rounded together. For the five operations at neutral
//     scales, and for (x + Bias) * Scale, the float64 value is exact except for the square of a sum.
//   - The bias adder is never bypassed. This is why x + 0 turns -0 into +0 (measured) and why x * 1 and
//     max do so in this model: adding a scalar 0 and multiplying by a scalar 1 leave the same words in
//     the descriptor.
//   - Each operation turns a NaN result into +0, so a later stage still adds to it: (inf - inf) + 1 is
//     1 (assumed).
//   - A NaN is treated as +Inf before its source is negated (assumed).
//   - A reduction converts each term to float32, adds in float32 in row-major order of the reduced
//     elements, and passes the accumulator to the later stages (assumed; FinalScale is a float32
//     register).
//   - rsqrt is the exact value, rounded with the result (assumed; the layer norm programs that use it
//     load no table). A checksum of a layer norm points to a root as inexact as the table of rsqrt: with
//     exact sums its relative error is 0.00052 with the exact root and 0.00066 with the table, and M1
//     prints 0.00067. As the sum is open too, the two cannot be told apart yet.
//   - The port has the whole range of fp16. The ceiling of 32768 belongs to the multiply-accumulate
//     engines (measured).

// A plan is a [Config] with its constants converted to float64, together with switches that select
// faster loops. It is made once per call.
type plan struct {
	op                Op
	flip1, flip2      float64
	relu2, relu       bool
	post              Post
	bias, scale       float64
	final             float64
	epsilon, preScale float64
	tailless          bool // finish only rounds
	neutral           bool // tailless, and combine is only the operation
	finite            bool // tailless, and Bias and Scale turn no other value into a NaN
	unbiased          bool // finite, and Bias is 0
	straight          bool // sources are used unmodified
	short             bool // finite, and Scale is a normal fp16 value
	masks             masks
}

// newPlan converts the constants of c to float64 and chooses the fast loops that support c.
func (c *Config) newPlan() plan {
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
	p.masks = c.newMasks()
	p.setBiasAndScale(float64(wide[c.Bias]), float64(wide[c.Scale]))
	return p
}

// setBiasAndScale sets the bias and the scale of the plan, and updates the switches that depend on
// them.
func (p *plan) setBiasAndScale(bias, scale float64) {
	p.bias, p.scale = bias, scale
	p.finite = p.tailless && !math.IsInf(bias, 0) && !math.IsInf(scale, 0) && scale != 0
	p.unbiased = p.finite && bias == 0
	p.short = p.finite && math.Abs(scale) >= leastNormal
	p.neutral = p.tailless && bias == 0 && scale == 1 && p.op <= Min
}

// leastNormal is the smallest magnitude of a normal fp16 value.
const leastNormal = 1.0 / (1 << 14)

// zeroNaN returns v, or 0 if v is NaN.
func zeroNaN(v float64) float64 {
	if v != v {
		return 0
	}
	return v
}

// loadFirst converts an element of source 1 to float64 and negates it if required.
func (p *plan) loadFirst(a float16.Float16) float64 { return p.flip1 * float64(wide[a]) }

// loadSecond converts an element of source 2 to float64, applies ReLU and negates it if required.
func (p *plan) loadSecond(b float16.Float16) float64 {
	y := float64(wide[b])
	if p.relu2 && y < 0 {
		y = 0
	}
	return p.flip2 * y
}

// combineSources applies the stages up to a reduction to elements x and y of the two sources.
func (p *plan) combineSources(x, y float64) float64 {
	var v float64
	switch p.op {
	case Add:
		v = zeroNaN(x + y)
	case Mul:
		v = zeroNaN(float64(x * y))
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
		v = zeroNaN(x + y)
		v = float64(v * v)
	}
	return p.addBiasAndScale(v, p.bias, p.scale)
}

// evalSingleSource returns the contribution of x, an element of the only source, to a reduction.
func (p *plan) evalSingleSource(x float64) float64 {
	if p.op == SumSquare {
		x = float64(x * x)
	}
	return p.addBiasAndScale(x, p.bias, p.scale)
}

// addBiasAndScale returns (v + bias) * scale.
func (p *plan) addBiasAndScale(v, bias, scale float64) float64 {
	v = zeroNaN(v + bias)
	return zeroNaN(float64(v * scale))
}

// finishElement applies the stages after a reduction to v and rounds the result to fp16.
func (p *plan) finishElement(v float64) float16.Float16 {
	if p.tailless {
		v += 0 // the effect of adding Epsilon on -0
	} else {
		v = p.applyFinalStages(v)
	}
	if p.relu && !(v > 0) {
		v = 0
	}
	return narrowFloat64(v)
}

// applyFinalStages applies FinalScale, Epsilon, PreScale and Post to v.
func (p *plan) applyFinalStages(v float64) float64 {
	v = zeroNaN(float64(v * p.final))
	v = zeroNaN(v + p.epsilon)
	v = zeroNaN(float64(v * p.preScale))
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

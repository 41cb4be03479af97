package probe

import (
	"fmt"
	"math"

	"anesim/hw"
	"anesim/internal/datapath/mac"
)

// A rule states a property of the arithmetic that the results of some questions decide.
type rule struct {
	name      string
	statement string
	questions []string
	// deciding says that only results count on which the rule and one of its alternatives differ.
	// Otherwise, all results of the questions count.
	deciding bool
	// property says that chips differ in the rule.
	property bool
	// open says that no published result confirms the model's rule.
	open         bool
	alternatives []alternative
	published    []published
}

// An alternative computes results by another rule.
type alternative struct {
	name string
	dot  func(bias float32, x, w []half) half // of questions with operands
	all  func(q *question) []half             // of any question; used if dot is nil
	// processor says that these are the results of a processor or GPU, which Core ML may have chosen.
	processor bool
	// constant is the constant of the chip, with its value, that makes this the rule of the chip.
	constant string
	// deviates says that dot is the plain arithmetic with one change. Otherwise, it is compared with the
	// model's results.
	deviates bool
}

// A published holds a relative error that chips printed for a layer, with all its digits.
type published struct {
	chips         string
	relativeError float64
}

// newPlainArithmetic returns the arithmetic of a chip, but for large terms.
func newPlainArithmetic(c *hw.Chip) *arithmetic {
	return &arithmetic{numbers: c.OperandInfinity.Value == 0}
}

// listRules returns the rules of a chip, each with its alternatives.
func listRules(c *hw.Chip) []rule {
	chip := mac.Arithmetic{CoarseSums: c.CoarseSums.Value > 0, KeepsInfinity: c.OperandInfinity.Value > 0}
	plain := newPlainArithmetic(c)
	deviate := func(name string, change func(*arithmetic)) alternative {
		a := *plain
		change(&a)
		return alternative{name: name, dot: a.dot, deviates: true}
	}
	infinity := [2]string{"operands from 0x7c00 on are numbers from 65536 on, as on M4 and M6", "operands from 0x7c00 on are infinite, as on M1"}
	large := [2]string{"terms from 4096 on are added exactly, as on M4 and M6", "terms from 4096 on lose bits in groups of four, as on M1"}
	bit := map[bool]int{true: 1}
	// These two differ between chips. Each is a rule whose alternative is the other kind of chip.
	isInfinity, otherInfinity := bit[chip.KeepsInfinity], bit[!chip.KeepsInfinity]
	isCoarse, otherCoarse := bit[chip.CoarseSums], bit[!chip.CoarseSums]
	withInfinity, withSums := chip, chip
	withInfinity.KeepsInfinity = !chip.KeepsInfinity
	withSums.CoarseSums = !chip.CoarseSums
	sums := []string{"sums", "biased", "linear", "product"}
	float32Sum := alternative{name: "an exact sum, rounded to even: a processor or GPU with float32", dot: sumExactly, processor: true}
	halfSums := alternative{name: "every partial sum in fp16: a processor", dot: sumInFP16, processor: true}
	tiles := alternative{name: "exact products in tiles of four with 12 bits, as this model once had", dot: sumInTiles}
	rules := []rule{
		{name: "engine", statement: "the results are the engine's, not a processor's", questions: []string{"linear"}, deciding: true,
			alternatives: []alternative{float32Sum, halfSums}},
		{name: "dropped-products", statement: "a product is dropped if its operands' exponents add up to less than -16", questions: sums, deciding: true,
			alternatives: []alternative{
				deviate("no product is dropped", func(a *arithmetic) { a.keepsAll = true }),
				deviate("products are dropped below -15", func(a *arithmetic) { a.limit = 1 }),
				deviate("products are dropped below -17", func(a *arithmetic) { a.limit = -1 }),
				deviate("products smaller than 2^-16 are dropped", func(a *arithmetic) { a.byValue = true }),
			}},
		{name: "denormal-operands", statement: "a denormal operand is kept, with exponent -14", questions: sums, deciding: true,
			alternatives: []alternative{
				deviate("denormal operands are normalized", func(a *arithmetic) { a.denormals = normalizeDenormals }),
				deviate("denormal operands are 0", func(a *arithmetic) { a.denormals = flushDenormals }),
			}},
		{name: "product-rounding", statement: "other products are rounded to multiples of 2^-16, ties away from zero", questions: sums, deciding: true,
			alternatives: []alternative{
				deviate("products round half to even", func(a *arithmetic) { a.product = math.RoundToEven }),
				deviate("products round half up", func(a *arithmetic) { a.product = func(v float64) float64 { return math.Floor(v + 0.5) } }),
				deviate("products are truncated", func(a *arithmetic) { a.product = math.Trunc }),
				deviate("products are exact", func(a *arithmetic) { a.product = func(v float64) float64 { return v } }),
			}},
		{name: "exact-sums", statement: "sums of the rounded products are exact", questions: sums, deciding: true,
			alternatives: []alternative{tiles}},
		{name: "result-rounding", statement: "a sum is rounded to fp16 once, ties away from zero", questions: sums, deciding: true,
			alternatives: []alternative{
				deviate("sums round half to even", func(a *arithmetic) { a.result = roundEven }),
			}},
		{name: "overflow", statement: "a sum that reaches 32768 is infinite from then on", questions: sums, deciding: true,
			alternatives: []alternative{
				deviate("only the complete sum has a limit", func(a *arithmetic) { a.overflow = atTheEnd }),
				deviate("the limit is that of the rounded result", func(a *arithmetic) { a.overflow = ofTheResult }),
				deviate("sums have no limit", func(a *arithmetic) { a.overflow = never }),
			}},
		{name: "bias", statement: "a bias is the first value of its sum, a multiple of 2^-16", questions: []string{"biased"}, deciding: true,
			alternatives: []alternative{
				deviate("the bias is added to the complete sum in float32", func(a *arithmetic) { a.biasLast = true }),
			}},
		{name: "infinite-operands", statement: infinity[isInfinity], questions: sums, deciding: true, property: true,
			alternatives: []alternative{{name: infinity[otherInfinity], dot: withInfinity.DotBias, constant: fmt.Sprintf("OperandInfinity=%d", otherInfinity)}}},
		{name: "large-terms", statement: large[isCoarse], questions: sums, deciding: true, property: true,
			alternatives: []alternative{{name: large[otherCoarse], dot: withSums.DotBias, constant: fmt.Sprintf("CoarseSums=%d", otherCoarse)}}},
		{name: "one-channel", statement: "a single product has no limit but that of fp16", questions: []string{"one_channel"},
			alternatives: []alternative{{name: "a single product that reaches 32768 is infinite", dot: chip.DotBias}}},
		{name: "linear", statement: "a linear layer follows these rules", questions: []string{"linear"},
			alternatives: []alternative{float32Sum, halfSums, tiles},
			published:    []published{{"M1, M2 and M5", 0.0012522854527169441}}},
		{name: "convolution", statement: "a 3x3 convolution follows these rules", questions: []string{"convolution"},
			alternatives: []alternative{
				{name: "the Winograd transform F(2,3) along rows, as on M5 and M6", all: func(*question) []half { return convolveByWinograd(plain) }},
				float32Sum,
			},
			published: []published{{"M1", 0.00036636558584241826}, {"M5", 0.0005102488034377338}}},
		{name: "product", statement: "a product of two inputs follows these rules", questions: []string{"product"},
			alternatives: []alternative{float32Sum, halfSums, tiles}},
		{name: "sum", statement: "an elementwise sum is rounded once, ties away from zero", questions: []string{"sum"},
			alternatives: []alternative{newRoundingAlternative("rounded half to even, as by a processor", roundEven, true)}},
		{name: "multiplication", statement: "an elementwise product is rounded to 11 bits and then to fp16, ties away", questions: []string{"multiplication"},
			alternatives: []alternative{
				newRoundingAlternative("rounded once, ties away", roundAway, false),
				newRoundingAlternative("rounded half to even, as by a processor", roundEven, true),
			}},
	}
	for _, f := range []string{"sigmoid", "tanh", "gelu", "silu", "exp", "sqrt", "rsqrt", "inverse", "log"} {
		rules = append(rules, rule{name: f, statement: "the engine's table, interpolated with three roundings", questions: []string{f},
			alternatives: []alternative{newRoundingAlternative("the function itself, as by a processor", roundEven, true)}})
	}
	exact := []alternative{newRoundingAlternative("exact, rounded once, as by a processor", roundEven, true)}
	factor, code := toFloat64(scale), toFloat64(codeScale)
	// Below, no alternative is known to be right. The answers only say which of them a device agrees with.
	return append(rules,
		rule{name: "reduce-sum", statement: "the sum of a row on the planar engine", questions: []string{"reduce_sum", "reduce_sum_4096"}, open: true,
			alternatives: append([]alternative{
				{name: "the multiply-accumulate's sum", all: func(q *question) []half { return sumRows(q, newAccumulatorSum(plain)) }},
				{name: "in order, each sum in fp16, ties away", all: func(q *question) []half { return sumRows(q, sumInOrder) }},
				{name: "halves added to halves, each sum in fp16, ties away", all: func(q *question) []half { return sumRows(q, sumHalves) }},
				{name: "neighbors added in pairs, each sum in fp16, ties away", all: func(q *question) []half { return sumRows(q, sumPairs) }},
			}, exact...)},
		rule{name: "softmax", statement: "a softmax of a row", questions: []string{"softmax"}, open: true, alternatives: exact},
		rule{name: "layer-norm", statement: "a layer norm of a row", questions: []string{"layer_norm"}, open: true, alternatives: exact},
		rule{name: "scaled-sum", statement: "a sum times a constant, in a task or in two", questions: []string{"scaled"}, open: true,
			alternatives: []alternative{
				{name: "the exact sum times the constant, rounded once", dot: func(bias float32, x, w []half) half {
					return roundAway(plain.sumInUnits(bias, x, w) / units * factor)
				}},
				{name: "the sum in fp16, and its product", dot: func(bias float32, x, w []half) half {
					return multiplyRoundedTwice(toFloat64(plain.dot(bias, x, w)), factor)
				}},
				{name: "weights times the constant, in fp16", dot: func(bias float32, x, w []half) half {
					return plain.dot(bias, x, scaleHalves(w, factor))
				}},
				{name: "an exact sum, rounded to even: a processor or GPU", processor: true, dot: func(bias float32, x, w []half) half {
					return toHalf(factor * toFloat64(sumExactly(bias, x, w)))
				}},
			}},
		rule{name: "quantized", statement: "a linear layer with 8-bit weights and one scale", questions: []string{"quantized"}, open: true,
			alternatives: []alternative{
				{name: "weights times the scale, in fp16", dot: func(bias float32, x, w []half) half {
					return plain.dot(bias, x, scaleHalves(w, code))
				}},
				{name: "the sum of codes times the scale, rounded once", dot: func(bias float32, x, w []half) half {
					return roundAway(plain.sumInUnits(bias, x, w) / units * code)
				}},
				{name: "weights times the scale, not rounded", dot: func(bias float32, x, w []half) half {
					sum := 0.0
					for i := range x {
						sum += math.Round(toFloat64(x[i]) * toFloat64(w[i]) * code * units)
					}
					return roundAway(sum / units)
				}},
				{name: "four products each before they are rounded", dot: func(bias float32, x, w []half) half {
					sum, scaled := 0.0, scaleHalves(w, code)
					for i := 0; i < len(x); i += 4 {
						four := 0.0
						for k := i; k < min(i+4, len(x)); k++ {
							four += float64(toFloat64(x[k]) * toFloat64(scaled[k]))
						}
						sum += math.Round(four * units)
					}
					return roundAway(sum / units)
				}},
				{name: "an exact sum, rounded to even: a processor or GPU", processor: true, dot: func(bias float32, x, w []half) half {
					return sumExactly(bias, x, scaleHalves(w, code))
				}},
			}},
	)
}

// newRoundingAlternative returns the alternative that rounds exact results.
func newRoundingAlternative(name string, round func(float64) half, processor bool) alternative {
	return alternative{name: name, processor: processor, all: func(q *question) []half {
		out := make([]half, len(q.exact))
		for i, v := range q.exact {
			out[i] = round(v)
		}
		return out
	}}
}

// multiplyRoundedTwice returns a product of the planar engine: 11 significant bits, then fp16, ties away.
func multiplyRoundedTwice(x, y float64) half {
	p := x * y
	if p == 0 {
		return 0
	}
	step := math.Ldexp(1, math.Ilogb(p)-10)
	return roundAway(math.Round(p/step) * step)
}

func scaleHalves(list []half, by float64) []half {
	out := make([]half, len(list))
	for i, v := range list {
		out[i] = roundEven(toFloat64(v) * by)
	}
	return out
}

// sumRows returns the sum of each row of a reduction.
func sumRows(q *question, sum func(row []half) half) []half {
	out := make([]half, q.countElements())
	columns := len(q.of[0]) / len(out)
	for i := range out {
		out[i] = sum(q.of[0][i*columns:][:columns])
	}
	return out
}

func newAccumulatorSum(a *arithmetic) func([]half) half {
	return func(row []half) half {
		ones := make([]half, len(row))
		for i := range ones {
			ones[i] = toHalf(1)
		}
		return a.dot(0, row, ones)
	}
}

func sumInOrder(row []half) (sum half) {
	for _, v := range row {
		sum = roundAway(toFloat64(sum) + toFloat64(v))
	}
	return sum
}

// sumHalves adds the second half of a row to the first until one sum is left. The length of the row must
// be a power of two.
func sumHalves(row []half) half {
	row = append([]half(nil), row...)
	for n := len(row) / 2; n > 0; n /= 2 {
		for i := range n {
			row[i] = roundAway(toFloat64(row[i]) + toFloat64(row[n+i]))
		}
	}
	return row[0]
}

// sumPairs adds neighbors until one sum is left. The length of the row must be a power of two.
func sumPairs(row []half) half {
	row = append([]half(nil), row...)
	for n := len(row) / 2; n > 0; n /= 2 {
		for i := range n {
			row[i] = roundAway(toFloat64(row[2*i]) + toFloat64(row[2*i+1]))
		}
	}
	return row[0]
}

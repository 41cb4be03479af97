package checksums

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/x448/float16"

	"anesim/bench/internal/summation"
	"anesim/internal/vectors"
)

// A rule has the parts of [summation.Arithmetic] that can be changed.
type rule struct {
	least      int     // exponent of the least product that counts
	byValue    bool    // products below one unit are dropped, whatever their exponents are
	unit       float64 // of products and sums
	product    func(float64) float64
	result     func(float64) float64
	subnormal  subnormals
	limit      float64 // magnitude of a sum that is infinite, in units
	inclusive  bool    // a sum of exactly limit is infinite
	sticky     bool    // an infinite sum stays infinite
	bias       biases
	large      float64 // magnitude of terms that round others, or 0
	group      int     // terms that are added together
	infinities bool    // operands can be infinite
}

type subnormals int

const (
	kept       subnormals = iota // with exponent -14
	normalized                   // with the exponent of their leading bit
	flushed                      // to 0
)

type biases int

const (
	first    biases = iota // of the terms, rounded as they are
	unended                // first, with all bits
	addedEnd               // added to the result
)

// m1 and m6 are the rules of the chips.
func m6() rule {
	return rule{
		least: -16, unit: 0x1p-16, product: math.Round, result: math.Round, limit: 0x1p31, inclusive: true, sticky: true, group: 1,
	}
}

func m1() rule {
	r := m6()
	r.large, r.group, r.infinities = 4096, 4, true
	return r
}

func (r rule) addProducts(acc, panel, taps []float64) {
	x := make([]float64, len(taps))
	for l := range acc {
		for k := range x {
			x[k] = panel[k*len(acc)+l]
		}
		acc[l] = r.dot(acc[l], x, taps)
	}
}

// dot returns the bias plus the sum of the products of x and w.
func (r rule) dot(bias float64, x, w []float64) float64 {
	end := 0.0
	switch sum := bias / r.unit; r.bias {
	case first:
		bias = math.Round(sum)
	case unended:
		bias = sum
	case addedEnd:
		bias, end = 0, bias
	}
	sum, group, infinite := bias, 0.0, 0.0
	check := func() {
		s := sum + group
		over := math.Abs(s) > r.limit || r.inclusive && math.Abs(s) == r.limit
		if over && infinite == 0 {
			infinite = math.Copysign(math.Inf(1), s)
		} else if !over && !r.sticky {
			infinite = 0
		}
	}
	check()
	large := r.large / r.unit
	for k := range w {
		t := r.term(x[k], w[k])
		if k%r.group == 0 {
			sum, group = sum+group, 0
		} else if most := max(math.Abs(group), math.Abs(t)); large > 0 && most >= large {
			spacing := math.Ldexp(1, math.Ilogb(most)-10)
			group, t = math.Round(group/spacing)*spacing, math.Round(t/spacing)*spacing
		}
		group += t
		check()
	}
	if infinite != 0 {
		return infinite
	}
	v := (sum+group)*r.unit + end
	if v == 0 {
		return 0
	}
	spacing := math.Ldexp(1, max(math.Ilogb(v), -14)-10)
	return r.result(v/spacing) * spacing
}

func (r rule) term(x, w float64) float64 {
	if r.subnormal == flushed && (math.Abs(x) < 0x1p-14 || math.Abs(w) < 0x1p-14) || x == 0 || w == 0 {
		return 0
	}
	exponent := func(v float64) int {
		e := int(math.Float64bits(v)>>52&0x7ff) - 1023
		if r.subnormal == normalized {
			return e
		}
		return max(e, -14)
	}
	v := x * w / r.unit
	if r.byValue {
		if math.Abs(v) < 1 {
			return 0
		}
	} else if exponent(x)+exponent(w) < r.least {
		return 0
	}
	return r.product(v)
}

// roundUp rounds ties towards +infinity.
func roundUp(v float64) float64 { return math.Floor(v + 0.5) }

// A mutant changes one part of a rule.
type mutant struct {
	name   string
	change func(*rule)
	// checksums and singles say which kinds of evidence must contradict the rule: relative errors
	// of layers, and single sums.
	checksums, singles bool
}

var mutants = []mutant{
	{"products are dropped below an exponent of -15", func(r *rule) { r.least = -15 }, true, true},
	{"products are dropped below an exponent of -17", func(r *rule) { r.least = -17 }, true, true},
	{"no product is dropped", func(r *rule) { r.least = math.MinInt }, true, true},
	{"products are dropped by value", func(r *rule) { r.byValue = true }, true, true},
	{"ties of products go to even", func(r *rule) { r.product = math.RoundToEven }, true, true},
	{"ties of products go up", func(r *rule) { r.product = roundUp }, true, false},
	{"products are truncated", func(r *rule) { r.product = math.Trunc }, true, true},
	{"products are exact", func(r *rule) { r.product = func(v float64) float64 { return v } }, true, true},
	{"products round to 2^-15", func(r *rule) { r.unit, r.limit = 0x1p-15, 0x1p30 }, true, true},
	{"products round to 2^-17", func(r *rule) { r.unit, r.limit = 0x1p-17, 0x1p32 }, true, true},
	{"ties of results go to even", func(r *rule) { r.result = math.RoundToEven }, true, true},
	{"results are truncated", func(r *rule) { r.result = math.Trunc }, true, true},
	{"subnormal numbers are normalized", func(r *rule) { r.subnormal = normalized }, true, true},
	{"subnormal numbers are flushed", func(r *rule) { r.subnormal = flushed }, true, true},
	{"sums hold up to 65536", func(r *rule) { r.limit = 0x1p32 }, false, true},
	{"sums hold up to 16384", func(r *rule) { r.limit = 0x1p30 }, false, true},
	{"sums hold 32768 itself", func(r *rule) { r.inclusive = false }, false, true},
	{"sums hold less than 32760", func(r *rule) { r.limit = 0x1p31 - 0x1p19 }, false, true},
	{"sums return from overflow", func(r *rule) { r.sticky = false }, false, true},
	{"the bias is not rounded", func(r *rule) { r.bias = unended }, false, true},
	{"the bias is added to the result", func(r *rule) { r.bias = addedEnd }, false, true},
	{"large terms cost bits on M6", func(r *rule) { r.large, r.group = 4096, 4 }, false, true},
}

// mutantsM1 change parts that only M1 has; the published sums of M1 contradict them.
var mutantsM1 = []mutant{
	{name: "large terms cost no bits", change: func(r *rule) { r.large = 0 }},
	{name: "terms of 2048 are large", change: func(r *rule) { r.large = 2048 }},
	{name: "only terms of 8192 are large", change: func(r *rule) { r.large = 8192 }},
	{name: "groups have two terms", change: func(r *rule) { r.group = 2 }},
	{name: "groups have eight terms", change: func(r *rule) { r.group = 8 }},
}

// contradictsSingles reports whether a published single sum of M4 and M6 is another one under r.
func (r rule) contradictsSingles(t *testing.T) bool {
	list, err := vectors.Accumulations()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		for i := range c.Data.Sums {
			s := &c.Data.Sums[i]
			x, w := s.Operands()
			if got := r.dotHalves(float64(s.Bias), x, w); got != float16.Float16(s.Want) {
				return true
			}
		}
	}
	return false
}

// dotHalves does the same as dot for operands and results in fp16. The arithmetic is that of later chips,
// unless operands can be infinite.
func (r rule) dotHalves(bias float64, x, w []half) half {
	value := func(list []half) []float64 {
		v := make([]float64, len(list))
		for i, h := range list {
			v[i] = summation.Arithmetic{KeepInfinities: r.infinities}.Value(h)
		}
		return v
	}
	return narrowExact(r.dot(bias, value(x), value(w)))
}

// largeSums returns the published sums of M1 that have terms next to large ones.
func largeSums(t *testing.T) []vectors.Case[vectors.Reduction] {
	t.Helper()
	list, err := vectors.Reductions()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(list, func(c vectors.Case[vectors.Reduction]) bool {
		x, _ := c.Data.Operands()
		return !slices.ContainsFunc(x, func(h half) bool { return h.Float32() >= 1024 }) || len(x) < 17
	})
}

// contradictsLargeSums reports whether one of largeSums is another one under r.
func (r rule) contradictsLargeSums(t *testing.T) bool {
	return slices.ContainsFunc(largeSums(t), func(c vectors.Case[vectors.Reduction]) bool {
		x, w := c.Data.Operands()
		return r.dotHalves(0, x, w) != float16.Float16(c.Data.Want)
	})
}

// contradictsChecksums reports whether one of a few small layers has another relative error.
func (r rule) contradictsChecksums(t *testing.T) bool {
	published := cases(t)
	for _, name := range []string{"linear_64x256x256", "stack_1"} {
		row, ok := findRow(name)
		if !ok {
			t.Fatalf("no row %s", name)
		}
		got, err := row.relativeError(Plain(r.addProducts))
		if err != nil {
			t.Fatal(err)
		}
		want := published[name]
		if math.Abs(got/want.RelativeError-1) > tolerance(want) {
			return true
		}
	}
	return false
}

// TestMutants changes each part of the rule. Published results must contradict every change, and
// must not contradict the rule.
func TestMutants(t *testing.T) {
	if r := m6(); r.contradictsSingles(t) || r.contradictsChecksums(t) {
		t.Fatal("published results contradict the unchanged rule of M6")
	}
	if r := m1(); r.contradictsLargeSums(t) || r.contradictsChecksums(t) {
		t.Fatal("published results contradict the unchanged rule of M1")
	}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			r := m6()
			m.change(&r)
			if got := r.contradictsSingles(t); got != m.singles {
				t.Errorf("a single sum contradicts the rule: %v; want %v", got, m.singles)
			}
			if got := r.contradictsChecksums(t); got != m.checksums {
				t.Errorf("a checksum contradicts the rule: %v; want %v", got, m.checksums)
			}
		})
	}
	for _, m := range mutantsM1 {
		r := m1()
		m.change(&r)
		if !r.contradictsLargeSums(t) {
			t.Errorf("no published sum of M1 contradicts that %s", m.name)
		}
	}
}

// TestRuleIsReference compares the rule before its changes with package reference.
func TestRuleIsReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 5))
	for _, c := range []struct {
		rule rule
		want summation.Arithmetic
	}{{m1(), summation.H13}, {m6(), summation.Later}} {
		for range 20000 {
			x, w := make([]half, 1+rng.IntN(12)), []half(nil)
			for i := range x {
				x[i] = half(rng.Uint32())
				if x[i]&0x7c00 == 0x7c00 {
					x[i] &^= 0x4000
				}
				w = append(w, toHalf(rng.NormFloat64()))
			}
			bias := float32(rng.NormFloat64())
			if got, want := c.rule.dotHalves(float64(bias), x, w), c.want.DotBias(bias, x, w); got != want {
				t.Fatalf("%+v: %v and %v from %g: %v; want %v", c.want, x, w, bias, got, want)
			}
		}
	}
}

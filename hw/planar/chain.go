package planar

import (
	"math"

	"github.com/x448/float16"
)

// SoftmaxTables are the two tasks of a softmax that run on the
// multiply-accumulate engines with tables; this package has neither.
type SoftmaxTables struct {
	// Exp2 is 2^x, task 3.
	Exp2 func(x float16.Float16) float16.Float16
	// SumReciprocal is 1 over the sum, task 4: a reduction with its table, one
	// result.
	SumReciprocal func(xs []float16.Float16) float16.Float16
}

// ExactTables are the tables without their interpolation: each function exact
// and rounded once, the sum in float32 in order. The exponent clamps where the
// real table does, at -25 and 16.
func ExactTables() SoftmaxTables {
	return SoftmaxTables{exactExp2, exactSumReciprocal}
}

func exactExp2(x float16.Float16) float16.Float16 {
	v := wide[x]
	switch {
	case v <= -25:
		return 0
	case v >= 16:
		return infinity
	}
	return narrow64(math.Exp2(float64(v)))
}

func exactSumReciprocal(xs []float16.Float16) float16.Float16 {
	s := ReduceSum.start()
	s.row(xs)
	if s.v == 0 {
		return infinity
	}
	return narrow64(1 / float64(s.v))
}

const log2e float16.Float16 = 0x3dc5

// Softmax is softmax over the whole of src, as the compiler's chain of five
// tasks (norm_softmax_a1) computes it, each result a half:
//
//	1  m = max x                        multiply-accumulate engines, OpMode 11
//	2  d = (x - m) * log2 e             planar, PE 0xc0000, Scale 0x3dc5
//	3  e = 2^d                          table
//	4  r = 1 / sum e                    table on the reduction
//	5  e * r                            planar, PE 0x80004
//
// dst holds d and e on the way and must be as long as src; it may be src. The
// shorter length counts and is returned.
func Softmax(dst, src []float16.Float16, t SoftmaxTables) int {
	n := min(len(dst), len(src))
	dst, src = dst[:n], src[:n]
	if n == 0 {
		return 0
	}
	top := ReduceMax.start()
	top.row(src)

	sub := Subtract()
	sub.Scale = log2e
	sub.ApplyConst(dst, src, narrow(top.v))
	for i, d := range dst {
		dst[i] = t.Exp2(d)
	}
	mul := Neutral(Mul)
	mul.ApplyConst(dst, dst, t.SumReciprocal(dst))
	return n
}

// LayerNorm normalises src over axes, as the compiler's chain of three tasks
// (norm_layer_norm) computes it, each result a half:
//
//	1  m = sum x * 1/N                            PE 0
//	2  r = rsqrt(sum (x - m)^2 * 1/N + epsilon)   PE 0x92010
//	3  (x - m) * r                                PE 0xc0000, FormChannel
//
// A gain and a shift per channel are one more task ([Config.ApplyChannel] with
// them). scratch takes m and r, two elements for each group that is normalised
// apart: 2 * src.Shape.Without(axes).Len(). dst may be src.Data.
func LayerNorm(dst, scratch []float16.Float16, axes Axes, src Source, epsilon float16.Float16) error {
	if err := src.check("source 1"); err != nil {
		return err
	}
	if err := (Source{dst, src.Shape}).check("destination"); err != nil {
		return err
	}
	groups := src.Shape.Without(axes)
	n := groups.Len()
	if len(scratch) < 2*n {
		return &ShapeError{Operand: "scratch", Got: groups, Have: len(scratch)}
	}
	m, r := Source{scratch[:n], groups}, Source{scratch[n : 2*n], groups}

	mean := Mean(src.Shape.Len() / n)
	if err := mean.Reduce(m.Data, axes, src); err != nil {
		return err
	}
	spread := mean
	spread.Op, spread.Negate1 = SumSquare, true
	spread.Epsilon, spread.Post = epsilon, PostRsqrt
	if err := spread.ReduceTwo(r.Data, axes, m, src); err != nil {
		return err
	}
	normal := Subtract()
	return normal.ApplyChannel(dst, src, m, r)
}

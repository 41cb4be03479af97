package planar

import (
	"fmt"
	"math"

	"github.com/x448/float16"
)

// Form is the planar form of a task, Common.Cfg bits 4 to 6: which sources it
// has and whether it reduces (inferred from the programs named).
type Form uint8

const (
	FormNone      Form = 0 // a task on the multiply-accumulate engines
	FormOne       Form = 2 // one source and the constants: env_bcast_add scalar, copies
	FormTwo       Form = 3 // two sources: binary_*
	FormChannel   Form = 4 // source 2 holds a row of addends and a row of factors
	FormReduce    Form = 5 // one source, reduced: reduce_mean, reduce_sum
	FormReduceTwo Form = 6 // two sources, reduced: norm_layer_norm, second task
)

// Words are the four words of the PE group, 0x8800 to 0x880c.
type Words struct {
	Cfg, BiasScale, PreScale, FinalScale uint32
}

// What the bits mean, each inferred from the programs behind it. Names of
// registers are those of the decompiled code.
//
// Cfg
//
//	2-4   OpMode: 0 add, 1 mul, 2 max, 3 min (binary_*, bytes),
//	      4 square of the sum (layer norm 2nd task).
//	1     the largest of the terms: every planar max reduction and the first task
//	      of a softmax over W; clear on sums and means.
//	5     ReluEn: the relu of add+relu (chain_add_relu_c512) and of a tile.
//	6     absolute value: abs alone, whose other words are neutral, so that the
//	      stage is not known and other words are refused.
//	12    1/x on the result: the sum of a softmax over W, whose next task multiplies
//	      by it.
//	13    rsqrt on the result: layer norm 2nd task, whose output the 3rd
//	      multiplies by, loads no table and has nothing else to do it.
//	16    FirstSrc, turns the sign of source 1: the same task has the mean as
//	      source 1 (L2 base 0, the 1st task's result) and must square x - mean.
//	18,19 SecSrc: 2 source 2 as it is (0x80000), 3 with its sign turned
//	      (0xc0000: binary_sub, softmax x - max, layer norm x - mean), 0 none
//	      (every FormOne and FormReduce task).
//
// BiasScale: Bias low, Scale high, applied as (v + Bias) * Scale to the result
// of the operation. The decompiled reading, a scale of source 2, does not fit
// the softmax: its 2nd task holds x, max and the scale 0x3dc5 (log2 e), the 3rd
// is a table of 2^x with PostScale 1 (unary_exp has 0x3dc5 there), so the 2nd
// must give (x - max) * log2 e. The order, addend first, is that of
// FormChannel, where layer norm needs (x - mean) * r.
//
// PreScale: an addend low, a factor high, after FinalScale and before rsqrt.
// Layer norm's 2nd task has 0x00a8 there, 1.0014e-5, its epsilon, while
// FinalScale is 1/N; every other program has zero. The factor is 1.0 in all of
// them, so its place is assumed by the likeness to BiasScale.
//
// FinalScale: float32 on the reduced value: 1/64 for means of 64, 1/128 of
// 128, 1 for sums.
const (
	cfgMaximum = 1 << 1
	cfgOpShift = 2
	cfgOpMask  = 7
	cfgReLU    = 1 << 5
	cfgAbs     = 1 << 6
	cfgInverse = 1 << 12
	cfgRsqrt   = 1 << 13
	cfgNegate1 = 1 << 16
	cfgNegate2 = 1 << 18
	cfgSecond  = 1 << 19

	cfgKnown = cfgMaximum | cfgOpMask<<cfgOpShift | cfgReLU | cfgAbs | cfgInverse | cfgRsqrt | cfgNegate1 | cfgNegate2 | cfgSecond
)

// Words that change nothing.
const (
	neutralScale = 0x3c000000
	neutralFinal = 0x3f800000
)

// WordError is a PE word this model has no meaning for.
type WordError struct {
	Register string
	Val      uint32
	What     string
}

func (e *WordError) Error() string {
	return fmt.Sprintf("planar: %s %#x: %s", e.Register, e.Val, e.What)
}

// FromWords reads a planar task. relu2 is the input ReLU on source 2, L2.Cfg
// bit 4: env_chain_residual_relu adds a tensor to its own ReLU with it. Both of
// its sources are one surface, so the bytes do not say which has the ReLU; bit
// 0, InputReLU, is taken by source 1 (decompiled). A bit or an operation no
// real program shows is a [*WordError].
//
// In the reducing forms OpMode max and min choose the reduction too when there is
// one source (assumed: the programs set bit 1 for a maximum and show no minimum).
func FromWords(form Form, w Words, relu2 bool) (Config, error) {
	fail := func(what string) (Config, error) {
		return Config{}, &WordError{"PE.Cfg", w.Cfg, what}
	}
	if u := w.Cfg &^ cfgKnown; u != 0 {
		return fail(fmt.Sprintf("bits %#x are unknown", u))
	}
	op := Op(w.Cfg >> cfgOpShift & cfgOpMask)
	if op > SumSquare {
		return fail("unknown OpMode")
	}
	second := w.Cfg&cfgSecond != 0
	switch form {
	case FormTwo, FormChannel, FormReduceTwo:
		if !second {
			return fail("a form with two sources has SecSrc 2 or 3")
		}
	case FormOne, FormReduce:
		if second || w.Cfg&cfgNegate2 != 0 {
			return fail("a form with one source has SecSrc 0")
		}
	default:
		return Config{}, &WordError{"Common.Cfg.PlanarForm", uint32(form), "unknown planar form"}
	}
	if (form == FormOne || form == FormChannel) && op != Add {
		return fail("OpMode is 0 in this form")
	}

	c := Neutral(op)
	c.Relu2 = relu2
	c.Negate1 = w.Cfg&cfgNegate1 != 0
	c.Negate2 = w.Cfg&cfgNegate2 != 0
	c.ReLU = w.Cfg&cfgReLU != 0
	switch posts := w.Cfg & (cfgAbs | cfgInverse | cfgRsqrt); posts {
	case 0:
	case cfgAbs:
		c.Post = PostAbs
		if form != FormOne || w.Cfg != cfgAbs || w.BiasScale != neutralScale || w.PreScale != neutralScale || w.FinalScale != neutralFinal {
			return fail("absolute value beside anything else")
		}
	case cfgInverse:
		c.Post = PostReciprocal
	case cfgRsqrt:
		c.Post = PostRsqrt
	default:
		return fail("two functions on one result")
	}
	if w.Cfg&cfgMaximum != 0 && (form != FormReduce || op != Add) {
		return fail("the maximum is of a reduction with OpMode 0")
	}
	c.Bias, c.Scale = halves(w.BiasScale)
	c.Epsilon, c.PreScale = halves(w.PreScale)
	c.FinalScale = math.Float32frombits(w.FinalScale)

	if form == FormReduce {
		if w.Cfg&cfgMaximum != 0 {
			c.Kind = ReduceMax
		}
		switch op {
		case Max:
			c.Op, c.Kind = Add, ReduceMax
		case Min:
			c.Op, c.Kind = Add, ReduceMin
		case Mul:
			return fail("no reduction by product")
		}
	}
	return c, nil
}

func halves(w uint32) (lo, hi float16.Float16) {
	return float16.Float16(w), float16.Float16(w >> 16)
}

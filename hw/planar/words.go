package planar

import (
	"fmt"
	"math"

	"github.com/x448/float16"
)

// A Form selects the sources of a planar task and whether the task reduces them. The values equal
// bits 4 to 6 of Common.Cfg; their meaning is inferred from programs.
type Form uint8

const (
	FormNone      Form = 0 // a task on the multiply-accumulate engines
	FormOne       Form = 2 // one source and the constants: env_bcast_add scalar, copies
	FormTwo       Form = 3 // two sources: binary_*
	FormChannel   Form = 4 // source 2 holds a row of addends and a row of factors
	FormReduce    Form = 5 // one source, reduced: reduce_mean, reduce_sum
	FormReduceTwo Form = 6 // two sources, reduced: norm_layer_norm, second task
)

// Words holds the four registers of the planar engine's group, at addresses 0x8800 to 0x880c.
type Words struct {
	Cfg, BiasScale, PreScale, FinalScale uint32
}

// Meanings of the bits, each inferred from the named programs. Names of registers are from the
// decompiled code.
//
// Cfg
//
//	2-4   OpMode: 0 add, 1 mul, 2 max, 3 min (binary_*, bytes),
//	      4 square of the sum (layer norm 2nd task).
//	1     maximum of the terms: every planar max reduction and the first task
//	      of a softmax over W; clear for sums and means. In later targets bits 0
//	      and 1 are the pool mode, of which 2 is the maximum, so a task with one
//	      source and a window computes the maximum too (inferred).
//	5     ReluEn: the relu of add+relu (chain_add_relu_c512) and of a tile.
//	6     absolute value: only in abs, whose other words are neutral. The stage
//	      is therefore unknown, and other words are rejected.
//	12    1/x of the result: the sum of a softmax over W, by which the next task
//	      multiplies.
//	13    rsqrt of the result: layer norm 2nd task, by whose output the 3rd
//	      multiplies; it loads no table and sets no other candidate bit.
//	16    FirstSrc, negates source 1: the same task has the mean as source 1
//	      (L2 base 0, the 1st task's result) and must square x - mean.
//	18,19 SecSrc: 2 source 2 unmodified (0x80000), 3 negated (0xc0000:
//	      binary_sub, softmax x - max, layer norm x - mean), 0 none (every
//	      FormOne and FormReduce task).
//
// BiasScale: Bias low, Scale high, applied as (v + Bias) * Scale to the result of the operation.
// The decompiled interpretation, a scale of source 2, does not fit the softmax: its 2nd task holds
// x, max and the scale 0x3dc5 (log2 e), and the 3rd is a table of 2^x with PostScale 1 (unary_exp
// has 0x3dc5 there), so the 2nd must compute (x - max) * log2 e. The order, addend first, is that
// of FormChannel, where layer norm needs (x - mean) * r.
//
// PreScale: an addend low, a factor high, applied after FinalScale and before rsqrt. Layer norm's
// 2nd task has 0x00a8 there, 1.0014e-5, its epsilon, while FinalScale is 1/N. Every other program
// has zero. The factor is 1.0 in all of them, so its stage is assumed by analogy with BiasScale.
//
// FinalScale: float32, multiplies the reduced value: 1/64 for means of 64, 1/128 for means of 128,
// 1 for sums.
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

// Words without an effect.
const (
	neutralScale = 0x3c000000
	neutralFinal = 0x3f800000
)

// A WordError reports a register of the planar engine with a value whose meaning is not known.
type WordError struct {
	Register string
	Val      uint32
	What     string
}

func (e *WordError) Error() string {
	return fmt.Sprintf("planar: %s %#x: %s", e.Register, e.Val, e.What)
}

// FromWords decodes the registers w of a planar task of the given form. If relu2 is set, the task
// applies ReLU to source 2 before it combines the sources (L2.Cfg bit 4). FromWords returns a
// *[WordError] for bits and operations that no known program uses.
//
// In forms that reduce one source, the operations Max and Min select the reduction. This is
// assumed: known programs set a separate bit for a maximum, and none computes a minimum.
func FromWords(form Form, w Words, relu2 bool) (Config, error) {
	fail := func(what string) (Config, error) {
		return Config{}, &WordError{"PE.Cfg", w.Cfg, what}
	}
	if u := w.Cfg &^ cfgKnown; u != 0 {
		return fail(fmt.Sprintf("unknown bits %#x", u))
	}
	op := Op(w.Cfg >> cfgOpShift & cfgOpMask)
	if op > SumSquare {
		return fail("unknown OpMode; want 0 to 4")
	}
	if err := checkForm(form, w, op); err != nil {
		return Config{}, err
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
			return fail("absolute value cannot be combined with other stages")
		}
	case cfgInverse:
		c.Post = PostReciprocal
	case cfgRsqrt:
		c.Post = PostRsqrt
	default:
		return fail("only one of Absolute, Reciprocal and Rsqrt may be set")
	}
	if w.Cfg&cfgMaximum != 0 && (form != FormReduce && form != FormOne || op != Add) {
		return fail("Maximum requires a task with one source and OpMode 0")
	}
	c.Bias, c.Scale = splitHalves(w.BiasScale)
	c.Epsilon, c.PreScale = splitHalves(w.PreScale)
	c.FinalScale = math.Float32frombits(w.FinalScale)

	if w.Cfg&cfgMaximum != 0 {
		c.Kind = ReduceMax
	}
	if form == FormReduce {
		switch op {
		case Max:
			c.Op, c.Kind = Add, ReduceMax
		case Min:
			c.Op, c.Kind = Add, ReduceMin
		case Mul:
			return fail("unsupported reduction by multiplication (OpMode 1)")
		}
	}
	return c, nil
}

// checkForm returns a *[WordError] if the form is unknown, or if it does not have the sources or the
// operation that w selects.
func checkForm(form Form, w Words, op Op) error {
	second := w.Cfg&cfgSecond != 0
	switch form {
	case FormTwo, FormChannel, FormReduceTwo:
		if !second {
			return &WordError{"PE.Cfg", w.Cfg, "invalid SecSrc; want 2 or 3 in a form with two sources"}
		}
	case FormOne, FormReduce:
		if second || w.Cfg&cfgNegate2 != 0 {
			return &WordError{"PE.Cfg", w.Cfg, "invalid SecSrc; want 0 in a form with one source"}
		}
	default:
		return &WordError{"Common.Cfg.PlanarForm", uint32(form), "unknown planar form"}
	}
	if (form == FormOne || form == FormChannel) && op != Add {
		return &WordError{"PE.Cfg", w.Cfg, fmt.Sprintf("invalid OpMode; want 0 in planar form %d", uint32(form))}
	}
	return nil
}

// splitHalves returns the low and the high half of w.
func splitHalves(w uint32) (lo, hi float16.Float16) {
	return float16.Float16(w), float16.Float16(w >> 16)
}

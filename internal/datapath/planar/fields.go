package planar

import (
	"fmt"

	"github.com/x448/float16"
)

// A Form selects the sources of a planar task and whether the task reduces them. The values equal
// the field PlanarForm of Common.Cfg; their meaning is inferred from programs.
type Form uint8

const (
	FormNone      Form = 0 // a task on the multiply-accumulate engines
	FormOne       Form = 2 // one source and the constants: env_bcast_add scalar, copies
	FormTwo       Form = 3 // two sources: binary_*
	FormChannel   Form = 4 // source 2 holds a row of addends and a row of factors
	FormReduce    Form = 5 // one source, reduced: reduce_mean, reduce_sum
	FormReduceTwo Form = 6 // two sources, reduced: norm_layer_norm, second task
)

// Fields holds the fields of the planar engine's registers, and of L2.Cfg, that say what a task
// computes. The meaning of each is inferred from the named programs. Names of registers are from the
// decompiled code.
type Fields struct {
	// Op is PE.Cfg.OpMode: add, multiply, maximum, minimum (binary_*, bytes), or the square of the
	// sum (layer norm 2nd task) or of the only source (gpt2_norm_ffn768_3072, task 13, between h and
	// the product h^2 * h).
	Op Op

	// Maximum takes the maximum of the terms: every planar max reduction and the first task of a
	// softmax over W; clear for sums and means. In later targets the bit and the one below are the
	// pool mode, of which 2 is the maximum, so a task with one source and a window computes the
	// maximum too (inferred).
	Maximum bool

	// ReLU is PE.Cfg.ReluEn: the relu of add+relu (chain_add_relu_c512) and of a tile.
	ReLU bool

	// Absolute takes the absolute value: only in abs, whose other fields are neutral. The stage is
	// therefore unknown, and other values are rejected.
	Absolute bool

	// Reciprocal takes 1/x of the result: the sum of a softmax over W, by which the next task
	// multiplies.
	Reciprocal bool

	// Rsqrt takes the reciprocal square root of the result: layer norm 2nd task, by whose output the
	// 3rd multiplies; it loads no table and sets no other candidate bit.
	Rsqrt bool

	// Negate1 is PE.Cfg.FirstSrc, which negates source 1: the same task has the mean as source 1 (L2
	// base 0, the 1st task's result) and must square x - mean.
	Negate1 bool

	// Second is PE.Cfg.SecSrc: 2 source 2 unmodified, 3 negated (binary_sub, softmax x - max, layer
	// norm x - mean), 0 none (every FormOne and FormReduce task).
	Second uint32

	// ReLU2 is L2.Cfg.InputReLU2: ReLU is applied to source 2 before the sources are combined.
	ReLU2 bool

	// Bias and Scale are applied as (v + Bias) * Scale to the result of the operation. The
	// decompiled interpretation, a scale of source 2, does not fit the softmax: its 2nd task holds x,
	// max and the scale 0x3dc5 (log2 e), and the 3rd is a table of 2^x with PostScale 1 (unary_exp
	// has 0x3dc5 there), so the 2nd must compute (x - max) * log2 e. The order, addend first, is that
	// of FormChannel, where layer norm needs (x - mean) * r.
	Bias, Scale float16.Float16

	// Epsilon and PreScale are the addend and the factor of PE.PreScale, applied after FinalScale and
	// before Rsqrt. Layer norm's 2nd task has 0x00a8 as the addend, 1.0014e-5, its epsilon, while
	// FinalScale is 1/N. Every other program has zero. The factor is 1.0 in all of them, so its stage
	// is assumed by analogy with Scale.
	Epsilon, PreScale float16.Float16

	// FinalScale multiplies the reduced value: 1/64 for means of 64, 1/128 for means of 128, 1 for
	// sums.
	FinalScale float32
}

// neutral holds the fields of a task that does not change its one source.
var neutral = Fields{Scale: one, PreScale: one, FinalScale: 1}

// A FieldError reports fields whose values have no known meaning, alone or together.
type FieldError struct {
	Register string // PE.Cfg, or Common.Cfg.PlanarForm
	What     string
}

func (e *FieldError) Error() string { return fmt.Sprintf("planar: %s: %s", e.Register, e.What) }

// FromFields returns the planar task with the fields f and the given form. It returns a
// *[FieldError] for operations and combinations that no known program uses.
//
// In forms that reduce one source, the operations Max and Min select the reduction. This is
// assumed: known programs set a separate bit for a maximum, and none computes a minimum.
func FromFields(form Form, f Fields) (Config, error) {
	fail := func(what string) (Config, error) {
		return Config{}, &FieldError{"PE.Cfg", what}
	}
	if f.Op > SumSquare {
		return fail("unknown OpMode; want 0 to 4")
	}
	if err := checkForm(form, &f); err != nil {
		return Config{}, err
	}
	c := Neutral(f.Op)
	c.Relu2, c.Negate1, c.Negate2, c.ReLU = f.ReLU2, f.Negate1, f.Second == secondNegated, f.ReLU
	switch {
	case f.Absolute && f.Reciprocal, f.Absolute && f.Rsqrt, f.Reciprocal && f.Rsqrt:
		return fail("only one of Absolute, Reciprocal and Rsqrt may be set")
	case f.Absolute:
		// Programs compute an absolute value in a task of its own, so its place among the other stages is
		// not known.
		alone := neutral
		alone.Absolute, alone.ReLU2 = true, f.ReLU2
		if c.Post = PostAbs; form != FormOne || f != alone {
			return fail("absolute value cannot be combined with other stages")
		}
	case f.Reciprocal:
		c.Post = PostReciprocal
	case f.Rsqrt:
		c.Post = PostRsqrt
	}
	// Programs set the bit only in reductions of one source. That it also selects the maximum of a window
	// is inferred from the pool mode of later targets.
	if f.Maximum && (form != FormReduce && form != FormOne || f.Op != Add) {
		return fail("Maximum requires a task with one source and OpMode 0")
	}
	c.Bias, c.Scale = f.Bias, f.Scale
	c.Epsilon, c.PreScale, c.FinalScale = f.Epsilon, f.PreScale, f.FinalScale
	if f.Maximum {
		c.Kind = ReduceMax
	}
	if form == FormReduce {
		switch f.Op {
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

// Values of PE.Cfg.SecSrc.
const (
	secondUnused  = 0
	secondAsItIs  = 2
	secondNegated = 3
)

// checkForm returns a *[FieldError] if the form is unknown, or if it does not have the sources or
// the operation that f selects.
func checkForm(form Form, f *Fields) error {
	switch form {
	case FormTwo, FormChannel, FormReduceTwo:
		if f.Second < secondAsItIs {
			return &FieldError{"PE.Cfg", "invalid SecSrc; want 2 or 3 in a form with two sources"}
		}
	case FormOne, FormReduce:
		if f.Second != secondUnused {
			return &FieldError{"PE.Cfg", "invalid SecSrc; want 0 in a form with one source"}
		}
	default:
		return &FieldError{"Common.Cfg.PlanarForm", "unknown planar form"}
	}
	if (form == FormOne && f.Op != SumSquare || form == FormChannel) && f.Op != Add {
		return &FieldError{"PE.Cfg", fmt.Sprintf("invalid OpMode; want 0 in planar form %d", uint32(form))}
	}
	return nil
}

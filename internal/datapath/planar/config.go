package planar

import (
	"fmt"

	"github.com/x448/float16"
)

// An Op is an operation that combines two sources, such as an addition. The values equal the
// register field PE.Cfg.OpMode.
type Op uint8

const (
	Add       Op = iota // a + b
	Mul                 // a * b
	Max                 // the larger
	Min                 // the smaller
	SumSquare           // (a + b)^2
)

var opNames = [...]string{"add", "mul", "max", "min", "sumsquare"}

func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return fmt.Sprintf("Op(%d)", uint8(o))
}

// A Post is a function, such as the reciprocal, that the planar engine applies after all scales.
type Post uint8

const (
	PostNone       Post = iota
	PostRsqrt           // 1/sqrt(x); +Inf at zero of either sign, +0 below zero
	PostReciprocal      // 1/x; +Inf at zero of either sign
	PostAbs             // |x|
)

// A Config describes one planar task without its shapes: the decoded contents of the four PE words,
// and the ReLU that L2 applies to source 2. The stages run in this order, each on the result of the
// previous one:
//
//	x = ±source 1           Negate1
//	y = ±relu(source 2)     Relu2, Negate2
//	v = x Op y
//	v = (v + Bias) * Scale
//	v = reduction of v      reducing tasks only, Kind
//	v = v * FinalScale
//	v = (v + Epsilon) * PreScale
//	v = Post(v), then ReLU
//
// Finally v is rounded to fp16. Start from [Neutral], because a zero Config multiplies by
// zero.
//
// Methods do not modify a Config and may run concurrently.
type Config struct {
	Op       Op
	Negate1  bool
	Negate2  bool
	Relu2    bool // ReLU on source 2, before its sign
	Kind     Reduction
	Bias     float16.Float16
	Scale    float16.Float16
	Epsilon  float16.Float16
	PreScale float16.Float16
	Post     Post
	ReLU     bool

	FinalScale float32
}

// Neutral returns a Config that computes op and nothing else: every scale is one, every addend is
// zero, and nothing is negated.
func Neutral(op Op) Config {
	return Config{Op: op, Scale: one, PreScale: one, FinalScale: 1}
}

// A ConfigError reports a field of a [Config] whose value is not one of the defined constants.
type ConfigError struct {
	Field string
	Val   uint32
}

func (e *ConfigError) Error() string {
	return fmt.Sprintf("planar: unknown %s %#x", e.Field, e.Val)
}

// validate returns a *[ConfigError] for the first field of c whose value is not one of the defined
// constants, or nil if there is none. Methods of an invalid Config do not panic, but their results
// are meaningless.
func (c *Config) validate() error {
	switch {
	case c.Op > SumSquare:
		return &ConfigError{"Op", uint32(c.Op)}
	case c.Kind > ReduceMax:
		return &ConfigError{"Kind", uint32(c.Kind)}
	case c.Post > PostAbs:
		return &ConfigError{"Post", uint32(c.Post)}
	}
	return nil
}

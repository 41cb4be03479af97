package planar

import (
	"fmt"

	"github.com/x448/float16"
)

// Op is how two sources meet. The numbers are PE.Cfg.OpMode.
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

// Post is a function applied after every scale.
type Post uint8

const (
	PostNone       Post = iota
	PostRsqrt           // 1/sqrt(x); +Inf at zero of either sign, +0 below zero
	PostReciprocal      // 1/x; +Inf at zero of either sign
	PostAbs             // |x|
)

// Config is one planar task without its shapes: the four PE words and the
// input ReLU of L2, as values. The stages run in this order, each on the
// result of the one before:
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
// and one rounding to half ends it. Start from [Neutral]: a zero Config
// multiplies by zero.
//
// A Config is a plain value. All methods read it only and may run at once.
type Config struct {
	Op       Op
	Negate1  bool
	Negate2  bool
	Relu2    bool // ReLU on source 2 before its sign
	Kind     Reduction
	Bias     float16.Float16
	Scale    float16.Float16
	Epsilon  float16.Float16
	PreScale float16.Float16
	Post     Post
	ReLU     bool

	FinalScale float32
}

// Neutral returns op with every scale one and every addend zero: the values
// the compiler writes when a program asks for nothing else.
func Neutral(op Op) Config {
	return Config{Op: op, Scale: one, PreScale: one, FinalScale: 1}
}

// ConfigError names the field of a [Config] that selects nothing.
type ConfigError struct {
	Field string
	Val   uint32
}

func (e *ConfigError) Error() string {
	return fmt.Sprintf("planar: %s %#x selects nothing", e.Field, e.Val)
}

// Validate returns a [*ConfigError] when an enumeration is out of range. An
// invalid Config never panics, but what it computes means nothing.
func (c *Config) Validate() error {
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

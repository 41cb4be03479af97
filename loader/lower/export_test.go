package lower

import (
	"github.com/x448/float16"

	"anesim/loader"
)

// Fitted is fitted for tests outside of the package: those that run programs import the
// root package, which imports this one.
var Fitted = fitted

// Update is the flag of tests that write what they compare with.
var Update = update

// RunProgram runs a program of one output and returns that and the bytes it moves. Tests
// outside of the package set it.
var RunProgram func(p *loader.Program, in map[string][]float16.Float16) (out []float16.Float16, moved uint64, err error)

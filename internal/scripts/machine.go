package scripts

import (
	"anesim"
	"anesim/firmware/engine"
)

// Models opens the models that scripts of package machine refer to: files, layers and the built-in
// program.
type Models struct {
	Open func(name string) (*anesim.Model, error) // opens the model in a file
}

// Builtin returns the built-in program, which is [anesim.Identity].
func (s Models) Builtin() engine.Source { return anesim.Identity() }

// File opens the model in the named file.
func (s Models) File(name string) (engine.Source, error) { return toEngineSource(s.Open(name)) }

// Layer returns a model of the operation op with keys such as "cin=64"; see [anesim.Layer].
func (s Models) Layer(op string, keys ...string) (engine.Source, error) {
	return toEngineSource(anesim.Layer(op, keys...))
}

// Layers returns a model with one procedure per layer; see [anesim.Procedures]. Weights are
// generated from seed.
func (s Models) Layers(seed uint64, layers ...string) (engine.Source, error) {
	return toEngineSource(anesim.Procedures(seed, layers...))
}

// toEngineSource converts m to an engine.Source. If err is not nil, it returns err and a nil
// interface.
func toEngineSource(m *anesim.Model, err error) (engine.Source, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}

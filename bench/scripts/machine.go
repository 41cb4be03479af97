package scripts

import (
	"anesim"
	"anesim/firmware/engine"
)

// Models opens the models that a script of package machine refers to. A model is a file, a
// layer, several layers or the built-in program.
type Models struct {
	Open func(name string) (*anesim.Model, error) // opens the model in a file
}

// Builtin returns the built-in program, [anesim.Identity].
func (s Models) Builtin() engine.Source { return anesim.Identity() }

// File returns the model in the named file.
func (s Models) File(name string) (engine.Source, error) { return toSource(s.Open(name)) }

// Layer returns a model of the operation op with keys such as "cin=64". See [anesim.Layer].
func (s Models) Layer(op string, keys ...string) (engine.Source, error) {
	return toSource(anesim.Layer(op, keys...))
}

// Layers returns a model with a procedure for each layer, whose weights depend on seed. See
// [anesim.Procedures].
func (s Models) Layers(seed uint64, layers ...string) (engine.Source, error) {
	return toSource(anesim.Procedures(seed, layers...))
}

// toSource converts a model to a source. It returns a nil interface if err is not nil.
func toSource(m *anesim.Model, err error) (engine.Source, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}

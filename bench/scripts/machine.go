package scripts

import (
	"anesim"
	"anesim/firmware/engine"
)

// Models opens the models that scripts of package machine name. Open opens files.
type Models struct {
	Open func(name string) (*anesim.Model, error)
}

// Builtin returns [anesim.Identity].
func (s Models) Builtin() engine.Source { return anesim.Identity() }

// File opens the model in a file.
func (s Models) File(name string) (engine.Source, error) { return toSource(s.Open(name)) }

// Layer returns [anesim.Layer] of op and keys.
func (s Models) Layer(op string, keys ...string) (engine.Source, error) {
	return toSource(anesim.Layer(op, keys...))
}

// Layers returns [anesim.Procedures] of layers.
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

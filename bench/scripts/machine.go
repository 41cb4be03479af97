package scripts

import (
	"anesim"
	"anesim/firmware/engine"
)

// Models makes the models that scripts of package machine name. Open opens files.
type Models struct {
	Open func(name string) (*anesim.Model, error)
}

// Builtin returns [Identity].
func (s Models) Builtin() engine.Source { return anesim.Identity() }

// File opens a file.
func (s Models) File(name string) (engine.Source, error) { return source(s.Open(name)) }

// Layer is [Layer].
func (s Models) Layer(op string, keys ...string) (engine.Source, error) {
	return source(anesim.Layer(op, keys...))
}

// Layers is [Procedures].
func (s Models) Layers(seed uint64, layers ...string) (engine.Source, error) {
	return source(anesim.Procedures(seed, layers...))
}

// source keeps a model that is nil from becoming a source that is not.
func source(m *anesim.Model, err error) (engine.Source, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}

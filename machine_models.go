package anesim

import (
	"bytes"
	"context"
	"fmt"

	"anesim/firmware/engine"
	"anesim/loader"
)

// Procedures returns the program of each procedure of the model, for an engine with options
// o. A container with several procedures has a program for each; any other model must be
// one program. The error is an *[OptionError], or why the model cannot be lowered.
func (m *Model) Procedures(ctx context.Context, o *engine.Options) ([]*loader.Program, error) {
	if p := m.program; p != nil && len(p.Procedures) > 1 {
		var list []*loader.Program
		file := p.Bytes()
		for _, name := range p.Procedures {
			q, err := (&loader.Options{Procedure: name}).Read(p.Name, bytes.NewReader(file), int64(len(file)))
			if err != nil {
				return nil, err
			}
			list = append(list, q)
		}
		return list, nil
	}
	low, err := m.lower(ctx, &Options{Chip: o.Chip, Seed: o.Seed}, !o.Values)
	if err != nil {
		return nil, err
	}
	if n := len(low.programs); n != 1 {
		return nil, &OptionError{Option: "Load", What: fmt.Sprintf("requires a single program; %s has %d", m.name, n)}
	}
	return []*loader.Program{low.programs[0].Program}, nil
}

// ScriptModels makes the models that scripts of package machine name. Open opens files.
type ScriptModels struct {
	Open func(name string) (*Model, error)
}

// Builtin returns [Identity].
func (s ScriptModels) Builtin() engine.Source { return Identity() }

// File opens a file.
func (s ScriptModels) File(name string) (engine.Source, error) { return source(s.Open(name)) }

// Layer is [Layer].
func (s ScriptModels) Layer(op string, keys ...string) (engine.Source, error) {
	return source(Layer(op, keys...))
}

// Layers is [Procedures].
func (s ScriptModels) Layers(seed uint64, layers ...string) (engine.Source, error) {
	return source(Procedures(seed, layers...))
}

// source keeps a model that is nil from becoming a source that is not.
func source(m *Model, err error) (engine.Source, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}

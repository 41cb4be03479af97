package anesim

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"anesim/firmware/engine"
	"anesim/loader"
	"anesim/loader/lower"
	"anesim/loader/network/weights"
)

// maxJoined is the largest number of layers that [Procedures] accepts.
const maxJoined = 16

// Procedures returns a container: a program with several entry points, called procedures. It has
// one procedure for each of 1 to 16 layers. Each element of layers is an operation with its keys,
// such as "add c=4". A procedure is named after its operation, with the number of the layer
// appended if the name is taken. Its ports are named "procedure.port". Weights are generated from
// seed.
//
// The error is a *[LayerError], or says which limit was exceeded.
func Procedures(seed uint64, layers ...string) (*Model, error) {
	if len(layers) == 0 || len(layers) > maxJoined {
		return nil, fmt.Errorf("found %d layers; want 1 to %d", len(layers), maxJoined)
	}
	var first *loader.Builder
	taken := map[string]bool{}
	for i, text := range layers {
		words := strings.Fields(text)
		if len(words) == 0 {
			return nil, fmt.Errorf("layer %d is empty; want an operation and its keys", i+1)
		}
		m, err := Layer(words[0], words[1:]...)
		if err != nil {
			return nil, err
		}
		l := &m.net.Layers[0]
		w, err := weights.Complete(l, seed)
		if err != nil {
			return nil, wrapLayerError(l.Op, err)
		}
		// Each layer is compiled by itself, as in a program of one layer, so that its descriptors and
		// figures do not depend on what it is joined with.
		c, err := lower.Compile(l.Lower, w)
		if err != nil {
			return nil, wrapLayerError(l.Op, err)
		}
		b := c.Builder
		b.Procedure = words[0]
		if taken[b.Procedure] {
			b.Procedure = fmt.Sprint(words[0], i+1)
		}
		taken[b.Procedure] = true
		// Layers name their ports alike, such as x and y.
		for k := range b.Ports {
			b.Ports[k].Name = b.Procedure + "." + b.Ports[k].Name
		}
		if first == nil {
			first = b
		} else {
			first.Also = append(first.Also, b)
		}
	}
	c, err := first.Container()
	if err != nil {
		return nil, err
	}
	// The model is read from the bytes, so that it is the same as that of a file with them.
	file := c.Bytes()
	return Read(strings.Join(layers, " / "), bytes.NewReader(file), int64(len(file)))
}

// Procedures returns one program for each procedure of a container. For any other model, it lowers
// the model for an engine with the options o and returns its only program. The error is an
// *[OptionError] if the model has several programs or has a layer that no program contains. Any
// other error says why the model cannot be lowered.
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
	low, err := m.lowerOrReuse(ctx, &Options{Chip: o.Chip, Seed: o.Seed}, !o.Values)
	if err != nil {
		return nil, err
	}
	if err := m.checkSingleProgram(low); err != nil {
		return nil, err
	}
	return []*loader.Program{low.programs[0].Program}, nil
}

// checkSingleProgram returns an *[OptionError] unless one program has all layers of the model, so that a call
// of the program is a call of the model. A layer that the engine cannot run, or that the host computes, is
// in no program.
func (m *Model) checkSingleProgram(low *loweredModel) error {
	for i, why := range low.reasons {
		if why != "" && m.net != nil {
			return &OptionError{Option: "Load", What: fmt.Sprintf("requires a single program; no program contains layer %s of %s: %s", m.net.Layers[i].Name, m.name, why)}
		}
	}
	if n := len(low.programs); n != 1 {
		return &OptionError{Option: "Load", What: fmt.Sprintf("requires a single program; %s has %d", m.name, n)}
	}
	return nil
}

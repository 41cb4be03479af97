package anesim

import (
	"fmt"
	"slices"

	"github.com/x448/float16"

	"anesim/loader/network/list"
)

// connectStates returns given with a pair added for each state of a network that a call changes,
// unless given has one for the same input. The error is an *[OptionError] if no layer of the engine
// computes the new value of a state.
func (m *Model) connectStates(given []StateAlias) ([]StateAlias, error) {
	if m.kind != KindNetwork {
		return given, nil
	}
	pairs := slices.Clone(given)
	for _, in := range m.net.Inputs {
		if in.State == "" || in.State == in.Name || slices.ContainsFunc(pairs, func(a StateAlias) bool { return a.Input == in.Name }) {
			continue
		}
		for _, out := range m.net.Results {
			if out.Name != in.State {
				continue
			}
			made := slices.IndexFunc(m.net.Layers, func(l list.Layer) bool { return l.Output == out.Tensor })
			if made >= 0 && m.net.Layers[made].Reason != "" && m.net.Layers[made].Host == nil {
				continue // the layer is not modelled, which the result says: it has no values to keep
			}
			if made < 0 || m.net.Layers[made].Host != nil {
				return nil, &OptionError{Option: "State", What: fmt.Sprintf("state %s cannot be kept: no layer of the engine computes its new value, %s", in.Name, out.Name)}
			}
			pairs = append(pairs, StateAlias{Output: out.Tensor, Input: in.Name})
		}
	}
	return pairs, nil
}

// zeroStates gives each state of the network that has no value yet zeros, the value of a new state in
// Core ML. States that a pair of o.State connects start at zero in the engine.
func (r *execution) zeroStates() {
	for _, in := range r.model.net.Inputs {
		_, given := r.tensors[in.Name]
		if in.State == "" || given || slices.ContainsFunc(r.options.State, func(a StateAlias) bool { return a.Input == in.Name }) {
			continue
		}
		r.tensors[in.Name] = make([]float16.Float16, in.Shape.Elements())
	}
}

package anesim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/x448/float16"

	"anesim/firmware/engine"
	"anesim/loader/network/list"
)

// A StateError reports a state of a Core ML program that cannot keep its value from call to call.
type StateError struct {
	State string
	What  string
}

func (e *StateError) Error() string {
	return fmt.Sprintf("state %s cannot be kept: %s", e.State, e.What)
}

// A CopiedState is a state that does not stay in device memory from call to call. The host reads its
// new value after each call, and writes it before the next.
type CopiedState struct {
	Input, Value string // names of the state and of the result with its new value
	Why          string // why the two ports cannot exchange their buffers
	lost         bool   // no layer with a model computes the new value
}

// connectStates divides the states that a call changes into pairs of ports of the program low, whose
// buffers are exchanged after each call, and states that the host copies. A state that the pairs in given
// connect is in neither, and one that no layer reads needs no value.
func (m *Model) connectStates(ctx context.Context, low *loweredModel, o *Options, given []StateAlias) (pairs []StateAlias, copied []CopiedState, err error) {
	if m.kind != KindNetwork {
		return nil, nil, nil
	}
	for _, in := range m.net.Inputs {
		if in.State == "" || in.State == in.Name || slices.ContainsFunc(given, func(a StateAlias) bool { return a.Input == in.Name }) {
			continue
		}
		isRead := func(l list.Layer) bool { return slices.Contains(l.Inputs, in.Name) }
		isValue := func(out list.Output) bool { return out.Tensor == in.Name }
		if !slices.ContainsFunc(m.net.Layers, isRead) && !slices.ContainsFunc(m.net.Results, isValue) {
			continue
		}
		// Each check needs the one before: a port that other states use too could be exchanged by itself.
		// The last one loads the whole program.
		pair, c := m.connectState(&in, low)
		if c == nil {
			c = copyOfUsedPort(slices.Concat(given, pairs), pair)
		}
		if c == nil {
			if c, err = tryConnection(low, o, pair); err != nil {
				return nil, nil, err
			}
		}
		if c == nil {
			pairs = append(pairs, pair)
			continue
		}
		c.Input, c.Value = in.Name, in.State
		copied = append(copied, *c)
	}
	return pairs, copied, ctx.Err()
}

// connectState returns the ports that hold the old and the new value of state in, or why there are none
// that can exchange their buffers.
func (m *Model) connectState(in *list.Tensor, low *loweredModel) (StateAlias, *CopiedState) {
	k := slices.IndexFunc(m.net.Results, func(out list.Output) bool { return out.Name == in.State })
	if k < 0 {
		return StateAlias{}, &CopiedState{Why: fmt.Sprintf("its new value, %s, is not a result", in.State), lost: true}
	}
	tensor := m.net.Results[k].Tensor
	made := slices.IndexFunc(m.net.Layers, func(l list.Layer) bool { return l.Output == tensor || slices.Contains(l.Others, tensor) })
	switch {
	case made < 0:
		return StateAlias{}, &CopiedState{Why: fmt.Sprintf("no layer computes its new value, %s", in.State)}
	case m.net.Layers[made].Host != nil:
		return StateAlias{}, &CopiedState{Why: fmt.Sprintf("the host computes its new value, %s", in.State)}
	case low.reasons[made] != "":
		return StateAlias{}, &CopiedState{Why: fmt.Sprintf("layer %s, which computes its new value, is not modelled", m.net.Layers[made].Name), lost: true}
	case len(low.programs) != 1:
		return StateAlias{}, &CopiedState{Why: fmt.Sprintf("the network has %d programs", len(low.programs))}
	}
	return StateAlias{Output: tensor, Input: in.Name}, nil
}

// copyOfUsedPort returns why pair cannot exchange its buffers if one of pairs has the same output, and nil
// otherwise.
func copyOfUsedPort(pairs []StateAlias, pair StateAlias) *CopiedState {
	for _, a := range pairs {
		if a.Output == pair.Output {
			return &CopiedState{Why: fmt.Sprintf("state %s has the same new value", a.Input)}
		}
	}
	return nil
}

// tryConnection returns why the two ports of pair cannot exchange their buffers, or nil if they can. The
// error is one of loading the program.
func tryConnection(low *loweredModel, o *Options, pair StateAlias) (*CopiedState, error) {
	options := o.toEngineOptions()
	options.Values = false
	s, err := engine.New(options)
	if err != nil {
		return nil, err
	}
	l, err := s.Load(low.programs[0].Program)
	if err != nil {
		return nil, err
	}
	var refused *AliasError
	if err := l.Alias(pair.Output, pair.Input); errors.As(err, &refused) {
		return &CopiedState{Why: refused.What}, nil
	} else {
		return nil, err
	}
}

// connectStatesOfRun sets o.State to all pairs of ports that exchange their buffers between the calls
// of a run, and returns the states that the host copies. If it copies any, it copies all, and
// connectStatesOfRun sets o.Inputs to their values before the last call. The error is a *StateError, an
// *OptionError, or one of the run.
func (m *Model) connectStatesOfRun(ctx context.Context, low *loweredModel, o *Options) ([]CopiedState, error) {
	given := o.State
	pairs, copied, err := m.connectStates(ctx, low, o, given)
	if err != nil {
		return nil, err
	}
	if len(copied) == 0 {
		o.State = slices.Concat(given, pairs)
		return nil, nil
	}
	for _, a := range pairs {
		copied = append(copied, CopiedState{Input: a.Input, Value: m.resultOf(a.Output), Why: "the host copies other states"})
	}
	if !o.Values {
		return slices.DeleteFunc(copied, func(c CopiedState) bool { return c.lost }), nil // times without its layer are INCOMPLETE
	}
	for _, c := range copied {
		switch {
		case c.lost:
			return nil, &StateError{c.Input, c.Why}
		case len(given) > 0:
			return nil, &StateError{c.Input, c.Why + "; without an output that becomes an input of the next call, the host would copy it"}
		}
	}
	return copied, m.passStates(ctx, low, o, copied)
}

// resultOf returns the name of the network's result that has the given tensor.
func (m *Model) resultOf(tensor string) string {
	for _, out := range m.net.Results {
		if out.Tensor == tensor {
			return out.Name
		}
	}
	return tensor
}

// passStates runs all calls but the last one by one, and sets o.Inputs to the values of the states that
// they leave. It stops at a device fault, which the last call has as well.
func (m *Model) passStates(ctx context.Context, low *loweredModel, o *Options, copied []CopiedState) error {
	// Every call is executed, since its values depend on the one before; the bound keeps a large Repeat
	// from running for days. Count starts at 1, as a network may have no descriptors to divide by.
	count := 1
	for i := range low.programs {
		count += low.programs[i].TaskCount
	}
	if most := engine.MaxStatefulTasks / count; o.Repeat > most {
		return &OptionError{Option: "Repeat", What: fmt.Sprintf("count is %d; want at most %d for a stateful network with %d descriptors", o.Repeat, most, count-1)}
	}
	// What the user asked to see of the call is reported once, for the last one.
	once := *o
	once.Repeat, once.State, once.Precision, once.Each, once.Progress = 1, nil, false, nil, nil
	for range o.Repeat - 1 {
		res, err := m.runLowered(ctx, low, &once)
		if err != nil {
			return err
		}
		if len(res.Report.Faults) > 0 {
			break
		}
		// A copy, as the map of inputs is the caller's.
		next := maps.Clone(once.Inputs)
		if next == nil {
			next = map[string][]float16.Float16{}
		}
		for _, c := range copied {
			at := slices.IndexFunc(res.Outputs, func(out Output) bool { return out.Port.Name == c.Value })
			if at < 0 {
				return &StateError{c.Input, fmt.Sprintf("its new value, %s, was not computed", c.Value)}
			}
			next[c.Input] = res.Outputs[at].Data
		}
		once.Inputs = next
	}
	o.Inputs = once.Inputs
	return nil
}

// connectStates connects the states of a loaded network, as [engine.Loaded.Alias] does, and gives zeros
// to the others. The error is a *StateError for a state that the host would have to copy, if the session
// computes values.
func (l *Loaded) connectStates(ctx context.Context) error {
	o := &l.session.options
	pairs, copied, err := l.model.connectStates(ctx, l.lowered, o, nil)
	if err != nil {
		return err
	}
	for _, c := range copied {
		if o.Values {
			return &StateError{c.Input, c.Why}
		}
	}
	for _, a := range pairs {
		if err := l.Alias(a.Output, a.Input); err != nil {
			return err
		}
	}
	if l.model.kind != KindNetwork || !o.Values {
		return nil
	}
	for port := range l.Program().Inputs() {
		isState := func(in list.Tensor) bool { return in.Name == port.Name && in.State != "" }
		if slices.ContainsFunc(l.model.net.Inputs, isState) && !slices.ContainsFunc(pairs, func(a StateAlias) bool { return a.Input == port.Name }) {
			if err := l.Set(port.Name, make([]float16.Float16, engine.Elements(port))); err != nil {
				return err
			}
		}
	}
	return nil
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

// describeAlias returns the error e of a run of network n in terms of the network's file: its shapes, and
// the results and inputs to choose from. A program has other shapes, and may have a part of these alone.
func describeAlias(n *list.Network, e *AliasError) error {
	var what string
	results := n.AllResults()
	out := slices.IndexFunc(results, func(x list.Output) bool { return x.Name == e.Output })
	in := slices.IndexFunc(n.Inputs, func(x list.Tensor) bool { return x.Name == e.Input })
	switch {
	case out < 0:
		what = fmt.Sprintf("unknown output %q", e.Output)
	case in < 0:
		what = fmt.Sprintf("unknown input %q", e.Input)
	case results[out].Dims == nil || n.Inputs[in].Dims == nil || slices.Equal(results[out].Dims, n.Inputs[in].Dims):
		return e // for another reason
	default:
		what = fmt.Sprintf("the output has shape %v and the input %v; want one shape, as of a cache of fixed length in which the network writes a row at its position (docs/sharing.md)", results[out].Dims, n.Inputs[in].Dims)
	}
	var outputs, inputs []string
	for _, x := range results {
		outputs = append(outputs, describeTensor(x.Name, x.Dims))
	}
	for _, x := range n.Inputs {
		inputs = append(inputs, describeTensor(x.Name, x.Dims))
	}
	return &AliasError{StateAlias: e.StateAlias, What: fmt.Sprintf("%s; the outputs are %s; the inputs are %s", what, joinFirst(outputs), joinFirst(inputs))}
}

// describeTensor returns a name with its dimensions in the file, if these are known.
func describeTensor(name string, dims []int) string {
	if dims == nil {
		return name
	}
	return fmt.Sprintf("%s %v", name, dims)
}

// joinFirst joins the first words of a list, and says how many more there are: a decoder has dozens of caches.
func joinFirst(words []string) string {
	const most = 8
	text := strings.Join(words[:min(most, len(words))], ", ")
	if n := len(words) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

package translate

import (
	"cmp"
	"slices"

	"anesim/internal/network/mil"
	"anesim/internal/network/onnx"
)

// The M1 rejects operations on states. A state is therefore converted to an input, and its last
// written value to an output that becomes the input of the next call.

// stateArgument returns the name of the state that op reads or writes.
func (r *reader) stateArgument(op *mil.Operation) (string, error) {
	in := op.Inputs["input"]
	if len(in) != 1 {
		return "", r.newOperationError(op, "%s: found %d values of argument \"input\"; want 1", op.Type, len(in))
	}
	name := in[0].Name
	if _, ok := r.states[name]; !ok {
		return "", r.newOperationError(op, "%s: %q is not a state; want an input of type state<tensor<...>>", op.Type, name)
	}
	return name, nil
}

// readState makes the result of op, a read_state, a copy of the present value of its state.
func (r *reader) readState(op *mil.Operation) error {
	state, err := r.stateArgument(op)
	if err != nil {
		return err
	}
	if len(op.Outputs) != 1 {
		return r.newOperationError(op, "read_state: found %d results; want 1", len(op.Outputs))
	}
	out := op.Outputs[0].Name
	if err := r.checkStateType(op, state, out); err != nil {
		return err
	}
	r.sources[out] = r.states[state]
	return r.appendCopy(op, r.states[state], out)
}

// writeState makes the data of op, a write_state, the present value of its state.
func (r *reader) writeState(op *mil.Operation) error {
	state, err := r.stateArgument(op)
	if err != nil {
		return err
	}
	if n := len(op.Outputs); n > 0 {
		return r.newOperationError(op, "write_state: found %d results; want none", n)
	}
	data := op.Inputs["data"]
	if len(data) != 1 {
		return r.newOperationError(op, "write_state: found %d values of argument \"data\"; want 1", len(data))
	}
	x := &operation{reader: r, Operation: op, name: state, read: map[string]bool{}}
	name := x.argumentName(data[0])
	if x.err != nil {
		return r.newOperationError(op, "write_state: %v", x.err)
	}
	if err := r.checkStateType(op, state, name); err != nil {
		return err
	}
	r.states[state] = cmp.Or(r.sources[name], name)
	return nil
}

// checkStateType returns an error if the value called name has another element type or shape than
// the state. A dimension of unknown size matches any.
func (r *reader) checkStateType(op *mil.Operation, state, name string) error {
	have, known := r.dims[name]
	want := r.dims[state]
	same := func(a, b int64) bool { return a == b || a < 0 || b < 0 }
	switch {
	case !known:
		return r.newOperationError(op, "%s: no earlier operation produces %q", op.Type, name)
	case r.elems[name] != r.elems[state] || !slices.EqualFunc(have, want, same):
		return r.newOperationError(op, "%s: %q has type %v and shape %v; state %q has type %v and shape %v",
			op.Type, name, r.elems[name], have, state, r.elems[state], want)
	}
	return nil
}

// appendCopy appends a node that copies the tensor from to a tensor called out.
func (r *reader) appendCopy(op *mil.Operation, from, out string) error {
	if err := r.checkNodes(op); err != nil {
		return err
	}
	r.model.Nodes = append(r.model.Nodes, onnx.Node{Name: out, Op: "Identity", Inputs: []string{from}, Outputs: []string{out}, Off: op.Off})
	return nil
}

// connectStates names the result that replaces each state after a call. A value that is not a result of
// the program yet becomes one.
func (r *reader) connectStates() {
	for i := range r.model.Inputs {
		in := &r.model.Inputs[i]
		value, ok := r.states[in.Name]
		if !ok {
			continue
		}
		in.State = value
		if value != in.Name && !slices.ContainsFunc(r.model.Outputs, func(v onnx.Value) bool { return v.Name == value }) {
			r.model.Outputs = append(r.model.Outputs, onnx.Value{Name: value, Type: r.elems[value]})
		}
	}
}

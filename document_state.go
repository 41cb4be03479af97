package anesim

import "anesim/firmware/engine"

// A StateDocument is what stays in device memory from call to call, and what that saves
// against copying it out after each call and in before the next.
type StateDocument struct {
	Aliases       []AliasDocument `json:"aliases"`
	HostCopyBytes uint64          `json:"saved_host_copy_bytes"`
	DRAMBytes     uint64          `json:"saved_dram_bytes"` // each copied byte is read once and written once
}

// An AliasDocument is an output that is the next call's input.
type AliasDocument struct {
	Output string `json:"output"`
	Input  string `json:"input"`
	Bytes  uint64 `json:"bytes"` // of its fp16 values
}

// A CallDocument is one dispatch of a program with state.
type CallDocument struct {
	Outputs []OutputDocument `json:"outputs"`
}

// state is what the run's aliases come to, nil where it has none.
func (r *Result) state() *StateDocument {
	if len(r.Options.State) == 0 {
		return nil
	}
	p := &r.Programs[0]
	d := &StateDocument{Aliases: []AliasDocument{}}
	for _, a := range r.Options.State {
		alias := AliasDocument{Output: a.Output, Input: a.Input}
		for port := range p.Program.Inputs() {
			if port.Name == a.Input {
				alias.Bytes = 2 * uint64(engine.Elements(port))
			}
		}
		d.Aliases = append(d.Aliases, alias)
		if calls := uint64(len(p.Dispatches)); calls > 1 {
			d.HostCopyBytes += 2 * (calls - 1) * alias.Bytes
		}
	}
	d.DRAMBytes = 2 * d.HostCopyBytes
	return d
}

func (r *Result) calls() (list []CallDocument) {
	if len(r.Options.State) == 0 {
		return nil
	}
	for i := range r.Programs[0].Dispatches {
		if tensors := r.Programs[0].Dispatches[i].Outputs; tensors != nil {
			list = append(list, CallDocument{outputDocuments(outputs(tensors))})
		}
	}
	return list
}

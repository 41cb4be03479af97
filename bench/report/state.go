package report

import (
	"anesim"
	"anesim/firmware/engine"
)

// A State lists the tensors that stay in device memory between calls, and the bytes that
// this saves compared with copying them out and in again.
type State struct {
	Aliases       []Alias `json:"aliases"`
	HostCopyBytes uint64  `json:"saved_host_copy_bytes"`
	DRAMBytes     uint64  `json:"saved_dram_bytes"` // each copied byte is read once and written once
}

// An Alias is an output that becomes the next call's input.
type Alias struct {
	Output string `json:"output"`
	Input  string `json:"input"`
	Bytes  uint64 `json:"bytes"` // size of its fp16 values
}

// A Call is one dispatch of a program with state.
type Call struct {
	Outputs []Output `json:"outputs"`
}

// stateOf returns the aliases of a run and their savings, or nil if it has none.
func stateOf(r *anesim.Result) *State {
	if len(r.Options.State) == 0 {
		return nil
	}
	p := &r.Programs[0]
	d := &State{Aliases: []Alias{}}
	for _, a := range r.Options.State {
		alias := Alias{Output: a.Output, Input: a.Input}
		for port := range p.Program.Inputs() {
			if port.Name == a.Input {
				alias.Bytes = 2 * uint64(engine.Elements(port))
			}
		}
		d.Aliases = append(d.Aliases, alias)
		if calls := uint64(len(p.Dispatches) + p.Again); calls > 1 {
			d.HostCopyBytes += 2 * (calls - 1) * alias.Bytes
		}
	}
	d.DRAMBytes = 2 * d.HostCopyBytes
	return d
}

func callsOf(r *anesim.Result) (list []Call) {
	if len(r.Options.State) == 0 {
		return nil
	}
	for i := range r.Programs[0].Dispatches {
		if tensors := r.Programs[0].Dispatches[i].Outputs; tensors != nil {
			call := Call{Outputs: []Output{}}
			for _, t := range tensors {
				call.Outputs = append(call.Outputs, Output{Name: t.Port.Name, Shape: t.Port.Shape[:], CRC32: engine.Checksum(t.Data)})
			}
			list = append(list, call)
		}
	}
	return list
}

package report

import (
	"anesim"
	"anesim/firmware/engine"
	"anesim/hw/clock"
	"anesim/hw/machine"
)

// A Repeat describes a run of several dispatches. The report lists only the first Listed of them,
// but its totals include all.
type Repeat struct {
	Dispatches   int               `json:"dispatches"`
	Listed       int               `json:"listed"`
	FirstNs      clock.Nanoseconds `json:"first_ns"`       // engine time of the first dispatch
	SteadyNs     clock.Nanoseconds `json:"steady_ns"`      // engine time of each later dispatch
	FirstWallNs  clock.Nanoseconds `json:"first_wall_ns"`  // wall time of the first dispatch: engine, host, the gap before it and the wake-up
	SteadyWallNs clock.Nanoseconds `json:"steady_wall_ns"` // wall time of each later dispatch
}

// newRepeat returns the number and the times of the dispatches of a run. It returns nil for a run
// of one dispatch.
func newRepeat(r *anesim.Result) *Repeat {
	if r.Options.Repeat < 2 {
		return nil
	}
	d := new(Repeat)
	for k := range r.Programs {
		p := &r.Programs[k]
		n := len(p.Dispatches)
		if n == 0 {
			continue
		}
		d.Dispatches, d.Listed = max(d.Dispatches, n+p.Again), max(d.Listed, n)
		for _, part := range [...]struct {
			at           *anesim.Dispatch
			engine, wall *clock.Nanoseconds
		}{{&p.Dispatches[0], &d.FirstNs, &d.FirstWallNs}, {&p.Dispatches[n-1], &d.SteadyNs, &d.SteadyWallNs}} {
			var t clock.Nanoseconds
			for i := range part.at.Descriptors {
				t += part.at.Descriptors[i].Time
			}
			*part.engine += t
			*part.wall += machine.Wall(t, p.Host) + part.at.Idle + part.at.Wake
		}
	}
	return d
}

// A State lists the tensors that stay in device memory between dispatches. HostCopyBytes is the
// number of bytes that the host need not copy because of that.
type State struct {
	Aliases       []Alias `json:"aliases"`
	HostCopyBytes uint64  `json:"saved_host_copy_bytes"`
	DRAMBytes     uint64  `json:"saved_dram_bytes"` // each copied byte is read once and written once
}

// An Alias names an output that becomes an input of the next dispatch without a copy.
type Alias struct {
	Output string `json:"output"`
	Input  string `json:"input"`
	Bytes  uint64 `json:"bytes"` // size of its fp16 values
}

// A Call holds the outputs of one dispatch of a run with a [State].
type Call struct {
	Outputs []Output `json:"outputs"`
}

// newState returns the tensors that stay in memory between the dispatches of a run, and the number
// of bytes that need not be copied because of that. It returns nil if there are no such tensors.
func newState(r *anesim.Result) *State {
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

func newCalls(r *anesim.Result) (list []Call) {
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

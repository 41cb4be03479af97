package anesim

import (
	"slices"

	"anesim/firmware/engine"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/execycles"
	"anesim/internal/cache"
	"anesim/loader/network/partition"
)

// A Result holds the results of a run: costs for the whole run, for each layer and for each
// program, and the output values if they were computed.
type Result struct {
	Model   *Model
	Options Options // options of the run, including defaults

	// Report lists every descriptor in the order of execution, with cycles by cause, bytes and
	// energy, their sums, and the device's faults. For a network it excludes layers that a
	// fault interrupted.
	Report *hw.Report
	// Layers holds all layers of a network or a single layer, modelled or not. It is empty for
	// a compiled program, which does not describe its layers.
	Layers []LayerResult
	// Programs holds the dispatched programs, in order.
	Programs []ProgramResult

	Inputs  []Output // inputs of a program or a layer, given or generated
	Outputs []Output // only outputs whose values were computed completely
	// Synthetic names the inputs that were not given and are pseudo-random.
	Synthetic []string
	// CopiedStates lists the states of a network that the host copies from call to call. They are
	// empty if all stay in device memory, as Options.State says.
	CopiedStates []CopiedState
	// Cache is the entry of Options.Cache that holds the programs, nil without a cache.
	Cache *cache.Entry
}

// A ProgramResult holds the results of all dispatches of one program. A compiled program or a layer
// has one; a network has one for each of its programs.
type ProgramResult struct {
	engine.Result
	First int             // index of its first layer in a network
	Runs  []partition.Run // descriptors of each layer, starting with First; empty for a compiled program
	Why   string          // why the previous program could not continue; "" if a layer that is not modelled ended it
	// Spilled lists the tensors between layers of a network that go through memory.
	Spilled []partition.Spill

	Err error // why the program could not be dispatched; Result then holds only Program

	owner   []int   // index in Runs of the layer of each descriptor, -1 for none
	covered []cover // L2 ranges of each descriptor of the first dispatch
}

// newResult returns the result of a run after all of its programs were dispatched.
func (r *execution) newResult() *Result {
	res := &Result{Model: r.model, Options: r.options, Programs: r.programs, Synthetic: r.synthetic, Cache: r.lowered.entry}
	if r.model.kind == KindProgram {
		p := &r.programs[0]
		res.Report, res.Inputs, res.Outputs = p.Report, toOutputs(p.Inputs), toOutputs(p.Outputs)
		return res
	}
	n := r.model.net
	for i := range n.Layers {
		res.Layers = append(res.Layers, LayerResult{Layer: &n.Layers[i], Reason: r.lowered.reasons[i]})
	}
	for k := range res.Programs {
		res.recordLayerResults(k)
	}
	if r.model.kind == KindLayer {
		p := &r.programs[0]
		res.Report, res.Inputs, res.Outputs = p.Report, toOutputs(p.Inputs), toOutputs(p.Outputs)
		return res
	}
	res.addHostTimes()
	res.setReport()
	r.setOutputs(res)
	return res
}

// Target returns the target whose rules give Apple's estimates in r.
func (r *Result) Target() execycles.Target {
	if r.Model.Kind() == KindProgram && len(r.Programs) > 0 {
		return r.Programs[0].Target.Or(r.Options.Chip.Target)
	}
	return r.Options.Target.Or(r.Model.loweredTarget())
}

// setReport sets r.Report of a network: the descriptors of all programs in the order in which they
// ran, and their sums.
func (r *Result) setReport() {
	r.Report = new(hw.Report)
	var dispatched []Dispatch
	descriptors := 0
	for d, p := range r.Dispatches() {
		counted := r.Counted(p, d)
		dispatched = append(dispatched, counted)
		descriptors += len(counted.Descriptors)
	}
	// Most runs have one dispatch. They share its list, which may be long; clipped, as appending must
	// not write into the program's own report.
	if len(dispatched) == 1 {
		r.Report.Descriptors = slices.Clip(dispatched[0].Descriptors)
	} else {
		r.Report.Descriptors = make([]hw.DescriptorReport, 0, descriptors)
		for _, d := range dispatched {
			r.Report.Descriptors = append(r.Report.Descriptors, d.Descriptors...)
		}
	}
	for i := range r.Report.Descriptors {
		r.Report.Add(&r.Report.Descriptors[i])
	}
	// Rounds beyond the listed ones cost what the last listed one did, so the sums repeat its
	// descriptors, which are at the end of the list.
	last := 0
	for d, p := range r.yieldLastRound() {
		last += len(r.Counted(p, d).Descriptors)
	}
	r.Report.Repeat(r.countUnlistedRounds(), last)
	// A dispatch costs energy whether or not its descriptors are counted.
	var dispatches clock.Nanojoules
	for i := range r.Programs {
		if rep := r.Programs[i].Report; rep != nil {
			dispatches += rep.Dispatch
			r.Report.Faults = append(r.Report.Faults, rep.Faults...)
		}
	}
	r.Report.AddDispatches(dispatches)
}

// Dispatches returns an iterator over the listed dispatches and their programs, in the order in
// which they ran. A repeated network dispatches all its programs once before it dispatches any of
// them again.
func (r *Result) Dispatches() func(func(*Dispatch, *ProgramResult) bool) {
	return func(yield func(*Dispatch, *ProgramResult) bool) {
		rounds := 0
		for k := range r.Programs {
			rounds = max(rounds, len(r.Programs[k].Dispatches))
		}
		for n := range rounds {
			for k := range r.Programs {
				p := &r.Programs[k]
				if n < len(p.Dispatches) && !yield(&p.Dispatches[n], p) {
					return
				}
			}
		}
	}
}

// countUnlistedRounds returns how many rounds are not listed. In a round, each program is
// dispatched once.
func (r *Result) countUnlistedRounds() (n int) {
	for i := range r.Programs {
		n = max(n, r.Programs[i].Again)
	}
	return n
}

// yieldLastRound returns an iterator over the last listed dispatch of each program that has further
// dispatches, which are not listed. Each of those has the same costs as the yielded one.
func (r *Result) yieldLastRound() func(func(*Dispatch, *ProgramResult) bool) {
	return func(yield func(*Dispatch, *ProgramResult) bool) {
		for k := range r.Programs {
			p := &r.Programs[k]
			if p.Again > 0 && !yield(&p.Dispatches[len(p.Dispatches)-1], p) {
				return
			}
		}
	}
}

// Counted returns a copy of dispatch d of program p without the descriptors that the totals
// exclude. For a network, these are all descriptors of a layer in which a device fault occurred.
// For any other model there are none.
func (r *Result) Counted(p *ProgramResult, d *Dispatch) Dispatch {
	if r.Model.kind != KindNetwork {
		return *d
	}
	isLost := func(t hw.DescriptorReport) bool {
		l := r.LayerOf(p, &t)
		return l == nil || l.Report == nil
	}
	all := *d
	if slices.ContainsFunc(d.Descriptors, isLost) {
		all.Descriptors = slices.DeleteFunc(slices.Clone(d.Descriptors), isLost)
	}
	return all
}

// Causes returns the cycles of the run by cause, such as computing or waiting for memory.
func (r *Result) Causes() hw.Accounting { return r.Report.Accounting() }

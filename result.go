package anesim

import (
	"slices"

	"anesim/firmware/engine"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/loader/cache"
	"anesim/loader/lower/join"
)

// A Result is what a run did.
type Result struct {
	Model   *Model
	Options Options // as the run took them, with the defaults filled in

	// Report is the engine's account: every descriptor in the order they ran, with cycles
	// by cause, bytes and energy, their sums, and the device's faults. Of a network it
	// leaves out the layers that a fault cut short.
	Report *hw.Report
	// Layers are those of a network or the one of a layer, whether they are modelled or
	// not. A compiled program does not say what its layers are.
	Layers []LayerResult
	// Programs are those that were dispatched, in order.
	Programs []ProgramResult

	Inputs  []Output // of a program or layer, as they were given or made
	Outputs []Output // none unless every value they rest on was computed
	// Synthetic names the inputs that nobody gave: they are pseudo-random from the seed.
	Synthetic []string
	// Cache is the entry of Options.Cache that the programs are from or went to, nil
	// without a cache.
	Cache *cache.Entry
}

// A ProgramResult is what the dispatches of one program did.
type ProgramResult struct {
	engine.Result
	First int        // its first layer, of a network
	Runs  []join.Run // descriptors of each layer, from First on; none of a compiled program
	Why   string     // what ended the program before it, where that was not a layer that is not modelled
	// Spilled are the tensors between layers of a network that go through memory.
	Spilled []join.Spill

	Err error // why it could not be dispatched; Result is zero then, but for Program

	owner   []int   // of each descriptor, the index in Runs of the layer it is of; -1 for none
	covered []cover // of the L2, by each descriptor of the first dispatch
}

// end makes the result of what the programs did.
func (r *execution) end() *Result {
	res := &Result{Model: r.model, Options: r.options, Programs: r.programs, Synthetic: r.synthetic, Cache: r.lowered.entry}
	if r.model.kind == KindProgram {
		p := &r.programs[0]
		res.Report, res.Inputs, res.Outputs = p.Report, outputs(p.Inputs), outputs(p.Outputs)
		return res
	}
	n := r.model.net
	for i := range n.Layers {
		res.Layers = append(res.Layers, LayerResult{Layer: &n.Layers[i], Reason: r.lowered.reasons[i]})
	}
	for k := range res.Programs {
		res.layers(k)
	}
	if r.model.kind == KindLayer {
		p := &r.programs[0]
		res.Report, res.Inputs, res.Outputs = p.Report, outputs(p.Inputs), outputs(p.Outputs)
		return res
	}
	res.hostStages()
	res.report()
	r.results(res)
	return res
}

// report adds a network up, in the order in which its descriptors ran.
func (r *Result) report() {
	r.Report = new(hw.Report)
	var dispatched []Dispatch
	descriptors := 0
	for d, p := range r.Dispatches() {
		counted := r.Counted(p, d)
		dispatched = append(dispatched, counted)
		descriptors += len(counted.Descriptors)
	}
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
	last := 0
	for d, p := range r.lastRound() {
		last += len(r.Counted(p, d).Descriptors)
	}
	r.Report.Repeat(r.again(), last)
	var dispatches clock.Nanojoules
	for i := range r.Programs {
		if rep := r.Programs[i].Report; rep != nil {
			dispatches += rep.Dispatch
			r.Report.Faults = append(r.Report.Faults, rep.Faults...)
		}
	}
	r.Report.AddDispatches(dispatches)
}

// Dispatches yields every dispatch with its program: all programs in order, then all of
// them again where they are repeated.
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

// again is how many rounds of dispatches followed those that are listed.
func (r *Result) again() (n int) {
	for i := range r.Programs {
		n = max(n, r.Programs[i].Again)
	}
	return n
}

// lastRound yields the dispatches that each of those rounds is like.
func (r *Result) lastRound() func(func(*Dispatch, *ProgramResult) bool) {
	return func(yield func(*Dispatch, *ProgramResult) bool) {
		for k := range r.Programs {
			p := &r.Programs[k]
			if p.Again > 0 && !yield(&p.Dispatches[len(p.Dispatches)-1], p) {
				return
			}
		}
	}
}

// Counted returns dispatch d of program p with only the descriptors that are in the totals: those
// of a network's layer that a fault cut short are left out.
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

// Causes are the engine's cycles by what they were spent on.
func (r *Result) Causes() hw.Accounting { return r.Report.Accounting() }

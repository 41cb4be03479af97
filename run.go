package anesim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/x448/float16"

	"anesim/firmware/engine"
	"anesim/hw"
	"anesim/hw/regs"
	"anesim/loader"
)

// Run runs the compiled program p with the options o. It is shorthand for [Model.Run] on the model
// that [FromProgram] returns, with a background context.
func Run(p *loader.Program, o Options) (*Result, error) {
	return FromProgram(p).Run(context.Background(), o)
}

// Run runs the model with the options o. It lowers the model if necessary, links it, boots the
// firmware, and executes the chains of descriptors. Device faults are part of the result, not
// errors.
//
//	Model --lower--> loader.Program --Link--> memory map, stream
//	           inputs --> input windows --+
//	                                      v
//	firmware.Controller: init table, gates, walk --> hw.Device --> hw.Report
//	                                                   |
//	          outputs <-- output windows <-------------+
//
// A Core ML program keeps its states from call to call of a run with o.Repeat. They stay in device
// memory, as with o.State, or the host copies them; see [Result.CopiedStates].
//
// The error is an *[OptionError], an *[InputError], a *[MissingWeightsError], a *[StateError], any error
// from ctx, or one that reports a mistake in the program. Canceling ctx stops the run between two
// descriptors.
func (m *Model) Run(ctx context.Context, o Options) (*Result, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	o.Target = m.target(&o)
	low, err := m.lowerOrReuse(ctx, &o, !o.Values)
	if err != nil {
		return nil, err
	}
	var copied []CopiedState
	if o.Repeat > 1 { // a single call has no call before it
		if copied, err = m.connectStatesOfRun(ctx, low, &o); err != nil {
			return nil, err
		}
	}
	res, err := m.runLowered(ctx, low, &o)
	if err == nil {
		res.CopiedStates = copied
	}
	return res, err
}

// runLowered runs the programs in low with the options o, whose zero values have been replaced by
// defaults.
func (m *Model) runLowered(ctx context.Context, low *loweredModel, o *Options) (*Result, error) {
	r := &execution{model: m, lowered: low, options: *o, tensors: map[string][]float16.Float16{}, numbers: map[string][]float64{}, extents: map[string][]int{}, failed: map[int]string{}}
	if err := r.checkOptionsAndInputs(); err != nil {
		return nil, err
	}
	done := 0
	for k := range low.programs {
		r.runHostStages(done, low.programs[k].First)
		done = low.programs[k].First
		if err := r.runProgram(ctx, k); err != nil {
			return nil, err
		}
	}
	r.runHostStages(done, len(low.reasons))
	return r.newResult(), nil
}

// An execution is the state of a run of a model, from lowering to the result.
type execution struct {
	model   *Model
	lowered *loweredModel
	options Options
	meter   *meter
	list    int // number of dispatches to list

	tensors        map[string][]float16.Float16 // values of a network's tensors by name
	numbers        map[string][]float64         // exact values that fp16 may not represent, used by layers that the host computes
	byteWidths     map[string]int               // widths of the tensors with 8-bit elements
	extents        map[string][]int             // actual shapes of tensors whose size depends on values, if smaller than the largest
	lastReader     map[string]int               // last layer that reads a tensor; the number of layers for inputs and results
	lastHostReader map[string]int               // last layer on the host that reads a tensor; the number of layers for results
	failed         map[int]string               // reason why a layer on the host has no values, by layer
	programs       []ProgramResult
	synthetic      []string
	madeUpElements int // number of made-up elements for layers on the host
}

// checkOptionsAndInputs checks the options and inputs of the run and sets up its progress meter. It
// returns an *[OptionError] or an *[InputError] if one is not valid.
func (r *execution) checkOptionsAndInputs() error {
	o := &r.options
	total := 0
	for i := range r.lowered.programs {
		total += r.lowered.programs[i].TaskCount
	}
	r.list = engine.Listed(o.Repeat, total)
	steps := r.list
	if o.Values && len(o.State) > 0 {
		steps = o.Repeat
	}
	r.meter = o.newMeter(StageRun, total*steps)
	if n := len(r.lowered.programs); len(o.State) > 0 && n != 1 {
		return &OptionError{Option: "State", What: fmt.Sprintf("requires a single program; %s has %d", r.model.name, n)}
	}
	if r.model.kind == KindNetwork {
		return r.setNetworkInputs()
	}
	p := r.lowered.programs[0].Program
	if r.model.kind == KindLayer {
		o.Inputs = withoutWeights(o.Inputs)
	}
	if o.Budget == 0 {
		o.Budget = hw.DefaultBudget
	}
	return checkInputs(p, o)
}

// runProgram dispatches the k-th program, counted from 0. A program of a network reads inputs of
// the network and results of earlier programs. If it cannot be dispatched, the reason becomes part
// of its result.
func (r *execution) runProgram(ctx context.Context, k int) error {
	p := &r.lowered.programs[k]
	o := r.options
	if r.model.kind != KindProgram {
		o.Brief = false // each layer has its own descriptors
	}
	if r.model.kind == KindNetwork {
		if o.Budget == 0 {
			o.Budget = hw.DefaultBudget * uint64(len(p.Runs))
		}
		if slices.ContainsFunc(r.programs, func(p ProgramResult) bool { return p.Report != nil }) {
			o.Idle = 0 // the network's gap precedes its first program
		}
		o.Inputs = map[string][]float16.Float16{}
		for port := range p.Inputs() {
			data, ok := r.tensors[port.Name]
			if !ok {
				continue
			}
			if width, ok := r.byteWidths[port.Name]; ok {
				var err error
				if data, err = engine.PackBytes(port, data, width); err != nil {
					return err
				}
			}
			o.Inputs[port.Name] = data
		}
	}
	var alias *AliasError
	res := &ProgramResult{First: p.First, Runs: p.Runs, Why: p.Why, Spilled: p.Spilled}
	err := res.dispatchProgram(ctx, p.Program, &o, r.list, r.meter)
	switch {
	case err == nil:
	case r.model.kind != KindNetwork, ctx.Err() != nil:
		return err
	case errors.As(err, &alias):
		return describeAlias(r.model.net, alias)
	default:
		res.Err = err
	}
	if len(r.byteWidths) > 0 {
		r.unpackBytes(&res.Result)
	}
	res.Program = p.Program // the session's copy has been relocated
	for _, in := range res.Inputs {
		if name := in.Port.Name; slices.Contains(res.Synthetic, name) {
			r.tensors[name] = in.Data // all layers that read it get the same values
			r.synthetic = append(r.synthetic, name)
		}
	}
	for _, out := range res.Outputs {
		r.tensors[out.Port.Name] = out.Data
	}
	r.programs = append(r.programs, *res)
	return nil
}

// unpackBytes gives the inputs and outputs of a program of a network that have 8-bit elements the
// values of the network's tensors.
func (r *execution) unpackBytes(res *engine.Result) {
	for _, list := range [...]*[]engine.Tensor{&res.Inputs, &res.Outputs} {
		*list = slices.Clone(*list) // a session keeps its own
		for i, t := range *list {
			if width, ok := r.byteWidths[t.Port.Name]; ok {
				(*list)[i] = t.UnpackBytes(width)
			}
		}
	}
}

// setNetworkInputs collects the values of the network's inputs from the options and those of its
// constants from its file. It returns an *[InputError] if an input is unknown or has the wrong
// size.
func (r *execution) setNetworkInputs() error {
	n, o := r.model.net, &r.options
	r.byteWidths = n.ByteWidths()
	for name, data := range n.Constants {
		if data != nil { // a file may omit its constants
			r.tensors[name] = data
		}
	}
	var names []string
	for _, in := range n.Inputs {
		names = append(names, in.Name)
		data, ok := o.Inputs[in.Name]
		if !ok {
			continue
		}
		s := in.Shape
		want := in.Dims
		if want == nil {
			want = []int{s.N, s.C, s.H, s.W}
		}
		if n := s.Elements(); n != len(data) {
			return &InputError{Name: in.Name, What: fmt.Sprintf("found %d elements; want %d for shape %v", len(data), n, want)}
		}
		if err := checkShape(in.Name, o.Shapes[in.Name], want); err != nil {
			return err
		}
		r.tensors[in.Name] = data
		if v, ok := o.Numbers[in.Name]; ok && len(v) == len(data) {
			r.numbers[in.Name] = v
		}
	}
	if o.Values {
		r.zeroStates()
	}
	// Sorted, so that of several unknown inputs always the same one is reported.
	for _, name := range slices.Sorted(maps.Keys(o.Inputs)) {
		if !slices.Contains(names, name) {
			return &InputError{Name: name, What: fmt.Sprintf("unknown input; want one of %q", names)}
		}
	}
	return nil
}

// dispatchProgram runs a program on a new engine and stores the result in p, with the first list
// dispatches listed one by one. It counts the finished descriptors in m.
func (p *ProgramResult) dispatchProgram(ctx context.Context, program *loader.Program, o *Options, list int, m *meter) error {
	job := engine.Job{Inputs: o.Inputs, State: o.State, Repeat: o.Repeat, List: list, Executed: p.newTaskRecorder(o, program.TaskCount, m)}
	res, err := engine.Run(ctx, program, o.toEngineOptions(), job)
	if err != nil {
		return err
	}
	p.Result = *res
	return nil
}

// Replay runs program p of r again and calls the function each for every descriptor, in order. The
// argument d is the report of the descriptor; it is valid only during the call. The argument l2 is
// the number of bytes of L2 that the descriptor's operands occupy. Unlike a run with
// [Options.Brief], Replay leaves out no descriptors.
func (r *Result) Replay(ctx context.Context, p *loader.Program, each func(d *hw.DescriptorReport, l2 int)) error {
	o := r.Options.toEngineOptions()
	var covered []cover // of descriptors for which each has not been called yet
	o.Each = func(d *hw.DescriptorReport) {
		n := covered[0]
		covered = covered[1:]
		each(d, new(spanSet).countUnion(n.spans[:n.n]))
	}
	_, err := engine.Run(ctx, p, o, engine.Job{Inputs: r.Options.Inputs, State: r.Options.State, Repeat: r.Options.Repeat, List: 1, Executed: func(t *regs.Task) {
		covered = append(covered, findOperandCover(t, uint64(o.Chip.L2Bytes.Value)))
	}})
	return err
}

// checkInputs returns an *[InputError] if o.Inputs has values for a name that is not an input of
// program p, or values of the wrong size or shape.
func checkInputs(p *loader.Program, o *Options) error {
	for _, name := range slices.Sorted(maps.Keys(o.Inputs)) {
		if err := engine.CheckInput(p, name, len(o.Inputs[name])); err != nil {
			return err
		}
		port, _ := p.Port(name, loader.Input)
		if err := checkShape(name, o.Shapes[name], port.Shape[:]); err != nil {
			return err
		}
	}
	return nil
}

// checkShape returns an *[InputError] for the named input if its shape got differs from want. It
// ignores axes of size 1, because they do not change the order of the elements. It always accepts a
// nil shape.
func checkShape(name string, got, want []int) error {
	if got == nil {
		return nil
	}
	isOne := func(n int) bool { return n == 1 }
	trim := func(s []int) []int { return slices.DeleteFunc(slices.Clone(s), isOne) }
	if slices.Equal(trim(got), trim(want)) {
		return nil
	}
	what := fmt.Sprintf("found shape %v; want %v", got, want)
	if isPermutation(trim(got), trim(want)) {
		what += ", with the axes in this order"
	} else {
		what += fmt.Sprintf("; if the elements are in this order, array.reshape(%s) in numpy has that shape", joinInts(want))
	}
	return &InputError{Name: name, What: what}
}

// isPermutation reports whether a and b hold the same numbers in different orders.
func isPermutation(a, b []int) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// joinInts returns the numbers separated by ", ", such as "1, 64, 8, 8".
func joinInts(list []int) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ", ")
}

package anesim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/x448/float16"

	"anesim/hw"
	"anesim/hw/dma"
	"anesim/hw/regs"
	"anesim/loader"
)

// An InputError is an input that does not fit the model.
type InputError struct {
	Name string
	What string
}

func (e *InputError) Error() string { return fmt.Sprintf("input %q: %s", e.Name, e.What) }

// Run runs a program that is at hand, as [Model.Run] does.
func Run(p *loader.Program, o Options) (*Result, error) {
	return FromProgram(p).Run(context.Background(), o)
}

// Run runs the model: it lowers what has to be, links, boots the firmware and walks the
// chains of descriptors. A device fault is in the result, not an error.
//
// Errors are an *[OptionError], an *[InputError], that of ctx, or what is wrong with the
// program. Cancelling ctx ends a run between two descriptors.
func (m *Model) Run(ctx context.Context, o Options) (*Result, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	low, err := m.lower(ctx, &o, !o.Values)
	if err != nil {
		return nil, err
	}
	r := &execution{model: m, lowered: low, options: o, tensors: map[string][]float16.Float16{}, numbers: map[string][]float64{}, extents: map[string][]int{}, failed: map[int]string{}}
	if err := r.begin(); err != nil {
		return nil, err
	}
	done := 0
	for k := range low.programs {
		r.stage(done, low.programs[k].First)
		done = low.programs[k].First
		if err := r.program(ctx, k); err != nil {
			return nil, err
		}
	}
	r.stage(done, len(low.reasons))
	return r.end(), nil
}

// An execution is a model on its way through an engine.
type execution struct {
	model   *Model
	lowered *lowered
	options Options
	meter   *meter
	list    int // dispatches that are listed

	tensors   map[string][]float16.Float16 // of a network, by name
	numbers   map[string][]float64         // those that fp16 may not have, which the host's stages work with
	extents   map[string][]int             // actual shapes of tensors whose size depends on values, where they are not the largest
	failed    map[int]string               // layers whose stage has no values, and why
	programs  []ProgramResult
	synthetic []string
}

// begin checks what the caller gave.
func (r *execution) begin() error {
	o := &r.options
	total := 0
	for i := range r.lowered.programs {
		total += r.lowered.programs[i].TaskCount
	}
	r.list = listed(o.Repeat, total)
	steps := r.list
	if len(o.State) > 0 {
		steps = o.Repeat
	}
	r.meter = o.meter(StageRun, total*steps)
	if n := len(r.lowered.programs); len(o.State) > 0 && n != 1 {
		return &OptionError{"State", fmt.Sprintf("requires a single program; %s has %d", r.model.name, n)}
	}
	if r.model.kind == KindNetwork {
		return r.networkInputs()
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

// program runs the k-th program on what those before it made.
func (r *execution) program(ctx context.Context, k int) error {
	p := &r.lowered.programs[k]
	o := r.options
	if r.model.kind != KindProgram {
		o.Brief = false // layers have descriptors of their own
	}
	if r.model.kind == KindNetwork {
		if o.Budget == 0 {
			o.Budget = hw.DefaultBudget * uint64(len(p.Runs))
		}
		if slices.ContainsFunc(r.programs, func(p ProgramResult) bool { return p.Report != nil }) {
			o.Idle = 0 // the network's gap stands before its first program
		}
		o.Inputs = map[string][]float16.Float16{}
		for port := range p.Inputs() {
			if data, ok := r.tensors[port.Name]; ok {
				o.Inputs[port.Name] = data
			}
		}
	}
	res, err := dispatch(ctx, p.Program, &o, r.list, r.meter)
	switch {
	case err == nil:
	case r.model.kind != KindNetwork, ctx.Err() != nil, errors.As(err, new(*AliasError)):
		return err
	default:
		res = &ProgramResult{Err: err}
	}
	res.Program, res.First, res.Runs, res.Why = p.Program, p.First, p.Runs, p.Why
	res.L2, res.Spilled = p.L2, p.Spilled
	for _, in := range res.Inputs {
		if name := in.Port.Name; slices.Contains(res.Synthetic, name) {
			r.tensors[name] = in.Data // the same to every layer that reads it
			r.synthetic = append(r.synthetic, name)
		}
	}
	for _, out := range res.Outputs {
		r.tensors[out.Port.Name] = out.Data
	}
	r.programs = append(r.programs, *res)
	return nil
}

// networkInputs takes in the values that the options and the network's file give.
func (r *execution) networkInputs() error {
	n, o := r.model.net, &r.options
	for name, data := range n.Constants {
		if data != nil { // a file may leave its constants out
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
		if want := in.Shape.Elements(); want != len(data) {
			return &InputError{in.Name, fmt.Sprintf("%d elements, the network takes %d", len(data), want)}
		}
		s := in.Shape
		want := in.Dims
		if want == nil {
			want = []int{s.N, s.C, s.H, s.W}
		}
		if err := checkShape(in.Name, o.Shapes[in.Name], want); err != nil {
			return err
		}
		r.tensors[in.Name] = data
		if v, ok := o.Numbers[in.Name]; ok && len(v) == len(data) {
			r.numbers[in.Name] = v
		}
	}
	for _, name := range sortedNames(o.Inputs) {
		if !slices.Contains(names, name) {
			return &InputError{name, fmt.Sprintf("the network has no such input; it has %q", names)}
		}
	}
	return nil
}

// dispatch runs a program in a session of its own.
func dispatch(ctx context.Context, p *loader.Program, o *Options, list int, m *meter) (*ProgramResult, error) {
	s, err := newSession(*o)
	if err != nil {
		return nil, err
	}
	return s.dispatch(ctx, p, o, list, m)
}

// observe runs a program that a brief result has most descriptors of in sums alone once
// more, and shows all of them in order. What is shown is good until the next.
func (r *Result) observe(ctx context.Context, p *loader.Program, each func(*hw.DescriptorReport)) error {
	o := r.Options
	o.Each, o.Progress = nil, nil
	s, err := newSession(o)
	if err != nil {
		return err
	}
	s.each = each
	_, err = s.dispatch(ctx, p, &o, 1, o.meter(StageRun, p.TaskCount))
	return err
}

// dispatch loads a program into the session and runs it.
func (s *Session) dispatch(ctx context.Context, p *loader.Program, o *Options, list int, m *meter) (*ProgramResult, error) {
	l, err := s.load(FromProgram(p), p)
	if err != nil {
		return nil, err
	}
	for _, a := range o.State {
		if err := l.Alias(a.Output, a.Input); err != nil {
			return nil, err
		}
	}
	l.inputs, l.once = o.Inputs, true
	return l.dispatch(ctx, o.Repeat, list, m)
}

// An engine is a device that a context can stop and that tells of its progress.
type engine struct {
	*hw.Device
	ctx   context.Context
	meter *meter
}

// Execute runs one task unless the context is done.
func (e *engine) Execute(t *regs.Task) (halt bool) {
	if e.ctx.Err() != nil {
		return true
	}
	halt = e.Device.Execute(t)
	e.meter.add(1)
	return halt
}

// settle checks every access of the run once, so that each segment takes the memory it
// needs at its first touch.
func settle(mem *dma.Memory, linked *loader.Linked) error {
	var ops regs.Operands
	for t, err := range linked.Stream.Tasks(new(regs.File)) {
		if err != nil {
			return err
		}
		ops.Resolve(&t.Groups)
		for i, addr := range [...]uint64{t.Bases.Source1, t.Bases.Source2, t.Bases.Destination} {
			o := ops.List()[i]
			if !o.DRAM {
				continue
			}
			low, high := o.Extent()
			check := mem.Check
			if o.Role == regs.Destination {
				check = mem.CheckWrite
			}
			if err := check(addr+uint64(low), uint64(high-low)); err != nil {
				return fmt.Errorf("descriptor %d: %w", t.Index, err)
			}
		}
	}
	for i := range linked.Program.Ports {
		port := &linked.Program.Ports[i]
		if err := checkPort(mem, port); err != nil {
			return err
		}
	}
	return nil
}

// checkInputs makes sure that what is given are inputs of the program.
func checkInputs(p *loader.Program, o *Options) error {
	var names []string
	for port := range p.Inputs() {
		names = append(names, port.Name)
	}
	for _, name := range sortedNames(o.Inputs) {
		port, ok := p.Port(name, loader.Input)
		if !ok {
			return &InputError{name, fmt.Sprintf("the program has no such input; it has %q", names)}
		}
		if n := elements(port); n != len(o.Inputs[name]) {
			return &InputError{name, fmt.Sprintf("%d elements, the port takes %d (%v)", len(o.Inputs[name]), n, port.Shape)}
		}
		if err := checkShape(name, o.Shapes[name], port.Shape[:]); err != nil {
			return err
		}
	}
	return nil
}

// checkShape holds a shape that is known against the one wanted, up to leading ones.
func checkShape(name string, got, want []int) error {
	if got == nil {
		return nil
	}
	trim := func(s []int) []int {
		for len(s) > 0 && s[0] == 1 {
			s = s[1:]
		}
		return s
	}
	if !slices.Equal(trim(got), trim(want)) {
		return &InputError{name, fmt.Sprintf("shape %v, the input has %v", got, want)}
	}
	return nil
}

func sortedNames(inputs map[string][]float16.Float16) []string {
	names := make([]string, 0, len(inputs))
	for name := range inputs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

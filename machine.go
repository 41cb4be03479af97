package anesim

import (
	"fmt"
	"slices"

	"github.com/x448/float16"

	"anesim/firmware"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/dma"
	"anesim/hw/regs"
	"anesim/loader"
)

// Options say how a program runs.
type Options struct {
	Chip      hw.Chip
	Values    bool                         // compute values
	Inputs    map[string][]float16.Float16 // by port name, in N, C, H, W order
	Seed      uint64                       // of the inputs that are not given
	Init      *firmware.InitTable          // nil for the known records
	GateTiles uint32                       // tiles to gate after init, bit 2e+h
	Overrides []firmware.Override          // register what-ifs
	Repeat    int                          // dispatches; 0 is one
	Idle      clock.Nanoseconds            // gap before each of them
	Workers   int                          // goroutines for values; 0 is one a processor
	Budget    uint64                       // steps of values; 0 is hw.DefaultBudget
}

// An Output is what a run left in an output port.
type Output struct {
	Port *loader.Port
	Data []float16.Float16 // N, C, H, W order
}

// A Result is what a run did.
type Result struct {
	Program *loader.Program
	Report  *hw.Report
	Inputs  []Output // as they were given or made
	Outputs []Output // empty unless every value was computed
	// Synthetic names the input ports that were filled with pseudo-random halves.
	Synthetic []string
	// Dispatches are those that were begun, with their parts of the report.
	Dispatches []Dispatch
}

// An InputError is an input that does not fit the program.
type InputError struct {
	Name string
	What string
}

func (e *InputError) Error() string { return fmt.Sprintf("input %q: %s", e.Name, e.What) }

// Run links and executes a program. A device fault is in the result's report, not an
// error.
func Run(p *loader.Program, o Options) (*Result, error) {
	linked, err := p.Link()
	if err != nil {
		return nil, err
	}
	mem, err := memory(linked)
	if err != nil {
		return nil, err
	}
	res := &Result{Program: p}
	if err := checkInputs(p, o.Inputs); err != nil {
		return nil, err
	}
	if o.Values {
		if err := settle(mem, linked.Tasks, p); err != nil {
			return nil, err
		}
		for port := range p.Inputs() {
			data, given := o.Inputs[port.Name]
			if !given {
				data = pseudoRandom(port, o.Seed)
				res.Synthetic = append(res.Synthetic, port.Name)
			}
			if err := transfer(mem, port, data, true); err != nil {
				return nil, err
			}
			res.Inputs = append(res.Inputs, Output{port, data})
		}
	}
	init := o.Init
	if init == nil {
		init = firmware.Known()
	}
	ctl := firmware.New(init)
	ctl.Overrides = o.Overrides
	if err := ctl.GateTiles(o.GateTiles); err != nil {
		return nil, err
	}
	dev := hw.New(mem, hw.Options{Chip: o.Chip, Values: o.Values, Workers: o.Workers, Budget: o.Budget})
	ctl.PowerTimes = powerTimes(&o.Chip)
	ctl.Wake(firmware.DomainsOf(firmware.Base)) // a call before this run, which has just ended
	res.Report = dev.Report()
	for n := range max(1, o.Repeat) {
		if n > 0 {
			dev.Dispatch()
		}
		rep := dev.Report()
		rep.Descriptors = slices.Grow(rep.Descriptors, len(linked.Tasks))
		d := Dispatch{Idle: o.Idle, Waiting: ctl.Idle(o.Idle)}
		first := len(res.Report.Descriptors)
		if _, err := ctl.Run(&linked.Stream, dev); err != nil {
			return nil, err
		}
		d.Wake = ctl.WakeTime()
		d.Descriptors = dev.Report().Descriptors[first:] // the chain has ended
		res.Dispatches = append(res.Dispatches, d)
		if len(res.Report.Faults) > 0 {
			break
		}
	}
	for i := range res.Dispatches {
		res.Dispatches[i].Energy = res.Report.Dispatch / clock.Nanojoules(len(res.Dispatches))
	}
	if o.Values && res.Report.Complete() {
		for port := range p.Outputs() {
			data := make([]float16.Float16, elements(port))
			if err := transfer(mem, port, data, false); err != nil {
				return nil, err
			}
			res.Outputs = append(res.Outputs, Output{port, data})
		}
	}
	return res, nil
}

func memory(l *loader.Linked) (*dma.Memory, error) {
	segs := make([]dma.Segment, len(l.Map))
	for i, s := range l.Map {
		name := s.Name
		if s.Section != "" {
			name += "," + s.Section
		}
		segs[i] = dma.Segment{Name: name, Addr: s.Addr, Size: s.Size, Data: s.Data}
	}
	return dma.NewMemory(segs)
}

// settle checks every access of the run once, so that each segment takes the memory it
// needs at its first touch.
func settle(mem *dma.Memory, tasks []*regs.Task, p *loader.Program) error {
	var ops regs.Operands
	for _, t := range tasks {
		ops.Resolve(&t.Groups)
		for i, addr := range [...]uint64{t.Bases.Source1, t.Bases.Source2, t.Bases.Destination} {
			o := ops.List()[i]
			if !o.DRAM {
				continue
			}
			low, high := o.Extent()
			if err := mem.Check(addr+uint64(low), uint64(high-low)); err != nil {
				return fmt.Errorf("descriptor %d: %w", t.Index, err)
			}
		}
	}
	for i := range p.Ports {
		port := &p.Ports[i]
		if err := checkPort(mem, port); err != nil {
			return err
		}
	}
	return nil
}

func checkInputs(p *loader.Program, inputs map[string][]float16.Float16) error {
	var names []string
	for port := range p.Inputs() {
		names = append(names, port.Name)
	}
	given := make([]string, 0, len(inputs))
	for name := range inputs {
		given = append(given, name)
	}
	slices.Sort(given)
	for _, name := range given {
		port, ok := p.Port(name, loader.Input)
		if !ok {
			return &InputError{name, fmt.Sprintf("the program has no such input; it has %q", names)}
		}
		if n := elements(port); n != len(inputs[name]) {
			return &InputError{name, fmt.Sprintf("%d elements, the port takes %d (%v)", len(inputs[name]), n, port.Shape)}
		}
	}
	return nil
}

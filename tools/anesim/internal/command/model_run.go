package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/x448/float16"

	"anesim"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/host"
	"anesim/loader"
	"anesim/loader/lower"
	"anesim/loader/network"
)

// A modelRun is a network on a machine.
type modelRun struct {
	net     *network.Network
	file    string
	options anesim.Options
	preset  host.Host

	programs  []network.Program
	files     []string // of the programs, where they are written
	layers    []layerRun
	dispatch  clock.Nanojoules  // of all programs
	host      clock.Nanoseconds // what the preset adds over all programs
	calls     []programCalls    // of the programs that ran
	synthetic []string          // tensors that are pseudo-random
	outputs   []anesim.Output
}

// programCalls are a program's dispatches.
type programCalls struct {
	*network.Program
	layers     []layerRun
	dispatches []anesim.Dispatch
	host       clock.Nanoseconds // of each
}

// A layerRun is what a layer's descriptors did.
type layerRun struct {
	*network.Layer
	program int        // the one it is in, from 1
	reason  string     // why it is not modelled, "" when it is
	report  *hw.Report // nil when it is not modelled
	fault   *hw.Fault
	data    []float16.Float16 // the result, where it leaves its program with values
	note    string            // why values were not computed, where they were asked for
	caveat  string            // what its values rest on that is not known of real programs
}

// lower makes the network's programs.
func (r *modelRun) lower(done func(layers int)) {
	programs, reasons := r.net.Lower(r.options.Seed, done)
	r.programs = programs
	for i := range r.net.Layers {
		r.layers = append(r.layers, layerRun{Layer: &r.net.Layers[i], reason: reasons[i]})
	}
	for k, p := range programs {
		for i := range p.Runs {
			r.layers[p.First+i].program = k + 1
		}
	}
}

// emit writes the programs to a file, or to one each, numbered from 1.
func (r *modelRun) emit(file string) error {
	if len(r.programs) == 0 {
		return fmt.Errorf("--emit %s: no program to write: no layer was lowered", file)
	}
	for k := range r.programs {
		name := file
		if len(r.programs) > 1 {
			ext := filepath.Ext(file)
			name = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(file, ext), k+1, ext)
		}
		if err := os.WriteFile(name, r.programs[k].Bytes(), 0o644); err != nil {
			return err
		}
		r.files = append(r.files, name)
	}
	return nil
}

// run runs the programs, each on what the ones before it made.
func (r *modelRun) run() error {
	tensors, err := r.inputs()
	if err != nil {
		return err
	}
	for k := range r.programs {
		p := &r.programs[k]
		layers := r.layers[p.First:][:len(p.Runs)]
		res, err := r.runOn(p, tensors)
		if err != nil {
			for i := range layers {
				layers[i].reason = err.Error()
			}
			continue
		}
		r.dispatch += res.Report.Dispatch
		host := hostTime(&r.preset, res)
		r.host += host
		for i := range layers {
			layers[i].record(res.Report, p.Runs[i], p.TaskCount)
		}
		r.calls = append(r.calls, programCalls{p, layers, res.Dispatches, host / clock.Nanoseconds(len(res.Dispatches))})
		for _, out := range res.Outputs {
			tensors[out.Port.Name] = out.Data
		}
		for i := range layers {
			l := &layers[i]
			if port, ok := p.Port(l.Output, loader.Output); ok && len(res.Outputs) > 0 {
				l.data = tensors[port.Name]
			}
			if l.data != nil && slices.Contains(r.net.Outputs, l.Output) {
				r.outputs = append(r.outputs, outputOf(l.Layer, l.data))
			}
		}
	}
	return nil
}

// runOn runs a program on tensors. Those that nothing made are pseudo-random, the same to
// every layer that reads them.
func (r *modelRun) runOn(p *network.Program, tensors map[string][]float16.Float16) (*anesim.Result, error) {
	o := r.options
	o.Budget = hw.DefaultBudget * uint64(len(p.Runs))
	if len(r.calls) > 0 {
		o.Idle = 0 // the network's gap stands before its first program
	}
	o.Inputs = map[string][]float16.Float16{}
	for port := range p.Inputs() {
		if data, ok := tensors[port.Name]; ok {
			o.Inputs[port.Name] = data
		}
	}
	res, err := anesim.Run(p.Program, o)
	if err != nil {
		return nil, err
	}
	for _, in := range res.Inputs {
		if name := in.Port.Name; slices.Contains(res.Synthetic, name) {
			tensors[name] = in.Data
			r.synthetic = append(r.synthetic, name)
		}
	}
	return res, nil
}

// timeline lays the network out: all programs, then all of them again.
func (r *modelRun) timeline() *anesim.Timeline {
	l := &anesim.Timeline{Waiting: r.options.Chip.Waiting}
	for n := range max(1, r.options.Repeat) {
		for i := range r.calls {
			if c := &r.calls[i]; n < len(c.dispatches) {
				l.Label = c.label
				d := c.counted(&c.dispatches[n])
				l.Add(&d, c.host)
			}
		}
	}
	return l
}

// layer is the layer that a descriptor is of, nil where it is none's.
func (c *programCalls) layer(d *hw.DescriptorReport) *layerRun {
	for i, run := range c.Runs {
		if d.Index >= run.First && d.Index < run.First+run.Tasks {
			return &c.layers[i]
		}
	}
	return nil
}

func (c *programCalls) label(d *hw.DescriptorReport) string {
	return fmt.Sprintf("%s: descriptor %d: %v", c.layer(d).Name, d.Index, d.Op)
}

// counted is a dispatch with those of its descriptors that are in the totals: none of a
// layer that a fault cut short.
func (c *programCalls) counted(d *anesim.Dispatch) anesim.Dispatch {
	all := *d
	all.Descriptors = nil
	for i := range d.Descriptors {
		if l := c.layer(&d.Descriptors[i]); l != nil && l.report != nil {
			all.Descriptors = append(all.Descriptors, d.Descriptors[i])
		}
	}
	return all
}

// record takes in what the layer's descriptors did in every dispatch of a program of so
// many tasks.
func (l *layerRun) record(all *hw.Report, run lower.Run, tasks int) {
	r := new(hw.Report)
	for at := run.First; at+run.Tasks <= len(all.Descriptors); at += tasks {
		for _, d := range all.Descriptors[at:][:run.Tasks] {
			r.Descriptors = append(r.Descriptors, d)
			r.Cycles += d.Cycles.Total()
			r.Time += d.Time
			r.Energy += d.Energy
			r.MACs += d.MACs
			r.DMA.Source1 += d.DMA.Source1
			r.DMA.Source2 += d.DMA.Source2
			r.DMA.Kernel += d.DMA.Kernel
			r.DMA.Destination += d.DMA.Destination
			if l.note == "" {
				l.note = d.Note
			}
			if l.caveat == "" {
				l.caveat = d.Caveat
			}
		}
	}
	if len(all.Faults) == 0 {
		l.report = r
		return
	}
	fault := &all.Faults[0]
	switch at := fault.Descriptor; {
	case at >= run.First+run.Tasks:
		l.report = r
	case at >= run.First:
		l.fault = fault
		l.reason = "device fault: " + fault.String()
	default:
		l.reason = "behind a device fault"
	}
}

func outputOf(l *network.Layer, data []float16.Float16) anesim.Output {
	s := l.Out
	return anesim.Output{Port: &loader.Port{Name: l.Output, Shape: [4]int{s.N, s.C, s.H, s.W}}, Data: data}
}

// inputs are the values that the flags and the file give.
func (r *modelRun) inputs() (map[string][]float16.Float16, error) {
	tensors := map[string][]float16.Float16{}
	for name, data := range r.net.Constants {
		if data != nil { // a file may leave its constants out
			tensors[name] = data
		}
	}
	var names []string
	for _, in := range r.net.Inputs {
		names = append(names, in.Name)
		if data, ok := r.options.Inputs[in.Name]; ok {
			if n := in.Shape.Elements(); n != len(data) {
				return nil, &anesim.InputError{Name: in.Name, What: fmt.Sprintf("%d elements, the network takes %d", len(data), n)}
			}
			tensors[in.Name] = data
		}
	}
	for name := range r.options.Inputs {
		if _, ok := tensors[name]; !ok {
			return nil, &anesim.InputError{Name: name, What: fmt.Sprintf("the network has no such input; it has %q", names)}
		}
	}
	return tensors, nil
}

// writeOutputs writes the network's results as run does those of a program.
func (r *modelRun) writeOutputs(dir string) error {
	if len(r.outputs) == 0 {
		return fmt.Errorf("--out %s: no outputs to write: no layer that makes one was computed", dir)
	}
	return writeOutputs(dir, &anesim.Result{Outputs: r.outputs})
}

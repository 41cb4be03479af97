package command

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/x448/float16"

	"anesim/hw"
	"anesim/loader"
	"anesim/loader/lower"
	"anesim/tools/machine"
	"anesim/tools/network"
)

// A modelRun is a network on a machine.
type modelRun struct {
	net     *network.Network
	file    string
	options machine.Options

	layers    []layerRun
	synthetic []string // tensors that are pseudo-random
	outputs   []machine.Output
}

// A layerRun is what one layer's program did.
type layerRun struct {
	*network.Layer
	reason string     // why it is not modelled, "" when it is
	report *hw.Report // nil when it is not modelled
	fault  *hw.Fault
	data   []float16.Float16 // the result, where values were computed
	note   string            // why they were not, where they were asked for
}

// record takes a run's result in.
func (l *layerRun) record(res *machine.Result, err error) {
	switch {
	case err != nil:
		l.reason = err.Error()
	case len(res.Report.Faults) > 0:
		l.fault = &res.Report.Faults[0]
		l.reason = "device fault: " + l.fault.String()
	default:
		l.report = res.Report
	}
}

// timed runs the layers without values, each kind of layer once, on every processor.
func (r *modelRun) timed(done func(layers int)) {
	first := map[string]int{}
	var distinct []int
	same := make([]int, len(r.net.Layers))
	for i := range r.net.Layers {
		l := &r.net.Layers[i]
		r.layers = append(r.layers, layerRun{Layer: l, reason: l.Reason})
		key := fmt.Sprintf("%+v", l.Lower)
		if l.Reason != "" || len(l.Weights.Filter)+len(l.Weights.Bias)+len(l.Weights.Second) > 0 {
			key = l.Name // values of its own: coefficients may be packed
		}
		j, ok := first[key]
		if !ok {
			first[key], j = i, i
			distinct = append(distinct, i)
		}
		same[i] = j
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(distinct)) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(distinct) {
					return
				}
				l := &r.layers[distinct[i]]
				if l.reason == "" {
					l.record(runLayer(l.Layer, r.options))
				}
				done(1)
			}
		})
	}
	wg.Wait()
	for i, j := range same {
		if i != j {
			l := r.layers[i].Layer
			r.layers[i] = r.layers[j]
			r.layers[i].Layer = l
			done(1)
		}
	}
}

// runLayer lowers a layer and runs its program.
func runLayer(l *network.Layer, o machine.Options) (*machine.Result, error) {
	p, err := lowerLayer(l, o.Seed)
	if err != nil {
		return nil, err
	}
	return machine.Run(p, o)
}

// portNames are the input ports of a layer's program, in the order of its inputs.
func portNames(l *network.Layer) []string {
	if l.Lower.Op != lower.Concat {
		return []string{"x", "z"}[:len(l.Inputs)]
	}
	var names []string
	for i := range l.Inputs {
		names = append(names, fmt.Sprintf("x%d", i))
	}
	return names
}

// chained runs the layers with values, each on what the layers before it made.
func (r *modelRun) chained(done func(layers int)) error {
	tensors, err := r.inputs()
	if err != nil {
		return err
	}
	for i := range r.net.Layers {
		l := layerRun{Layer: &r.net.Layers[i], reason: r.net.Layers[i].Reason}
		if l.reason == "" {
			res, err := r.runOn(l.Layer, tensors)
			l.record(res, err)
			switch {
			case l.report == nil:
			case len(res.Outputs) == 1:
				l.data = res.Outputs[0].Data
				tensors[l.Output] = l.data
			default:
				l.note = whyNoOutputs(res)
			}
			if l.data != nil && slices.Contains(r.net.Outputs, l.Output) {
				r.outputs = append(r.outputs, outputOf(l.Layer, l.data))
			}
		}
		r.layers = append(r.layers, l)
		done(1)
	}
	return nil
}

// runOn runs a layer on tensors. Those that nothing made are pseudo-random, the same to
// every layer that reads them.
func (r *modelRun) runOn(l *network.Layer, tensors map[string][]float16.Float16) (*machine.Result, error) {
	o := r.options
	o.Inputs = map[string][]float16.Float16{}
	tensor := map[string]string{}
	for j, port := range portNames(l) {
		tensor[port] = l.Inputs[j]
		if data, ok := tensors[l.Inputs[j]]; ok {
			o.Inputs[port] = data
		}
	}
	res, err := runLayer(l, o)
	if err != nil {
		return nil, err
	}
	for _, in := range res.Inputs {
		name := tensor[in.Port.Name]
		if slices.Contains(res.Synthetic, in.Port.Name) && tensors[name] == nil {
			tensors[name] = in.Data
			r.synthetic = append(r.synthetic, name)
		}
	}
	return res, nil
}

func outputOf(l *network.Layer, data []float16.Float16) machine.Output {
	s := l.Out
	return machine.Output{Port: &loader.Port{Name: l.Output, Shape: [4]int{s.N, s.C, s.H, s.W}}, Data: data}
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
				return nil, &machine.InputError{Name: in.Name, What: fmt.Sprintf("%d elements, the network takes %d", len(data), n)}
			}
			tensors[in.Name] = data
		}
	}
	for name := range r.options.Inputs {
		if _, ok := tensors[name]; !ok {
			return nil, &machine.InputError{Name: name, What: fmt.Sprintf("the network has no such input; it has %q", names)}
		}
	}
	return tensors, nil
}

// writeOutputs writes the network's results as run does those of a program.
func (r *modelRun) writeOutputs(dir string) error {
	if len(r.outputs) == 0 {
		return fmt.Errorf("--out %s: no outputs to write: no layer that makes one was computed", dir)
	}
	return writeOutputs(dir, &machine.Result{Outputs: r.outputs})
}

// accounting adds up a program's cycles by their causes.
func accounting(r *hw.Report) hw.Accounting {
	var a hw.Accounting
	for i := range r.Descriptors {
		d := &r.Descriptors[i].Cycles
		a.Compute += d.Compute
		a.InputStall += d.InputStall
		a.OutputStall += d.OutputStall
		a.KernelStall += d.KernelStall
		a.Throttle += d.Throttle
		a.L2ReadStall += d.L2ReadStall
		a.L2WriteStall += d.L2WriteStall
		a.Overhead += d.Overhead
		a.Idle += d.Idle
	}
	return a
}

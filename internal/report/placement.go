package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"anesim"
	"anesim/hw/clock"
	"anesim/hw/evidence"
	"anesim/internal/placement"
	"anesim/loader"
	"anesim/loader/network/list"
)

// Computes returns the targets that [NewPlacement] accepts: "engine" (the engine, and the CPU for
// layers that the engine does not support), "all" (also the GPU) and "cpu".
func Computes() []string { return []string{"engine", "all", "cpu"} }

// findBackends returns the names of the processors that belong to the target compute; see
// [Computes]. If the target is unknown, it returns an *[anesim.OptionError].
func findBackends(compute string) ([]string, error) {
	switch compute {
	case "engine":
		return []string{placement.Engine, placement.CPU}, nil
	case "all":
		return []string{placement.Engine, placement.GPU, placement.CPU}, nil
	case "cpu":
		return []string{placement.CPU}, nil
	}
	return nil, &anesim.OptionError{Option: "Compute", What: fmt.Sprintf("unknown target %q; want one of %s", compute, strings.Join(Computes(), ", "))}
}

// findSegmenter returns the segmenter with the given name; "" is the default, the shortest path. If the
// name is unknown, it returns an *[anesim.OptionError].
func findSegmenter(name string) (placement.Segmenter, error) {
	if name == "" {
		return placement.ShortestPath, nil
	}
	if s := placement.Segmenter(name); slices.Contains(placement.Segmenters(), s) {
		return s, nil
	}
	return "", &anesim.OptionError{Option: "Segmenter", What: fmt.Sprintf("unknown segmenter %q; want one of %s", name, strings.Join(Segmenters(), ", "))}
}

// Segmenters returns the names of the segmenters that [NewPlacement] accepts.
func Segmenters() (names []string) {
	for _, s := range placement.Segmenters() {
		names = append(names, string(s))
	}
	return names
}

// NewPlacement assigns each layer of the network in r to a processor. The argument compute is one
// of [Computes] and selects the available processors; segmenter is one of [Segmenters], or "" for the
// shortest path. If rates is not nil, it is YAML that changes
// the assumed speeds of the processors, and name is its file's name; see [placement.Machine.With].
// NewPlacement returns an *[anesim.OptionError] if compute or segmenter is unknown or r is not a
// network's result.
func NewPlacement(r *anesim.Result, compute, segmenter, name string, rates []byte) (*Placement, error) {
	names, err := findBackends(compute)
	if err != nil {
		return nil, err
	}
	s, err := findSegmenter(segmenter)
	if err != nil {
		return nil, err
	}
	m := r.Machine()
	if rates != nil {
		if m, err = m.With(name, rates); err != nil {
			return nil, err
		}
	}
	p, err := placeLayers(r, m.Only(names...), s)
	if err != nil {
		return nil, err
	}
	return newPlacement(compute, s, p), nil
}

// placeLayers assigns each layer of the network in r to a processor of the machine m and returns the plan
// of segmenter s. Layers on the engine take as long as in the run. The engine does not take a layer
// that the model cannot run there, one that the documents exclude (see [layer.Layer.Legality]), or
// one with which its program no longer fits in memory. Place returns an *[anesim.OptionError] if r is
// not a network's result.
func placeLayers(r *anesim.Result, m placement.Machine, s placement.Segmenter) (*placement.Plan, error) {
	n := r.Model.Network()
	if n == nil || r.Model.Kind() != anesim.KindNetwork {
		return nil, &anesim.OptionError{Option: "Place", What: fmt.Sprintf("cannot place the layers of a %v; want a network", r.Model.Kind())}
	}
	net := &placement.Network{Outputs: n.Outputs, Bytes: map[string]uint64{}}
	for _, in := range n.Inputs {
		net.Inputs = append(net.Inputs, in.Name)
		net.Bytes[in.Name] = 2 * uint64(in.Shape.Elements())
	}
	tooLarge := map[string]string{} // by layer
	for _, x := range r.TooLarge() {
		if x.Limit == loader.MaxKernelSection {
			tooLarge[x.Layer] = fmt.Sprintf("a constant tensor of %s is longer than a section of weights, %s", Size(x.Bytes), Size(x.Limit))
			continue
		}
		tooLarge[x.Layer] = fmt.Sprintf("does not fit in one program: its memory is %s of %s with this layer", Size(x.Bytes), Size(x.Limit))
	}
	for i := range r.Layers {
		l := &r.Layers[i]
		x := l.Layer
		o := placement.Operation{
			Name: x.Name, Type: x.Op, Inputs: x.Inputs, Outputs: append([]string{x.Output}, x.Others...),
			MACs: x.MACs(), Bytes: x.Bytes(), Elements: uint64(x.Out.Elements()), Sized: x.Out.Elements() > 0,
		}
		if x.Lower.Op == 0 {
			for _, in := range x.Inputs {
				o.Bytes += net.Bytes[in]
			}
		}
		net.Bytes[x.Output] = 2 * o.Elements
		if l.Report != nil {
			// A repeated run adds up the layer's times, and the plan is for one call.
			o.EngineNs = float64(l.Report.Time) / float64(max(1, r.Options.Repeat))
			o.Refused = cmp.Or(x.Lower.Legality(), tooLarge[x.Name])
			o.Note = cmp.Or(describeState(n, x), describeSections(x))
		} else {
			o.Refused = cmp.Or(l.Reason, "it has no report")
		}
		net.Operations = append(net.Operations, o)
	}
	return placement.Solve(net, m, s)
}

// describeState returns how a layer computes the new value of a state, or "". On the M1 it is a result
// that the next call reads as an input.
func describeState(n *list.Network, x *list.Layer) string {
	for _, in := range n.Inputs {
		if in.State != "" && in.State != in.Name && in.State == x.Output {
			return fmt.Sprintf("state %s: native state operations are rejected on the M1; this is the output-to-input form", in.Name)
		}
	}
	return ""
}

// describeSections returns in how many sections the weights of a layer are, if one does not hold them,
// and otherwise "".
func describeSections(x *list.Layer) string {
	needs := list.Needs(&x.Lower)
	bytes := 2 * (needs.Filter + needs.Bias)
	if bytes <= loader.MaxKernelSection {
		return ""
	}
	return fmt.Sprintf("%s of weights take %d sections of at most %s", Size(uint64(bytes)), clock.CeilDiv(bytes, loader.MaxKernelSection), Size(loader.MaxKernelSection))
}

// A Placement assigns each layer of a network to a processor and gives the reasons. Its JSON keys
// are those of the vendor's own placement audit, where that has the same quantity.
type Placement struct {
	Compute      string            `json:"compute"`
	Segmenter    string            `json:"segmenter"`
	Runtime      clock.Nanoseconds `json:"estimated_runtime"` // total in nanoseconds
	Segments     int               `json:"segments"`          // groups of consecutive layers on one processor
	LeaveNs      clock.Nanoseconds `json:"leave_ns"`          // time to convert the outputs to the host's layout
	Operations   []Placed          `json:"operations"`
	Rates        []Constant        `json:"rates"`          // speeds of the processors and of transfers
	WithoutACost []string          `json:"without_a_cost"` // layers of unknown shape
}

// A Placed is a layer of a network with the processor chosen for it, and its times on all
// processors.
type Placed struct {
	Path     string            `json:"op_path"`
	Type     string            `json:"op_type"`
	Backend  string            `json:"selected_backend"`
	Runtime  clock.Nanoseconds `json:"estimated_runtime"` // computation only, without launch and transfer
	LaunchNs clock.Nanoseconds `json:"launch_ns"`
	CrossNs  clock.Nanoseconds `json:"transfer_ns"`    // time to transfer tensors from the previous processor
	Crossing uint64            `json:"transfer_bytes"` // bytes transferred in that time
	Support  []Support         `json:"backend_support"`
	Messages []string          `json:"validation_messages"`
}

// A Support says whether a processor can run a layer and how long it would take.
type Support struct {
	Backend   string            `json:"backend"`
	Supported bool              `json:"supported"`
	Runtime   clock.Nanoseconds `json:"estimated_runtime"`
}

func newPlacement(compute string, s placement.Segmenter, p *placement.Plan) *Placement {
	d := &Placement{
		Compute: compute, Segmenter: string(s), Runtime: clock.Nanoseconds(p.Ns), Segments: p.Segments, LeaveNs: clock.Nanoseconds(p.LeaveNs),
		Operations: []Placed{}, Rates: []Constant{}, WithoutACost: []string{},
	}
	for i := range p.Choices {
		c := &p.Choices[i]
		x := Placed{
			Path: c.Operation.Name, Type: c.Operation.Type, Backend: c.Backend, Runtime: clock.Nanoseconds(c.Ns),
			LaunchNs: clock.Nanoseconds(c.LaunchNs), CrossNs: clock.Nanoseconds(c.CrossNs), Crossing: c.Crossing, Support: []Support{}, Messages: []string{},
		}
		for _, s := range c.Support {
			x.Support = append(x.Support, Support{s.Backend, s.Taken, clock.Nanoseconds(s.Ns)})
			if s.Message != "" {
				x.Messages = append(x.Messages, s.Backend+": "+s.Message)
			}
		}
		// Without a size the cost is 0, which must not pass for a free operation.
		if !c.Operation.Sized {
			d.WithoutACost = append(d.WithoutACost, x.Path)
		}
		d.Operations = append(d.Operations, x)
	}
	rate := func(name string, c evidence.Constant) {
		if c.Unit != "" {
			d.Rates = append(d.Rates, Constant{name, c.Value, c.Unit, string(c.Evidence), c.Source})
		}
	}
	for _, b := range p.Machine.Backends {
		rate(b.Name+".rate", b.Rate)
		rate(b.Name+".bandwidth", b.Bandwidth)
		rate(b.Name+".launch", b.Launch)
	}
	rate("transfer.repack", p.Machine.Repack)
	rate("transfer.switch", p.Machine.Switch)
	return d
}

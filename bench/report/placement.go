package report

import (
	"cmp"
	"fmt"

	"anesim"
	"anesim/hw/clock"
	"anesim/hw/evidence"
	"anesim/loader/network/placement"
)

// Computes returns the targets on which a network may be placed, named as in the vendor's
// framework. The target engine includes the CPU for layers that the engine does not
// support.
func Computes() []string { return []string{"engine", "all", "cpu"} }

// backendsOf returns the backends of a target.
func backendsOf(compute string) ([]string, error) {
	switch compute {
	case "engine":
		return []string{placement.Engine, placement.CPU}, nil
	case "all":
		return []string{placement.Engine, placement.GPU, placement.CPU}, nil
	case "cpu":
		return []string{placement.CPU}, nil
	}
	return nil, &anesim.OptionError{Option: "Compute", What: fmt.Sprintf("unknown target %q; want one of %v", compute, Computes())}
}

// NewPlacement places the layers of a network on one of [Computes]. rates is YAML that
// overrides the preset's rates (see [placement.Machine.With]), or nil. name is its source.
func NewPlacement(r *anesim.Result, compute, name string, rates []byte) (*Placement, error) {
	names, err := backendsOf(compute)
	if err != nil {
		return nil, err
	}
	m := r.Machine()
	if rates != nil {
		if m, err = m.With(name, rates); err != nil {
			return nil, err
		}
	}
	p, err := Place(r, m.Only(names...))
	if err != nil {
		return nil, err
	}
	return newPlacement(compute, p), nil
}

// Place computes where a network's layers would run on a machine. The engine's times are
// those of this run, including its use of L2.
func Place(r *anesim.Result, m placement.Machine) (*placement.Plan, error) {
	n := r.Model.Network()
	if n == nil || r.Model.Kind() != anesim.KindNetwork {
		return nil, &anesim.OptionError{Option: "Place", What: "unsupported model; want a network"}
	}
	net := &placement.Network{Outputs: n.Outputs, Bytes: map[string]uint64{}}
	for _, in := range n.Inputs {
		net.Inputs = append(net.Inputs, in.Name)
		net.Bytes[in.Name] = 2 * uint64(in.Shape.Elements())
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
			o.EngineNs = float64(l.Report.Time) / float64(max(1, r.Options.Repeat))
		} else {
			o.Refused = cmp.Or(l.Reason, "it has no report")
		}
		net.Operations = append(net.Operations, o)
	}
	return placement.Solve(net, m)
}

// A Placement shows where the operations of a network would run. Keys are those of the
// vendor's audit where it has them.
type Placement struct {
	Compute      string            `json:"compute"`
	Runtime      clock.Nanoseconds `json:"estimated_runtime"` // total in nanoseconds
	Segments     int               `json:"segments"`
	LeaveNs      clock.Nanoseconds `json:"leave_ns"`
	Operations   []Placed          `json:"operations"`
	Rates        []Constant        `json:"rates"`
	WithoutACost []string          `json:"without_a_cost"`
}

// A Placed is an operation with its backend.
type Placed struct {
	Path     string            `json:"op_path"`
	Type     string            `json:"op_type"`
	Backend  string            `json:"selected_backend"`
	Runtime  clock.Nanoseconds `json:"estimated_runtime"` // without launch and boundary
	LaunchNs clock.Nanoseconds `json:"launch_ns"`
	CrossNs  clock.Nanoseconds `json:"transfer_ns"`
	Crossing uint64            `json:"transfer_bytes"`
	Support  []Support         `json:"backend_support"`
	Messages []string          `json:"validation_messages"`
}

// A Support describes a backend's support for an operation.
type Support struct {
	Backend   string            `json:"backend"`
	Supported bool              `json:"supported"`
	Runtime   clock.Nanoseconds `json:"estimated_runtime"`
}

func newPlacement(compute string, p *placement.Plan) *Placement {
	d := &Placement{
		Compute: compute, Runtime: clock.Nanoseconds(p.Ns), Segments: p.Segments, LeaveNs: clock.Nanoseconds(p.LeaveNs),
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

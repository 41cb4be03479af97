package anesim

import (
	"cmp"
	"fmt"

	"anesim/hw/clock"
	"anesim/hw/evidence"
	"anesim/hw/host"
	"anesim/loader/network/placement"
)

// Computes are what a network may be placed on, as the vendor's framework names them: the
// engine has the CPU beside it for what it does not take.
func Computes() []string { return []string{"engine", "all", "cpu"} }

// backends are those of one of Computes.
func backends(compute string) ([]string, error) {
	switch compute {
	case "engine":
		return []string{placement.Engine, placement.CPU}, nil
	case "all":
		return []string{placement.Engine, placement.GPU, placement.CPU}, nil
	case "cpu":
		return []string{placement.CPU}, nil
	}
	return nil, &OptionError{Option: "Compute", What: fmt.Sprintf("%q: want one of %v", compute, Computes())}
}

// Placement places the layers of a network on one of Computes. rates are YAML in the place
// of the preset's, see [placement.Machine.With]; nil for none. name is their source.
func (r *Result) Placement(compute, name string, rates []byte) (*PlacementDocument, error) {
	names, err := backends(compute)
	if err != nil {
		return nil, err
	}
	m := r.Machine()
	if rates != nil {
		if m, err = m.With(name, rates); err != nil {
			return nil, err
		}
	}
	p, err := r.Place(m.Only(names...))
	if err != nil {
		return nil, err
	}
	return placementDocument(compute, p), nil
}

// Machine is the backends of the run's host: a segment of the engine costs what the host
// adds to a call, or, without a host, the measured stages of a small call; the rest is the
// preset of package placement.
func (r *Result) Machine() placement.Machine {
	h := &r.Options.Host
	launch := h.Floor
	if launch.Value <= 0 {
		launch = evidence.New(host.BudgetSum(), "us", evidence.Measured, "the stages of a small call on an M1 under macOS (package host)")
	}
	return placement.Preset(launch, h.In)
}

// Place says where a network's layers would run on a machine. The engine's times are those
// of this run, with what it keeps in the L2.
func (r *Result) Place(m placement.Machine) (*placement.Plan, error) {
	n := r.Model.net
	if n == nil || r.Model.kind != KindNetwork {
		return nil, &OptionError{Option: "Place", What: "requires a network"}
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

// A PlacementDocument is where the operations of a network would run. Keys are those of the
// vendor's audit where it has them.
type PlacementDocument struct {
	Compute      string             `json:"compute"`
	Runtime      clock.Nanoseconds  `json:"estimated_runtime"` // of all, in nanoseconds
	Segments     int                `json:"segments"`
	LeaveNs      clock.Nanoseconds  `json:"leave_ns"`
	Operations   []PlacedDocument   `json:"operations"`
	Rates        []ConstantDocument `json:"rates"`
	WithoutACost []string           `json:"without_a_cost"`
}

// A PlacedDocument is an operation and its backend.
type PlacedDocument struct {
	Path     string            `json:"op_path"`
	Type     string            `json:"op_type"`
	Backend  string            `json:"selected_backend"`
	Runtime  clock.Nanoseconds `json:"estimated_runtime"` // without launch and boundary
	LaunchNs clock.Nanoseconds `json:"launch_ns"`
	CrossNs  clock.Nanoseconds `json:"transfer_ns"`
	Crossing uint64            `json:"transfer_bytes"`
	Support  []SupportDocument `json:"backend_support"`
	Messages []string          `json:"validation_messages"`
}

// A SupportDocument is what a backend says of an operation.
type SupportDocument struct {
	Backend   string            `json:"backend"`
	Supported bool              `json:"supported"`
	Runtime   clock.Nanoseconds `json:"estimated_runtime"`
}

func placementDocument(compute string, p *placement.Plan) *PlacementDocument {
	d := &PlacementDocument{
		Compute: compute, Runtime: clock.Nanoseconds(p.Ns), Segments: p.Segments, LeaveNs: clock.Nanoseconds(p.LeaveNs),
		Operations: []PlacedDocument{}, Rates: []ConstantDocument{}, WithoutACost: []string{},
	}
	for i := range p.Choices {
		c := &p.Choices[i]
		x := PlacedDocument{
			Path: c.Operation.Name, Type: c.Operation.Type, Backend: c.Backend, Runtime: clock.Nanoseconds(c.Ns),
			LaunchNs: clock.Nanoseconds(c.LaunchNs), CrossNs: clock.Nanoseconds(c.CrossNs), Crossing: c.Crossing, Support: []SupportDocument{}, Messages: []string{},
		}
		for _, s := range c.Support {
			x.Support = append(x.Support, SupportDocument{s.Backend, s.Taken, clock.Nanoseconds(s.Ns)})
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
			d.Rates = append(d.Rates, ConstantDocument{name, c.Value, c.Unit, string(c.Evidence), c.Source})
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

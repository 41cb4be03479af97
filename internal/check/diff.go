package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"anesim/hw/dma"
	"anesim/internal/report"
)

// A Delta compares a descriptor A of one entry with its counterpart B in another. If a descriptor
// has no counterpart, the other field is nil.
type Delta struct {
	A, B     *Descriptor
	AAt, BAt int      // indices of A and B in their entries
	Changes  []string // register fields that differ, if both sides have registers
}

// Changed reports whether A and B differ in a cost or a register, or one of them is nil.
func (d *Delta) Changed() bool {
	return d.A == nil || d.B == nil || len(d.Changes) > 0 || d.costChanged()
}

// ByLayer reports whether [Diff] compares the layers of a and b instead of their descriptors. It
// returns true if either entry was read from the JSON report of a network, because that lists only
// layers.
func ByLayer(a, b *Entry) bool { return a.Layered || b.Layered }

// listComparedParts returns the parts of the entry to compare one by one. These are its layers, in
// the form of descriptors, if layers is true and the entry has layers, and its descriptors
// otherwise.
func (e *Entry) listComparedParts(layers bool) []Descriptor {
	if !layers || len(e.Layers) == 0 {
		return e.Descriptors
	}
	list := make([]Descriptor, len(e.Layers))
	for i := range e.Layers {
		list[i] = Descriptor{Op: e.Layers[i].Name, Cost: e.Layers[i].Cost}
	}
	return list
}

// Diff compares two entries and returns a [Delta] for each pair of corresponding descriptors. It
// pairs descriptors in order if they have equal registers or perform the same operation. A
// descriptor without a partner has a Delta of its own. If [ByLayer] is true, Diff compares layers
// instead.
func Diff(a, b *Entry) []Delta {
	var list []Delta
	layers := ByLayer(a, b)
	for _, p := range pairDescriptors(a.listComparedParts(layers), b.listComparedParts(layers)) {
		d := Delta{A: p.want, B: p.got, AAt: p.wantAt, BAt: p.gotAt}
		if p.want != nil && p.got != nil && p.want.Registers != "" && p.got.Registers != "" {
			d.Changes = RegisterChanges(p.want.Registers, p.got.Registers)
		}
		list = append(list, d)
	}
	return list
}

// A CostChange holds the values A and B of one quantity in two costs. The quantity can be a part of
// another, such as the cycles due to one cause.
type CostChange struct {
	Of         string // for a part of a quantity, that quantity: cycles, energy or bytes; otherwise ""
	Name, Unit string
	A, B       float64
}

// Changed reports whether A and B differ by more than a rounding error.
func (c *CostChange) Changed() bool {
	const rounding = 1e-9 // relative
	return math.Abs(c.B-c.A) > rounding*max(math.Abs(c.A), math.Abs(c.B))
}

// Values returns both values as text with a unit, such as "344.342 us"; see [Difference.Values].
func (c *CostChange) Values() (a, b string) {
	d := Difference{Unit: c.Unit, Want: c.A, Got: c.B}
	if !c.Changed() {
		d.Got = d.Want
	}
	return d.Values()
}

// costChanged reports whether any cost of the descriptor differs between A and B, neither of which
// may be nil.
func (d *Delta) costChanged() bool {
	return slices.ContainsFunc(CostChanges(&d.A.Cost, &d.B.Cost), func(c CostChange) bool { return c.Changed() })
}

// Moved reports whether only addresses differ between A and B. If the descriptor reads no weights,
// Moved also ignores the registers for weights, which then keep the values of earlier descriptors.
func (d *Delta) Moved() bool {
	if d.A == nil || d.B == nil || len(d.Changes) == 0 || d.costChanged() {
		return false
	}
	weightless := d.B.DMA != nil && d.B.DMA.Kernel == 0
	return !slices.ContainsFunc(d.Changes, func(change string) bool {
		return !IsAddress(change) && !(weightless && strings.HasPrefix(change, "KernelDMASrc."))
	})
}

// CostChanges lists the quantities of two costs, followed by the parts of the cycles, energy and
// bytes. It omits values that are zero in both costs. It lists the parts of a quantity only if both
// costs have them.
func CostChanges(a, b *Cost) []CostChange {
	var list []CostChange
	x, y := a.listQuantities(), b.listQuantities()
	for i := range x {
		if x[i].name == measuredEstimate && (a.Unestimated || b.Unestimated) {
			continue
		}
		if x[i].v != 0 || y[i].v != 0 {
			list = append(list, CostChange{"", x[i].name, x[i].unit, x[i].v, y[i].v})
		}
	}
	before := map[[2]string]float64{}
	has := map[string]bool{}
	for _, t := range a.listTerms() {
		before[[2]string{t.of, t.name}], has[t.of] = t.v, true
	}
	for _, t := range b.listTerms() {
		if v := before[[2]string{t.of, t.name}]; has[t.of] && (v != 0 || t.v != 0) {
			list = append(list, CostChange{t.of, t.name, t.unit, v, t.v})
		}
	}
	return list
}

// ReadEntry parses a JSON report written by [report.WriteJSON] and returns its costs as an entry
// without registers. It returns an error if the report is of another kind or schema.
func ReadEntry(document []byte) (*Entry, error) {
	var head struct {
		Schema  int     `json:"schema"`
		Network *string `json:"network"`
		Program *string `json:"program"`
	}
	if err := json.Unmarshal(document, &head); err != nil {
		return nil, report.DescribeJSONError("a result of --json", document, err)
	}
	switch {
	case head.Schema != report.Schema:
		return nil, fmt.Errorf("unsupported document schema %d; want %d", head.Schema, report.Schema)
	case head.Network != nil:
		var d report.Network
		if err := json.Unmarshal(document, &d); err != nil {
			return nil, report.DescribeJSONError("a result of --json", document, err)
		}
		e := &Entry{Input: d.Network, Chip: d.Chip, Total: newTotalCost(&d.Total.Total, &d.Cycles), Outputs: d.Outputs, NotModelled: d.NotModelled, Layered: true}
		e.Total.Unestimated = true
		for i := range d.Layers {
			l := &d.Layers[i]
			c := newTotalCost(&l.Total, &l.Cycles)
			c.Unestimated = true
			if l.Modelled && l.HostNs == 0 { // as in NewEntry: what the host computes has no cost of the engine
				e.Layers = append(e.Layers, Layer{l.Name, c})
			}
		}
		return e, nil
	case head.Program != nil:
		var d report.Run
		if err := json.Unmarshal(document, &d); err != nil {
			return nil, report.DescribeJSONError("a result of --json", document, err)
		}
		e := &Entry{Input: d.Program, Chip: d.Chip, Total: newTotalCost(&d.Total.Total, &d.Cycles), Outputs: d.Outputs}
		var streams dma.Traffic
		var counters report.Counters
		for i := range d.Descriptors {
			x := &d.Descriptors[i]
			e.Descriptors = append(e.Descriptors, Descriptor{Op: x.Op, Cost: newDescriptorCost(x)})
			e.Total.ExeCycles += uint64(x.Exe.Model)
			for k, n := range x.Counters {
				counters[k] += n
			}
			streams.Add(&dma.Traffic{Source1: x.DMA.Source1, Source2: x.DMA.Source2, Kernel: x.DMA.Kernel, Destination: x.DMA.Destination})
		}
		if streams.Total() == d.Total.DMABytes { // every dispatch is listed
			all := report.DMAOf(&streams)
			e.Total.DMA, e.Total.Counters = &all, &counters
		}
		return e, nil
	}
	return nil, errors.New(`missing key "program" or "network"; want the output of "anesim run --json" or "anesim model --json"`)
}

func newTotalCost(t *report.Total, causes *report.Cycles) Cost {
	c := Cost{
		Cost: t.Cost(), DispatchNJ: t.DispatchNJ, MACs: t.MACs,
		TimeLowNs: t.TimeLowNs, TimeHighNs: t.TimeHighNs, EnergyOf: &t.EnergyOf,
	}
	if causes != nil {
		c.Causes = *causes
	}
	return c
}

package anesim

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/x448/float16"

	"anesim/hw"
	"anesim/hw/clock"
	"anesim/internal/datapath/tiles"
	"anesim/loader/network/list"
	"anesim/loader/network/partition"
)

// A LayerResult holds the results of a run for one layer: its costs, and its values if they were
// computed.
type LayerResult struct {
	Layer   *list.Layer
	Program int        // number of the program that contains it, from 1; 0 for none
	Reason  string     // why the layer is not modelled, "" if it is
	Report  *hw.Report // sums its descriptors over all dispatches, without the fixed energy of dispatches; nil if the layer is not modelled
	Fault   *hw.Fault
	Data    []float16.Float16 // the layer's result, if its program returns it with values
	Note    string            // why requested values were not computed
	Caveat  string            // unverified assumptions behind the values
	Host    clock.Nanoseconds // host time per dispatch of a layer that the engine does not compute; see [list.Stage]
}

// Weights returns the encoding in which the engine reads the layer's constant weights: "fp16",
// "zero-skipping", "masked", "palette-4", "palette-8" or "int8". If descriptors of the layer use
// different encodings, Weights joins them with "+". It returns "" if the layer has no constant
// weights or is not modelled.
func (l *LayerResult) Weights() string {
	if l.Report == nil || list.Needs(&l.Layer.Lower).Filter == 0 {
		return ""
	}
	var forms []string
	for i := range l.Report.Descriptors {
		d := &l.Report.Descriptors[i]
		if d.MACs == 0 || d.DMA.Kernel == 0 {
			continue
		}
		form := d.Packing.String()
		switch d.Packing {
		case tiles.Dense:
			form = "fp16"
		case tiles.Palette:
			form += "-" + strconv.Itoa(d.PaletteBits)
		}
		if !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	return strings.Join(forms, "+")
}

// Modelled reports whether the totals of the engine or of the host include the layer. They leave
// out a layer that cannot be lowered, that is, compiled for the engine. They also leave out a layer
// if a device fault occurred in it or before it.
func (l *LayerResult) Modelled() bool { return l.Report != nil || l.Host > 0 }

// recordLayerResults fills in the results of the layers in the k-th program, counted from 0. A
// layer gets its descriptors and values, or the reason why it has none.
func (r *Result) recordLayerResults(k int) {
	p := &r.Programs[k]
	for i, run := range p.Runs {
		if more := run.First + run.Tasks - len(p.owner); more > 0 {
			p.owner = append(p.owner, slices.Repeat([]int{-1}, more)...)
		}
		for at := range run.Tasks {
			p.owner[run.First+at] = i
		}
	}
	for i := range p.Runs {
		l := &r.Layers[p.First+i]
		l.Program = k + 1
		if p.Err != nil {
			l.Reason = p.Err.Error()
			continue
		}
		l.setReport(p, p.Runs[i])
		if p.Runs[i].Tasks == 0 && i > 0 { // the descriptors of the layer before compute this one too
			if before := &r.Layers[p.First+i-1]; !before.Modelled() {
				l.Report, l.Reason = nil, "follows a device fault"
			}
		}
		if len(p.Outputs) == 0 {
			continue
		}
		for _, out := range p.Outputs {
			if out.Port.Name == l.Layer.Output {
				l.Data = out.Data
			}
		}
	}
}

// setReport sets l.Report to the sums of the descriptors run of program p over all dispatches. A
// single dispatch shares its list of descriptors with the report. If a device fault interrupted the
// layer or ended the program before it, setReport sets a reason instead.
func (l *LayerResult) setReport(p *ProgramResult, run partition.Run) {
	all, r := p.Report, new(hw.Report)
	// The list has the descriptors of all dispatches one after the other, and may end within one if
	// there was a fault.
	for at := run.First; at+run.Tasks <= len(all.Descriptors); at += p.Program.TaskCount {
		own := all.Descriptors[at : at+run.Tasks : at+run.Tasks]
		// The first slice is limited to its own length, so that append for a second dispatch copies
		// it and does not overwrite the next layer's descriptors.
		if r.Descriptors == nil {
			r.Descriptors = own
		} else {
			r.Descriptors = append(r.Descriptors, own...)
		}
		for i := range own {
			d := &own[i]
			r.Add(d)
			if l.Note == "" {
				l.Note = d.Note()
			}
			if l.Caveat == "" {
				l.Caveat = d.Caveat()
			}
		}
	}
	r.Repeat(all.Again, run.Tasks)
	if len(all.Faults) == 0 {
		l.Report = r
		return
	}
	fault := &all.Faults[0]
	switch at := fault.Descriptor; {
	// The engine computes layers in order, so a layer before the fault is complete.
	case at >= run.First+run.Tasks:
		l.Report = r
	case at >= run.First:
		l.Fault = fault
		l.Reason = "device fault: " + fault.String()
	default:
		l.Reason = "follows a device fault"
	}
}

// LayerOf returns the layer that descriptor d of program p computes. It returns nil if the layer is
// unknown, as in a compiled program, which does not describe its layers.
func (r *Result) LayerOf(p *ProgramResult, d *hw.DescriptorReport) *LayerResult {
	if d.Index >= len(p.owner) || p.owner[d.Index] < 0 {
		return nil
	}
	return &r.Layers[p.First+p.owner[d.Index]]
}

// Missing returns the layers for which [LayerResult.Modelled] is false, in the order of the
// network.
func (r *Result) Missing() (list []*LayerResult) {
	for i := range r.Layers {
		if !r.Layers[i].Modelled() {
			list = append(list, &r.Layers[i])
		}
	}
	return list
}

// Coverage returns how much of a network the totals include, counted in nodes, multiply-accumulates
// and bytes. Only layers that are modelled are included; see [LayerResult.Modelled].
func (r *Result) Coverage() partition.Coverage {
	if r.Model.net == nil {
		return partition.Coverage{}
	}
	reasons := make([]string, len(r.Layers))
	for i := range r.Layers {
		if l := &r.Layers[i]; !l.Modelled() {
			reasons[i] = cmp.Or(l.Reason, "no report")
		}
	}
	return partition.CoverageOf(r.Model.net, reasons)
}
